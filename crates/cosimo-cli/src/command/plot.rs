//! `cosimo plot`: draws result files in the terminal or as a picture.

use std::path::{Path, PathBuf};

use console::Term;
use cosimo::plot::{Figure, Paper};
use cosimo::plot_results::{PlotSelection, PlotSource, overlay};

use crate::load::{endings, table};
use crate::{output, picture, report};

/// Columns where the width of the terminal is not known.
const COLUMNS: usize = 80;
/// Lines of curves: of one panel, and of each of several.
const ROWS: (usize, usize) = (18, 10);

/// Plot result files in the terminal, or as SVG or PNG
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(required = true, value_name = "FILE",
          help = format!("Result files ({}); several are overlaid", endings(false)))]
    files: Vec<PathBuf>,
    /// Signals that match, e.g. `wheel.*`; can be repeated [default: the first eight]
    #[arg(long, value_name = "PATTERN")]
    vars: Vec<String>,
    /// First instant, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    from: Option<f64>,
    /// Last instant, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    to: Option<f64>,
    /// Of two files, also draw the second minus the first
    #[arg(long)]
    difference: bool,
    /// Write to a file instead of the terminal: .svg or .png
    #[arg(short, long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    check(args)?;
    let mut sources = Vec::new();
    for (file, name) in args.files.iter().zip(names(&args.files)) {
        sources.push(PlotSource { name, table: table(file)? });
    }
    let selection =
        PlotSelection { patterns: &args.vars, from: args.from, to: args.to, difference: args.difference };
    let seen = overlay(&sources, &selection).map_err(|error| report::refused(&error, error.hint()))?;
    for warning in &seen.warnings {
        eprintln!("warning: {warning}");
    }
    let title = sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ");
    let figure = Figure::new(title, seen.panels);
    match &args.out {
        Some(out) => picture::write(&figure, out),
        None => {
            output::styled(figure.text(paper(figure.panels.len())).trim_end_matches('\n'));
            Ok(())
        }
    }
}

/// Checks the options before any file is read.
fn check(args: &Args) -> Result<(), u8> {
    for (option, value) in [("--from", args.from), ("--to", args.to)] {
        if let Some(value) = value.filter(|value| !value.is_finite()) {
            return Err(report::refused(format!("`{option}` must be a finite number, got {value}"), None));
        }
    }
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        return Err(report::refused(format!("`--from {from}` must be before `--to {to}`"), None));
    }
    let Some(out) = &args.out else { return Ok(()) };
    picture::drawable(out)?;
    if args.files.iter().any(|file| cosimo::paths::same(out, file)) {
        return Err(report::refused(
            format!("`--out {}` would overwrite a result file", out.display()),
            None,
        ));
    }
    Ok(())
}

/// Names of the files alone where they differ, else their paths.
fn names(files: &[PathBuf]) -> Vec<String> {
    let short = |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned());
    let all: Vec<Option<String>> = files.iter().map(short).collect();
    let alone = |k: usize| all.iter().filter(|name| **name == all[k]).count() == 1;
    let name = |(k, file): (usize, &PathBuf)| match &all[k] {
        Some(name) if alone(k) => name.clone(),
        _ => Path::new(file).display().to_string(),
    };
    files.iter().enumerate().map(name).collect()
}

/// As wide as the terminal; colours there only.
fn paper(panels: usize) -> Paper {
    let columns = Term::stdout().size_checked().map_or(COLUMNS, |(_, columns)| usize::from(columns));
    let rows = if panels > 1 { ROWS.1 } else { ROWS.0 };
    Paper { columns, rows, colour: output::is_terminal() && output::colours() }
}
