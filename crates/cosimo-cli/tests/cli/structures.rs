//! Structures of SSP on the command line: run, explained, converted, and wrong in files beside the description.

use std::fs;

use crate::common::{complaint, cosimo, folder, system};
use insta::assert_snapshot;

/// Everything that SSP has, with its files beside it.
const FIXTURE: [(&str, &str); 4] = [
    ("SystemStructure.ssd", include_str!("../../../cosimo-ssp/tests/fixtures/SystemStructure.ssd")),
    ("resources/values.ssv", include_str!("../../../cosimo-ssp/tests/fixtures/resources/values.ssv")),
    ("resources/mapping.ssm", include_str!("../../../cosimo-ssp/tests/fixtures/resources/mapping.ssm")),
    ("resources/bus.ssb", include_str!("../../../cosimo-ssp/tests/fixtures/resources/bus.ssb")),
];

pub(crate) fn fixture(name: &str, changes: &[(&str, &str)]) -> std::path::PathBuf {
    let folder = folder(name);
    fs::create_dir_all(folder.join("resources")).unwrap();
    for (file, text) in FIXTURE {
        let changed = changes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        fs::write(folder.join(file), changed).unwrap();
    }
    folder
}

fn stdout(folder: &std::path::Path, args: &[&str]) -> String {
    let output = cosimo(folder, args);
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_plan_of_a_structure() {
    let folder = fixture("structure", &[]);
    assert_snapshot!(stdout(&folder, &["explain", "SystemStructure.ssd"]));
}

#[test]
fn a_structure_as_a_system_file() {
    let folder = fixture("structure-toml", &[]);
    stdout(&folder, &["convert", "SystemStructure.ssd", "system.toml"]);
    assert_snapshot!(fs::read_to_string(folder.join("system.toml")).unwrap());
}

#[test]
fn what_is_converted_gives_the_same_rows() {
    let folder = folder("structure-rows");
    system(&folder, &[]);
    stdout(&folder, &["convert", "system.toml", "a.ssp"]);
    stdout(&folder, &["convert", "a.ssp", "b.ssd"]);
    stdout(&folder, &["convert", "b.ssd", "c.toml"]);
    let rows = ["system.toml", "a.ssp", "b.ssd", "c.toml"].map(|file| {
        stdout(&folder, &["run", file, "--stop", "0.5", "--out", "rows.csv"]);
        fs::read_to_string(folder.join("rows.csv")).unwrap()
    });
    assert!(rows[0].lines().count() > 10);
    assert!(rows.iter().all(|other| *other == rows[0]));
}

#[test]
fn problems_are_shown_in_their_own_files() {
    let changes =
        [("value=\"15\"", "value=\"fifteen\""), ("endConnector=\"v\"", "endConnector=\"velocity\"")];
    let folder = fixture("structure-problems", &changes);
    assert_snapshot!(complaint(&cosimo(&folder, &["run", "SystemStructure.ssd"])));
}

/// The reader takes any parameter; that the model does not is known to the plan, and shown where the value stands.
#[test]
fn problems_of_the_plan_are_shown_in_the_file_of_the_value() {
    let folder = fixture("structure-plan", &[("\"rk4\"", "\"rk5\"")]);
    assert_snapshot!(complaint(&cosimo(&folder, &["run", "SystemStructure.ssd"])));
}

#[test]
fn warnings_have_a_place() {
    let folder = fixture(
        "structure-warnings",
        &[("<ssd:SystemGeometry", "<ssd:Geometry"), ("set.solver", "set.sovler")],
    );
    let output = cosimo(&folder, &["explain", "SystemStructure.ssd"]);
    assert!(output.status.success(), "{}", complaint(&output));
    assert_snapshot!(String::from_utf8(output.stderr).unwrap());
}

#[test]
fn what_cannot_be_converted() {
    let folder = fixture("structure-wrong", &[]);
    let said = |args: &[&str]| complaint(&cosimo(&folder, args));
    let all = [
        said(&["convert", "SystemStructure.ssd", "a.xml"]),
        said(&["convert", "SystemStructure.ssd", "SystemStructure.ssd"]),
        said(&["convert", "missing.ssp", "a.toml"]),
        said(&["convert", "SystemStructure.ssd", "nowhere/a.ssp"]),
        said(&["run", "SystemStructure.ssd", "--variant", "B"]),
    ];
    assert_snapshot!(all.join("\n"));
}
