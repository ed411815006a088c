//! `cosimo gate`: checks a certificate against limits, for pipelines.

use std::path::{Path, PathBuf};

use cosimo::certificate::{AccuracyCriterion, GateCheck, GateCriteria, gate, results, unchanged};
use cosimo::paths;
use cosimo::system::check_regular_file;
use serde::Serialize;
use serde_json::Value;

use crate::{exit, output, report};

const AFTER_HELP: &str = "\
The run must have come to its end, and its verdict must be `accurate`. `--max-error` replaces the verdict by a limit for
error bars, `--any-accuracy` drops it; all other criteria are checked in addition to it.";

/// Pass or fail a run by its certificate: exit 0 or 1, and every criterion with its limit and value
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Certificate written by `cosimo run --certificate`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Largest error bar of every signal, relative to its scale, instead of the verdict; unknown ones fail
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    max_error: Option<f64>,
    /// The same for the signals that match; `inf` excludes them. Overrides --max-error and the verdict; can be repeated
    #[arg(long = "signal", value_name = "PATTERN=X")]
    signals: Vec<String>,
    /// Let runs pass whose signals are not accurate, or not known to be
    #[arg(long, conflicts_with = "max_error")]
    any_accuracy: bool,
    /// Largest energy defect of every bond, relative to the energy it exchanged or, if that is smaller, to its energy scale
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    max_defect: Option<f64>,
    /// The same for one bond; `inf` excludes it. Overrides --max-defect; can be repeated
    #[arg(long = "bond", value_name = "NAME=X")]
    bonds: Vec<String>,
    /// Largest error indicator of any step; 1 is the tolerance
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    max_indicator: Option<f64>,
    /// Largest number of rejected steps
    #[arg(long, value_name = "N")]
    max_rejected: Option<u64>,
    /// Largest residual of an algebraic loop, relative to the peak of its unknown
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    max_loop_residual: Option<f64>,
    /// Fail if the run had warnings
    #[arg(long, alias = "no-remarks")]
    no_warnings: bool,
    /// Let failed and interrupted runs pass
    #[arg(long)]
    allow_incomplete: bool,
    /// Do not check the result files, only the certificate
    #[arg(long)]
    without_results: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let limits = limits(args)?;
    let (text, certificate) = read(&args.file)?;
    let mut checks = gate(&certificate, &limits).map_err(|problems| {
        for problem in &problems {
            report::error(&format!("`{}`: {problem}", args.file.display()), Some(&problem.hint()));
        }
        exit::BAD_INPUT
    })?;
    checks.push(unchanged(&text));
    if !args.without_results {
        checks.extend(results(&certificate, paths::folder(&args.file)));
    }
    let pass = checks.iter().all(|check| check.pass);
    if args.json {
        output::json(&GateResult { pass, criteria: &checks });
    } else {
        print(&checks, &args.file);
    }
    if pass { Ok(()) } else { Err(exit::FAILED) }
}

/// The criteria of the options, or an error for every bad option.
fn limits(args: &Args) -> Result<GateCriteria, u8> {
    let mut wrong = Vec::new();
    let numbers = [
        ("--max-error", args.max_error),
        ("--max-defect", args.max_defect),
        ("--max-indicator", args.max_indicator),
        ("--max-loop-residual", args.max_loop_residual),
    ];
    for (option, value) in numbers {
        if let Some(value) = value.filter(|value| !(value.is_finite() && *value >= 0.0)) {
            wrong.push(format!("`{option}` must be a finite number not below 0, got {value}"));
        }
    }
    let signals = named(("--signal", "PATTERN"), &args.signals, &mut wrong);
    let bonds = named(("--bond", "NAME"), &args.bonds, &mut wrong);
    if !wrong.is_empty() {
        wrong.iter().for_each(|message| report::error(message, None));
        return Err(exit::BAD_INPUT);
    }
    Ok(GateCriteria {
        accuracy: match (args.any_accuracy, args.max_error) {
            (true, _) => AccuracyCriterion::Any,
            (false, Some(most)) => AccuracyCriterion::MaxError(most),
            (false, None) => AccuracyCriterion::Verdict,
        },
        signals,
        defect: args.max_defect,
        bonds,
        indicator: args.max_indicator,
        rejected: args.max_rejected,
        loop_residual: args.max_loop_residual,
        no_warnings: args.no_warnings,
        incomplete: args.allow_incomplete,
    })
}

/// Limits of single signals or bonds.
fn named((option, what): (&str, &str), texts: &[String], wrong: &mut Vec<String>) -> Vec<(String, f64)> {
    let mut limits = Vec::new();
    for text in texts {
        let parts = text.rsplit_once('=').map(|(name, value)| (name.trim(), value.trim().parse::<f64>()));
        match parts {
            Some((name, Ok(value))) if !name.is_empty() && value >= 0.0 => {
                limits.push((name.to_owned(), value));
            }
            _ => {
                wrong.push(format!(
                    "`{option} {text}`: expected {what}=X with X a number not below 0, or inf"
                ));
            }
        }
    }
    limits
}

fn read(file: &Path) -> Result<(String, Value), u8> {
    let read = check_regular_file(file).and_then(|()| std::fs::read_to_string(file));
    let text = read.map_err(|cause| {
        let hint = if file.is_dir() {
            "this is a folder; give the certificate file in it"
        } else {
            "check the path"
        };
        report::no_file(format!("cannot read `{}`: {cause}", file.display()), Some(hint))
    })?;
    let certificate = serde_json::from_str(&text).map_err(|cause| {
        let hint =
            "it may be truncated, or contain NaN, which JSON does not allow; run again with `--certificate`";
        report::refused(
            format!("`{}` is not a certificate: it is not JSON: {cause}", file.display()),
            Some(hint),
        )
    })?;
    Ok((text, certificate))
}

fn print(checks: &[GateCheck], file: &Path) {
    for GateCheck { criterion, about, wanted, found, pass } in checks {
        let mark = if *pass { "pass" } else { "FAIL" };
        let about = if about.is_empty() { String::new() } else { format!(" of {about}") };
        println!("{mark}  {criterion}{about}: expected {wanted}, got {found}");
    }
    let failed = checks.iter().filter(|check| !check.pass).count();
    match failed {
        0 => println!("{}: passed ({} of {} criteria)", file.display(), checks.len(), checks.len()),
        _ => println!("{}: failed {failed} of {} criteria", file.display(), checks.len()),
    }
}

/// JSON output; the members are stable for scripts.
#[derive(Serialize)]
struct GateResult<'a> {
    pass: bool,
    criteria: &'a [GateCheck],
}
