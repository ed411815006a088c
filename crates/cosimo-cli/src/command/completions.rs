//! `cosimo completions`: completion scripts for shells.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::Cli;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell; its manual describes where to put the script
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    // Through `print!`, so that a closed pipe is not a panic.
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "cosimo", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    Ok(())
}
