//! `cargo xtask test [--fast]`: everything that must hold before a change is done, quickest to fail first; with `--fast`
//! what is worth waiting for before each commit.
//!
//! Needs cargo and rustc. What rustup, pip, apt-get and npm can add is added; what is missing after that is skipped
//! with a message, and named again at the end. Clippy, tests and benchmarks name the same packages and features, so that
//! dependencies are built once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::command::WORKSPACE;
use crate::{
    TaskResult, browser, command, cvode, docs, features, fuzz, generate, layers, leftovers, python, targets,
    test_runner,
};

struct TestStep {
    name: &'static str,
    /// Part of `--fast`.
    fast: bool,
    needs: Option<Need>,
    work: Work,
}

/// What a machine may lack.
enum Need {
    /// A cargo subcommand.
    Tool(Tool),
    /// Anything that sets itself up, or says what is missing.
    Other(fn(&Path) -> TaskResult),
}

enum Work {
    Cargo(&'static [&'static str]),
    /// Cargo with [`WORKSPACE`] behind the subcommand.
    Workspace(&'static str, &'static [&'static str]),
    Task(fn(&Path) -> TaskResult),
    Tests(fn(&Path, &[(&str, PathBuf)], bool) -> TaskResult),
    /// Makes the Python of the tests; those go without where that fails.
    Python,
}

struct Tool {
    /// `cargo <subcommand> --version` succeeds if it is installed.
    subcommand: &'static str,
    name: &'static str,
    /// What rustup calls it, if rustup has it.
    component: Option<&'static str>,
}

const RUSTFMT: Tool = Tool { subcommand: "fmt", name: "rustfmt", component: Some("rustfmt") };
const CLIPPY: Tool = Tool { subcommand: "clippy", name: "clippy", component: Some("clippy") };
const DENY: Tool = Tool { subcommand: "deny", name: "cargo-deny", component: None };

const STEPS: &[TestStep] = &[
    TestStep {
        name: "cargo fmt --all --check",
        fast: true,
        needs: Some(Need::Tool(RUSTFMT)),
        work: Work::Cargo(&["fmt", "--all", "--check"]),
    },
    TestStep {
        name: "cargo xtask check-layers",
        fast: true,
        needs: None,
        work: Work::Task(|root| layers::run(root, &[])),
    },
    TestStep {
        name: "cargo clippy --workspace --all-targets -- -D warnings",
        fast: true,
        needs: Some(Need::Tool(CLIPPY)),
        work: Work::Workspace("clippy", &["--all-targets", "--", "-D", "warnings"]),
    },
    TestStep {
        name: "cargo xtask features",
        fast: false,
        needs: Some(Need::Tool(CLIPPY)),
        work: Work::Task(|root| features::run(root, &[])),
    },
    TestStep {
        name: "cargo xtask targets",
        fast: false,
        needs: Some(Need::Other(targets::set_up)),
        work: Work::Task(targets::test),
    },
    TestStep { name: "cargo xtask python", fast: false, needs: None, work: Work::Python },
    TestStep {
        name: "unit and integration tests",
        fast: true,
        needs: None,
        work: Work::Tests(test_runner::run),
    },
    TestStep {
        name: "cargo test --workspace --doc",
        fast: false,
        needs: None,
        work: Work::Workspace("test", &["--doc", "--quiet"]),
    },
    TestStep {
        name: "cargo xtask generate --check",
        fast: false,
        needs: None,
        work: Work::Task(|root| generate::run(root, &["--check".into()])),
    },
    TestStep {
        name: "cargo xtask docs",
        fast: false,
        needs: None,
        work: Work::Task(|root| docs::run(root, &[])),
    },
    TestStep {
        name: "cargo xtask fuzz --seconds 10",
        fast: false,
        needs: None,
        work: Work::Task(|root| fuzz::run(root, &["--seconds".into(), "10".into()])),
    },
    TestStep {
        name: "cargo xtask browser",
        fast: false,
        needs: Some(Need::Other(browser::set_up)),
        work: Work::Task(browser::test),
    },
    TestStep {
        name: "cargo xtask cvode",
        fast: false,
        needs: Some(Need::Other(cvode::set_up)),
        work: Work::Task(cvode::test),
    },
    TestStep {
        // Built as tests are: another profile would build every dependency once more.
        name: "cargo test --workspace --bench '*' --no-run",
        fast: false,
        needs: None,
        work: Work::Workspace("test", &["--bench", "*", "--no-run"]),
    },
    TestStep {
        name: "cargo deny check",
        fast: false,
        needs: Some(Need::Tool(DENY)),
        work: Work::Cargo(&["deny", "check"]),
    },
];

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    let fast = match arguments {
        [] => false,
        [only] if only == "--fast" => true,
        other => return Err(format!("`{}` is not understood; known is `--fast`", other.join(" "))),
    };
    let begun = Instant::now();
    let mut times = Vec::new();
    let outcome = steps(root, fast, &mut times);
    // Whatever happened: what tests leave behind is of no use to the next run.
    leftovers::remove(root);
    println!("\ntime of each step:");
    for (name, seconds) in &times {
        println!("{seconds:>8.1} s  {name}");
    }
    println!("{:>8.1} s  in all", begun.elapsed().as_secs_f64());
    leftovers::print_size(root);
    let skipped = outcome?;
    println!("all checks passed");
    if !skipped.is_empty() {
        println!("skipped: {}", skipped.join(", "));
    }
    Ok(())
}

/// Runs the steps until one fails; returns the names of those that were skipped.
fn steps(root: &Path, fast: bool, times: &mut Vec<(&'static str, f64)>) -> Result<Vec<&'static str>, String> {
    let chosen: Vec<&TestStep> = STEPS.iter().filter(|step| step.fast || !fast).collect();
    let mut skipped = Vec::new();
    let mut environment = Vec::new();
    for (index, step) in chosen.iter().enumerate() {
        println!("\n[{}/{}] {}", index + 1, chosen.len(), step.name);
        let begun = Instant::now();
        let missing = match &step.needs {
            None => None,
            Some(Need::Tool(tool)) => {
                (!present(root, tool)).then(|| format!("{} is not installed", tool.name))
            }
            Some(Need::Other(set_up)) => set_up(root).err(),
        };
        if let Some(missing) = missing {
            println!("skipped: {missing}");
            skipped.push(step.name);
            continue;
        }
        let outcome = match &step.work {
            Work::Cargo(arguments) => command::show(command::cargo(root, arguments)),
            Work::Workspace(subcommand, arguments) => {
                command::show(command::cargo(root, &[&[*subcommand][..], WORKSPACE, arguments].concat()))
            }
            Work::Task(task) => task(root),
            Work::Tests(tests) => tests(root, &environment, fast),
            Work::Python => match python::environment(root) {
                Ok(made) => {
                    environment = made;
                    Ok(())
                }
                Err(message) => {
                    println!("skipped, and so is every test that needs it: {message}");
                    skipped.push(step.name);
                    continue;
                }
            },
        };
        let seconds = begun.elapsed().as_secs_f64();
        times.push((step.name, seconds));
        outcome.map_err(|message| format!("{message}\nfailed after {seconds:.1} s: {}", step.name))?;
        println!("ok in {seconds:.1} s");
    }
    Ok(skipped)
}

/// Whether a tool is there, or could be added.
fn present(root: &Path, tool: &Tool) -> bool {
    let there = || command::works(command::cargo(root, &[tool.subcommand, "--version"]));
    if there() {
        return true;
    }
    let Some(component) = tool.component else { return false };
    println!("{} is missing; asking rustup for it", tool.name);
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", component]).current_dir(root);
    command::works(rustup) && there()
}
