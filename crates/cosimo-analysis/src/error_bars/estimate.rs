//! From differences of runs with three steps to the error of the first.
//!
//! With y(h) = y + C h^p differences have the ratio 2^p, and what is left of the error is the sum of a geometric series
//! (Richardson 1911, Aitken 1926). The ratio that is observed decides, not the order of the method.

use cosimo_core::math;

use super::judge::Companions;
use super::maxima::Maxima;

/// Differences below this part of the peak are rounding. Not the tolerance of solvers inside components: that would hide
/// values that are exchanged but do not move.
const ROUNDING: f64 = 1e-10;
/// The smallest ratio of differences that fall with the step.
pub(crate) const FALLS: f64 = 1.2;
/// A ratio is that of the method if it is within this part of the power of two of its order.
const REGULAR: f64 = 0.15;
/// Safety factor of error bars.
pub(crate) const SAFETY: f64 = 1.1;

/// The error of one signal, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) finite: bool,
    /// All differences are rounding.
    pub(crate) rounding: bool,
    /// They fall with the step.
    pub(crate) falls: bool,
    /// Of differences, from one step to half of it.
    pub(crate) ratio: f64,
    /// With the order of the method: hardly less.
    pub(crate) low: f64,
    /// Likely, with a safety factor: the largest, and the root mean square.
    pub(crate) bar: f64,
    pub(crate) mean: f64,
    /// With the slowest series: hardly more.
    pub(crate) most: f64,
}

impl Estimate {
    pub(crate) fn of(companions: Companions, order: u32, found: &Maxima, scale: f64) -> Estimate {
        let power = math::exp2(f64::from(order));
        let Maxima { difference, near, far, .. } = *found;
        let ratio = match companions {
            Companions::Coarse => far / near,
            Companions::Fine => near / far,
        };
        let rounding = [difference, near, far].iter().all(|part| *part <= ROUNDING * scale);
        let finite = [difference, near, far].iter().all(|part| part.is_finite());
        let least = match companions {
            Companions::Coarse => 1.0 / (power - 1.0),
            Companions::Fine => power / (power - 1.0),
        };
        let left = remaining(if rounding { power } else { ratio }, power);
        let [likely, most] = left.map(|left| match companions {
            Companions::Coarse => left,
            // The first difference, the second, and what is left of that.
            Companions::Fine => 1.0 + (1.0 + left) / ratio.clamp(FALLS, 2.0 * power),
        });
        let with_start = |part: f64| SAFETY * part.max(found.start);
        Estimate {
            finite,
            rounding,
            falls: finite && (rounding || ratio >= FALLS),
            ratio,
            low: difference * least,
            bar: with_start(difference * likely),
            mean: SAFETY * found.mean_difference() * likely,
            most: with_start(difference * most),
        }
    }
}

impl Estimate {
    /// Whether the ratio is that of the order of the method.
    pub(crate) fn regular(&self, order: u32) -> bool {
        (self.ratio / math::exp2(f64::from(order)) - 1.0).abs() <= REGULAR
    }
}

/// What is left of an error after the last of its differences, as a multiple of that, where the last two have a ratio: likely,
/// and at most.
///
/// Below a ratio of two, differences have not yet reached the first order, which the next ones come nearer to by halves. One
/// above that of the order of the method is believed up to the next order.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What three runs with steps h, 2h and 4h, or h, h/2 and h/4, find of an error as a function of the step.
    fn found(companions: Companions, error: impl Fn(f64) -> f64) -> Maxima {
        let [a, b, c] = match companions {
            Companions::Coarse => [1.0, 2.0, 4.0],
            Companions::Fine => [1.0, 0.5, 0.25],
        }
        .map(&error);
        let mut found = Maxima::NONE;
        (found.lowest, found.highest, found.peak) = (1.0 + a, 1.0 + a, (1.0 + a).abs());
        found.add_pair(1.0, 1.0, 1.0 + a, 1.0 + b);
        found.add_triple(1.0 + a, 1.0 + b, 1.0 + c);
        found
    }

    #[test]
    fn an_error_of_any_order_is_found_whatever_the_order_of_the_method() {
        for companions in [Companions::Coarse, Companions::Fine] {
            for (real, declared) in [(1, 1), (2, 2), (3, 3), (1, 2), (2, 1), (2, 3)] {
                let maxima = found(companions, |step| 1e-3 * math::powi(step, real));
                let estimate = Estimate::of(companions, declared, &maxima, 1.0);
                assert!(estimate.falls);
                let ratio = estimate.bar / SAFETY / 1e-3;
                assert!((ratio - 1.0).abs() < 1e-9, "{companions:?} {real} {declared}: {ratio}");
                assert!(estimate.most >= estimate.bar * (1.0 - 1e-12) || real > declared as i32);
            }
        }
    }

    #[test]
    fn an_error_that_has_not_reached_its_order_is_found_within_a_factor_of_two() {
        for companions in [Companions::Coarse, Companions::Fine] {
            for bend in [0.02, 0.1, 0.2] {
                // It saturates at large steps.
                let error = |step: f64| 1e-2 * step / (1.0 + bend * step);
                let estimate = Estimate::of(companions, 1, &found(companions, error), 1.0);
                let ratio = estimate.bar / error(1.0);
                assert!(estimate.falls && (1.0..2.0).contains(&ratio), "{companions:?} {bend}: {ratio}");
                assert!(estimate.low <= estimate.most);
            }
        }
    }

    #[test]
    fn what_does_not_fall_is_said_and_rounding_falls() {
        for companions in [Companions::Coarse, Companions::Fine] {
            // Exchange that does not move: the larger the step, the less.
            let frozen = Estimate::of(companions, 1, &found(companions, |step| 1e-3 / step), 1.0);
            assert!(!frozen.falls && frozen.finite, "{frozen:?}");
            let none = Estimate::of(companions, 2, &found(companions, |step| 1e-14 * step), 1.0);
            assert!(none.falls && none.rounding && none.bar < 1e-13, "{none:?}");
            let exact = Estimate::of(companions, 2, &found(companions, |_| 0.0), 1.0);
            assert!(exact.falls && exact.bar == 0.0 && exact.most == 0.0, "{exact:?}");
            let lost = found(companions, |step| if step == 1.0 { 0.0 } else { f64::NAN });
            assert!(!Estimate::of(companions, 1, &lost, 1.0).falls);
        }
    }
}
