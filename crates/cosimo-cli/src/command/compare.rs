//! `cosimo compare`: compares two result files, for people and for scripts.

use std::path::{Path, PathBuf};

use cosimo::record::compare::{Comparison, Difference, Tube, compare};

use crate::load::{endings, not_negative, table};
use crate::{exit, output, report};

/// Most signals listed without `--all`.
const SHOWN: usize = 10;

/// Compare two result files: every signal of the second must lie in a tube around that of the first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(help = format!("The reference: {}", endings(false)))]
    reference: PathBuf,
    /// The file to compare with it; rows may be at other instants
    found: PathBuf,
    /// Allowed difference, relative to the peak of the reference
    #[arg(long, value_name = "X", default_value_t = 1e-3, allow_hyphen_values = true)]
    relative: f64,
    /// Allowed difference in addition, in the unit of the signal
    #[arg(long, value_name = "X", default_value_t = 1e-9, allow_hyphen_values = true)]
    absolute: f64,
    /// Allowed shift in time, in seconds
    #[arg(long, value_name = "T", default_value_t = 0.0, allow_hyphen_values = true)]
    time: f64,
    /// Only signals that match, e.g. `wheel.*`; can be repeated
    #[arg(long, value_name = "PATTERN")]
    vars: Vec<String>,
    /// List all signals, not only the worst
    #[arg(long)]
    all: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let Args { relative, absolute, time, .. } = *args;
    not_negative(&[("--relative", relative), ("--absolute", absolute), ("--time", time)])?;
    let read = |file: &Path| table(file).map_err(|_| exit::NO_FILE);
    let (reference, found) = (read(&args.reference)?, read(&args.found)?);
    let tube = Tube { relative, absolute, time };
    let comparison = compare(&reference, &found, tube, &args.vars).map_err(|error| {
        let message = format!("`{}` and `{}`: {error}", args.reference.display(), args.found.display());
        report::refused(message, None)
    })?;
    if args.json {
        output::json(&comparison);
    } else {
        print(&comparison, args);
    }
    if comparison.agrees { Ok(()) } else { Err(exit::FAILED) }
}

fn print(comparison: &Comparison, args: &Args) {
    let Comparison { signals, from, to, rows, .. } = comparison;
    let outside = signals.iter().filter(|signal| !signal.agrees).count();
    let shown = if args.all { signals.len() } else { outside.clamp(1, SHOWN) };
    println!(
        "{:<40} {:>10} {:>12} {:>14} {:>14} {:>12}",
        "signal", "of allowed", "at s", "reference", "compared", "largest diff"
    );
    for Difference { name, excess, time, reference, found, largest, .. } in
        &signals[..shown.min(signals.len())]
    {
        println!(
            "{name:<40} {excess:>10.3e} {time:>12.6} {reference:>14.6e} {found:>14.6e} {largest:>12.3e}"
        );
    }
    if outside > shown {
        println!("and {} more; `--all` lists them", outside - shown);
    }
    for (names, whose) in
        [(&comparison.only_in_reference, &args.reference), (&comparison.only_in_found, &args.found)]
    {
        if !names.is_empty() {
            let first: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
            let more = match names.len() - first.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            println!("only in {}: {}{more}", whose.display(), first.join(", "));
        }
    }
    let compared = format!("compared at {rows} rows from {from} to {to} s");
    match outside {
        0 => println!("all {} signals agree, {compared}", signals.len()),
        _ => println!("outside of their tube: {outside} of {} signals, {compared}", signals.len()),
    }
}
