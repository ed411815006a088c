//! All islands of a system with lines, moving in rounds.
//!
//! In a round every island steps for as long as the stamps that it has let it; then, with everybody at rest, what was
//! published is delivered in the order of the lines. Nothing else passes between islands, so their results are the same
//! for any number of threads.

use std::time::{Duration, Instant};

use cosimo_core::error::StepError;
use cosimo_core::{Segment, SimulatorError};

use super::end::{EndState, EndTotals};
use super::island::{IslandBlueprint, LineIsland, lock};
use crate::attempt::{resting, stepping};
use crate::island::Island;
use crate::simulator_pool::{Fault, FaultOf, finite, guarded};
use crate::summary::BondSummary;
use crate::workers::{Worker, WorkerGroup, shares};

/// Islands as a plan leaves them, and what a run shows of them.
pub(crate) struct IslandPlan {
    pub(crate) seeds: Vec<IslandBlueprint>,
    pub(crate) shown: IslandNames,
}

/// What of the islands is shown, and by which names.
pub(crate) struct IslandNames {
    /// Names of the islands, and of the lines between them.
    pub(crate) islands: Vec<String>,
    pub(crate) lines: Vec<String>,
    /// The first component of each island, which is named where the island fails.
    pub(crate) first: Vec<usize>,
    /// For each output of the plan: the island that shows it, and its place there.
    pub(crate) outputs: Vec<(usize, usize)>,
    /// For each input of the plan: the island, which is one simulator, and the input of that.
    pub(crate) inputs: Vec<(usize, usize)>,
}

/// The islands of a run.
pub(crate) struct Islands {
    /// Those of the coordinator's own thread.
    own: IslandShare,
    workers: Vec<Worker<IslandShare>>,
    /// How many there are on each thread; on the last one there may be fewer.
    share: usize,
    /// Both sides of each line: island and end.
    lines: Vec<[(usize, usize); 2]>,
    shown: IslandNames,
    /// The values of inputs as the islands have them.
    held: Vec<f64>,
}

/// What an island did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IslandTotals {
    pub name: String,
    pub steps: u64,
    pub taken_back: u64,
    pub evaluations: u64,
    pub bonds: Vec<BondSummary>,
}

/// What a line did.
#[derive(Debug, Clone, PartialEq)]
pub struct LineTotals {
    pub name: String,
    pub ends: [EndTotals; 2],
    /// Energy that went in at both ends, and what of it is still on its way, in joules.
    pub entered: f64,
    pub stored: f64,
}

impl LineTotals {
    /// Energy that the line made or lost: a line of constant delay keeps all of it.
    pub fn defect(&self) -> f64 {
        self.stored - self.entered
    }

    /// By how much the flows at the start do not meet, as a part of the larger one. A line that begins so begins with a jump
    /// that nobody caused.
    pub fn gap(&self) -> f64 {
        let [a, b] = [0, 1].map(|side| self.ends[side].first_flow);
        let largest = a.abs().max(b.abs());
        if largest > 0.0 { (a + b).abs() / largest } else { 0.0 }
    }

    /// The energy that passed, whichever way.
    pub fn exchanged(&self) -> f64 {
        self.ends.iter().map(|end| end.stats.exchanged).sum::<f64>() / 2.0
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct LineNetworkTotals {
    pub islands: Vec<IslandTotals>,
    pub lines: Vec<LineTotals>,
    /// Reads of what nobody had published yet. There are none.
    pub beyond: u64,
}

impl Islands {
    /// Islands are made on the threads where they will live, and stand at the start, where `whole` shows them.
    pub(crate) fn start(
        formed: IslandPlan,
        threads: usize,
        whole: &mut Island,
    ) -> Result<Islands, StepError> {
        let IslandPlan { seeds, shown } = formed;
        let mut lines = vec![[(0, 0); 2]; shown.lines.len()];
        for (isle, seed) in seeds.iter().enumerate() {
            for (place, end) in lock(&seed.ends).iter().enumerate() {
                lines[end.line][end.side] = (isle, place);
            }
        }
        let mut first = 0;
        let shares = shares(seeds, threads).into_iter().map(|seeds| {
            let share = IslandShare::new(first, seeds);
            first += share.seeds.len();
            share
        });
        let mut shares = shares.collect::<Vec<_>>().into_iter();
        let own = shares.next().unwrap_or_else(|| IslandShare::new(0, Vec::new()));
        let mut islands = Islands {
            share: own.seeds.len().max(1),
            own,
            workers: shares.map(Worker::start).collect(),
            lines,
            shown,
            held: whole.layout.topology.first.clone(),
        };
        let at = whole.clock.now();
        if let Err(fault) = islands.each(RoundTask::Make) {
            return Err(resting(&whole.layout, islands.blamed(fault), at));
        }
        islands.deliver();
        islands.show(at.seconds(), &mut whole.board.buffers.outputs);
        check(whole, None).map_err(|blamed| resting(&whole.layout, blamed, at))?;
        Ok(islands)
    }

    /// All islands up to the end of the next window of `whole`, and what they show there.
    pub(crate) fn step(&mut self, whole: &mut Island) -> Result<(), StepError> {
        self.hand_on(whole);
        let window = whole.next_window();
        let reached = self.run_until(window.to.seconds());
        self.show(window.to.seconds(), &mut whole.board.buffers.outputs);
        let blamed = reached.err().map(|fault| self.blamed(fault));
        check(whole, blamed).map_err(|blamed| stepping(&whole.layout, blamed, window))?;
        whole.board.traces.open(window.to);
        whole.board.traces.put(0, &whole.board.buffers.outputs, &[]);
        whole.close(window, 0.0, 1.0)
    }

    /// New values of inputs that nothing drives, from the next steps on.
    fn hand_on(&mut self, whole: &mut Island) {
        for input in 0..self.held.len() {
            let value = whole.layout.topology.couplings.constant(input);
            whole.board.buffers.segments[input] = Segment::constant(value);
            if value.to_bits() != self.held[input].to_bits() {
                self.held[input] = value;
                let (isle, port) = self.shown.inputs[input];
                self.isle(isle, |isle| isle.set_input(port, value));
            }
        }
    }

    /// Rounds until every island is at or past an instant.
    fn run_until(&mut self, t: f64) -> Result<(), (usize, SimulatorError)> {
        while self.any(|isle| isle.time < t) {
            if !self.each(RoundTask::Round { until: t })? {
                let words = "no island can go on: each waits for another; this is a mistake in Cosimo";
                return Err((0, SimulatorError::new("step", words)));
            }
            self.deliver();
        }
        Ok(())
    }

    /// Stamps and notices to the other side, line by line.
    fn deliver(&mut self) {
        for line in 0..self.lines.len() {
            for side in 0..2 {
                let (from, to) = (self.lines[line][side], self.lines[line][1 - side]);
                let (mut stamps, notice) = self.end(from, EndState::send);
                self.end(to, |end| end.arrive(&mut stamps, notice));
                self.end(from, |end| end.outbox = stamps);
            }
        }
    }

    fn show(&mut self, t: f64, outputs: &mut [f64]) {
        for isle in 0..self.shown.islands.len() {
            self.isle(isle, |isle| isle.show(t));
        }
        for (value, &(isle, place)) in outputs.iter_mut().zip(&self.shown.outputs) {
            *value = self.see(isle, |isle| isle.shown(place));
        }
    }

    /// All islands as bytes, each in the place of its first component, with what is on its way to it.
    pub(crate) fn serialize_states(&mut self, whole: &mut Island) -> Result<(), StepError> {
        self.at_rest(RoundTask::Freeze, whole)?;
        for (isle, &first) in self.shown.first.clone().iter().enumerate() {
            whole.board.buffers.frozen[first] = self.isle(isle, |isle| std::mem::take(&mut isle.frozen));
        }
        Ok(())
    }

    pub(crate) fn deserialize_states(&mut self, whole: &mut Island) -> Result<(), StepError> {
        for (isle, &first) in self.shown.first.clone().iter().enumerate() {
            let frozen = std::mem::take(&mut whole.board.buffers.frozen[first]);
            self.isle(isle, |isle| isle.frozen = frozen);
        }
        self.at_rest(RoundTask::Thaw, whole)
    }

    fn at_rest(&mut self, task: RoundTask, whole: &Island) -> Result<(), StepError> {
        let done = self.each(task).map(|_| ());
        done.map_err(|fault| resting(&whole.layout, self.blamed(fault), whole.clock.now()))
    }

    pub(crate) fn totals(&self) -> LineNetworkTotals {
        let mut ends = Vec::new();
        let islands = self.shown.islands.iter().enumerate().map(|(index, name)| {
            self.see(index, |isle| {
                ends.push(isle.end_totals());
                IslandTotals { name: name.clone(), ..isle.totals() }
            })
        });
        let islands = islands.collect();
        let both = |(name, sides): (&String, &[(usize, usize); 2])| {
            let [(a, sent_a), (b, sent_b)] = sides.map(|(isle, end)| ends[isle][end].clone());
            let entered = a.stats.energy + b.stats.energy;
            LineTotals { name: name.clone(), ends: [a, b], entered, stored: sent_a + sent_b }
        };
        let lines: Vec<LineTotals> = self.shown.lines.iter().zip(&self.lines).map(both).collect();
        let beyond = lines.iter().flat_map(|line| &line.ends).map(|end| end.beyond).sum();
        LineNetworkTotals { islands, lines, beyond }
    }

    /// From now on takes the wall time of each island's steps.
    pub(crate) fn take_times(&mut self) {
        for isle in 0..self.shown.islands.len() {
            self.isle(isle, |isle| isle.spent = Some(Duration::ZERO));
        }
    }

    /// The times so far, in the places of the islands' first components; empty where none are taken.
    pub(crate) fn time_per_component(&self, components: usize) -> Vec<Duration> {
        let mut all = vec![Duration::ZERO; components];
        for (isle, &first) in self.shown.first.iter().enumerate() {
            let Some(spent) = self.see(isle, |isle| isle.spent) else { return Vec::new() };
            all[first] = spent;
        }
        all
    }

    fn blamed(&self, (isle, cause): (usize, SimulatorError)) -> FaultOf {
        (self.shown.first[isle], Fault::Failed(cause))
    }

    /// A task on all threads: whether an island moved, or the fault of the first one that has any.
    fn each(&mut self, task: RoundTask) -> Result<bool, (usize, SimulatorError)> {
        for worker in &self.workers {
            worker.give(|share| share.task = task);
        }
        self.own.task = task;
        self.own.work();
        let mut moved = self.own.outcome();
        for worker in &self.workers {
            let theirs = worker.take(IslandShare::outcome);
            moved = moved.and_then(|moved| Ok(theirs? || moved));
        }
        moved
    }

    fn any(&self, look: impl Fn(&LineIsland) -> bool) -> bool {
        (0..self.shown.islands.len()).any(|isle| self.see(isle, &look))
    }

    /// An island, while all of them rest.
    fn isle<R>(&mut self, index: usize, look: impl FnOnce(&mut LineIsland) -> R) -> R {
        let place = index % self.share;
        match (index / self.share).checked_sub(1) {
            None => look(&mut self.own.isles[place]),
            Some(worker) => self.workers[worker].at_rest(|share| look(&mut share.isles[place])),
        }
    }

    fn see<R>(&self, index: usize, look: impl FnOnce(&LineIsland) -> R) -> R {
        let place = index % self.share;
        match (index / self.share).checked_sub(1) {
            None => look(&self.own.isles[place]),
            Some(worker) => self.workers[worker].at_rest(|share| look(&share.isles[place])),
        }
    }

    fn end<R>(&mut self, (isle, end): (usize, usize), look: impl FnOnce(&mut EndState) -> R) -> R {
        self.isle(isle, |isle| isle.with_ends(|ends| look(&mut ends[end])))
    }
}

/// Islands on one thread.
struct IslandShare {
    /// The index of the first one.
    first: usize,
    seeds: Vec<IslandBlueprint>,
    isles: Vec<LineIsland>,
    task: RoundTask,
    moved: bool,
    fault: Option<(usize, SimulatorError)>,
}

#[derive(Clone, Copy)]
enum RoundTask {
    Make,
    Round { until: f64 },
    Freeze,
    Thaw,
}

impl IslandShare {
    fn new(first: usize, seeds: Vec<IslandBlueprint>) -> IslandShare {
        let isles = Vec::with_capacity(seeds.len());
        IslandShare { first, seeds, isles, task: RoundTask::Make, moved: false, fault: None }
    }

    fn outcome(&mut self) -> Result<bool, (usize, SimulatorError)> {
        self.fault.take().map_or(Ok(self.moved), Err)
    }
}

impl WorkerGroup for IslandShare {
    fn work(&mut self) {
        self.moved = false;
        for (place, seed) in std::mem::take(&mut self.seeds).into_iter().enumerate() {
            match blamed(|| LineIsland::new(seed)) {
                Ok(isle) => self.isles.push(isle),
                Err(fault) => {
                    self.fault = Some((self.first + place, fault));
                    return;
                }
            }
        }
        for (place, isle) in self.isles.iter_mut().enumerate() {
            let began = isle.spent.map(|_| Instant::now());
            let done = blamed(|| match self.task {
                RoundTask::Make => Ok(false),
                RoundTask::Round { until } => isle.round(until),
                RoundTask::Freeze => isle.serialize_state().map(|()| false),
                RoundTask::Thaw => isle.deserialize_state().map(|()| false),
            });
            if let (Some(spent), Some(began)) = (&mut isle.spent, began) {
                *spent += began.elapsed();
            }
            match done {
                Ok(moved) => self.moved |= moved,
                // The others finish their round: what an island came to does not depend on who shares its thread.
                Err(fault) => self.fault = self.fault.take().or(Some((self.first + place, fault))),
            }
        }
    }

    fn end(&mut self) {
        self.isles.clear();
    }
}

/// The fault: that of an island, or a value that is not finite where a component shows one before.
fn check(whole: &Island, blamed: Option<FaultOf>) -> Result<(), FaultOf> {
    let before = blamed.as_ref().map_or(usize::MAX, |(component, _)| *component);
    for (component, block) in whole.layout.topology.blocks.iter().enumerate().take(before) {
        finite(&whole.board.buffers.outputs[block.outputs.clone()]).map_err(|fault| (component, fault))?;
    }
    blamed.map_or(Ok(()), Err)
}

/// A panic in a simulator is its fault, not the engine's.
fn blamed<R>(work: impl FnOnce() -> Result<R, SimulatorError>) -> Result<R, SimulatorError> {
    guarded(work)
        .unwrap_or_else(|message| Err(SimulatorError::new("step", format!("it panicked: {message}"))))
}
