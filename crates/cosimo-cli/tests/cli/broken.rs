//! Units that are broken, hostile or made for something else: the whole answer of `cosimo info` and `cosimo run`.
//! Whatever the file, nothing is written outside the cache, and the command ends by itself.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use cosimo::export::{Design, Version, built_library, write};
use zip::ZipArchive;
use zip::write::SimpleFileOptions;

use crate::common::folder;

const DESCRIPTION: &str = r#"<?xml version="1.0"?>
<fmiModelDescription fmiVersion="2.0" modelName="gain" guid="{1}">
  <CoSimulation modelIdentifier="gain" canHandleVariableCommunicationStepSize="true"/>
  <ModelVariables>
    <ScalarVariable name="u" valueReference="0" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="y" valueReference="1" causality="output"><Real/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="2" dependencies="1"/></Outputs></ModelStructure>
</fmiModelDescription>
"#;

const DESCRIPTION3: &str = r#"<?xml version="1.0"?>
<fmiModelDescription fmiVersion="3.0" modelName="gain" instantiationToken="{1}">
  <CoSimulation modelIdentifier="gain" canHandleVariableCommunicationStepSize="true"/>
  <ModelVariables>
    <Float64 name="u" valueReference="0" causality="input" start="0"/>
    <Float64 name="y" valueReference="1" causality="output"/>
  </ModelVariables>
  <ModelStructure><Output valueReference="1" dependencies="0"/></ModelStructure>
</fmiModelDescription>
"#;

const SYSTEM: &str = "[experiment]\nstop = 0.2\n\n[component.unit]\nsource = \"unit.fmu\"\n\n[method]\nstep = { size = 0.1 }\n";

/// A folder with the unit and a system around it, and canaries beside it.
struct Cage {
    root: PathBuf,
    work: PathBuf,
}

impl Cage {
    fn new(name: &str) -> Cage {
        let root = folder(&format!("broken-{name}"));
        let work = root.join("a/b/work");
        for folder in ["a/b/work", "home", "tmp"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for canary in ["canary", "a/canary", "a/b/canary", "home/canary", "tmp/canary"] {
            fs::write(root.join(canary), "sings").unwrap();
        }
        fs::write(work.join("system.toml"), SYSTEM).unwrap();
        Cage { root, work }
    }

    fn unit(&self) -> PathBuf {
        self.work.join("unit.fmu")
    }

    fn pack(&self, entries: &[(&str, &[u8])]) {
        let mut writer = zip::ZipWriter::new(fs::File::create(self.unit()).unwrap());
        for (name, bytes) in entries {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap();
    }

    fn describe(&self, description: &str) {
        self.pack(&[("modelDescription.xml", description.as_bytes())]);
    }

    /// The description with a binary for this machine.
    fn with_binary(&self, binary: &[u8]) {
        let entries: [(&str, &[u8]); 2] =
            [("modelDescription.xml", DESCRIPTION.as_bytes()), ("binaries/linux64/gain.so", binary)];
        self.pack(&entries);
    }

    /// Compiles a library out of one line of C.
    fn library(&self, source: &str, flags: &[&str]) -> Vec<u8> {
        let (from, to) = (self.root.join("tmp/source.c"), self.root.join("tmp/library.so"));
        fs::write(&from, source).unwrap();
        let output = Command::new("gcc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&to, &from])
            .args(flags)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let bytes = fs::read(&to).unwrap();
        fs::remove_file(from).unwrap();
        fs::remove_file(to).unwrap();
        bytes
    }

    /// Every file outside the cache, with its content.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if path == self.root.join("cache") {
                    continue;
                }
                if entry.file_type().unwrap().is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap_or_default();
                    found.insert(path, bytes);
                }
            }
        }
        found
    }

    fn cosimo(&self, args: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_cosimo"))
            .args(args)
            .current_dir(&self.work)
            .env("XDG_CACHE_HOME", self.root.join("cache"))
            .env("HOME", self.root.join("home"))
            .env("TMPDIR", self.root.join("tmp"))
            .output()
            .unwrap();
        let code = output.status.code().unwrap_or_else(|| panic!("{args:?} was killed: {output:?}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (said, complained) = (text(&output.stdout), text(&output.stderr));
        assert!(!complained.contains("panicked"), "{complained}");
        format!("$ cosimo {}\nexit {code}\n{said}{complained}", args.join(" "))
    }

    /// Both answers, without what differs from machine to machine.
    fn answers(&self) -> String {
        let before = self.outside();
        let answers = self.cosimo(&["info", "unit.fmu"]) + "\n" + &self.cosimo(&["run", "system.toml"]);
        assert_eq!(self.outside(), before, "something was written outside the cache");
        let answers = answers.replace(self.root.to_str().unwrap(), "");
        without_hashes(&answers)
    }
}

/// Names of unpacked units follow from their content, which the compiler has its part in.
fn without_hashes(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for character in text.chars().chain(['\0']) {
        if character.is_ascii_hexdigit() {
            word.push(character);
            continue;
        }
        out += if word.len() == 64 { "HASH" } else { &word };
        word.clear();
        out.push(character);
    }
    out.pop();
    out
}

macro_rules! snapshot {
    ($cage:ident) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($cage.answers()) });
    };
}

#[test]
fn zero_bytes() {
    let cage = Cage::new("empty");
    fs::write(cage.unit(), b"").unwrap();
    snapshot!(cage);
}

#[test]
fn not_a_zip() {
    let cage = Cage::new("text");
    fs::write(cage.unit(), "this is a letter, not a unit\n".repeat(20)).unwrap();
    snapshot!(cage);
}

#[test]
fn truncated() {
    let cage = Cage::new("cut");
    cage.describe(DESCRIPTION);
    let whole = fs::read(cage.unit()).unwrap();
    fs::write(cage.unit(), &whole[..whole.len() / 2]).unwrap();
    snapshot!(cage);
}

#[test]
fn a_zip_of_nothing() {
    let cage = Cage::new("nothing");
    cage.pack(&[]);
    snapshot!(cage);
}

#[test]
fn a_folder_in_place_of_the_description() {
    let cage = Cage::new("folder");
    let mut writer = zip::ZipWriter::new(fs::File::create(cage.unit()).unwrap());
    writer.add_directory("modelDescription.xml", SimpleFileOptions::default()).unwrap();
    writer.finish().unwrap();
    snapshot!(cage);
}

#[test]
fn two_descriptions() {
    let cage = Cage::new("two");
    cage.pack(&[("modelDescription.xml", DESCRIPTION.as_bytes()), ("modelDescription.xmm", b"<other/>")]);
    // The writer refuses a name twice, so the second is changed in the bytes, in both places where it stands.
    let mut bytes = fs::read(cage.unit()).unwrap();
    let (from, to) = (b"modelDescription.xmm", b"modelDescription.xml");
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    fs::write(cage.unit(), bytes).unwrap();
    snapshot!(cage);
}

#[test]
fn entries_that_lead_out() {
    let cage = Cage::new("traversal");
    cage.pack(&[("modelDescription.xml", DESCRIPTION.as_bytes()), ("../../canary", b"silent")]);
    snapshot!(cage);
    let absolute = cage.root.join("canary").to_str().unwrap().to_owned();
    cage.pack(&[("modelDescription.xml", DESCRIPTION.as_bytes()), (&absolute, b"silent")]);
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("entries_that_lead_to_the_root", cage.answers());
    });
}

#[test]
fn links() {
    let cage = Cage::new("link");
    let mut writer = zip::ZipWriter::new(fs::File::create(cage.unit()).unwrap());
    writer.add_symlink("resources", cage.root.to_str().unwrap(), SimpleFileOptions::default()).unwrap();
    writer.start_file("resources/canary", SimpleFileOptions::default()).unwrap();
    writer.write_all(b"silent").unwrap();
    writer.finish().unwrap();
    snapshot!(cage);
}

#[test]
fn a_bomb() {
    let cage = Cage::new("bomb");
    let zeros = vec![0; 12_000_000];
    cage.pack(&[("modelDescription.xml", DESCRIPTION.as_bytes()), ("resources/zeros", &zeros)]);
    snapshot!(cage);
}

/// Archives inside the archive are files like any other: they are not unpacked.
#[test]
fn a_bomb_in_an_archive_in_the_archive() {
    let cage = Cage::new("nested-bomb");
    cage.pack(&[("zeros", &vec![0; 12_000_000])]);
    let inner = fs::read(cage.unit()).unwrap();
    cage.pack(&[("modelDescription.xml", DESCRIPTION.as_bytes()), ("resources/inner.zip", &inner)]);
    snapshot!(cage);
}

#[test]
fn xml_that_is_none() {
    let cage = Cage::new("xml");
    cage.describe(&DESCRIPTION.replace("</ModelVariables>", ""));
    snapshot!(cage);
}

#[test]
fn entities_that_explode() {
    let cage = Cage::new("entities");
    let mut entities = String::from("<!ENTITY a0 \"laugh\">");
    for k in 1..10 {
        entities += &format!("<!ENTITY a{k} \"{}\">", format!("&a{};", k - 1).repeat(10));
    }
    let doctype = format!("<?xml version=\"1.0\"?>\n<!DOCTYPE fmiModelDescription [{entities}]>");
    let text = DESCRIPTION.replace("<?xml version=\"1.0\"?>", &doctype);
    cage.describe(&text.replace("modelName=\"gain\"", "modelName=\"&a9;\""));
    snapshot!(cage);
}

#[test]
fn versions_and_kinds_that_are_not_run() {
    for (name, description) in [
        ("fmi-1", DESCRIPTION.replace("fmiVersion=\"2.0\"", "fmiVersion=\"1.0\"")),
        ("fmi-4", DESCRIPTION3.replace("fmiVersion=\"3.0\"", "fmiVersion=\"4.0\"")),
        ("model-exchange", DESCRIPTION.replace("<CoSimulation", "<ModelExchange")),
        ("scheduled-execution", DESCRIPTION3.replace("<CoSimulation", "<ScheduledExecution")),
    ] {
        let cage = Cage::new(name);
        cage.describe(&description);
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, cage.answers()) });
    }
}

/// FMI 2.0 lets variables share a value reference where they are aliases, which two inputs never are; FMI 3.0
/// has another way for aliases and lets none share.
#[test]
fn value_references_that_stand_for_two() {
    let second = "<ScalarVariable name=\"w\" valueReference=\"0\" causality=\"input\"><Real start=\"0\"/></ScalarVariable>\n  </ModelVariables>";
    let third = "<Float64 name=\"w\" valueReference=\"1\" causality=\"output\"/>\n  </ModelVariables>";
    for (name, description) in [
        ("shared-reference-fmi2", DESCRIPTION.replace("</ModelVariables>", second)),
        ("shared-reference-fmi3", DESCRIPTION3.replace("</ModelVariables>", third)),
    ] {
        let cage = Cage::new(name);
        cage.describe(&description);
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, cage.answers()) });
    }
}

#[test]
fn arrays_beyond_all_measure() {
    for (name, dimensions) in [
        ("array-too-long", "<Dimension start=\"1000000000000\"/>"),
        ("array-product-overflows", "<Dimension start=\"10000000000\"/><Dimension start=\"10000000000\"/>"),
        ("array-size-overflows", "<Dimension start=\"100000000000000000000000\"/>"),
    ] {
        let cage = Cage::new(name);
        let whole = "name=\"y\" valueReference=\"1\" causality=\"output\"";
        let array = format!("{whole}>{dimensions}</Float64>");
        cage.describe(&DESCRIPTION3.replace(&format!("{whole}/>"), &array));
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, cage.answers()) });
    }
}

#[test]
fn no_binary() {
    let cage = Cage::new("no-binary");
    cage.describe(DESCRIPTION);
    snapshot!(cage);
}

#[test]
fn a_binary_of_another_platform() {
    let cage = Cage::new("platform");
    cage.pack(&[("modelDescription.xml", DESCRIPTION.as_bytes()), ("binaries/win64/gain.dll", b"MZ")]);
    snapshot!(cage);
}

#[test]
fn libraries_that_are_none_for_this_machine() {
    let whole = Cage::new("library").library("int nothing;", &[]);
    let changed = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        bytes
    };
    for (name, binary) in [
        ("another-machine", changed(18, 183)),
        ("half-as-wide", changed(4, 1)),
        ("windows-library", b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0".to_vec()),
        ("text-library", b"#!/bin/sh\n".to_vec()),
        ("cut-library", whole[..whole.len() / 3].to_vec()),
    ] {
        let cage = Cage::new(name);
        cage.with_binary(&binary);
        // How long a library is, is the compiler's affair.
        let mut answers = cage.answers();
        while let Some(at) = answers.find("expected at least ") {
            let end = at + answers[at..].find(['(', '\n']).unwrap();
            answers.replace_range(at..end, "expected N bytes, got fewer ");
        }
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, answers) });
    }
}

#[test]
fn a_library_without_the_functions() {
    let cage = Cage::new("functions");
    cage.with_binary(&cage.library("int nothing;", &[]));
    snapshot!(cage);
}

#[test]
fn a_library_that_uses_what_is_nowhere() {
    let cage = Cage::new("nowhere");
    // Bound at once, as the loader is told to; otherwise the first call would end the process.
    let library = cage.library("int nowhere(void); int somewhere(void) { return nowhere(); }", &[]);
    cage.with_binary(&library);
    snapshot!(cage);
}

#[test]
fn a_library_that_needs_another() {
    let cage = Cage::new("needs");
    let other = cage.library("int other(void) { return 1; }", &["-Wl,-soname,libother.so.7"]);
    let path = cage.root.join("tmp/libother.so.7");
    fs::write(&path, other).unwrap();
    let library = cage.library("int nothing;", &["-Wl,--no-as-needed", path.to_str().unwrap()]);
    fs::remove_file(path).unwrap();
    cage.with_binary(&library);
    snapshot!(cage);
}

/// A whole unit but for the token, which its binary refuses.
#[test]
fn a_description_of_another_binary() {
    for version in Version::ALL {
        let name = format!("token-fmi{}", &version.text()[..1]);
        let cage = Cage::new(&name);
        write(&Design::new("native:oscillator/mass", version), &built_library().unwrap(), &cage.unit())
            .unwrap();
        let entries = unpacked(&cage.unit());
        let changed: Vec<(&str, Vec<u8>)> = entries
            .iter()
            .map(|(name, bytes)| match name.as_str() {
                "modelDescription.xml" => (name.as_str(), other_token(bytes)),
                _ => (name.as_str(), bytes.clone()),
            })
            .collect();
        cage.pack(&changed.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect::<Vec<_>>());
        let answer = cage.answers();
        // The description of a whole unit is long and snapshotted elsewhere; its own token follows from it.
        let run = format!("$ {}", answer.split_once("\n$ ").unwrap().1);
        let (before, rest) = run.split_once("expected the token `{").unwrap();
        let run = format!("{before}expected the token `{{TOKEN{}", &rest[rest.find('}').unwrap()..]);
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, run) });
    }
}

fn other_token(description: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(description).unwrap();
    let (before, rest) = text.split_once("=\"{").unwrap();
    let (_, after) = rest.split_once("}\"").unwrap();
    format!("{before}=\"{{another}}\"{after}").into_bytes()
}

fn unpacked(file: &Path) -> Vec<(String, Vec<u8>)> {
    let mut archive = ZipArchive::new(fs::File::open(file).unwrap()).unwrap();
    (0..archive.len())
        .map(|index| {
            let mut entry = archive.by_index(index).unwrap();
            let name = entry.name().unwrap().into_owned();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
            (name, bytes)
        })
        .collect()
}
