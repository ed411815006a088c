//! Tables that drive inputs and parameters: held or interpolated as the input wants it, and no column without a word.

use std::path::{Path, PathBuf};

use cosimo_test_fmus::{Design, ECHO, Version, built_library, write};
use insta::assert_snapshot;

use crate::check::altered;
use crate::common::{complaint, cosimo, folder};

fn run(folder: &Path, args: &[&str]) -> String {
    let output = cosimo(folder, args);
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stderr).unwrap()
}

/// A column of a result file.
fn column(folder: &Path, file: &str, name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place =
        names.iter().position(|known| *known == name).unwrap_or_else(|| panic!("no {name}: {names:?}"));
    lines.map(|line| line.split(',').nth(place).unwrap().parse().unwrap()).collect()
}

/// The FMU that shows its inputs again; the real one is discrete if wanted.
fn echo(name: &str, version: Version, discrete: bool) -> PathBuf {
    let folder = folder(&format!("{name}{}", version.text()));
    let change =
        ("causality=\"input\" variability=\"continuous\"", "causality=\"input\" variability=\"discrete\"");
    let changes = if discrete { &[change][..] } else { &[] };
    // In 3.0 the first one is a single.
    let first = match version {
        Version::One | Version::Two => changes.to_vec(),
        Version::Three => [changes, changes].concat(),
    };
    altered(&Design::new(ECHO, version), &first, &folder.join("echo.fmu"));
    folder
}

const RUN: [&str; 8] = ["run", "echo.fmu", "--stop", "2", "--step", "0.25", "--out", "out.csv"];

#[test]
fn discrete_inputs_hold_a_value_until_the_next_row() {
    let (real, whole) = ("float64", "int32");
    for version in Version::ALL {
        // What it shows at 0.5 s is what it was told at 0.25 s.
        for (discrete, between) in [(true, 0.0), (false, 0.25)] {
            let folder = echo(&format!("table-held-{discrete}"), version, discrete);
            let rows = format!("time,{real}_in,{whole}_in,boolean_in\n0,0,0,0\n1,1,2,1\n2,1,2,1\n");
            std::fs::write(folder.join("in.csv"), rows).unwrap();
            run(&folder, &[&RUN[..], &["--input", "in.csv"]].concat());
            let at = |name: &str, time: f64| {
                let times = column(&folder, "out.csv", "time");
                let values = column(&folder, "out.csv", &format!("echo.{name}_out"));
                // Of two rows at one instant, the one after the jump.
                values[times.iter().rposition(|found| *found == time).unwrap()]
            };
            for (name, wanted) in [(real, between), (whole, 0.0), ("boolean", 0.0)] {
                assert_eq!(at(name, 0.5), wanted, "{name}, {version:?}, discrete {discrete}");
            }
            for (name, wanted) in [(real, 1.0), (whole, 2.0), ("boolean", 1.0)] {
                assert_eq!(at(name, 1.25), wanted, "{name}, {version:?}, discrete {discrete}");
            }
        }
    }
}

/// The same code serves tables as components.
#[test]
fn a_table_of_a_system_file_is_held_for_discrete_inputs_too() {
    let folder = echo("table-system", Version::Two, true);
    std::fs::write(folder.join("drive.csv"), "time,r,n\n0,0,0\n1,1,2\n").unwrap();
    std::fs::write(
        folder.join("system.toml"),
        "[experiment]\nstop = 1.0\n[component.drive]\nsource = \"drive.csv\"\n[component.echo]\nsource = \"echo.fmu\"\n\
         [[connection]]\nfrom = \"drive.r\"\nto = \"echo.float64_in\"\n[[connection]]\nfrom = \"drive.n\"\nto = \"echo.int32_in\"\n\
         [method]\nstep = { size = 0.25 }\n",
    )
    .unwrap();
    run(&folder, &["run", "system.toml", "--out", "out.csv"]);
    for name in ["echo.float64_out", "echo.int32_out"] {
        assert_eq!(column(&folder, "out.csv", name)[2], 0.0, "{name}");
    }
}

#[test]
fn columns_that_fit_no_input_and_rows_that_end_early_are_warned_of() {
    let folder = folder("table-warnings");
    let mass = Design::new("native:oscillator/mass", Version::Two);
    write(&mass, &built_library().unwrap(), &folder.join("mass.fmu")).unwrap();
    std::fs::write(folder.join("in.csv"), "time,F,FF,m,x,wind\n0.5,1,1,1,1,1\n1,1,1,1,1,1\n").unwrap();
    let said = run(&folder, &["run", "mass.fmu", "--stop", "2", "--step", "0.5", "--input", "in.csv"]);
    assert_snapshot!("table-warnings", said);
    // A result of the same system is as good as a table made for it.
    let said = run(&folder, &["run", "mass.fmu", "--stop", "2", "--step", "0.5", "--out", "again.csv"]);
    assert_eq!(said, "");
    let said = run(&folder, &["run", "mass.fmu", "--stop", "2", "--step", "0.5", "--input", "again.csv"]);
    assert_eq!(said, "");
}

#[test]
fn semicolons_and_decimal_commas_are_read() {
    let folder = echo("table-semicolons", Version::Two, false);
    std::fs::write(folder.join("in.csv"), "\u{feff}Time;float64_in\r\n0;0,5\r\n2;2,5\r\n").unwrap();
    run(&folder, &[&RUN[..], &["--input", "in.csv"]].concat());
    assert_eq!(column(&folder, "out.csv", "echo.float64_out")[2], 0.75);
}
