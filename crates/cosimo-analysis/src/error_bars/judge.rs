//! From running maxima to an error bar and a verdict per signal.
//!
//! With y(h) = y + C h^p the differences of runs with steps h, 2h and 4h have the ratio 2^p (Richardson 1911). The ratio that
//! is observed decides: where it is below what a falling error has, nothing is claimed (Roache 1994, J. Fluids Eng. 116).

use cosimo_core::math;

use super::maxima::Maxima;
use super::switches::{SwitchDifference, Switches};
use super::{AccuracyVerdict, SignalAccuracy, SwitchingInstants};

/// Differences below this part of the peak are rounding. Not the tolerance of solvers inside components: that would hide
/// values that are exchanged but do not move.
const ROUNDING: f64 = 1e-10;
/// The smallest ratio of differences that fall with the step.
const FALLS: f64 = 1.2;
/// Safety factor of error bars.
const SAFETY: f64 = 1.25;
/// Beyond this multiple of the wanted error a signal is not accurate, whatever the ratio.
const CLEARLY: f64 = 3.0;
/// A companion whose peak is this many times that of the run is unstable and shows nothing about the run.
const UNSTABLE: f64 = 3.0;
/// A value between two points that is this many times farther from their line than points are from their neighbours'.
const ALIASED: f64 = 4.0;
/// Differences that do not fall are the noise of solvers inside components if they are below this part of the wanted error,
/// of the peak and of the range of the signal, and change their sign so often.
const NOISE: f64 = 0.05;
const NOISE_FLIPS: u32 = 6;
/// A signal vanishes if its peak falls by this factor from step to smaller step.
const VANISHES: f64 = 1.5;

/// Which companions the maxima come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Companions {
    /// Steps merged by two and by four.
    Coarse,
    /// Halves and quarters of steps.
    Fine,
}

/// What does not depend on the companions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SignalInfo {
    pub(crate) name: String,
    /// Empty where unknown.
    pub(crate) unit: String,
    /// The index of its component.
    pub(crate) owner: usize,
    /// It drives an input, so that doubt about it spreads.
    pub(crate) drives: bool,
    pub(crate) recorded: bool,
}

/// Everything that was observed.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) companions: Companions,
    /// The order of the coupling method.
    pub(crate) order: u32,
    pub(crate) signals: &'a [SignalInfo],
    pub(crate) maxima: &'a [Maxima],
    /// Per signal: the run, and its companions.
    pub(crate) switches: &'a [[Switches; 3]],
    /// Per component: those that it drives.
    pub(crate) drives: &'a [Vec<usize>],
    /// How many instants all three runs share.
    pub(crate) shared: usize,
    /// The largest step and the simulated time, in seconds.
    pub(crate) largest_step: f64,
    pub(crate) duration: f64,
}

/// Fewer instants say nothing about how differences fall.
const FEWEST: usize = 3;

/// What is held against a signal.
#[derive(Debug, Clone, PartialEq)]
enum Doubt {
    /// The ratio is too small.
    NotFalling(f64),
    Aliased,
    Unstable,
    TooShort,
    /// Its own scale is not known.
    Vanishes,
    Switches(f64),
    Upstream(String),
}

impl Doubt {
    fn text(&self, companions: Companions) -> String {
        let steps = match companions {
            Companions::Coarse => "larger steps",
            Companions::Fine => "smaller steps",
        };
        match self {
            Doubt::NotFalling(ratio) if ratio.is_finite() => {
                format!("differences from runs with {steps} do not fall with the step (ratio {ratio:.2})")
            }
            Doubt::NotFalling(_) => format!("differences from runs with {steps} do not fall with the step"),
            Doubt::Aliased => "it changes between communication points in a way that they do not show".into(),
            Doubt::Unstable => format!("runs with {steps} are unstable"),
            Doubt::TooShort => "the run has too few steps to see how errors fall".into(),
            Doubt::Vanishes => {
                "it goes to zero with the step, and there is no other signal of its unit to compare with"
                    .into()
            }
            Doubt::Switches(at) => format!("with {steps} it switches otherwise from t = {at:.4e} s on"),
            Doubt::Upstream(name) => format!("it depends on `{name}`, which is in doubt"),
        }
    }

    /// Whether what depends on the signal is in doubt, too.
    fn spreads(&self) -> bool {
        !matches!(self, Doubt::Vanishes | Doubt::Upstream(_))
    }
}

impl Evidence<'_> {
    /// Judges all signals, in their order.
    pub(crate) fn judge(&self, wanted: f64) -> Vec<SignalAccuracy> {
        let mut own: Vec<(SignalAccuracy, Option<Doubt>)> =
            (0..self.signals.len()).map(|signal| self.alone(signal, wanted)).collect();
        let upstream = self.doubted(&own);
        for (index, (judged, doubt)) in own.iter_mut().enumerate() {
            let reached = upstream[self.signals[index].owner].filter(|source| *source != index);
            if let (None, Some(source)) = (&doubt, reached) {
                if judged.verdict == AccuracyVerdict::Accurate {
                    judged.verdict = AccuracyVerdict::Unknown;
                }
                *doubt = Some(Doubt::Upstream(self.signals[source].name.clone()));
            }
            if judged.verdict == AccuracyVerdict::Unknown {
                judged.reason = doubt.as_ref().map(|doubt| doubt.text(self.companions));
            }
        }
        own.into_iter().map(|(judged, _)| judged).collect()
    }

    /// Per component: a signal in doubt that it depends on.
    fn doubted(&self, own: &[(SignalAccuracy, Option<Doubt>)]) -> Vec<Option<usize>> {
        let mut reached: Vec<Option<usize>> = vec![None; self.drives.len()];
        for (index, (_, doubt)) in own.iter().enumerate() {
            if !self.signals[index].drives || !doubt.as_ref().is_some_and(Doubt::spreads) {
                continue;
            }
            let mut next = vec![self.signals[index].owner];
            while let Some(from) = next.pop() {
                for &to in &self.drives[from] {
                    if reached[to].is_none() {
                        reached[to] = Some(index);
                        next.push(to);
                    }
                }
            }
        }
        reached
    }

    /// The size that an error is compared with. A signal that goes to zero with the step is compared with others of its unit.
    fn scale(&self, signal: usize) -> (f64, Option<Doubt>) {
        let found = &self.maxima[signal];
        let unit = &self.signals[signal].unit;
        let alike = (0..self.signals.len()).filter(|other| {
            !unit.is_empty() && unit != "1" && self.signals[*other].unit == *unit && *other != signal
        });
        let largest = alike.map(|other| self.maxima[other].peak).fold(0.0, f64::max);
        let peak = found.peak;
        if peak <= ROUNDING * largest {
            return (largest, None);
        }
        let (small, middle, large) = match self.companions {
            Companions::Coarse => (peak, found.peak_b, found.peak_c),
            Companions::Fine => (found.peak_c, found.peak_b, peak),
        };
        let vanishes = small > 0.0 && middle > VANISHES * small && large > VANISHES * middle;
        // A run that becomes unstable with larger steps has a limit.
        if vanishes && large <= 20.0 * small && self.shared >= FEWEST {
            return if largest > peak { (largest, None) } else { (peak, Some(Doubt::Vanishes)) };
        }
        (peak, None)
    }

    /// A signal by itself.
    fn alone(&self, signal: usize, wanted: f64) -> (SignalAccuracy, Option<Doubt>) {
        let found = &self.maxima[signal];
        let (scale, vanishing) = self.scale(signal);
        let mut judged = SignalAccuracy {
            name: self.signals[signal].name.clone(),
            unit: self.signals[signal].unit.clone(),
            verdict: AccuracyVerdict::Unknown,
            scale,
            error_bar: f64::NAN,
            relative: f64::NAN,
            mean_error_bar: f64::NAN,
            start_error: found.start,
            ratio: None,
            at: found.at,
            switching: None,
            reason: None,
        };
        if self.switches[signal][0].switch() || self.switches[signal][1].switch() {
            let doubt = self.switching(signal, wanted, &mut judged);
            return (judged, doubt);
        }
        if self.shared < FEWEST {
            return (judged, Some(Doubt::TooShort));
        }
        let power = math::exp2(f64::from(self.order));
        let (ratio, spread) = match self.companions {
            Companions::Coarse => (found.far / found.near, 1.0),
            Companions::Fine => (found.near / found.far, power),
        };
        let Maxima { difference, near, far, .. } = *found;
        let rounding = [difference, near, far].iter().all(|part| *part <= ROUNDING * scale);
        let finite = [difference, near, far].iter().all(|part| part.is_finite());
        let falls = finite && (rounding || ratio >= FALLS);
        let reduced = if rounding { power } else { ratio.min(power) };
        let low = difference * spread / (power - 1.0);
        let remaining = match self.companions {
            Companions::Coarse => 1.0 / (reduced - 1.0),
            Companions::Fine => reduced / (reduced - 1.0),
        };
        let noise = !falls && finite && self.is_noise(found, wanted, scale);
        let (bar, mean) = if falls {
            let largest = (difference * remaining).max(found.start);
            (SAFETY * largest, SAFETY * found.mean_difference() * remaining)
        } else {
            // A rough figure, for listings: nothing is claimed with it.
            (CLEARLY * difference.max(far).max(found.start), CLEARLY * found.mean_difference())
        };
        let relative = |part: f64| if part == 0.0 { 0.0 } else { part / scale };
        judged.error_bar = bar;
        judged.relative = relative(bar);
        judged.mean_error_bar = mean;
        judged.ratio = (!rounding && ratio.is_finite()).then_some(ratio);
        let (bar, low) = (relative(bar), relative(low));
        let gap = found.gap;
        let aliased = gap > ALIASED * (found.bend + found.both) && relative(gap) > 0.1 * wanted;
        let unstable = self.companions == Companions::Coarse
            && (!finite || found.peak_b > UNSTABLE * found.peak && relative(difference) > wanted);
        let doubt = if unstable {
            Some(Doubt::Unstable)
        } else if !(falls || noise) {
            Some(Doubt::NotFalling(ratio))
        } else if aliased {
            Some(Doubt::Aliased)
        } else {
            vanishing
        };
        let clearly = low > CLEARLY * wanted;
        let seen = falls && bar > wanted && (ratio <= power * power || low > wanted);
        judged.verdict = if doubt.is_none() && bar <= wanted {
            AccuracyVerdict::Accurate
        } else if !unstable && doubt != Some(Doubt::Vanishes) && (clearly || seen) {
            AccuracyVerdict::NotAccurate
        } else {
            AccuracyVerdict::Unknown
        };
        let doubt = doubt
            .or_else(|| (judged.verdict == AccuracyVerdict::Unknown).then_some(Doubt::NotFalling(f64::NAN)));
        (judged, doubt)
    }

    fn is_noise(&self, found: &Maxima, wanted: f64, scale: f64) -> bool {
        let limit = NOISE * wanted * scale.min(found.range());
        [found.difference, found.far].iter().all(|part| *part <= limit) && found.flips >= NOISE_FLIPS
    }

    /// A signal that switches, by its instants.
    fn switching(&self, signal: usize, wanted: f64, judged: &mut SignalAccuracy) -> Option<Doubt> {
        let [run, b, _] = &self.switches[signal];
        match run.difference(b) {
            SwitchDifference::Shifted { most, at } => {
                let steps = if self.companions == Companions::Coarse { 2.0 } else { 1.0 };
                let bar = 2.0 * most + steps * self.largest_step;
                judged.switching = Some(SwitchingInstants { count: run.changes.len(), error_bar: bar });
                (judged.relative, judged.at) = (bar / self.duration, at);
                judged.verdict = if judged.relative <= wanted {
                    AccuracyVerdict::Accurate
                } else if most > wanted * self.duration {
                    AccuracyVerdict::NotAccurate
                } else {
                    AccuracyVerdict::Unknown
                };
                let unknown = judged.verdict == AccuracyVerdict::Unknown;
                unknown.then_some(Doubt::TooShort)
            }
            SwitchDifference::Others { at } => {
                judged.at = at;
                judged.switching = Some(SwitchingInstants { count: run.changes.len(), error_bar: f64::NAN });
                if self.companions == Companions::Fine {
                    judged.verdict = AccuracyVerdict::NotAccurate;
                }
                Some(Doubt::Switches(at))
            }
        }
    }
}
