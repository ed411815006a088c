//! Adaptive degree: hold, linear or quadratic, whichever would have predicted the last two samples best.
//!
//! In the spirit of CHOPtrey (Ben Khaled-El Feki et al. 2017) and F3ORNITS (Eguillon et al. 2021). It is a pure function
//! of past samples, so that a rollback needs no care. Of equally good degrees the lowest is used, so that a step change
//! is not overshot: no degree predicted it, and one sample later only hold is right. With two samples after the start or
//! a jump there is nothing to compare; they are joined by a line, because a second jump at once is rare and another held
//! step costs as much as the first.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Extrapolation, ExtrapolationChoice};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{Segment, Trace, Window};

use super::polynomial::{of_degree, since_jump};

/// Weights of the samples that are predicted from earlier ones, the latest first.
const WEIGHTS: [f64; 2] = [2.0, 1.0];
/// A higher degree must be better by this factor: two equally wrong degrees are no reason to follow a slope.
const BETTER: f64 = 0.5;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Online;

impl Extrapolation for Online {
    /// The lowest degree it may choose.
    fn degree(&self) -> u32 {
        0
    }

    fn history(&self) -> usize {
        4 + WEIGHTS.len()
    }

    #[inline]
    fn extrapolate(&self, known: Trace<'_>, window: Window) -> Segment {
        let count = since_jump(&known, 4 + WEIGHTS.len());
        // A sample at the window's end may be the guess of an iteration. If the degree depended on it, sweeps could
        // alternate between two degrees endlessly; and interpolation between two samples is at least linear.
        let guessed = usize::from(count > 1 && known.back(0).t >= window.to.seconds());
        let past = count - guessed;
        let mut best = usize::from(past == 2 || guessed == 1);
        let mut least = error(best, &known, guessed, count);
        for degree in best + 1..=2 {
            let error = error(degree, &known, guessed, count);
            if error < BETTER * least {
                (best, least) = (degree, error);
            }
        }
        of_degree(best, known, window)
    }

    fn switches(&self) -> bool {
        true
    }

    fn companion(&self) -> Box<dyn Extrapolation> {
        Box::new(super::hold::Hold)
    }
}

/// The mean error of a degree over the last samples that it could have predicted, the newest ones left out;
/// infinite if there is none. The latest counts twice, so that a curve that begins to move is followed one sample
/// after it did.
fn error(degree: usize, known: &Trace<'_>, left_out: usize, count: usize) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (target, weight) in (left_out..).zip(WEIGHTS).filter(|(target, _)| target + degree + 1 < count) {
        let sample = known.back(target);
        let predicted = known.polynomial_at(target + 1, degree + 1, sample.t);
        sum += weight * (sample.y - predicted).abs();
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { f64::INFINITY }
}

pub(crate) const ENTRY: MethodEntry<dyn ExtrapolationChoice> = MethodEntry {
    name: "online",
    summary: "hold, linear or quadratic per input and step, whichever predicted the last two samples best",
    source: "in the spirit of CHOPtrey (Ben Khaled-El Feki et al. 2017) and F3ORNITS (Eguillon et al. 2021)",
    order: "1 to 3",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Online),
};

#[cfg(test)]
mod tests {
    use super::super::polynomial::tests::{sampled, window};
    use super::*;

    /// The degree that is chosen after these samples.
    fn degree(times: &[f64], y: impl Fn(f64) -> f64) -> usize {
        let last = *times.last().unwrap();
        let traces = sampled(times, y, |_| f64::NAN);
        let segment = Online.extrapolate(traces.trace(0), window(last, last + 0.1));
        segment.0.iter().rposition(|coefficient| *coefficient != 0.0).unwrap_or(0)
    }

    #[test]
    fn the_degree_follows_the_curve() {
        let times = [0.0, 0.1, 0.2, 0.35, 0.5, 0.6];
        assert_eq!(degree(&times, |_| 3.0), 0);
        assert_eq!(degree(&times, |t| 3.0 - t), 1);
        assert_eq!(degree(&times, |t| 3.0 - t * t), 2);
        assert_eq!(degree(&times[..1], |t| 3.0 - t), 0);
        assert_eq!(degree(&times[..2], |t| 3.0 - t), 1); // nothing was tried yet
        assert_eq!(degree(&times[..3], |t| 3.0 - t), 1);
    }

    #[test]
    fn a_step_is_not_overshot() {
        let step = |t: f64| if t > 0.45 { 1.0 } else { 0.0 };
        for end in 5..=12 {
            let times: Vec<f64> = (0..end).map(|k| f64::from(k) * 0.1).collect();
            let last = *times.last().unwrap();
            let traces = sampled(&times, step, |_| f64::NAN);
            let segment = Online.extrapolate(traces.trace(0), window(last, last + 0.1));
            for s in [0.0, 0.05, 0.1] {
                assert!((-1e-12..=1.0 + 1e-12).contains(&segment.at(s)), "{last}: {segment:?}");
            }
        }
    }
}
