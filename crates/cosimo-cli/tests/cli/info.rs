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
        json["warnings"][0],
        "the FMU does not declare on which inputs these outputs depend directly, so all are assumed: q (`parameters \
         = { \"cosimo.feedthrough\" = \"probed\" }` probes them, `\"none\"` declares that there are none)"
    );
}

#[test]
fn a_unit_that_cannot_be_read() {
    let folder = folder("info-broken");
    let text = DESCRIPTION
        .replace(" modelIdentifier=\"Pump\"", "")
        .replace("valueReference=\"3\"", "valueReference=\"three\"");
    pack(&folder.join("pump.fmu"), &text);
    let output = info(&folder, &["pump.fmu"]);
    assert!(output.status.success(), "{}", complaint(&output));
    assert_snapshot!("info-broken", String::from_utf8(output.stdout).unwrap());
    pack(&folder.join("pump.fmu"), &DESCRIPTION.replace("</ModelVariables>", ""));
    assert_snapshot!("info-cut", complaint(&info(&folder, &["pump.fmu"])));
    assert_snapshot!("info-absent", complaint(&info(&folder, &["absent.fmu"])));
}

const EXCHANGE1: &str = r#"<?xml version="1.0"?>
<fmiModelDescription fmiVersion="1.0" modelName="Pump" modelIdentifier="Pump" guid="{1}" description="a pump"
    author="A. Maker" version="1.2" generationTool="by hand" generationDateAndTime="2011-09-23T16:57:33Z"
    numberOfContinuousStates="2" numberOfEventIndicators="1">
  <UnitDefinitions><BaseUnit unit="m3/s"/></UnitDefinitions>
  <TypeDefinitions><Type name="Flow"><RealType unit="m3/s" min="0"/></Type></TypeDefinitions>
  <DefaultExperiment startTime="0" stopTime="10"/>
  <ModelVariables>
    <ScalarVariable name="u" valueReference="0" causality="input" description="lift"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="q" valueReference="1" causality="output"><Real declaredType="Flow"/></ScalarVariable>
    <ScalarVariable name="back" valueReference="1" causality="output" alias="negatedAlias"><Real/></ScalarVariable>
    <ScalarVariable name="size" valueReference="3" variability="parameter"><Real start="0.5"/></ScalarVariable>
  </ModelVariables>
</fmiModelDescription>
"#;

/// What can be read is shown, whatever keeps the FMU from running; then why it does not run.
#[test]
fn an_fmu_that_cannot_run_is_described_all_the_same() {
    let folder = folder("info-obstacles");
    let implementation = "</ModelVariables>\n  <Implementation><CoSimulation_Tool><Capabilities/>\
        <Model entryPoint=\"fmu://resources/pump.mdl\" type=\"application/x-a\"/></CoSimulation_Tool></Implementation>";
    let stateless = DESCRIPTION
        .replace("<CoSimulation", "<ModelExchange")
        .replace("<ModelStructure>", "<ModelStructure><ContinuousStateDerivative valueReference=\"1\"/>");
    for (name, text) in [
        ("exchange1", EXCHANGE1.to_owned()),
        ("tool1", EXCHANGE1.replace("</ModelVariables>", implementation)),
        ("scheduled3", DESCRIPTION.replace("<CoSimulation", "<ScheduledExecution")),
        ("stateless3", stateless),
        ("nothing2", EXCHANGE1.replace("fmiVersion=\"1.0\"", "fmiVersion=\"2.0\"")),
    ] {
        pack(&folder.join("pump.fmu"), &text);
        let output = info(&folder, &["pump.fmu"]);
        assert_eq!(complaint(&output), "exit 0\n", "{name}");
        assert_snapshot!(format!("info-{name}"), String::from_utf8(output.stdout).unwrap());
        let json: serde_json::Value =
            serde_json::from_slice(&info(&folder, &["pump.fmu", "--json"]).stdout).unwrap();
        assert_eq!(json["variables"].as_array().unwrap().len(), 4, "{name}");
        assert_eq!(json["obstacle"], json["obstacles"][0], "{name}");
        assert!(json["obstacle"].is_string(), "{name}");
    }
}

#[test]
fn a_slave_of_fmi_1_as_people_read_it() {
    let folder = folder("info-fmi1");
    let implementation = "</ModelVariables>\n  <Implementation><CoSimulation_StandAlone>\
        <Capabilities canHandleVariableCommunicationStepSize=\"true\"/></CoSimulation_StandAlone></Implementation>";
    pack(&folder.join("pump.fmu"), &EXCHANGE1.replace("</ModelVariables>", implementation));
    let output = info(&folder, &["pump.fmu"]);
    assert!(output.status.success(), "{}", complaint(&output));
    assert_snapshot!("info-fmi1", String::from_utf8(output.stdout).unwrap());
    let output = info(&folder, &["pump.fmu", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let back = &json["variables"][2];
    assert_eq!((&back["value_reference"], &back["negated"]), (&serde_json::json!(1), &true.into()));
    assert_eq!(json["details"]["author"], "A. Maker");
}

#[test]
fn a_cell_of_any_length_is_shown() {
    let folder = folder("info-long");
    let long = "x".repeat(100_000);
    pack(
        &folder.join("long.fmu"),
        &DESCRIPTION
            .replace("description=\"pressure\"", &format!("description=\"{long}\""))
            .replace("name=\"q\"", &format!("name=\"{long}\"")),
    );
    let output = crate::common::cosimo(&folder, &["info", "long.fmu"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches(&long).count(), 2);
    assert!(
        text.lines().any(|line| line.starts_with("size  ") && line.len() < 200),
        "one cell widens no column"
    );
}
