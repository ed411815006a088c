//! `cosimo verify`: the thorough form of the error bars of `cosimo run`. The system is run again with other steps, in another
//! sequence and as a monolithic reference; the energy defect is compared with these errors.

use std::sync::atomic::Ordering;

use cosimo::analysis::error_bars::{AccuracyVerdict, Repetition, StepCallback};
use cosimo::analysis::order::Truth;
use cosimo::analysis::verify::{
    MonolithicSource, SignalError, Verification, VerifyError, VerifyOptions, verify,
};
use cosimo::engine::Run;
use cosimo::json_schema::FileOutput;
use cosimo::reference;
use cosimo::ticker::Ticker;
use indicatif::MultiProgress;

use crate::accuracy;
use crate::command::run::accuracy as accuracy_value;
use crate::load::{LoadedSystem, Subject, load, not_negative};
use crate::progress::{Mode, Progress};
use crate::signals::Interruption;
use crate::{exit, output, report};

/// Why the energy balance can look good where a signal is not accurate.
const DEFECT_AND_ERROR: &str = "The energy defect is the energy that the coupling created or lost in the whole run.\n\
The error bar is the largest error of a signal at any instant. The verdict depends on error bars only.";
/// Most signals and connections listed without `--all`.
const SHOWN: usize = 12;

/// Estimate the error of every signal: rerun with other steps, in another sequence and monolithic
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Wanted error of signals, relative to their peak [default: that of the file, or 0.01]
    #[arg(long, value_name = "X", value_parser = accuracy_value)]
    accuracy: Option<f64>,
    /// Accepted error in addition, in the unit of the signal
    #[arg(long, value_name = "X", default_value_t = 1e-9, allow_hyphen_values = true)]
    absolute: f64,
    /// Judge only signals that match, e.g. `wheel.*`; can be repeated
    #[arg(long, value_name = "PATTERN")]
    vars: Vec<String>,
    /// List all signals, not only the worst
    #[arg(long)]
    all: bool,
    /// Progress display [default: bar]
    #[arg(long, value_enum)]
    progress: Option<Mode>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    not_negative(&[("--absolute", args.absolute)])?;
    let (registry, interruption) = (cosimo::registry(), Interruption::watch());
    let LoadedSystem { system, plan, .. } = load(&args.subject.what, &args.subject.changes, &registry)?;
    report::warnings(&plan.warnings);
    // Each run plans on its own thread: rollback is checked in a child process before other threads exist.
    Run::check_rollback(plan).map_err(|error| report::failure(&error.into()))?;
    let solve = |times: &[f64]| {
        reference::solve(&system, times, &registry).map(|solution| (solution.names, solution.rows))
    };
    let solve: Truth<'_> = &solve;
    let truth = match (&system.reference, &system.scenario) {
        (None, _) => Err("the system has no `[reference]`".to_owned()),
        (Some(_), Some(_)) => Err("the `[reference]` does not include the scenario".to_owned()),
        (Some(_), None) => Ok(solve),
    };
    let bars = MultiProgress::new();
    let (mode, span) =
        (args.progress.unwrap_or(Mode::Bar), (system.experiment.start, system.experiment.stop));
    let watch = |which: Repetition| -> StepCallback<'_> {
        let (stop, mut ticker) = (interruption.requested, Ticker::default());
        let mut progress = Some(Progress::among(&bars, which.text(), mode, span));
        Box::new(move |run: &Run| {
            if let Some((now, progress)) = ticker.look().zip(progress.as_mut()) {
                progress.observe(run, now);
            }
            // Some runs continue beyond the end, to reach a common instant.
            if let Some(progress) = progress.take_if(|_| run.finished()) {
                progress.finish(run, "finished");
            }
            !stop.load(Ordering::Relaxed)
        })
    };
    let options = VerifyOptions {
        accuracy: args.accuracy.unwrap_or_else(|| system.experiment.wanted_accuracy()),
        absolute: args.absolute,
        signals: &args.vars,
        watch: &watch,
    };
    let found = verify(&system, &registry, truth, &options);
    let _ = bars.clear(); // a bar left on the terminal does no harm
    let found = found.map_err(|error| refused(&error, &interruption))?;
    let name = args.subject.name();
    if args.json {
        output::json(&FileOutput { file: &name, found: &found });
    } else {
        print(&found, &name, args.all);
    }
    if found.verdict == AccuracyVerdict::Accurate { Ok(()) } else { Err(exit::NOT_ACCURATE) }
}

fn refused(error: &VerifyError, interruption: &Interruption) -> u8 {
    let (hint, code) = match error {
        VerifyError::TooShort(_) => ("run it longer, or with smaller steps", exit::BAD_INPUT),
        VerifyError::NoCompanions(_) => ("verification runs the system several times", exit::BAD_INPUT),
        VerifyError::NoSignal(_) => ("`--all` without `--vars` lists all signals", exit::BAD_INPUT),
        VerifyError::Failed(_) => ("there is nothing to verify", exit::FAILED),
        VerifyError::Interrupted => ("no verdict: all runs are needed for it", interruption.exit_code()),
    };
    report::coded(error.code(), &error.to_string(), Some(hint));
    code
}

fn print(found: &Verification, name: &str, all: bool) {
    let run = match found.delays {
        Some((shortest, longest)) if shortest < longest => {
            format!("lines with delays of {shortest:.3e} to {longest:.3e} s")
        }
        Some((delay, _)) => format!("lines with a delay of {delay:.3e} s"),
        None if found.controlled => {
            format!("{} steps of {:.3e} to {:.3e} s", found.steps, found.smallest_step, found.largest_step)
        }
        None => format!("{} steps of {:.3e} s", found.steps, found.largest_step),
    };
    println!("{name}: {run}; error bars {}", accuracy::basis(found.companions));
    if let Some(reason) = &found.reason {
        println!("note: {reason}");
    }
    match found.other_sequence {
        Some(sequence) => println!("other sequence: {sequence}"),
        None => println!("no other sequence: {}", found.no_other_sequence.as_deref().unwrap_or_default()),
    }
    match found.monolithic {
        Some(MonolithicSource::Reference) => {
            println!("monolithic reference: the reference model of the system")
        }
        Some(MonolithicSource::Strong) => println!("monolithic reference: all FMUs integrated together"),
        None => println!("no monolithic reference: {}", found.no_monolithic.as_deref().unwrap_or_default()),
    }
    println!("compared at all communication points from {} to {} s", found.from, found.to);
    let inaccurate =
        found.signals.iter().filter(|it| it.estimated.verdict != AccuracyVerdict::Accurate).count();
    let shown = if all { found.signals.len() } else { inaccurate.max(SHOWN) };
    accuracy::signals(found.signals.iter().map(|signal| &signal.estimated), shown);
    distances(found, shown);
    accuracy::connections(&found.connections, shown);
    for bond in &found.bonds {
        println!("\n{}", bond.words);
    }
    if !found.bonds.is_empty() {
        println!("\n{DEFECT_AND_ERROR}");
    }
    println!("\nverdict: {}", found.words);
}

/// How far signals are from the runs beside those with other steps.
fn distances(found: &Verification, shown: usize) {
    let known =
        |signal: &&SignalError| signal.from_monolithic.is_some() || signal.from_other_sequence.is_some();
    let rows: Vec<&SignalError> = found.signals.iter().take(shown).filter(known).collect();
    if rows.is_empty() {
        return;
    }
    let width = rows.iter().map(|signal| signal.estimated.name.chars().count()).max().unwrap_or(0).max(8);
    println!("\n{:<width$}  {:>15}  {:>19}", "distance", "from monolithic", "from other sequence");
    let maybe = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3e}"));
    for signal in rows {
        let (monolithic, sequence) = (maybe(signal.from_monolithic), maybe(signal.from_other_sequence));
        println!("{:<width$}  {monolithic:>15}  {sequence:>19}", signal.estimated.name);
    }
    let contradicted = found.signals.iter().filter(|signal| signal.contradicted(found.accuracy));
    let names: Vec<&str> = contradicted.map(|signal| signal.estimated.name.as_str()).collect();
    if !names.is_empty() {
        println!(
            "error bar and distance from the monolithic reference differ by more than a factor of 2, the larger is used: {}",
            names.join(", ")
        );
    }
}
