//! Acceptance of steps and limits of the step size, with counters of the reasons.

use cosimo_system::{Reject, StepConfig};

/// A retry is at most this part of the failed size: a PI controller may propose growth right after a rejection, and would
/// loop for ever.
const RETRY_AT_MOST: f64 = 0.8;
/// The factor of the step size after a simulator refused a step.
const REFUSED: f64 = 0.5;

/// Limits of the step size.
#[derive(Debug, Clone, PartialEq)]
pub struct StepLimits {
    /// In seconds.
    pub min: f64,
    /// In seconds.
    pub max: f64,
    /// The smallest ratio of two consecutive steps.
    pub shrink: f64,
    /// The largest ratio of two consecutive steps.
    pub grow: f64,
    /// When steps are repeated.
    pub reject: Reject,
    /// Whether the controller changes the step size.
    pub adaptive: bool,
}

/// Counts of steps and of the reasons for their sizes. Tests rely on exact counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Accepted steps.
    pub steps: u64,
    /// Rejected steps.
    pub rejected: u64,
    /// Windows shortened to an event inside them.
    pub events: u64,
    /// Steps accepted with an indicator above 1.
    pub above_one: u64,
    /// Steps whose next size was raised to the minimum.
    pub at_minimum: u64,
    /// Steps whose next size was reduced to the maximum.
    pub at_maximum: u64,
    /// Steps limited by the growth ratio.
    pub growth_limited: u64,
    /// Steps limited by the shrink ratio.
    pub shrink_limited: u64,
    /// Model evaluations inside of simulators, repeated steps included.
    pub evaluations: u64,
    /// How often the matrices of linear models were renewed.
    pub linearised: u64,
    /// The largest age of those matrices, in windows.
    pub oldest_model: u64,
}

impl Counters {
    /// Reasons for step sizes, as text, with their counts.
    pub fn reasons(&self) -> [(&'static str, u64); 6] {
        [
            ("accepted above tolerance", self.above_one),
            ("at the smallest size", self.at_minimum),
            ("at the largest size", self.at_maximum),
            ("limited by the growth ratio", self.growth_limited),
            ("limited by the shrink ratio", self.shrink_limited),
            ("shortened to an event", self.events),
        ]
    }

    /// All counters in the order of checkpoints.
    pub(crate) fn all(&mut self) -> [&mut u64; 11] {
        [
            &mut self.steps,
            &mut self.rejected,
            &mut self.events,
            &mut self.above_one,
            &mut self.at_minimum,
            &mut self.at_maximum,
            &mut self.growth_limited,
            &mut self.shrink_limited,
            &mut self.evaluations,
            &mut self.linearised,
            &mut self.oldest_model,
        ]
    }
}

impl StepLimits {
    pub(crate) fn new(step: &StepConfig, adaptive: bool) -> StepLimits {
        StepLimits {
            min: step.min,
            max: step.max,
            shrink: step.shrink,
            grow: step.grow,
            reject: step.reject,
            adaptive,
        }
    }

    /// The first size; a request outside of the limits is clipped.
    pub fn first(&self, size: Option<f64>) -> f64 {
        let size = size.unwrap_or(self.min);
        if self.adaptive { size.clamp(self.min, self.max) } else { size }
    }

    /// The size to retry with, or `None` if the step is accepted.
    pub fn retry(&self, error: f64, factor: f64, size: f64, counters: &mut Counters) -> Option<f64> {
        if error <= 1.0 {
            return None;
        }
        if self.reject == Reject::Never || !self.adaptive || size <= self.min {
            counters.above_one += 1;
            return None;
        }
        counters.rejected += 1;
        let factor = factor.clamp(self.shrink, RETRY_AT_MOST);
        Some((factor * size).max(self.min))
    }

    /// The size to retry with after a simulator refused the step, or `None` if there is none.
    pub fn smaller(&self, size: f64) -> Option<f64> {
        (size > self.min).then(|| (REFUSED * size).max(self.min))
    }

    /// The next size after an accepted step: the rate of change is limited first, then the size itself.
    pub fn next(&self, size: f64, factor: f64, counters: &mut Counters) -> f64 {
        if !self.adaptive {
            return size;
        }
        let limited = factor.clamp(self.shrink, self.grow);
        let next = limited * size;
        if next >= self.max {
            counters.at_maximum += 1;
            self.max
        } else if next <= self.min {
            counters.at_minimum += 1;
            self.min
        } else {
            counters.growth_limited += u64::from(factor > self.grow);
            counters.shrink_limited += u64::from(factor < self.shrink);
            next
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(reject: Reject) -> StepLimits {
        StepLimits { min: 1e-4, max: 1e-2, shrink: 0.2, grow: 1.5, reject, adaptive: true }
    }

    #[test]
    fn trap_t11_a_request_below_the_minimum_yields_the_minimum() {
        let control = control(Reject::Never);
        let mut counters = Counters::default();
        assert_eq!(control.next(1.5e-4, 0.0, &mut counters), 1e-4);
        assert_eq!(control.first(Some(2e-8)), 1e-4);
        assert_eq!(counters.at_minimum, 1);
        assert_eq!(control.next(9e-3, f64::INFINITY, &mut counters), 1e-2);
    }

    #[test]
    fn a_retry_is_always_smaller_and_ends_at_the_minimum() {
        let control = control(Reject::AboveOne);
        let mut counters = Counters::default();
        let mut size = 1e-2;
        while let Some(next) = control.retry(2.0, 5.0, size, &mut counters) {
            assert!(next < size);
            size = next;
        }
        assert_eq!(size, 1e-4);
        assert_eq!(counters.above_one, 1);
        assert!(control.retry(1.0, 0.1, 1e-2, &mut counters).is_none());
    }

    #[test]
    fn the_rate_is_limited_before_the_size() {
        let mut counters = Counters::default();
        assert_eq!(control(Reject::Never).next(1e-3, 9.0, &mut counters), 1.5 * 1e-3);
        assert_eq!(counters.growth_limited, 1);
    }
}
