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
/// An output is looked at when it exceeds its base by this factor.
const RISE: f64 = 2.0;
/// Values below this part of the largest value of any watched output, or below this value, count as zero: rounding grows
/// for long before it matters.
const ZERO_SHARE: f64 = 1e-9;
const ZERO: f64 = 1e-16;

/// Outputs that feed back, with their growth.
#[derive(Debug)]
pub(crate) struct GrowthWatch {
    outputs: Vec<usize>,
    /// Per output: the largest modulus before the present growth, within [`RISE`]. Beside the rest, because most checks need
    /// nothing else.
    bases: Vec<f64>,
    growths: Vec<Growth>,
    /// Steps until the next check.
    left: u64,
    /// The largest of `bases`.
    scale: f64,
}

/// Of an output that exceeds its base.
#[derive(Debug, Clone, Copy)]
struct Growth {
    /// The steps at which the growth began, and of the last check.
    since: u64,
    seen: u64,
    /// The modulus at the last check.
    last: f64,
    /// The largest growth between two checks.
    jump: f64,
    /// In all checks since the growth began it turned almost every step; it was fast.
    turning: bool,
    fast: bool,
}

impl Growth {
    fn from(base: f64, steps: u64) -> Growth {
        Growth { since: steps, seen: steps, last: base, jump: 1.0, turning: true, fast: true }
    }

    /// Returns whether it diverges, or the base that it begins from once more.
    fn judge(&mut self, (modulus, turns): (f64, bool), base: &mut f64, steps: u64, zero: f64) -> bool {
        if self.seen + EVERY < steps {
            *self = Growth::from(*base, steps - EVERY); // it was below its base meanwhile
        }
        let ratio = modulus / self.last.max(zero);
        self.turning &= turns && ratio > BEAT;
        self.fast &= ratio > FAST;
        if !(self.turning || self.fast) {
            *base = base.max(modulus);
            *self = Growth::from(*base, steps);
            return false;
        }
        (self.seen, self.last, self.jump) = (steps, modulus, self.jump.max(ratio));
        let growth = modulus / base.max(zero);
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
        GrowthWatch::of((0..watched.len()).filter(|&output| watched[output]).collect())
    }

    /// That never finds any.
    pub(crate) fn none() -> GrowthWatch {
        GrowthWatch::of(Vec::new())
    }

    fn of(outputs: Vec<usize>) -> GrowthWatch {
        let bases = vec![0.0; outputs.len()];
        let growths = vec![Growth::from(0.0, 0); outputs.len()];
        GrowthWatch { outputs, bases, growths, left: EVERY, scale: 0.0 }
    }

    /// Values at the start.
    pub(crate) fn begin(&mut self, values: &[f64]) {
        for (place, &output) in self.outputs.iter().enumerate() {
            self.bases[place] = values[output].abs();
            self.growths[place] = Growth::from(self.bases[place], 0);
            self.scale = self.scale.max(self.bases[place]);
        }
    }

    /// Called after each accepted step: whether a check is due. Kept apart from the check, which few steps make.
    #[inline(always)]
    pub(crate) fn is_due(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// The check, with the number of steps so far.
    #[cold]
    #[inline(never)]
    pub(crate) fn observe(
        &mut self,
        layout: &Layout,
        traces: &Traces,
        steps: u64,
        window: Window,
    ) -> Result<(), StepError> {
        self.left = EVERY;
        match self.check(traces, steps) {
            None => Ok(()),
            Some(place) => Err(self.error(layout, place, self.growths[place].last, steps, window)),
        }
    }

    /// The first output that diverges, by its place among those watched.
    fn check(&mut self, traces: &Traces, steps: u64) -> Option<usize> {
        if traces.levels() < SAMPLES {
            return None;
        }
        let (newest, before) = (traces.level(0), traces.level(1));
        let exceeds = |(&output, &base): (&usize, &f64)| exceeds(newest[output], before[output], base);
        let first = self.outputs.iter().zip(&self.bases).position(exceeds)?;
        self.judge_from(first, traces, steps)
    }

    /// The outputs from this place on that exceed their bases.
    #[cold]
    fn judge_from(&mut self, first: usize, traces: &Traces, steps: u64) -> Option<usize> {
        let (newest, before) = (traces.level(0), traces.level(1));
        let zero = self.zero();
        let mut diverges = None;
        for place in first..self.outputs.len() {
            let (output, base) = (self.outputs[place], &mut self.bases[place]);
            if exceeds(newest[output], before[output], *base) {
                if self.growths[place].judge(samples(traces, output), base, steps, zero) {
                    diverges = diverges.or(Some(place));
                }
                self.scale = self.scale.max(*base);
            }
        }
        diverges
    }

    /// Values below this count as zero.
    fn zero(&self) -> f64 {
        ZERO.max(ZERO_SHARE * self.scale)
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
        let zero = self.zero();
        let of = |place: usize| {
            let (modulus, _) = samples(traces, self.outputs[place]);
            (place, modulus, modulus / self.bases[place].max(zero))
        };
        let grown = (0..self.outputs.len()).map(of).filter(|(.., grown)| *grown > OVERFLOW_GROWTH);
        match grown.max_by(|a, b| a.2.total_cmp(&b.2)) {
            Some((place, modulus, _)) => self.error(layout, place, modulus, steps, window),
            None => error,
        }
    }

    fn error(&self, layout: &Layout, place: usize, modulus: f64, steps: u64, window: Window) -> StepError {
        StepError::Diverged {
            output: layout.ports().path(PowerVariable::Output(self.outputs[place])),
            growth: modulus / self.bases[place].max(self.zero()),
            steps: steps - self.growths[place].since,
            value: modulus,
            window,
        }
    }

    pub(crate) fn walk(&mut self, walk: &mut StateWalk<'_>) {
        walk.count(&mut self.left);
        walk.number(&mut self.scale);
        walk.numbers(&mut self.bases);
        for Growth { since, seen, last, jump, turning, fast } in &mut self.growths {
            walk.numbers([last, jump]);
            walk.count(since);
            walk.count(seen);
            walk.flag(turning);
            walk.flag(fast);
        }
    }
}

/// Whether an output is far enough above its base to look at it. Two samples, because one of an oscillation may be near zero in
/// every check; by a factor, so that a signal that rises slowly is looked at seldom.
#[inline]
fn exceeds(newest: f64, before: f64, base: f64) -> bool {
    newest.abs() > RISE * base || before.abs() > RISE * base
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
