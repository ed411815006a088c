//! Error estimation of a run: the same system again with half and quarter of every step, in another sequence, and
//! monolithic. Where errors fall with the step as expected, three step sizes give their size (Richardson); the energy
//! defect of every bond is compared with that error, since the two need not agree.
//!
//! With step control, reruns follow the accepted steps of the run, cut into halves and quarters. So the communication
//! points of the run are common to all, and only the step size differs.
//!
//! Sources: Richardson 1911; Roache 1994 (J. Fluids Eng. 116) for observed orders and for the case without one.

mod judge;
mod rerun;

use cosimo_core::Registry;
use cosimo_engine::Run;
use cosimo_system::System;
use schemars::JsonSchema;
use serde::Serialize;
use wildmatch::WildMatch;

use crate::forecast::three_digits;
use crate::order::Truth;
use crate::variant::VariantError;
use judge::Three;
use rerun::{RerunContext, Reruns, SignalSource, is_steady, planned, refuse, run_itself};

/// One of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rerun {
    /// The system as given.
    Itself,
    Half,
    Quarter,
    OtherSequence,
    /// FMUs for model exchange, integrated as one system.
    Strong,
}

impl Rerun {
    pub fn text(self) -> &'static str {
        match self {
            Rerun::Itself => "as it is",
            Rerun::Half => "with half the step",
            Rerun::Quarter => "with a quarter of the step",
            Rerun::OtherSequence => "in another sequence",
            Rerun::Strong => "as one monolithic system",
        }
    }
}

/// Called after every step, with the run on its own thread; `false` stops everything.
pub type StepCallback = Box<dyn FnMut(&Run) -> bool>;

/// What is wanted, and how.
pub struct VerifyOptions<'a> {
    /// Allowed error, as a part of the largest value of a signal, and on top of that.
    pub tolerance: f64,
    pub absolute: f64,
    /// Patterns of signals that are judged, as in `wheel.*`; none are all.
    pub signals: &'a [String],
    /// Runs at the same time.
    pub jobs: usize,
    pub watch: &'a (dyn Fn(Rerun) -> StepCallback + Sync),
}

impl std::fmt::Debug for VerifyOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wish({}, {}, {:?})", self.tolerance, self.absolute, self.signals)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("the run has {0} steps, which are too few to determine the order of errors")]
    TooShort(usize),
    #[error("`{0}` has an internal step of {1} s and cannot be run with a quarter of {2} s")]
    Inside(String, f64, f64),
    #[error("it cannot be run {}: {}", .0.text(), .1)]
    Refused(Rerun, VariantError),
    #[error("there is no signal {0}")]
    NoSignal(String),
    #[error("the run {} failed: {}", .0.text(), .1)]
    Failed(Rerun, VariantError),
    #[error("interrupted")]
    Interrupted,
}

impl VerifyError {
    /// The code for `cosimo explain-error`.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            VerifyError::Refused(_, cause) | VerifyError::Failed(_, cause) => cause.code(),
            _ => None,
        }
    }

    fn coded(&self) -> String {
        match self {
            VerifyError::Failed(which, VariantError::Run(error)) => {
                format!("the run {} failed: {}", which.text(), error.text_with_code())
            }
            other => other.to_string(),
        }
    }
}

/// The result; its JSON form is stable.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Verification {
    /// Every signal is accurate to the tolerance.
    pub believed: bool,
    /// The verdict as text.
    pub words: String,
    /// Allowed error of a signal, relative to its largest value.
    pub tolerance: f64,
    /// Allowed error in addition to that, in the unit of the signal.
    pub absolute: f64,
    /// Of the run itself.
    pub steps: usize,
    /// Seconds.
    pub smallest_step: f64,
    /// Seconds.
    pub largest_step: f64,
    /// Steps vary.
    pub controlled: bool,
    /// Delays of lines, the shortest and the longest: they are halved, and steps are those at which islands are compared.
    pub delays: Option<(f64, f64)>,
    /// How many instants were compared.
    pub instants: usize,
    /// The first of them, in seconds.
    pub from: f64,
    /// The last of them.
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
    pub bonds: Vec<BondError>,
}

/// What signals are compared with beside smaller steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MonolithicSource {
    /// The reference model of the system.
    Reference,
    /// FMUs for model exchange, integrated together.
    #[serde(rename = "integrated-together")]
    Strong,
}

/// How large the error of a signal is; a number that is infinite or none at all is null.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SignalError {
    pub name: String,
    /// Physical unit of its numbers, except of relative ones; empty where it is not known.
    pub unit: String,
    /// The instant of the error, in seconds.
    pub at: f64,
    /// The error is allowed.
    pub believed: bool,
    /// The largest modulus, of the run and with the smallest step.
    pub largest: f64,
    /// The largest differences of the run and half the step, and of that and a quarter.
    pub differences: [f64; 2],
    /// How these fall: null where they are rounding.
    pub order: Option<f64>,
    pub error_bar: f64,
    pub basis: Basis,
    /// The largest distance from the monolithic reference.
    pub from_monolithic: Option<f64>,
    /// The largest distance from the other sequence.
    pub from_other_sequence: Option<f64>,
    pub allowed: f64,
}

/// What an error bar rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Differences are rounding.
    Exact,
    /// They fall with the step, and were extrapolated to none.
    Richardson,
    /// They do not fall as expected; the bar is a multiple of the largest.
    NoOrder,
}

impl SignalError {
    /// The bar, or what is known to be the error where that is larger.
    pub fn error(&self) -> f64 {
        self.from_monolithic.map_or(self.error_bar, |known| known.max(self.error_bar))
    }

    /// The error as a part of the largest value; nothing where it is next to nothing.
    pub fn relative(&self, absolute: f64) -> f64 {
        if self.error() <= absolute { 0.0 } else { self.error() / self.largest }
    }

    /// The error bar is not what the monolithic reference shows.
    pub fn contradicted(&self) -> bool {
        let off = |known: f64| known.max(self.error_bar) > 2.0 * known.min(self.error_bar);
        self.from_monolithic.is_some_and(|known| known.max(self.error_bar) > self.allowed && off(known))
    }

    /// In units of what is allowed.
    fn excess(&self) -> f64 {
        if self.error() == 0.0 { 0.0 } else { self.error() / self.allowed }
    }

    fn words(&self) -> String {
        let at =
            if self.at.is_finite() { format!(", at t = {} s", three_digits(self.at)) } else { String::new() };
        format!("`{}` with {} of its largest value{at}", self.name, percent(self.relative(0.0)))
    }
}

/// The energy defect of a bond beside the error.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BondError {
    pub name: String,
    /// The energy defect as a share of the energy exchanged, with all three steps.
    pub energy_defects: [f64; 3],
    /// How it falls.
    pub order: Option<f64>,
    /// Joules, with all three steps.
    pub exchanged_energy: [f64; 3],
    /// Joules.
    pub transmitted_energy: f64,
    pub transmitted_energy_error_bar: f64,
    /// The worst relative error among the outputs of the components that it joins, as far as they are judged.
    pub worst_error: f64,
    /// The signal with this error.
    pub worst_signal: Option<String>,
    pub agreement: Agreement,
    /// Summary as text.
    pub words: String,
}

/// Whether energy defect and error are consistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Agreement {
    /// No energy is transmitted, or it goes to zero with the step: the defect is not meaningful.
    #[serde(rename = "nothing-transmitted")]
    Nothing,
    #[serde(rename = "agree")]
    Agree,
    /// The defect does not show the error.
    #[serde(rename = "defect-small-error-large")]
    DefectSmall,
    /// Energy is not conserved, but signals are hardly affected.
    #[serde(rename = "defect-large-error-small")]
    DefectLarge,
}

/// Runs the system, reruns it, and judges. The truth is that of the monolithic reference, where the system has one.
pub fn verify(
    system: &System,
    registry: &Registry,
    truth: Result<Truth<'_>, String>,
    wish: &VerifyOptions<'_>,
) -> Result<Verification, VerifyError> {
    // Rows are not written; every signal is looked at where all runs meet.
    let mut system = system.clone();
    let recorded = std::mem::take(&mut system.results);
    let first = planned(&system, registry).map_err(|error| VerifyError::Refused(Rerun::Itself, error))?;
    let steady = is_steady(&first.layout);
    refuse(&system, &first.layout, steady, registry)?;
    let base = run_itself(first, &system, &recorded, wish)?;
    if base.instants.len() < 5 {
        return Err(VerifyError::TooShort(base.instants.len() - 1));
    }
    let along = RerunContext { base: &base, steady, registry, watch: wish.watch };
    let Reruns { half, quarter, sequence, monolithic: strong } =
        along.reruns(&system, truth.is_err(), wish.jobs)?;
    let monolithic = match truth {
        Ok(truth) => truth(&base.kept_instants())
            .map(|solution| (MonolithicSource::Reference, base.columns_of(&solution))),
        Err(reason) => strong
            .map(|found| (MonolithicSource::Strong, found.values))
            .map_err(|cause| format!("{reason}; {cause}")),
    };
    let three = Three { base: &base, half: &half, quarter: &quarter };
    let known = monolithic.as_ref().ok().map(|(_, values)| values.as_slice());
    let other = sequence.as_ref().ok().map(|(_, found)| found.values.as_slice());
    let judged: Vec<SignalError> =
        (0..base.signals.len()).map(|column| three.signal(column, known, other, wish)).collect();
    let chosen = chosen(&base.signals, wish);
    let bonds = base.bonds.iter().enumerate();
    let bonds = bonds.map(|(k, bond)| three.bond(k, bond, &judged, &chosen, wish)).collect();
    let signals = judged.into_iter().zip(&chosen).filter(|(_, chosen)| **chosen);
    let mut signals: Vec<SignalError> = signals.map(|(judged, _)| judged).collect();
    if signals.is_empty() && !wish.signals.is_empty() {
        let named: Vec<String> = wish.signals.iter().map(|pattern| format!("`{pattern}`")).collect();
        return Err(VerifyError::NoSignal(named.join(" or ")));
    }
    signals.sort_by(|a, b| b.excess().total_cmp(&a.excess()).then(a.name.cmp(&b.name)));
    let sizes = base.instants.windows(2).map(|pair| pair[1] - pair[0]);
    let delays = system.bonds.iter().filter_map(|bond| bond.line.as_ref()).map(|line| line.delay);
    let delays = delays.fold(None, |ends, delay| {
        let (shortest, longest): (f64, f64) = ends.unwrap_or((f64::INFINITY, 0.0));
        Some((shortest.min(delay), longest.max(delay)))
    });
    let (from, to) = three.span();
    Ok(Verification {
        believed: signals.iter().all(|signal| signal.believed),
        words: verdict(&signals, wish.tolerance, delays.is_some()),
        tolerance: wish.tolerance,
        absolute: wish.absolute,
        steps: base.instants.len() - 1,
        smallest_step: sizes.clone().fold(f64::INFINITY, f64::min),
        largest_step: sizes.fold(0.0, f64::max),
        controlled: base.controlled,
        delays,
        instants: three.common().count(),
        from,
        to,
        other_sequence: sequence.as_ref().ok().map(|(name, _)| *name),
        no_other_sequence: sequence.err(),
        monolithic: monolithic.as_ref().ok().map(|(which, _)| *which),
        no_monolithic: monolithic.err(),
        signals,
        bonds,
    })
}

/// Which signals are judged; what bonds transmit never is.
fn chosen(signals: &[(String, SignalSource)], wish: &VerifyOptions<'_>) -> Vec<bool> {
    let patterns: Vec<WildMatch> = wish.signals.iter().map(|pattern| WildMatch::new(pattern)).collect();
    let named = |name: &String| patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name));
    let wanted = |(name, signal): &(String, SignalSource)| {
        named(name) && !matches!(signal, SignalSource::Transmitted(_))
    };
    signals.iter().map(wanted).collect()
}

fn verdict(signals: &[SignalError], tolerance: f64, lines: bool) -> String {
    let doubtful = signals.iter().filter(|signal| !signal.believed).count();
    let at = percent(tolerance);
    let count = format!("{} signal{}", signals.len(), if signals.len() == 1 { "" } else { "s" });
    match (signals.first(), doubtful) {
        (None, _) => "there is no signal to check.".into(),
        (Some(worst), 0) => format!(
            "accurate to {at}: the estimated errors of {count} are smaller, the worst is {}. Errors inside simulators that do \
             not depend on the step are not included.",
            worst.words()
        ),
        (Some(worst), _) => format!(
            "not accurate to {at}: estimated error above it in {doubtful} of {count}, the worst is {}. {}; or select signals \
             with `--vars`, or relax `--tolerance`.",
            worst.words(),
            if lines {
                "Shorten the delays"
            } else {
                "Reduce the step, enable a correction (`--method correction=nepce`), or split the model elsewhere"
            }
        ),
    }
}

/// A share in percent, for people.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || (0.001..1e4).contains(&percent) {
        format!("{percent:.3} %")
    } else {
        format!("{percent:.1e} %")
    }
}
