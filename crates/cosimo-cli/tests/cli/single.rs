//! Simulators without a system file: one alone, or several connected on the command line.

use std::path::{Path, PathBuf};

use cosimo::export::{Design, Version, built_library, write};
use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder};

/// The two halves of an oscillator as FMUs, the mass in version 2.0 and the spring in 3.0.
fn halves(name: &str) -> PathBuf {
    let folder = folder(name);
    for (source, version, file) in [
        ("native:oscillator/mass", Version::Two, "mass.fmu"),
        ("native:oscillator/spring-damper", Version::Three, "spring.fmu"),
    ] {
        write(&Design::new(source, version), &built_library().unwrap(), &folder.join(file)).unwrap();
    }
    folder
}

const BOND: &str = "joint=spring.F:spring.v~mass.F:mass.v,energy_scale=1";

fn good(folder: &Path, args: &[&str]) -> String {
    let output = cosimo(folder, args);
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn last_row(folder: &Path, file: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    text.lines().last().unwrap().split(',').map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn a_unit_alone() {
    let folder = halves("alone");
    let said = good(
        &folder,
        &[
            "run", "mass.fmu", "--set", "F=2", "--set", "mass.m=4", "--stop", "3", "--step", "0.5", "--out",
            "a.csv",
        ],
    );
    assert!(said.starts_with("6 steps to t = 3 s"), "{said}");
    assert!(said.contains("verdict: unknown: no components are coupled"), "{said}");
    // t, v = a t, x = 1 + a t^2 / 2
    let row = last_row(&folder, "a.csv");
    assert!((row[1] - 1.5).abs() < 1e-12 && (row[2] - 3.25).abs() < 1e-12, "{row:?}");
}

/// A ball falls 1 m in 0.4515236 s, with every integrator.
#[test]
fn a_unit_for_model_exchange_is_integrated_as_asked() {
    let folder = folder("exchange");
    let ball = Design::exchange("native:bouncing-ball", Version::Two);
    write(&ball, &built_library().unwrap(), &folder.join("ball.fmu")).unwrap();
    // Each leaves its own count and rounding.
    let mut marks = Vec::new();
    for solver in ["bdf", "dormand-prince", "bogacki-shampine"] {
        let said = good(
            &folder,
            &["run", "ball.fmu", "--stop", "0.4", "--step", "0.1", "--solver", solver, "--out", "ball.csv"],
        );
        let row = last_row(&folder, "ball.csv");
        assert!((row[1] - (1.0 - 9.81 * 0.4 * 0.4 / 2.0)).abs() < 1e-4, "{solver}: {row:?}");
        marks.push((said.split("; ").last().unwrap().lines().next().unwrap().to_owned(), row[1].to_bits()));
    }
    assert!(marks[0] != marks[1] && marks[1] != marks[2] && marks[0] != marks[2], "{marks:?}");
    assert_snapshot!(
        "no-such-solver",
        complaint(&cosimo(
            &folder,
            &["run", "ball.fmu", "--stop", "1", "--step", "0.1", "--solver", "euler"]
        ))
    );
}

/// Of the real command, whichever way it was built.
#[test]
fn cvode_integrates_or_is_said_not_to_be_there() {
    let folder = folder("exchange-cvode");
    let ball = Design::exchange("native:bouncing-ball", Version::Three);
    write(&ball, &built_library().unwrap(), &folder.join("ball.fmu")).unwrap();
    let run = ["run", "ball.fmu", "--stop", "0.4", "--step", "0.1", "--solver", "cvode", "--out", "ball.csv"];
    if cfg!(feature = "cvode") {
        good(&folder, &run);
        let row = last_row(&folder, "ball.csv");
        assert!((row[1] - (1.0 - 9.81 * 0.4 * 0.4 / 2.0)).abs() < 1e-4, "{row:?}");
    } else {
        assert_snapshot!("no-cvode", complaint(&cosimo(&folder, &run)));
    }
}

#[test]
fn units_connected_on_the_command_line_are_a_system_file() {
    let folder = halves("connected");
    let run = ["spring.fmu", "mass.fmu", "--bond", BOND, "--stop", "2", "--step", "0.01"];
    let said = good(&folder, &[&["run"], &run[..], &["--out", "a.csv"]].concat());
    assert!(said.contains("energy balance: energy defect of bond `joint`"), "{said}");
    let file = good(&folder, &[&["explain", "--toml"], &run[..]].concat());
    std::fs::write(folder.join("system.toml"), file).unwrap();
    good(&folder, &["run", "system.toml", "--out", "b.csv"]);
    let wires =
        ["--connect", "spring.F=mass.F", "--connect", "mass.v=spring.v", "--stop", "2", "--step", "0.01"];
    good(&folder, &[&["run", "spring.fmu", "mass.fmu", "--out", "c.csv"], &wires[..]].concat());
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("a.csv"), read("b.csv"));
    assert_eq!(last_row(&folder, "a.csv")[..6], last_row(&folder, "c.csv")[..6]);
}

#[test]
fn a_table_drives_the_inputs_of_its_names() {
    let folder = halves("driven");
    // F = 2 t, held over steps of 0.25 s as a unit takes it: v gains F h, step by step.
    std::fs::write(folder.join("drive.csv"), "time,F,note\n0,0,7\n1,2,7\n").unwrap();
    let run = ["run", "mass.fmu", "--input", "drive.csv", "--stop", "1", "--step", "0.25"];
    good(&folder, &[&run[..], &["--out", "a.csv", "--record", "mass.v"]].concat());
    assert_eq!(last_row(&folder, "a.csv"), [1.0, 0.25 * (0.0 + 0.5 + 1.0 + 1.5)]);
    // The table knows its future: stepped first, its value at the end of a step is what is held over it.
    good(
        &folder,
        &[&run[..], &["--out", "b.csv", "--record", "mass.v", "--method", "schedule=gauss-seidel"]].concat(),
    );
    assert_eq!(last_row(&folder, "b.csv"), [1.0, 0.25 * (0.5 + 1.0 + 1.5 + 2.0)]);
    // Of a unit by name, and out of a result file.
    good(
        &folder,
        &["run", "mass.fmu", "--set", "F=1", "--stop", "1", "--step", "0.5", "--out", "one.parquet"],
    );
    good(
        &folder,
        &["run", "mass.fmu", "--input", "one.parquet", "--step", "0.5", "--stop", "1", "--out", "two.csv"],
    );
    assert_eq!(last_row(&folder, "two.csv")[..1], [1.0]);
    let refuse =
        |args: &[&str]| complaint(&cosimo(&folder, &[&["run", "mass.fmu", "--input"], args].concat()));
    std::fs::write(folder.join("other.csv"), "time,G\n0,0\n").unwrap();
    assert_snapshot!("table-without-inputs", refuse(&["other.csv"]));
    std::fs::write(folder.join("wrong.csv"), "time,F\n0,0\n2,x\n1,nan\n").unwrap();
    assert_snapshot!("wrong-table", refuse(&["wrong.csv"]));
    std::fs::write(folder.join("back.csv"), "time,F\n0,0\n2,1\n1,nan\n").unwrap();
    assert_snapshot!("table-goes-back", refuse(&["back.csv"]));
    assert_snapshot!("missing-table", refuse(&["nothere.csv"]));
}

#[test]
fn every_call_into_units_is_recorded() {
    let folder = halves("calls");
    let run = ["run", "spring.fmu", "mass.fmu", "--bond", BOND, "--stop", "0.2", "--step", "0.1"];
    good(&folder, &[&run[..], &["--log-fmi-calls", "calls.txt"]].concat());
    let text = std::fs::read_to_string(folder.join("calls.txt")).unwrap();
    assert_snapshot!("calls", timeless(&text));
    let output = cosimo(&folder, &[&run[..], &["--log-fmi-calls", "no/such/calls.txt"]].concat());
    assert_snapshot!("calls-unwritable", complaint(&output));
}

/// Without times, tokens and folders.
fn timeless(text: &str) -> String {
    let line = |line: &str| {
        let (start, rest) = line.split_once(" s ").unwrap_or(("", line));
        let number = start.split(' ').next().unwrap_or_default();
        let rest = rest.rsplit_once("  ").map_or(rest, |(rest, _)| rest);
        let call = match (rest.find("(\""), rest.rfind(") = ")) {
            (Some(from), Some(to)) if rest.contains("Instantiate") => {
                format!("{}(..{}", &rest[..from], &rest[to..])
            }
            _ => rest.to_owned(),
        };
        format!("{number} {call}\n")
    };
    text.lines().map(line).collect()
}

#[test]
fn what_cannot_be_put_together_is_explained() {
    let folder = halves("explained");
    let refuse = |args: &[&str]| complaint(&cosimo(&folder, &[&["run"], args].concat()));
    assert_snapshot!("missing-unit", refuse(&["mas.fmu"]));
    assert_snapshot!("system-among-units", refuse(&["mass.fmu", "system.toml"]));
    assert_snapshot!("two-of-a-name", refuse(&["mass.fmu", "mass.fmu"]));
    assert_snapshot!(
        "wrong-connections",
        refuse(&[
            "mass.fmu",
            "spring.fmu",
            "--connect",
            "mass.F=spring.v",
            "--connect",
            "mas.v=spring.v",
            "--bond",
            "j"
        ])
    );
    assert_snapshot!("unknown-variable", refuse(&["mass.fmu", "--set", "mm=1"]));
    assert_snapshot!("no-such-input-table", refuse(&["mass.fmu", "--input", "drive.txt"]));
}
