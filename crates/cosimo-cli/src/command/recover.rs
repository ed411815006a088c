//! `cosimo recover`: completes result files of a process that was killed or crashed.

use std::path::PathBuf;

use cosimo::record::{Recovery, TableError, recover};

use crate::load::endings;
use crate::{exit, report};

/// Recover the last rows of a run that was killed or crashed; every command that reads result files does so, too
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(required = true, value_name = "FILE", help = format!("Result files: {}", endings(false)))]
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let mut code = Ok(());
    for file in &args.files {
        match recover(file, &cosimo::registry().formats) {
            Ok(Recovery::Whole) => println!("{}: nothing to recover", file.display()),
            Ok(Recovery::Rows { rows, recovered }) => {
                println!("{}: {rows} rows, {recovered} of them recovered", file.display());
            }
            Ok(Recovery::Growing) => {
                let message = format!("`{}` is being written by a run", file.display());
                report::error(&message, Some("wait until the run has ended"));
                code = Err(exit::FAILED);
            }
            Err(error) => {
                report::error(&error.to_string(), Some(&error.hint()));
                let unreadable = matches!(error, TableError::Unreadable { .. });
                code = Err(if unreadable { exit::NO_FILE } else { exit::BAD_INPUT });
            }
        }
    }
    code
}
