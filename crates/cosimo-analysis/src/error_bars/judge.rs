//! From running maxima to an error bar and a verdict per signal.
//!
//! With y(h) = y + C h^p the differences of runs with steps h, 2h and 4h have the ratio 2^p (Richardson 1911). The ratio that
//! is observed decides: where it is below what a falling error has, nothing is claimed (Roache 1994, J. Fluids Eng. 116).

use cosimo_core::math;

use super::estimate::{Estimate, FALLS, SAFETY};
use super::follow::MEETS;
use super::maxima::Maxima;
use super::switches::{SwitchDifference, Switches};
use super::{AccuracyVerdict, SignalAccuracy, SwitchingInstants};

/// What a point between communication points shows is nothing below this part of the wanted error.
const SEEN_BETWEEN: f64 = 0.1;
/// Beyond this multiple of the wanted error a signal is not accurate, whatever the ratio.
const CLEARLY: f64 = 3.0;
/// The same where differences do not fall: the run with smaller steps may be the worse one, if solvers inside components are.
const VERY_CLEARLY: f64 = 10.0;
/// Where smaller steps change a signal by almost the same each time, its error is not much more than that. Exchange that does
/// not move shows itself by differences that double.
const SLOW: f64 = 0.85;
const SLOWLY: f64 = 10.0;
/// Between these multiples of the wanted error, larger steps decide nothing if their ratio is not that of the method.
const OPEN: std::ops::Range<f64> = 0.5..3.0;
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
    /// The largest step, the last instant and the simulated time, in seconds.
    pub(crate) largest_step: f64,
    pub(crate) end: f64,
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
    /// The ratio is not that of the method, and it would matter.
    Irregular(f64),
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
            Doubt::Irregular(ratio) => {
                format!(
                    "differences from runs with {steps} do not fall as the method's should (ratio {ratio:.2})"
                )
            }
            Doubt::Coarse => "its switching instants are known to within a step only".into(),
            Doubt::Switches(at) => format!("with {steps} it switches otherwise from t = {at:.4e} s on"),
            Doubt::Upstream(name) => format!("it depends on `{name}`, which is in doubt"),
        }
    }

    /// Whether what depends on the signal is in doubt, too. Where smaller steps change it by the same each time, what depends
    /// on it shows that itself.
    fn spreads(&self, companions: Companions) -> bool {
        match self {
            Doubt::NotFalling(ratio) => companions == Companions::Coarse || !(SLOW..FALLS).contains(ratio),
            Doubt::Aliased | Doubt::Unstable | Doubt::TooShort | Doubt::Switches(_) => true,
            Doubt::Vanishes | Doubt::Irregular(_) | Doubt::Coarse | Doubt::Upstream(_) => false,
        }
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
            if !self.signals[index].drives
                || !doubt.as_ref().is_some_and(|doubt| doubt.spreads(self.companions))
            {
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
        let estimate = Estimate::of(self.companions, self.order, found, scale);
        let Estimate { falls, ratio, .. } = estimate;
        let rough = found.difference.max(found.far).max(found.start);
        let quiet = estimate.finite && !falls;
        // Without inputs there is no coupling error: what differs is the work of the solver inside.
        let solver = !self.driven(self.signals[signal].owner) && SAFETY * rough <= wanted * scale;
        // Differences fell with larger steps, and those with smaller ones are small: solvers inside components are not better.
        let before = self.before.map(|before| &before[signal]).filter(|before| {
            let fell = before.verdict == AccuracyVerdict::Accurate && before.ratio.is_some();
            quiet && fell && CLEARLY * rough <= wanted * scale
        });
        let slow = self.companions == Companions::Fine && ratio >= SLOW && SLOWLY * rough <= wanted * scale;
        let noise = quiet && (solver || slow || before.is_some() || self.is_noise(found, wanted, scale));
        (judged.error_bar, judged.mean_error_bar) = match before {
            Some(before) => (
                before.error_bar.max(SAFETY * found.difference),
                before.mean_error_bar.max(SAFETY * found.mean_difference()),
            ),
            None if falls => (estimate.bar, estimate.mean),
            // A rough figure, for listings: nothing is claimed with it.
            None => (CLEARLY * rough, CLEARLY * found.mean_difference()),
        };
        judged.ratio = (!estimate.rounding && ratio.is_finite()).then_some(ratio);
        let relative = |part: f64| if part == 0.0 { 0.0 } else { part / scale };
        judged.relative = relative(judged.error_bar);
        let aliased =
            found.gap > ALIASED * (found.bend + found.both) && relative(found.gap) > SEEN_BETWEEN * wanted;
        let unstable = self.companions == Companions::Coarse
            && (!estimate.finite
                || found.peak_b > UNSTABLE * found.peak && relative(found.difference) > wanted);
        let doubt = if unstable {
            Some(Doubt::Unstable)
        } else if !(falls || noise) {
            Some(Doubt::NotFalling(ratio))
        } else if aliased {
            Some(Doubt::Aliased)
        } else {
            vanishing
        };
        let bounded = noise || relative(estimate.most) <= CLEARLY * wanted;
        judged.verdict = if doubt.is_none() && judged.relative <= wanted && bounded {
            AccuracyVerdict::Accurate
        } else if !unstable && doubt != Some(Doubt::Vanishes) && self.exceeds(&estimate, scale, wanted) {
            AccuracyVerdict::NotAccurate
        } else {
            AccuracyVerdict::Unknown
        };
        if judged.verdict == AccuracyVerdict::NotAccurate
            && self.may_vanish(signal, scale, wanted, judged.error_bar)
        {
            judged.verdict = AccuracyVerdict::Unknown;
            return (judged, Some(Doubt::Vanishes));
        }
        let open = OPEN.contains(&(judged.relative / wanted)) && falls && !estimate.rounding;
        if self.companions == Companions::Coarse && doubt.is_none() && open && !estimate.regular(self.order) {
            judged.verdict = AccuracyVerdict::Unknown;
            return (judged, Some(Doubt::Irregular(ratio)));
        }
        let unknown = judged.verdict == AccuracyVerdict::Unknown;
        (judged, doubt.or_else(|| unknown.then_some(Doubt::NotFalling(ratio))))
    }

    /// The error is larger than wanted.
    fn exceeds(&self, estimate: &Estimate, scale: f64, wanted: f64) -> bool {
        let (bar, low) = (estimate.bar / scale, estimate.low / scale);
        if estimate.falls {
            let power = math::exp2(f64::from(self.order));
            low > CLEARLY * wanted || bar > wanted && (estimate.ratio <= power * power || low > wanted)
        } else {
            self.companions == Companions::Fine && low > VERY_CLEARLY * wanted
        }
    }

    /// The signal is little more than its error, and would be accurate beside others of its unit.
    fn may_vanish(&self, signal: usize, scale: f64, wanted: f64, bar: f64) -> bool {
        let found = &self.maxima[signal];
        let smallest = found.peak.min(found.peak_b).min(found.peak_c);
        let all_error = found.difference.max(found.far) >= ALL_ERROR * smallest;
        all_error && scale == found.peak && bar <= wanted * self.largest_of_unit(signal)
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
        match run.difference(b, self.end - 2.0 * self.largest_step) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A signal per component, each of which drives the next; the first has no inputs.
    struct Chain {
        infos: Vec<SignalInfo>,
        maxima: Vec<Maxima>,
        switches: Vec<[Switches; 3]>,
        drives: Vec<Vec<usize>>,
    }

    impl Chain {
        fn of(maxima: &[Maxima]) -> Chain {
            let info = |owner: usize| SignalInfo {
                name: format!("c{owner}.y"),
                unit: "m".into(),
                owner,
                drives: true,
                recorded: true,
            };
            let count = maxima.len();
            Chain {
                infos: (0..count).map(info).collect(),
                maxima: maxima.to_vec(),
                switches: (0..count).map(|_| [(); 3].map(|()| Switches::new(None))).collect(),
                drives: (1..=count).map(|next| if next < count { vec![next] } else { Vec::new() }).collect(),
            }
        }

        fn judged(&self, companions: Companions, before: Option<&[SignalAccuracy]>) -> Vec<SignalAccuracy> {
            let evidence = Evidence {
                companions,
                order: 1,
                signals: &self.infos,
                maxima: &self.maxima,
                switches: &self.switches,
                before,
                drives: &self.drives,
                shared: 10,
                largest_step: 0.1,
                end: 10.0,
                duration: 10.0,
            };
            evidence.judge(1e-2)
        }

        fn verdicts(&self, companions: Companions) -> Vec<AccuracyVerdict> {
            self.judged(companions, None).iter().map(|it| it.verdict).collect()
        }
    }

    /// Peaks of three runs, the run itself first, and differences of neighbours.
    fn found([a, b, c]: [f64; 3]) -> Maxima {
        let mut found = Maxima::NONE;
        (found.lowest, found.highest, found.peak) = (a, a, a.abs());
        found.add_pair(1.0, 1.0, a, b);
        found.add_triple(a, b, c);
        found
    }

    use AccuracyVerdict::{Accurate, NotAccurate, Unknown};

    #[test]
    fn doubt_spreads_downstream_and_not_from_a_source_whose_solver_is_good_enough() {
        let calm = found([1.0, 1.001, 1.003]);
        let stuck = found([1.0, 1.002, 1.003]);
        let after = Chain::of(&[calm, stuck, calm]);
        assert_eq!(after.verdicts(Companions::Coarse), [Accurate, Unknown, Unknown]);
        let reason = after.judged(Companions::Coarse, None)[2].reason.clone();
        assert_eq!(reason.as_deref(), Some("it depends on `c1.y`, which is in doubt"));
        assert_eq!(Chain::of(&[stuck, calm, calm]).verdicts(Companions::Coarse), [Accurate; 3]);
        // A source that differs by more than what is wanted is in doubt.
        assert_eq!(Chain::of(&[found([1.0, 1.1, 1.15]), calm]).verdicts(Companions::Coarse), [Unknown; 2]);
    }

    #[test]
    fn differences_of_solvers_hide_no_error_that_larger_steps_have_shown_to_fall() {
        let source = found([1.0, 1.0, 1.0]);
        let coarse = Chain::of(&[source, found([1.0, 1.001, 1.003])]).judged(Companions::Coarse, None);
        let fine = Chain::of(&[source, found([1.0, 1.0003, 0.9995])]);
        assert_eq!(fine.judged(Companions::Fine, None)[1].verdict, Unknown);
        let both = fine.judged(Companions::Fine, Some(&coarse));
        assert_eq!((both[1].verdict, both[1].error_bar), (Accurate, coarse[1].error_bar));
    }

    #[test]
    fn a_signal_that_goes_to_zero_is_compared_with_others_of_its_unit() {
        let large = found([5.0, 5.0, 5.0]);
        assert_eq!(
            Chain::of(&[large, found([0.01, 0.02, 0.04])]).verdicts(Companions::Coarse),
            [Accurate; 2]
        );
        assert_eq!(Chain::of(&[large, found([0.04, 0.02, 0.01])]).verdicts(Companions::Fine), [Accurate; 2]);
        // Whether it goes to zero is not clear, and it would matter.
        assert_eq!(Chain::of(&[large, found([0.01, 0.015, 0.06])]).verdicts(Companions::Coarse)[1], Unknown);
        // It does not, and has a large error.
        assert_eq!(Chain::of(&[large, found([2.0, 1.6, 1.4])]).verdicts(Companions::Fine)[1], NotAccurate);
    }

    #[test]
    fn larger_steps_decide_nothing_near_the_wanted_error_if_their_ratio_is_not_that_of_the_method() {
        let (source, calm) = (found([1.0; 3]), found([1.0, 1.001, 1.003]));
        let irregular = Chain::of(&[source, found([1.0, 1.006, 1.0144]), calm]);
        assert_eq!(irregular.verdicts(Companions::Coarse), [Accurate, Unknown, Accurate]);
        // Far from it they do.
        assert_eq!(
            Chain::of(&[source, found([1.0, 1.06, 1.144])]).verdicts(Companions::Coarse)[1],
            NotAccurate
        );
        assert_eq!(
            Chain::of(&[source, found([1.0, 1.0006, 1.00144])]).verdicts(Companions::Coarse)[1],
            Accurate
        );
        // What smaller steps change by the same each time is not much larger than that, if it is small enough.
        let slow = |part: f64| Chain::of(&[source, found([1.0, 1.0 + part, 1.0 + 2.0 * part])]);
        assert_eq!(slow(5e-4).verdicts(Companions::Fine)[1], Accurate);
        assert_eq!(slow(2e-3).verdicts(Companions::Fine)[1], Unknown);
    }

    #[test]
    fn what_differs_between_communication_points_is_aliased() {
        let mut between = found([1.0, 1.0, 1.0]);
        between.add_gap(0.5);
        assert_eq!(Chain::of(&[between, found([1.0; 3])]).verdicts(Companions::Coarse), [Unknown; 2]);
        between.bend = 0.4;
        assert_eq!(Chain::of(&[between, found([1.0; 3])]).verdicts(Companions::Coarse), [Accurate; 2]);
    }

    #[test]
    fn instants_of_switches_are_known_to_a_step_and_what_is_beyond_may_double() {
        let mut chain = Chain::of(&[found([1.0; 3])]);
        let mut shifted = |late: f64| {
            for (switches, at) in chain.switches[0].iter_mut().zip([1.0, 1.0 + late, 1.0]) {
                *switches = Switches::new(None);
                switches.add(0.0, 0.0);
                switches.add(at, 1.0);
            }
            let judged = chain.judged(Companions::Fine, None).remove(0);
            (judged.verdict, judged.switching.map(|it| it.error_bar))
        };
        assert_eq!(shifted(0.05), (Accurate, Some(0.1)));
        let (verdict, bar) = shifted(0.15);
        assert!(verdict == Unknown && (bar.unwrap() - 0.2).abs() < 1e-6, "{bar:?}");
        assert_eq!(shifted(0.25).0, NotAccurate);
    }
}
