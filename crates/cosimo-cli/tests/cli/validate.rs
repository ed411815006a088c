//! `cosimo validate` as people and programs read it. That each rule finds its defect is tested with the rules.

use std::io::Write;
use std::path::Path;

use cosimo::export::{Design, Version, model_description};
use insta::assert_snapshot;
use zip::write::SimpleFileOptions;

use crate::common::{complaint, cosimo, folder};

/// The wheel of the quarter car with some text replaced, as modelDescription.xml in the folder.
fn wheel(folder: &Path, version: Version, from: &str, to: &str) {
    let text = model_description(&Design::new("native:quarter-car/wheel", version)).unwrap();
    assert!(text.contains(from), "the description has no `{from}`");
    std::fs::write(folder.join("modelDescription.xml"), text.replacen(from, to, 1)).unwrap();
}

fn pack(file: &Path, entries: &[(&str, &[u8])]) {
    let mut writer = zip::ZipWriter::new(std::fs::File::create(file).unwrap());
    for (name, bytes) in entries {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap();
}

fn said(folder: &Path, args: &[&str]) -> String {
    let output = cosimo(folder, &[&["validate"], args].concat());
    assert!(output.stderr.is_empty(), "{}", complaint(&output));
    format!("exit {}\n{}", output.status.code().unwrap_or(-1), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn defects_as_people_read_them() {
    let folder = folder("validate");
    for (name, version, from, to) in [
        ("well-formed", Version::Two, "</ModelVariables>", ""),
        ("unknown-attribute", Version::Two, "name=\"mw\"", "name=\"mw\" colour=\"red\""),
        ("attribute-value", Version::Three, "stopTime=\"1\"", "stopTime=\"0,5\""),
        ("missing-element", Version::Two, "<Real unit=\"kg\" start=\"40\"/>", ""),
        ("duplicate-name", Version::Two, "name=\"kw\"", "name=\"mw\""),
        ("duplicate-reference", Version::Three, "valueReference=\"5\"", "valueReference=\"4\""),
        (
            "causality",
            Version::Two,
            "causality=\"input\" variability=\"continuous\"",
            "causality=\"input\" variability=\"fixed\"",
        ),
        ("start-missing", Version::Three, " unit=\"kg\" start=\"40\"", " unit=\"kg\""),
        ("start-range", Version::Two, "min=\"1\" start=\"10\"", "min=\"1\" start=\"0\""),
        ("unit", Version::Three, "unit=\"kg\"", "unit=\"kilo\""),
        ("outputs", Version::Two, "<Unknown index=\"4\" dependencies=\"\"/>", ""),
        ("misspelt", Version::Three, "providesDirectionalDerivatives", "providesDirectionalDerivative"),
    ] {
        wheel(&folder, version, from, to);
        assert_snapshot!(format!("validate-{name}"), said(&folder, &["modelDescription.xml"]));
    }
}

#[test]
fn the_strict_profile_makes_errors_of_warnings() {
    let folder = folder("validate-strict");
    wheel(&folder, Version::Three, "unit=\"kg\"", "unit=\"kilo\"");
    assert!(
        said(&folder, &["modelDescription.xml"]).ends_with("\nmodelDescription.xml (FMI 3.0): 1 warning\n")
    );
    let strict = said(&folder, &["modelDescription.xml", "--strict"]);
    assert!(strict.starts_with("exit 2\nerror[variable/unit]"), "{strict}");
    wheel(&folder, Version::Three, "<ModelVariables>", "<ModelVariables>");
    assert_eq!(
        said(&folder, &["modelDescription.xml", "--strict"]),
        "exit 0\nmodelDescription.xml (FMI 3.0): no problems found\n"
    );
}

#[test]
fn archives() {
    let folder = folder("validate-archive");
    wheel(&folder, Version::Two, "name=\"kw\"", "name=\"mw\"");
    let text = std::fs::read(folder.join("modelDescription.xml")).unwrap();
    let entries: &[(&str, &[u8])] =
        &[("modelDescription.xml", &text), ("binaries/x86_64-linux/wheel.so", b"MZ"), ("..\\a", b"")];
    pack(&folder.join("wheel.fmu"), entries);
    assert_snapshot!("validate-archive", said(&folder, &["wheel.fmu"]));
    assert_snapshot!("validate-json", said(&folder, &["wheel.fmu", "--json"]));
    std::fs::write(folder.join("cut.fmu"), b"PK\x03\x04").unwrap();
    assert_snapshot!("validate-cut", said(&folder, &["cut.fmu"]));
}

#[test]
fn files_that_cannot_be_read() {
    let folder = folder("validate-absent");
    assert_snapshot!("validate-absent", complaint(&cosimo(&folder, &["validate", "absent.fmu"])));
    assert_snapshot!("validate-folder", complaint(&cosimo(&folder, &["validate", "."])));
    assert_snapshot!("validate-nothing", complaint(&cosimo(&folder, &["validate"])));
}

#[test]
fn all_rules_are_listed() {
    let folder = folder("validate-rules");
    assert_snapshot!("validate-rules", said(&folder, &["--rules"]));
    let json = said(&folder, &["--rules", "--json"]);
    let rules: serde_json::Value = serde_json::from_str(json.split_once('\n').unwrap().1).unwrap();
    assert_eq!(rules.as_array().unwrap().len(), cosimo::fmi_check::RULES.len());
}

/// Each file has its verdict; one that cannot be read does not hide the others.
#[test]
fn several_files_at_once() {
    let folder = folder("validate-several");
    wheel(&folder, Version::One, "<ModelVariables>", "<ModelVariables>");
    std::fs::rename(folder.join("modelDescription.xml"), folder.join("one.xml")).unwrap();
    wheel(&folder, Version::Two, "name=\"kw\"", "name=\"mw\"");
    let output = cosimo(&folder, &["validate", "one.xml", "absent.fmu", "modelDescription.xml"]);
    let (said, complained) = (String::from_utf8(output.stdout.clone()).unwrap(), complaint(&output));
    assert_snapshot!("validate-several", format!("exit {:?}\n{said}\n{complained}", output.status.code()));
    let output = cosimo(&folder, &["validate", "--json", "one.xml", "modelDescription.xml"]);
    assert_eq!(output.status.code(), Some(2));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json[0]["summary"]["errors"], &json[1]["summary"]["errors"]), (&0.into(), &1.into()));
    assert_eq!(json[0]["fmi_version"], "1.0");
}

#[test]
fn defects_of_fmi_1_as_people_read_them() {
    let folder = folder("validate-fmi1");
    for (name, from, to) in [
        ("dependency", "<DirectDependency>", "<DirectDependency><Name>nothing</Name>"),
        ("alias", "name=\"mw\"", "name=\"mw\" alias=\"negatedAlias\""),
        ("causality", "causality=\"output\"", "causality=\"local\""),
        ("step-size", "stopTime=\"1\"", "stopTime=\"1\" stepSize=\"0.1\""),
    ] {
        wheel(&folder, Version::One, from, to);
        assert_snapshot!(format!("validate-fmi1-{name}"), said(&folder, &["modelDescription.xml"]));
    }
}
