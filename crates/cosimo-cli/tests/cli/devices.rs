//! Readers take files. A pipe that nothing is written to, or a device without an end, is refused at once.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::folder;

const MASS: &str = "native:oscillator/mass";

#[test]
fn pipes_and_devices_are_refused_by_every_reader() {
    let folder = folder("devices");
    let names =
        ["f.toml", "f.fmu", "f.csv", "f.arrow", "f.parquet", "f.mat", "f.ssp", "f.ssd", "f.xml", "f.json"];
    for name in names {
        assert!(Command::new("mkfifo").arg(folder.join(name)).status().unwrap().success());
    }
    for args in [
        &["run", "f.toml"][..],
        &["check", "f.ssp"],
        &["explain", "f.ssd"],
        &["run", "f.xml"],
        &["run", "f.fmu"],
        &["info", "f.fmu"],
        &["validate", "f.fmu"],
        &["plot", "f.csv"],
        &["plot", "f.arrow"],
        &["plot", "f.parquet"],
        &["compare", "f.mat", "f.mat"],
        &["resume", "f.json"],
        &["gate", "f.json"],
        &["run", MASS, "--set", "F=1", "--step", "1", "--stop", "1", "--scenario", "f.toml"],
        &["run", MASS, "--step", "1", "--stop", "1", "--input", "f.csv"],
        &["run", "/dev/zero"],
        &["gate", "/dev/zero"],
        &["resume", "/dev/zero"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cosimo"));
        command.args(args).current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::piped());
        let (mut child, begun) = (command.spawn().unwrap(), Instant::now());
        while child.try_wait().unwrap().is_none() {
            if begun.elapsed() > Duration::from_secs(20) {
                child.kill().unwrap();
                panic!("{args:?} waits");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("expected a regular file, got a device or a pipe"), "{args:?}: {said}");
        assert!(matches!(output.status.code(), Some(2 | 3)), "{args:?}: {said}");
    }
}
