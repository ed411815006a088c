//! FMUs that foreign tools made, and our FMUs in a foreign tool. They need the Python of `cargo xtask python`.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[path = "../fmi/common.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod common;
mod fmpy;
mod python;
#[path = "../../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python with the packages, or the reason why the test is over.
fn python() -> Option<PathBuf> {
    let found = std::env::var_os("COSIMO_PYTHON").map(PathBuf::from);
    if found.is_none() {
        println!("skipped: COSIMO_PYTHON is not set");
    }
    found
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Makes an FMU out of a Python file; its name is that of the file with a capital letter.
fn build(python: &Path, script: &Path, folder: &Path, options: &[&str]) {
    let package = if script.to_string_lossy().ends_with("2.py") { "pythonfmu" } else { "pythonfmu3" };
    let mut command = Command::new(python);
    command.args(["-m", package, "build", "--file"]).arg(script).arg("--dest").arg(folder);
    run(command.args(options).current_dir(folder));
}
