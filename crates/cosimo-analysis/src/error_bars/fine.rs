//! Fine companions, after the run: it is repeated along its communication points, with halves and quarters of its steps
//! beside it, and any other runs that are to be compared at the same instants. Each lives on a thread of its own.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::ScopedJoinHandle;

use cosimo_core::{Registry, companion};
use cosimo_engine::{BondTotals, Plan, Run};
use cosimo_system::System;

use super::follow::{Companion, Signals};
use super::judge::Companions;
use super::observed::{Observed, Point};
use super::{AccuracyVerdict, Repetition, SignalAccuracy};

/// Rows that may wait to be compared.
const WAITING: usize = 256;
/// Of so many steps one has a point inside that lies on no grid.
const CUT_EVERY: usize = 16;
const CUT_EARLY: [usize; 3] = [1, 5, 11];
const CUT_AT: f64 = 0.381_966_011_250_105_1;

/// An instant that is nearer to the next one, as a part of the largest step, is that of an event. Repetitions find their own
/// events: where they made such a step without one, extrapolated inputs would be drawn through two points beside each other.
const CLOSE: f64 = 1e-3;
/// How near to the wanted error is near.
const NEAR: f64 = 1.5;

/// Called after every step, with the run on its own thread; `false` stops everything.
pub type StepCallback<'a> = Box<dyn FnMut(&Run) -> bool + 'a>;

/// A run to compare with, beside those with smaller steps.
pub(crate) enum Extra<'a> {
    /// Another system along the same communication points.
    Run(Repetition, Box<System>),
    /// Values at instants: every so many of those given, with the names of signals and rows of their values.
    Known(Box<Reference<'a>>),
    /// There is none, for a reason.
    None(String),
}

type Reference<'a> = dyn Fn(&[f64]) -> Result<(usize, Vec<String>, Vec<Vec<f64>>), String> + 'a;

/// Per signal the largest distance from the run, and when; none where only one of the two has the signal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Distances(pub(crate) Vec<Option<(f64, f64)>>);

/// Why there is no verdict of fine companions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StopReason {
    Failed(String),
    Interrupted,
}

/// What repeating a run came to.
pub(crate) struct Repeated {
    found: Observed,
    pub(crate) reason: Option<StopReason>,
    /// Of all bonds, with half and with a quarter of the step.
    pub(crate) totals: [Option<Vec<BondTotals>>; 2],
    /// Of the runs beside them, in their order.
    pub(crate) extras: Vec<Result<Distances, String>>,
}

impl Repeated {
    /// The verdict of coarse and fine companions, per signal.
    pub(crate) fn decide(
        &self,
        coarse: Vec<SignalAccuracy>,
        signals: &Signals,
        wanted: f64,
    ) -> Vec<SignalAccuracy> {
        let fine = self.found.judge_after(Some(&coarse), signals, wanted);
        coarse.into_iter().zip(fine).map(|(coarse, fine)| decide(coarse, fine, wanted)).collect()
    }
}

/// The verdict of both: that of the fine companions, also where only these are in doubt. Where both are sure, disagree and
/// are near to the wanted error, both are right: the verdict that the run showed stays, and the error bar is the mean of both.
fn decide(coarse: SignalAccuracy, fine: SignalAccuracy, wanted: f64) -> SignalAccuracy {
    let sure = |it: &SignalAccuracy| it.verdict != AccuracyVerdict::Unknown && it.relative > 0.0;
    let near = (wanted / NEAR..=wanted * NEAR).contains(&fine.relative);
    if !(sure(&coarse) && sure(&fine) && fine.verdict != coarse.verdict && near) {
        return fine;
    }
    let mean = (coarse.relative * fine.relative).sqrt();
    let relative = match coarse.verdict {
        AccuracyVerdict::Accurate => mean.min(wanted),
        _ => mean.max(wanted),
    };
    SignalAccuracy { relative, error_bar: relative * coarse.scale, ..coarse }
}

/// Repetitions of a run along its communication points.
pub(crate) struct Repetitions<'a, 's> {
    pub(crate) signals: &'s Signals,
    pub(crate) system: &'s System,
    pub(crate) registry: &'s Registry,
    pub(crate) watch: &'a (dyn Fn(Repetition) -> StepCallback<'a> + Sync),
}

impl<'a> Repetitions<'a, '_> {
    /// The run itself, with half and with a quarter of its steps, and the extras.
    pub(crate) fn run(&self, coarse: &Observed, extras: Vec<Extra<'_>>) -> Repeated {
        let instants = &apart(&coarse.instants, CLOSE * coarse.largest_step);
        let mut repeated = Repeated {
            found: Observed::new(Companions::Fine, self.signals),
            reason: None,
            totals: [None, None],
            extras: Vec::new(),
        };
        if instants.len() < 2 {
            repeated.reason = Some(StopReason::Failed("the run has no steps".into()));
            return repeated;
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let begin = |which: Repetition, parts: u32, system: Option<System>| {
                let (sender, rows) = sync_channel(WAITING);
                let lane = Lane { which, parts, system, runs: self, instants, stop: &stop };
                (rows, scope.spawn(move || lane.run(&sender)))
            };
            let own = [(Repetition::Itself, 1), (Repetition::Half, 2), (Repetition::Quarter, 4)];
            let (mut rows, mut threads) = (Vec::new(), Vec::new());
            for (which, parts) in own {
                let (receiver, thread) = begin(which, parts, None);
                rows.push(Rows::Run(receiver));
                threads.push(thread);
            }
            let mut beside = Vec::new();
            for extra in extras {
                match extra {
                    Extra::Run(which, system) => {
                        let (receiver, thread) = begin(which, 1, Some(*system));
                        rows.push(Rows::Run(receiver));
                        beside.push(Ok(Some(thread)));
                    }
                    Extra::Known(reference) => match reference(instants) {
                        Ok((every, names, known)) => {
                            rows.push(Rows::known(self.signals, every, &names, known));
                            beside.push(Ok(None));
                        }
                        Err(reason) => beside.push(Err(reason)),
                    },
                    Extra::None(reason) => beside.push(Err(reason)),
                }
            }
            let (found, distances) = compare(self.signals, instants, rows);
            repeated.found = found;
            let mut distances = distances.into_iter();
            let mut ends = threads.into_iter().map(joined);
            let reasons = [ends.next(), ends.next(), ends.next()].map(|end| match end {
                Some(Ok(totals)) => (Some(totals), None),
                Some(Err(reason)) => (None, Some(reason)),
                None => (None, None),
            });
            let [(_, first), (half, second), (quarter, third)] = reasons;
            repeated.totals = [half, quarter];
            repeated.reason = first.or(second).or(third).map(|reason| match reason {
                StopReason::Failed(cause) => {
                    StopReason::Failed(format!("the run cannot be repeated with smaller steps: {cause}"))
                }
                interrupted => interrupted,
            });
            repeated.extras = beside
                .into_iter()
                .map(|extra| {
                    let thread = extra?;
                    let found = distances.next().unwrap_or(Distances(Vec::new()));
                    match thread.map(joined) {
                        Some(Err(StopReason::Failed(reason))) => Err(reason),
                        Some(Err(StopReason::Interrupted)) => Err("interrupted".into()),
                        _ => Ok(found),
                    }
                })
                .collect();
        });
        if stop.load(Ordering::Relaxed) {
            repeated.reason = Some(StopReason::Interrupted);
        }
        // What the first steps leave was found beside the run.
        repeated.found.take_start(coarse);
        repeated
    }
}

/// Instants that are at least so far from the next one, the first and the last.
fn apart(instants: &[f64], least: f64) -> Vec<f64> {
    let last = instants.len().saturating_sub(1);
    let kept = |place: usize| place == 0 || place == last || instants[place + 1] - instants[place] >= least;
    (0..instants.len()).filter(|place| kept(*place)).map(|place| instants[place]).collect()
}

type LaneEnd = Result<Vec<BondTotals>, StopReason>;

fn joined(thread: ScopedJoinHandle<'_, LaneEnd>) -> LaneEnd {
    thread.join().unwrap_or_else(|_| Err(StopReason::Failed("a companion panicked".into())))
}

/// One of the runs that are compared.
struct Lane<'a, 'r, 's> {
    which: Repetition,
    /// Each step of the run is made in so many.
    parts: u32,
    /// Another system than that of the run.
    system: Option<System>,
    runs: &'r Repetitions<'a, 's>,
    instants: &'r [f64],
    stop: &'r AtomicBool,
}

/// A communication point of a companion.
struct Row {
    values: Vec<f64>,
    jumped: Vec<bool>,
    /// A point inside the step before: its place as a fraction of that step, and the values there.
    inside: Option<(f64, Vec<f64>)>,
}

/// Rows as they come.
enum Rows {
    Run(Receiver<Row>),
    /// Values at every so many instants, and the place of the next one.
    Known {
        every: usize,
        rows: std::vec::IntoIter<Vec<f64>>,
        place: usize,
        width: usize,
    },
}

impl Rows {
    /// Rows in the order of the signals; what is not known is no number.
    fn known(signals: &Signals, every: usize, names: &[String], rows: Vec<Vec<f64>>) -> Rows {
        let places: Vec<Option<usize>> =
            signals.infos.iter().map(|info| names.iter().position(|name| *name == info.name)).collect();
        let row = |row: Vec<f64>| {
            places.iter().map(|place| place.map_or(f64::NAN, |place| row[place])).collect::<Vec<f64>>()
        };
        let rows = rows.into_iter().map(row).collect::<Vec<_>>();
        Rows::Known { every, rows: rows.into_iter(), place: 0, width: places.len() }
    }

    fn next(&mut self) -> Option<Row> {
        match self {
            Rows::Run(rows) => rows.recv().ok(),
            Rows::Known { every, rows, place, width } => {
                let here = place.is_multiple_of(*every).then(|| rows.next()).flatten();
                *place += 1;
                let values = here.unwrap_or_else(|| vec![f64::NAN; *width]);
                Some(Row { values, jumped: Vec::new(), inside: None })
            }
        }
    }
}

impl Lane<'_, '_, '_> {
    fn run(self, rows: &SyncSender<Row>) -> LaneEnd {
        companion::mark_thread();
        let outcome = self.follow(rows);
        if outcome == Err(StopReason::Interrupted) {
            self.stop.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn plan(&self) -> Result<Plan, String> {
        let Repetitions { signals, system, registry, .. } = self.runs;
        let system = self.system.as_ref().unwrap_or(system);
        let changed =
            signals.variant(system, self.instants[1] - self.instants[0], 1.0 / f64::from(self.parts));
        let planned = cosimo_engine::plan(&changed, registry);
        let planned = planned.map_err(|problems| cosimo_system::in_one_line(&problems))?;
        // A system with other groups has other components.
        Ok(if self.system.is_some() {
            planned
        } else {
            planned.with_rollback_checks(signals.rollback_checks.clone())
        })
    }

    fn follow(&self, rows: &SyncSender<Row>) -> LaneEnd {
        let restrictions = self.runs.signals.restrictions;
        let plan = self.plan().map_err(StopReason::Failed)?;
        let mut companion = self.runs.signals.follow(plan, restrictions.rigid).map_err(StopReason::Failed)?;
        let mut watch = (self.runs.watch)(self.which);
        send(rows, &companion, None);
        let mut cuts = 0;
        for (step, pair) in self.instants.windows(2).enumerate() {
            let [from, to] = [pair[0], pair[1]];
            let mut inside = None;
            let mut jumped = vec![false; companion.jumped.len()];
            let mut advance = |companion: &mut Companion, aim: f64| {
                companion.advance(aim).map_err(StopReason::Failed)?;
                jumped.iter_mut().zip(&companion.jumped).for_each(|(all, new)| *all |= new);
                if self.stop.load(Ordering::Relaxed) || !watch(companion.run()) {
                    return Err(StopReason::Interrupted);
                }
                Ok(())
            };
            let cut = self.which == Repetition::Quarter
                && restrictions.anywhere
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
            if !send(rows, &companion, inside) {
                break; // the comparison ended, as another one failed
            }
        }
        Ok(companion.run().summary().bonds.iter().map(|bond| bond.totals).collect())
    }
}

/// Whether the comparison goes on.
fn send(rows: &SyncSender<Row>, companion: &Companion, inside: Option<(f64, Vec<f64>)>) -> bool {
    let row = Row { values: companion.values.clone(), jumped: companion.jumped.clone(), inside };
    rows.send(row).is_ok()
}

/// Compares all lanes, row by row, as far as the first three come.
fn compare(signals: &Signals, instants: &[f64], lanes: Vec<Rows>) -> (Observed, Vec<Distances>) {
    let mut found = Observed::new(Companions::Fine, signals);
    let mut lanes = lanes.into_iter();
    let [Some(mut run), Some(mut half), Some(mut quarter)] = [lanes.next(), lanes.next(), lanes.next()]
    else {
        return (found, Vec::new());
    };
    let mut further: Vec<Rows> = lanes.collect();
    let mut distances = vec![Distances(vec![None; signals.width()]); further.len()];
    // Rows of the run around the present one, which is at `here`: those before, and one ahead.
    let (mut rows, mut here) = (VecDeque::from_iter(run.next()), 0);
    for (place, &time) in instants.iter().enumerate() {
        let (Some(half), Some(quarter)) = (half.next(), quarter.next()) else { break };
        rows.extend(run.next());
        let Some(own) = rows.get(here) else { break };
        found.add_row(time, &own.values);
        let around = |signal: usize, value: f64| distance(value, rows.iter().map(|row| row.values[signal]));
        if place == 0 {
            found.begin(time, &half.values, &quarter.values);
        } else {
            found.add(&Point {
                time,
                since: time - instants[place - 1],
                a: &own.values,
                b: &half.values,
                c: Some(&quarter.values),
                jumped: Some(&|signal| own.jumps(signal) != half.jumps(signal)),
                around: &around,
            });
            found.add_inside(&rows[here - 1], own, &quarter);
            if let Some(after) = rows.get(here + 1) {
                let share = (time - instants[place - 1]) / (instants[place + 1] - instants[place - 1]);
                let jumped = |signal| own.jumps(signal) || after.jumps(signal);
                found.bounds.add_bends(
                    [&rows[here - 1], own, after].map(|row| &row.values[..]),
                    share,
                    Some(&jumped),
                );
            }
        }
        for (largest, lane) in distances.iter_mut().zip(&mut further) {
            let Some(other) = lane.next() else { continue };
            for (signal, largest) in largest.0.iter_mut().enumerate() {
                let value = other.values[signal];
                let apart = if own.jumps(signal) || other.jumps(signal) {
                    around(signal, value)
                } else {
                    (own.values[signal] - value).abs()
                };
                if !value.is_nan() && largest.is_none_or(|(most, _)| apart > most) {
                    *largest = Some((apart, time));
                }
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
}
