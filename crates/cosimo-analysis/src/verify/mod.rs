//! Verification of a run: the thorough form of its error bars. The system is run with companions beside it, and repeated along
//! its communication points with half and a quarter of every step, in another sequence, and as a monolithic reference. The
//! energy defect of every bond is compared with the errors of signals, since the two need not agree.
//!
//! With step control, repetitions follow the accepted steps of the run. So the communication points of the run are common to
//! all, and only the step size differs.
//!
//! Sources: Richardson 1911; Roache 1994 (J. Fluids Eng. 116) for observed orders and for the case without one.

mod bonds;

use cosimo_core::{Registry, Value};
use cosimo_engine::{Run, RunError, Summary, plan};
use cosimo_system::{Choice, Exchange, MonolithicDecl, PerInput, System};
use schemars::JsonSchema;
use serde::Serialize;
use wildmatch::WildMatch;

use crate::error_bars::{
    Accuracy, AccuracyVerdict, CompanionSet, CouplingDefect, Distances, Extra, Judgement, Repetition,
    RunCompanions, SignalAccuracy, StepCallback, Stopped, percent,
};
use crate::order::Truth;
use crate::variant::VariantError;
pub use bonds::{Agreement, BondError};

/// Fewer steps say nothing about how errors fall.
const FEWEST_STEPS: u64 = 4;
/// At most so many instants of a monolithic reference are computed.
const REFERENCE_INSTANTS: usize = 1 << 16;
/// Tolerances of the monolithic reference, where it is integrated.
const STRONG: [(&str, f64); 2] = [("relative", 1e-9), ("absolute", 1e-10)];

/// What is wanted, and how.
pub struct VerifyOptions<'a> {
    /// Wanted error of signals, as a part of their peak.
    pub accuracy: f64,
    /// Accepted error in addition, in the unit of the signal.
    pub absolute: f64,
    /// Patterns of signals that are judged, as in `wheel.*`; none are all.
    pub signals: &'a [String],
    /// Makes a callback for each run.
    pub watch: &'a (dyn Fn(Repetition) -> StepCallback<'a> + Sync),
}

impl std::fmt::Debug for VerifyOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VerifyOptions({}, {}, {:?})", self.accuracy, self.absolute, self.signals)
    }
}

/// Why there is no verification.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("the run has {0} steps, which are too few to see how errors fall with the step")]
    TooShort(u64),
    #[error("there is no signal {0}")]
    NoSignal(String),
    #[error("the run failed: {0}")]
    Failed(VariantError),
    #[error("{0}")]
    NoCompanions(String),
    #[error("interrupted")]
    Interrupted,
}

impl VerifyError {
    /// The code for `cosimo explain-error`.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            VerifyError::Failed(cause) => cause.code(),
            _ => None,
        }
    }
}

impl From<RunError> for VerifyError {
    fn from(error: RunError) -> VerifyError {
        VerifyError::Failed(error.into())
    }
}

/// The result; its JSON form is stable.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Verification {
    pub verdict: AccuracyVerdict,
    /// The verdict as text.
    pub words: String,
    /// Wanted error of a signal, relative to its scale.
    pub accuracy: f64,
    /// Accepted error in addition to that, in the unit of the signal.
    pub absolute: f64,
    /// Which companions the error bars rest on.
    pub companions: CompanionSet,
    /// Why there are no others.
    pub reason: Option<String>,
    /// Of the run itself.
    pub steps: u64,
    /// Seconds.
    pub smallest_step: f64,
    /// Seconds.
    pub largest_step: f64,
    /// Steps vary.
    pub controlled: bool,
    /// Delays of lines, the shortest and the longest: they are halved, and steps are those at which islands are compared.
    pub delays: Option<(f64, f64)>,
    /// First and last instant, in seconds; all communication points between them were compared.
    pub from: f64,
    pub to: f64,
    /// The partition of the other sequence.
    pub other_sequence: Option<&'static str>,
    /// Why there is none.
    pub no_other_sequence: Option<String>,
    pub monolithic: Option<MonolithicSource>,
    /// Why there is none.
    pub no_monolithic: Option<String>,
    /// The worst first.
    pub signals: Vec<SignalError>,
    /// What was assumed about inputs against what became known; the largest first.
    pub connections: Vec<CouplingDefect>,
    pub bonds: Vec<BondError>,
}

/// What signals are compared with beside other steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MonolithicSource {
    /// The reference model of the system.
    Reference,
    /// FMUs for model exchange, integrated together.
    #[serde(rename = "integrated-together")]
    Strong,
}

/// How large the error of a signal is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SignalError {
    #[serde(flatten)]
    pub estimated: SignalAccuracy,
    /// The largest distance from the monolithic reference; null where it does not have the signal.
    pub from_monolithic: Option<f64>,
    /// The largest distance from the other sequence.
    pub from_other_sequence: Option<f64>,
}

impl SignalError {
    /// The bar, or what is known to be the error where that is larger.
    pub fn error(&self) -> f64 {
        self.from_monolithic.map_or(self.estimated.error_bar, |known| known.max(self.estimated.error_bar))
    }

    /// The same relative to the scale of the signal.
    pub fn relative_error(&self) -> f64 {
        if self.error() == 0.0 {
            0.0
        } else {
            (self.error() / self.estimated.scale).max(self.estimated.relative)
        }
    }

    /// The error bar is not what the monolithic reference shows, within a factor of two.
    pub fn contradicted(&self, wanted: f64) -> bool {
        let SignalAccuracy { error_bar, scale, .. } = self.estimated;
        self.from_monolithic.is_some_and(|known| {
            known.max(error_bar) > wanted * scale && known.max(error_bar) > 2.0 * known.min(error_bar)
        })
    }
}

/// Runs the system, repeats it, and judges. The truth is that of the monolithic reference, where the system has one.
pub fn verify(
    system: &System,
    registry: &Registry,
    truth: Result<Truth<'_>, String>,
    wish: &VerifyOptions<'_>,
) -> Result<Verification, VerifyError> {
    let planned =
        plan(system, registry).map_err(|problems| VerifyError::Failed(VariantError::Plan(problems)))?;
    let mut run = Run::new(planned, 1)?;
    let mut companions = RunCompanions::of_any(&run, system, registry).map_err(VerifyError::NoCompanions)?;
    let mut watch = (wish.watch)(Repetition::Itself);
    while !run.finished() {
        run.step()?;
        companions.look(&run);
        if !watch(&run) {
            return Err(VerifyError::Interrupted);
        }
    }
    drop(watch);
    let summary = run.summary();
    let beside = Beside::new(system, registry, truth, &run);
    let extras = beside.extras();
    let judged = companions.thoroughly(registry, wish.accuracy, wish.watch, extras);
    let mut judged = judged.map_err(|stopped| match stopped {
        Stopped::Interrupted => VerifyError::Interrupted,
        Stopped::Panicked => VerifyError::NoCompanions("the companions panicked".into()),
    })?;
    if judged.instants.len() as u64 <= FEWEST_STEPS {
        return Err(VerifyError::TooShort((judged.instants.len() - 1) as u64));
    }
    let (sequence, monolithic) = beside.found(&mut judged.extras);
    let signals = signals(&judged, &sequence, &monolithic, wish);
    let chosen = chosen(&signals, &judged.recorded, wish)?;
    let bonds = bonds::all(&summary, &judged, system, run.layout(), (&signals, &chosen), wish.accuracy);
    let kept = signals.into_iter().zip(&chosen).filter(|(_, chosen)| **chosen);
    let mut found = Verification {
        verdict: AccuracyVerdict::Unknown,
        words: String::new(),
        accuracy: wish.accuracy,
        absolute: wish.absolute,
        companions: judged.companions,
        reason: judged.reason.take(),
        steps: (judged.instants.len() - 1) as u64,
        smallest_step: judged.sizes().fold(f64::INFINITY, f64::min),
        largest_step: judged.sizes().fold(0.0, f64::max),
        controlled: run.layout().limits.control.adaptive,
        delays: delays(system),
        from: judged.instants.first().copied().unwrap_or(f64::NAN),
        to: judged.instants.last().copied().unwrap_or(f64::NAN),
        other_sequence: sequence.as_ref().ok().map(|_| beside.other),
        no_other_sequence: sequence.err(),
        monolithic: monolithic.as_ref().ok().map(|(which, _)| *which),
        no_monolithic: monolithic.err(),
        signals: kept.map(|(signal, _)| signal).collect(),
        connections: std::mem::take(&mut judged.connections),
        bonds,
    };
    found.judge(&summary);
    Ok(found)
}

impl Verification {
    /// The verdict about all signals, in the words of a run.
    fn judge(&mut self, summary: &Summary) {
        self.signals.sort_by(|a, b| SignalAccuracy::worse_first(&a.estimated, &b.estimated));
        let signals = self.signals.iter().map(|signal| signal.estimated.clone()).collect();
        let connections = self.connections.clone();
        let mut accuracy = Accuracy::of(self.accuracy, self.companions, signals, connections);
        accuracy.reason.clone_from(&self.reason);
        accuracy.explain(summary);
        (self.verdict, self.words) = (accuracy.verdict, accuracy.words);
    }
}

/// Runs beside those with other steps: in another sequence, and monolithic.
struct Beside<'a> {
    system: &'a System,
    registry: &'a Registry,
    truth: Result<Truth<'a>, String>,
    other: &'static str,
    /// Why there is neither.
    alone: Option<&'static str>,
}

type Found = Result<Distances, String>;

impl<'a> Beside<'a> {
    fn new(
        system: &'a System,
        registry: &'a Registry,
        truth: Result<Truth<'a>, String>,
        run: &Run,
    ) -> Beside<'a> {
        let other = if system.methods.partition.name == "jacobi" { "gauss-seidel" } else { "jacobi" };
        let alone = if system.bonds.iter().any(|bond| bond.line.is_some()) {
            Some("lines divide the system into islands")
        } else {
            (run.layout().topology.names.len() == 1).then_some("there is only one simulator")
        };
        Beside { system, registry, truth, other, alone }
    }

    /// The other sequence first.
    fn extras(&self) -> Vec<Extra<'a>> {
        let mut sequence = self.system.clone();
        sequence.methods.partition = Choice::named(self.other);
        let mut extras = vec![self.run(Repetition::OtherSequence, sequence)];
        extras.push(match self.truth {
            Ok(truth) => Extra::Known(Box::new(move |instants| {
                // A reference may cost much for each instant.
                let every = instants.len().div_ceil(REFERENCE_INSTANTS);
                let times: Vec<f64> = instants.iter().copied().step_by(every).collect();
                let (names, rows) = truth(&times)?;
                Ok((every, names, rows))
            })),
            Err(_) => self.run(Repetition::Monolithic, together(self.system.clone())),
        });
        extras
    }

    fn run(&self, which: Repetition, changed: System) -> Extra<'a> {
        if let Some(reason) = self.alone {
            return Extra::None(reason.to_owned());
        }
        match plan(&changed, self.registry) {
            Ok(_) => Extra::Run(which, Box::new(changed)),
            Err(problems) => Extra::None(VariantError::Plan(problems).coded()),
        }
    }

    fn found(&self, extras: &mut Vec<Found>) -> (Found, Result<(MonolithicSource, Distances), String>) {
        let mut next = || if extras.is_empty() { Err(String::new()) } else { extras.remove(0) };
        let (sequence, monolithic) = (next(), next());
        let monolithic = match (&self.truth, monolithic) {
            (Ok(_), found) => found.map(|found| (MonolithicSource::Reference, found)),
            (Err(reason), found) => found
                .map(|found| (MonolithicSource::Strong, found))
                .map_err(|cause| format!("{reason}; {cause}")),
        };
        (sequence, monolithic)
    }
}

/// Error bars with what is known beside them. A monolithic reference decides what error bars leave open, and is right where
/// they are too small.
fn signals(
    judged: &Judgement,
    sequence: &Found,
    monolithic: &Result<(MonolithicSource, Distances), String>,
    wish: &VerifyOptions<'_>,
) -> Vec<SignalError> {
    let of = |found: Option<&Distances>, signal: usize| found.and_then(|found| found.0[signal]);
    let mut signals = Vec::new();
    for (index, estimated) in judged.signals.iter().enumerate() {
        let mut estimated = estimated.clone();
        let smooth = estimated.switching.is_none();
        let known = of(monolithic.as_ref().ok().map(|(_, found)| found), index).filter(|_| smooth);
        let other = of(sequence.as_ref().ok(), index).filter(|_| smooth);
        if let Some((error, at)) = known {
            let wanted = wish.accuracy * estimated.scale + wish.absolute;
            if error > wanted {
                (estimated.verdict, estimated.at) = (AccuracyVerdict::NotAccurate, at);
                estimated.relative = (error / estimated.scale).max(estimated.relative);
            } else if estimated.verdict == AccuracyVerdict::Unknown {
                estimated.verdict = AccuracyVerdict::Accurate;
                estimated.relative = if error == 0.0 { 0.0 } else { error / estimated.scale };
            }
        }
        if estimated.error_bar <= wish.absolute && known.is_none_or(|(error, _)| error <= wish.absolute) {
            (estimated.verdict, estimated.relative) = (AccuracyVerdict::Accurate, 0.0);
        }
        signals.push(SignalError {
            estimated,
            from_monolithic: known.map(|(error, _)| error),
            from_other_sequence: other.map(|(error, _)| error),
        });
    }
    signals
}

/// Which signals are judged: those that the results name, or that match the patterns.
fn chosen(
    signals: &[SignalError],
    recorded: &[bool],
    wish: &VerifyOptions<'_>,
) -> Result<Vec<bool>, VerifyError> {
    let patterns: Vec<WildMatch> = wish.signals.iter().map(|pattern| WildMatch::new(pattern)).collect();
    let matches =
        |signal: &SignalError| patterns.iter().any(|pattern| pattern.matches(&signal.estimated.name));
    let chosen: Vec<bool> = signals
        .iter()
        .zip(recorded)
        .map(|(signal, recorded)| if patterns.is_empty() { *recorded } else { matches(signal) })
        .collect();
    if !patterns.is_empty() && !chosen.contains(&true) {
        let named: Vec<String> = wish.signals.iter().map(|pattern| format!("`{pattern}`")).collect();
        return Err(VerifyError::NoSignal(named.join(" or ")));
    }
    Ok(chosen)
}

/// The shortest and the longest delay of lines.
fn delays(system: &System) -> Option<(f64, f64)> {
    let delays = system.bonds.iter().filter_map(|bond| bond.line.as_ref()).map(|line| line.delay);
    delays.fold(None, |ends, delay| {
        let (shortest, longest): (f64, f64) = ends.unwrap_or((f64::INFINITY, 0.0));
        Some((shortest.min(delay), longest.max(delay)))
    })
}

/// All components as one system of equations.
fn together(mut whole: System) -> System {
    for component in &mut whole.components {
        component.step = None;
    }
    let recipe = &mut whole.methods;
    recipe.partition = Choice::named("jacobi");
    recipe.iteration = Choice::named("once");
    recipe.input = PerInput::all(Choice::named("hold"));
    recipe.correction = PerInput::all(Choice::named("none"));
    recipe.exchange = PerInput::all(Exchange::Stale);
    recipe.estimate = Choice::named("none");
    whole.monolithic = vec![MonolithicDecl {
        name: "whole".into(),
        components: whole.components.iter().map(|component| (component.name.clone(), 0..0)).collect(),
        options: STRONG.iter().map(|(name, value)| ((*name).into(), Value::Number(*value), 0..0)).collect(),
        span: 0..0,
    }];
    whole
}
