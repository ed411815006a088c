//! From running maxima to an error bar and a verdict per signal.
//!
//! With y(h) = y + C h^p the differences of runs with steps h, 2h and 4h have the ratio 2^p (Richardson 1911). The ratio that
//! is observed decides: where it is below what a falling error has, nothing is claimed (Roache 1994, J. Fluids Eng. 116).

use cosimo_core::math;

use super::follow::MEETS;
use super::maxima::Maxima;
use super::switches::{SwitchDifference, Switches};
use super::{AccuracyVerdict, SignalAccuracy, SwitchingInstants};

/// Differences below this part of the peak are rounding. Not the tolerance of solvers inside components: that would hide
/// values that are exchanged but do not move.
const ROUNDING: f64 = 1e-10;
/// The smallest ratio of differences that fall with the step.
const FALLS: f64 = 1.2;
/// Safety factor of error bars.
const SAFETY: f64 = 1.1;
/// Beyond this multiple of the wanted error a signal is not accurate, whatever the ratio.
const CLEARLY: f64 = 3.0;
/// The same where differences do not fall: the run with smaller steps may be the worse one, if solvers inside components are.
const VERY_CLEARLY: f64 = 10.0;
/// A signal is little more than its error if differences are at least this part of its peak.
const ALL_ERROR: f64 = 0.5;
/// A companion whose peak is this many times that of the run is unstable and shows nothing about the run.
const UNSTABLE: f64 = 3.0;
/// A value between two points that is this many times farther from their line than points are from their neighbours'.
const ALIASED: f64 = 4.0;
/// Differences that do not fall are the noise of solvers inside components if they are below this part of the wanted error,
/// of the peak and of the range of the signal, and change their sign so often.
const NOISE: f64 = 0.05;
const NOISE_FLIPS: u32 = 6;
/// A signal that is smaller than this part of the largest of its unit is compared with that.
const NOTHING: f64 = 1e-6;
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
    /// What companions with larger steps said, where these have smaller ones.
    pub(crate) before: Option<&'a [SignalAccuracy]>,
    /// Per component: those that it drives.
    pub(crate) drives: &'a [Vec<usize>],
    /// How many instants all three runs share.
    pub(crate) shared: usize,
    /// The largest step and the simulated time, in seconds.
    pub(crate) largest_step: f64,
    pub(crate) duration: f64,
}

/// What is left of an error of order one or more, as a multiple of the last of its differences, where the last two have a ratio:
/// likely, and at most.
///
/// With a ratio of two or more it is the sum of a geometric series (Aitken 1926). Below two, differences have not yet reached
/// the first order, which the next ones come nearer to by halves.
fn remaining(ratio: f64, power: f64) -> [f64; 2] {
    let most = 1.0 / (ratio.min(power) - 1.0);
    if ratio >= 2.0 {
        return [1.0 / (ratio.min(2.0 * power) - 1.0), most];
    }
    let (mut sum, mut part, mut missing) = (0.0, 1.0, 2.0 - ratio);
    for _ in 0..50 {
        missing /= 2.0;
        part /= 2.0 - missing;
        sum += part;
    }
    [sum, most]
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
    /// Its switching instants are known to within a step only.
    Coarse,
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
                "it may go to zero with the step, and what to compare its error with is not known".into()
            }
            Doubt::Coarse => "its switching instants are known to within a step only".into(),
            Doubt::Switches(at) => format!("with {steps} it switches otherwise from t = {at:.4e} s on"),
            Doubt::Upstream(name) => format!("it depends on `{name}`, which is in doubt"),
        }
    }

    /// Whether what depends on the signal is in doubt, too.
    fn spreads(&self) -> bool {
        !matches!(self, Doubt::Vanishes | Doubt::Coarse | Doubt::Upstream(_))
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
        let largest = self.largest_of_unit(signal);
        let peak = found.peak;
        if peak <= NOTHING * largest {
            return (largest, None);
        }
        let (small, middle, large) = match self.companions {
            Companions::Coarse => (peak, found.peak_b, found.peak_c),
            Companions::Fine => (found.peak_c, found.peak_b, peak),
        };
        // By a factor that hardly changes: where a run becomes unstable with larger steps, it grows.
        let vanishes = small > 0.0
            && middle > VANISHES * small
            && large > VANISHES * middle
            && large * small < VANISHES * middle * middle
            && self.shared >= FEWEST;
        if vanishes {
            return if largest > peak { (largest, None) } else { (peak, Some(Doubt::Vanishes)) };
        }
        (peak, None)
    }

    /// The largest peak of the other signals with its unit.
    fn largest_of_unit(&self, signal: usize) -> f64 {
        let unit = &self.signals[signal].unit;
        let alike = (0..self.signals.len()).filter(|other| {
            !unit.is_empty() && unit != "1" && self.signals[*other].unit == *unit && *other != signal
        });
        alike.map(|other| self.maxima[other].peak).fold(0.0, f64::max)
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
        let low = difference * spread / (power - 1.0);
        let [remaining, most] =
            remaining(if rounding { power } else { ratio }, power).map(|left| match self.companions {
                Companions::Coarse => left,
                Companions::Fine => 1.0 + (1.0 + left) / ratio.min(2.0 * power).max(FALLS),
            });
        // Without inputs there is no coupling error: what differs is the work of the solver inside.
        let alone = !self.driven(self.signals[signal].owner);
        let solver = SAFETY * difference.max(far).max(found.start) <= wanted * scale;
        let noise = !falls && finite && (alone && solver || self.is_noise(found, wanted, scale));
        // Differences fell with larger steps, and those with smaller ones are small: solvers inside components are not better.
        let before = self.before.map(|before| &before[signal]).filter(|before| {
            let small = CLEARLY * difference.max(far).max(found.start) <= wanted * scale;
            !falls && finite && small && before.verdict == AccuracyVerdict::Accurate && before.ratio.is_some()
        });
        let noise = noise || before.is_some();
        let (bar, mean) = if let Some(before) = before {
            (
                before.error_bar.max(SAFETY * difference),
                before.mean_error_bar.max(SAFETY * found.mean_difference()),
            )
        } else if falls {
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
        let most = relative(SAFETY * (difference * most).max(found.start));
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
        let clearly = if falls {
            low > CLEARLY * wanted
        } else {
            self.companions == Companions::Fine && low > VERY_CLEARLY * wanted
        };
        let seen = falls && bar > wanted && (ratio <= power * power || low > wanted);
        judged.verdict = if doubt.is_none() && bar <= wanted && (noise || most <= CLEARLY * wanted) {
            AccuracyVerdict::Accurate
        } else if !unstable && doubt != Some(Doubt::Vanishes) && (clearly || seen) {
            AccuracyVerdict::NotAccurate
        } else {
            AccuracyVerdict::Unknown
        };
        let smallest = found.peak.min(found.peak_b).min(found.peak_c);
        let all_error = difference.max(far) >= ALL_ERROR * smallest && scale == found.peak;
        if judged.verdict == AccuracyVerdict::NotAccurate
            && all_error
            && judged.error_bar <= wanted * self.largest_of_unit(signal)
        {
            judged.verdict = AccuracyVerdict::Unknown;
            return (judged, Some(Doubt::Vanishes));
        }
        let doubt = doubt
            .or_else(|| (judged.verdict == AccuracyVerdict::Unknown).then_some(Doubt::NotFalling(ratio)));
        (judged, doubt)
    }

    fn driven(&self, component: usize) -> bool {
        self.drives.iter().any(|driven| driven.contains(&component))
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
                // Instants are seen at the ends of steps only: those of the run up to one step late, those of larger steps up to
                // two. What is beyond may double until the step is zero.
                let step = self.largest_step;
                let seen = if self.companions == Companions::Coarse { 2.0 * step } else { step };
                let apart = (most - seen * (1.0 + MEETS)).max(0.0);
                let bar = step + 2.0 * apart;
                judged.switching = Some(SwitchingInstants { count: run.changes.len(), error_bar: bar });
                (judged.relative, judged.at) = (bar / self.duration, at);
                judged.verdict = if judged.relative <= wanted {
                    AccuracyVerdict::Accurate
                } else if apart > wanted * self.duration {
                    AccuracyVerdict::NotAccurate
                } else {
                    AccuracyVerdict::Unknown
                };
                let unknown = judged.verdict == AccuracyVerdict::Unknown;
                unknown.then_some(Doubt::Coarse)
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
