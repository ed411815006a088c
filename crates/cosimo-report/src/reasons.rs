//! Why steps had their size, over time and in bounded memory: counters that grow from step to step.

use cosimo_core::groups::Groups;
use cosimo_engine::Counters;

/// Groups that a picture can hold.
const GROUPS: usize = 1024;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reasons {
    groups: Groups<StepGroup, GROUPS>,
    /// The end of the last step, and what was counted up to it.
    time: f64,
    seen: [u64; 6],
    steps: u64,
}

/// Steps between two instants, and how many of them had each of the reasons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepGroup {
    pub from: f64,
    pub to: f64,
    pub steps: u64,
    pub counts: [u64; 6],
}

impl StepGroup {
    fn and(self, later: StepGroup) -> StepGroup {
        let counts = std::array::from_fn(|k| self.counts[k] + later.counts[k]);
        StepGroup { from: self.from, to: later.to, steps: self.steps + later.steps, counts }
    }
}

impl Reasons {
    /// Where the run stands before its first step here.
    pub fn begin(&mut self, time: f64, counters: &Counters) {
        let seen = counters.reasons().map(|(_, count)| count);
        *self = Reasons { time, seen, steps: counters.steps, ..Reasons::default() };
    }

    /// To be called after every step with the end of it and the counts so far.
    pub fn observe(&mut self, time: f64, counters: &Counters) {
        let now = counters.reasons().map(|(_, count)| count);
        let steps = counters.steps.saturating_sub(self.steps);
        let counts = std::array::from_fn(|k| now[k].saturating_sub(self.seen[k]));
        self.groups.add(StepGroup { from: self.time, to: time, steps, counts }, steps, StepGroup::and);
        (self.time, self.seen, self.steps) = (time, now, counters.steps);
    }

    /// One after the other without gaps.
    pub fn groups(&self) -> &[StepGroup] {
        self.groups.all()
    }
}
