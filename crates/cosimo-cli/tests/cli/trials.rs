//! FMUs that die when they are tried, or when the process ends: the command goes on, and says what happened.

use std::io::pipe;
use std::path::{Path, PathBuf};
use std::process::Command;

use cosimo_test_fmus::{Design, SABOTEUR, Version};
use insta::assert_snapshot;

use crate::check::altered;
use crate::common::{complaint, cosimo, folder};

fn saboteur(name: &str, version: Version) -> PathBuf {
    let folder = folder(&format!("{name}{}", version.text()));
    // The time and the output: without a dimension it may stand in a ring.
    let plain = (" unit=\"s\"", " unit=\"1\"");
    altered(&Design::new(SABOTEUR, version), &[plain, plain], &folder.join("saboteur.fmu"));
    folder
}

/// Two integrators in a ring; `chassis` misbehaves.
fn ring(folder: &Path, parameters: &str, method: &str) {
    let text = format!(
        "[experiment]\nstop = 1.0\n[component.chassis]\nsource = \"saboteur.fmu\"\nparameters = {{ {parameters} }}\n\
         start = {{ u = 1.0 }}\n[component.wheel]\nsource = \"saboteur.fmu\"\nstart = {{ u = 1.0 }}\n\
         [[connection]]\nfrom = \"chassis.y\"\nto = \"wheel.u\"\n[[connection]]\nfrom = \"wheel.y\"\nto = \"chassis.u\"\ngain = -1.0\n\
         [method]\n{method}\n"
    );
    std::fs::write(folder.join("system.toml"), text).unwrap();
}

const FIXED: &str = "step = { size = 0.1 }";
const ADAPTIVE: &str =
    "step = { controller = \"i\", size = 0.1, min = 1e-3, max = 0.1, reject = \"above-one\" }";

#[test]
fn a_forecast_that_kills_an_fmu_leaves_the_findings() {
    for (version, function) in [(Version::Two, "fmi2SetFMUstate"), (Version::Three, "fmi3SetFMUState")] {
        let folder = saboteur("forecast-crash", version);
        ring(&folder, "fault = \"restore-crash\", at_step = 5", FIXED);
        let output = cosimo(&folder, &["check", "system.toml"]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        // How many steps a probe takes follows from what the components answer.
        let crashed = format!("no forecast: `chassis` crashed in {function} (restore 5, ");
        let line = said.lines().find(|found| found.starts_with(&crashed)).unwrap_or_else(|| panic!("{said}"));
        if version == Version::Two {
            assert_snapshot!("trial-check", said);
        }
        let output = cosimo(&folder, &["check", "system.toml", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["forecast"]["missing"], line.strip_prefix("no forecast: ").unwrap());
        // One that survives is forecast in the same way as ever.
        ring(&folder, "", FIXED);
        let said = String::from_utf8(cosimo(&folder, &["check", "system.toml"]).stdout).unwrap();
        assert!(said.contains("forecast: 10 steps of 0.1 s"), "{said}");
    }
}

#[test]
fn an_analysis_that_kills_an_fmu_says_so() {
    let folder = saboteur("analysis-crash", Version::Two);
    ring(&folder, "fault = \"restore-crash\", at_step = 5", FIXED);
    let output = cosimo(&folder, &["analyse", "stability", "system.toml"]);
    assert_snapshot!("trial-analyse", complaint(&output));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_rehearsal_that_kills_an_fmu_costs_a_message_and_not_the_command() {
    for version in Version::ALL {
        let folder = saboteur("rehearsal-crash", version);
        ring(&folder, "fault = \"restore-crash\", at_step = 1", ADAPTIVE);
        for command in ["run", "verify"] {
            let output = cosimo(&folder, &[command, "system.toml"]);
            assert_eq!(output.status.code(), Some(1), "{command}: {}", complaint(&output));
            if version == Version::Two && command == "run" {
                assert_snapshot!("trial-run", complaint(&output));
            }
        }
        // What is asked of it is legal, and where nothing goes back it is never asked.
        ring(&folder, "fault = \"restore-crash\", at_step = 1", FIXED);
        assert!(cosimo(&folder, &["run", "system.toml"]).status.success());
        // The trial leaves no trace in a run that it allows.
        ring(&folder, "", ADAPTIVE);
        assert!(cosimo(&folder, &["run", "system.toml", "--out", "tried.csv"]).status.success());
        ring(&folder, "\"cosimo.rollback\" = \"trusted\"", ADAPTIVE);
        assert!(cosimo(&folder, &["run", "system.toml", "--out", "trusted.csv"]).status.success());
        let read = |file: &str| std::fs::read(folder.join(file)).unwrap();
        assert!(read("tried.csv") == read("trusted.csv"));
    }
}

#[test]
fn probing_that_kills_an_fmu_leaves_the_description() {
    for version in Version::ALL {
        let folder = saboteur("probe-crash", version);
        let tried = ["--set", "fault=input-crash", "--set", "cosimo.feedthrough=probed"];
        let args = [&["check", "saboteur.fmu", "--no-forecast"], &tried[..]].concat();
        let output = cosimo(&folder, &args);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let function = if version == Version::Two { "fmi2SetReal" } else { "fmi3SetFloat64" };
        assert!(
            said.contains(&format!(
                "the dependencies of the description are used: the FMU crashed in {function}"
            )),
            "{said}"
        );
    }
}

/// The handlers of an interpreter that an FMU brings may not survive the end of a good run.
#[test]
fn exit_handlers_of_fmus_do_not_run() {
    for version in Version::ALL {
        let folder = saboteur("exit-handler", version);
        let args = [
            "run",
            "saboteur.fmu",
            "--set",
            "fault=exit-handler",
            "--stop",
            "1",
            "--step",
            "0.1",
            "--out",
            "out.csv",
            "--report",
            "report.html",
            "--summary-json",
            "summary.json",
        ];
        let output = cosimo(&folder, &args);
        assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.trim_end().ends_with('.') && said.contains("verdict: "), "{said}");
        let rows = std::fs::read_to_string(folder.join("out.csv")).unwrap();
        assert_eq!((rows.lines().count(), rows.ends_with('\n')), (12, true));
        let summary = std::fs::read(folder.join("summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
        assert_eq!(summary["finished"], true);
        // The code of a failure stays what it is.
        let args = ["run", "saboteur.fmu", "--set", "fault=error", "--stop", "1", "--step", "0.1"];
        assert_eq!(cosimo(&folder, &args).status.code(), Some(1));
    }
}

/// As `cosimo ... 2>&1 | head -1` does.
#[test]
fn output_that_is_no_longer_read_ends_the_command_with_141() {
    let folder = saboteur("pipe", Version::Two);
    ring(&folder, "", FIXED);
    for args in [
        &["run", "system.toml"][..],
        &["run", "nothing.toml"],
        &["check", "system.toml"],
        &["run", "system.toml", "--method", "controller=pi"],
    ] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_cosimo"));
        command.args(args).current_dir(&folder).stdout(writer.try_clone().unwrap()).stderr(writer);
        let mut child = command.spawn().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(141), "{args:?}");
    }
}
