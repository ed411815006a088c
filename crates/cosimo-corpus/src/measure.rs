//! Runs a system with companions and compares what they say with what is true.

use std::path::Path;

use cosimo::{Moment, Simulation};
use cosimo_analysis::error_bars::{Accuracy, AccuracyVerdict, ErrorBars, SignalAccuracy};
use cosimo_core::Registry;
use cosimo_engine::{Run, plan};
use cosimo_export::{built_library, write};
use cosimo_system::{Severity, System, in_one_line, toml};

use crate::classes::TestSystem;
use crate::truth::Rows;

/// The wanted errors for which every system is judged.
pub const WANTED: [f64; 2] = [1e-2, 1e-3];
/// A signal below this part of the largest of its physical unit is nothing but rounding.
const NOTHING: f64 = 1e-6;

/// What was said about one signal, and its true error.
#[derive(Debug, Clone)]
pub struct SignalFinding {
    pub name: String,
    /// Relative to the true peak; to the scale of its kind where it has none.
    pub true_error: f64,
    /// By switching instants, relative to the simulated time.
    pub switches: bool,
    pub wanted: f64,
    /// Solvers inside components begin anew in each step, and add their tolerance: an error that may be theirs, of which
    /// companions know nothing.
    pub of_solvers: f64,
    /// By companions with larger steps, by those that `auto` takes, and by smaller ones.
    pub coarse: Judgement,
    pub auto: Judgement,
    pub fine: Judgement,
}

/// What companions say.
#[derive(Debug, Clone)]
pub struct Judgement {
    pub verdict: AccuracyVerdict,
    pub bar: f64,
    pub reason: Option<String>,
}

impl Judgement {
    fn of(signal: &SignalAccuracy, scale: f64) -> Judgement {
        let bar = if signal.switching.is_some() { signal.relative } else { signal.error_bar / scale };
        let bar = if signal.error_bar == 0.0 && signal.switching.is_none() { 0.0 } else { bar };
        Judgement { verdict: signal.verdict, bar, reason: signal.reason.clone() }
    }
}

/// Writes the file of a system and its FMUs.
pub fn save(system: &TestSystem, folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (file, design) in &system.designs {
        let path = folder.join(file);
        if !path.exists() {
            write(design, &built_library()?, &path)?;
        }
    }
    let head = format!("# {}\n\n", system.about());
    std::fs::write(folder.join("system.toml"), head + &system.text).map_err(failed)
}

/// A run with what its companions say.
struct Judged {
    times: Vec<f64>,
    rows: Vec<Vec<f64>>,
    accuracy: Accuracy,
}

fn read(system: &TestSystem, folder: &Path, registry: &Registry) -> Result<System, String> {
    let (read, problems) = toml::read(&system.text, folder, registry);
    let errors: Vec<_> = problems.into_iter().filter(|it| it.severity == Severity::Error).collect();
    if errors.is_empty() { Ok(read) } else { Err(in_one_line(&errors)) }
}

/// As `cosimo run` does it.
fn run(folder: &Path, bars: ErrorBars, wanted: f64) -> Result<Judged, String> {
    let (mut times, mut rows) = (Vec::new(), Vec::new());
    let note = |at: &mut Moment<'_>| {
        times.push(at.time());
        rows.push(at.run().outputs().to_vec());
    };
    let simulation = Simulation::open(folder.join("system.toml")).map_err(|error| error.to_string())?;
    let simulation = simulation.accuracy(wanted).error_bars(bars).on_step(note).on_warning(|_| {});
    let accuracy = simulation.run().map_err(|error| error.to_string())?.accuracy;
    Ok(Judged { times, rows, accuracy })
}

/// Everything about a system: per wanted error and signal.
pub fn measure(
    system: &TestSystem,
    folder: &Path,
    registry: &Registry,
) -> Result<Vec<SignalFinding>, String> {
    save(system, folder)?;
    let read = read(system, folder, registry)?;
    let mut findings = Vec::new();
    let mut errors = None;
    for wanted in WANTED {
        let coarse = run(folder, ErrorBars::Coarse, wanted)?;
        let fine = run(folder, ErrorBars::Fine, wanted)?;
        if errors.is_none() {
            errors = Some(TrueErrors::against_truth(system, &read, registry, &coarse)?);
        }
        let Some(errors) = &errors else { continue };
        let steps = coarse.times.len() as f64;
        let repeated = coarse.accuracy.signals.iter().any(|it| it.verdict == AccuracyVerdict::Unknown);
        for coarse in &coarse.accuracy.signals {
            let of = |list: &[SignalAccuracy]| list.iter().find(|it| it.name == coarse.name).cloned();
            let fine =
                of(&fine.accuracy.signals).ok_or_else(|| format!("no fine verdict about {}", coarse.name))?;
            // Efforts at lines are signals of the run, too; the truth has outputs.
            let Some(error) = errors.of(&coarse.name, coarse.switching.is_some() || fine.switching.is_some())
            else {
                continue;
            };
            let of = |it: &SignalAccuracy| Judgement::of(it, error.scale);
            findings.push(SignalFinding {
                name: coarse.name.clone(),
                true_error: error.relative,
                switches: error.switches,
                wanted,
                of_solvers: system.tolerance * steps,
                coarse: of(coarse),
                auto: of(if repeated { &fine } else { coarse }),
                fine: of(&fine),
            });
        }
        if let (true, Some(reason)) = (fine.accuracy.signals.is_empty(), &fine.accuracy.reason) {
            return Err(format!("no companions: {reason}"));
        }
    }
    Ok(findings)
}

struct TrueErrors {
    names: Vec<String>,
    errors: Vec<TrueError>,
    shifts: Vec<Option<f64>>,
}

#[derive(Debug, Clone, Copy)]
struct TrueError {
    relative: f64,
    scale: f64,
    switches: bool,
}

impl TrueErrors {
    fn against_truth(
        system: &TestSystem,
        read: &System,
        registry: &Registry,
        run: &Judged,
    ) -> Result<TrueErrors, String> {
        let planned = plan(read, registry).map_err(|problems| in_one_line(&problems))?;
        let layout = Run::new(planned, 1).map_err(|error| error.text_with_code())?;
        let ports = layout.layout().ports();
        let names = system.truth.names();
        let columns: Vec<Option<usize>> = names.iter().map(|name| ports.output(name, &(0..0)).ok()).collect();
        let units: Vec<String> = columns
            .iter()
            .map(|column| {
                let end = column.map(cosimo_core::PowerVariable::Output);
                end.and_then(|end| ports.port(end).unit.as_ref())
                    .map_or(String::new(), |unit| unit.text.clone())
            })
            .collect();
        let rows = system.truth.rows(&run.times)?;
        let steps = run.times.windows(2).map(|pair| pair[1] - pair[0]);
        let step = steps.fold(0.0, f64::max);
        let duration = run.times[run.times.len() - 1] - run.times[0];
        let peak = |signal: usize| rows.values.iter().map(|row| row[signal].abs()).fold(0.0, f64::max);
        let peaks: Vec<f64> = (0..names.len()).map(peak).collect();
        let (mut errors, mut shifts) = (Vec::new(), Vec::new());
        for signal in 0..names.len() {
            let alike =
                (0..names.len()).filter(|other| !units[signal].is_empty() && units[*other] == units[signal]);
            let largest = alike.map(|other| peaks[other]).fold(peaks[signal], f64::max);
            let scale = if peaks[signal] < NOTHING * largest { largest } else { peaks[signal] };
            let column = columns[signal].ok_or_else(|| format!("the run has no `{}`", names[signal]))?;
            let error = largest_error(&rows, signal, run, column, 2.0 * step);
            let relative = if error == 0.0 { 0.0 } else { error / scale };
            errors.push(TrueError { relative, scale, switches: false });
            shifts.push(shift(&rows, signal, run, column).map(|shift| shift / duration));
        }
        Ok(TrueErrors { names, errors, shifts })
    }

    fn of_signal(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    fn of(&self, name: &str, switches: bool) -> Option<TrueError> {
        let signal = self.of_signal(name)?;
        let shift = self.shifts[signal].filter(|_| switches);
        let error = self.errors[signal];
        Some(shift.map_or(error, |relative| TrueError { relative, switches: true, ..error }))
    }
}

/// The largest error of a signal. Where it jumps within `tube` seconds, the distance from all its values there.
fn largest_error(rows: &Rows, signal: usize, run: &Judged, column: usize, tube: f64) -> f64 {
    let jumps: Vec<f64> = rows
        .events
        .iter()
        .filter(|event| event.found && event.before[signal] != event.after[signal])
        .map(|event| event.time)
        .collect();
    let mut largest = 0.0f64;
    for (place, &time) in run.times.iter().enumerate() {
        let (value, truth) = (run.rows[place][column], rows.values[place][signal]);
        let mut error = (value - truth).abs();
        // A jump at the very instant is exact; one beside it may have been there.
        let first = jumps.partition_point(|jump| *jump < time - tube);
        if error > largest && jumps.get(first).is_some_and(|jump| *jump <= time + tube) {
            let near = |edge: f64| run.times.partition_point(|known| *known < edge);
            let (mut low, mut high) = (truth, truth);
            (near(time - tube)..near(time + tube)).for_each(|other| {
                low = low.min(rows.values[other][signal]);
                high = high.max(rows.values[other][signal]);
            });
            for event in rows.events.iter().filter(|event| (event.time - time).abs() <= tube) {
                low = low.min(event.before[signal]).min(event.after[signal]);
                high = high.max(event.before[signal]).max(event.after[signal]);
            }
            error = (low - value).max(value - high).max(0.0);
        }
        if error.is_nan() || error > largest {
            largest = error;
        }
    }
    largest
}

/// By how much the instants differ at which a signal switches; infinite where it switches otherwise.
fn shift(rows: &Rows, signal: usize, run: &Judged, column: usize) -> Option<f64> {
    let changes = rows.events.iter().filter(|event| event.before[signal] != event.after[signal]);
    let expected: Vec<(f64, f64)> = changes.map(|event| (event.time, event.after[signal])).collect();
    let last = run.times.last().copied().unwrap_or(0.0);
    let expected: Vec<(f64, f64)> = expected.into_iter().filter(|(time, _)| *time <= last).collect();
    let mut found = Vec::new();
    for (place, pair) in run.rows.windows(2).enumerate() {
        if pair[0][column] != pair[1][column] {
            found.push((run.times[place + 1], pair[1][column]));
        }
    }
    if found.is_empty() && expected.is_empty() {
        return None;
    }
    let same =
        found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| (a.1 - b.1).abs() < 1e-9);
    let apart = found.iter().zip(&expected).map(|(a, b)| (a.0 - b.0).abs()).fold(0.0, f64::max);
    Some(if same { apart } else { f64::INFINITY })
}
