//! `cosimo info` on units without a binary for this machine: it describes and runs nothing.

use std::io::Write;
use std::path::Path;

use insta::assert_snapshot;
use zip::write::SimpleFileOptions;

use crate::common::{complaint, folder};

const DESCRIPTION: &str = r#"<?xml version="1.0"?>
<fmiModelDescription fmiVersion="3.0" modelName="Pump" instantiationToken="{1}" description="a pump with a motor"
    generationTool="by hand">
  <CoSimulation modelIdentifier="Pump" canHandleVariableCommunicationStepSize="true" canGetAndSetFMUState="true"/>
  <UnitDefinitions>
    <Unit name="bar"><BaseUnit kg="1" m="-1" s="-2" factor="1e5"/></Unit>
    <Unit name="degC"><BaseUnit K="1" offset="273.15"/></Unit>
  </UnitDefinitions>
  <DefaultExperiment stopTime="10" stepSize="0.01"/>
  <ModelVariables>
    <Float64 name="p" valueReference="0" causality="input" start="1" unit="bar" description="pressure"/>
    <Float64 name="q" valueReference="1" causality="output" description="flows"><Dimension start="3"/></Float64>
    <Binary name="bus" valueReference="2" causality="output"/>
    <Float64 name="size" valueReference="3" causality="parameter" variability="fixed" start="0.5"/>
  </ModelVariables>
  <ModelStructure><Output valueReference="1" dependencies="0"/></ModelStructure>
</fmiModelDescription>
"#;

fn pack(file: &Path, description: &str) {
    let mut writer = zip::ZipWriter::new(std::fs::File::create(file).unwrap());
    for (name, text) in [("modelDescription.xml", description), ("binaries/x86_64-windows/Pump.dll", "")] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

fn info(folder: &Path, args: &[&str]) -> std::process::Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_cosimo"))
        .arg("info")
        .args(args)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .unwrap()
}

#[test]
fn a_unit_as_people_read_it() {
    let folder = folder("info");
    pack(&folder.join("pump.fmu"), DESCRIPTION);
    let output = info(&folder, &["pump.fmu"]);
    assert!(output.status.success(), "{}", complaint(&output));
    assert_snapshot!("info", String::from_utf8(output.stdout).unwrap());
    let output = info(&folder, &["pump.fmu", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["variables"][1]["dimensions"], serde_json::json!([3]));
    assert_eq!(json["uses"]["co_simulation"]["capabilities"]["rollback"], true);
    assert_eq!(json["units"][0]["factor"], 1e5);
}

#[test]
fn what_a_unit_does_not_say_is_said() {
    let folder = folder("info-silent");
    pack(&folder.join("pump.fmu"), &DESCRIPTION.replace(" dependencies=\"0\"", ""));
    let output = info(&folder, &["pump.fmu", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        json["remarks"][0],
        "the unit does not say on which inputs these outputs depend at once, so all are assumed: q (`parameters \
         = { \"cosimo.feedthrough\" = \"probed\" }` finds out, `\"none\"` says that there are none)"
    );
}

#[test]
fn a_unit_that_cannot_be_read() {
    let folder = folder("info-broken");
    let text = DESCRIPTION
        .replace(" modelIdentifier=\"Pump\"", "")
        .replace("valueReference=\"3\"", "valueReference=\"three\"");
    pack(&folder.join("pump.fmu"), &text);
    assert_snapshot!("info-broken", complaint(&info(&folder, &["pump.fmu"])));
    assert_snapshot!("info-absent", complaint(&info(&folder, &["absent.fmu"])));
}
