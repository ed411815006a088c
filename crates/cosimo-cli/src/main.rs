//! The `cosimo` command. No numerics here: it reads, calls the engine, and prints. Data goes to stdout,
//! everything else to stderr.

#[macro_use]
mod output;

mod accuracy;
mod command;
mod load;
mod messages;
mod picture;
mod progress;
mod report;
mod signals;

use clap::{Parser, Subcommand};

/// Exit codes; listed in the README.
pub(crate) mod exit {
    /// The run started and failed.
    pub(crate) const FAILED: u8 = 1;
    /// The file or the command line is wrong; nothing was run. Also what clap uses.
    pub(crate) const BAD_INPUT: u8 = 2;
    /// A file could not be read or written.
    pub(crate) const NO_FILE: u8 = 3;
    /// The run ended, and its signals are not known to be as accurate as required.
    pub(crate) const NOT_ACCURATE: u8 = 4;
    // 128 and the number of a signal: see `signals`.
    /// The reader of the output closed the pipe, as `head` does.
    pub(crate) const BROKEN_PIPE: u8 = 141;
}

/// Co-simulation of FMUs with error estimates and an energy balance of the coupling
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// A command is a file in `command` and a line below, in the order of `--help`.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident: $module:ident),* $(,)?) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$attribute])* $name(Box<command::$module::Args>),)*
        }

        impl Command {
            fn run(&self) -> Result<(), u8> {
                match self {
                    $(Command::$name(args) => command::$module::run(args),)*
                }
            }
        }
    };
}

commands! {
    Run: run,
    Resume: resume,
    #[command(alias = "analyze")]
    Analyse: analyse,
    Bonds: bonds,
    Cache: cache,
    Check: check,
    Explain: explain,
    ExplainError: explain_error,
    Gate: gate,
    Compare: compare,
    Convert: convert,
    Info: info,
    Methods: methods,
    Models: models,
    New: new,
    Plot: plot,
    Recover: recover,
    Reference: reference,
    Report: report,
    Reproduce: reproduce,
    Schema: schema,
    Validate: validate,
    Verify: verify,
    Completions: completions,
}

fn main() {
    set_panic_hook();
    output::begin();
    // This is a program, not a library: trial executions of FMUs may run in child processes.
    cosimo::core::trial::use_isolation(&cosimo::fmi::CHILD_PROCESSES);
    cosimo::fmi::watch_process(cosimo::fmi::Rescue {
        ask: cosimo::record::ask_for_all_rows,
        is_done: cosimo::record::has_all_rows,
    });
    let cli = Cli::try_parse().unwrap_or_else(|stop| output::leave(output::clap(&stop)));
    let result = cli.command.run();
    output::leave(result.err().unwrap_or(0))
}

/// Parses the arguments of a `cosimo run`, without the program name. `None` where they are not valid.
pub(crate) fn run_args(arguments: &[String]) -> Option<command::run::Args> {
    let arguments = std::iter::once("cosimo").chain(arguments.iter().map(String::as_str));
    match Cli::try_parse_from(arguments).ok()?.command {
        Command::Run(args) => Some(*args),
        _ => None,
    }
}

/// A panic inside a simulator is reported by the engine with its name and time; the bare backtrace of it
/// would only hide that. A panic anywhere else is a bug of Cosimo and is shown as usual.
fn set_panic_hook() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !cosimo::engine::in_simulator() {
            usual(info);
        }
    }));
}
