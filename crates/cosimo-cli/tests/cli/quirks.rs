//! FMUs with habits of other tools, as a person runs them: regular ends, values that do not arrive, locals.

use std::path::PathBuf;

use cosimo_test_fmus::{Design, Quirk, SABOTEUR, Version, built_library, write};
use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder};

fn fmu(name: &str, design: &Design) -> PathBuf {
    let folder = folder(&format!("quirks-{name}-{}", design.version.text()));
    write(design, &built_library().unwrap(), &folder.join("fmu.fmu")).unwrap();
    folder
}

fn lines(folder: &std::path::Path, file: &str) -> Vec<String> {
    std::fs::read_to_string(folder.join(file)).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn an_fmu_that_ends_the_simulation_ends_it_well() {
    for version in Version::ALL {
        let folder = fmu("ends", &Design::new(SABOTEUR, version));
        let set = ["--set", "fault=\"terminate\"", "--set", "at_step=3"];
        let rest = ["--stop", "1", "--step", "0.1", "--out", "r.csv", "--summary-json", "s.json"];
        let output = cosimo(&folder, &[&["run", "fmu.fmu"], &set[..], &rest[..]].concat());
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(complaint(&output), "exit 0\n", "{said}");
        let note: String = said.lines().filter(|line| line.starts_with("note: ")).collect();
        let name = version.text().replace('.', "");
        assert_snapshot!(format!("ended-early-fmi{name}"), note);
        let rows = lines(&folder, "r.csv");
        assert!(rows.last().unwrap().starts_with("0.25,"), "{rows:?}");
        let summary: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join("s.json")).unwrap()).unwrap();
        assert_eq!(summary["finished"], true);
        assert_eq!(summary["ended_by"]["component"], "fmu");
    }
}

#[test]
fn a_parameter_that_an_fmu_does_not_take_is_a_warning() {
    for version in Version::ALL {
        let folder = fmu("deaf", &Design::new("native:dual-mass/left", version).quirk(Quirk::Deaf));
        let output = cosimo(&folder, &["run", "fmu.fmu", "--set", "m1=7", "--stop", "0.1", "--step", "0.1"]);
        assert_snapshot!("parameter-did-not-arrive", complaint(&output));
    }
}

#[test]
fn variables_inside_an_fmu_are_recorded_and_plotted() {
    for version in Version::ALL {
        let folder = fmu("locals", &Design::exchange("native:dual-mass/left", version));
        let rest = ["--stop", "0.2", "--step", "0.1", "--out", "r.csv"];
        let output = cosimo(&folder, &[&["run", "fmu.fmu", "--record", "fmu.der(*"], &rest[..]].concat());
        assert_eq!(complaint(&output), "exit 0\n");
        let rows = lines(&folder, "r.csv");
        assert_eq!((rows[0].matches("der(").count(), rows.len()), (2, 4), "{rows:?}");
        let output = cosimo(&folder, &["plot", "r.csv", "--out", "r.svg"]);
        assert_eq!(complaint(&output), "exit 0\n");
        assert!(std::fs::read_to_string(folder.join("r.svg")).unwrap().contains("der("));
    }
}
