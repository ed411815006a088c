//! `cosimo completions`: what a shell needs to complete the command line.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::Cli;

/// Print a script that lets a shell complete commands and options
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell; its manual says where such scripts go
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    // Through `print!`, so that a reader who stops early is no panic.
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "cosimo", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    Ok(())
}
