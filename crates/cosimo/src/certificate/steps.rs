//! Step sizes and indicators over time in bounded memory: equal groups of steps, each by its extremes. When there are too
//! many, neighbours become one.

use super::StepHistory;

/// As many as a page holds.
const GROUPS: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Group {
    /// The end of its last step.
    until: f64,
    smallest: f64,
    largest: f64,
    indicator: f64,
    rejected: u64,
}

impl Group {
    fn and(self, later: Group) -> Group {
        Group {
            until: later.until,
            smallest: self.smallest.min(later.smallest),
            largest: self.largest.max(later.largest),
            indicator: self.indicator.max(later.indicator),
            rejected: self.rejected + later.rejected,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    groups: Vec<Group>,
    /// Steps in each group but the last.
    share: u64,
    in_last: u64,
    rejected: u64,
}

impl Default for Steps {
    /// With all of its memory: steps must not allocate.
    fn default() -> Steps {
        Steps { groups: Vec::with_capacity(GROUPS), share: 1, in_last: 0, rejected: 0 }
    }
}

impl Steps {
    /// To be called after every step with the end of it, its size and indicator, and the count of rejections so far.
    pub fn look(&mut self, time: f64, size: f64, indicator: f64, rejected: u64) {
        let new = rejected.saturating_sub(self.rejected);
        self.rejected = rejected;
        let step = Group { until: time, smallest: size, largest: size, indicator, rejected: new };
        match self.groups.last_mut() {
            Some(last) if self.in_last < self.share => {
                *last = last.and(step);
                self.in_last += 1;
            }
            _ => {
                if self.groups.len() == GROUPS {
                    self.halve();
                }
                self.groups.push(step);
                self.in_last = 1;
            }
        }
    }

    fn halve(&mut self) {
        for k in 0..GROUPS / 2 {
            self.groups[k] = self.groups[2 * k].and(self.groups[2 * k + 1]);
        }
        self.groups.truncate(GROUPS / 2);
        self.share *= 2;
    }

    /// The smallest and the largest step.
    pub fn sizes(&self) -> (Option<f64>, Option<f64>) {
        let all = self.groups.iter().copied().reduce(Group::and);
        (all.map(|all| all.smallest), all.map(|all| all.largest))
    }

    /// Columns, a row per group.
    pub fn history(&self) -> StepHistory {
        let column = |of: fn(&Group) -> f64| -> Vec<f64> { self.groups.iter().map(of).collect() };
        StepHistory {
            steps_per_row: self.share,
            until: column(|group| group.until),
            smallest_size: column(|group| group.smallest),
            largest_size: column(|group| group.largest),
            worst_indicator: column(|group| group.indicator),
            rejected: self.groups.iter().map(|group| group.rejected).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_are_told_step_by_step() {
        let mut steps = Steps::default();
        steps.look(0.1, 0.1, 0.5, 0);
        steps.look(0.3, 0.2, 0.7, 2);
        let history = steps.history();
        assert_eq!(history.steps_per_row, 1);
        assert_eq!(history.until, [0.1, 0.3]);
        assert_eq!(history.rejected, [0, 2]);
        assert_eq!(steps.sizes(), (Some(0.1), Some(0.2)));
        assert_eq!(Steps::default().sizes(), (None, None));
    }

    #[test]
    fn no_extreme_of_a_long_run_is_lost() {
        let mut steps = Steps::default();
        for n in 1..=1_000_000_u64 {
            let size = if n == 777_777 { 1e-9 } else { 1e-3 };
            let indicator = if n == 123_457 { 40.0 } else { 1.0 };
            steps.look(n as f64, size, indicator, n / 10);
        }
        assert!(steps.groups.len() <= GROUPS && steps.groups.len() >= GROUPS / 2);
        assert_eq!(steps.groups.iter().map(|group| group.rejected).sum::<u64>(), 100_000);
        assert_eq!(steps.sizes(), (Some(1e-9), Some(1e-3)));
        assert_eq!(steps.groups.iter().filter(|group| group.indicator == 40.0).count(), 1);
        assert_eq!(steps.groups.last().unwrap().until, 1e6);
        assert_eq!(steps.groups.capacity(), GROUPS);
    }
}
