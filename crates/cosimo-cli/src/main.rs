//! The `cosimo` command. No numerics here: it reads, asks the engine, and prints. Data goes to stdout,
//! everything else to stderr.

#[macro_use]
mod output;

mod command;
mod load;
mod messages;
mod picture;
mod progress;
mod report;
mod signals;
mod ticker;

use clap::{Parser, Subcommand};

/// What the process ends with; printed in the README.
pub(crate) mod exit {
    /// The run started and failed.
    pub(crate) const FAILED: u8 = 1;
    /// The file or the command line is wrong; nothing was run. Also what clap uses.
    pub(crate) const BAD_INPUT: u8 = 2;
    /// A file could not be read or written.
    pub(crate) const NO_FILE: u8 = 3;
    // 128 and the number of a signal: see `signals`.
    /// Whoever read the output stopped reading, as `head` does.
    pub(crate) const NOBODY_LISTENS: u8 = 141;
}

/// Co-simulation that can tell you whether to believe the result.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<command::run::Args>),
    Resume(Box<command::resume::Args>),
    #[command(alias = "analyze")]
    Analyse(command::analyse::Args),
    Bonds(command::bonds::Args),
    Cache(command::cache::Args),
    Check(command::check::Args),
    Explain(command::explain::Args),
    ExplainError(command::explain_error::Args),
    Gate(command::gate::Args),
    Compare(command::compare::Args),
    Convert(command::convert::Args),
    Info(command::info::Args),
    Methods(command::methods::Args),
    Models(command::models::Args),
    New(command::new::Args),
    Plot(command::plot::Args),
    Recover(command::recover::Args),
    Reference(command::reference::Args),
    Report(command::report::Args),
    Reproduce(command::reproduce::Args),
    Schema(command::schema::Args),
    Validate(command::validate::Args),
    Verify(Box<command::verify::Args>),
    Completions(command::completions::Args),
}

fn main() {
    set_panic_hook();
    output::begin();
    // This is a program: it may make child processes for what is executed only to learn something.
    cosimo::core::trial::use_isolation(&cosimo::fmi::CHILD_PROCESSES);
    cosimo::fmi::watch_process(cosimo::fmi::Rescue {
        ask: cosimo::record::ask_for_all_rows,
        is_done: cosimo::record::has_all_rows,
    });
    let cli = Cli::try_parse().unwrap_or_else(|stop| output::leave(output::clap(&stop)));
    let result = match cli.command {
        Command::Run(args) => command::run::run(&args),
        Command::Analyse(args) => command::analyse::run(&args),
        Command::Bonds(args) => command::bonds::run(&args),
        Command::Cache(args) => command::cache::run(&args),
        Command::Check(args) => command::check::run(&args),
        Command::Resume(args) => command::resume::run(&args),
        Command::Explain(args) => command::explain::run(&args),
        Command::ExplainError(args) => command::explain_error::run(&args),
        Command::Gate(args) => command::gate::run(&args),
        Command::Compare(args) => command::compare::run(&args),
        Command::Convert(args) => command::convert::run(&args),
        Command::Info(args) => command::info::run(&args),
        Command::Methods(args) => command::methods::run(&args),
        Command::Models(args) => command::models::run(&args),
        Command::New(args) => command::new::run(&args),
        Command::Plot(args) => command::plot::run(&args),
        Command::Recover(args) => command::recover::run(&args),
        Command::Reference(args) => command::reference::run(&args),
        Command::Report(args) => command::report::run(&args),
        Command::Reproduce(args) => command::reproduce::run(&args),
        Command::Schema(args) => command::schema::run(&args),
        Command::Validate(args) => command::validate::run(&args),
        Command::Verify(args) => command::verify::run(&args),
        Command::Completions(args) => command::completions::run(&args),
    };
    output::leave(result.err().unwrap_or(0))
}

/// The options of a `cosimo run` as they were typed, without the program. `None` where they are none.
pub(crate) fn run_args(words: &[String]) -> Option<command::run::Args> {
    let words = std::iter::once("cosimo").chain(words.iter().map(String::as_str));
    match Cli::try_parse_from(words).ok()?.command {
        Command::Run(args) => Some(*args),
        _ => None,
    }
}

/// A panic inside a simulator is reported by the engine with its name and time; the bare backtrace of it
/// would only hide that. A panic anywhere else is our bug and shows as usual.
fn set_panic_hook() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !cosimo::engine::in_simulator() {
            usual(info);
        }
    }));
}
