//! Developer tasks, one file each. `cargo xtask` lists them.
//!
//! Whatever a build server runs is one of these, so that it can be run at any desk with cargo alone.

mod bench;
mod browser;
mod chaos;
mod command;
mod corpus;
mod cvode;
mod docs;
mod features;
mod fmus;
mod fuzz;
mod generate;
mod invariants;
mod layers;
mod leftovers;
mod mutants;
mod python;
mod targets;
mod test;
mod test_runner;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `Err` is the message to print; a failed task has printed everything else before.
type TaskResult = Result<(), String>;

struct Task {
    name: &'static str,
    arguments: &'static str,
    summary: &'static str,
    run: fn(root: &Path, arguments: &[String]) -> TaskResult,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        arguments: "[--fast]",
        summary: "every check, in the order of how soon it fails; with --fast those worth a wait before each commit",
        run: test::run,
    },
    Task {
        name: "check-layers",
        arguments: "",
        summary: "dependencies between crates, against ARCHITECTURE.md, and forbidden dependencies",
        run: layers::run,
    },
    Task {
        name: "features",
        arguments: "",
        summary: "the library without any feature and with each alone: no warnings",
        run: features::run,
    },
    Task {
        name: "targets",
        arguments: "",
        summary: "check that the command compiles for Windows and macOS",
        run: targets::run,
    },
    Task {
        name: "generate",
        arguments: "[--check]",
        summary: "write the JSON schemas, or only compare",
        run: generate::run,
    },
    Task {
        name: "docs",
        arguments: "[--update]",
        summary: "run or compile every code block of the documents; with --update, write present outputs into them",
        run: docs::run,
    },
    Task {
        name: "fmus",
        arguments: "[DIR] [NAME...]",
        summary: "write every native model as FMUs of all versions, into target/fmus; or those whose name begins so",
        run: fmus::run,
    },
    Task {
        name: "fuzz",
        arguments: "[--seconds N]",
        summary: "fuzzing of all file readers, for a minute by default",
        run: fuzz::run,
    },
    Task {
        name: "chaos",
        arguments: "[--kills N] [--levels N] [--seed N]",
        summary: "kill runs at random instants and fill disks to random levels, and look for lost rows",
        run: chaos::run,
    },
    Task {
        name: "mutants",
        arguments: "[--seed N] [--count N] [--crate NAME] [--at TEXT] [--list]",
        summary: "change random operators of core, methods and engine, and look for a test that notices",
        run: mutants::run,
    },
    Task {
        name: "corpus",
        arguments: "[--seed N] [--count N] [--class NAME] [--only SEED] [--save DIR] [--list KIND]",
        summary: "error bars of random systems with a known truth, as a table per class",
        run: corpus::run,
    },
    Task {
        name: "browser",
        arguments: "",
        summary: "open reports in Chromium and use them as people do",
        run: browser::run,
    },
    Task {
        name: "screenshot",
        arguments: "",
        summary: "take the README's picture of a report anew: docs/report.png",
        run: browser::screenshot,
    },
    Task {
        name: "cvode",
        arguments: "[--fmus]",
        summary: "test the integrator `cvode`, which takes cmake and libclang to build",
        run: cvode::run,
    },
    Task {
        name: "python",
        arguments: "",
        summary: "make the Python that the tests use, in target/python, and print where it is",
        run: python::run,
    },
    Task { name: "bench", arguments: "", summary: "run the benchmarks", run: bench::run },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", list());
        return ExitCode::SUCCESS;
    };
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprint!("error: there is no task `{name}`\n\n{}", list());
        return ExitCode::FAILURE;
    };
    match (task.run)(&root(), rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn list() -> String {
    let mut text = String::from("Tasks of `cargo xtask`:\n");
    for task in TASKS {
        let call = format!("{} {}", task.name, task.arguments);
        text += &format!("  {call:<20} {}\n", task.summary);
    }
    text
}

/// The folder of the workspace. Asked for at run time, so that a moved checkout needs no rebuild.
fn root() -> PathBuf {
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&xtask).parent().unwrap_or(Path::new(".")).into()
}

/// For tasks that take no arguments.
fn no_arguments(arguments: &[String]) -> TaskResult {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => Err(format!("`{argument}` is not understood: this task takes no arguments")),
    }
}
