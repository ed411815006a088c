//! What ends a process from inside: crashes of FMUs, and FMUs that call `exit`. And from outside: kills.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use cosimo::record::{FORMATS, read};
use cosimo_test_fmus::{Design, SABOTEUR, Version, built_library, write};
use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder, system};

/// Runs a saboteur that misbehaves in a call of a function.
fn sabotaged(folder: &Path, design: &Design, fault: &str) -> Output {
    write(design, &built_library().unwrap(), &folder.join("unit.fmu")).unwrap();
    Command::new(env!("CARGO_BIN_EXE_cosimo"))
        .args(["run", "unit.fmu", "--step", "0.01", "--stop", "1", "--out", "rows.csv"])
        .env("COSIMO_SABOTAGE", fault)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Functions in which a process may end, with the rows that there are by then.
fn functions(design: &str) -> Vec<(&'static str, usize)> {
    match design {
        "1" => vec![
            ("fmiInstantiateSlave", 0),
            ("fmiInitializeSlave", 0),
            ("fmiDoStep@51", 51),
            ("fmiTerminateSlave", 101),
            ("fmiFreeSlaveInstance", 101),
        ],
        "2" => vec![
            ("fmi2Instantiate", 0),
            ("fmi2EnterInitializationMode", 0),
            ("fmi2ExitInitializationMode", 0),
            ("fmi2DoStep@51", 51),
            ("fmi2Terminate", 101),
            ("fmi2FreeInstance", 101),
        ],
        "3" => vec![
            ("fmi3InstantiateCoSimulation", 0),
            ("fmi3ExitInitializationMode", 0),
            ("fmi3DoStep@51", 51),
            ("fmi3Terminate", 101),
            ("fmi3FreeInstance", 101),
        ],
        "2x" => vec![("fmi2GetDerivatives@50", 1), ("fmi2Terminate", 101), ("fmi2FreeInstance", 101)],
        _ => vec![("fmi3GetContinuousStateDerivatives@50", 1), ("fmi3Terminate", 101)],
    }
}

/// Each way to die in each function that an FMU is asked for, in all versions: who, where and when is told, the exit code
/// is that of a failure, and no row is lost.
#[test]
fn whoever_ends_the_process_is_named_and_no_row_is_lost() {
    let folder = folder("ends");
    let mut told = String::new();
    for (name, design) in [
        ("1", Design::new(SABOTEUR, Version::One)),
        ("2", Design::new(SABOTEUR, Version::Two)),
        ("3", Design::new(SABOTEUR, Version::Three)),
        ("2x", Design::exchange(SABOTEUR, Version::Two)),
        ("3x", Design::exchange(SABOTEUR, Version::Three)),
    ] {
        for (function, rows) in functions(name) {
            let (function, number) = function.split_once('@').unwrap_or((function, "1"));
            for (fault, code, signal) in
                [("exit", Some(1), None), ("segfault", None, Some(11)), ("abort", None, Some(6))]
            {
                let output = sabotaged(&folder, &design, &format!("{function}={fault}@{number}"));
                let said = complaint(&output);
                assert_eq!(
                    (output.status.code(), output.status.signal()),
                    (code, signal),
                    "{name} {function} {fault}: {said}"
                );
                assert!(said.contains(&format!("`unit` in {function}")), "{name} {function} {fault}: {said}");
                let file = folder.join("rows.csv");
                let found = if file.exists() { read(&file, FORMATS).unwrap().rows() } else { 0 };
                // An integrator asks for derivatives many times between two rows.
                let enough = if rows == 1 { found >= 1 } else { found == rows };
                assert!(enough, "{name} {function} {fault}: {found} rows, {said}");
                let _ = std::fs::remove_file(&file);
                if name == "2" {
                    told += said.split_once('\n').unwrap_or_default().1.trim_start();
                }
            }
        }
    }
    assert_snapshot!("ends", told);
}

/// Also the other signals of a crash.
#[test]
fn every_signal_of_a_crash_takes_its_course() {
    let folder = folder("crashes");
    let design = Design::new(SABOTEUR, Version::Two);
    for (signal, name) in [(7, "SIGBUS"), (4, "SIGILL"), (8, "SIGFPE"), (25, "SIGXFSZ")] {
        let output = sabotaged(&folder, &design, &format!("fmi2DoStep={signal}@51"));
        assert_eq!(output.status.signal(), Some(signal), "{}", complaint(&output));
        let said = complaint(&output);
        assert!(said.contains(&format!("`unit` in fmi2DoStep at t = 0.5 s crashed: {name}")), "{said}");
        assert_eq!(read(&folder.join("rows.csv"), FORMATS).unwrap().rows(), 51);
    }
}

/// A child process of an FMU has our files open and our handlers, and touches neither.
#[test]
fn a_process_that_an_fmu_forks_writes_nothing() {
    let folder = folder("forked");
    let design = Design::new(SABOTEUR, Version::Two);
    let output = sabotaged(&folder, &design, "fmi2DoStep=fork@51");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", complaint(&output));
    let rows = std::fs::read_to_string(folder.join("rows.csv")).unwrap();
    assert_eq!(rows.lines().count(), 102);
}

/// A number that looks random and is the same every time.
struct Seed(u64);

impl Seed {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// As other programs see a file, before anything has fixed it. A text that ends in the middle of a line is a table, too.
fn opens_elsewhere(file: &Path) {
    const OPEN: &str = "import sys\n\
        name = sys.argv[1]\n\
        if name.endswith('.arrow'):\n    import pyarrow.ipc; pyarrow.ipc.open_file(name).read_all()\n\
        elif name.endswith('.parquet'):\n    import pyarrow.parquet; pyarrow.parquet.read_table(name)\n\
        elif name.endswith('.mat'):\n    import scipy.io; scipy.io.loadmat(name)['data_2']\n";
    if let Ok(python) = std::env::var("COSIMO_PYTHON") {
        let opened = Command::new(python).args(["-c", OPEN]).arg(file).output().unwrap();
        assert!(opened.status.success(), "{}: {}", file.display(), complaint(&opened));
    }
}

/// Kills a run at instants of a seeded sequence: the file opens, and has the rows of an undisturbed run, none of them
/// missing that is older than two seconds. `cargo xtask chaos` does it more often.
#[test]
fn a_killed_run_leaves_whole_files() {
    let number =
        |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (kills, mut seed) = (number("COSIMO_CHAOS", 3), Seed(number("COSIMO_SEED", 1)));
    let folder = folder("kills");
    system(&folder, &[]);
    let method = ["run", "system.toml", "--method", "controller=fixed", "--step", "1e-6", "--stop", "10"];
    let whole = cosimo(&folder, &[&method[..7], &["0.2", "--out", "whole.arrow"]].concat());
    assert!(whole.status.success(), "{}", complaint(&whole));
    let whole = read(&folder.join("whole.arrow"), FORMATS).unwrap();
    for format in FORMATS {
        let file = format!("rows.{}", format.endings[0]);
        for kill in 0..kills {
            let mut child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
                .args(method)
                .args(["--out", &file, "--progress", "none"])
                .current_dir(&folder)
                .spawn()
                .unwrap();
            let begun = std::time::Instant::now();
            while !folder.join(&file).exists() && begun.elapsed() < Duration::from_secs(30) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_micros(seed.below(if kill % 2 == 0 {
                1_600_000
            } else {
                50_000
            })));
            child.kill().unwrap();
            child.wait().unwrap();
            opens_elsewhere(&folder.join(&file));
            let found = read(&folder.join(&file), FORMATS)
                .unwrap_or_else(|error| panic!("{file}, kill {kill}: {error}"));
            let times = found.column("time").unwrap();
            assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{file}, kill {kill}: out of order");
            for row in (0..found.rows().min(whole.rows())).step_by(101) {
                assert_eq!(found.row(row), whole.row(row), "{file}, kill {kill}, row {row}");
            }
            let steps = times.last().map_or(0.0, |last| (last / 1e-6).round() + 1.0);
            assert_eq!(found.rows(), steps as usize, "{file}, kill {kill}: rows are missing");
            assert!(!folder.join(format!("{file}.journal")).exists(), "{file}, kill {kill}");
            std::fs::remove_file(folder.join(&file)).unwrap();
        }
    }
}

#[test]
fn recover_says_what_it_did() {
    let folder = folder("recover");
    let output = sabotaged(&folder, &Design::new(SABOTEUR, Version::Two), "fmi2DoStep=9@51");
    assert_eq!(output.status.signal(), Some(9));
    std::fs::write(folder.join("other.csv"), "time,x\n0,1\n").unwrap();
    let output = cosimo(&folder, &["recover", "rows.csv", "other.csv", "missing.csv"]);
    assert_snapshot!("recover", format!("{}{}", String::from_utf8_lossy(&output.stdout), complaint(&output)));
    let rows = std::fs::read_to_string(folder.join("rows.csv")).unwrap();
    assert_eq!(rows.lines().count(), 52);
}

#[test]
fn a_second_run_does_not_write_the_same_file() {
    let folder = folder("two-runs");
    system(&folder, &[]);
    let args = ["run", "system.toml", "--method", "controller=fixed", "--step", "1e-6", "--out", "rows.csv"];
    let mut first =
        Command::new(env!("CARGO_BIN_EXE_cosimo")).args(args).current_dir(&folder).spawn().unwrap();
    while std::fs::metadata(folder.join("rows.csv")).map_or(0, |file| file.len()) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = cosimo(&folder, &args);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_snapshot!("two-runs", complaint(&output));
}

#[test]
fn a_result_that_is_removed_or_cut_off_is_noticed() {
    for (what, harm) in
        [("removed", "rm rows.csv"), ("cut", ": > rows.csv"), ("replaced", "mv other.csv rows.csv")]
    {
        let folder = folder(&format!("result-{what}"));
        system(&folder, &[]);
        std::fs::write(folder.join("other.csv"), "time\n").unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
            .args(["run", "system.toml", "--method", "controller=fixed", "--step", "1e-6", "--stop", "100"])
            .args(["--out", "rows.csv", "--certificate", "run.json", "--progress", "none"])
            .current_dir(&folder)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        while std::fs::metadata(folder.join("rows.csv")).map_or(0, |file| file.len()) < 1000 {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(Command::new("sh").args(["-c", harm]).current_dir(&folder).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let said = complaint(&output);
        assert!(
            said.starts_with("exit 3\n") && said.contains("by something else while the run wrote it"),
            "{said}"
        );
        let gate = cosimo(&folder, &["gate", "run.json"]);
        assert_eq!(gate.status.code(), Some(1), "{}", complaint(&gate));
    }
}

/// Options that name a file which the run reads, or each other's.
#[test]
fn nothing_that_is_read_is_overwritten() {
    let folder = folder("guard");
    system(&folder, &[]);
    let text = std::fs::read_to_string(folder.join("system.toml")).unwrap();
    std::fs::copy(folder.join("system.toml"), folder.join("table.csv")).unwrap();
    std::os::unix::fs::symlink("system.toml", folder.join("link.csv")).unwrap();
    let mut told = String::new();
    for args in [
        &["--report", "system.toml"][..],
        &["--certificate", "./system.toml"],
        &["--summary-json", "system.toml"],
        &["--log-fmi-calls", "system.toml"],
        &["--checkpoint", "end,file=system.toml"],
        &["--out", "link.csv"],
        &["--out", "rows.csv", "--report", "../guard/rows.csv", "--certificate", "a", "--summary-json", "a"],
    ] {
        let output = cosimo(&folder, &[&["run", "system.toml", "--stop", "0.1"], args].concat());
        told += &format!("{}\n{}", args.join(" "), complaint(&output));
        assert_eq!(std::fs::read_to_string(folder.join("system.toml")).unwrap(), text, "{args:?}");
    }
    let output = cosimo(&folder, &["convert", "system.toml", "a.ssd"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let output = cosimo(&folder, &["convert", "system.toml", "a.ssd"]);
    told += &format!("convert\n{}", complaint(&output));
    assert_snapshot!("guard", told);
}

/// Wherever an FMU goes, files stay where they were asked for.
#[test]
fn an_fmu_that_changes_the_folder_changes_nothing() {
    let folder = folder("elsewhere");
    write(&Design::new(SABOTEUR, Version::Two), &built_library().unwrap(), &folder.join("unit.fmu")).unwrap();
    let mut args = vec!["run", "unit.fmu", "--set", "unit.fault=directory", "--set", "unit.at_step=10"];
    args.extend(["--step", "0.01", "--stop", "1", "--out", "rows.csv", "--report", "run.html"]);
    args.extend(["--certificate", "run.json", "--summary-json", "sum.json"]);
    args.extend(["--checkpoint", "simulated=0.3,end,file=run.checkpoint", "--log-fmi-calls", "calls.txt"]);
    let output = cosimo(&folder, &args);
    assert!(output.status.success(), "{}", complaint(&output));
    for file in ["rows.csv", "run.html", "run.json", "sum.json", "run.checkpoint", "calls.txt"] {
        assert!(folder.join(file).metadata().is_ok_and(|found| found.len() > 0), "{file}");
    }
    let gate = cosimo(&folder, &["gate", "run.json", "--any-accuracy"]);
    assert!(gate.status.success(), "{}", String::from_utf8_lossy(&gate.stdout));
}

/// The gate looks at the certificate and at the results that it speaks of.
#[test]
fn the_gate_notices_what_was_changed_afterwards() {
    let folder = folder("changed");
    system(&folder, &[]);
    let args = ["run", "system.toml", "--stop", "0.1", "--out", "rows.csv", "--certificate", "run.json"];
    assert!(cosimo(&folder, &args).status.success());
    let gate = |args: &[&str]| {
        let output = cosimo(&folder, &[&["gate", "run.json", "--any-accuracy"], args].concat());
        format!("{}{}\n", String::from_utf8_lossy(&output.stdout), complaint(&output))
    };
    let (rows, certificate) = (folder.join("rows.csv"), folder.join("run.json"));
    let mut told = gate(&[]);
    let whole = std::fs::read(&rows).unwrap();
    std::fs::write(&rows, &whole[..whole.len() / 2]).unwrap();
    told += &gate(&[]);
    std::fs::remove_file(&rows).unwrap();
    told += &gate(&[]);
    told += &gate(&["--without-results"]);
    let text = std::fs::read_to_string(&certificate).unwrap();
    std::fs::write(&certificate, text.replace("\"rejected\": 0", "\"rejected\": 1")).unwrap();
    std::fs::write(&rows, &whole).unwrap();
    told += &gate(&[]);
    assert_snapshot!("gate-changed", told);
}

/// A disk of its own, of a size that a run does not fit into; the script runs on it and copies all of it into `after`.
const SMALL_DISK: &str = "mount -t tmpfs -o size=${SIZE}k tmpfs disk && cp system.toml disk && cd disk || exit 99\n\
    \"$@\" 2> ../told; echo $? > ../code; cp * ../after";

/// Sizes of a seeded sequence, each format, with and without all else that a run can write: exit 3, the file opens, no row
/// in it is missing, and nothing calls the run finished.
#[test]
fn a_full_disk_is_a_failure_that_keeps_all_rows() {
    let namespaces = Command::new("unshare").args(["-rm", "true"]).status();
    if !namespaces.is_ok_and(|status| status.success()) {
        println!("skipped: this system lets nobody mount a small disk (`unshare -rm`)");
        return;
    }
    let (levels, mut seed) = (number("COSIMO_LEVELS", 2), Seed(number("COSIMO_SEED", 2)));
    for format in FORMATS {
        let file = format!("rows.{}", format.endings[0]);
        for level in 0..levels {
            for more in [&[][..], &["--report", "run.html", "--checkpoint", "simulated=1e-3,end"]] {
                let folder = folder(&format!("small-disk-{}-{level}-{}", format.name, more.len()));
                system(&folder, &[]);
                for name in ["disk", "after"] {
                    std::fs::create_dir(folder.join(name)).unwrap();
                }
                let size = 20 + seed.below(4000);
                let run = "run system.toml --method controller=fixed --step 1e-6 --stop 0.5 --certificate cert.json";
                let status = Command::new("unshare")
                    .args(["-rm", "sh", "-c", SMALL_DISK, "sh", env!("CARGO_BIN_EXE_cosimo")])
                    .args(run.split(' '))
                    .args(["--out", &file])
                    .args(more)
                    .env("SIZE", size.to_string())
                    .current_dir(&folder)
                    .stdout(std::process::Stdio::null())
                    .status()
                    .unwrap();
                assert!(status.success(), "{status}");
                let told = std::fs::read_to_string(folder.join("told")).unwrap();
                let what = format!("{file}, {size} kB, {more:?}: {told}");
                assert_eq!(std::fs::read_to_string(folder.join("code")).unwrap().trim(), "3", "{what}");
                let after = folder.join("after");
                // On the smallest disks there is no room for as much as a header.
                if after.join(&file).metadata().is_ok_and(|found| found.len() > 0) {
                    let table =
                        read(&after.join(&file), FORMATS).unwrap_or_else(|error| panic!("{what}: {error}"));
                    let last = table.column("time").unwrap().last().copied();
                    let steps = last.map_or(0.0, |last| (last / 1e-6).round() + 1.0);
                    assert_eq!(table.rows(), steps as usize, "{what}");
                }
                if let Ok(text) = std::fs::read_to_string(after.join("cert.json")) {
                    let certificate: serde_json::Value = serde_json::from_str(&text).unwrap();
                    assert_ne!(certificate["outcome"]["word"], "finished", "{what}");
                    assert_eq!(cosimo(&after, &["gate", "cert.json"]).status.code(), Some(1), "{what}");
                }
            }
        }
    }
}

/// Every file is told, names lead from the new place, and another file that is in the way stays.
#[test]
fn convert_tells_what_it_writes() {
    let folder = folder("convert");
    let mass = Design::new("native:oscillator/mass", Version::Two);
    write(&mass, &built_library().unwrap(), &folder.join("mass.fmu")).unwrap();
    let text = "[experiment]\nstop = 1.0\n[component.mass]\nsource = \"mass.fmu\"\n";
    std::fs::write(folder.join("system.toml"), text).unwrap();
    std::fs::create_dir_all(folder.join("below/resources")).unwrap();
    let mut told = String::new();
    let mut convert = |from: &str, to: &str| {
        let output = cosimo(&folder, &["convert", from, to]);
        told += &format!("{}{}\n", String::from_utf8_lossy(&output.stdout), complaint(&output));
    };
    convert("system.toml", "below/near.toml");
    convert("system.toml", "all.ssp");
    convert("all.ssp", "below/out.toml");
    std::fs::write(folder.join("below/resources/mass.fmu"), "another one").unwrap();
    convert("all.ssp", "below/again.toml");
    assert_snapshot!("convert", told);
    let near = std::fs::read_to_string(folder.join("below/near.toml")).unwrap();
    assert!(near.contains("\"../mass.fmu\""), "{near}");
    assert_eq!(std::fs::read_to_string(folder.join("below/resources/mass.fmu")).unwrap(), "another one");
}
