//! An island with its own clock: one simulator with the steps of its solver, or several with their own method.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosimo_core::clock::StallDetector;
use cosimo_core::error::StepError;
use cosimo_core::{Segment, Setup, SimulatorError, Time};

use super::end::{EndState, EndTotals};
use super::rounds::IslandTotals;
use super::single::{SingleBlueprint, SingleIsland};
use crate::checkpoint::{self, CheckpointError, Progress};
use crate::island::Island;
use crate::plan::Plan;
use crate::run::Run;
use crate::state_walk::StateWalk;
use crate::summary::BondSummary;

/// An island before it is created on its thread.
pub(crate) struct IslandBlueprint {
    pub(super) body: BlueprintBody,
    pub(super) ends: IslandEnds,
    pub(super) setup: Setup,
}

pub(super) enum BlueprintBody {
    Solo(Box<SingleBlueprint>),
    Group(Box<Plan>),
}

/// The line ends of an island, shared with its simulators at lines. Never contended: all are used on the thread of the
/// island.
pub(crate) type IslandEnds = Arc<Mutex<Vec<EndState>>>;

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // The panic has been reported, and the data is not used again.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An island of a run.
pub(crate) struct LineIsland {
    body: IslandBody,
    ends: IslandEnds,
    past: RecentRows,
    stop: f64,
    pub(crate) time: f64,
    start: f64,
    steps: u64,
    evaluations: u64,
    crawl: StallDetector,
    /// The serialized state, to or from a checkpoint.
    pub(crate) serialized: Vec<u8>,
    /// Wall time of its steps, if measured.
    pub(crate) spent: Option<Duration>,
}

enum IslandBody {
    Solo(Box<SingleIsland>),
    Group(Box<Island>),
}

/// Rows of an island, from the last step before the displayed instant on.
#[derive(Default)]
struct RecentRows {
    /// Time and values, row by row.
    rows: VecDeque<f64>,
    width: usize,
    /// The last row.
    row: Vec<f64>,
}

impl LineIsland {
    /// Called on its thread.
    pub(crate) fn new(seed: IslandBlueprint) -> Result<LineIsland, SimulatorError> {
        let IslandBlueprint { body, ends, setup } = seed;
        let start = setup.start.seconds();
        let stop = setup.stop.map_or(f64::INFINITY, Time::seconds);
        // During initialisation efforts are known and flows are not.
        lock(&ends).iter_mut().for_each(|end| end.begin(start, 0.0));
        let body = match body {
            BlueprintBody::Solo(seed) => IslandBody::Solo(Box::new(SingleIsland::new(*seed, &ends, &setup)?)),
            BlueprintBody::Group(plan) => {
                let island = Run::check_rollback(*plan).and_then(|plan| Ok(plan.into_island()?));
                let island = island.map_err(|error| SimulatorError::new("start", error.to_string()))?;
                for end in lock(&ends).iter_mut() {
                    end.place = island.layout.topology.blocks[end.member].outputs.start + end.flow;
                    end.begin(start, island.outputs()[end.place]);
                }
                IslandBody::Group(Box::new(island))
            }
        };
        let mut isle = LineIsland {
            body,
            ends,
            past: RecentRows::default(),
            stop,
            time: start,
            start,
            steps: 0,
            evaluations: 0,
            crawl: StallDetector::between(start, stop),
            serialized: Vec::new(),
            spent: None,
        };
        isle.add_row();
        isle.past.width = isle.past.row.len();
        Ok(isle)
    }

    fn finished(&self) -> bool {
        self.time >= self.stop
    }

    /// Receives stamps and notices; then steps while all needed stamps have arrived, or until `until`. Returns whether there
    /// was a step.
    pub(crate) fn round(&mut self, until: f64) -> Result<bool, SimulatorError> {
        let now = self.time;
        self.with_ends(|ends| ends.iter_mut().for_each(|end| end.receive(now)));
        let mut moved = false;
        // Islands with lines stop by missing stamps only: rounds, and so notices, must not depend on `until`.
        let bound = self.with_ends(|ends| !ends.is_empty());
        while !self.finished() && (bound || self.time < until) && self.step()? {
            moved = true;
            self.add_row();
        }
        Ok(moved)
    }

    /// One step, unless stamps are missing.
    fn step(&mut self) -> Result<bool, SimulatorError> {
        let (time, stop) = (self.time, self.stop);
        let stepped = match &mut self.body {
            IslandBody::Solo(solo) => solo.step(&self.ends, time, stop)?,
            IslandBody::Group(island) => {
                let ends = lock(&self.ends);
                // Nothing is published inside of a step: half a delay lets the next step begin.
                let longest = ends.iter().map(|end| 0.5 * end.delay()).fold(f64::INFINITY, f64::min);
                island.size = island.size.min(longest);
                let to = (time + island.size).min(stop);
                if !ends.iter().all(|end| end.ready(time, to)) {
                    return Ok(false);
                }
                // Its simulators at lines lock the ends, too.
                drop(ends);
                let before = island.board.counters.evaluations;
                step_with_events(island)?;
                let now = island.clock.now().seconds();
                debug_assert!(now <= to || !to.is_finite() || (now - to).abs() < 1e-6 * (to - time));
                for end in lock(&self.ends).iter_mut() {
                    let sample = end.sample(time, now, island.outputs()[end.place]);
                    end.judge(&sample);
                    end.publish(sample);
                }
                Some((now, island.board.counters.evaluations - before))
            }
        };
        let Some((now, evaluations)) = stepped else { return Ok(false) };
        if self.crawl.is_stalled(now - time) {
            let words = format!(
                "the run stalls: {} consecutive steps of about {:e} s",
                StallDetector::MOST,
                now - time
            );
            return Err(SimulatorError::new("step", words));
        }
        self.time = now;
        self.steps += 1;
        self.evaluations += evaluations;
        Ok(true)
    }

    pub(crate) fn with_ends<R>(&self, work: impl FnOnce(&mut [EndState]) -> R) -> R {
        work(&mut lock(&self.ends))
    }

    /// Adds a row: the time; outputs and inputs of each simulator; then effort, delay and steadiness of each end.
    fn add_row(&mut self) {
        let ends = lock(&self.ends);
        let row = &mut self.past.row;
        row.clear();
        row.push(self.time);
        match &self.body {
            IslandBody::Solo(solo) => {
                row.extend_from_slice(&solo.outputs);
                let first = row.len();
                row.extend(solo.simulator.segments.iter().map(Segment::start));
                for end in ends.iter() {
                    row[first + end.effort] = end.newest_effort();
                }
            }
            IslandBody::Group(island) => {
                let (outputs, topology) = (island.outputs(), &island.layout.topology);
                // Efforts of lines are hidden from the plan and inserted here: they are in the order of inputs.
                let mut hidden = ends.iter().peekable();
                for (member, block) in topology.blocks.iter().enumerate() {
                    row.extend_from_slice(&outputs[block.outputs.clone()]);
                    let mut plain =
                        block.inputs.clone().map(|input| topology.couplings.value(input, outputs));
                    for port in 0.. {
                        if let Some(end) = hidden.next_if(|end| (end.member, end.effort) == (member, port)) {
                            row.push(end.newest_effort());
                        } else if let Some(value) = plain.next() {
                            row.push(value);
                        } else {
                            break;
                        }
                    }
                }
            }
        }
        for end in ends.iter() {
            row.extend([end.own.newest().effort, end.delay(), f64::from(u8::from(end.is_still()))]);
        }
        self.past.rows.extend(&*row);
    }

    /// Interpolates the rows at an instant.
    pub(crate) fn show(&mut self, t: f64) {
        let RecentRows { rows, width, row } = &mut self.past;
        let width = *width;
        // Of two rows of one instant the second counts.
        while rows.len() > width && rows[width] <= t {
            rows.drain(..width);
        }
        let part = if rows.len() > width { ((t - rows[0]) / (rows[width] - rows[0])).max(0.0) } else { 0.0 };
        row.clear();
        row.extend((1..width).map(|place| {
            let a = rows[place];
            if part > 0.0 { a + part * (rows[width + place] - a) } else { a }
        }));
    }

    /// A value of the last interpolated row.
    pub(crate) fn shown(&self, place: usize) -> f64 {
        self.past.row[place]
    }

    pub(crate) fn serialize_state(&mut self) -> Result<(), SimulatorError> {
        let mut bytes = Vec::new();
        let mut walk = StateWalk::Write(&mut bytes);
        self.walk(&mut walk)?;
        walk.end()?;
        self.serialized = bytes;
        Ok(())
    }

    pub(crate) fn deserialize_state(&mut self) -> Result<(), SimulatorError> {
        let bytes = std::mem::take(&mut self.serialized);
        let mut walk = StateWalk::Read(Some(&bytes));
        self.walk(&mut walk)?;
        walk.end()
    }

    /// Writes or reads the state, between two rounds.
    fn walk(&mut self, walk: &mut StateWalk<'_>) -> Result<(), SimulatorError> {
        walk.number(&mut self.time);
        walk.count(&mut self.steps);
        walk.count(&mut self.evaluations);
        walk.queue(&mut self.past.rows);
        match &mut self.body {
            IslandBody::Solo(solo) => solo.walk(walk)?,
            IslandBody::Group(island) => {
                let fault =
                    |error: CheckpointError| SimulatorError::new("serialize_state", error.to_string());
                checkpoint::walk(island, None, None, &mut Progress::default(), walk).map_err(fault)?;
            }
        }
        self.with_ends(|ends| ends.iter_mut().for_each(|end| end.walk(walk)));
        Ok(())
    }

    /// Sets an unconnected input from the next step on. Only islands of one simulator have such inputs.
    pub(crate) fn set_input(&mut self, input: usize, value: f64) {
        if let IslandBody::Solo(solo) = &mut self.body {
            solo.set_input(input, value);
        }
    }

    pub(crate) fn totals(&self) -> IslandTotals {
        let (taken_back, bonds) = match &self.body {
            IslandBody::Solo(_) => {
                (self.with_ends(|ends| ends.iter().map(|end| end.stats.taken_back).sum()), Vec::new())
            }
            IslandBody::Group(island) => (island.board.counters.rejected, BondSummary::all(island)),
        };
        let (steps, evaluations) = (self.steps, self.evaluations);
        IslandTotals { name: String::new(), steps, taken_back, evaluations, bonds }
    }

    /// Totals of each end, and the energy that it has sent and the other has not read.
    pub(crate) fn end_totals(&self) -> Vec<(EndTotals, f64)> {
        let (now, elapsed) = (self.time, self.time - self.start);
        self.with_ends(|ends| ends.iter().map(|end| (end.totals(elapsed), end.stored(now))).collect())
    }
}

/// A step of an island of several simulators, and the events at its end.
fn step_with_events(island: &mut Island) -> Result<(), SimulatorError> {
    let said = |error: StepError| match error {
        StepError::Ended { function, .. } => SimulatorError::end(function),
        error => SimulatorError::new("step", error.to_string()),
    };
    island.step().map_err(|error| said(island.explain(error)))?;
    if island.board.ended.is_none() && island.due() {
        island.handle_events().map_err(said)?;
    }
    island.board.ended.map_or(Ok(()), |(_, function)| Err(SimulatorError::end(function)))
}
