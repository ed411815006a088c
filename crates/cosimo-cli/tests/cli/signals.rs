//! Signals that end a run: what a batch system, a closed terminal or Ctrl-C sends.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use cosimo_test_fmus::{Design, SABOTEUR, Version, built_library, write};

use crate::common::{complaint, folder, system};

const LONG: [&str; 8] =
    ["run", "system.toml", "--method", "controller=fixed", "--step", "1e-7", "--out", "rows.csv"];

/// Starts a command and waits until it has written rows.
fn started(folder: &Path, command: &mut Command) -> Child {
    let child = command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while std::fs::read_to_string(folder.join("rows.csv")).map_or(0, |text| text.lines().count()) < 4 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no rows appeared");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn still_runs(child: &mut Child) -> bool {
    std::thread::sleep(Duration::from_millis(500));
    child.try_wait().unwrap().is_none()
}

fn rows_are_whole(folder: &Path, output: &Output) {
    let text = std::fs::read_to_string(folder.join("rows.csv")).unwrap();
    let width = text.lines().next().unwrap().split(',').count();
    let whole = text.ends_with('\n') && text.lines().all(|line| line.split(',').count() == width);
    assert!(whole && text.lines().count() > 2, "{}", complaint(output));
}

#[test]
fn every_signal_that_ends_a_run_keeps_its_rows() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("XCPU", 24)] {
        let folder = folder(&format!("signal-{signal}"));
        system(&folder, &[]);
        let child = started(&folder, Command::new(env!("CARGO_BIN_EXE_cosimo")).args(LONG));
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(128 + number), "{signal}: {}", complaint(&output));
        let told = complaint(&output);
        assert!(
            told.contains("interrupted at t = ") && told.contains("result files are complete up to there"),
            "{told}"
        );
        rows_are_whole(&folder, &output);
    }
}

#[test]
fn the_second_signal_leaves_an_fmu_that_hangs() {
    let folder = folder("signal-hang");
    write(&Design::new(SABOTEUR, Version::Two), &built_library().unwrap(), &folder.join("saboteur.fmu"))
        .unwrap();
    let args = ["run", "saboteur.fmu", "--set", "saboteur.fault=hang", "--set", "saboteur.at_step=100"];
    let rest = ["--step", "0.01", "--stop", "10", "--out", "rows.csv"];
    let mut child = started(&folder, Command::new(env!("CARGO_BIN_EXE_cosimo")).args(args).args(rest));
    assert!(still_runs(&mut child));
    send(&child, "TERM");
    assert!(still_runs(&mut child));
    send(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    insta::assert_snapshot!("signal-hang", complaint(&output).replace('\r', ""));
    // All that there are, without anybody's help.
    let rows = std::fs::read_to_string(folder.join("rows.csv")).unwrap();
    assert_eq!(rows.lines().count(), 101);
}

/// Rows do not wait for the next one, nor for the end of a step.
#[test]
fn rows_reach_the_file_while_an_fmu_computes() {
    let folder = folder("rows-in-time");
    write(&Design::new(SABOTEUR, Version::Two), &built_library().unwrap(), &folder.join("saboteur.fmu"))
        .unwrap();
    let args = ["run", "saboteur.fmu", "--set", "saboteur.fault=hang", "--set", "saboteur.at_step=10"];
    for file in ["rows.csv", "rows.arrow", "rows.parquet", "rows.mat"] {
        let rest = ["--step", "0.01", "--stop", "10", "--out", file, "--out", "rows.csv"];
        let rest = if file == "rows.csv" { &rest[..6] } else { &rest };
        let mut child = started(&folder, Command::new(env!("CARGO_BIN_EXE_cosimo")).args(args).args(rest));
        std::thread::sleep(Duration::from_secs(2));
        // The process lives, so this is what is in the file itself.
        let rows = cosimo::record::read(&folder.join(file), cosimo::record::FORMATS).unwrap().rows();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(rows, 10, "{file}");
        std::fs::remove_file(folder.join("rows.csv")).unwrap();
    }
}

/// Everything that was asked for is there after each of them, and the run goes on from its checkpoint.
#[test]
fn report_checkpoint_and_certificate_are_written_too() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("XCPU", 24)] {
        let folder = folder(&format!("signal-all-{signal}"));
        system(&folder, &[]);
        let more = ["--report", "run.html", "--certificate", "run.json", "--checkpoint", "interrupt,file=c"];
        let child = started(&folder, Command::new(env!("CARGO_BIN_EXE_cosimo")).args(LONG).args(more));
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(128 + number), "{signal}: {}", complaint(&output));
        let text = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text("run.html").contains("Interrupted at t"), "{signal}");
        assert!(text("run.json").contains("\"word\": \"interrupted\""), "{signal}");
        let rows = text("rows.csv").lines().count();
        let last: f64 = text("rows.csv").lines().last().unwrap().split(',').next().unwrap().parse().unwrap();
        let resumed = crate::common::cosimo(&folder, &["resume", "c", "--stop", &format!("{}", last + 1e-5)]);
        assert!(resumed.status.success(), "{signal}: {}", complaint(&resumed));
        assert!(text("rows.csv").lines().count() > rows, "{signal}");
    }
}

/// Twice at once, whatever the run is doing: stepping and writing, or loading an FMU that does not come back.
#[test]
fn two_signals_at_once_lose_nothing() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("XCPU", 24)] {
        let folder = folder(&format!("signal-twice-{signal}"));
        system(&folder, &[]);
        let child = started(&folder, Command::new(env!("CARGO_BIN_EXE_cosimo")).args(LONG));
        send(&child, signal);
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(128 + number), "{signal}: {}", complaint(&output));
        rows_are_whole(&folder, &output);
        let saboteur = Design::new(SABOTEUR, Version::Two);
        write(&saboteur, &built_library().unwrap(), &folder.join("unit.fmu")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
            .args(["run", "unit.fmu", "--stop", "1"])
            .env("COSIMO_SABOTAGE", "fmi2Instantiate=hang")
            .current_dir(&folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(still_runs(&mut child));
        send(&child, signal);
        assert!(still_runs(&mut child));
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let told = complaint(&output);
        assert_eq!(output.status.code(), Some(128 + number), "{signal}: {told}");
        assert!(told.contains("waiting for `unit` in fmi2Instantiate to return"), "{signal}: {told}");
    }
}

/// What `nohup` does.
#[test]
fn a_signal_that_is_ignored_from_the_start_stays_so() {
    let folder = folder("signal-ignored");
    system(&folder, &[]);
    let ignoring = "trap '' HUP; exec \"$@\"";
    let mut command = Command::new("sh");
    let mut child =
        started(&folder, command.args(["-c", ignoring, "sh", env!("CARGO_BIN_EXE_cosimo")]).args(LONG));
    send(&child, "HUP");
    assert!(still_runs(&mut child));
    send(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    rows_are_whole(&folder, &output);
}
