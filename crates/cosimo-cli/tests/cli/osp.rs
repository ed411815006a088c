//! System structures of the Open Simulation Platform as system files.

use std::fs;

use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder};

pub(crate) const STRUCTURE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
    <EndTime>0.1</EndTime>
    <BaseStepSize>1e-3</BaseStepSize>
    <Simulators>
        <Simulator name="chassis" source="native:quarter-car/chassis-strut"/>
        <Simulator name="wheel" source="native:quarter-car/wheel" stepSize="2e-3"/>
    </Simulators>
    <Connections>
        <VariableConnection powerBond="strut">
            <Variable simulator="chassis" name="F"/>
            <Variable simulator="wheel" name="F"/>
        </VariableConnection>
        <VariableConnection powerBond="strut">
            <Variable simulator="wheel" name="v"/>
            <Variable simulator="chassis" name="v"/>
        </VariableConnection>
    </Connections>
</OspSystemStructure>
"#;

#[test]
fn a_structure_runs_and_becomes_a_system_file() {
    let folder = folder("osp-run");
    fs::write(folder.join("OspSystemStructure.xml"), STRUCTURE).unwrap();
    let run = cosimo(&folder, &["run", "OspSystemStructure.xml", "--out", "structure.csv"]);
    assert_snapshot!("osp-run", complaint(&run));
    let explained = cosimo(&folder, &["explain", "OspSystemStructure.xml", "--toml"]);
    fs::write(folder.join("system.toml"), &explained.stdout).unwrap();
    assert_snapshot!("osp-toml", String::from_utf8(explained.stdout).unwrap());
    assert_eq!(cosimo(&folder, &["run", "system.toml", "--out", "toml.csv"]).status.code(), Some(0));
    let [one, other] = ["structure.csv", "toml.csv"].map(|file| fs::read(folder.join(file)).unwrap());
    assert!(one == other);
}

#[test]
fn a_broken_structure_is_checked_to_its_end() {
    let folder = folder("osp-check");
    let broken = STRUCTURE
        .replace("<EndTime>0.1<", "<EndTime>late<")
        .replace("simulator=\"wheel\" name=\"F\"", "simulator=\"wheel\" name=\"force\"")
        .replace("stepSize=\"2e-3\"", "step=\"2e-3\"");
    fs::write(folder.join("broken.xml"), broken).unwrap();
    let checked = cosimo(&folder, &["check", "broken.xml"]);
    let json = cosimo(&folder, &["check", "broken.xml", "--json"]);
    assert_eq!((checked.status.code(), json.status.code()), (Some(2), Some(2)));
    let [text, json] = [checked, json].map(|output| String::from_utf8(output.stdout).unwrap());
    assert_snapshot!("osp-check", format!("{text}\n{json}"));
    fs::write(folder.join("cut.xml"), &STRUCTURE[..400]).unwrap();
    let cut = cosimo(&folder, &["check", "cut.xml"]);
    assert_snapshot!("osp-cut", String::from_utf8(cut.stdout).unwrap());
}
