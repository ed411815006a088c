//! Error bars of the signals of a run, from companions: the same system along the same communication points, with larger
//! steps while the run lasts, and with smaller ones afterwards where the larger ones leave a question.
//!
//! The verdict is one of three: *accurate*, *not accurate*, *unknown*. Where differences between companions do not fall as
//! the step falls, nothing is claimed, neither about the signal nor about what depends on it.

mod coarse;
mod defects;
mod estimate;
mod fine;
mod follow;
mod judge;
mod maxima;
mod observed;
mod switches;
mod words;

use std::time::Duration;

use cosimo_core::Registry;
use cosimo_engine::{BondTotals, Run};
use cosimo_system::System;
use schemars::JsonSchema;
use serde::Serialize;

use coarse::CoarseCompanions;
pub use defects::CouplingDefect;
use defects::Defects;
pub use fine::StepCallback;
pub(crate) use fine::{Distances, Extra};
use fine::{Repetitions, StopReason};
use follow::Signals;
pub use words::percent;

/// `auto` repeats a run with smaller steps if that is expected to take less.
const SHORT: Duration = Duration::from_secs(60);
/// Steps of the run, its halves and its quarters.
const FINE_STEPS: f64 = 7.0;
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
    /// Steps of the companions beside the run; those of the run itself are not among them.
    pub companion_steps: u64,
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
    /// The order of lists.
    pub(crate) fn worse_first(a: &SignalAccuracy, b: &SignalAccuracy) -> std::cmp::Ordering {
        let (a_severity, b_severity) = (a.severity(), b.severity());
        let verdict = b_severity.0.cmp(&a_severity.0);
        verdict.then(b_severity.1.total_cmp(&a_severity.1)).then(a.name.cmp(&b.name))
    }

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
            return Err(
                "no components are coupled, so the result is that of the solver inside the component".into(),
            );
        }
        RunCompanions::of_any(run, system, registry)
    }

    /// The same for a run of a component by itself, too.
    pub(crate) fn of_any(run: &Run, system: &System, registry: &Registry) -> Result<RunCompanions, String> {
        let topology = &run.layout().topology;
        let mut components = topology.names.iter().zip(&topology.interfaces);
        if let Some((name, _)) = components.find(|(_, interface)| interface.abilities.once_per_process) {
            return Err(format!("component `{name}` can be instantiated once per process only"));
        }
        let signals = Signals::of(run, system);
        let coarse = CoarseCompanions::start(run, &signals, system, registry);
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
        let companion_steps = found.steps_of_companions;
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
            let runs = Repetitions { signals: &signals, system: &system, registry, watch: wish.watch };
            let fine = runs.run(&found, Vec::new());
            match fine.reason {
                None => {
                    let both = fine.decide(first, &signals, wish.wanted);
                    let connections = std::mem::take(&mut accuracy.connections);
                    accuracy = Accuracy::new(wish.wanted, CompanionSet::Fine, both, connections);
                    accuracy.keep_recorded(&signals);
                }
                Some(StopReason::Interrupted) => accuracy.reason = Some("interrupted".into()),
                Some(StopReason::Failed(reason)) => accuracy.reason = Some(reason),
            }
        } else if wish.bars == ErrorBars::Auto && accuracy.verdict == AccuracyVerdict::Unknown {
            let reason = "repeating the run with smaller steps would take more than a minute; request it by `--error-bars fine`";
            accuracy.reason = Some(reason.into());
        }
        accuracy.companion_steps = companion_steps;
        accuracy
    }
}

impl RunCompanions {
    /// All companions, coarse and fine, with any runs beside them; all signals, recorded or not. `Err` where it was
    /// interrupted, or where the companions panicked.
    pub(crate) fn thoroughly<'a>(
        self,
        registry: &Registry,
        wanted: f64,
        watch: &'a (dyn Fn(Repetition) -> StepCallback<'a> + Sync),
        extras: Vec<Extra<'_>>,
    ) -> Result<Judgement, Stopped> {
        let RunCompanions { signals, coarse, defects, system } = self;
        let found = coarse.finish().ok_or(Stopped::Panicked)?;
        let first = found.judge(&signals, wanted);
        let runs = Repetitions { signals: &signals, system: &system, registry, watch };
        let mut fine = runs.run(&found, extras);
        let (extras, totals) = (std::mem::take(&mut fine.extras), std::mem::take(&mut fine.totals));
        let (all, companions, reason) = match fine.reason.take() {
            None => (fine.decide(first, &signals, wanted), CompanionSet::Fine, None),
            Some(StopReason::Failed(reason)) => (first, CompanionSet::Coarse, Some(reason)),
            Some(StopReason::Interrupted) => return Err(Stopped::Interrupted),
        };
        Ok(Judgement {
            signals: all,
            recorded: signals.infos.iter().map(|info| info.recorded).collect(),
            owners: signals.infos.iter().map(|info| info.owner).collect(),
            companions,
            reason,
            connections: defects.list(),
            instants: found.instants,
            totals,
            extras,
        })
    }
}

/// Why there is no judgement.
pub(crate) enum Stopped {
    Interrupted,
    Panicked,
}

/// What all companions and the runs beside them came to.
pub(crate) struct Judgement {
    /// All of them, in the order of the run.
    pub(crate) signals: Vec<SignalAccuracy>,
    pub(crate) recorded: Vec<bool>,
    /// The component of each.
    pub(crate) owners: Vec<usize>,
    pub(crate) companions: CompanionSet,
    /// Why there are no others.
    pub(crate) reason: Option<String>,
    pub(crate) connections: Vec<CouplingDefect>,
    pub(crate) instants: Vec<f64>,
    /// Of all bonds, with half and with a quarter of the step.
    pub(crate) totals: [Option<Vec<BondTotals>>; 2],
    pub(crate) extras: Vec<Result<Distances, String>>,
}

impl Judgement {
    pub(crate) fn sizes(&self) -> impl Iterator<Item = f64> {
        self.instants.windows(2).map(|pair| pair[1] - pair[0])
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
    /// The run, or once more, to compare at all of its instants.
    Itself,
    /// With half of each step.
    Half,
    /// With a quarter of each step.
    Quarter,
    /// In another sequence of components.
    OtherSequence,
    /// FMUs for model exchange, integrated as one system.
    Monolithic,
}

impl Repetition {
    /// For progress displays.
    pub fn text(self) -> &'static str {
        match self {
            Repetition::Itself => "as it is",
            Repetition::Half => "with half the step",
            Repetition::Quarter => "with a quarter of the step",
            Repetition::OtherSequence => "in another sequence",
            Repetition::Monolithic => "as one monolithic system",
        }
    }
}

impl Accuracy {
    /// Nothing is known, for a reason.
    pub fn unknown(wanted: f64, reason: String) -> Accuracy {
        let mut accuracy = Accuracy::new(wanted, CompanionSet::None, Vec::new(), Vec::new());
        accuracy.verdict = AccuracyVerdict::Unknown;
        accuracy.words = format!("unknown: {reason}.");
        accuracy.reason = Some(reason);
        accuracy
    }

    /// The verdict about signals that are sorted, the worst first.
    pub(crate) fn of(
        wanted: f64,
        companions: CompanionSet,
        signals: Vec<SignalAccuracy>,
        connections: Vec<CouplingDefect>,
    ) -> Accuracy {
        let mut accuracy = Accuracy::new(wanted, companions, signals, connections);
        let worst = accuracy.signals.first().map(|signal| signal.verdict);
        accuracy.verdict = worst.unwrap_or(AccuracyVerdict::Unknown);
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
            companion_steps: 0,
            reason: None,
            signals,
            connections,
        }
    }

    /// Signals that are not recorded have shown what depends on them; only recorded ones are judged.
    fn keep_recorded(&mut self, signals: &Signals) {
        let mut recorded = signals.infos.iter().map(|info| info.recorded);
        self.signals.retain(|_| recorded.next().unwrap_or(true));
        self.signals.sort_by(SignalAccuracy::worse_first);
        let worst = self.signals.first().map(|signal| signal.verdict);
        self.verdict = worst.unwrap_or(AccuracyVerdict::Unknown);
    }
}
