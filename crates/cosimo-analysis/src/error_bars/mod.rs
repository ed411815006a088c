//! Error bars of the signals of a run, from companions: the same system along the same communication points, with larger
//! steps while the run lasts, and with smaller ones afterwards where the larger ones leave a question.
//!
//! The verdict is one of three: *accurate*, *not accurate*, *unknown*. Where differences between companions do not fall as
//! the step falls, nothing is claimed, neither about the signal nor about what depends on it.

mod coarse;
mod defects;
mod fine;
mod follow;
mod judge;
mod maxima;
mod observed;
mod switches;
mod words;

use std::time::Duration;

use cosimo_core::Registry;
use cosimo_engine::Run;
use cosimo_system::System;
use schemars::JsonSchema;
use serde::Serialize;

use coarse::CoarseCompanions;
pub use defects::CouplingDefect;
use defects::Defects;
pub use fine::StepCallback;
use fine::{Lane, LaneError};
use follow::Signals;
use observed::Observed;
pub use words::percent;
use words::seconds;

/// The wanted accuracy where none is given: it only judges.
pub const ACCURACY: f64 = 0.01;
/// `auto` repeats a run with smaller steps if that is expected to take less.
const SHORT: Duration = Duration::from_secs(60);
/// Steps of the run, its halves and its quarters.
const FINE_STEPS: f64 = 7.0;
/// Where coarse and fine companions disagree, the fine ones decide if their bar is so far from the wanted error; nearer to
/// it both verdicts are right, and the one that came first stays.
const NEAR: f64 = 1.5;

/// Which companions a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorBars {
    /// Coarse ones while the run lasts; fine ones afterwards where something is unknown and it does not take long.
    Auto,
    /// Coarse ones only.
    Coarse,
    /// Coarse and fine ones.
    Fine,
    /// None.
    #[default]
    Off,
}

/// What is known about the error of a signal, or of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccuracyVerdict {
    /// The error bar is within the wanted accuracy.
    Accurate,
    /// Nothing can be claimed, for the reason that is given.
    Unknown,
    /// It is not.
    NotAccurate,
}

impl AccuracyVerdict {
    /// As in JSON.
    pub fn word(self) -> &'static str {
        match self {
            AccuracyVerdict::Accurate => "accurate",
            AccuracyVerdict::Unknown => "unknown",
            AccuracyVerdict::NotAccurate => "not-accurate",
        }
    }
}

/// The verdict about the signals of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Accuracy {
    pub verdict: AccuracyVerdict,
    /// The verdict as text.
    pub words: String,
    /// The wanted error of a signal, relative to its scale.
    pub wanted: f64,
    /// Which companions it rests on.
    pub companions: CompanionSet,
    /// Why there are none, or no others.
    pub reason: Option<String>,
    /// The worst first.
    pub signals: Vec<SignalAccuracy>,
    /// What was assumed about inputs against what became known; the largest first.
    pub connections: Vec<CouplingDefect>,
}

/// Which companions a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompanionSet {
    None,
    /// Steps merged by two and by four.
    Coarse,
    /// These, and halves and quarters of steps.
    Fine,
}

/// The error bar of a signal; numbers that are not known are null.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SignalAccuracy {
    pub name: String,
    /// Empty where unknown.
    pub unit: String,
    pub verdict: AccuracyVerdict,
    /// The estimated largest error, with a safety factor, in the unit of the signal.
    #[schemars(with = "Option<f64>")]
    pub error_bar: f64,
    /// The same relative to the scale; of a signal that switches, of its instants relative to the simulated time.
    #[schemars(with = "Option<f64>")]
    pub relative: f64,
    /// The peak of the signal; of one that goes to zero with the step, the largest peak of its unit.
    pub scale: f64,
    /// The estimated root mean square error.
    #[schemars(with = "Option<f64>")]
    pub mean_error_bar: f64,
    /// The error that the first step leaves, in the unit of the signal; part of the bar.
    #[schemars(with = "Option<f64>")]
    pub start_error: f64,
    /// How differences fall from one step to half of it; null where they are rounding.
    pub ratio: Option<f64>,
    /// When the difference was largest, in seconds.
    #[schemars(with = "Option<f64>")]
    pub at: f64,
    /// Of a signal that switches between few values.
    pub switching: Option<SwitchingInstants>,
    /// Why the verdict is unknown.
    pub reason: Option<String>,
}

/// The instants at which a signal switches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SwitchingInstants {
    pub count: usize,
    /// Of each instant, in seconds.
    #[schemars(with = "Option<f64>")]
    pub error_bar: f64,
}

impl SignalAccuracy {
    fn severity(&self) -> (AccuracyVerdict, f64) {
        (self.verdict, if self.relative.is_nan() { f64::INFINITY } else { self.relative })
    }
}

/// Companions of a run under way, and what it assumed about its inputs.
#[derive(Debug)]
pub struct RunCompanions {
    signals: Signals,
    coarse: CoarseCompanions,
    defects: Defects,
    system: System,
}

impl RunCompanions {
    /// Starts companions of a run that has not stepped; their simulators live on another thread. The reason where there
    /// can be none.
    pub fn start(run: &Run, system: &System, registry: &Registry) -> Result<RunCompanions, String> {
        let topology = &run.layout().topology;
        let driven = (0..topology.shape.inputs).any(|input| !topology.couplings.terms(input).is_empty());
        if run.net().is_none() && !driven && topology.byte_connections.is_empty() {
            return Err("nothing is coupled, so the result is that of the solver inside the component".into());
        }
        let mut components = topology.names.iter().zip(&topology.interfaces);
        if let Some((name, _)) = components.find(|(_, interface)| interface.abilities.once_per_process) {
            return Err(format!("component `{name}` can be instantiated once per process only"));
        }
        let signals = Signals::of(run, system);
        let coarse = CoarseCompanions::start(&signals, system, registry);
        let coarse =
            coarse.map_err(|cause| format!("the thread of the companions cannot be started: {cause}"))?;
        let defects = Defects::of(run.layout(), signals.restrictions.lines);
        let mut companions = RunCompanions { signals, coarse, defects, system: system.clone() };
        companions.look(run);
        Ok(companions)
    }

    /// The next communication point of the run.
    #[inline]
    pub fn look(&mut self, run: &Run) {
        self.defects.look(run, self.signals.jumps);
        self.coarse.look(run);
    }

    /// Waits for the companions, repeats the run with smaller steps where that is asked for, and judges. `elapsed` is the
    /// wall time of the run; `watch` makes a callback for each repetition.
    pub fn finish(self, registry: &Registry, wish: &AccuracyOptions<'_>, elapsed: Duration) -> Accuracy {
        let RunCompanions { signals, coarse, defects, system } = self;
        let connections = defects.list();
        let Some(found) = coarse.finish() else {
            return Accuracy {
                connections,
                ..Accuracy::unknown(wish.wanted, "the companions panicked".into())
            };
        };
        let first = found.judge(&signals, wish.wanted);
        let mut accuracy = Accuracy::new(wish.wanted, CompanionSet::Coarse, first.clone(), connections);
        accuracy.keep_recorded(&signals);
        let expected = elapsed.mul_f64(FINE_STEPS);
        let repeats = match wish.bars {
            ErrorBars::Fine => true,
            ErrorBars::Auto => {
                let unknown =
                    accuracy.signals.iter().any(|signal| signal.verdict == AccuracyVerdict::Unknown);
                unknown && expected < SHORT
            }
            ErrorBars::Coarse | ErrorBars::Off => false,
        };
        if repeats {
            match repeat(&signals, &system, registry, &found, wish) {
                Ok(fine) => {
                    let fine = fine.judge(&signals, wish.wanted);
                    let both =
                        first.into_iter().zip(fine).map(|(coarse, fine)| decide(coarse, fine, wish.wanted));
                    let connections = std::mem::take(&mut accuracy.connections);
                    accuracy = Accuracy::new(wish.wanted, CompanionSet::Fine, both.collect(), connections);
                    accuracy.keep_recorded(&signals);
                }
                Err(reason) => accuracy.reason = reason,
            }
        } else if wish.bars == ErrorBars::Auto && accuracy.verdict == AccuracyVerdict::Unknown {
            accuracy.reason = Some(format!(
                "repeating the run with smaller steps would take about {}; request it by `--error-bars fine`",
                seconds(expected.as_secs_f64())
            ));
        }
        accuracy
    }
}

/// What is wanted of a verdict.
#[derive(Clone, Copy)]
pub struct AccuracyOptions<'a> {
    /// The wanted error of signals, relative to their scale.
    pub wanted: f64,
    /// Which companions.
    pub bars: ErrorBars,
    /// Makes a callback for each repetition of the run.
    pub watch: &'a (dyn Fn(Repetition) -> StepCallback<'a> + Sync),
}

impl std::fmt::Debug for AccuracyOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AccuracyOptions({}, {:?})", self.wanted, self.bars)
    }
}

/// A repetition of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repetition {
    Itself,
    Half,
    Quarter,
}

/// The verdict of both: where they disagree far from the wanted error, that of the fine companions.
fn decide(coarse: SignalAccuracy, fine: SignalAccuracy, wanted: f64) -> SignalAccuracy {
    use AccuracyVerdict::Unknown;
    if coarse.verdict == Unknown || (fine.verdict != coarse.verdict && fine.verdict != Unknown) {
        let near = (wanted / NEAR..=wanted * NEAR).contains(&fine.relative);
        if coarse.verdict != Unknown && near { coarse } else { fine }
    } else if fine.verdict == Unknown {
        // Smaller steps found a reason for doubt that larger ones do not show.
        fine
    } else {
        coarse
    }
}

fn repeat(
    signals: &Signals,
    system: &System,
    registry: &Registry,
    coarse: &Observed,
    wish: &AccuracyOptions<'_>,
) -> Result<Observed, Option<String>> {
    let instants = &coarse.instants;
    let [start, second, ..] = instants[..] else { return Err(None) };
    let lane = |which: Repetition, parts: u32| Lane {
        plan: fine::scaled(signals, system, registry, second - start, 1.0 / f64::from(parts)),
        parts,
        steady: signals.restrictions.rigid,
        cuts: which == Repetition::Quarter,
        watch: Box::new(move || (wish.watch)(which)),
    };
    let lanes = vec![lane(Repetition::Itself, 1), lane(Repetition::Half, 2), lane(Repetition::Quarter, 4)];
    let repeated = fine::repeat(signals, instants, lanes);
    for end in &repeated.ends {
        match end {
            Ok(_) => {}
            Err(LaneError::Interrupted) => return Err(Some("interrupted".into())),
            Err(LaneError::Failed(reason)) => {
                return Err(Some(format!("the run cannot be repeated with smaller steps: {reason}")));
            }
        }
    }
    let mut found = repeated.found;
    for (fine, coarse) in found.maxima.iter_mut().zip(&coarse.maxima) {
        fine.start = coarse.start;
    }
    Ok(found)
}

impl Accuracy {
    /// Nothing is known, for a reason.
    pub fn unknown(wanted: f64, reason: String) -> Accuracy {
        let mut accuracy = Accuracy::new(wanted, CompanionSet::None, Vec::new(), Vec::new());
        accuracy.verdict = AccuracyVerdict::Unknown;
        accuracy.reason = Some(reason);
        accuracy
    }

    fn new(
        wanted: f64,
        companions: CompanionSet,
        signals: Vec<SignalAccuracy>,
        connections: Vec<CouplingDefect>,
    ) -> Accuracy {
        Accuracy {
            verdict: AccuracyVerdict::Accurate,
            words: String::new(),
            wanted,
            companions,
            reason: None,
            signals,
            connections,
        }
    }

    /// Signals that are not recorded have shown what depends on them; only recorded ones are judged.
    fn keep_recorded(&mut self, signals: &Signals) {
        let mut recorded = signals.infos.iter().map(|info| info.recorded);
        self.signals.retain(|_| recorded.next().unwrap_or(true));
        self.signals.sort_by(|a, b| {
            let (a_severity, b_severity) = (a.severity(), b.severity());
            let verdict = b_severity.0.cmp(&a_severity.0);
            verdict.then(b_severity.1.total_cmp(&a_severity.1)).then(a.name.cmp(&b.name))
        });
        let worst = self.signals.first().map(|signal| signal.verdict);
        self.verdict = worst.unwrap_or(AccuracyVerdict::Unknown);
    }
}
