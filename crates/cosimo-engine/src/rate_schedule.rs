//! Steps of components' own, as the step loop sees them: when one begins, where it ends, and what inputs were made for
//! it. `paced.rs` is the simulator that takes them.
//!
//! A component begins a step of its own with the first window after the last one. If the window is no shorter, it makes
//! several steps in it and nothing else is special. If it is, the component goes ahead to the end of its own step, and
//!
//! * no window crosses that end, so that everybody meets there;
//! * the inputs that were made when it began go on, corrections included: the ledger, estimates and corrections see
//!   what was applied, and residual energies are those that crossed;
//! * a correction speaks to it only when a step begins, for the whole of that step. What it owes from the windows in
//!   between adds up in its memory until then, so that what a step lost is paid back over the next one.
//!
//! Its own steps end early where everybody's do and that is known when they begin: at announced events, at instants of a
//! scenario, at the end of the run. An event that it meets inside sends everybody back to where its step began, which
//! then ends there. Of what others meet later on it hears when its step is over.

use std::ops::Range;

use cosimo_core::clock::{Limit, has_reached_end, parts};
use cosimo_core::method::OwnStep;
use cosimo_core::{Clock, LongStep, Segment, Time, Window};

use crate::plan::Layout;
use crate::state_walk::StateWalk;

/// A component with a step of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnRate {
    pub member: usize,
    /// In seconds.
    pub every: f64,
    /// It takes steps of that size only, so that nothing may cut them.
    pub rigid: bool,
    /// Of the polynomials that those who hear of it assume, at least 1: how its outputs are interpolated.
    pub degree: u32,
    pub inputs: Range<usize>,
    pub stage: usize,
}

/// Where a component is in its own steps.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RateState {
    clock: Clock,
    own: Window,
    /// Its step is longer than the window and begins with it.
    begins: bool,
    /// Its step is longer than the window.
    longer: bool,
    /// Something jumped since its step began, so that what lies before its next one says nothing about it.
    jumped: bool,
    steps: u64,
}

/// All of an island, with the inputs that were made for the longer steps.
#[derive(Debug, Clone)]
pub(crate) struct RateSchedule {
    all: Vec<RateState>,
    bookmark: Vec<RateState>,
    applied: Vec<Segment>,
    own: Vec<Option<OwnStep>>,
    /// Inputs that a correction is asked for.
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

    /// Who begins a step of his own with the window; whether anybody has to be told, because it is longer. An estimate may
    /// go by parts of a whole: whoever has steps no longer than that makes some in each part.
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

    /// An event happened, or a scenario acted.
    pub(crate) fn jump(&mut self) {
        self.all.iter_mut().for_each(|pace| pace.jumped = true);
    }

    /// Keeps the inputs of steps that begin, and lets those of steps under way go on.
    pub(crate) fn go_on(&mut self, layout: &Layout, stage: usize, window: Window, segments: &mut [Segment]) {
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

    /// Longer steps that begin with the window, with the inputs that they are made of.
    pub(crate) fn beginning<'a>(
        &'a self,
        layout: &'a Layout,
    ) -> impl Iterator<Item = (Range<usize>, Window)> + 'a {
        let beginning = layout.methods.rates.iter().zip(&self.all).filter(|(_, pace)| pace.begins);
        beginning.map(|(rate, pace)| (rate.inputs.clone(), pace.own))
    }

    /// Per input: the longer step that its simulator is in.
    pub(crate) fn own(&self) -> &[Option<OwnStep>] {
        &self.own
    }

    /// Where the next one of the longer steps ends.
    #[inline]
    pub(crate) fn next_end(&self, now: Time) -> Option<Time> {
        self.all.iter().map(|pace| pace.own).filter(|own| !has_reached_end(now, *own)).map(|own| own.to).min()
    }

    /// How many steps each of the components has made.
    pub(crate) fn steps(&self) -> impl Iterator<Item = u64> + '_ {
        self.all.iter().map(|pace| pace.steps)
    }

    pub(crate) fn set_bookmark(&mut self) {
        self.bookmark.copy_from_slice(&self.all);
    }

    /// Inputs need not be brought back: those of a step under way are never overwritten, those of one that begins are
    /// made again.
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

/// What may end a step of somebody's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OwnStepLimits {
    /// An event, an instant of a scenario or the end of the run.
    pub known: Limit,
    /// The end of the run alone.
    pub end: Limit,
}
