//! `cosimo verify`: estimates the error of every output. The system is run again with smaller steps, in another sequence
//! and as a monolithic reference; the energy defect is compared with these errors.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use cosimo::analysis::order::Truth;
use cosimo::analysis::verify::{
    Basis, MonolithicSource, SignalError, StepCallback, Verification, VerifyError, VerifyOptions, percent,
    verify,
};
use cosimo::engine::Run;
use cosimo::json_schema::FileOutput;
use cosimo::reference;
use cosimo::ticker::Ticker;
use indicatif::MultiProgress;

use crate::load::{LoadedSystem, Parts, SystemOverrides, TimeSpan, load, not_negative};
use crate::progress::{Mode, Progress};
use crate::signals::Interruption;
use crate::{exit, output, report};

/// Why `cosimo run` can call a defect small where this command finds a signal inaccurate.
const DEFECT_AND_ERROR: &str = "The energy defect, as in `cosimo run`, is the energy that the coupling created or lost in the whole run.\n\
The error bar is the largest error of a signal at any instant. The verdict depends on error bars only.";
/// Most signals listed without `--all`.
const SHOWN: usize = 12;

/// Estimate the error of every signal: rerun with smaller steps, in another sequence and monolithic
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A system (.toml, .ssp, .ssd, OspSystemStructure.xml), or a list of simulators: `a.fmu`, `left=a.fmu`, `native:ring/rotor`
    #[arg(required = true, value_name = "FILE")]
    what: Vec<String>,
    /// Largest accepted error, relative to the signal's peak (not the tolerance of step control)
    #[arg(long, value_name = "X", default_value_t = 0.01, allow_hyphen_values = true)]
    tolerance: f64,
    /// Accepted error in addition, in the unit of the signal
    #[arg(long, value_name = "X", default_value_t = 1e-9, allow_hyphen_values = true)]
    absolute: f64,
    /// Judge only signals that match, e.g. `wheel.*`; can be repeated
    #[arg(long, value_name = "PATTERN")]
    vars: Vec<String>,
    /// List all signals, not only the worst
    #[arg(long)]
    all: bool,
    /// Number of concurrent runs; results do not depend on it [default: number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: Option<u32>,
    #[command(flatten)]
    span: TimeSpan,
    /// Macro step size in seconds; the initial one if steps are controlled
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    step: Option<f64>,
    /// Solver of FMUs for model exchange: bdf, dormand-prince, bogacki-shampine or, where built in, cvode
    #[arg(long, value_name = "NAME")]
    solver: Option<String>,
    #[command(flatten)]
    parts: Parts,
    /// Scenario: a file of timed and conditional actions, as for `cosimo run`
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Table of input values over time; columns are matched to inputs by name
    #[arg(long, value_name = "FILE")]
    input: Option<String>,
    /// A method: axis=name, or axis={ name = { option = value } } as in the file's [method]; `cosimo methods` lists all axes
    #[arg(long = "method", value_name = "AXIS=NAME")]
    methods: Vec<String>,
    /// Inputs to judge in addition to all outputs, with * and ?
    #[arg(long = "record", value_name = "PATTERN", allow_hyphen_values = true)]
    record: Vec<String>,
    /// Progress display [default: bar]
    #[arg(long, value_enum)]
    progress: Option<Mode>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    fn changes(&self) -> SystemOverrides {
        SystemOverrides {
            span: self.span.clone(),
            step: self.step,
            solver: self.solver.clone(),
            parts: self.parts.clone(),
            scenario: self.scenario.clone(),
            input: self.input.clone(),
            methods: self.methods.clone(),
            record: self.record.clone(),
            ..SystemOverrides::default()
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    not_negative(&[("--tolerance", args.tolerance), ("--absolute", args.absolute)])?;
    let (registry, interruption) = (cosimo::registry(), Interruption::watch());
    let LoadedSystem { system, plan, .. } = load(&args.what, &args.changes(), &registry)?;
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
    let watch = |which: cosimo::analysis::verify::Rerun| -> StepCallback {
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
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = VerifyOptions {
        tolerance: args.tolerance,
        absolute: args.absolute,
        signals: &args.vars,
        jobs: args.jobs.map_or(cores, |jobs| jobs as usize),
        watch: &watch,
    };
    let found = verify(&system, &registry, truth, &options);
    let _ = bars.clear(); // a bar left on the terminal does no harm
    let found = found.map_err(|error| refused(&error, &interruption))?;
    let name = args.what.join(" ");
    if args.json {
        output::json(&FileOutput { file: &name, found: &found });
    } else {
        print(&found, &name, args.all);
    }
    if found.believed { Ok(()) } else { Err(exit::FAILED) }
}

fn refused(error: &VerifyError, interruption: &Interruption) -> u8 {
    let (hint, code) = match error {
        VerifyError::TooShort(_) => (Some("run it longer, or with smaller steps"), exit::BAD_INPUT),
        VerifyError::Inside(..) => {
            (Some("verify it with a macro step of at least four internal steps"), exit::BAD_INPUT)
        }
        VerifyError::Refused(..) => (Some("verification needs runs with smaller steps"), exit::BAD_INPUT),
        VerifyError::NoSignal(_) => (Some("`--all` without `--vars` lists all signals"), exit::BAD_INPUT),
        VerifyError::Failed(..) => {
            (Some("the result of a system that fails with smaller steps is not reliable"), exit::FAILED)
        }
        VerifyError::Interrupted => {
            (Some("no verdict: all runs are needed for it"), interruption.exit_code())
        }
    };
    report::coded(error.code(), &error.to_string(), hint);
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
    println!("{name}: {run}; rerun with half and a quarter of that");
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
    println!("compared at {} common instants from {} to {} s\n", found.instants, found.from, found.to);
    signals(found, all);
    for bond in &found.bonds {
        println!("\n{}", bond.words);
    }
    if !found.bonds.is_empty() {
        println!("\n{DEFECT_AND_ERROR}");
    }
    println!("\nverdict: {}", found.words);
}

fn signals(found: &Verification, all: bool) {
    let inaccurate = found.signals.iter().filter(|signal| !signal.believed).count();
    let shown = if all { found.signals.len() } else { inaccurate.max(SHOWN).min(found.signals.len()) };
    let name = |signal: &SignalError| match signal.unit.as_str() {
        "" | "1" => signal.name.clone(),
        unit => format!("{} [{unit}]", signal.name),
    };
    let names: Vec<String> = found.signals[..shown].iter().map(name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(6);
    println!(
        "{:<width$}  {:>10}  {:>6}  {:>10}  {:>10}  {:>14}  {:>13}",
        "signal", "peak", "order", "error bar", "of peak", "from monolithic", "from sequence"
    );
    let maybe = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3e}"));
    for (name, signal) in names.iter().zip(&found.signals) {
        let order = match (signal.basis, signal.order) {
            (Basis::Exact, _) => "exact".to_owned(),
            (Basis::NoOrder, _) => "none".to_owned(),
            (Basis::Richardson, Some(order)) => format!("{order:.2}"),
            (Basis::Richardson, None) => "high".to_owned(),
        };
        let mark = if signal.believed { "" } else { "  above tolerance" };
        println!(
            "{name:<width$}  {:>10.3e}  {order:>6}  {:>10.3e}  {:>10}  {:>14}  {:>13}{mark}",
            signal.largest,
            signal.error_bar,
            share(signal),
            maybe(signal.from_monolithic),
            maybe(signal.from_other_sequence)
        );
    }
    if shown < found.signals.len() {
        println!("and {} more, all within tolerance; `--all` lists them", found.signals.len() - shown);
    }
    let named = |which: fn(&SignalError) -> bool| -> String {
        let names: Vec<&str> =
            found.signals.iter().filter(|signal| which(signal)).map(|signal| signal.name.as_str()).collect();
        names.join(", ")
    };
    let without_order = named(|signal| signal.basis == Basis::NoOrder && signal.differences[0] > 0.0);
    if !without_order.is_empty() {
        println!(
            "no order: differences do not decrease with the step, so the error bar is three times the largest ({without_order})"
        );
    }
    let contradicted = named(SignalError::contradicted);
    if !contradicted.is_empty() {
        println!(
            "error bar and distance from the monolithic reference differ by more than a factor of 2, the larger is used: {contradicted}"
        );
    }
}

fn share(signal: &SignalError) -> String {
    if signal.error_bar == 0.0 { "0".into() } else { percent(signal.error_bar / signal.largest) }
}
