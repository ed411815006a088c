//! Coarse companions, beside the run and while it lasts: its steps merged by two and by four, and its first step in graded
//! parts. They live on a thread of their own, with simulators of their own, and receive the run's signals at each of its
//! communication points.
//!
//! Every sixteenth of the longest steps is cut inside a step of the run, each time at another fraction of it: what happens
//! between communication points is the same on every grid of their multiples, but not there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cosimo_core::{Registry, companion, math};
use cosimo_engine::Run;
use cosimo_system::System;

use super::fine::distance;
use super::follow::{Companion, SignalSource, Signals};
use super::judge::Companions;
use super::observed::{Observed, Point};

/// Numbers in a parcel from the run to its companions, and parcels that may wait: more would only cost memory.
const PARCEL: usize = 4096;
const WAITING: usize = 64;
/// The wall time that a parcel should take to fill: companions of slow components wait no longer, and those of fast ones
/// are not woken more often.
const FILLING: Duration = Duration::from_millis(2);
/// Rows that companions look back at, and the one ahead: the graded first steps need the most.
const ROWS: usize = 16;
const _: () = assert!(ROWS > GRADED + 1);
/// Points of the run that are compared with graded first steps.
const GRADED: usize = 8;
/// The parts of the first step: 1/1024, 1/1024, 1/512, ... 1/2 of it.
const GRADES: i32 = 10;
/// Of so many merged steps one is cut, and early ones, for short runs.
const CUT_EVERY: usize = 16;
const CUT_EARLY: [usize; 3] = [1, 3, 7];
/// From cut to cut, as a fraction of the step: the golden section never comes back.
const CUT_AT: f64 = 0.381_966_011_250_105_1;

/// Rows of the run.
#[derive(Debug, Default)]
struct Parcel {
    times: Vec<f64>,
    values: Vec<f64>,
    jumped: Vec<bool>,
}

impl Parcel {
    fn clear(&mut self) {
        self.times.clear();
        self.values.clear();
        self.jumped.clear();
    }
}

/// Companions of a run under way: the end that stays with the run.
#[derive(Debug)]
pub(super) struct CoarseCompanions {
    sources: Vec<SignalSource>,
    /// The signals are all outputs and nothing else.
    plain: bool,
    jumps: bool,
    /// Rows of the present parcel, and of the largest.
    rows: usize,
    most_rows: usize,
    sent: Instant,
    parcel: Parcel,
    full: Option<SyncSender<Parcel>>,
    empty: Receiver<Parcel>,
    abandoned: Arc<AtomicBool>,
    thread: Option<JoinHandle<Observed>>,
}

impl CoarseCompanions {
    pub(crate) fn start(
        run: &Run,
        signals: &Signals,
        system: &System,
        registry: &Registry,
    ) -> std::io::Result<CoarseCompanions> {
        let (full, rows) = sync_channel(WAITING);
        let (back, empty) = channel();
        let (signals, system, registry) = (signals.clone(), system.clone(), registry.clone());
        let (sources, jumps) = (signals.sources.clone(), signals.jumps);
        let outputs = (0..run.outputs().len()).map(SignalSource::Output);
        let plain = sources.iter().copied().eq(outputs);
        let abandoned = Arc::new(AtomicBool::new(false));
        let stop = abandoned.clone();
        let thread = std::thread::Builder::new().name("companions".into()).spawn(move || {
            companion::mark_thread();
            let mut comparison = Comparison::new(&signals, &system, &registry);
            comparison.receive(&rows, &back, &stop);
            comparison.finish()
        })?;
        let most_rows = (PARCEL / sources.len().max(1)).max(4);
        Ok(CoarseCompanions {
            sources,
            plain,
            jumps,
            rows: 1,
            most_rows,
            sent: Instant::now(),
            parcel: Parcel::default(),
            full: Some(full),
            empty,
            abandoned,
            thread: Some(thread),
        })
    }

    /// The present communication point of the run. Waits where the companions are far behind.
    #[inline]
    pub(super) fn look(&mut self, run: &Run) {
        self.parcel.times.push(run.time().seconds());
        if self.plain {
            self.parcel.values.extend_from_slice(run.outputs());
        } else {
            self.parcel.values.extend(self.sources.iter().map(|source| source.read(run)));
        }
        if self.jumps {
            let jumped =
                |source: &SignalSource| matches!(source, SignalSource::Output(output) if run.jumped(*output));
            self.parcel.jumped.extend(self.sources.iter().map(jumped));
        }
        if self.parcel.times.len() >= self.rows {
            self.send();
            let now = Instant::now();
            let filled = now - std::mem::replace(&mut self.sent, now);
            self.rows = if filled > FILLING { self.rows / 2 } else { self.rows * 2 }.clamp(1, self.most_rows);
        }
    }

    fn send(&mut self) {
        let next = self.empty.try_recv().unwrap_or_default();
        let parcel = std::mem::replace(&mut self.parcel, next);
        if let Some(full) = &self.full {
            // Fails where the companions' thread has ended, which `finish` reports.
            let _ = full.send(parcel);
        }
    }

    /// Waits for the companions to come to the end.
    pub(crate) fn finish(mut self) -> Option<Observed> {
        self.send();
        self.full = None;
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

/// Companions of a run that failed are of no use, and FMUs may not be called any more.
impl Drop for CoarseCompanions {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.full = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The last rows of the run.
struct Rows {
    width: usize,
    times: [f64; ROWS],
    values: Vec<f64>,
    jumped: Vec<bool>,
}

impl Rows {
    fn time(&self, row: usize) -> f64 {
        self.times[row % ROWS]
    }

    fn values(&self, row: usize) -> &[f64] {
        &self.values[row % ROWS * self.width..][..self.width]
    }

    fn jumped(&self, row: usize, signal: usize) -> bool {
        self.jumped.get(row % ROWS * self.width + signal).copied().unwrap_or(false)
    }
}

/// The companions' end.
struct Comparison<'a> {
    signals: &'a Signals,
    system: &'a System,
    registry: &'a Registry,
    rows: Rows,
    /// How many rows have arrived.
    count: usize,
    /// The last row that companions have reached.
    reached: usize,
    two: Option<Companion>,
    four: Option<Companion>,
    cuts: u32,
    found: Observed,
    first: f64,
}

impl<'a> Comparison<'a> {
    fn new(signals: &'a Signals, system: &'a System, registry: &'a Registry) -> Comparison<'a> {
        let width = signals.width();
        Comparison {
            rows: Rows {
                width,
                times: [0.0; ROWS],
                values: vec![0.0; ROWS * width],
                jumped: vec![false; if signals.jumps { ROWS * width } else { 0 }],
            },
            count: 0,
            reached: 0,
            two: None,
            four: None,
            cuts: 0,
            found: Observed::new(Companions::Coarse, signals),
            first: 0.0,
            signals,
            system,
            registry,
        }
    }

    fn receive(&mut self, rows: &Receiver<Parcel>, back: &Sender<Parcel>, abandoned: &AtomicBool) {
        let width = self.rows.width;
        while let Ok(mut parcel) = rows.recv() {
            if abandoned.load(Ordering::Relaxed) {
                (self.two, self.four) = (None, None);
                return;
            }
            for (place, &time) in parcel.times.iter().enumerate() {
                let values = place * width..(place + 1) * width;
                let slot = self.count % ROWS;
                self.rows.times[slot] = time;
                self.rows.values[slot * width..][..width].copy_from_slice(&parcel.values[values.clone()]);
                if self.signals.jumps {
                    self.rows.jumped[slot * width..][..width].copy_from_slice(&parcel.jumped[values]);
                }
                self.count += 1;
                self.look();
            }
            parcel.clear();
            let _ = back.send(parcel); // the run has ended where it fails
        }
    }

    /// A row has arrived.
    fn look(&mut self) {
        let row = self.count - 1;
        self.found.add_row(self.rows.time(row), self.rows.values(row));
        if row == 1 {
            self.open();
        }
        if row >= 2 {
            self.bend(row - 1);
        }
        if row + 1 == GRADED + 1 {
            self.graded(row);
        }
        if row >= 5 && (row - 1).is_multiple_of(4) {
            self.merge(row - 1, row);
        }
    }

    /// The first step is known.
    fn open(&mut self) {
        self.first = self.rows.time(1) - self.rows.time(0);
        if self.signals.restrictions.lines {
            // Measured: a tenth of the error in some systems. Shorter delays show it afterwards.
            self.found.fail("larger delays of a line are no measure of its error".into());
            return;
        }
        if let Some(reason) = self.signals.samples_within(self.first) {
            self.found.fail(reason);
            return;
        }
        let open = |factor: f64| self.signals.companion(self.system, self.registry, (self.first, factor));
        match open(2.0).and_then(|two| Ok((two, open(4.0)?))) {
            Ok((two, four)) => {
                self.found.begin(self.rows.time(0), &two.values, &four.values);
                (self.two, self.four) = (Some(two), Some(four));
            }
            Err(reason) => self.found.fail(reason),
        }
    }

    fn bend(&mut self, row: usize) {
        let [from, at, to] = [row - 1, row, row + 1].map(|row| self.rows.time(row));
        let share = (at - from) / (to - from);
        let points = [row - 1, row, row + 1].map(|row| self.rows.values(row));
        let jumped = |signal| self.rows.jumped(row, signal) || self.rows.jumped(row + 1, signal);
        let jumped: Option<&dyn Fn(usize) -> bool> = self.signals.jumps.then_some(&jumped);
        self.found.bounds.add_bends(points, share, jumped);
    }

    /// Compares up to `end`, with rows known up to `last`.
    fn merge(&mut self, end: usize, last: usize) {
        let from = std::mem::replace(&mut self.reached, end);
        if self.two.is_none() {
            return;
        }
        if let Err(reason) = self.merged(from, end, last) {
            (self.two, self.four) = (None, None);
            let at = self.rows.time(from);
            self.found.fail(format!("with merged steps, after t = {at} s: {reason}"));
        }
    }

    fn merged(&mut self, from: usize, end: usize, last: usize) -> Result<(), String> {
        let (Some(two), Some(four)) = (&mut self.two, &mut self.four) else { return Ok(()) };
        let mut row = from;
        while row < end {
            let next = (row + 2).min(end);
            two.advance(self.rows.time(next))?;
            let four = if next == end {
                let group = from / 4;
                let cut = CUT_EARLY.contains(&group) || group.is_multiple_of(CUT_EVERY) && group > 0;
                if cut && self.signals.restrictions.anywhere && end - from == 4 {
                    self.cuts += 1;
                    let share = (f64::from(self.cuts) * CUT_AT).fract();
                    let before = from + self.cuts as usize % 4;
                    let [left, right] = [before, before + 1].map(|row| self.rows.time(row));
                    four.advance(left + share * (right - left))?;
                    let ends = [before, before + 1].map(|row| self.rows.values(row));
                    for (signal, found) in self.found.maxima.iter_mut().enumerate() {
                        let jumped = self.rows.jumped(before + 1, signal)
                            || four.jumped.get(signal).copied().unwrap_or(false);
                        if !jumped {
                            let [left, right] = ends.map(|end| end[signal]);
                            found.add_gap((four.values[signal] - (left + share * (right - left))).abs());
                        }
                    }
                }
                four.advance(self.rows.time(end))?;
                Some(&four.values)
            } else {
                None
            };
            let jumped = |signal: usize| {
                let run = (row + 1..=next).any(|row| self.rows.jumped(row, signal));
                run != two.jumped.get(signal).copied().unwrap_or(false)
            };
            let jumped: &dyn Fn(usize) -> bool = &jumped;
            self.found.add(&Point {
                time: self.rows.time(next),
                since: self.rows.time(next) - self.rows.time(row),
                a: self.rows.values(next),
                b: &two.values,
                c: four.map(Vec::as_slice),
                jumped: self.signals.jumps.then_some(jumped),
                around: &|signal, value| {
                    let rows = next.saturating_sub(3)..=last.min(next + 1);
                    distance(value, rows.map(|row| self.rows.values(row)[signal]))
                },
            });
            row = next;
        }
        Ok(())
    }

    /// The run's first points against a companion that resolves its first step.
    fn graded(&mut self, last: usize) {
        if !self.signals.restrictions.anywhere || last == 0 {
            return;
        }
        let Ok(mut fine) = self.signals.companion(self.system, self.registry, (self.first, 1.0)) else {
            return; // merged steps tell why
        };
        // The row of the start has been overwritten where there are as many rows as are kept.
        let (start, first) = (self.found.instants[0], self.first);
        for grade in (1..=GRADES).rev() {
            if fine.advance(start + first * math::exp2(f64::from(-grade))).is_err() {
                return;
            }
        }
        for row in 1..=last {
            if fine.advance(self.rows.time(row)).is_err() {
                return;
            }
            self.found.steps_of_companions = fine.steps;
            let values = self.rows.values(row);
            for (signal, found) in self.found.maxima.iter_mut().enumerate() {
                let jumped =
                    self.rows.jumped(row, signal) != fine.jumped.get(signal).copied().unwrap_or(false);
                if !jumped && !self.found.switches[signal][0].switch() {
                    found.add_start(values[signal], fine.values[signal]);
                }
            }
        }
    }

    fn finish(mut self) -> Observed {
        if self.count > 1 {
            let last = self.count - 1;
            if last < GRADED {
                self.graded(last);
            }
            while self.reached < last {
                let end = (self.reached + 4).min(last);
                if end - self.reached < 4 && self.signals.restrictions.rigid {
                    break; // components with steps of one size do not come to an end that is no multiple
                }
                self.merge(end, last);
            }
        }
        let merged = [&self.two, &self.four].into_iter().flatten().map(|companion| companion.steps);
        self.found.steps_of_companions += merged.sum::<u64>();
        self.found
    }
}
