//! What is around a run: saving and resuming, scenarios, pace, progress, new systems and completions.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cosimo::export::{Design, Variant, Version, built_library, write};
use cosimo::record::{FORMATS, read};
use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder, root, system};

const OUT: [&str; 8] =
    ["--out", "rows.csv", "--out", "rows.arrow", "--out", "rows.parquet", "--out", "rows.mat"];

fn run(folder: &Path, args: &[&str]) -> String {
    let output = cosimo(folder, args);
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Results in another folder are the same, those without a choice of chunks to the last byte.
fn assert_same_results(one: &Path, other: &Path) {
    for file in OUT.iter().filter(|word| word.starts_with("rows")) {
        assert_eq!(
            read(&one.join(file), FORMATS).unwrap(),
            read(&other.join(file), FORMATS).unwrap(),
            "{file}"
        );
    }
    for file in ["rows.csv", "rows.mat"] {
        assert!(std::fs::read(one.join(file)).unwrap() == std::fs::read(other.join(file)).unwrap(), "{file}");
    }
}

fn wait_for(file: &Path) {
    let begun = Instant::now();
    while !file.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} did not come", file.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The same numbers, whatever the clock says.
fn ledger(stdout: &str) -> Vec<&str> {
    let lines = stdout.lines();
    lines
        .filter(|line| {
            line.contains(" steps to t = ") || line.starts_with("strut") || line.starts_with("energy balance")
        })
        .collect()
}

#[test]
fn a_killed_run_goes_on_as_if_it_had_not_been() {
    let (whole, killed) = (folder("around-whole"), folder("around-killed"));
    for folder in [&whole, &killed] {
        system(folder, &[]);
    }
    let wanted = run(&whole, &[&["run", "system.toml"], &OUT[..]].concat());
    let slow =
        ["--real-time=0.5", "--checkpoint", "simulated=0.25,file=saved/run.checkpoint", "--progress", "none"];
    std::fs::create_dir(killed.join("saved")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
        .args(["run", "system.toml"].iter().chain(&OUT).chain(&slow))
        .current_dir(&killed)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = killed.join("saved/run.checkpoint");
    wait_for(&file);
    std::thread::sleep(Duration::from_millis(300)); // rows behind the checkpoint, to be cut off
    child.kill().unwrap();
    child.wait().unwrap();

    // From elsewhere, with other threads, as fast as it can; the report and the summary are of the whole run.
    let elsewhere = folder("around-elsewhere");
    let file = file.display().to_string();
    let extra = ["--threads", "2", "--real-time=1e9", "--report", "r.html", "--summary-json", "s.json"];
    let found = run(&elsewhere, &[&["resume", &file, "--trust"], &extra[..]].concat());
    assert!(found.starts_with("resumed at t = 0."), "{found}");
    assert_eq!(ledger(&found), ledger(&wanted));
    assert!(found.contains("verdict: unknown: the run was resumed from a checkpoint"), "{found}");
    assert_same_results(&whole, &killed);
    let page = std::fs::read_to_string(elsewhere.join("r.html")).unwrap();
    assert!(page.contains("resumed at t = 0.") && page.contains("whole run"));
    let json = std::fs::read_to_string(elsewhere.join("s.json")).unwrap();
    assert!(json.contains("\"resumed_at\": 0.") && json.contains("\"steps\": 3625"), "{json}");
    // The resumed run saved itself as the first one did, and can be resumed once more.
    let again = killed.join("rows.csv").display().to_string();
    run(&elsewhere, &["resume", &file, "--trust", "--real-time=1e9", "--out", &again]);
    assert_same_results(&whole, &killed);
}

#[cfg(unix)]
#[test]
fn a_stopped_run_is_saved_and_says_how_to_go_on() {
    let (whole, stopped) = (folder("around-unstopped"), folder("around-stopped"));
    for folder in [&whole, &stopped] {
        system(folder, &[]);
    }
    run(&whole, &[&["run", "system.toml"], &OUT[..]].concat());
    let slow = ["--real-time=0.5", "--checkpoint", "interrupt", "--record-every", "0.01"];
    let child = Command::new(env!("CARGO_BIN_EXE_cosimo"))
        .args(["run", "system.toml"].iter().chain(&OUT).chain(&slow))
        .current_dir(&stopped)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&stopped.join("rows.csv"));
    std::thread::sleep(Duration::from_millis(300)); // some steps
    assert!(!stopped.join("system.checkpoint").exists());
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let told = complaint(&output);
    assert!(
        told.starts_with("exit 130") && told.contains("resume with `cosimo resume system.checkpoint`"),
        "{told}"
    );
    run(&stopped, &["resume", "system.checkpoint", "--real-time=1e9"]);
    run(&whole, &[&["run", "system.toml", "--record-every", "0.01"], &OUT[..]].concat());
    assert_same_results(&whole, &stopped);
}

#[test]
fn a_finished_run_goes_on_to_a_later_end() {
    let (whole, longer) = (folder("around-long"), folder("around-longer"));
    let fixed = ["--method", "controller=fixed", "--step", "1e-3"];
    for folder in [&whole, &longer] {
        system(folder, &[]);
    }
    run(&whole, &[&["run", "system.toml", "--stop", "0.3"], &fixed[..], &OUT].concat());
    let first = ["run", "system.toml", "--stop", "0.2", "--checkpoint", "end,file=end.checkpoint"];
    let told = run(&longer, &[&first[..], &fixed, &OUT].concat());
    assert!(told.contains("checkpoint: end.checkpoint"), "{told}");
    run(&longer, &["resume", "end.checkpoint", "--stop", "0.3", "--out", "rest.csv"]);
    assert_same_results(&whole, &longer);
    assert_eq!(read(&longer.join("rest.csv"), FORMATS).unwrap().values[0][0], 0.201);
}

/// Islands with clocks of their own, from a point in the middle of the run, on another number of threads.
#[test]
fn lines_go_on_too() {
    let (whole, saved) = (folder("around-lines"), folder("around-lines-saved"));
    for folder in [&whole, &saved] {
        std::fs::copy(root().join("examples/spring-mass/system.toml"), folder.join("system.toml")).unwrap();
    }
    run(&whole, &[&["run", "system.toml"], &OUT[..]].concat());
    let middle = ["--checkpoint", "simulated=0.4,file=middle.checkpoint"];
    run(&saved, &[&["run", "system.toml"], &OUT[..], &middle].concat());
    let told = run(&saved, &["resume", "middle.checkpoint", "--threads", "2"]);
    assert!(told.starts_with("resumed at t = 0.4"), "{told}");
    assert_same_results(&whole, &saved);
}

#[test]
fn units_go_on_and_changed_files_do_not() {
    let folder = folder("around-units");
    for version in [Version::Two, Version::Three] {
        for model in ["quarter-car/chassis-strut", "quarter-car/wheel"] {
            let design = Design::new(&format!("native:{model}"), version);
            write(&design, &built_library().unwrap(), &folder.join(design.file_name())).unwrap();
        }
    }
    let design =
        |model: &str, version| Design::new(&format!("native:quarter-car/{model}"), version).file_name();
    let sources = [
        ("native:quarter-car/chassis-strut", design("chassis-strut", Version::Two)),
        ("native:quarter-car/wheel", design("wheel", Version::Three)),
    ];
    let changes: Vec<(&str, &str)> = sources.iter().map(|(from, to)| (*from, to.as_str())).collect();
    system(&folder, &changes);
    let wanted = run(&folder, &["run", "system.toml", "--stop", "0.5", "--out", "whole.csv"]);
    let saving = ["--checkpoint", "simulated=0.2,file=a.checkpoint"];
    run(&folder, &[&["run", "system.toml", "--stop", "0.5", "--out", "rows.csv"], &saving[..]].concat());
    let found = run(&folder, &["resume", "a.checkpoint"]);
    assert_eq!(ledger(&found), ledger(&wanted));
    let bytes = |file: &str| std::fs::read(folder.join(file)).unwrap();
    assert!(bytes("rows.csv") == bytes("whole.csv"));

    // A byte behind the archive, a comment in the file: both are told.
    let unit = folder.join(&sources[1].1);
    let whole = std::fs::read(&unit).unwrap();
    std::fs::write(&unit, [&whole[..], b"!"].concat()).unwrap();
    let text = std::fs::read_to_string(folder.join("system.toml")).unwrap();
    std::fs::write(folder.join("system.toml"), format!("{text}# changed\n")).unwrap();
    assert_snapshot!("changed-files", complaint(&cosimo(&folder, &["resume", "a.checkpoint"])));
    std::fs::remove_file(&unit).unwrap();
    assert_snapshot!("missing-file", complaint(&cosimo(&folder, &["resume", "a.checkpoint"])));
}

#[test]
fn units_that_cannot_be_saved_are_named_before_the_run() {
    let folder = folder("around-unsaved");
    let design = Design::new("native:quarter-car/wheel", Version::Two).variant(Variant::NoRollback);
    write(&design, &built_library().unwrap(), &folder.join("wheel.fmu")).unwrap();
    system(&folder, &[("native:quarter-car/wheel", "wheel.fmu")]);
    let output = cosimo(&folder, &["run", "system.toml", "--out", "rows.csv", "--checkpoint", "every=10s"]);
    assert_snapshot!("cannot-be-saved", complaint(&output));
    assert!(!folder.join("rows.csv").exists());
}

#[test]
fn what_is_no_checkpoint_is_told() {
    let folder = folder("around-foreign");
    system(&folder, &[]);
    run(
        &folder,
        &[
            "run",
            "system.toml",
            "--stop",
            "0.01",
            "--out",
            "rows.csv",
            "--checkpoint",
            "end,file=a.checkpoint",
        ],
    );
    let bytes = std::fs::read(folder.join("a.checkpoint")).unwrap();
    std::fs::write(folder.join("short.checkpoint"), &bytes[..bytes.len() / 2]).unwrap();
    let mut newer = bytes.clone();
    newer[18] = 3;
    std::fs::write(folder.join("newer.checkpoint"), newer).unwrap();
    let told: Vec<String> = [
        &["resume", "rows.csv"][..],
        &["resume", "nothing.checkpoint"],
        &["resume", "short.checkpoint"],
        &["resume", "newer.checkpoint"],
        &["resume", "a.checkpoint", "--stop", "0.005"],
        &["resume", "a.checkpoint", "--stop", "nan"],
        &["run", "system.toml", "--checkpoint", "every=10s,file=nowhere/a.checkpoint"],
        &["run", "system.toml", "--checkpoint", "every=10"],
        &["run", "system.toml", "--checkpoint", "simulated=-1"],
        &["run", "system.toml", "--checkpoint", "file=a.checkpoint"],
        &["run", "system.toml", "--checkpoint", "hourly"],
    ]
    .iter()
    .map(|args| format!("$ cosimo {}\n{}", args.join(" "), complaint(&cosimo(&folder, args))))
    .collect();
    assert_snapshot!("no-checkpoint", told.join("\n"));
}

#[test]
fn scenarios_are_told_and_recorded() {
    let folder = folder("around-scenario");
    system(&folder, &[]);
    let actions = "[[action]]\nname = \"sensor sticks\"\nat = 0.1\nstuck = \"chassis.v\"\n\n\
                   [[action]]\nwhen = \"t >= 0.2 and not chassis.v > 100\"\nrelease = \"chassis.v\"\n\n\
                   [[action]]\nat = 0.3\nparameter = \"wheel.kw\"\nto = 1e5\n";
    std::fs::write(folder.join("s.toml"), actions).unwrap();
    let args = ["run", "system.toml", "--scenario", "s.toml", "--stop", "0.4", "--out", "rows.csv"];
    let told = run(&folder, &[&args[..], &["--summary-json", "s.json", "--report", "r.html"]].concat());
    let lines: Vec<&str> = told
        .lines()
        .filter(|line| line.starts_with("scenario") || line.starts_with("energy balance"))
        .collect();
    assert!(lines[0] == "scenario: at t = 0.1 s sensor sticks" && lines.len() == 4, "{told}");
    assert!(lines[3].contains("The scenario changed signals of `strut`"), "{told}");
    let json = std::fs::read_to_string(folder.join("s.json")).unwrap();
    assert!(json.contains("\"action\": \"sensor sticks\"") && json.contains("\"tampered_bonds\""), "{json}");
    let page = std::fs::read_to_string(folder.join("r.html")).unwrap();
    assert!(page.contains("<h2 id=events>Scenario</h2>") && page.contains("t = 0.1 s: sensor sticks"));
    let table = read(&folder.join("rows.csv"), FORMATS).unwrap();
    let active = table.column("scenario.active").unwrap();
    assert!(active.contains(&1.0) && active.first() == Some(&0.0) && active.last() == Some(&0.0));
    assert_snapshot!("explained-scenario", run(&folder, &["explain", "system.toml", "--scenario", "s.toml"]));
    // It goes on from a checkpoint in the middle of it, and must not change.
    let whole = std::fs::read(folder.join("rows.csv")).unwrap();
    run(&folder, &[&args[..], &["--checkpoint", "simulated=0.15,file=a.checkpoint"]].concat());
    let again = run(&folder, &["resume", "a.checkpoint"]);
    assert!(again.contains("scenario: at t = 0.1 s sensor sticks"), "{again}");
    assert!(std::fs::read(folder.join("rows.csv")).unwrap() == whole);
    std::fs::write(folder.join("s.toml"), actions.replace("0.1", "0.15")).unwrap();
    assert_snapshot!("changed-scenario", complaint(&cosimo(&folder, &["resume", "a.checkpoint"])));
}

#[test]
fn all_that_is_wrong_with_a_scenario_comes_at_once() {
    let folder = folder("around-bad-scenario");
    system(&folder, &[]);
    let told = |actions: &str| {
        std::fs::write(folder.join("s.toml"), actions).unwrap();
        complaint(&cosimo(&folder, &["run", "system.toml", "--scenario", "s.toml"]))
    };
    assert_snapshot!(
        "bad-scenario-names",
        told(
            "[[action]]\nat = -1\nstuck = \"chasis.v\"\n\n[[action]]\nwhen = \"weel.v > 0.2 and t > 1\"\nset = \"wheel.F\"\n\
             to = 1\n\n[[action]]\nat = 1.0\nparameter = \"wheel.mv\"\nto = 2\n\n[[action]]\nat = 1.0\n\
             parameter = \"wheel.mw\"\nto = -2\n\n[[action]]\nat = 99.0\noverride = \"wheel.z\"\nto = 1\n"
        )
    );
    assert_snapshot!(
        "bad-scenario-keys",
        told(
            "[[action]]\nwhen = \"wheel.v >> 0.2\"\nset = \"wheel.F\"\n\n[[action]]\nat = 1.0\nwhen = \"t > 1\"\n\
             scale = \"chassis.v\"\nto = 2\n\n[[action]]\nat = \"soon\"\nstop = false\n\n[[action]]\nat = 1\n\n\
             [[action]]\nstuck = \"a.b\"\nrelease = \"a.b\"\n\n[[action]]\nat = 1\nonce = true\nfrobnicate = \"a.b\"\n"
        )
    );
    assert_snapshot!("bad-scenario-toml", told("[[action]\nat = 1\n"));
    assert_snapshot!("empty-scenario", told(""));
    let missing = cosimo(&folder, &["run", "system.toml", "--scenario", "t.toml"]);
    assert_snapshot!("missing-scenario", complaint(&missing));
}

#[test]
fn pace_and_progress_change_no_number() {
    let folder = folder("around-pace");
    system(&folder, &[]);
    let plain = run(&folder, &["run", "system.toml", "--stop", "0.1", "--out", "plain.csv"]);
    let args = [
        "run",
        "system.toml",
        "--stop",
        "0.1",
        "--out",
        "paced.csv",
        "--real-time=0.5",
        "--progress",
        "json",
    ];
    let begun = Instant::now();
    let output = cosimo(&folder, &[&args[..], &["--summary-json", "s.json"]].concat());
    let elapsed = begun.elapsed();
    assert!(elapsed >= Duration::from_millis(200), "0.1 s at half speed");
    let paced = String::from_utf8(output.stdout).unwrap();
    assert_eq!(ledger(&paced), ledger(&plain));
    assert!(paced.contains("verdict: unknown: companions would disturb a run in real time"), "{paced}");
    assert!(paced.contains("kept to 0.5 times real time: lateness p50 "), "{paced}");
    let json = std::fs::read_to_string(folder.join("s.json")).unwrap();
    assert!(json.contains("\"lateness_p99\""), "{json}");
    let bytes = |file: &str| std::fs::read(folder.join(file)).unwrap();
    assert!(bytes("plain.csv") == bytes("paced.csv"));

    let told = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with('{')).collect();
    let most = 2 + elapsed.as_millis() as usize / 100;
    assert!((2..=most).contains(&lines.len()), "{told}");
    for line in &lines {
        for key in ["\"time\":", "\"share\":", "\"steps\":", "\"rejected\":", "\"step\":", "\"eta\":"] {
            assert!(line.contains(key), "{line}");
        }
    }
    let (last, before) = lines.split_last().unwrap();
    assert!(
        last.contains("\"time\":0.1,\"share\":1.0") && last.ends_with("\"outcome\":\"finished\"}"),
        "{last}"
    );
    assert!(before.iter().all(|line| !line.contains("outcome")));

    // Time enough for checkpoints by the clock.
    let saving = ["--real-time=0.5", "--checkpoint", "every=1ms,file=e.checkpoint"];
    run(&folder, &[&["run", "system.toml", "--stop", "0.1"], &saving[..]].concat());
    let resumed = run(&folder, &["resume", "e.checkpoint"]);
    assert_eq!(ledger(&resumed), ledger(&plain));

    let quiet = cosimo(&folder, &["run", "system.toml", "--stop", "0.1", "--progress", "none"]);
    assert_eq!(complaint(&quiet), "exit 0\n");
    // No machine is a billion times as fast.
    let late = cosimo(&folder, &["run", "system.toml", "--stop", "0.1", "--real-time=1e9"]);
    assert!(complaint(&late).contains("warning: the step to t = "), "{}", complaint(&late));
    assert!(String::from_utf8_lossy(&late.stdout).contains("100.00 % of the steps came too late"));
    let wrong: Vec<String> = [["--real-time=0"], ["--real-time=fast"], ["--progress=dots"]]
        .iter()
        .map(|args| complaint(&cosimo(&folder, &[&["run", "system.toml"], &args[..]].concat())))
        .collect();
    assert_snapshot!("wrong-pace", wrong.join("\n"));
}

#[test]
fn a_new_system_runs_at_once() {
    let folder = folder("around-new");
    run(&folder, &["new", "first"]);
    run(&folder, &["run", "first/system.toml"]);
    assert_snapshot!("new-exists", complaint(&cosimo(&folder, &["new", "first"])));
    for model in ["quarter-car/chassis-strut", "quarter-car/wheel"] {
        let design = Design::new(&format!("native:{model}"), Version::Two);
        let name = model.rsplit('/').next().unwrap();
        write(&design, &built_library().unwrap(), &folder.join(format!("{name}.fmu"))).unwrap();
    }
    run(&folder, &["new", "deep/second", "--from", "chassis=chassis-strut.fmu", "wheel.fmu"]);
    let text = std::fs::read_to_string(folder.join("deep/second/system.toml")).unwrap();
    assert_snapshot!("new-from-units", text);
    run(&folder, &["run", "deep/second/system.toml", "--stop", "0.01"]);
    // What is suggested is right, too.
    let wired: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest)
                if ["[[connection]]", "from = ", "to = "].iter().any(|word| rest.starts_with(word)) =>
            {
                format!("{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    std::fs::write(folder.join("deep/second/system.toml"), wired).unwrap();
    run(&folder, &["run", "deep/second/system.toml", "--stop", "0.01"]);
    // Paths may have anything in them.
    let odd = folder.join("it's \"odd\"");
    std::fs::create_dir(&odd).unwrap();
    std::fs::copy(folder.join("wheel.fmu"), odd.join("wheel.fmu")).unwrap();
    run(&folder, &["new", "odd", "--from", "it's \"odd\"/wheel.fmu"]);
    run(&folder, &["run", "odd/system.toml", "--stop", "0.01"]);
    let wrong: Vec<String> =
        [&["new", "third", "--from", "none.fmu"][..], &["new", "third", "--from", "first/system.toml"]]
            .iter()
            .map(|args| complaint(&cosimo(&folder, args)))
            .collect();
    assert_snapshot!("new-from-nothing", wrong.join("\n"));
    assert!(!folder.join("third").exists());
}

#[test]
fn shells_can_complete() {
    let folder = folder("around-completions");
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = run(&folder, &["completions", shell]);
        assert!(script.contains("checkpoint") && script.contains("resume"), "{shell}");
    }
    assert!(complaint(&cosimo(&folder, &["completions", "dos"])).starts_with("exit 2"));
}

#[test]
fn a_checkpoint_that_names_files_elsewhere_is_refused_unless_trusted() {
    let folder = folder("around-outside");
    let (own, elsewhere) = (folder.join("own"), folder.join("elsewhere"));
    for made in [&own, &elsewhere] {
        std::fs::create_dir(made).unwrap();
    }
    system(&own, &[]);
    let args = ["--stop", "0.2", "--out", "../elsewhere/rows.csv", "--certificate", "../elsewhere/c.json"];
    let saving = ["--checkpoint", "simulated=0.1,file=a.checkpoint"];
    run(&own, &[&["run", "system.toml"], &args[..], &saving[..]].concat());
    let rows = || std::fs::read(elsewhere.join("rows.csv")).unwrap();
    let whole = rows();
    assert_snapshot!("outside", complaint(&cosimo(&own, &["resume", "a.checkpoint"])));
    assert!(rows() == whole, "nothing is written");
    run(&own, &["resume", "a.checkpoint", "--trust"]);
    // Files below the folder in which the command is given are no surprise.
    run(&folder, &["resume", "own/a.checkpoint"]);
    assert!(rows() == whole);
}
