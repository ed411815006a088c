//! The same bits on every machine: the C library computes exp, sin and others by other instructions where the processor
//! has no fused multiply-add, and may round differently then. No number of Cosimo may follow it.
//!
//! glibc chooses at the start of a process, and can be made to choose as on an older processor.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use cosimo::export::{Design, Version, built_library, write};

use crate::common::{complaint, folder, root};

/// Names of processor features, of glibc up to 2.32 and since.
const WITHOUT: &str = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F,-AVX2_Usable,-FMA_Usable,-FMA4_Usable";

/// Rows whose step sequences, solvers or random numbers followed the C library.
const COMMANDS: &[&str] = &[
    "reproduce ecco-nepce --json --row 000/6",
    "reproduce ecco-nepce --json --row 003/IX/pred.",
    // FMUs exported from the native models: their mathematics is the same.
    "reproduce ecco-nepce --json --row 003/IX/pred. --fmu 2",
    "reproduce pre-step --json --row B3/STIFF/ZOH/H=1e-1",
    "reproduce tlm --json --row passivity",
];

/// Analyses that print numbers with all digits.
const ANALYSES: &[&str] =
    &["check --json", "analyse stability --json --step 1e-3", "verify --json --step 1e-3"];

fn command(program: impl AsRef<std::ffi::OsStr>, older: bool) -> Command {
    let mut command = Command::new(program);
    command.env_remove("GLIBC_TUNABLES");
    if older {
        command.env("GLIBC_TUNABLES", WITHOUT);
    }
    command
}

fn run(folder: &Path, args: &[&str], older: bool) -> Output {
    command(env!("CARGO_BIN_EXE_cosimo"), older).args(args).current_dir(folder).output().unwrap()
}

fn cosimo(folder: &Path, args: &[&str], older: bool) -> Output {
    let output = run(folder, args, older);
    assert!(output.status.success(), "cosimo {}: {}", args.join(" "), complaint(&output));
    output
}

/// Whether the C library of this machine can be made to compute other bits.
fn c_library_follows_the_processor() -> bool {
    let [here, older] = [false, true].map(|older| {
        let output = command(std::env::current_exe().unwrap(), older)
            .args(["--ignored", "--exact", "processor::bits_of_the_c_library", "--nocapture"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find_map(|line| line.split_once("bits: ").map(|(_, bits)| bits.to_owned()));
        line.unwrap_or_else(|| panic!("the bits were not printed: {text}"))
    });
    here != older
}

#[test]
#[ignore = "started by the tests beside it, with and without features of the processor"]
#[allow(clippy::disallowed_methods, reason = "the C library is what is looked at")]
fn bits_of_the_c_library() {
    let mixed = (1..4000).fold(0u64, |mixed, k| {
        let x = f64::from(k) / 371.0;
        let bits = [x.sin(), x.cos(), x.exp(), x.ln(), x.powf(-0.35), x.tanh()].map(f64::to_bits);
        bits.iter().fold(mixed, |mixed, bits| mixed.rotate_left(5) ^ bits)
    });
    println!("bits: {mixed:x}");
}

/// Compares what the runs gave, by name.
fn assert_same(results: impl Fn(bool) -> BTreeMap<String, Vec<u8>>) {
    if !c_library_follows_the_processor() {
        eprintln!("skipped: the C library of this machine computes the same bits without FMA");
        return;
    }
    let (here, older) = (results(false), results(true));
    assert_eq!(here.keys().collect::<Vec<_>>(), older.keys().collect::<Vec<_>>());
    assert!(here.len() > 1 && here.values().all(|bytes| !bytes.is_empty()), "nothing was compared");
    let differ: Vec<&String> = here.keys().filter(|name| here[*name] != older[*name]).collect();
    assert!(differ.is_empty(), "other bits without FMA: {differ:?}");
}

#[test]
fn results_of_all_examples_are_the_same_bits_on_another_processor() {
    assert_same(|older| {
        let folder = folder("processor");
        let mut results = BTreeMap::new();
        for file in systems() {
            let name = file.strip_prefix(root()).unwrap().display().to_string();
            cosimo(&folder, &["run", file.to_str().unwrap(), "--out", "results.csv"], older);
            results.insert(name, std::fs::read(folder.join("results.csv")).unwrap());
        }
        results
    });
}

/// The system files of the examples.
fn systems() -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(root().join("examples")).unwrap();
    let mut files: Vec<_> = folders
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    files
}

#[test]
fn rows_of_the_papers_are_the_same_bits_on_another_processor() {
    assert_same(|older| {
        let folder = folder("processor-papers");
        let row = |line: &&str| {
            let args: Vec<&str> = line.split(' ').collect();
            ((*line).to_owned(), cosimo(&folder, &args, older).stdout)
        };
        COMMANDS.iter().map(row).collect()
    });
}

#[test]
fn analyses_print_the_same_numbers_on_another_processor() {
    assert_same(|older| {
        let folder = folder("processor-analyses");
        let mut texts = BTreeMap::new();
        for system in ["quarter-car/system.toml", "quarter-car/reticulation-2-nonlinear.toml"] {
            let file = root().join("examples").join(system);
            for line in ANALYSES {
                let args: Vec<&str> = line.split(' ').chain([file.to_str().unwrap()]).collect();
                // The exit code of `verify` is its verdict.
                let output = run(&folder, &args, older);
                assert!(
                    serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok(),
                    "{}",
                    complaint(&output)
                );
                texts.insert(format!("{line} {system}"), output.stdout);
            }
        }
        texts
    });
}

#[test]
fn exported_models_are_the_same_bits_on_another_processor() {
    let folder = folder("processor-fmus");
    let models = ["pendulum/bob", "drive-cycle/motor", "drive-cycle/car", "epas/steering"];
    let files = [Version::Two, Version::Three].map(|version| models.map(|model| (model, version)));
    let files: Vec<String> = files
        .iter()
        .flatten()
        .map(|(model, version)| {
            let design = Design::new(&format!("native:{model}"), *version);
            write(&design, &built_library().unwrap(), &folder.join(design.file_name())).unwrap();
            design.file_name()
        })
        .collect();
    assert_same(|older| {
        let result = |file: &String| {
            let component = format!("one={file}");
            cosimo(
                &folder,
                &["run", &component, "--step", "1e-2", "--stop", "5", "--out", "results.csv"],
                older,
            );
            (file.clone(), std::fs::read(folder.join("results.csv")).unwrap())
        };
        files.iter().map(result).collect()
    });
}
