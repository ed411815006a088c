//! `cargo xtask fuzz [--seconds N]`: random units, structures, systems and scenarios through the code that reads them. Our own
//! fuzzers need nothing but cargo; where cargo-fuzz and a nightly compiler are installed, its targets in `fuzz` run as well.
//! All of one kind share the time.

use std::path::Path;
use std::process::Command;

use crate::{TaskResult, command};

const SECONDS: u64 = 60;
const TARGETS: [&str; 6] = ["description", "archive", "ssd", "osp", "system", "scenario"];
/// Crates with a fuzzer of their own: units, SSP, OSP, systems and scenarios.
const OWN: u64 = 4;

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    let seconds = match arguments {
        [] => SECONDS,
        [option, number] if option == "--seconds" => {
            number.parse().map_err(|_| format!("`--seconds` takes a whole number, got `{number}`"))?
        }
        other => return Err(format!("`{}` is not understood; known is --seconds N", other.join(" "))),
    };
    own(root, seconds)?;
    if !command::works(nightly(root, &["fuzz", "list"])) {
        println!("skipped the targets in fuzz: cargo-fuzz, or a nightly compiler for it, is not installed");
        return Ok(());
    }
    for target in TARGETS {
        let time = format!("-max_total_time={}", share(seconds, TARGETS.len() as u64));
        command::show(nightly(root, &["fuzz", "run", target, "--", &time]))?;
    }
    Ok(())
}

/// Not the cargo that runs us, which knows no other toolchains: the one that rustup puts on the path.
fn nightly(root: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.arg("+nightly").args(arguments).current_dir(root).env_remove("RUSTUP_TOOLCHAIN");
    cargo
}

fn own(root: &Path, seconds: u64) -> TaskResult {
    let fuzzers = ["--test", "fuzz", "--", "--nocapture"];
    let mut cargo = command::cargo(root, &[&["test"], command::WORKSPACE, &fuzzers].concat());
    cargo.env("COSIMO_FUZZ_SECONDS", share(seconds, OWN).to_string());
    command::show(cargo)
}

/// Never nothing.
fn share(seconds: u64, among: u64) -> u64 {
    seconds.div_ceil(among).max(1)
}
