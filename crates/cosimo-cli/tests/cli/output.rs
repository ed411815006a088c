//! What reaches stdout and stderr: nothing of an FMU among our own data, nothing that controls a terminal, and no panic
//! where neither can be written.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};

use cosimo_test_fmus::{Design, SABOTEUR, Version, built_library, write};
use insta::assert_snapshot;

use crate::common::{complaint, cosimo, folder, system};

fn saboteur(folder: &Path) {
    write(&Design::new(SABOTEUR, Version::Two), &built_library().unwrap(), &folder.join("saboteur.fmu"))
        .unwrap();
}

const PRINTS: [&str; 7] = ["saboteur.fmu", "--stop", "0.3", "--step", "0.1", "--set", "fault=print"];

#[test]
fn what_an_fmu_prints_is_shown_on_stderr_and_never_among_our_data() {
    let folder = folder("printing");
    saboteur(&folder);
    let output = cosimo(&folder, &[&["run"][..], &PRINTS, &["--set", "at_step=2"]].concat());
    let mut said: Vec<String> =
        String::from_utf8(output.stderr).unwrap().lines().map(str::to_owned).collect();
    said.sort(); // the FMU's stderr is ours, and not in step with its stdout
    assert_eq!(
        said,
        [
            "FMU output: a word on the standard output",
            "FMU output: and one by C",
            "a word on the standard error"
        ]
    );
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.starts_with("3 steps to t = 0.3") && !told.contains("word"), "{told}");
    // In a trial, too.
    let output = cosimo(&folder, &[&["check", "--json"][..], &PRINTS].concat());
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
}

#[test]
fn what_an_fmu_printed_before_it_crashed_is_shown() {
    let folder = folder("printing-crash");
    saboteur(&folder);
    // Another instance prints, and then this one ends the process.
    let args = ["run", "a=saboteur.fmu", "b=saboteur.fmu", "--stop", "0.3", "--step", "0.1"];
    let faults = ["--set", "a.fault=print", "--set", "b.fault=abort", "--set", "b.at_step=2"];
    let said = complaint(&cosimo(&folder, &[&args[..], &faults].concat()));
    assert!(said.contains("FMU output: a word on the standard output\n"), "{said}");
}

#[test]
fn warnings_and_log_messages_are_counted_in_summary_report_and_certificate() {
    let mut shown = String::new();
    for version in [Version::One, Version::Two, Version::Three] {
        let folder = folder(&format!("counted{}", version.text()));
        write(&Design::new(SABOTEUR, version), &built_library().unwrap(), &folder.join("saboteur.fmu"))
            .unwrap();
        let files = ["--summary-json", "s.json", "--certificate", "c.json", "--report", "r.html"];
        let run = |sets: &[&str]| {
            let args = ["run", "a=saboteur.fmu", "b=saboteur.fmu", "--stop", "0.3", "--step", "0.1"];
            let output = cosimo(&folder, &[&args[..], &files, sets].concat());
            assert!(output.status.success(), "{}", complaint(&output));
            let told = String::from_utf8(output.stdout).unwrap();
            let told = told.split_once("log messages of FMUs\n").map(|(_, told)| told.to_owned());
            told.and_then(|told| told.split_once("\n\n").map(|(told, _)| format!("{told}\n")))
        };
        let told = run(&["--set", "b.fault=warning", "--set", "b.at_step=2"]).unwrap();
        let json = |file: &str| -> serde_json::Value {
            serde_json::from_slice(&std::fs::read(folder.join(file)).unwrap()).unwrap()
        };
        let page = std::fs::read_to_string(folder.join("r.html")).unwrap();
        for line in told.lines() {
            let name = line.trim().trim_start_matches("`b`: ");
            assert!(page.contains(name), "{name}");
        }
        assert_eq!(json("s.json")["messages"], json("c.json")["messages"]);
        shown += &format!("{told}{:#}\n", json("c.json")["messages"]);
        // Nothing to say is nothing said.
        assert_eq!(run(&[]), None);
        assert_eq!(json("c.json")["messages"], serde_json::json!([]));
    }
    assert_snapshot!("messages-of-fmus", shown);
}

/// A name that clears the screen, retitles the window and turns text around.
const HOSTILE: &str = "a\x1b[2J\x1b]0;x\x07\u{9b}1m\u{202e}\rb";

#[test]
fn nothing_in_a_file_controls_the_terminal() {
    let folder = folder("controls");
    let toml = "a\\u001b[2J\\u001b]0;x\\u0007\\u009b1m\\u202e\\u000db";
    system(&folder, &[("[component.chassis]", &format!("[component.\"{toml}\"]"))]);
    let named = format!("{}.toml", HOSTILE.replace('/', ""));
    std::fs::write(folder.join(&named), "[experiment]\nstop = \"\u{9b}\u{202e}\"\n").unwrap();
    for args in [
        &["check", "system.toml"][..],
        &["check", "system.toml", "--json"],
        &["explain", "system.toml"],
        &["run", "system.toml"],
        &["run", &named],
        &["run", HOSTILE],
        &["run", "system.toml", "--stop", HOSTILE],
        &["plot", HOSTILE],
    ] {
        let output = cosimo(&folder, args);
        for stream in [output.stdout, output.stderr] {
            let text = String::from_utf8(stream).unwrap();
            let controls = |letter: char| letter != '\n' && cosimo::core::printable::controls(letter);
            assert!(!text.contains(controls), "{args:?}: {text:?}");
        }
    }
    let found = String::from_utf8(cosimo(&folder, &["check", "system.toml"]).stdout).unwrap();
    let found = found.split("\n\n").next().unwrap();
    assert_snapshot!("controls", format!("{found}\n{}", complaint(&cosimo(&folder, &["run", &named]))));
}

/// As the shell redirects: `> file`, `2> file`, or to a descriptor that is closed.
fn through_a_shell(folder: &Path, args: &[&str], redirection: &str) -> Output {
    let command = format!("exec \"$0\" \"$@\" {redirection}");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).arg(env!("CARGO_BIN_EXE_cosimo")).args(args).current_dir(folder);
    shell.output().unwrap()
}

#[test]
fn output_that_cannot_be_written_is_a_failure_and_no_panic() {
    if File::options().write(true).open("/dev/full").is_err() {
        eprintln!("skipped: there is no /dev/full");
        return;
    }
    let folder = folder("full");
    system(&folder, &[]);
    saboteur(&folder);
    let fmu = ["run", "saboteur.fmu", "--stop", "0.3", "--step", "0.1"];
    let commands = [
        &["run", "system.toml"][..],
        &fmu,
        &["check", "system.toml"],
        &["check", "system.toml", "--json"],
        &["info", "saboteur.fmu"],
        &["validate", "saboteur.fmu"],
        &["methods"],
        &["schema"],
        &["--help"],
        &["completions", "bash"],
    ];
    for args in commands {
        let full = through_a_shell(&folder, args, "> /dev/full");
        let lost = "exit 3\nerror: cannot write to standard output: No space left on device (os error 28)\n";
        assert_eq!(complaint(&full), lost, "{args:?}");
        for redirection in [">&-", "2>&-", "2> /dev/full", ">&- 2>&-"] {
            let output = through_a_shell(&folder, args, redirection);
            assert_eq!(output.status.code(), Some(0), "{args:?} {redirection}: {}", complaint(&output));
        }
    }
    // What failed before keeps its own code.
    for redirection in ["2>&-", "2> /dev/full", "> /dev/full"] {
        let output = through_a_shell(&folder, &["run", "nothing.toml"], redirection);
        assert_eq!(output.status.code(), Some(3), "{redirection}");
        let output = through_a_shell(&folder, &["run", "system.toml", "--stop", "x"], redirection);
        assert_eq!(output.status.code(), Some(2), "{redirection}");
    }
}
