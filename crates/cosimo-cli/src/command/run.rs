//! `cosimo run`: runs a system, shows progress, and prints a summary.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use cosimo::analysis::error_bars::{AccuracyVerdict, CompanionSet, ErrorBars};
use cosimo::analysis::forecast::three_digits;
use cosimo::core::method::IdentificationStatus;
use cosimo::core::registry::number_text;
use cosimo::engine::lines::{EndTotals, IslandTotals, LineNetworkTotals};
use cosimo::engine::{BondSummary, EndRequest, MonolithicReference, OwnSteps, ReferenceDeviation, Summary};
use cosimo::observers::CheckpointSchedule;
use cosimo::system::Experiment;
use cosimo::{Outcome, Simulation};

use crate::accuracy;
use crate::load::{Subject, endings};
use crate::progress::{Mode, ProgressObserver, watch_repetitions};
use crate::signals::Interruption;
use crate::{exit, messages, report};

/// Run a system and show the energy balance of its coupling
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) subject: Subject,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// Options of a run that do not change its numbers.
#[derive(Debug, clap::Args)]
pub(crate) struct RunOptions {
    #[arg(long, value_name = "FILE",
          help = format!("Result file; the ending selects the format: {}; can be repeated", endings(true)))]
    out: Vec<PathBuf>,
    /// Write the summary of the run as JSON
    #[arg(long, value_name = "FILE")]
    summary_json: Option<PathBuf>,
    /// Log every FMI call with arguments, results and times
    #[arg(long, value_name = "FILE")]
    log_fmi_calls: Option<PathBuf>,
    /// Write a report: one HTML file with verdict, energy ledger, plan and curves of the recorded variables
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write a certificate for `cosimo gate` and archives: energy defects, methods, steps, loops, warnings, hashes
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Wanted error of signals, relative to their peak, which the verdict is about [default: that of the file, or 0.01]
    #[arg(long, value_name = "X", value_parser = accuracy)]
    accuracy: Option<f64>,
    /// Estimate errors by runs with other steps: beside the run with larger ones (coarse), and again with smaller ones (fine);
    /// auto: fine where coarse leaves a question and it takes less than a minute [default: auto]
    #[arg(long, value_name = "HOW", value_enum)]
    error_bars: Option<ErrorBarsOption>,
    /// Exit with code 4 unless the verdict is this
    #[arg(long, value_name = "VERDICT", value_enum)]
    require: Option<Requirement>,
    /// Number of threads; results are bit-identical for any number [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Save checkpoints for `cosimo resume`, on Ctrl-C and, comma-separated: every=10s (wall time), simulated=0.5 (simulated
    /// seconds), end, or interrupt (on Ctrl-C only); file=NAME sets the file
    #[arg(long, value_name = "WHEN")]
    checkpoint: Option<CheckpointSchedule>,
    /// Run in real time, or FACTOR times as fast; results do not change
    #[arg(long, value_name = "FACTOR", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = factor)]
    real_time: Option<f64>,
    /// Progress display [default: bar]
    #[arg(long, value_enum)]
    progress: Option<Mode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ErrorBarsOption {
    Auto,
    Coarse,
    Fine,
    Off,
}

impl From<ErrorBarsOption> for ErrorBars {
    fn from(option: ErrorBarsOption) -> ErrorBars {
        match option {
            ErrorBarsOption::Auto => ErrorBars::Auto,
            ErrorBarsOption::Coarse => ErrorBars::Coarse,
            ErrorBarsOption::Fine => ErrorBars::Fine,
            ErrorBarsOption::Off => ErrorBars::Off,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Requirement {
    Accurate,
}

pub(crate) fn accuracy(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| share.is_finite() && *share > 0.0);
    share.ok_or_else(|| "expected a number above 0, such as 0.01 for 1 %".into())
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
    factor.ok_or_else(|| "expected a number above 0".into())
}

impl RunOptions {
    /// With absolute paths.
    pub(crate) fn absolute(&self) -> RunOptions {
        RunOptions {
            out: self.out.iter().map(absolute).collect(),
            summary_json: self.summary_json.as_ref().map(absolute),
            log_fmi_calls: self.log_fmi_calls.as_ref().map(absolute),
            report: self.report.as_ref().map(absolute),
            certificate: self.certificate.as_ref().map(absolute),
            checkpoint: self.checkpoint.clone().map(|schedule| schedule.at(absolute)),
            ..*self
        }
    }

    /// All files to be written, with their options.
    pub(crate) fn output_files(&self, what: &[String]) -> Vec<(&'static str, PathBuf)> {
        let mut files: Vec<(&str, PathBuf)> = self.out.iter().map(|file| ("--out", file.clone())).collect();
        let others = [
            ("--summary-json", &self.summary_json),
            ("--log-fmi-calls", &self.log_fmi_calls),
            ("--report", &self.report),
            ("--certificate", &self.certificate),
        ];
        files.extend(others.into_iter().filter_map(|(option, file)| Some((option, file.clone()?))));
        files.extend(self.checkpoint.iter().map(|schedule| ("--checkpoint", schedule.path(what))));
        files
    }

    /// Options of a resumed run over those it was started with. Its result files come first; those that are named again
    /// are not added twice.
    pub(crate) fn after(self, first: RunOptions, results: Vec<PathBuf>) -> RunOptions {
        let known: Vec<PathBuf> = results.iter().map(absolute).collect();
        let others = self.out.into_iter().filter(|file| !known.contains(file));
        RunOptions {
            out: results.into_iter().chain(others).collect(),
            summary_json: self.summary_json.or(first.summary_json),
            log_fmi_calls: self.log_fmi_calls, // the one of the first part would be overwritten
            report: self.report.or(first.report),
            certificate: self.certificate.or(first.certificate),
            accuracy: self.accuracy.or(first.accuracy),
            error_bars: self.error_bars.or(first.error_bars),
            require: self.require.or(first.require),
            threads: self.threads.or(first.threads),
            checkpoint: self.checkpoint.or(first.checkpoint),
            real_time: self.real_time.or(first.real_time),
            progress: self.progress.or(first.progress),
        }
    }
}

fn absolute(path: &PathBuf) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.clone())
}

/// A run from the start.
pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let interruption = Interruption::watch();
    execute(args, configure(args, &arguments)?, interruption)
}

/// A simulation configured by the options.
pub(crate) fn configure<'o>(args: &Args, arguments: &[String]) -> Result<Simulation<'o>, u8> {
    let opened =
        Simulation::open_with(&args.subject.what, args.subject.changes.options(), cosimo::registry());
    let mut simulation = opened.map_err(|error| report::failure(&error))?.command_line(arguments);
    let options = &args.options;
    simulation = simulation.threads(options.threads.unwrap_or(1) as usize);
    simulation = options.out.iter().fold(simulation, Simulation::record);
    if let Some(file) = &options.log_fmi_calls {
        simulation = simulation.log_fmi_calls(file);
    }
    if let Some(schedule) = &options.checkpoint {
        simulation = simulation.checkpoint(schedule.clone());
    }
    if let Some(file) = &options.summary_json {
        simulation = simulation.summary_json(file);
    }
    if let Some(file) = &options.report {
        simulation = simulation.report(file);
    }
    if let Some(file) = &options.certificate {
        simulation = simulation.certificate(file);
    }
    let mode = options.progress.unwrap_or(Mode::Bar);
    simulation = simulation.observe(ProgressObserver::new(mode)).on_repetition(watch_repetitions(mode));
    simulation = simulation.error_bars(options.error_bars.map_or(ErrorBars::Auto, ErrorBars::from));
    if let Some(wanted) = options.accuracy {
        simulation = simulation.accuracy(wanted);
    }
    Ok(match options.real_time {
        Some(factor) => simulation.real_time(factor),
        None => simulation,
    })
}

/// Runs it and prints the summary; the exit code is the error.
pub(crate) fn execute(args: &Args, simulation: Simulation<'_>, interruption: Interruption) -> Result<(), u8> {
    let simulation = simulation.interrupted_by(interruption.requested).on_warning(report::warnings);
    let run = simulation.start_unattended().map_err(|error| report::failure(&error))?;
    let (experiment, resumed) = (run.inputs().system.experiment.clone(), run.inputs().resumed.clone());
    let outcome = run.complete();
    let failed = outcome.failure.as_ref().map(report::failure);
    let options = &args.options;
    let results = options.out.iter().map(|file| ("results", file.as_path()));
    let report = options.report.iter().map(|file| ("report", file.as_path()));
    let certificate = options.certificate.iter().map(|file| ("certificate", file.as_path()));
    let checkpoint = outcome.checkpoint.iter().map(|file| ("checkpoint", file.as_path()));
    if let Some(resumed) = &resumed {
        let (from, file) = (outcome.from, &resumed.file);
        println!("resumed at t = {from} s from {file}; the summary covers the whole run");
    }
    print(&outcome, &experiment, results.chain(report).chain(certificate).chain(checkpoint));
    if let Some(statistics) = &outcome.real_time {
        println!("{statistics}");
    }
    energies(&outcome.summary);
    accuracy::print(&outcome.accuracy, SHOWN_SIGNALS);
    reference_errors(&outcome.compared(), &outcome.summary);
    messages::print();
    verdict(&outcome, experiment.stop);
    let unwritten: Vec<u8> = outcome.unwritten.iter().map(report::failure).collect();
    match unwritten.first().copied().or(failed) {
        Some(code) => Err(code),
        None if outcome.summary.finished => match options.require {
            Some(Requirement::Accurate) if outcome.accuracy.verdict != AccuracyVerdict::Accurate => {
                Err(exit::NOT_ACCURATE)
            }
            _ => Ok(()),
        },
        None => {
            eprintln!("interrupted at t = {} s; result files are complete up to there", outcome.summary.time);
            if let Some(file) = &outcome.checkpoint {
                eprintln!("resume with `cosimo resume {}`", file.display());
            }
            Err(interruption.exit_code())
        }
    }
}

/// Signal errors against the monolithic reference, if there is one. The energy defect does not bound them.
fn reference_errors(monolithic: &MonolithicReference<'_>, summary: &Summary) {
    if monolithic.ports.is_empty() {
        return;
    }
    println!("\nagainst the monolithic reference          largest error   relative to peak   at t");
    if !monolithic.about.is_empty() {
        println!("  ({})", monolithic.about);
    }
    for ReferenceDeviation { name, unit, error, share, at } in monolithic.ports {
        let name = if unit.is_empty() || unit == "1" { name.clone() } else { format!("{name} [{unit}]") };
        println!("  {name:<34} {error:>14.3e}   {:>14.4} %   {} s", 100.0 * share, three_digits(*at));
    }
    if let Some(text) = monolithic.beside(&summary.bonds) {
        println!("{text}");
    }
}

/// The state of a correction that identifies models of the simulators.
fn identification(learned: &IdentificationStatus) -> String {
    let IdentificationStatus { wanted, windows, renewed, age, closed, odd, .. } = learned;
    let Some(first) = learned.first else {
        let why = if *odd > 0 {
            "outputs are predicted, but not by a model with continuous states: try smaller steps"
        } else {
            "identification needs a constant step size, held inputs that change, and nearly linear responses"
        };
        return format!("none of the {wanted} simulators could be modelled well enough; {why}");
    };
    let given_up = if *closed > 0 { format!(", discarded {closed} times") } else { String::new() };
    let now = match (learned.now, learned.since) {
        (now, Some(since)) if since > first => {
            format!("now for {now} of {wanted} simulators, since t = {since} s")
        }
        (0, _) => "none at the end".into(),
        (now, _) => format!("for {now} of {wanted} simulators at the end"),
    };
    format!(
        "models in use from t = {first} s for {windows} steps, {now}; changed {renewed} times, last {age} steps ago\
         {given_up}{}",
        prediction_error(learned)
    )
}

/// What is known of the models: how well they predict what they have not seen. Nothing without such predictions.
fn prediction_error(learned: &IdentificationStatus) -> String {
    match (learned.predictions, learned.prediction_error) {
        (0, _) => String::new(),
        (count, error) if error < 1e-13 => {
            format!("; {count} predictions of outputs not used for the fit, all exact within rounding")
        }
        (count, error) => format!(
            "; largest error of predictions not used for the fit: {error:.1e} of the output's usual change per step \
             ({count} predictions)"
        ),
    }
}

/// Most signals and connections printed.
const SHOWN_SIGNALS: usize = 6;
/// Most scenario actions printed.
const SHOWN_EVENTS: usize = 20;

fn print<'a>(outcome: &Outcome, experiment: &Experiment, written: impl Iterator<Item = (&'a str, &'a Path)>) {
    let summary = &outcome.summary;
    let counters = &summary.counters;
    let simulated = summary.time - outcome.from.max(experiment.start);
    println!(
        "{} steps to t = {} s, mean {:.3e} s; {} rejected",
        counters.steps, summary.time, summary.mean_step, counters.rejected
    );
    if let Some(ended) = &summary.ended {
        println!("{}", early_end(ended, experiment.stop));
    }
    let reasons = outcome.step_reasons();
    if !reasons.is_empty() {
        println!("of the steps: {reasons}");
    }
    if counters.linearised > 0 {
        let (times, age) = (counters.linearised, counters.oldest_model);
        println!("linear models: updated {times} times, at most {age} steps old");
    }
    for (name, learned) in &summary.learned {
        println!("{name}: {}", identification(learned));
    }
    for OwnSteps { name, size, steps } in &summary.own_steps {
        println!("multi-rate: {name} {steps} steps of {} s", number_text(*size));
    }
    if let Some(net) = &summary.net {
        islands(net);
    }
    for (time, name) in summary.events.iter().take(SHOWN_EVENTS) {
        println!("scenario: at t = {time} s {name}");
    }
    let hidden = (summary.events.len().saturating_sub(SHOWN_EVENTS)) as u64 + summary.more_events;
    if hidden > 0 {
        println!("scenario: and {hidden} more actions");
    }
    let seconds = outcome.wall_time.as_secs_f64();
    println!(
        "wall time {seconds:.3} s ({:.1}x real time); {} model evaluations",
        simulated / seconds,
        counters.evaluations
    );
    if outcome.accuracy.companions != CompanionSet::None {
        println!("error bars: {}", accuracy::effort(outcome));
    }
    for (what, file) in written {
        println!("{what}: {}", file.display());
    }
}

/// Totals of islands and lines.
fn islands(net: &LineNetworkTotals) {
    for IslandTotals { name, steps, taken_back, evaluations, .. } in &net.islands {
        println!("island {name}: {steps} steps, {taken_back} rolled back, {evaluations} evaluations");
    }
    for line in &net.lines {
        if line.gap() > 1e-6 {
            println!(
                "line {}: the flows at the start do not match ({} in, {} out): the run begins with a jump of the flow",
                line.name, line.ends[0].first_flow, -line.ends[1].first_flow
            );
        }
        for (side, EndTotals { stats, delay, still, owned, .. }) in ["a", "b"].into_iter().zip(&line.ends) {
            println!(
                "line {}, side {side}: mean delay {delay:.3e} s, at most {} times the shortest; steady for {:.1} % of \
                 the time; delay grew {} and shrank {} times{}{}",
                line.name,
                stats.largest,
                100.0 * still,
                stats.grown,
                stats.shrunk,
                if *owned { "; the delay is controlled by the FMU" } else { "" },
                if stats.useless {
                    "; delay control disabled, as steps stayed shorter than the delay"
                } else {
                    ""
                }
            );
        }
    }
}

/// The energy ledger.
fn energies(summary: &Summary) {
    if !summary.bonds.is_empty() {
        println!(
            "\nbond             transmitted J    exchanged J     residual J   |residual| J  of exchanged  local error W"
        );
        for bond in &summary.bonds {
            let BondSummary { name, totals, power_error, .. } = bond;
            let unit = if bond.overflowed() { ' ' } else { '%' };
            println!(
                "{name:<14} {:>15.6e} {:>14.6e} {:>14.6e} {:>14.6e}   {:>9} {unit} {power_error:>14.3e}",
                totals.transmitted,
                totals.exchanged,
                totals.residual,
                totals.residual_absolute,
                bond.percent_text()
            );
        }
    }
}

fn verdict(outcome: &Outcome, stop: f64) {
    let Outcome { summary, accuracy, .. } = outcome;
    let energy = summary.text();
    println!();
    if !energy.is_empty() {
        println!("energy balance: {energy}");
    }
    let part =
        if summary.finished { String::new() } else { format!(" up to t = {} of {stop} s", summary.time) };
    println!("verdict{part}: {}", accuracy.words);
}

/// A component ended the run before the stop time: not an error.
fn early_end(ended: &EndRequest, stop: f64) -> String {
    let EndRequest { component, at, function } = ended;
    format!("note: component `{component}` ended the simulation at t = {at} of {stop} s (`{function}`)")
}
