//! All islands of a system with lines, moving in rounds.
//!
//! In a round every island steps as far as its stamps allow; then, with all islands at rest, published stamps are delivered
//! in the order of the lines. Islands share nothing else, so results are bit-identical for any thread count.

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

/// Planned islands, and their merged view.
pub(crate) struct IslandPlan {
    pub(crate) blueprints: Vec<IslandBlueprint>,
    pub(crate) shown: IslandNames,
}

/// The merged view: names, and where islands have its values.
pub(crate) struct IslandNames {
    /// Names of the islands, and of the lines between them.
    pub(crate) islands: Vec<String>,
    pub(crate) lines: Vec<String>,
    /// The first component of each island, which errors of the island name.
    pub(crate) first: Vec<usize>,
    /// For each output of the plan: its island, and its index there.
    pub(crate) outputs: Vec<(usize, usize)>,
    /// For each input of the plan: its island of one simulator, and the input there.
    pub(crate) inputs: Vec<(usize, usize)>,
}

/// The islands of a run.
pub(crate) struct Islands {
    /// Islands on the coordinator's thread.
    own: IslandShare,
    workers: Vec<Worker<IslandShare>>,
    /// The number of islands per thread; the last one may have fewer.
    share: usize,
    /// Both sides of each line: island and end.
    lines: Vec<[(usize, usize); 2]>,
    shown: IslandNames,
    /// The present values of inputs in the islands.
    held: Vec<f64>,
}

/// Totals of an island.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IslandTotals {
    /// The names of its components.
    pub name: String,
    /// Accepted steps.
    pub steps: u64,
    /// Steps that were rolled back.
    pub taken_back: u64,
    /// Model evaluations.
    pub evaluations: u64,
    /// Bonds inside of the island.
    pub bonds: Vec<BondSummary>,
}

/// Totals of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct LineTotals {
    /// The name of the line.
    pub name: String,
    /// Sides a and b.
    pub ends: [EndTotals; 2],
    /// Energy that entered at both ends, in joules.
    pub entered: f64,
    /// Energy still inside of the line, in joules.
    pub stored: f64,
}

impl LineTotals {
    /// Energy that the line created, in joules, negative if lost; zero for a constant delay.
    pub fn defect(&self) -> f64 {
        self.stored - self.entered
    }

    /// The sum of both flows at the start, relative to the larger one. Unless it is zero the line begins with an artificial
    /// jump.
    pub fn gap(&self) -> f64 {
        let [a, b] = [0, 1].map(|side| self.ends[side].first_flow);
        let largest = a.abs().max(b.abs());
        if largest > 0.0 { (a + b).abs() / largest } else { 0.0 }
    }

    /// The exchanged energy in joules, in both directions.
    pub fn exchanged(&self) -> f64 {
        self.ends.iter().map(|end| end.stats.exchanged).sum::<f64>() / 2.0
    }
}

/// Totals of a system with lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LineNetworkTotals {
    /// All islands.
    pub islands: Vec<IslandTotals>,
    /// All lines.
    pub lines: Vec<LineTotals>,
    /// Reads beyond the newest stamp; always 0.
    pub beyond: u64,
}

impl Islands {
    /// Creates the islands on their threads and initialises them and the merged view `whole`.
    pub(crate) fn start(
        formed: IslandPlan,
        threads: usize,
        whole: &mut Island,
    ) -> Result<Islands, StepError> {
        let IslandPlan { blueprints: seeds, shown } = formed;
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
            held: whole.layout.topology.first_inputs.clone(),
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

    /// Steps all islands to the end of the next window of `whole`, and updates it.
    pub(crate) fn step(&mut self, whole: &mut Island) -> Result<(), StepError> {
        self.pass_inputs(whole);
        let window = whole.next_window();
        let reached = self.run_until(window.to.seconds());
        self.show(window.to.seconds(), &mut whole.board.buffers.outputs);
        let blamed = reached.err().map(|fault| self.blamed(fault));
        check(whole, blamed).map_err(|blamed| stepping(&whole.layout, blamed, window))?;
        whole.board.traces.open(window.to);
        whole.board.traces.put(0, &whole.board.buffers.outputs, &[]);
        whole.close(window, 0.0, 1.0)
    }

    /// Passes new values of unconnected inputs to the islands, from their next steps on.
    fn pass_inputs(&mut self, whole: &mut Island) {
        for input in 0..self.held.len() {
            let value = whole.layout.topology.couplings.constant(input);
            whole.board.buffers.segments[input] = Segment::constant(value);
            if value.to_bits() != self.held[input].to_bits() {
                self.held[input] = value;
                let (isle, port) = self.shown.inputs[input];
                self.with_island_mut(isle, |isle| isle.set_input(port, value));
            }
        }
    }

    /// Rounds until every island is at or past an instant.
    fn run_until(&mut self, t: f64) -> Result<(), (usize, SimulatorError)> {
        while self.any(|isle| isle.time < t) {
            if !self.each(RoundTask::Round { until: t })? {
                let words = "deadlock: all islands wait for stamps; this is a bug in Cosimo";
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
            self.with_island_mut(isle, |isle| isle.show(t));
        }
        for (value, &(isle, place)) in outputs.iter_mut().zip(&self.shown.outputs) {
            *value = self.with_island(isle, |isle| isle.shown(place));
        }
    }

    /// Serializes all islands, each at the index of its first component, with undelivered stamps.
    pub(crate) fn serialize_states(&mut self, whole: &mut Island) -> Result<(), StepError> {
        self.at_rest(RoundTask::Freeze, whole)?;
        for (isle, &first) in self.shown.first.clone().iter().enumerate() {
            whole.board.buffers.serialized_states[first] =
                self.with_island_mut(isle, |isle| std::mem::take(&mut isle.serialized));
        }
        Ok(())
    }

    pub(crate) fn deserialize_states(&mut self, whole: &mut Island) -> Result<(), StepError> {
        for (isle, &first) in self.shown.first.clone().iter().enumerate() {
            let frozen = std::mem::take(&mut whole.board.buffers.serialized_states[first]);
            self.with_island_mut(isle, |isle| isle.serialized = frozen);
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
            self.with_island(index, |isle| {
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

    /// Measures the wall time of each island's steps from now on.
    pub(crate) fn take_times(&mut self) {
        for isle in 0..self.shown.islands.len() {
            self.with_island_mut(isle, |isle| isle.spent = Some(Duration::ZERO));
        }
    }

    /// Wall times so far, at the indices of the islands' first components; empty if not measured.
    pub(crate) fn time_per_component(&self, components: usize) -> Vec<Duration> {
        let mut all = vec![Duration::ZERO; components];
        for (isle, &first) in self.shown.first.iter().enumerate() {
            let Some(spent) = self.with_island(isle, |isle| isle.spent) else { return Vec::new() };
            all[first] = spent;
        }
        all
    }

    fn blamed(&self, (isle, cause): (usize, SimulatorError)) -> FaultOf {
        (self.shown.first[isle], Fault::Failed(cause))
    }

    /// Runs a task on all threads. Returns whether an island moved, or the fault of the first island with one.
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
        (0..self.shown.islands.len()).any(|isle| self.with_island(isle, &look))
    }

    /// An island, while all of them rest.
    fn with_island_mut<R>(&mut self, index: usize, look: impl FnOnce(&mut LineIsland) -> R) -> R {
        let place = index % self.share;
        match (index / self.share).checked_sub(1) {
            None => look(&mut self.own.isles[place]),
            Some(worker) => self.workers[worker].at_rest(|share| look(&mut share.isles[place])),
        }
    }

    fn with_island<R>(&self, index: usize, look: impl FnOnce(&LineIsland) -> R) -> R {
        let place = index % self.share;
        match (index / self.share).checked_sub(1) {
            None => look(&self.own.isles[place]),
            Some(worker) => self.workers[worker].at_rest(|share| look(&share.isles[place])),
        }
    }

    fn end<R>(&mut self, (isle, end): (usize, usize), look: impl FnOnce(&mut EndState) -> R) -> R {
        self.with_island_mut(isle, |isle| isle.with_ends(|ends| look(&mut ends[end])))
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
                // The others finish their round: results must not depend on the distribution over threads.
                Err(fault) => self.fault = self.fault.take().or(Some((self.first + place, fault))),
            }
        }
    }

    fn end(&mut self) {
        self.isles.clear();
    }
}

/// The first fault: of an island, or a value that is not finite of a component before it.
fn check(whole: &Island, blamed: Option<FaultOf>) -> Result<(), FaultOf> {
    let before = blamed.as_ref().map_or(usize::MAX, |(component, _)| *component);
    for (component, block) in whole.layout.topology.blocks.iter().enumerate().take(before) {
        finite(&whole.board.buffers.outputs[block.outputs.clone()]).map_err(|fault| (component, fault))?;
    }
    blamed.map_or(Ok(()), Err)
}

/// A panic in a simulator becomes its error.
fn blamed<R>(work: impl FnOnce() -> Result<R, SimulatorError>) -> Result<R, SimulatorError> {
    guarded(work)
        .unwrap_or_else(|message| Err(SimulatorError::new("step", format!("it panicked: {message}"))))
}
