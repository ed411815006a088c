//! Step sizes and indicators over time in bounded memory: equal groups of steps, each by its extremes.

use cosimo_core::groups::Groups;

use super::StepHistory;

/// As many as a page holds.
const GROUPS: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq)]
struct HistoryGroup {
    /// The end of its last step.
    until: f64,
    smallest: f64,
    largest: f64,
    indicator: f64,
    rejected: u64,
}

impl HistoryGroup {
    fn and(self, later: HistoryGroup) -> HistoryGroup {
        HistoryGroup {
            until: later.until,
            smallest: self.smallest.min(later.smallest),
            largest: self.largest.max(later.largest),
            indicator: self.indicator.max(later.indicator),
            rejected: self.rejected + later.rejected,
        }
    }
}

/// The history of step sizes, in bounded memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steps {
    groups: Groups<HistoryGroup, GROUPS>,
    rejected: u64,
}

impl Steps {
    /// To be called after every step with the end of it, its size and indicator, and the count of rejections so far.
    pub fn observe(&mut self, time: f64, size: f64, indicator: f64, rejected: u64) {
        let new = rejected.saturating_sub(self.rejected);
        self.rejected = rejected;
        let step = HistoryGroup { until: time, smallest: size, largest: size, indicator, rejected: new };
        self.groups.add(step, 1, HistoryGroup::and);
    }

    /// The smallest and the largest step.
    pub fn sizes(&self) -> (Option<f64>, Option<f64>) {
        let all = self.groups.all().iter().copied().reduce(HistoryGroup::and);
        (all.map(|all| all.smallest), all.map(|all| all.largest))
    }

    /// Columns, a row per group.
    pub fn history(&self) -> StepHistory {
        let column =
            |of: fn(&HistoryGroup) -> f64| -> Vec<f64> { self.groups.all().iter().map(of).collect() };
        StepHistory {
            steps_per_row: self.groups.share(),
            until: column(|group| group.until),
            smallest_size: column(|group| group.smallest),
            largest_size: column(|group| group.largest),
            worst_indicator: column(|group| group.indicator),
            rejected: self.groups.all().iter().map(|group| group.rejected).collect(),
        }
    }
}
