//! The cache of unpacked FMUs: what runs is what the file says, however often, and whatever happened to the copy.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::assert_snapshot;
use zip::write::SimpleFileOptions;

use crate::common::{complaint, folder};

const DESCRIPTION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="mass" guid="{mass}">
  <CoSimulation modelIdentifier="mass" canHandleVariableCommunicationStepSize="true"/>
  <ModelVariables>
    <ScalarVariable name="F" valueReference="0" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="x" valueReference="2" causality="output" initial="calculated"><Real/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="2" dependencies=""/></Outputs></ModelStructure>
</fmiModelDescription>
"#;

/// An FMU that counts its instances in a file of its resources, and begins at that number.
fn counting(folder: &Path) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cosimo-fmi/tests/fixtures/fmi2.c");
    let library = folder.join("mass.so");
    let mut compiler = Command::new("gcc");
    compiler.args(["-shared", "-fPIC", "-DTOKEN=\"{mass}\"", "-DMASS", "-DCOUNTS_RUNS"]);
    let output = compiler.arg(sources).arg("-o").arg(&library).arg("-lm").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut writer = zip::ZipWriter::new(std::fs::File::create(folder.join("mass.fmu")).unwrap());
    for (name, content) in [
        ("modelDescription.xml", DESCRIPTION.as_bytes()),
        ("binaries/linux64/mass.so", &std::fs::read(library).unwrap()),
        ("resources/runs.txt", b"7\n"),
    ] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap();
}

fn cosimo(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cosimo"));
    command.args(args).current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache"));
    command.output().unwrap()
}

fn run(folder: &Path) -> (String, Vec<u8>) {
    let output = cosimo(
        folder,
        &["run", "mass.fmu", "--set", "F=1", "--stop", "1", "--step", "0.1", "--out", "rows.csv"],
    );
    assert!(output.status.success(), "{}", complaint(&output));
    (String::from_utf8(output.stderr).unwrap(), std::fs::read(folder.join("rows.csv")).unwrap())
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("cache/cosimo/fmu")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn an_fmu_that_writes_into_its_resources_gives_equal_results_every_time() {
    let folder = folder("cache-writes");
    counting(&folder);
    let (said, first) = run(&folder);
    let text = String::from_utf8(first.clone()).unwrap();
    assert!(text.lines().nth(1).unwrap().contains('7'), "{text}");
    for _ in 0..2 {
        assert_eq!(run(&folder), (said.clone(), first.clone()));
    }
    // The private copies are gone; one that a process left behind is removed by the next.
    let [unpacked] = &kept(&folder)[..] else { panic!("{:?}", kept(&folder)) };
    assert_eq!(std::fs::read_to_string(unpacked.join("resources/runs.txt")).unwrap(), "7\n");
    let left = unpacked.with_file_name(".run-1-0");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join(".cosimo-last-use"), "").unwrap();
    run(&folder);
    assert!(!left.exists());
    // A trial in a child process has a copy of its own, and leaves none.
    let output = cosimo(&folder, &["check", "mass.fmu", "--set", "F=1", "--stop", "1", "--step", "0.1"]);
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(kept(&folder).len(), 1);
}

#[test]
fn a_cache_that_was_tampered_with_is_noticed_shown_and_cleaned() {
    let folder = folder("cache-tampered");
    counting(&folder);
    let (_, first) = run(&folder);
    let [unpacked] = &kept(&folder)[..] else { panic!("{:?}", kept(&folder)) };
    let file = unpacked.join("resources/runs.txt");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "8\n").unwrap();
    let (said, again) = run(&folder);
    assert!(again == first);
    let shown = |args: &[&str]| {
        let told = String::from_utf8(cosimo(&folder, args).stdout).unwrap();
        let told = told.replace(&folder.display().to_string(), "HERE");
        // Sizes, times and hashes are those of this machine.
        let plain = |line: &str| match line.trim().split_once("  mass.fmu") {
            Some((about, rest)) => {
                format!("  {} mass.fmu{rest}\n", about.split("  ").map(|_| "*").collect::<String>())
            }
            None => format!("{}\n", line.split(": ").next().unwrap()),
        };
        told.lines().map(plain).collect::<String>()
    };
    let list = shown(&["cache"]);
    let cleaned = shown(&["cache", "clean", "--all"]);
    assert_eq!(kept(&folder).len(), 0);
    assert_snapshot!("tampered", format!("{said}\n{list}\n{cleaned}"));
    for (size, code) in [("1.5GB", 0), ("20 MB", 0), ("0", 0), ("many", 2), ("-1", 2)] {
        let output = cosimo(&folder, &["cache", "clean", &format!("--max={size}")]);
        assert_eq!(output.status.code(), Some(code), "{size}: {}", complaint(&output));
    }
}
