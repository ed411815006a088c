//! Detection of an unstable coupling: outputs that grow geometrically from step to step.
//!
//! An unstable map of macro steps multiplies its modes by a factor per step, whatever the step size; the exponential of an
//! unstable plant that the steps resolve grows little per step, and smoothly. So two kinds of growth count, both of outputs
//! in a cycle of components, both against the largest value before the growth began, and both in every check of some steps:
//!
//! * the output turns almost every step (its period is at most about four of them) and grows a million million-fold;
//! * the output grows by more than a quarter per step, sixty decades long.
//!
//! Neither may be one jump: the rest of the growth, without the largest between two checks, must be large, too. Thus an
//! exponential over fifty time constants, a signal that starts at nothing, an impact or an integral is no divergence.
//! Growth that is slower ends where values overflow, and is then called by this name as well.

use cosimo_core::error::StepError;
use cosimo_core::graph::components;
use cosimo_core::{PowerVariable, Traces, Window};

use crate::plan::Layout;
use crate::state_walk::StateWalk;

/// Steps between two checks.
const EVERY: u64 = 16;
/// Samples of a check: four places where an output can turn. An oscillation with a period of up to four steps turns at half
/// of them at least.
const SAMPLES: usize = 6;
/// Below this part of the last amplitude an oscillation has not grown; it is one sample of a beat otherwise.
const BEAT: f64 = 0.5;
/// Growth per check that is fast whether or not the output turns: a quarter per step is 35-fold in 16 steps.
const FAST: f64 = 30.0;
/// Growth that is divergence: of an output that turns almost every step, and of any.
const TURNING_GROWTH: f64 = 1e12;
const FAST_GROWTH: f64 = 1e60;
/// The same without the largest growth between two checks: a jump is no divergence.
const WITHOUT_JUMP: f64 = 1e6;
/// Growth after which an overflow is divergence.
const OVERFLOW_GROWTH: f64 = 1e30;
/// Values below this part of the largest value of any watched output, or below this value, count as zero: rounding grows
/// for long before it matters.
const ZERO_SHARE: f64 = 1e-9;
const ZERO: f64 = 1e-16;

/// Outputs that feed back, with their growth.
#[derive(Debug)]
pub(crate) struct GrowthWatch {
    outputs: Vec<Growth>,
    /// Steps until the next check.
    left: u64,
    /// The largest value of any of them when its growth began.
    scale: f64,
}

#[derive(Debug, Clone, Copy)]
struct Growth {
    output: usize,
    /// The largest modulus before the present growth, and the step at which that began.
    base: f64,
    since: u64,
    /// At the last check.
    last: f64,
    /// The largest growth between two checks.
    jump: f64,
    /// In all checks since the growth began it turned almost every step; it was fast.
    turning: bool,
    fast: bool,
}

impl Growth {
    /// Growth ends, or there is none.
    fn restart(&mut self, modulus: f64, steps: u64) {
        self.base = self.base.max(modulus);
        (self.since, self.jump, self.turning, self.fast) = (steps, 1.0, true, true);
    }

    /// Returns whether it diverges.
    fn judge(&mut self, modulus: f64, turns: bool, steps: u64, scale: f64) -> bool {
        let zero = ZERO.max(ZERO_SHARE * scale);
        let ratio = modulus / self.last.max(zero);
        self.last = modulus;
        self.turning &= turns && ratio > BEAT;
        self.fast &= ratio > FAST;
        if !(self.turning || self.fast) {
            self.restart(modulus, steps);
            return false;
        }
        self.jump = self.jump.max(ratio);
        let growth = modulus / self.base.max(zero);
        let diverges = self.turning && growth > TURNING_GROWTH || self.fast && growth > FAST_GROWTH;
        diverges && growth / self.jump > WITHOUT_JUMP
    }
}

impl GrowthWatch {
    /// Of outputs that drive a component on which their own depends.
    pub(crate) fn new(layout: &Layout) -> GrowthWatch {
        let topology = &layout.topology;
        let feeds = |component: usize| {
            let terms = topology.blocks[component].inputs.clone().flat_map(|i| topology.couplings.terms(i));
            terms.map(|term| term.output)
        };
        let needs: Vec<Vec<usize>> = (0..topology.blocks.len())
            .map(|component| feeds(component).map(|output| topology.owners[output]).collect())
            .collect();
        let mut cycle = vec![0; topology.blocks.len()];
        for (number, group) in components(needs.len(), |a, k| needs[a].get(k).copied()).iter().enumerate() {
            group.iter().for_each(|&member| cycle[member] = number);
        }
        let mut watched = vec![false; topology.owners.len()];
        for component in 0..topology.blocks.len() {
            for output in feeds(component) {
                watched[output] |= cycle[component] == cycle[topology.owners[output]];
            }
        }
        let growth =
            |output| Growth { output, base: 0.0, since: 0, last: 0.0, jump: 1.0, turning: true, fast: true };
        let outputs = (0..watched.len()).filter(|&output| watched[output]).map(growth).collect();
        GrowthWatch { outputs, left: EVERY, scale: 0.0 }
    }

    /// Values at the start.
    pub(crate) fn begin(&mut self, values: &[f64]) {
        for growth in &mut self.outputs {
            growth.last = values[growth.output].abs();
            growth.base = growth.last;
            self.scale = self.scale.max(growth.base);
        }
    }

    /// Called after each accepted step, with the number of steps so far.
    #[inline]
    pub(crate) fn observe(
        &mut self,
        layout: &Layout,
        traces: &Traces,
        steps: u64,
        window: Window,
    ) -> Result<(), StepError> {
        self.left -= 1;
        if self.left > 0 { Ok(()) } else { self.check(layout, traces, steps, window) }
    }

    #[cold]
    fn check(
        &mut self,
        layout: &Layout,
        traces: &Traces,
        steps: u64,
        window: Window,
    ) -> Result<(), StepError> {
        self.left = EVERY;
        if traces.levels() < SAMPLES {
            return Ok(());
        }
        let (mut scale, mut diverges) = (self.scale, None);
        for growth in &mut self.outputs {
            let (modulus, turns) = samples(traces, growth.output);
            if growth.judge(modulus, turns, steps, self.scale) && diverges.is_none() {
                diverges = Some(*growth);
            }
            scale = scale.max(growth.base);
        }
        self.scale = scale;
        match diverges {
            Some(growth) => Err(self.error(layout, &growth, growth.last, steps, window)),
            None => Ok(()),
        }
    }

    /// The same error as divergence, if it is an overflow after outputs grew; `traces` end at the last accepted step.
    pub(crate) fn explain(
        &self,
        error: StepError,
        layout: &Layout,
        traces: &Traces,
        steps: u64,
        window: Window,
    ) -> StepError {
        if !matches!(error, StepError::NotFinite { .. } | StepError::BadIndicator { .. }) {
            return error;
        }
        let zero = ZERO.max(ZERO_SHARE * self.scale);
        let of = |growth: &Growth| {
            let (modulus, _) = samples(traces, growth.output);
            (*growth, modulus, modulus / growth.base.max(zero))
        };
        let grown = self.outputs.iter().map(of).filter(|(.., grown)| *grown > OVERFLOW_GROWTH);
        match grown.max_by(|a, b| a.2.total_cmp(&b.2)) {
            Some((growth, modulus, _)) => self.error(layout, &growth, modulus, steps, window),
            None => error,
        }
    }

    fn error(&self, layout: &Layout, growth: &Growth, modulus: f64, steps: u64, window: Window) -> StepError {
        StepError::Diverged {
            output: layout.ports().path(PowerVariable::Output(growth.output)),
            growth: modulus / growth.base.max(ZERO.max(ZERO_SHARE * self.scale)),
            steps: steps - growth.since,
            value: modulus,
            window,
        }
    }

    pub(crate) fn walk(&mut self, walk: &mut StateWalk<'_>) {
        walk.count(&mut self.left);
        walk.number(&mut self.scale);
        for Growth { base, since, last, jump, turning, fast, .. } in &mut self.outputs {
            walk.numbers([base, last, jump]);
            walk.count(since);
            walk.flag(turning);
            walk.flag(fast);
        }
    }
}

/// The largest modulus of the newest samples, and whether the output turns at half of the places where it can or more;
/// repeated values, of simulators that answer every other step, are no places.
fn samples(traces: &Traces, output: usize) -> (f64, bool) {
    let count = traces.levels().min(SAMPLES);
    let mut values = [0.0; SAMPLES];
    for (level, value) in values[..count].iter_mut().enumerate() {
        *value = traces.level(level)[output];
    }
    let values = &values[..count];
    let modulus = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    let (mut places, mut turns, mut before) = (0, 0, 0.0);
    for change in values.windows(2).map(|two| two[1] - two[0]).filter(|change| *change != 0.0) {
        places += u32::from(before != 0.0);
        turns += u32::from(before * change < 0.0);
        before = change.signum();
    }
    (modulus, turns > 0 && 2 * turns >= places)
}

#[cfg(test)]
#[path = "../tests/private/divergence.rs"]
mod tests;
