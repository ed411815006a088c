//! `cargo xtask targets`: the command compiles for Windows and macOS. It is checked, neither linked nor run.
//!
//! Build scripts compile a few lines of C. For Windows that takes the compiler of mingw-w64. For macOS it takes an SDK
//! that only Apple hands out, so their C is left out there: `cargo check` looks at Rust alone.

use std::path::Path;
use std::process::Command;

use crate::{TaskResult, command, no_arguments};

struct Target {
    name: &'static str,
    /// The C compiler, and the Debian package that has it.
    compiler: Option<(&'static str, &'static str)>,
}

const TARGETS: &[Target] = &[
    Target {
        name: "x86_64-pc-windows-gnu",
        compiler: Some(("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")),
    },
    Target { name: "aarch64-apple-darwin", compiler: None },
];

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    no_arguments(arguments)?;
    set_up(root)?;
    test(root)
}

/// Everything that the checks need, or what is missing.
pub(crate) fn set_up(root: &Path) -> TaskResult {
    for target in TARGETS {
        let mut rustup = Command::new("rustup");
        rustup.args(["target", "add", target.name]).current_dir(root);
        let there = has_library(root, target) || command::works(rustup) && has_library(root, target);
        if !there {
            return Err(format!(
                "the standard library for {} is not there, and rustup could not add it",
                target.name
            ));
        }
        let Some((compiler, package)) = target.compiler else { continue };
        let there = || {
            let mut version = Command::new(compiler);
            version.arg("--version");
            command::works(version)
        };
        if !(there() || command::install(&[package]) && there()) {
            return Err(format!("{compiler} is not there, and apt-get could not install {package}"));
        }
    }
    Ok(())
}

/// Whether the toolchain in use has the standard library of a target, whatever installed it.
fn has_library(root: &Path, target: &Target) -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--print", "target-libdir", "--target", target.name]).current_dir(root);
    let Ok(output) = rustc.output() else { return false };
    Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
}

pub(crate) fn test(root: &Path) -> TaskResult {
    for target in TARGETS {
        println!("{}", target.name);
        let check = ["check", "--quiet", "--package", "cosimo-cli", "--target", target.name];
        let mut check = command::cargo(root, &check);
        if target.compiler.is_none() {
            let name = target.name.replace('-', "_");
            check.env(format!("CC_{name}"), "true").env(format!("AR_{name}"), "true");
        }
        command::show(check)?;
    }
    Ok(())
}
