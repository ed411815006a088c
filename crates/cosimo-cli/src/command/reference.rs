//! `cosimo reference`: writes the monolithic reference of a system that declares one, as a table of its ports. A table
//! that begins before the start can be used as a history.

use std::path::PathBuf;

use cosimo::core::recorder::{Columns, Table};
use cosimo::core::registry::format_of;
use cosimo::system::ReadOptions;
use cosimo::{record, reference};

use crate::load::{endings, read};
use crate::report;

/// Write the monolithic reference of a system, for comparison or as a start history
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// System file with a `[reference]`
    file: PathBuf,
    /// Interval between rows, in seconds
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    step: f64,
    /// First instant; a history begins before the start [default: the start of the file]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    from: Option<f64>,
    /// Last instant [default: the stop of the file]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    stop: Option<f64>,
    #[arg(help = format!("Result file; the ending selects the format: {}", endings(false)), long, value_name = "FILE")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let format = format_of(&registry.formats, &args.out)
        .map_err(|problem| report::refused(format!("`--out`: {problem}"), Some(&problem.hint())))?;
    let system = read(&args.file, &ReadOptions::default(), &registry)?.system;
    let from = args.from.unwrap_or(system.experiment.start);
    let stop = args.stop.unwrap_or(system.experiment.stop);
    if !(args.step.is_finite() && args.step > 0.0 && from.is_finite() && stop.is_finite() && stop >= from) {
        return Err(report::refused(
            "`--step` must be a finite number above 0, and `--from` not after `--stop`",
            None,
        ));
    }
    let count = ((stop - from) / args.step * (1.0 + 1e-12)).floor() as u64;
    let times: Vec<f64> = (0..=count).map(|n| from + n as f64 * args.step).collect();
    let solution = reference::solve(&system, &times, &registry).map_err(|message| {
        report::refused(message, Some("add `[reference]` with `model` and `ports` to the system file"))
    })?;
    record::write(&args.out, format, &table(times, &solution))
        .map_err(|error| report::no_file(error, None))?;
    println!("wrote {}: {} rows from {from} to {stop} s", args.out.display(), count + 1);
    Ok(())
}

fn table(times: Vec<f64>, solution: &reference::Solution) -> Table {
    let mut names = vec!["time".to_owned()];
    names.extend_from_slice(&solution.names);
    let mut units = vec![String::new(); names.len()];
    units[0] = "s".into();
    let mut values = vec![times];
    values.extend((0..solution.names.len()).map(|k| solution.rows.iter().map(|row| row[k]).collect()));
    Table { columns: Columns { names, units }, values }
}
