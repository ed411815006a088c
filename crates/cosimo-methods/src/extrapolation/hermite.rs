//! The cubic through values and offered slopes of the two newest samples. Degree 3 without a long history;
//! a line along the offered slope while there is one sample.
//!
//! A wrong slope would go unnoticed, so it is checked: over a step the mean slope lies between the slopes at its
//! ends, or as near to them as they are to each other. Where it does not, slopes are ignored and the parabola
//! through the values is used.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Extrapolation, ExtrapolationChoice};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{Sample, Segment, Trace, Window};

use super::polynomial::{of_degree, since_jump};

/// Rounding error of a mean slope, relative to value over step.
const ROUNDING: f64 = 1e-12;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Hermite;

impl Extrapolation for Hermite {
    fn degree(&self) -> u32 {
        3
    }

    fn history(&self) -> usize {
        3 // where slopes are implausible
    }

    #[inline]
    fn extrapolate(&self, known: Trace<'_>, window: Window) -> Segment {
        let new = known.back(0);
        match since_jump(&known, 2) {
            2 if plausible(new, known.back(1)) => cubic(new, known.back(1), window),
            1 if new.slope.is_finite() => {
                Segment::line(new.y + new.slope * (window.from.seconds() - new.t), new.slope)
            }
            _ => of_degree(2, known, window),
        }
    }

    fn switches(&self) -> bool {
        true
    }

    fn companion(&self) -> Box<dyn Extrapolation> {
        Box::new(super::quadratic::Quadratic)
    }
}

fn plausible(new: Sample, old: Sample) -> bool {
    let step = new.t - old.t;
    let mean = (new.y - old.y) / step;
    let rounding = ROUNDING * (new.y.abs() + old.y.abs()) / step;
    // NaN, which is an absent slope, is not plausible either.
    (mean - 0.5 * (new.slope + old.slope)).abs() <= (new.slope - old.slope).abs() + rounding
}

/// Newton's form with both instants counted twice.
fn cubic(new: Sample, old: Sample, window: Window) -> Segment {
    let back = old.t - new.t;
    let mean = (old.y - new.y) / back;
    let second = (mean - new.slope) / back;
    let third = ((old.slope - mean) / back - second) / back;
    // y + slope x + second x^2 + third x^2 (x - back), x counted from the newest sample; then moved to the window.
    let (c2, c3) = (second - third * back, third);
    let a = window.from.seconds() - new.t;
    Segment([
        new.y + a * (new.slope + a * (c2 + a * c3)),
        new.slope + a * (2.0 * c2 + a * 3.0 * c3),
        c2 + 3.0 * a * c3,
        c3,
    ])
}

pub(crate) const ENTRY: MethodEntry<dyn ExtrapolationChoice> = MethodEntry {
    name: "hermite",
    summary: "the cubic through two samples with offered slopes, which are checked against differences",
    source: "Hermite interpolation",
    order: "4",
    options: &[],
    needs: |_| Needs { slopes: true, ..Needs::NOTHING },
    build: |_| Box::new(Hermite),
};

#[cfg(test)]
mod tests {
    use super::super::polynomial::tests::{sampled, window};
    use super::*;

    #[test]
    fn is_exact_on_cubics_ahead_and_between() {
        let (y, slope) = (|t: f64| 1.0 + t * (2.0 + t * (-1.5 + t)), |t: f64| 2.0 + t * (-3.0 + 3.0 * t));
        let traces = sampled(&[0.1, 0.4], y, slope);
        for (from, to) in [(0.4, 0.6), (0.1, 0.4)] {
            let segment = Hermite.extrapolate(traces.trace(0), window(from, to));
            for s in [0.0, 0.1, 0.2] {
                assert!((segment.at(s) - y(from + s)).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn a_wrong_slope_is_ignored() {
        let traces = sampled(&[0.0, 0.1, 0.2], |t| t * t, |t| 4.0 * t + 1.0);
        let parabola = Hermite.extrapolate(traces.trace(0), window(0.2, 0.3));
        assert!((parabola.at(0.1) - 0.09).abs() < 1e-14);
        let without = sampled(&[0.0, 0.1, 0.2], |t| t * t, |_| f64::NAN);
        assert_eq!(parabola, Hermite.extrapolate(without.trace(0), window(0.2, 0.3)));
    }

    #[test]
    fn starts_along_the_slope() {
        let traces = sampled(&[1.0], |_| 2.0, |_| 3.0);
        assert_eq!(Hermite.extrapolate(traces.trace(0), window(1.0, 1.5)), Segment::line(2.0, 3.0));
    }
}
