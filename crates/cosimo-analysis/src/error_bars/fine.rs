//! Fine companions, after the run: it is repeated along its communication points, with halves and quarters of its steps
//! beside it, and any other runs that are to be compared at the same instants. Each lives on a thread of its own.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use cosimo_core::{Registry, companion};
use cosimo_engine::{BondTotals, Plan, Run};
use cosimo_system::System;

use super::follow::{Companion, Signals};
use super::judge::Companions;
use super::observed::{Observed, Point};

/// Rows that may wait to be compared.
const WAITING: usize = 256;
/// Of so many steps one has a point inside that lies on no grid.
const CUT_EVERY: usize = 16;
const CUT_EARLY: [usize; 3] = [1, 5, 11];
const CUT_AT: f64 = 0.381_966_011_250_105_1;

/// Called after every step, with the run on its own thread; `false` stops everything.
pub type StepCallback<'a> = Box<dyn FnMut(&Run) -> bool + 'a>;

/// How a companion is made on its thread.
pub(crate) type MakePlan<'a> = Box<dyn FnOnce() -> Result<Plan, String> + Send + 'a>;

/// One of the runs that are compared.
pub(crate) struct Lane<'a> {
    /// Makes its plan; the steps are those of the run in `parts`.
    pub(crate) plan: MakePlan<'a>,
    pub(crate) parts: u32,
    /// Steps of one size.
    pub(crate) steady: bool,
    /// It looks between communication points.
    pub(crate) cuts: bool,
    pub(crate) watch: Box<dyn FnOnce() -> StepCallback<'a> + Send + 'a>,
}

/// A communication point of a companion.
struct Row {
    values: Vec<f64>,
    jumped: Vec<bool>,
    /// A point inside the step before: its place as a fraction of that step, and the values there.
    inside: Option<(f64, Vec<f64>)>,
}

/// What a companion came to.
#[derive(Debug, Clone)]
pub(crate) struct LaneEnd {
    pub(crate) totals: Vec<BondTotals>,
    pub(crate) steps: u64,
}

/// Why a companion stopped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LaneError {
    Failed(String),
    Interrupted,
}

/// What repeating a run came to.
pub(crate) struct Repeated {
    pub(crate) found: Observed,
    /// Per further lane and signal: the largest distance from the run, and when.
    pub(crate) distances: Vec<Vec<(f64, f64)>>,
    /// Per lane, the run itself first.
    pub(crate) ends: Vec<Result<LaneEnd, LaneError>>,
}

/// The plan of the system with its steps multiplied.
pub(crate) fn scaled<'a>(
    signals: &'a Signals,
    system: &'a System,
    registry: &'a Registry,
    first: f64,
    factor: f64,
) -> MakePlan<'a> {
    Box::new(move || {
        let changed = signals.variant(system, first, factor);
        let planned = cosimo_engine::plan(&changed, registry);
        let planned = planned.map_err(|problems| cosimo_system::in_one_line(&problems))?;
        Ok(planned.with_rollback_checks(signals.rollback_checks.clone()))
    })
}

/// Repeats a run along its instants. The first three lanes are the run itself, its halves and its quarters.
pub(crate) fn repeat(signals: &Signals, instants: &[f64], lanes: Vec<Lane<'_>>) -> Repeated {
    let stop = AtomicBool::new(false);
    let stop = &stop;
    std::thread::scope(|scope| {
        let mut receivers = Vec::new();
        let mut threads = Vec::new();
        for lane in lanes {
            let (sender, receiver) = sync_channel(WAITING);
            receivers.push(receiver);
            threads.push(scope.spawn(move || {
                let outcome = lane.run(signals, instants, &sender, stop);
                if outcome == Err(LaneError::Interrupted) {
                    stop.store(true, Ordering::Relaxed);
                }
                outcome
            }));
        }
        let (found, distances) = compare(signals, instants, receivers);
        let ends = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(LaneError::Failed("a companion panicked".into())))
        });
        Repeated { found, distances, ends: ends.collect() }
    })
}

impl PartialEq for LaneEnd {
    fn eq(&self, other: &LaneEnd) -> bool {
        self.steps == other.steps && self.totals == other.totals
    }
}

impl Lane<'_> {
    fn run(
        self,
        signals: &Signals,
        instants: &[f64],
        rows: &SyncSender<Row>,
        stop: &AtomicBool,
    ) -> Result<LaneEnd, LaneError> {
        companion::mark_thread();
        let plan = (self.plan)().map_err(LaneError::Failed)?;
        let mut companion = signals.follow(plan, self.steady).map_err(LaneError::Failed)?;
        let mut watch = (self.watch)();
        send(rows, &companion, None);
        let mut cuts = 0;
        for (step, pair) in instants.windows(2).enumerate() {
            let [from, to] = [pair[0], pair[1]];
            let mut inside = None;
            let mut jumped = vec![false; companion.jumped.len()];
            let mut advance = |companion: &mut Companion, aim: f64| {
                companion.advance(aim).map_err(LaneError::Failed)?;
                jumped.iter_mut().zip(&companion.jumped).for_each(|(all, new)| *all |= new);
                if stop.load(Ordering::Relaxed) || !watch(companion.run()) {
                    return Err(LaneError::Interrupted);
                }
                Ok(())
            };
            let cut = self.cuts
                && signals.restrictions.anywhere
                && (CUT_EARLY.contains(&step) || step > 0 && step % CUT_EVERY == 0);
            let share = if cut {
                cuts += 1;
                (f64::from(cuts) * CUT_AT).fract()
            } else {
                f64::INFINITY
            };
            for part in 1..=self.parts {
                let end = f64::from(part) / f64::from(self.parts);
                if inside.is_none() && share < end {
                    advance(&mut companion, from + share * (to - from))?;
                    inside = Some((share, companion.values.clone()));
                }
                advance(&mut companion, if part == self.parts { to } else { from + end * (to - from) })?;
            }
            companion.jumped = jumped;
            send(rows, &companion, inside);
        }
        let totals = companion.run().summary().bonds.iter().map(|bond| bond.totals).collect();
        Ok(LaneEnd { totals, steps: companion.steps })
    }
}

fn send(rows: &SyncSender<Row>, companion: &Companion, inside: Option<(f64, Vec<f64>)>) {
    let row = Row { values: companion.values.clone(), jumped: companion.jumped.clone(), inside };
    // The comparison ended where it fails: another companion has.
    let _ = rows.send(row);
}

/// Compares all lanes, row by row, as far as the first three come.
fn compare(
    signals: &Signals,
    instants: &[f64],
    lanes: Vec<Receiver<Row>>,
) -> (Observed, Vec<Vec<(f64, f64)>>) {
    let mut found = Observed::new(Companions::Fine, signals);
    let [run, half, quarter, further @ ..] = &lanes[..] else { return (found, Vec::new()) };
    let mut distances = vec![vec![(0.0, f64::NAN); signals.width()]; further.len()];
    let take = |lane: &Receiver<Row>| lane.recv().ok();
    // Rows of the run around the present one, which is at `here`: those before, and one ahead.
    let (mut rows, mut here) = (VecDeque::from_iter(take(run)), 0);
    for (place, &time) in instants.iter().enumerate() {
        let (Some(half), Some(quarter)) = (take(half), take(quarter)) else { break };
        let others: Vec<Option<Row>> = further.iter().map(take).collect();
        rows.extend(take(run));
        let Some(own) = rows.get(here) else { break };
        found.add_row(time, &own.values);
        if place == 0 {
            found.begin(time, &half.values, &quarter.values);
        } else {
            found.add(&Point {
                time,
                since: time - instants[place - 1],
                a: &own.values,
                b: &half.values,
                c: Some(&quarter.values),
                jumped: &|signal| own.jumps(signal) != half.jumps(signal),
                around: &|signal, value| distance(value, rows.iter().map(|row| row.values[signal])),
            });
            found.add_inside(&rows[here - 1], own, &quarter);
            if let Some(after) = rows.get(here + 1) {
                let share = (time - instants[place - 1]) / (instants[place + 1] - instants[place - 1]);
                found.add_bends([&rows[here - 1], own, after], share);
            }
        }
        for (largest, other) in distances.iter_mut().zip(&others) {
            let Some(other) = other else { continue };
            for ((largest, value), other) in largest.iter_mut().zip(&own.values).zip(&other.values) {
                let apart = (value - other).abs();
                *largest = if apart > largest.0 { (apart, time) } else { *largest };
            }
        }
        here += 1;
        while here > 2 {
            rows.pop_front();
            here -= 1;
        }
    }
    (found, distances)
}

/// How far a value is from all others.
pub(crate) fn distance(value: f64, others: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = others
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), other| (low.min(other), high.max(other)));
    (low - value).max(value - high).max(0.0)
}

impl Row {
    fn jumps(&self, signal: usize) -> bool {
        self.jumped.get(signal).copied().unwrap_or(false)
    }
}

impl Observed {
    /// A point of a companion inside a step of the run.
    fn add_inside(&mut self, before: &Row, after: &Row, companion: &Row) {
        let Some((share, inside)) = &companion.inside else { return };
        for (signal, found) in self.maxima.iter_mut().enumerate() {
            if !(after.jumps(signal) || companion.jumps(signal)) {
                let line = before.values[signal] + share * (after.values[signal] - before.values[signal]);
                found.add_gap((inside[signal] - line).abs());
            }
        }
    }

    fn add_bends(&mut self, rows: [&Row; 3], share: f64) {
        for (signal, found) in self.maxima.iter_mut().enumerate() {
            if !(rows[1].jumps(signal) || rows[2].jumps(signal)) {
                found.add_bend(rows.map(|row| row.values[signal]), share);
            }
        }
    }
}
