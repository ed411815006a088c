//! Time must move: steps so short that a run would never end stop it with a message.

use std::time::{Duration, Instant};

use cosimo_test_fmus::{Design, InterfaceType, SABOTEUR, Version, built_library, write};
use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder};

const MASS: [&str; 4] = ["native:oscillator/mass", "--set", "F=1", "--stop"];

#[test]
fn a_step_that_never_arrives_is_an_error() {
    let folder = folder("stuck");
    let begun = Instant::now();
    let output = cosimo(&folder, &[&["run"][..], &MASS, &["1", "--step", "1e-300"]].concat());
    assert_snapshot!("stuck", complaint(&output));
    // Instants of rows and of checkpoints are no steps: they are due at every communication point.
    for more in
        [&["--record-every", "1e-300", "--out", "rows.csv"][..], &["--checkpoint", "simulated=1e-300"]]
    {
        let output = cosimo(&folder, &[&["run"][..], &MASS, &["1", "--step", "0.1"], more].concat());
        assert!(output.status.success(), "{more:?}: {}", complaint(&output));
    }
    let rows = std::fs::read_to_string(folder.join("rows.csv")).unwrap();
    assert_eq!(rows.lines().count(), 12, "{rows}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_event_that_is_always_just_ahead_is_an_error() {
    for version in Version::ALL {
        let folder = folder(&format!("near-event{}", version.text()));
        let design = Design::new(SABOTEUR, version).kind(InterfaceType::ModelExchange);
        write(&design, &built_library().unwrap(), &folder.join("near.fmu")).unwrap();
        let args = ["--set", "fault=near-event", "--set", "u=1", "--step", "0.1", "--stop", "3"];
        let output = cosimo(&folder, &[&["run", "near.fmu"][..], &args].concat());
        assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
        if version == Version::Two {
            assert_snapshot!("near-event", complaint(&output));
        }
    }
}
