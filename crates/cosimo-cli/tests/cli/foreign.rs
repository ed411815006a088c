//! Files of other tools given as a system, and FMUs that cannot run: one answer that says what the file is.

use std::fs;
use std::io::Write;
use std::path::Path;

use insta::assert_snapshot;

use zip::write::SimpleFileOptions;

use crate::common::{complaint, cosimo, folder};

fn archive(file: &Path, entries: &[(&str, &[u8])]) {
    let mut writer = zip::ZipWriter::new(fs::File::create(file).unwrap());
    for (name, bytes) in entries {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn files_of_other_tools_are_called_what_they_are() {
    let folder = folder("foreign");
    let multi_model = "{\"fmus\": {\"{a}\": \"a.fmu\"}, \"connections\": {}}";
    let settings = "{\"startTime\": 0.0, \"endTime\": 1.0}";
    let xml = |root: &str| format!("<?xml version=\"1.0\"?>\n<!-- by a tool -->\n<{root}/>\n");
    let (description, structure, values, precice, other) = (
        xml("fmiModelDescription"),
        xml("ssd:SystemStructureDescription"),
        xml("ssv:ParameterSet"),
        xml("precice-configuration"),
        xml("SomethingElse"),
    );
    let files: &[(&str, &str)] = &[
        ("a.msim", "tStart 0 s\n"),
        ("mm.json", multi_model),
        ("simulation.json", settings),
        ("other.json", "[1, 2]"),
        ("spec.mabl", "simulation import FMI2;\n"),
        ("a.py", "import fmpy\n"),
        ("a.ipynb", "{}"),
        ("a.lua", "oms_newModel(\"a\")\n"),
        ("a.mo", "model A end A;\n"),
        ("a.mos", "loadFile(\"a.mo\");\n"),
        ("a.mdl", "Model {\n}\n"),
        ("a.m", "x = 1;\n"),
        ("a.ssv", &values),
        ("a.ssm", ""),
        ("a.ssb", ""),
        ("a.yaml", "a: 1\n"),
        ("modelDescription.xml", &description),
        ("structure.xml", &structure),
        ("precice-config.xml", &precice),
        ("something", &other),
        ("library.so", "\u{7f}ELF"),
        ("nothing.bin", "\0\0"),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    archive(&folder.join("pump.fmu.zip"), &[("modelDescription.xml", description.as_bytes())]);
    archive(&folder.join("plant.zip"), &[("SystemStructure.ssd", structure.as_bytes())]);
    archive(&folder.join("model.slx"), &[("simulink/blockdiagram.xml", b"<a/>")]);
    archive(&folder.join("any.zip"), &[("readme.txt", b"")]);
    for name in ["unpacked", "osp"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    fs::write(folder.join("unpacked/modelDescription.xml"), &description).unwrap();
    fs::write(folder.join("osp/OspSystemStructure.xml"), "").unwrap();
    let more = ["pump.fmu.zip", "plant.zip", "model.slx", "any.zip", "unpacked", "osp"];
    let mut answers = String::new();
    for name in files.iter().map(|(name, _)| *name).chain(more) {
        let output = cosimo(&folder, &["run", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        answers += &format!("{}\n", complaint(&output).trim_end());
    }
    assert_snapshot!("foreign-files", answers);
    // Every command that reads a system says the same.
    for command in ["check", "explain", "verify"] {
        let output = cosimo(&folder, &[command, "a.msim"]);
        assert!(complaint(&output).contains("`a.msim` is a MasterSim project"), "{command}");
    }
}
