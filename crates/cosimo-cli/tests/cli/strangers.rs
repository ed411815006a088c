//! Files of other tools and options as they are typed, as met in public collections.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use cosimo_test_fmus::{Design, ECHO, Version, built_library, write};
use insta::assert_snapshot;
use zip::write::SimpleFileOptions;

use crate::common::{complaint, cosimo, folder};

fn fmu(folder: &Path, source: &str, version: Version, file: &str) {
    write(&Design::new(source, version), &built_library().unwrap(), &folder.join(file)).unwrap();
}

fn warnings(folder: &Path, args: &[&str]) -> String {
    let output = cosimo(folder, args);
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_healthy_fmu_is_run_without_a_warning() {
    let folder = folder("healthy");
    for model in [
        "oscillator/mass",
        "dual-mass/left",
        "quarter-car/wheel",
        "rc-rl/rc",
        "dahlquist/first",
        "tanks/first",
    ] {
        for version in Version::ALL {
            fmu(&folder, &format!("native:{model}"), version, "unit.fmu");
            let said = warnings(&folder, &["run", "unit.fmu", "--stop", "0.1", "--step", "0.01"]);
            assert_eq!(said, "", "{model}, {version:?}");
        }
    }
}

#[test]
fn warnings_that_differ_in_the_component_only_are_one_with_a_count() {
    let folder = folder("forty");
    let odd = [("<DefaultExperiment ", "<DefaultExperiment tolerance=\"high\" ")];
    crate::check::altered(
        &Design::new("native:oscillator/mass", Version::Two),
        &odd,
        &folder.join("mass.fmu"),
    );
    let masses: Vec<String> = (1..=40).map(|number| format!("m{number}=mass.fmu")).collect();
    let mut args = vec!["run"];
    args.extend(masses.iter().map(String::as_str));
    args.extend(["--stop", "0.1", "--step", "0.1"]);
    let said = warnings(&folder, &args);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_snapshot!("forty-warnings", said);
    let mut args = vec!["check", "--no-forecast"];
    args.extend(masses.iter().map(String::as_str));
    let found = String::from_utf8(cosimo(&folder, &args).stdout).unwrap();
    assert_eq!(found.matches("tolerance").count(), 1, "{found}");
    assert_snapshot!("forty-warnings-checked", found);
}

#[test]
fn a_solver_where_nothing_is_integrated_here_is_a_warning() {
    let folder = folder("solver-unused");
    fmu(&folder, "native:oscillator/mass", Version::Two, "mass.fmu");
    let both =
        Design::new("native:oscillator/mass", Version::Two).kind(cosimo_test_fmus::InterfaceType::Both);
    write(&both, &built_library().unwrap(), &folder.join("both.fmu")).unwrap();
    let run = |file: &str, more: &[&str]| {
        let args = [&["run", file, "--stop", "0.1", "--step", "0.1", "--solver", "bdf"], more].concat();
        warnings(&folder, &args)
    };
    assert_snapshot!("solver-unused", run("mass.fmu", &[]));
    assert_snapshot!("solver-unused-both", run("both.fmu", &[]));
    assert_eq!(run("both.fmu", &["--set", "cosimo.use=model-exchange"]), "");
}

#[test]
fn truth_and_items_are_set_by_word_or_number() {
    for version in Version::ALL {
        let folder = folder(&format!("set-words{}", version.text()));
        fmu(&folder, ECHO, version, "echo.fmu");
        for (set, output, wanted) in [
            ("boolean_in=true", "boolean_out", "1"),
            ("boolean_in=false", "boolean_out", "0"),
            ("boolean_in=1", "boolean_out", "1"),
            ("boolean_in=0", "boolean_out", "0"),
            ("enumeration_in=green", "enumeration_out", "2"),
            ("echo.enumeration_in=3", "enumeration_out", "3"),
        ] {
            let record = format!("echo.{output}");
            let args = [
                "run", "echo.fmu", "--stop", "0.1", "--step", "0.1", "--set", set, "--record", &record,
                "--out", "out.csv",
            ];
            warnings(&folder, &args);
            let rows = fs::read_to_string(folder.join("out.csv")).unwrap();
            assert_eq!(rows.lines().last().unwrap(), format!("0.1,{wanted}"), "{set}");
        }
        let args = ["run", "echo.fmu", "--set", "boolean_in=2", "--set", "echo.enumeration_in=purple"];
        if version == Version::Two {
            assert_snapshot!("set-wrong-words", complaint(&cosimo(&folder, &args)));
        }
    }
}

#[test]
fn a_file_that_is_nearly_named_is_suggested() {
    let folder = folder("nearly");
    fmu(&folder, "native:oscillator/mass", Version::Two, "Plant.fmu");
    let said = complaint(&cosimo(&folder, &["run", "Plnt.fmu"]));
    assert!(said.starts_with("exit 3\n") && said.contains("did you mean `Plant.fmu`?"), "{said}");
    fs::write(
        folder.join("system.toml"),
        "[experiment]\nstop = 1.0\n[component.plant]\nsource = \"Plnt.fmu\"\n",
    )
    .unwrap();
    let said = complaint(&cosimo(&folder, &["run", "system.toml"]));
    assert!(said.starts_with("exit 2\n") && said.contains("did you mean `Plant.fmu`?"), "{said}");
}

#[test]
fn the_end_is_not_missed_where_it_is_given() {
    let folder = folder("no-end");
    let structure = crate::osp::STRUCTURE;
    let (before, rest) = structure.split_once("<EndTime>").unwrap();
    let (_, after) = rest.split_once("</EndTime>").unwrap();
    fs::write(folder.join("OspSystemStructure.xml"), format!("{before}{after}")).unwrap();
    let said =
        |args: &[&str]| complaint(&cosimo(&folder, &[&["run", "OspSystemStructure.xml"], args].concat()));
    assert!(said(&[]).contains("osp/end"), "{}", said(&[]));
    let given = said(&["--stop", "0.1"]);
    assert!(!given.contains("osp/end"), "{given}");
}

/// Entries of one archive; the writer refuses names that it has, so they get theirs afterwards.
fn archive(path: &Path, entries: &[(&str, &[u8])]) {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let draft = |index: usize, name: &str| format!("{index}{}", &name[1..]);
    for (index, (name, bytes)) in entries.iter().enumerate() {
        writer.start_file(draft(index, name), SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    let mut bytes = writer.finish().unwrap().into_inner();
    for (index, (name, _)) in entries.iter().enumerate() {
        let (from, to) = (draft(index, name), name.as_bytes());
        for at in 0..bytes.len() - to.len() {
            if bytes[at..].starts_with(from.as_bytes()) {
                bytes[at..at + to.len()].copy_from_slice(to);
            }
        }
    }
    fs::write(path, bytes).unwrap();
}

fn entries(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let count = archive.len();
    let one = |index: usize| {
        let mut entry = archive.by_index(index).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        (entry.name().unwrap().into_owned(), bytes)
    };
    (0..count).map(one).collect()
}

#[test]
fn entries_that_are_the_same_twice_are_a_warning_and_others_are_refused() {
    let folder: PathBuf = folder("twice");
    fmu(&folder, "native:oscillator/mass", Version::Two, "mass.fmu");
    let known = entries(&folder.join("mass.fmu"));
    let small = known.iter().find(|(name, _)| name == "resources/model.toml").unwrap();
    let mut all: Vec<(&str, &[u8])> = known.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    all.push((&small.0, &small.1));
    archive(&folder.join("twice.fmu"), &all);
    let run = |file: &str| cosimo(&folder, &["run", file, "--stop", "0.1", "--step", "0.1"]);
    for _ in 0..2 {
        // Unpacked now, and known from before.
        let output = run("twice.fmu");
        assert!(output.status.success(), "{}", complaint(&output));
        assert_snapshot!("same-entry-twice", complaint(&output));
    }
    let other = [&small.1[..], b"\n# another\n"].concat();
    *all.last_mut().unwrap() = (&small.0, &other);
    archive(&folder.join("other.fmu"), &all);
    assert_snapshot!("other-entry-twice", complaint(&run("other.fmu")));
}

#[test]
fn a_type_that_is_not_declared_is_one_warning() {
    let folder = folder("undeclared");
    for (version, tag) in [(Version::Two, "<Integer"), (Version::Three, "<Int32")] {
        let typed = format!("{tag} declaredType=\"Mode\"");
        let file = folder.join("echo.fmu");
        crate::check::altered(&Design::new(ECHO, version), &[(tag, &typed)], &file);
        let said = warnings(&folder, &["run", "echo.fmu", "--stop", "0.1", "--step", "0.1"]);
        assert_eq!(said.matches("Mode").count(), 1, "{said}");
        assert_snapshot!(format!("undeclared-type-{}", version.text()), said);
    }
}
