//! An island on its own clock: one simulator that steps as its solver likes, or several with a method of their own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosimo_core::clock::Crawl;
use cosimo_core::error::StepError;
use cosimo_core::line::Stamp;
use cosimo_core::{Inputs, Outputs, Segment, Setup, Simulator, SimulatorError, Slot, Time, Trail, Window};
use cosimo_system::{Boundary, LineDecl};

use super::drive::Drive;
use super::end::{End, EndTotals};
use super::frozen::Walk;
use super::rounds::IsleTotals;
use crate::checkpoint::{Checkpoint, CheckpointError, Progress};
use crate::island::{Island, ROUNDS};
use crate::plan::Plan;
use crate::run::Run;
use crate::summary::BondSummary;

/// An explicit boundary is stable below this Z H / M, exact for a mass; and how far below that a mass that was weighed on a
/// trial may make it seem.
const EXPLICIT: f64 = 2.0;
const WEIGHED: f64 = 0.99;

/// An island before it is on its thread.
pub(crate) struct Seed {
    pub(crate) body: SeedBody,
    pub(crate) ends: Vec<End>,
    /// The line of each end.
    pub(crate) decls: Vec<LineDecl>,
    /// Of each end, in SI units.
    pub(crate) efforts: Vec<f64>,
    pub(crate) setup: Setup,
}

pub(crate) enum SeedBody {
    Solo(Box<SoloSeed>),
    Group { plan: Box<Plan>, ends: Ends },
}

pub(crate) struct SoloSeed {
    pub(crate) name: String,
    pub(crate) simulator: Box<dyn Simulator>,
    /// Values of inputs that nobody drives.
    pub(crate) inputs: Vec<f64>,
    pub(crate) way: Boundary,
    pub(crate) masses: Vec<f64>,
    /// The size of its steps at the shortest delay, where its solver does not choose it.
    pub(crate) size: f64,
}

/// The ends of an island with several simulators, shared with those around its simulators. Never contended: all of them
/// live on the thread of the island.
pub(crate) type Ends = Arc<Mutex<Vec<End>>>;

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked has been reported; what he left is not used again.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An island under way.
pub(crate) struct Isle {
    body: Body,
    ends: Ends,
    past: Past,
    stop: f64,
    pub(crate) time: f64,
    start: f64,
    steps: u64,
    evaluations: u64,
    crawl: Crawl,
    /// All of it as bytes, on its way to a checkpoint or from there.
    pub(crate) frozen: Vec<u8>,
    /// Wall time of its steps, where it is taken.
    pub(crate) spent: Option<Duration>,
}

enum Body {
    Solo(Box<Solo>),
    Group(Box<Island>),
}

/// What an island was at its steps since the one before what is shown.
#[derive(Default)]
struct Past {
    /// Time and values, one row after the other.
    rows: VecDeque<f64>,
    width: usize,
    /// The row that was made last.
    row: Vec<f64>,
}

struct Solo {
    simulator: Box<dyn Simulator>,
    drive: Drive,
    /// One per input; those of lines follow from what they did last.
    segments: Vec<Segment>,
    outputs: Vec<f64>,
    size: f64,
    next_event: Option<f64>,
    rollback: bool,
    rates: Vec<f64>,
    samples: Vec<Stamp>,
    /// Evaluations of steps that were taken back and not yet repeated.
    owed: u64,
}

impl Isle {
    /// On the thread where it will live.
    pub(crate) fn new(seed: Seed) -> Result<Isle, SimulatorError> {
        let Seed { body, mut ends, decls, efforts, setup } = seed;
        let start = setup.start.seconds();
        let stop = setup.stop.map_or(f64::INFINITY, Time::seconds);
        let (body, ends) = match body {
            SeedBody::Solo(seed) => {
                let solo = Solo::new(*seed, &mut ends, &decls, &efforts, &setup)?;
                (Body::Solo(Box::new(solo)), Arc::new(Mutex::new(ends)))
            }
            SeedBody::Group { plan, ends: shared } => {
                for ((end, decl), effort) in ends.iter_mut().zip(&decls).zip(&efforts) {
                    end.begin(start, *effort, 0.0, decl);
                    end.outbox.clear();
                }
                lock(&shared).append(&mut ends);
                let island = Run::rehearse(*plan).and_then(|plan| Ok(plan.into_island()?));
                let island = island.map_err(|error| SimulatorError::new("start", error.to_string()))?;
                for ((end, decl), effort) in lock(&shared).iter_mut().zip(&decls).zip(&efforts) {
                    end.place = island.layout.topology.blocks[end.member].outputs.start + end.flow;
                    end.begin(start, *effort, island.outputs()[end.place], decl);
                }
                (Body::Group(Box::new(island)), shared)
            }
        };
        let mut isle = Isle {
            body,
            ends,
            past: Past::default(),
            stop,
            time: start,
            start,
            steps: 0,
            evaluations: 0,
            crawl: Crawl::between(start, stop),
            frozen: Vec::new(),
            spent: None,
        };
        isle.note();
        isle.past.width = isle.past.row.len();
        Ok(isle)
    }

    fn finished(&self) -> bool {
        self.time >= self.stop
    }

    /// Stamps and notices of the others; then steps for as long as all is there that they read, or until `until`. Whether
    /// there was one.
    pub(crate) fn round(&mut self, until: f64) -> Result<bool, SimulatorError> {
        let now = self.time;
        self.with_ends(|ends| ends.iter_mut().for_each(|end| end.receive(now)));
        let mut moved = false;
        // Who depends on others is stopped by what he lacks: rounds must not depend on who looks on, as notices do on rounds.
        let bound = self.with_ends(|ends| !ends.is_empty());
        while !self.finished() && (bound || self.time < until) && self.step()? {
            moved = true;
            self.note();
        }
        Ok(moved)
    }

    /// One step, unless something is missing for it.
    fn step(&mut self) -> Result<bool, SimulatorError> {
        let (time, stop) = (self.time, self.stop);
        let mut ends = lock(&self.ends);
        let stepped = match &mut self.body {
            Body::Solo(solo) => solo.step(&mut ends, time, stop)?,
            Body::Group(island) => {
                // What is published in between nobody knows: half a delay lets the next one be reached.
                let longest = ends.iter().map(|end| 0.5 * end.delay()).fold(f64::INFINITY, f64::min);
                island.size = island.size.min(longest);
                let to = (time + island.size).min(stop);
                if !ends.iter().all(|end| end.ready(time, to)) {
                    return Ok(false);
                }
                // Its simulators at lines look at their ends.
                drop(ends);
                let before = island.counters.evaluations;
                step_with_events(island)?;
                let now = island.clock.now().seconds();
                debug_assert!(now <= to || !to.is_finite() || (now - to).abs() < 1e-6 * (to - time));
                for end in lock(&self.ends).iter_mut() {
                    let sample = end.sample(time, now, island.outputs()[end.place]);
                    end.judge(&sample);
                    end.publish(sample);
                }
                Some((now, island.counters.evaluations - before))
            }
        };
        let Some((now, evaluations)) = stepped else { return Ok(false) };
        if self.crawl.stuck(now - time) {
            let words =
                format!("time hardly moves: {} steps in a row of about {:e} s", Crawl::MOST, now - time);
            return Err(SimulatorError::new("step", words));
        }
        self.time = now;
        self.steps += 1;
        self.evaluations += evaluations;
        Ok(true)
    }

    pub(crate) fn with_ends<R>(&self, work: impl FnOnce(&mut [End]) -> R) -> R {
        work(&mut lock(&self.ends))
    }

    /// A row of what the island is now: the time; all outputs and then all inputs of its simulators, one simulator after the
    /// other; then effort, delay and stillness of each end.
    fn note(&mut self) {
        let ends = lock(&self.ends);
        let row = &mut self.past.row;
        row.clear();
        row.push(self.time);
        match &self.body {
            Body::Solo(solo) => {
                row.extend_from_slice(&solo.outputs);
                let first = row.len();
                row.extend(solo.segments.iter().map(Segment::start));
                for end in ends.iter() {
                    row[first + end.effort] = end.newest_effort();
                }
            }
            Body::Group(island) => {
                let (outputs, topology) = (island.outputs(), &island.layout.topology);
                // Those of lines are hidden from the plan, and put back in their place: they are in the order of inputs.
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

    /// What it showed at an instant: between two rows evenly.
    pub(crate) fn show(&mut self, t: f64) {
        let Past { rows, width, row } = &mut self.past;
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

    /// A value of what was shown last.
    pub(crate) fn shown(&self, place: usize) -> f64 {
        self.past.row[place]
    }

    pub(crate) fn freeze(&mut self) -> Result<(), SimulatorError> {
        let mut bytes = Vec::new();
        let mut walk = Walk::Write(&mut bytes);
        self.walk(&mut walk)?;
        walk.end()?;
        self.frozen = bytes;
        Ok(())
    }

    pub(crate) fn thaw(&mut self) -> Result<(), SimulatorError> {
        let bytes = std::mem::take(&mut self.frozen);
        let mut walk = Walk::Read(Some(&bytes));
        self.walk(&mut walk)?;
        walk.end()
    }

    /// Over everything that changes, between two rounds.
    fn walk(&mut self, walk: &mut Walk<'_>) -> Result<(), SimulatorError> {
        walk.number(&mut self.time);
        walk.count(&mut self.steps);
        walk.count(&mut self.evaluations);
        walk.queue(&mut self.past.rows);
        match &mut self.body {
            Body::Solo(solo) => solo.walk(walk)?,
            Body::Group(island) => {
                let fault = |error: CheckpointError| SimulatorError::new("freeze", error.to_string());
                let mut bytes = match walk {
                    Walk::Write(_) => {
                        let taken = Checkpoint::take(island, None, None, &Progress::default());
                        taken.map_err(fault)?.bytes().to_vec()
                    }
                    Walk::Read(_) => Vec::new(),
                };
                walk.bytes(&mut bytes);
                if let Walk::Read(_) = walk {
                    Checkpoint::from_bytes(bytes)
                        .and_then(|saved| saved.put(island, None, None))
                        .map_err(fault)?;
                }
            }
        }
        self.with_ends(|ends| ends.iter_mut().for_each(|end| end.walk(walk)));
        Ok(())
    }

    /// A new value of an input that nothing drives, from the next step on. Only islands of one simulator have such inputs.
    pub(crate) fn set_input(&mut self, input: usize, value: f64) {
        if let Body::Solo(solo) = &mut self.body {
            solo.segments[input] = Segment::constant(value);
        }
    }

    pub(crate) fn totals(&self) -> IsleTotals {
        let (taken_back, bonds) = match &self.body {
            Body::Solo(_) => {
                (self.with_ends(|ends| ends.iter().map(|end| end.stats.taken_back).sum()), Vec::new())
            }
            Body::Group(island) => (island.counters.rejected, BondSummary::all(island)),
        };
        let (steps, evaluations) = (self.steps, self.evaluations);
        IsleTotals { name: String::new(), steps, taken_back, evaluations, bonds }
    }

    /// Of each end, and the energy that it has sent and the other has not read.
    pub(crate) fn end_totals(&self) -> Vec<(EndTotals, f64)> {
        let (now, elapsed) = (self.time, self.time - self.start);
        self.with_ends(|ends| ends.iter().map(|end| (end.totals(elapsed), end.stored(now))).collect())
    }
}

/// A step of an island of several, and the events at its end.
fn step_with_events(island: &mut Island) -> Result<(), SimulatorError> {
    let said = |error: StepError| match error {
        StepError::Ended { function, .. } => SimulatorError::end(function),
        error => SimulatorError::new("step", error.to_string()),
    };
    island.step().map_err(said)?;
    if island.board.ended.is_none() && island.due() {
        island.handle_events().map_err(said)?;
    }
    island.board.ended.map_or(Ok(()), |(_, function)| Err(SimulatorError::end(function)))
}

impl Solo {
    fn new(
        seed: SoloSeed,
        ends: &mut [End],
        decls: &[LineDecl],
        efforts: &[f64],
        setup: &Setup,
    ) -> Result<Solo, SimulatorError> {
        let SoloSeed { name, mut simulator, inputs, way, masses, size } = seed;
        let rollback = simulator.interface().abilities.rollback;
        // Steps are tried to find a mass, to correct a boundary, or repeated where a stretched line was too long.
        let tried = way == Boundary::Corrected
            || (way != Boundary::Inside && masses.iter().any(|mass| mass.is_nan()))
            || ends.iter().any(End::may_repeat);
        simulator.enter(&Setup { rewinds: rollback && tried, ..*setup })?;
        let mut segments: Vec<Segment> = inputs.iter().map(|value| Segment::constant(*value)).collect();
        let start = setup.start.seconds();
        for (end, effort) in ends.iter().zip(efforts) {
            segments[end.effort] = Segment::constant(effort * end.view_scale());
        }
        simulator.settle(setup.start, &Inputs::of(&segments))?;
        simulator.exit_initialisation()?;
        let mut outputs = vec![0.0; simulator.interface().outputs.len()];
        simulator.outputs(&mut Outputs { values: &mut outputs, slopes: &mut [] })?;
        for ((end, decl), effort) in ends.iter_mut().zip(decls).zip(efforts) {
            end.begin(start, *effort, outputs[end.flow], decl);
        }
        let mut drive = Drive::new(way, masses, simulator.as_ref());
        if way != Boundary::Inside {
            let first = Time::new(start + size).map(|to| Window { from: setup.start, to, size });
            if let (true, true, Some(window)) =
                (rollback, drive.masses.iter().any(|mass| mass.is_nan()), first)
            {
                let known = drive.masses.clone();
                drive.weigh(simulator.as_mut(), ends, window, &segments)?;
                for (mass, known) in drive.masses.iter_mut().zip(known) {
                    *mass = if known.is_nan() { *mass } else { known };
                }
            }
            check_masses(&name, &drive, ends, size, decls)?;
            drive.rest(efforts.iter().copied());
        }
        let next_event = simulator.next_event()?.map(Time::seconds);
        let rates = drive.rates().to_vec();
        let samples = vec![Stamp::default(); ends.len()];
        ends.iter_mut().for_each(|end| end.announce(next_event));
        Ok(Solo { simulator, drive, segments, outputs, size, next_event, rollback, rates, samples, owed: 0 })
    }

    fn walk(&mut self, walk: &mut Walk<'_>) -> Result<(), SimulatorError> {
        let mut bytes = Vec::new();
        if let Walk::Write(_) = walk {
            self.simulator.freeze(&mut bytes)?;
        }
        walk.bytes(&mut bytes);
        if let Walk::Read(_) = walk {
            self.simulator.thaw(&bytes)?;
        }
        walk.numbers(self.drive.rates_mut());
        self.segments.iter_mut().for_each(|segment| walk.numbers(&mut segment.0));
        walk.numbers(&mut self.outputs);
        walk.maybe(&mut self.next_event);
        walk.count(&mut self.owed);
        Ok(())
    }

    /// Until a step is kept; `None` where stamps are missing for one.
    fn step(&mut self, ends: &mut [End], from: f64, stop: f64) -> Result<Option<(f64, u64)>, SimulatorError> {
        let inside = self.drive.way == Boundary::Inside;
        let mut evaluations = 0;
        loop {
            // The delays, or the size at the shortest one that grows with them.
            let least = ends.iter().map(|end| end.factor).reduce(f64::min).unwrap_or(1.0);
            let longest = ends.iter().map(|end| end.longest(from)).fold(f64::INFINITY, f64::min);
            let wanted = (self.size * least).min(longest);
            let known = ends.iter().filter_map(|end| end.limit(from));
            let limit = known.chain(self.next_event.filter(|event| *event > from)).fold(stop, f64::min);
            // A rest that is no step is part of the last one.
            let to = if limit - (from + wanted) < 1e-9 * wanted { limit } else { from + wanted };
            if !ends.iter().all(|end| end.ready(from, to)) {
                // What was tried and taken back has been paid for.
                self.owed += evaluations;
                return Ok(None);
            }
            let window = window(from, to)?;
            let careful = self.rollback && ends.iter().any(|end| end.factor > 1.0 && end.owner.is_none());
            if careful {
                self.simulator.save(Slot::Attempt)?;
                self.rates.copy_from_slice(self.drive.rates());
            }
            let mut trail = Trail { integrals: &mut [] };
            let (simulator, segments) = (self.simulator.as_mut(), &self.segments[..]);
            let reached = self.drive.advance(simulator, ends, window, segments, inside, &mut trail)?;
            evaluations += reached.evaluations;
            if let Some(function) = self.simulator.ending() {
                return Err(SimulatorError::end(function));
            }
            let now = reached.to.seconds();
            self.simulator.outputs(&mut Outputs { values: &mut self.outputs, slopes: &mut [] })?;
            let mut again = false;
            for (end, sample) in ends.iter_mut().zip(&mut self.samples) {
                let flow = self.outputs[end.flow];
                if !flow.is_finite() {
                    let words = format!("the flow at a line is {flow} at t = {now} s");
                    return Err(SimulatorError::new("step", words));
                }
                if let Some(owner) = end.owner {
                    let told = end.follow(from, self.outputs[owner]);
                    told.map_err(|words| SimulatorError::new("step", format!("at t = {now} s {words}")))?;
                }
                *sample = end.sample(from, now, flow);
                again |= end.judge(sample);
            }
            if again && careful {
                self.simulator.restore(Slot::Attempt)?;
                let rates = std::mem::take(&mut self.rates);
                self.drive.rates_mut().copy_from_slice(&rates);
                self.rates = rates;
                let moved = |end: &&mut End| !end.is_still() && end.factor > 1.0 && end.owner.is_none();
                ends.iter_mut().filter(moved).for_each(End::give_up);
                continue;
            }
            for (end, sample) in ends.iter_mut().zip(&self.samples) {
                end.publish(*sample);
                self.segments[end.effort] = Segment::constant(sample.effort * end.view_scale());
            }
            self.next_event = reached.next_event.map(Time::seconds);
            if reached.event {
                self.event(ends, reached.to)?;
            }
            ends.iter_mut().for_each(|end| end.announce(self.next_event));
            return Ok(Some((now, evaluations + std::mem::take(&mut self.owed))));
        }
    }

    /// Handles what is due, until nothing is.
    fn event(&mut self, ends: &mut [End], at: Time) -> Result<(), SimulatorError> {
        let before: Vec<f64> = ends.iter().map(|end| self.outputs[end.flow]).collect();
        self.simulator.settle(at, &Inputs::of(&self.segments))?;
        self.simulator.outputs(&mut Outputs { values: &mut self.outputs, slopes: &mut [] })?;
        for _ in 0..ROUNDS {
            self.next_event = self.simulator.next_event()?.map(Time::seconds);
            if self.next_event.is_none_or(|event| event > at.seconds()) {
                break;
            }
            self.simulator.settle(at, &Inputs::of(&self.segments))?;
        }
        // A flow that jumped is told at once: two stamps of one instant.
        for (end, before) in ends.iter_mut().zip(before) {
            let flow = self.outputs[end.flow];
            if flow != before {
                let sample = end.sample(at.seconds(), at.seconds(), flow);
                end.judge(&sample);
                end.publish(sample);
            }
        }
        Ok(())
    }
}

fn window(from: f64, to: f64) -> Result<Window, SimulatorError> {
    match (Time::new(from), Time::new(to)) {
        (Some(start), Some(end)) if to > from => Ok(Window { from: start, to: end, size: to - from }),
        _ => Err(SimulatorError::new("step", format!("no step leads from t = {from} s to {to} s"))),
    }
}

/// What would not be stable is refused before it is tried.
fn check_masses(
    name: &str,
    drive: &Drive,
    ends: &[End],
    size: f64,
    decls: &[LineDecl],
) -> Result<(), SimulatorError> {
    for ((end, mass), decl) in ends.iter().zip(&drive.masses).zip(decls) {
        let ratio = end.impedance() * size / mass;
        let unknown = mass.is_nan() || *mass <= 0.0;
        if drive.way == Boundary::MidStep && ratio >= WEIGHED * EXPLICIT {
            let words = format!(
                "the line at `{name}` is too stiff for one value per step: impedance * step / mass is {ratio:.3}, and it \
                 grows without bound from {EXPLICIT} on; take steps below {:.3e} s, or `boundary = \"corrected\"`",
                EXPLICIT * mass / end.impedance()
            );
            return Err(SimulatorError::new("start", words));
        }
        if drive.way == Boundary::SemiImplicit && unknown {
            let words = format!(
                "how much mass the line moves at `{name}` is not known: its flow does not answer the effort within a step \
                 of {size} s; say `mass_{}` of the line (delay {} s)",
                if end.side == 0 { "a" } else { "b" },
                decl.delay
            );
            return Err(SimulatorError::new("start", words));
        }
    }
    Ok(())
}
