//! An island on its own clock: one simulator that steps as its solver likes, or several with a method of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosimo_core::clock::Crawl;
use cosimo_core::line::Stamp;
use cosimo_core::{Inputs, Outputs, Segment, Setup, Simulator, SimulatorError, Slot, Time, Trail, Window};
use cosimo_system::{Boundary, LineDecl};

use super::drive::Drive;
use super::end::{End, Notice};
use super::frozen::Walk;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::plan::Plan;
use crate::run::Run;
use crate::summary::BondSummary;

/// Events of one instant, one after the other.
const ROUNDS: usize = 100;

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
    stop: f64,
    pub(crate) time: f64,
    pub(crate) start: f64,
    pub(crate) steps: u64,
    pub(crate) evaluations: u64,
    crawl: Crawl,
}

enum Body {
    Solo(Box<Solo>),
    Group { run: Box<Run>, ends: Ends },
}

struct Solo {
    simulator: Box<dyn Simulator>,
    ends: Vec<End>,
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
        let body = match body {
            SeedBody::Solo(seed) => Body::Solo(Box::new(Solo::new(*seed, ends, &decls, &efforts, &setup)?)),
            SeedBody::Group { plan, ends: shared } => {
                for ((end, decl), effort) in ends.iter_mut().zip(&decls).zip(&efforts) {
                    end.begin(start, *effort, 0.0, decl);
                    end.outbox.clear();
                }
                lock(&shared).append(&mut ends);
                let run =
                    Run::new(*plan, 1).map_err(|error| SimulatorError::new("start", error.to_string()))?;
                for ((end, decl), effort) in lock(&shared).iter_mut().zip(&decls).zip(&efforts) {
                    end.place = run.layout().topology.blocks[end.member].outputs.start + end.flow;
                    end.begin(start, *effort, run.outputs()[end.place], decl);
                }
                Body::Group { run: Box::new(run), ends: shared }
            }
        };
        let crawl = Crawl::between(start, stop);
        Ok(Isle { body, stop, time: start, start, steps: 0, evaluations: 0, crawl })
    }

    pub(crate) fn finished(&self) -> bool {
        self.time >= self.stop
    }

    /// Stamps and notices of the others; then steps for as long as all is there that they read, or until `until`.
    pub(crate) fn round(
        &mut self,
        incoming: &mut [Vec<Stamp>],
        notices: &[Notice],
        until: f64,
        mut row: impl FnMut(&mut Isle),
    ) -> Result<bool, SimulatorError> {
        let now = self.time;
        self.with_ends(|ends| {
            for ((end, stamps), notice) in ends.iter_mut().zip(incoming).zip(notices) {
                end.inbox.receive(stamps);
                stamps.clear();
                end.hear(*notice, now);
            }
        });
        let mut moved = false;
        // Who depends on others is stopped by what he lacks: rounds must not depend on who looks on, as notices do on rounds.
        let bound = self.with_ends(|ends| !ends.is_empty());
        while !self.finished() && (bound || self.time < until) && self.step()? {
            moved = true;
            row(self);
        }
        Ok(moved)
    }

    /// One step, unless something is missing for it.
    fn step(&mut self) -> Result<bool, SimulatorError> {
        let (time, stop) = (self.time, self.stop);
        let stepped = match &mut self.body {
            Body::Solo(solo) => solo.step(time, stop)?,
            Body::Group { run, ends } => {
                let to = {
                    let ends = lock(ends);
                    // What is published in between nobody knows: half a delay lets the next one be reached.
                    let longest = ends.iter().map(|end| 0.5 * end.delay()).fold(f64::INFINITY, f64::min);
                    let wanted = run.sizes().1.min(longest);
                    run.set_next_size(wanted);
                    let to = (time + wanted).min(stop);
                    if !ends.iter().all(|end| end.ready(time, to)) {
                        return Ok(false);
                    }
                    to
                };
                let before = run.counters().evaluations;
                run.step().map_err(|error| SimulatorError::new("step", error.to_string()))?;
                if let Some(ended) = run.ended() {
                    return Err(SimulatorError::end(ended.function));
                }
                let now = run.time().seconds();
                debug_assert!(now <= to || !to.is_finite() || (now - to).abs() < 1e-6 * (to - time));
                for end in lock(ends).iter_mut() {
                    let flow = run.outputs()[end.place];
                    let sample = end.sample(time, now, flow);
                    end.judge(&sample);
                    end.publish(sample);
                }
                Some((now, run.counters().evaluations - before))
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

    pub(crate) fn with_ends<R>(&mut self, work: impl FnOnce(&mut [End]) -> R) -> R {
        match &mut self.body {
            Body::Solo(solo) => work(&mut solo.ends),
            Body::Group { ends, .. } => work(&mut lock(ends)),
        }
    }

    /// All outputs and then all inputs of its simulators, one simulator after the other; then effort, delay and stillness
    /// of each end.
    pub(crate) fn row(&mut self, into: &mut Vec<f64>) {
        match &mut self.body {
            Body::Solo(solo) => {
                into.extend_from_slice(&solo.outputs);
                let first = into.len();
                into.extend(solo.segments.iter().map(Segment::start));
                for end in &solo.ends {
                    into[first + end.effort] = end.newest_effort();
                }
            }
            Body::Group { run, ends } => {
                let outputs = run.outputs();
                let layout = run.layout();
                let ends = lock(ends);
                // Those of lines are hidden from the plan, and put back in their place: they are in the order of inputs.
                let mut hidden = ends.iter().peekable();
                for (member, block) in layout.topology.blocks.iter().enumerate() {
                    into.extend_from_slice(&outputs[block.outputs.clone()]);
                    let mut plain =
                        block.inputs.clone().map(|input| layout.topology.couplings.value(input, outputs));
                    for port in 0.. {
                        if let Some(end) = hidden.next_if(|end| (end.member, end.effort) == (member, port)) {
                            into.push(end.newest_effort());
                        } else if let Some(value) = plain.next() {
                            into.push(value);
                        } else {
                            break;
                        }
                    }
                }
            }
        }
        self.with_ends(|ends| {
            for end in ends.iter() {
                into.extend([end.own.newest().effort, end.delay(), f64::from(u8::from(end.is_still()))]);
            }
        });
    }

    /// Over everything that changes, between two rounds.
    pub(crate) fn walk(&mut self, walk: &mut Walk<'_>) -> Result<(), SimulatorError> {
        walk.number(&mut self.time);
        walk.count(&mut self.steps);
        walk.count(&mut self.evaluations);
        match &mut self.body {
            Body::Solo(solo) => solo.walk(walk)?,
            Body::Group { run, ends } => {
                let fault = |error: CheckpointError| SimulatorError::new("freeze", error.to_string());
                let mut bytes = match walk {
                    Walk::Write(_) => run.save().map_err(fault)?.bytes().to_vec(),
                    Walk::Read(_) => Vec::new(),
                };
                walk.bytes(&mut bytes);
                if let Walk::Read(_) = walk {
                    run.load(&Checkpoint::from_bytes(bytes).map_err(fault)?).map_err(fault)?;
                }
                lock(ends).iter_mut().for_each(|end| end.walk(walk));
            }
        }
        Ok(())
    }

    /// New values of inputs that nobody drives, from the next step on.
    pub(crate) fn set_input(&mut self, member: usize, input: usize, value: f64) {
        if let Body::Solo(solo) = &mut self.body
            && member == 0
            && !solo.ends.iter().any(|end| end.effort == input)
        {
            solo.segments[input] = Segment::constant(value);
        }
    }

    /// What the method of the island has to say about its bonds.
    pub(crate) fn bonds(&self) -> Vec<BondSummary> {
        match &self.body {
            Body::Solo(_) => Vec::new(),
            Body::Group { run, .. } => run.summary().bonds,
        }
    }

    /// Steps that were taken back.
    pub(crate) fn rejected(&self) -> u64 {
        match &self.body {
            Body::Solo(solo) => solo.ends.iter().map(|end| end.stats.taken_back).sum(),
            Body::Group { run, .. } => run.counters().rejected,
        }
    }
}

impl Solo {
    fn new(
        seed: SoloSeed,
        mut ends: Vec<End>,
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
                drive.weigh(simulator.as_mut(), &ends, window, &segments)?;
                for (mass, known) in drive.masses.iter_mut().zip(known) {
                    *mass = if known.is_nan() { *mass } else { known };
                }
            }
            check_masses(&name, &drive, &ends, size, decls)?;
            drive.rest(efforts.iter().copied());
        }
        let next_event = simulator.next_event()?.map(Time::seconds);
        let rates = drive.rates().to_vec();
        let samples = vec![Stamp::default(); ends.len()];
        let mut solo = Solo {
            simulator,
            ends,
            drive,
            segments,
            outputs,
            size,
            next_event,
            rollback,
            rates,
            samples,
            owed: 0,
        };
        solo.announce();
        Ok(solo)
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
        self.ends.iter_mut().for_each(|end| end.walk(walk));
        walk.numbers(self.drive.rates_mut());
        self.segments.iter_mut().for_each(|segment| walk.numbers(&mut segment.0));
        walk.numbers(&mut self.outputs);
        walk.maybe(&mut self.next_event);
        walk.count(&mut self.owed);
        Ok(())
    }

    fn announce(&mut self) {
        for end in &mut self.ends {
            end.announce(self.next_event);
        }
    }

    /// Until a step is kept; `None` where stamps are missing for one.
    fn step(&mut self, from: f64, stop: f64) -> Result<Option<(f64, u64)>, SimulatorError> {
        let inside = self.drive.way == Boundary::Inside;
        let mut evaluations = 0;
        loop {
            // The delays, or the size at the shortest one that grows with them.
            let least = self.ends.iter().map(|end| end.factor).reduce(f64::min).unwrap_or(1.0);
            let longest = self.ends.iter().map(|end| end.longest(from)).fold(f64::INFINITY, f64::min);
            let wanted = (self.size * least).min(longest);
            let known = self.ends.iter().filter_map(|end| end.limit(from));
            let limit = known.chain(self.next_event.filter(|event| *event > from)).fold(stop, f64::min);
            // A rest that is no step is part of the last one.
            let to = if limit - (from + wanted) < 1e-9 * wanted { limit } else { from + wanted };
            if !self.ends.iter().all(|end| end.ready(from, to)) {
                // What was tried and taken back has been paid for.
                self.owed += evaluations;
                return Ok(None);
            }
            let window = window(from, to)?;
            let careful =
                self.rollback && self.ends.iter().any(|end| end.factor > 1.0 && end.owner.is_none());
            if careful {
                self.simulator.save(Slot::Attempt)?;
                self.rates.copy_from_slice(self.drive.rates());
            }
            let mut trail = Trail { integrals: &mut [] };
            let (simulator, segments) = (self.simulator.as_mut(), &self.segments[..]);
            let reached = self.drive.advance(simulator, &self.ends, window, segments, inside, &mut trail)?;
            evaluations += reached.evaluations;
            if let Some(function) = self.simulator.ending() {
                return Err(SimulatorError::end(function));
            }
            let now = reached.to.seconds();
            self.simulator.outputs(&mut Outputs { values: &mut self.outputs, slopes: &mut [] })?;
            let mut again = false;
            for (end, sample) in self.ends.iter_mut().zip(&mut self.samples) {
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
                self.ends.iter_mut().filter(moved).for_each(End::give_up);
                continue;
            }
            for (end, sample) in self.ends.iter_mut().zip(&self.samples) {
                end.publish(*sample);
                self.segments[end.effort] = Segment::constant(sample.effort * end.view_scale());
            }
            self.next_event = reached.next_event.map(Time::seconds);
            if reached.event {
                self.event(reached.to)?;
            }
            self.announce();
            return Ok(Some((now, evaluations + std::mem::take(&mut self.owed))));
        }
    }

    /// Handles what is due, until nothing is.
    fn event(&mut self, at: Time) -> Result<(), SimulatorError> {
        let before: Vec<f64> = self.ends.iter().map(|end| self.outputs[end.flow]).collect();
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
        for (end, before) in self.ends.iter_mut().zip(before) {
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
