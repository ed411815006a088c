//! Result files: formats, the choice of rows and columns, and what is left of them after a crash.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cosimo::record::{FORMATS, Table, read};
use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder, system};

const ALL: [&str; 3] = ["rows.csv", "rows.arrow", "rows.parquet"];

fn run(folder: &Path, args: &[&str]) {
    let output = cosimo(folder, &[&["run", "system.toml"], args].concat());
    assert!(output.status.success(), "{}", complaint(&output));
}

fn refused(name: &str, changes: &[(&str, &str)], args: &[&str]) -> String {
    let folder = folder(name);
    system(&folder, changes);
    let told = complaint(&cosimo(&folder, &[&["run", "system.toml"], args].concat()));
    assert!(!ALL.iter().any(|file| folder.join(file).exists()), "nothing is written before all is checked");
    told
}

#[test]
fn all_formats_at_once_hold_the_same_numbers() {
    let folder = folder("formats");
    system(&folder, &[]);
    run(&folder, &["--out", ALL[0], "--out", ALL[1], "--out", ALL[2]]);
    let [csv, arrow, parquet] = ALL.map(|file| read(&folder.join(file), FORMATS).unwrap());
    assert_eq!(csv.values, arrow.values);
    assert_eq!(arrow, parquet);
    assert_eq!(arrow.columns.units[0], "s");
    let size = |file: &str| std::fs::metadata(folder.join(file)).unwrap().len();
    assert!(size("rows.parquet") < size("rows.arrow") && size("rows.arrow") < size("rows.csv"));
}

#[test]
fn a_result_may_be_the_history_of_another_run_in_any_format() {
    let folder = folder("history-formats");
    let example = crate::common::root().join("examples/dual-mass/system.toml");
    let text = std::fs::read_to_string(example).unwrap();
    let mut summaries = Vec::new();
    for ending in ["csv", "arrow", "parquet"] {
        let file = format!("history.{ending}");
        let text = text.replace("history.csv", &file);
        std::fs::write(folder.join("system.toml"), text).unwrap();
        let history = ["--from", "-0.02", "--stop", "0", "--step", "0.01", "--out", &file];
        let output = cosimo(&folder, &[&["reference", "system.toml"], &history[..]].concat());
        assert!(output.status.success(), "{}", complaint(&output));
        run(&folder, &["--out", "rows.csv"]);
        summaries.push(std::fs::read_to_string(folder.join("rows.csv")).unwrap());
    }
    assert!(summaries.iter().all(|summary| *summary == summaries[0]));
}

/// Columns of one table as they are in another.
fn assert_part(part: &Table, whole: &Table, rows: &[usize]) {
    for (name, column) in part.columns.names.iter().zip(&part.values) {
        let all = whole.column(name).unwrap();
        assert_eq!(*column, rows.iter().map(|&row| all[row]).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn chosen_columns_and_rows_are_those_of_the_whole() {
    let folder = folder("chosen");
    let constant = ["--method", "controller=fixed", "--step", "1e-3", "--stop", "0.1004"];
    system(&folder, &[]);
    run(&folder, &[&["--out", "whole.csv"], &constant[..]].concat());
    let whole = read(&folder.join("whole.csv"), FORMATS).unwrap();
    let all: Vec<usize> = (0..whole.rows()).collect();

    run(
        &folder,
        &[&["--out", "rows.csv", "--record", "chassis.*", "--record", "!*.F"], &constant[..]].concat(),
    );
    let part = read(&folder.join("rows.csv"), FORMATS).unwrap();
    assert!(part.columns.names.len() > 2 && part.columns.names[0] == "time");
    assert!(part.columns.names[1..].iter().all(|name| name.starts_with("chassis.") && name != "chassis.F"));
    assert_part(&part, &whole, &all);

    // The start, each hundredth of a second, and the end.
    let every: Vec<usize> = (0..=100).step_by(10).chain([101]).collect();
    run(&folder, &[&["--out", "rows.arrow", "--record-every", "0.01"], &constant[..]].concat());
    let part = read(&folder.join("rows.arrow"), FORMATS).unwrap();
    assert_eq!(part.columns.names, whole.columns.names);
    assert_part(&part, &whole, &every);

    // The file says the same, and the command line beats it.
    let table = "[results]\nvariables = [\"wheel.v\", \"step.*\"]\nevery = 0.02\n\n[method]";
    system(&folder, &[("[method]", table)]);
    run(&folder, &[&["--out", "rows.parquet"], &constant[..]].concat());
    let part = read(&folder.join("rows.parquet"), FORMATS).unwrap();
    assert_eq!(part.columns.names, ["time", "wheel.v", "step.size", "step.indicator"]);
    assert_part(&part, &whole, &(0..=100).step_by(20).chain([101]).collect::<Vec<_>>());
    let beats = ["--out", "rows.parquet", "--record", "!bond.*", "--record-every", "0.01"];
    run(&folder, &[&beats[..], &constant[..]].concat());
    let part = read(&folder.join("rows.parquet"), FORMATS).unwrap();
    assert!(part.columns.names.len() > 5 && !part.columns.names.iter().any(|name| name.starts_with("bond.")));
    assert_part(&part, &whole, &every);
}

#[test]
fn what_cannot_be_chosen_is_told_before_anything_runs() {
    assert_snapshot!("unknown-ending", refused("ending", &[], &["--out", "rows.xlsx", "--out", "rows"]));
    assert_snapshot!("given-twice", refused("twice", &[], &["--out", "rows.csv", "--out", "rows.csv"]));
    assert_snapshot!(
        "pattern-of-nothing",
        refused("nothing", &[], &["--out", "rows.csv", "--record", "chasis.F", "--record", "!nobody.*"])
    );
    assert_snapshot!("bad-every", refused("every", &[], &["--out", "rows.csv", "--record-every", "0"]));
    let table = "[results]\nvariables = [\"whel.*\", \"\"]\nevry = 1\n\n[method]";
    assert_snapshot!("bad-results", refused("results-table", &[("[method]", table)], &["--out", "rows.csv"]));
    let table = "[results]\nvariables = [\"whel.v\"]\n\n[method]";
    assert_snapshot!(
        "bad-pattern",
        refused("results-pattern", &[("[method]", table)], &["--out", "rows.csv"])
    );
    assert_snapshot!("no-folder", refused("no-folder", &[], &["--out", "nowhere/rows.arrow"]));
}

/// Starts a run that takes long, waits until each of its files has grown, and kills it.
#[test]
fn a_killed_run_leaves_its_finished_chunks_in_every_format() {
    let folder = folder("killed");
    system(&folder, &[]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
        .args(["run", "system.toml", "--method", "controller=fixed", "--step", "1e-8"])
        .args(ALL.iter().flat_map(|file| ["--out", file]))
        .current_dir(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while ALL.iter().any(|file| std::fs::metadata(folder.join(file)).map_or(0, |file| file.len()) < 1 << 16) {
        assert!(begun.elapsed() < Duration::from_secs(120), "no chunk appeared");
        std::thread::sleep(Duration::from_millis(5));
    }
    // A moment, so that it is not in the middle of writing: a kill inside a write may tear it.
    std::thread::sleep(Duration::from_millis(300));
    child.kill().unwrap();
    assert!(child.wait().unwrap().code().is_none(), "the run was not killed");
    let tables = ALL.map(|file| read(&folder.join(file), FORMATS).unwrap_or_else(|error| panic!("{error}")));
    let rows = tables.iter().map(Table::rows).min().unwrap();
    assert!(rows > 1000, "only {rows} rows");
    for (table, file) in tables.iter().zip(ALL) {
        assert_eq!(table.columns.names, tables[0].columns.names, "{file}");
        for (column, first) in table.values.iter().zip(&tables[0].values) {
            assert_eq!(column[..rows], first[..rows], "{file}");
        }
    }
}

/// A limit on the size of files stands for a full disk.
#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_written() {
    for file in ALL {
        let folder = folder(&format!("full-{file}"));
        system(&folder, &[]);
        let output = Command::new("sh")
            .arg("-c")
            .arg("trap '' XFSZ; ulimit -f 30000; exec \"$0\" \"$@\"")
            .arg(env!("CARGO_BIN_EXE_cosimo"))
            .args([
                "run",
                "system.toml",
                "--method",
                "controller=fixed",
                "--step",
                "1e-6",
                "--stop",
                "10",
                "--out",
                file,
            ])
            .current_dir(&folder)
            .output()
            .unwrap();
        let told = complaint(&output);
        assert!(told.starts_with("exit 3\n") && told.contains(&format!("cannot write `{file}`")), "{told}");
        let table = read(&folder.join(file), FORMATS).unwrap_or_else(|error| panic!("{error}"));
        assert!(table.rows() > 10_000, "{file}: {}", table.rows());
        assert!(table.column("time").unwrap().windows(2).all(|pair| pair[0] < pair[1]));
    }
}

/// Also where the first one to meet it is a checkpoint, which a run goes on without: rows that are lost are a failure.
#[test]
fn a_full_disk_is_not_overlooked_by_checkpoints() {
    for file in ALL {
        for schedule in ["simulated=1e-3", "end"] {
            let folder = folder(&format!("full-checkpoint-{schedule}-{file}"));
            system(&folder, &[]);
            let limited = "trap '' XFSZ; ulimit -f 1000; exec \"$0\" \"$@\"";
            let run =
                "run system.toml --method controller=fixed --step 1e-6 --stop 0.05 --certificate cert.json";
            let mut command = Command::new("sh");
            command.args(["-c", limited, env!("CARGO_BIN_EXE_cosimo")]).args(run.split(' '));
            let output = command
                .args(["--checkpoint", schedule, "--out", file])
                .current_dir(&folder)
                .output()
                .unwrap();
            let told = complaint(&output);
            assert!(
                told.starts_with("exit 3\n") && told.contains(&format!("cannot write `{file}`")),
                "{told}"
            );
            let table = read(&folder.join(file), FORMATS).unwrap_or_else(|error| panic!("{error}"));
            assert!(table.column("time").unwrap().windows(2).all(|pair| pair[0] < pair[1]));
            let certificate = std::fs::read_to_string(folder.join("cert.json")).unwrap();
            let certificate: serde_json::Value = serde_json::from_str(&certificate).unwrap();
            assert_eq!(certificate["outcome"]["word"], "failed", "{file}, {schedule}");
            assert_ne!(cosimo(&folder, &["gate", "cert.json"]).status.code(), Some(0));
        }
    }
}

#[test]
fn a_simulator_that_fails_costs_no_row() {
    let folder = folder("failing");
    let text = "[experiment]\nstop = 1.0\n\n[component.a]\nsource = \"native:faulty/nan\"\nstart = { u = 1.0 }\n\n\
                [results]\nevery = 0.2\n\n[method]\nstep = { size = 0.1 }\n";
    std::fs::write(folder.join("system.toml"), text).unwrap();
    let output = cosimo(&folder, &["run", "system.toml", "--out", ALL[0], "--out", ALL[1], "--out", ALL[2]]);
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    for file in ALL {
        let table = read(&folder.join(file), FORMATS).unwrap();
        assert!(table.rows() > 1, "{file}: {:?}", table.values);
        assert!(table.values.iter().flatten().all(|value| value.is_finite()), "{file}");
    }
}

/// Hand-made curves: `x` is 0.3 off at 1.5 s, `jump` comes 0.01 s late, `gone` and `new` have no partner.
#[test]
fn two_files_are_compared_worst_signal_first() {
    let folder = folder("compare");
    std::fs::write(folder.join("a.csv"), "time,x,jump,gone\n0,0,0,1\n1,1,0,1\n1,1,5,1\n2,2,5,1\n").unwrap();
    let b = "time,x,jump,new\n0,0,0,2\n0.5,0.5,0,2\n1.01,1.01,0,2\n1.01,1.01,5,2\n1.5,1.8,5,2\n2,2,5,2\n";
    std::fs::write(folder.join("b.csv"), b).unwrap();
    let said = |args: &[&str]| {
        let output = cosimo(&folder, &[&["compare", "a.csv", "b.csv"], args].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        format!("exit {}\n{text}", output.status.code().unwrap())
    };
    assert_snapshot!("compare-differs", said(&["--relative", "0.05"]));
    assert_snapshot!("compare-in-time", said(&["--relative", "0.05", "--time", "0.02"]));
    assert_snapshot!("compare-agrees", said(&["--relative", "0.2", "--time", "0.02", "--all"]));
    assert_snapshot!("compare-chosen", said(&["--vars", "ju*", "--json"]));
    let told = |args: &[&str]| complaint(&cosimo(&folder, &[&["compare"], args].concat()));
    std::fs::write(folder.join("backwards.csv"), "time,x\n1,0\n0,0\n").unwrap();
    std::fs::write(folder.join("cut.parquet"), "PAR1").unwrap();
    let all = [
        told(&["a.csv", "none.csv"]),
        told(&["a.csv", "b.txt"]),
        told(&["a.csv", "cut.parquet"]),
        told(&["a.csv", "backwards.csv"]),
        told(&["a.csv", "b.csv", "--vars", "y.*"]),
        told(&["a.csv", "b.csv", "--relative", "-1"]),
        told(&["a.csv", "b.csv", "--time", "nan"]),
    ];
    assert_snapshot!("compare-refused", all.join("\n"));
}

/// Half the step of the quarter car is another result, but not by much; the same run in another format is the same.
#[test]
fn runs_are_compared_across_formats_and_steps() {
    let folder = folder("compare-runs");
    system(&folder, &[]);
    let fixed = ["--method", "controller=fixed", "--method", "correction=none"];
    run(&folder, &[&fixed[..], &["--step", "1e-3", "--out", "a.csv", "--out", "a.parquet"]].concat());
    run(&folder, &[&fixed[..], &["--step", "5e-4", "--out", "b.arrow"]].concat());
    let code = |args: &[&str]| cosimo(&folder, &[&["compare"], args].concat()).status.code();
    assert_eq!(code(&["a.csv", "a.parquet", "--relative", "0", "--absolute", "0"]), Some(0));
    assert_eq!(code(&["b.arrow", "a.csv", "--vars", "wheel.z", "--relative", "0.05"]), Some(0));
    assert_eq!(code(&["b.arrow", "a.csv", "--vars", "wheel.z", "--relative", "1e-6"]), Some(1));
}

/// Help texts follow from the registry, the documents do not.
#[test]
fn the_documents_name_every_format() {
    let page = std::fs::read_to_string(crate::common::root().join("docs/results.md")).unwrap();
    for format in FORMATS {
        let named = format!("`x.{}`", format.endings[0]).replace("`x.csv`", "x.csv`");
        assert!(page.contains(&named), "{named}");
    }
}
