//! `cosimo report`: writes the HTML report of an existing result file.

use std::path::PathBuf;

use cosimo::observers::write_results_report;
use cosimo::report::Results;

use crate::load::{endings, table};
use crate::report;

/// Write a report of a result file: one HTML file with its curves, and the energy ledger if recorded
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(help = format!("A result file: {}", endings(false)))]
    results: PathBuf,
    /// The HTML file [default: beside the results, with the ending .html]
    #[arg(short, long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let file = &args.results;
    let results = Results::of(&table(file)?)
        .map_err(|cause| report::refused(format!("cannot report `{}`: {cause}", file.display()), None))?;
    let out = args.out.clone().unwrap_or_else(|| file.with_extension("html"));
    if cosimo::paths::same(&out, file) {
        return Err(report::refused(format!("`--out {}` would overwrite the results", out.display()), None));
    }
    write_results_report(file, &results, &out).map_err(|error| report::failure(&error))?;
    println!("report: {}", out.display());
    Ok(())
}
