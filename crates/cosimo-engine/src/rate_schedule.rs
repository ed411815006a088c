//! The schedule of multi-rate steps: when they begin, where they end, and their inputs. `multi_rate.rs` is the simulator
//! that takes them.
//!
//! A component begins a step with the first window after its last step. If the window is at least as long, the component
//! makes several steps in it. If it is shorter, the component steps ahead to the end of its own step, and
//!
//! * no window crosses that end, which is a common communication point;
//! * its inputs of the beginning are continued, corrections included: the ledger, estimates and corrections see the
//!   applied inputs, and residual energies are those that were transmitted;
//! * it is corrected only when a step begins, for the whole step. Errors of the windows in between accumulate in the
//!   memory of the correction, so that the error of a step is compensated in the next one.
//!
//! Its steps end early at instants that are known when they begin: announced events, scenario actions, the stop time. An
//! event inside of its step rolls all simulators back to the beginning of that step, which then ends at the event. Later
//! events of other simulators take effect when its step is over.

use std::ops::Range;

use cosimo_core::clock::{Limit, has_reached_end, parts};
use cosimo_core::method::OwnStep;
use cosimo_core::{Clock, LongStep, Segment, Time, Window};

use crate::plan::Layout;
use crate::state_walk::StateWalk;

/// A multi-rate component.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnRate {
    /// The index of the simulator.
    pub member: usize,
    /// The step size in seconds.
    pub every: f64,
    /// The step size is fixed and must not be shortened.
    pub rigid: bool,
    /// The degree of interpolation of its outputs: that of the extrapolations they drive, at least 1.
    pub degree: u32,
    /// The indices of its inputs.
    pub inputs: Range<usize>,
    /// The stage in which it steps.
    pub stage: usize,
}

/// The progress of a component in its steps.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RateState {
    clock: Clock,
    own: Window,
    /// Its step is longer than the window and begins with it.
    begins: bool,
    /// Its step is longer than the window.
    longer: bool,
    /// A jump occurred since its step began, so past samples are not used for the next one.
    jumped: bool,
    steps: u64,
}

/// All multi-rate components of an island, with the inputs of longer steps.
#[derive(Debug, Clone)]
pub(crate) struct RateSchedule {
    all: Vec<RateState>,
    bookmark: Vec<RateState>,
    applied: Vec<Segment>,
    own: Vec<Option<OwnStep>>,
    /// Scratch: inputs to be corrected.
    pub(crate) mask: Vec<bool>,
}

impl RateSchedule {
    pub(crate) fn new(layout: &Layout) -> RateSchedule {
        let inputs = if layout.methods.rates.is_empty() { 0 } else { layout.topology.shape.inputs };
        let start = RateState {
            clock: Clock::starting_at(layout.limits.start),
            own: Window { from: layout.limits.start, to: layout.limits.start, size: 0.0 },
            begins: false,
            longer: false,
            jumped: false,
            steps: 0,
        };
        RateSchedule {
            all: vec![start; layout.methods.rates.len()],
            bookmark: vec![start; layout.methods.rates.len()],
            applied: vec![Segment::ZERO; inputs],
            own: vec![None; inputs],
            mask: vec![false; inputs],
        }
    }

    /// Begins steps with the window. Returns whether one is longer than the window. An estimate may split a step of size
    /// `whole` into windows: components with steps up to `whole` make some in each.
    pub(crate) fn begin(
        &mut self,
        layout: &Layout,
        window: Window,
        whole: f64,
        limits: OwnStepLimits,
        leads: &mut [Option<LongStep>],
    ) -> bool {
        let mut told = false;
        for (rate, pace) in layout.methods.rates.iter().zip(&mut self.all) {
            pace.begins = false;
            if has_reached_end(window.from, pace.own) {
                let limit = if rate.rigid { limits.end } else { limits.known };
                pace.own = pace.clock.own(rate.every, window, whole, limit);
                pace.clock.accept(pace.own);
                pace.longer = !has_reached_end(window.to, pace.own);
                pace.begins = pace.longer;
                pace.steps += if pace.longer { 1 } else { parts(pace.own, rate.every).0 };
            }
            if pace.begins {
                let degree = if pace.jumped { 1 } else { rate.degree };
                leads[rate.member] = Some(LongStep { own: pace.own, degree });
                told = true;
            }
            pace.jumped &= pace.longer && !pace.begins;
            let own = pace.longer.then_some(OwnStep { size: pace.own.size, begins: pace.begins });
            self.own[rate.inputs.clone()].fill(own);
        }
        told
    }

    /// An event or a scenario action caused a jump.
    pub(crate) fn jump(&mut self) {
        self.all.iter_mut().for_each(|pace| pace.jumped = true);
    }

    /// Stores the inputs of steps that begin, and continues those of longer steps.
    pub(crate) fn continue_inputs(
        &mut self,
        layout: &Layout,
        stage: usize,
        window: Window,
        segments: &mut [Segment],
    ) {
        let longer = layout.methods.rates.iter().zip(&self.all).filter(|(_, pace)| pace.longer);
        for (rate, pace) in longer.filter(|(rate, _)| rate.stage == stage) {
            let (segments, applied) =
                (&mut segments[rate.inputs.clone()], &mut self.applied[rate.inputs.clone()]);
            if pace.begins {
                applied.copy_from_slice(segments);
                continue;
            }
            let since = window.from.seconds() - pace.own.from.seconds();
            for (segment, applied) in segments.iter_mut().zip(applied) {
                *segment = applied.after(since);
            }
        }
    }

    /// Longer steps that begin with the window, with their inputs.
    pub(crate) fn beginning<'a>(
        &'a self,
        layout: &'a Layout,
    ) -> impl Iterator<Item = (Range<usize>, Window)> + 'a {
        let beginning = layout.methods.rates.iter().zip(&self.all).filter(|(_, pace)| pace.begins);
        beginning.map(|(rate, pace)| (rate.inputs.clone(), pace.own))
    }

    /// Per input: the present longer step of its simulator.
    pub(crate) fn own(&self) -> &[Option<OwnStep>] {
        &self.own
    }

    /// The earliest end of the present longer steps.
    #[inline]
    pub(crate) fn next_end(&self, now: Time) -> Option<Time> {
        self.all.iter().map(|pace| pace.own).filter(|own| !has_reached_end(now, *own)).map(|own| own.to).min()
    }

    /// The number of steps per component.
    pub(crate) fn steps(&self) -> impl Iterator<Item = u64> + '_ {
        self.all.iter().map(|pace| pace.steps)
    }

    pub(crate) fn set_bookmark(&mut self) {
        self.bookmark.copy_from_slice(&self.all);
    }

    /// Inputs need no restoring: those of a present step are never overwritten, those of a new one are computed again.
    pub(crate) fn rewind(&mut self) {
        self.all.copy_from_slice(&self.bookmark);
    }

    pub(crate) fn walk(&mut self, walk: &mut StateWalk<'_>) {
        for pace in &mut self.all {
            walk.clock(&mut pace.clock);
            walk.window(&mut pace.own);
            walk.flag(&mut pace.longer);
            walk.flag(&mut pace.jumped);
            walk.count(&mut pace.steps);
        }
        walk.segments(&mut self.applied);
    }
}

/// Limits of multi-rate steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OwnStepLimits {
    /// An event, a scenario action or the stop time.
    pub known: Limit,
    /// The stop time only.
    pub end: Limit,
}
