//! `cargo xtask test`: everything that must hold before a change is done, quickest to fail first.
//!
//! Needs cargo and rustc. What rustup, pip, apt-get and npm can add is added; what is missing after that is skipped
//! aloud, and named again at the end.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::{Outcome, browser, command, cvode, fuzz, generate, layers, no_arguments, python};

struct Step {
    name: &'static str,
    /// What not everybody has.
    needs: Option<Need>,
    work: Work,
}

enum Need {
    /// A cargo subcommand.
    Tool(Tool),
    /// Anything that sets itself up, or says what is missing.
    Other(fn(&Path) -> Outcome),
}

enum Work {
    Cargo(&'static [&'static str]),
    Task(fn(&Path) -> Outcome),
    /// Makes the Python of the tests; those go without where that fails.
    Python,
}

struct Tool {
    /// `cargo <subcommand> --version` tells whether it is there.
    subcommand: &'static str,
    name: &'static str,
    /// What rustup calls it, if rustup has it.
    component: Option<&'static str>,
}

const STEPS: &[Step] = &[
    Step {
        name: "cargo fmt --all --check",
        needs: Some(Need::Tool(Tool { subcommand: "fmt", name: "rustfmt", component: Some("rustfmt") })),
        work: Work::Cargo(&["fmt", "--all", "--check"]),
    },
    Step {
        name: "cargo clippy --workspace --all-targets -- -D warnings",
        needs: Some(Need::Tool(Tool { subcommand: "clippy", name: "clippy", component: Some("clippy") })),
        work: Work::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Step { name: "cargo xtask check-layers", needs: None, work: Work::Task(|root| layers::run(root, &[])) },
    Step {
        name: "cargo xtask generate --check",
        needs: None,
        work: Work::Task(|root| generate::run(root, &["--check".into()])),
    },
    Step { name: "cargo xtask python", needs: None, work: Work::Python },
    // Unit, integration, example and documentation tests; the dev profile is optimised.
    // All that fails is shown at once.
    Step {
        name: "cargo test --workspace --no-fail-fast",
        needs: None,
        work: Work::Cargo(&["test", "--workspace", "--no-fail-fast"]),
    },
    Step {
        name: "cargo xtask fuzz --seconds 10",
        needs: None,
        work: Work::Task(|root| fuzz::run(root, &["--seconds".into(), "10".into()])),
    },
    Step {
        name: "cargo xtask browser",
        needs: Some(Need::Other(browser::set_up)),
        work: Work::Task(browser::test),
    },
    Step {
        name: "cargo xtask cvode",
        needs: Some(Need::Other(cvode::set_up)),
        work: Work::Task(cvode::test),
    },
    Step {
        // They are built as tests are: another profile would build every dependency once more.
        name: "cargo bench --workspace --no-run --profile dev",
        needs: None,
        work: Work::Cargo(&["bench", "--workspace", "--no-run", "--profile", "dev"]),
    },
    Step {
        name: "cargo deny check",
        needs: Some(Need::Tool(Tool { subcommand: "deny", name: "cargo-deny", component: None })),
        work: Work::Cargo(&["deny", "check"]),
    },
];

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    no_arguments(arguments)?;
    let begun = Instant::now();
    let mut skipped = Vec::new();
    let mut environment = Vec::new();
    for (index, step) in STEPS.iter().enumerate() {
        println!("\n[{}/{}] {}", index + 1, STEPS.len(), step.name);
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
        let step_begun = Instant::now();
        let outcome = match step.work {
            Work::Cargo(arguments) => {
                let mut cargo = command::cargo(root, arguments);
                cargo.envs(environment.iter().map(|(name, value): &(&str, PathBuf)| (name, value)));
                command::show(cargo)
            }
            Work::Task(task) => task(root),
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
        let seconds = step_begun.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("ok in {seconds:.1} s"),
            Err(message) => return Err(format!("{message}\nfailed after {seconds:.1} s: {}", step.name)),
        }
    }
    println!("\nall checks passed in {:.1} s", begun.elapsed().as_secs_f64());
    if !skipped.is_empty() {
        println!("skipped: {}", skipped.join(", "));
    }
    Ok(())
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
