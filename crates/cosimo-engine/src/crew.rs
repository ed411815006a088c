//! Simulators and the threads they live on.
//!
//! A simulator is pinned: every call to it, the first included, comes from one thread, because many foreign
//! units are not re-entrant and some are bound to their thread. With one thread the coordinator itself makes
//! all calls, straight on the board's buffers. With more, each worker owns a group behind a mutex that is
//! never contended: the coordinator fills the group's inputs, bumps a counter and waits. Workers spin
//! briefly, then park: spinning alone collapses on a loaded machine. No call allocates.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};

use cosimo_core::linearised::{Matrices, Place, Present};
use cosimo_core::method::{JacobianSource, JacobianWork};
use cosimo_core::{
    Inputs, Lead, Outputs, Rehearsal, Segment, Setup, Simulator, SimulatorError, Slot, Time, Trail, Window,
};

use crate::plan::runs;

/// Turns of the spinning wait before a thread parks.
const SPINS: u32 = 200;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a simulator's code. Lets a panic hook stay silent where the engine reports.
pub fn in_simulator() -> bool {
    INSIDE.get()
}

/// One simulator with the places of its values in the buffers it works on.
pub struct Member {
    pub index: usize,
    pub simulator: Box<dyn Simulator>,
    pub inputs: Range<usize>,
    pub outputs: Range<usize>,
    pub offers_slopes: bool,
    pub offers_integrals: bool,
    /// What plain steps have no use for; elsewhere, so that a thousand members fit into a cache.
    pub seldom: Box<Seldom>,
}

#[derive(Debug)]
pub struct Seldom {
    pub stage: usize,
    pub states: Range<usize>,
    pub jacobian: Range<usize>,
    /// Where its linear model goes, if it has one.
    pub model: Option<Place>,
    /// Per pass: an output of this simulator can be known by then.
    pub passes: Vec<bool>,
    /// It declares derivatives of its outputs by its inputs.
    pub declares: bool,
    /// It answers without a step between, or has events.
    pub lively: bool,
    /// Texts and bytes: the wire and the port of each.
    pub takes: Vec<(usize, usize)>,
    pub gives: Vec<(usize, usize)>,
    pub work: JacobianWork,
}

/// Members of one thread, in the order of their indices.
#[derive(Debug)]
struct Team {
    members: Vec<Member>,
    /// Per stage: who steps in it, in runs of neighbours.
    stages: Vec<Vec<Range<usize>>>,
}

impl Team {
    fn new(members: Vec<Member>) -> Team {
        let count = members.iter().map(|member| member.seldom.stage + 1).max().unwrap_or(0);
        let mut places = vec![Vec::new(); count];
        for (place, member) in members.iter().enumerate() {
            places[member.seldom.stage].push(place);
        }
        Team { members, stages: places.into_iter().map(runs).collect() }
    }
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Member({})", self.index)
    }
}

/// What a group of members is told to do.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    Enter(Setup),
    Settle {
        at: Time,
        who: Who,
        /// Outputs need not be finite yet.
        lenient: bool,
    },
    /// Declared derivatives of those who speak in a range of passes.
    Through {
        passes: (usize, usize),
    },
    Rehearse(Window),
    /// Those who begin a step of their own that is longer than the window.
    Lead,
    Advance {
        window: Window,
        stage: usize,
    },
    /// Texts and bytes that have arrived, and those that are shown.
    Take(Whose),
    Give(Whose),
    Save(Slot),
    Restore(Slot),
    Jacobian {
        at: Time,
    },
    /// Linear models around the present states and the given inputs, with new matrices or old ones.
    Linearise {
        matrices: bool,
    },
    GetStates,
    SetStates,
    Freeze,
    Thaw,
    /// One member alone, by its index in the system.
    Tune {
        member: usize,
        parameter: usize,
        value: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    All,
    Pass(usize),
    /// Those that answer without a step between, or have events.
    Lively,
}

/// Whose texts and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    All,
    /// As [`Who::Lively`].
    Lively,
    Stage(usize),
}

impl Whose {
    fn is(self, seldom: &Seldom) -> bool {
        match self {
            Whose::All => true,
            Whose::Lively => seldom.lively,
            Whose::Stage(stage) => seldom.stage == stage,
        }
    }
}

/// The buffers a group works on: the board's own, or a worker's copy of its share.
#[derive(Debug, Default)]
pub struct Buffers {
    pub segments: Vec<Segment>,
    pub left: Vec<f64>,
    pub slopes: Vec<f64>,
    pub integrals: Vec<f64>,
    pub jacobian: Vec<f64>,
    /// Derivatives for loops, in the places of the Jacobian.
    pub through: Vec<f64>,
    /// Linear models: where they hold, and their matrices.
    pub present: Vec<f64>,
    pub matrices: Vec<f64>,
    pub states: Vec<f64>,
    /// Frozen states, one per member.
    pub frozen: Vec<Vec<u8>>,
    /// What trials of rollback showed, one per member.
    pub rehearsals: Vec<Rehearsal>,
    /// Steps of members' own, for those who begin one.
    pub leads: Vec<Option<Lead>>,
    /// Who stands at an event, one per member.
    pub due: Vec<bool>,
    /// Texts and bytes on their way, one per wire of all; and those that were shown last.
    pub parcels: Vec<Vec<u8>>,
    pub given: Vec<Vec<u8>>,
}

/// What came out of a task beside the buffers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Outcome {
    pub evaluations: u64,
    pub next_event: Option<Time>,
    /// Somebody stands at an event.
    pub event: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    Failed(SimulatorError),
    Panicked(String),
    NotFinite { output: usize, value: f64 },
    Stopped(Time),
}

/// Where derivatives come from.
#[derive(Clone, Default)]
pub struct Sources {
    /// Those of outputs by inputs.
    pub interface: Option<Arc<dyn JacobianSource>>,
    /// Those of linear models.
    pub models: Option<Arc<dyn JacobianSource>>,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sources({}, {})", self.interface.is_some(), self.models.is_some())
    }
}

/// A fault and whose it is.
pub type Blamed = (usize, Fault);

/// Runs a task on a team, in order, stopping at the first fault. Panics are caught once around all calls.
fn perform(team: &mut Team, task: Task, sources: &Sources, buffers: &mut Buffers) -> Result<Outcome, Blamed> {
    let current = Cell::new(0);
    INSIDE.set(true);
    let result = catch_unwind(AssertUnwindSafe(|| {
        if let Task::Advance { window, stage } = task {
            return advance(team, window, stage, buffers, &current);
        }
        let mut outcome = Outcome::default();
        for member in &mut team.members {
            current.set(member.index);
            let next = one(member, task, sources, buffers).map_err(|fault| (member.index, fault))?;
            outcome.next_event = earlier(outcome.next_event, next);
        }
        Ok(outcome)
    }));
    INSIDE.set(false);
    let result = result.unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".into());
        Err((current.get(), Fault::Panicked(message)))
    });
    if let Task::Advance { stage, .. } = task {
        // Whoever came before the fault has given outputs, and a bad one of those is the earlier fault.
        let before = result.as_ref().map_or_else(|(index, _)| *index, |_| usize::MAX);
        if let Some(blamed) = not_finite(team, stage, before, &buffers.left) {
            return Err(blamed);
        }
    }
    result
}

/// The first output that is not finite, of those members who step in the stage and come before an index.
/// Looked for once per stage, not per member: neighbours' outputs are neighbours, so this is one fast loop.
#[inline]
fn not_finite(team: &Team, stage: usize, before: usize, left: &[f64]) -> Option<Blamed> {
    for run in team.stages.get(stage).map_or(&[][..], Vec::as_slice) {
        let members = &team.members[run.clone()];
        let (Some(first), Some(last)) = (members.first(), members.last()) else { continue };
        let values = &left[first.outputs.start..last.outputs.end];
        // Without a way out in the middle the compiler takes several values at a time.
        if values.iter().fold(true, |finite, value| finite & value.is_finite()) {
            continue;
        }
        for member in members.iter().take_while(|member| member.index < before) {
            if let Err(fault) = finite(&left[member.outputs.clone()]) {
                return Some((member.index, fault));
            }
        }
    }
    None
}

fn finite(values: &[f64]) -> Result<(), Fault> {
    match values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        Some((output, &value)) => Err(Fault::NotFinite { output, value }),
        None => Ok(()),
    }
}

/// The inner loop of every run.
#[inline]
fn advance(
    team: &mut Team,
    window: Window,
    stage: usize,
    buffers: &mut Buffers,
    current: &Cell<usize>,
) -> Result<Outcome, Blamed> {
    let mut outcome = Outcome::default();
    let Team { members, stages } = team;
    for run in stages.get(stage).map_or(&[][..], Vec::as_slice) {
        for member in &mut members[run.clone()] {
            current.set(member.index);
            let inputs = Inputs { segments: &buffers.segments[member.inputs.clone()] };
            let integrals: &mut [f64] = if member.offers_integrals {
                &mut buffers.integrals[member.outputs.clone()]
            } else {
                &mut []
            };
            let (mut trail, mut out) =
                (Trail { integrals }, outputs(member, &mut buffers.left, &mut buffers.slopes));
            let reached = member
                .simulator
                .advance_and_read(window, &inputs, &mut trail, &mut out)
                .map_err(|cause| (member.index, Fault::Failed(cause)))?;
            outcome.evaluations += reached.evaluations;
            if reached.to < window.to {
                return Err((member.index, Fault::Stopped(reached.to)));
            }
            outcome.next_event = earlier(outcome.next_event, reached.next_event);
            if reached.event {
                if let Some(at) = member.simulator.met() {
                    return Err((member.index, Fault::Stopped(at)));
                }
                outcome.event = true;
                buffers.due[member.index] = true;
            }
        }
    }
    Ok(outcome)
}

#[inline]
pub(crate) fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Everything but steps. Returns the next event where it was asked for.
fn one(
    member: &mut Member,
    task: Task,
    sources: &Sources,
    buffers: &mut Buffers,
) -> Result<Option<Time>, Fault> {
    let simulator = member.simulator.as_mut();
    let inputs = Inputs { segments: &buffers.segments[member.inputs.clone()] };
    match task {
        Task::Advance { .. } => {}
        Task::Settle { at, who, lenient } => {
            let wanted = match who {
                Who::All => true,
                Who::Pass(pass) => member.seldom.passes.get(pass).copied().unwrap_or(false),
                Who::Lively => member.seldom.lively,
            };
            if !wanted {
                return Ok(None);
            }
            simulator.settle(at, &inputs).map_err(Fault::Failed)?;
            let mut out = outputs(member, &mut buffers.left, &mut buffers.slopes);
            member.simulator.outputs(&mut out).map_err(Fault::Failed)?;
            if !lenient {
                finite(&buffers.left[member.outputs.clone()])?;
            }
            if who != Who::Lively {
                return Ok(None);
            }
            return member.simulator.next_event().map_err(Fault::Failed);
        }
        Task::Enter(setup) => simulator.enter(&setup).map_err(Fault::Failed)?,
        Task::Rehearse(window) => {
            buffers.rehearsals[member.index] = simulator.rehearse(window, &inputs).map_err(Fault::Failed)?;
        }
        Task::Lead => {
            if let Some(lead) = buffers.leads[member.index].take() {
                simulator.lead(lead);
            }
        }
        Task::Take(whose) => {
            for (wire, port) in member.seldom.takes.iter().filter(|_| whose.is(&member.seldom)) {
                simulator.take_parcel(*port, &buffers.parcels[*wire]).map_err(Fault::Failed)?;
            }
        }
        Task::Give(whose) => {
            for (wire, port) in member.seldom.gives.iter().filter(|_| whose.is(&member.seldom)) {
                simulator.give_parcel(*port, &mut buffers.given[*wire]).map_err(Fault::Failed)?;
            }
        }
        Task::Save(slot) => simulator.save(slot).map_err(Fault::Failed)?,
        Task::Restore(slot) => simulator.restore(slot).map_err(Fault::Failed)?,
        Task::Jacobian { at } => {
            if let Some(source) = &sources.interface {
                source
                    .refresh(
                        simulator,
                        at,
                        &inputs,
                        &mut member.seldom.work,
                        &mut buffers.jacobian[member.seldom.jacobian.clone()],
                    )
                    .map_err(Fault::Failed)?;
            }
        }
        Task::Through { passes: (from, to) } => {
            let speaks = member.seldom.passes.get(from..to).is_some_and(|passes| passes.contains(&true));
            if speaks && member.seldom.declares {
                let into = &mut buffers.through[member.seldom.jacobian.clone()];
                simulator.jacobian(into).map_err(Fault::Failed)?;
            }
        }
        Task::Linearise { matrices } => {
            let Seldom { model, work, .. } = &mut *member.seldom;
            if let (Some(place), Some(source)) = (model, &sources.models) {
                let present = &mut buffers.present[place.present.clone()];
                let matrices = matrices.then(|| &mut buffers.matrices[place.matrices.clone()]);
                linearise(simulator, source.as_ref(), place, &inputs, work, present, matrices)
                    .map_err(Fault::Failed)?;
            }
        }
        Task::GetStates => {
            if let Some(states) = simulator.states() {
                states.get(&mut buffers.states[member.seldom.states.clone()]);
            }
        }
        Task::SetStates => {
            if let Some(states) = simulator.states() {
                states.set(&buffers.states[member.seldom.states.clone()]);
            }
        }
        Task::Freeze => {
            let bytes = &mut buffers.frozen[member.index];
            bytes.clear();
            simulator.freeze(bytes).map_err(Fault::Failed)?;
        }
        Task::Thaw => simulator.thaw(&buffers.frozen[member.index]).map_err(Fault::Failed)?,
        Task::Tune { member: tuned, parameter, value } if tuned == member.index => {
            simulator.tune(parameter, value).map_err(Fault::Failed)?;
        }
        Task::Tune { .. } => {}
    }
    Ok(None)
}

/// The linear model of one simulator; without a place for new matrices, the old ones stay.
fn linearise(
    simulator: &mut dyn Simulator,
    source: &dyn JacobianSource,
    place: &Place,
    inputs: &Inputs<'_>,
    work: &mut JacobianWork,
    present: &mut [f64],
    matrices: Option<&mut [f64]>,
) -> Result<(), SimulatorError> {
    let (states, ports, outputs) = (place.states, place.inputs, place.outputs);
    let (Some(insight), Some(dynamics)) = (simulator.interface().insight, simulator.dynamics()) else {
        return Err(SimulatorError::new("linearise", "this simulator does not show its equations"));
    };
    let mut point = Present::of(states, ports, present);
    for (u, segment) in point.u.iter_mut().zip(inputs.segments) {
        *u = segment.start();
    }
    dynamics.present(&mut point)?;
    all_finite("x", 1, point.x)?;
    all_finite("x'", 1, point.f)?;
    all_finite("y", 1, point.g)?;
    let Some(buffer) = matrices else { return Ok(()) };
    let mut found = Matrices::of(states, ports, outputs, buffer);
    source.linearise(&insight, dynamics, point.x, point.u, work, &mut found)?;
    all_finite("dx'/dx", states, found.a)?;
    all_finite("dx'/du", ports, found.b)?;
    all_finite("dy/dx", states, found.c)?;
    all_finite("dy/du", ports, found.d)
}

/// A model that is not finite would spread over all inputs at once, so it ends the run where it was found.
fn all_finite(name: &str, width: usize, values: &[f64]) -> Result<(), SimulatorError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let place = match width {
                1 => format!("{}", at + 1),
                _ => format!("{}, {}", at / width + 1, at % width + 1),
            };
            let words = format!(
                "finite numbers are wanted for a linear model, but {name}[{place}] is {}; choose another source of \
                 derivatives, or no correction for the inputs of this simulator",
                values[at]
            );
            Err(SimulatorError::new("linearise", words))
        }
    }
}

/// Where the outputs of a member go.
#[inline]
fn outputs<'a>(member: &Member, left: &'a mut [f64], slopes: &'a mut [f64]) -> Outputs<'a> {
    Outputs {
        values: &mut left[member.outputs.clone()],
        slopes: if member.offers_slopes { &mut slopes[member.outputs.clone()] } else { &mut [] },
    }
}

/// All simulators of an island.
pub struct Crew {
    /// Those of the coordinator's own thread, working on the board's buffers.
    own: Team,
    workers: Vec<Worker>,
    sources: Sources,
    /// Simulators of the coordinator's thread are pinned to it, so the crew cannot be sent to another.
    pinned: PhantomData<*const ()>,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Crew({} own, {} workers)", self.own.members.len(), self.workers.len())
    }
}

struct Worker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Where the group's values stand on the board, in the group's order.
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    jacobian: Vec<usize>,
    present: Vec<usize>,
    matrices: Vec<usize>,
    states: Vec<usize>,
    indices: Vec<usize>,
    /// Per stage: somebody of the group steps in it.
    busy: Vec<bool>,
}

struct Shared {
    group: Mutex<Group>,
    /// Counts tasks given and tasks done.
    given: AtomicU32,
    done: AtomicU32,
    over: AtomicBool,
}

struct Group {
    team: Team,
    buffers: Buffers,
    task: Task,
    sources: Sources,
    result: Result<Outcome, Blamed>,
    coordinator: Option<Thread>,
}

impl Crew {
    /// Spreads the members over the threads, neighbours together.
    pub fn new(members: Vec<Member>, threads: usize, sources: Sources) -> Crew {
        let seldoms = members.iter().map(|member| &member.seldom);
        let wires = seldoms.map(|seldom| seldom.takes.len()).sum();
        let threads = threads.clamp(1, members.len().max(1));
        let share = members.len().div_ceil(threads);
        let mut rest = members.into_iter();
        let own = Team::new(rest.by_ref().take(share).collect());
        let mut workers = Vec::new();
        loop {
            let group: Vec<Member> = rest.by_ref().take(share).collect();
            if group.is_empty() {
                break;
            }
            workers.push(Worker::start(group, sources.clone(), wires));
        }
        Crew { own, workers, sources, pinned: PhantomData }
    }

    pub fn threads(&self) -> usize {
        1 + self.workers.len()
    }

    /// Runs a task on everybody. The board's buffers are the input and the output; a fault is that of the
    /// simulator with the smallest index, whatever the number of threads.
    pub fn run(&mut self, task: Task, board: &mut Buffers) -> Result<Outcome, Blamed> {
        for worker in &mut self.workers {
            worker.give(task, board);
        }
        let mut result = perform(&mut self.own, task, &self.sources, board);
        for worker in &mut self.workers {
            result = merge(result, worker.take(task, board));
        }
        result
    }
}

fn merge(a: Result<Outcome, Blamed>, b: Result<Outcome, Blamed>) -> Result<Outcome, Blamed> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(Outcome {
            evaluations: a.evaluations + b.evaluations,
            next_event: earlier(a.next_event, b.next_event),
            event: a.event || b.event,
        }),
        (Err(a), Err(b)) => Err(if a.0 <= b.0 { a } else { b }),
        (Err(blamed), Ok(_)) | (Ok(_), Err(blamed)) => Err(blamed),
    }
}

impl Worker {
    fn start(mut members: Vec<Member>, sources: Sources, wires: usize) -> Worker {
        let (mut inputs, mut outputs, mut jacobian, mut states) = (vec![], vec![], vec![], vec![]);
        let (mut present, mut matrices) = (vec![], vec![]);
        let mut indices = Vec::new();
        for (place, member) in members.iter_mut().enumerate() {
            let local = |all: &mut Vec<usize>, range: &mut Range<usize>| {
                let start = all.len();
                all.extend(range.clone());
                *range = start..all.len();
            };
            local(&mut inputs, &mut member.inputs);
            local(&mut outputs, &mut member.outputs);
            local(&mut jacobian, &mut member.seldom.jacobian);
            local(&mut states, &mut member.seldom.states);
            if let Some(place) = &mut member.seldom.model {
                local(&mut present, &mut place.present);
                local(&mut matrices, &mut place.matrices);
            }
            indices.push(member.index);
            member.index = place;
        }
        let buffers = Buffers {
            segments: vec![Segment::ZERO; inputs.len()],
            left: vec![0.0; outputs.len()],
            slopes: vec![f64::NAN; outputs.len()],
            integrals: vec![f64::NAN; outputs.len()],
            jacobian: vec![0.0; jacobian.len()],
            through: vec![0.0; jacobian.len()],
            present: vec![0.0; present.len()],
            matrices: vec![0.0; matrices.len()],
            states: vec![0.0; states.len()],
            frozen: vec![Vec::new(); members.len()],
            rehearsals: vec![Rehearsal::default(); members.len()],
            leads: vec![None; members.len()],
            due: vec![false; members.len()],
            parcels: vec![Vec::new(); wires],
            given: vec![Vec::new(); wires],
        };
        let team = Team::new(members);
        let busy = team.stages.iter().map(|runs| !runs.is_empty()).collect();
        let group = Group {
            team,
            buffers,
            task: Task::Save(Slot::Probe),
            sources,
            result: Ok(Outcome::default()),
            coordinator: None,
        };
        let shared = Arc::new(Shared {
            group: Mutex::new(group),
            given: AtomicU32::new(0),
            done: AtomicU32::new(0),
            over: AtomicBool::new(false),
        });
        let seen = Arc::clone(&shared);
        let thread = thread::spawn(move || seen.serve());
        Worker {
            shared,
            thread: Some(thread),
            inputs,
            outputs,
            jacobian,
            present,
            matrices,
            states,
            indices,
            busy,
        }
    }

    /// Nobody of this group steps in the stage.
    fn idle(&self, task: Task) -> bool {
        matches!(task, Task::Advance { stage, .. } if !self.busy.get(stage).copied().unwrap_or(false))
    }

    /// With the places that members have in this group.
    fn local(&self, task: Task) -> Task {
        match task {
            Task::Tune { member, parameter, value } => {
                let place = self.indices.iter().position(|index| *index == member);
                Task::Tune { member: place.unwrap_or(usize::MAX), parameter, value }
            }
            other => other,
        }
    }

    fn give(&mut self, task: Task, board: &Buffers) {
        if self.idle(task) {
            return;
        }
        let mut group = self.shared.lock();
        let group_buffers = &mut group.buffers;
        match task {
            Task::Advance { .. }
            | Task::Settle { .. }
            | Task::Jacobian { .. }
            | Task::Linearise { .. }
            | Task::Rehearse(_) => {
                for (local, &global) in group_buffers.segments.iter_mut().zip(&self.inputs) {
                    *local = board.segments[global];
                }
                // A settle may leave some members alone; what they had must come back unchanged.
                for (local, &global) in self.outputs.iter().enumerate() {
                    group_buffers.left[local] = board.left[global];
                    group_buffers.slopes[local] = board.slopes[global];
                }
            }
            Task::SetStates => {
                for (local, &global) in group_buffers.states.iter_mut().zip(&self.states) {
                    *local = board.states[global];
                }
            }
            Task::Thaw => {
                for (local, &global) in group_buffers.frozen.iter_mut().zip(&self.indices) {
                    local.clone_from(&board.frozen[global]);
                }
            }
            Task::Lead => {
                for (local, &global) in group_buffers.leads.iter_mut().zip(&self.indices) {
                    *local = board.leads[global];
                }
            }
            Task::Take(_) => {
                for (local, all) in group_buffers.parcels.iter_mut().zip(&board.parcels) {
                    local.clone_from(all);
                }
            }
            Task::Enter(_)
            | Task::Through { .. }
            | Task::Give(_)
            | Task::Save(_)
            | Task::Restore(_)
            | Task::GetStates
            | Task::Freeze => {}
            Task::Tune { .. } => {}
        }
        group.task = self.local(task);
        group.coordinator = Some(thread::current());
        drop(group);
        self.shared.given.fetch_add(1, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    fn take(&mut self, task: Task, board: &mut Buffers) -> Result<Outcome, Blamed> {
        if self.idle(task) {
            return Ok(Outcome::default());
        }
        let given = self.shared.given.load(Ordering::Relaxed);
        wait_until(|| self.shared.done.load(Ordering::Acquire) == given);
        let mut group = self.shared.lock();
        if group.result.as_ref().is_ok_and(|outcome| outcome.event) {
            for (due, &global) in group.buffers.due.iter_mut().zip(&self.indices) {
                board.due[global] |= std::mem::take(due);
            }
        }
        let group_buffers = &group.buffers;
        match task {
            Task::Advance { .. } | Task::Settle { .. } => {
                for (local, &global) in self.outputs.iter().enumerate() {
                    board.left[global] = group_buffers.left[local];
                    board.slopes[global] = group_buffers.slopes[local];
                    board.integrals[global] = group_buffers.integrals[local];
                }
            }
            Task::Jacobian { .. } => {
                for (value, &global) in group_buffers.jacobian.iter().zip(&self.jacobian) {
                    board.jacobian[global] = *value;
                }
            }
            Task::Through { .. } => {
                for (value, &global) in group_buffers.through.iter().zip(&self.jacobian) {
                    board.through[global] = *value;
                }
            }
            Task::Linearise { matrices } => {
                for (value, &global) in group_buffers.present.iter().zip(&self.present) {
                    board.present[global] = *value;
                }
                for (value, &global) in group_buffers.matrices.iter().zip(&self.matrices).filter(|_| matrices)
                {
                    board.matrices[global] = *value;
                }
            }
            Task::GetStates => {
                for (value, &global) in group_buffers.states.iter().zip(&self.states) {
                    board.states[global] = *value;
                }
            }
            Task::Freeze => {
                for (bytes, &global) in group_buffers.frozen.iter().zip(&self.indices) {
                    board.frozen[global].clone_from(bytes);
                }
            }
            Task::Rehearse(_) => {
                for (rehearsal, &global) in group_buffers.rehearsals.iter().zip(&self.indices) {
                    board.rehearsals[global].clone_from(rehearsal);
                }
            }
            Task::Lead => {
                for &global in &self.indices {
                    board.leads[global] = None;
                }
            }
            Task::Give(_) => {
                let own = group.team.members.iter().flat_map(|member| &member.seldom.gives);
                for (wire, _) in own {
                    board.given[*wire].clone_from(&group_buffers.given[*wire]);
                }
            }
            Task::Enter(_)
            | Task::Take(_)
            | Task::Save(_)
            | Task::Restore(_)
            | Task::SetStates
            | Task::Thaw => {}
            Task::Tune { .. } => {}
        }
        group.result.clone().map_err(|(place, fault)| (self.indices[place], fault))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A worker that died has nothing left to say; its fault was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Panics of simulators are caught inside, so the lock is never poisoned by them.
    fn lock(&self) -> MutexGuard<'_, Group> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker's life.
    fn serve(&self) {
        let mut served = 0;
        loop {
            wait_until(|| self.over.load(Ordering::Acquire) || self.given.load(Ordering::Acquire) != served);
            if self.over.load(Ordering::Acquire) {
                break;
            }
            served = self.given.load(Ordering::Acquire);
            let mut group = self.lock();
            let Group { team, buffers, task, sources, result, coordinator } = &mut *group;
            *result = perform(team, *task, sources, buffers);
            let coordinator = coordinator.take();
            drop(group);
            self.done.store(served, Ordering::Release);
            if let Some(thread) = coordinator {
                thread.unpark();
            }
        }
        // Simulators are freed by the thread they lived on.
        self.lock().team.members.clear();
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..SPINS {
        if condition() {
            return;
        }
        std::hint::spin_loop();
    }
    while !condition() {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::{Abilities, Interface, Reached};

    /// Puts out a number, or panics if there is none.
    struct Number(Option<f64>, Interface);

    impl Simulator for Number {
        fn interface(&self) -> &Interface {
            &self.1
        }
        fn enter(&mut self, _: &Setup) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn settle(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn advance(
            &mut self,
            window: Window,
            _: &Inputs<'_>,
            _: &mut Trail<'_>,
        ) -> Result<Reached, SimulatorError> {
            Ok(Reached::end_of(window, 1))
        }
        fn outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
            out.values[0] = self.0.expect("a number");
            Ok(())
        }
        fn save(&mut self, _: Slot) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn restore(&mut self, _: Slot) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn freeze(&mut self, _: &mut Vec<u8>) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn thaw(&mut self, _: &[u8]) -> Result<(), SimulatorError> {
            Ok(())
        }
    }

    /// One step of a stage on the given number of threads: what came out, and the outputs.
    fn step(
        numbers: &[(Option<f64>, usize)],
        stage: usize,
        threads: usize,
    ) -> (Result<u64, usize>, Vec<f64>) {
        let member = |(index, &(number, stage))| {
            let interface = Interface {
                inputs: vec![],
                outputs: vec![],
                feedthrough: vec![],
                abilities: Abilities::NATIVE,
                ..Interface::default()
            };
            Member {
                index,
                simulator: Box::new(Number(number, interface)),
                inputs: 0..0,
                outputs: index..index + 1,
                offers_slopes: false,
                offers_integrals: false,
                seldom: Box::new(Seldom {
                    stage,
                    states: 0..0,
                    jacobian: 0..0,
                    model: None,
                    passes: vec![],
                    declares: false,
                    lively: true,
                    takes: vec![],
                    gives: vec![],
                    work: JacobianWork::default(),
                }),
            }
        };
        let members = numbers.iter().enumerate().map(member).collect();
        let count = numbers.len();
        let mut buffers = Buffers {
            left: vec![0.0; count],
            slopes: vec![f64::NAN; count],
            integrals: vec![f64::NAN; count],
            ..Buffers::default()
        };
        let window = Window { from: Time::ZERO, to: Time::ZERO, size: 0.0 };
        let result = Crew::new(members, threads, Sources::default())
            .run(Task::Advance { window, stage }, &mut buffers);
        (result.map(|outcome| outcome.evaluations).map_err(|(index, _)| index), buffers.left)
    }

    #[test]
    fn only_those_of_the_stage_step() {
        let numbers = [(Some(1.0), 0), (Some(2.0), 1), (Some(3.0), 0), (Some(4.0), 1), (Some(5.0), 1)];
        for threads in [1, 2, 5] {
            assert_eq!(step(&numbers, 0, threads), (Ok(2), vec![1.0, 0.0, 3.0, 0.0, 0.0]));
            assert_eq!(step(&numbers, 1, threads), (Ok(3), vec![0.0, 2.0, 0.0, 4.0, 5.0]));
        }
    }

    #[test]
    fn the_first_fault_is_blamed_whatever_comes_after_it() {
        let (good, bad, panics) = (Some(1.0), Some(f64::NAN), None);
        for threads in [1, 2, 3] {
            for (numbers, blamed) in [
                ([good, bad, panics], 1),
                ([good, panics, bad], 1),
                ([bad, Some(f64::INFINITY), bad], 0),
                ([good, good, bad], 2),
            ] {
                assert_eq!(step(&numbers.map(|number| (number, 0)), 0, threads).0, Err(blamed));
            }
        }
        // Somebody who does not step in this stage is not looked at.
        assert_eq!(step(&[(good, 0), (bad, 1)], 0, 1).0, Ok(1));
    }
}
