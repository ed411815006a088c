//! Simulators on one thread: tasks, buffers, and faults.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosimo_core::linear_model::{ModelPlace, OperatingPoint, StateSpaceMatrices};
use cosimo_core::method::{JacobianSource, JacobianWork};
use cosimo_core::{
    Inputs, LongStep, Outputs, RollbackCheck, Segment, Setup, Simulator, SimulatorError, Slot, Time, Window,
};

use crate::plan::runs;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a simulator's code. A panic hook can stay silent there, since the engine reports.
pub fn in_simulator() -> bool {
    INSIDE.get()
}

/// Runs a simulator's code; a panic is returned as its message.
pub(crate) fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    INSIDE.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(false);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
    })
}

/// One simulator and the ranges of its values in the buffers.
pub(crate) struct SimulatorSlot {
    pub index: usize,
    pub simulator: Box<dyn Simulator>,
    pub inputs: Range<usize>,
    pub outputs: Range<usize>,
    pub offers_slopes: bool,
    pub offers_integrals: bool,
    /// Data that plain steps do not use; boxed, so that a thousand members fit into a cache.
    pub cold: Box<ColdSlot>,
}

pub(crate) struct ColdSlot {
    pub stage: usize,
    pub states: Range<usize>,
    /// The range of its recorded local variables.
    pub locals: Range<usize>,
    pub jacobian: Range<usize>,
    /// The place of its linear model, if it has one.
    pub model: Option<ModelPlace>,
    /// Per pass: an output of this simulator becomes known.
    pub passes: Vec<bool>,
    /// It provides directional derivatives.
    pub has_jacobian: bool,
    /// Its outputs respond without a step, or it has events.
    pub events_or_direct: bool,
    /// String and binary ports: connection and port of each.
    pub byte_inputs: Vec<(usize, usize)>,
    pub byte_outputs: Vec<(usize, usize)>,
    pub work: JacobianWork,
}

/// Members of one thread, in the order of their indices.
pub(super) struct SimulatorGroup {
    pub(super) members: Vec<SimulatorSlot>,
    /// Per stage: its members, as ranges.
    pub(super) stages: Vec<Vec<Range<usize>>>,
    /// Per member: wall time of its calls, if measured.
    pub(super) spent: Option<Vec<Duration>>,
}

impl SimulatorGroup {
    pub(super) fn new(members: Vec<SimulatorSlot>) -> SimulatorGroup {
        let count = members.iter().map(|member| member.cold.stage + 1).max().unwrap_or(0);
        let mut places = vec![Vec::new(); count];
        for (place, member) in members.iter().enumerate() {
            places[member.cold.stage].push(place);
        }
        SimulatorGroup { members, stages: places.into_iter().map(runs).collect(), spent: None }
    }
}

/// A task for all members of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Task {
    Enter(Setup),
    Settle {
        at: Time,
        who: SimulatorSelection,
        /// Outputs need not be finite yet.
        lenient: bool,
    },
    /// Directional derivatives of the simulators in a range of passes.
    Through {
        passes: (usize, usize),
    },
    Rehearse(Window),
    /// Reads outputs after an incomplete step.
    Read,
    /// For simulators with direct feed-through, or for the others. Outputs are read again where they may have changed.
    ExitInitialisation {
        direct: bool,
    },
    /// Announces steps that are longer than the window.
    Lead,
    Advance {
        window: Window,
        stage: usize,
    },
    /// Sets string and binary inputs, and reads outputs.
    Take(SimulatorSelection),
    Give(SimulatorSelection),
    Save(Slot),
    Restore(Slot),
    Jacobian {
        at: Time,
    },
    /// Linear models around the present states and inputs, with new or old matrices.
    Linearise {
        matrices: bool,
    },
    /// Reads recorded local variables.
    ReadLocals,
    GetStates,
    SetStates,
    Freeze,
    Thaw,
    /// Sets a parameter of one member, by its index in the system.
    Tune {
        member: usize,
        parameter: usize,
        value: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SimulatorSelection {
    All,
    Pass(usize),
    Stage(usize),
    /// Simulators whose outputs respond without a step, or with events.
    EventsOrDirect,
}

impl SimulatorSelection {
    fn is(self, seldom: &ColdSlot) -> bool {
        match self {
            SimulatorSelection::All => true,
            SimulatorSelection::Pass(pass) => seldom.passes.get(pass).copied().unwrap_or(false),
            SimulatorSelection::Stage(stage) => seldom.stage == stage,
            SimulatorSelection::EventsOrDirect => seldom.events_or_direct,
        }
    }
}

/// The buffers of a group: those of the board, or a worker's copy of its share.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub segments: Vec<Segment>,
    pub outputs: Vec<f64>,
    pub slopes: Vec<f64>,
    pub integrals: Vec<f64>,
    pub jacobian: Vec<f64>,
    /// Derivatives for loops, in the layout of the Jacobian.
    pub feedthrough: Vec<f64>,
    /// Linear models: operating points and matrices.
    pub operating_points: Vec<f64>,
    pub matrices: Vec<f64>,
    pub states: Vec<f64>,
    /// Recorded local variables of all members.
    pub locals: Vec<f64>,
    /// Serialized states, one per member.
    pub serialized_states: Vec<Vec<u8>>,
    /// Results of the rollback check, one per member.
    pub rollback_checks: Vec<RollbackCheck>,
    /// Warnings after initialisation, one list per member.
    pub notices: Vec<Vec<(&'static str, String)>>,
    /// Multi-rate steps that begin, one per member.
    pub long_steps: Vec<Option<LongStep>>,
    /// Whether an event is due, one per member.
    pub due: Vec<bool>,
    /// Transferred string and binary values, one per connection; and those read last.
    pub bytes_in: Vec<Vec<u8>>,
    pub bytes_out: Vec<Vec<u8>>,
}

impl Buffers {
    /// For the given numbers of ports, members and byte connections; without derivatives, models, states and locals.
    pub(crate) fn new(inputs: usize, outputs: usize, members: usize, wires: usize) -> Buffers {
        Buffers {
            segments: vec![Segment::ZERO; inputs],
            outputs: vec![0.0; outputs],
            slopes: vec![f64::NAN; outputs],
            integrals: vec![f64::NAN; outputs],
            serialized_states: vec![Vec::new(); members],
            rollback_checks: vec![RollbackCheck::default(); members],
            notices: vec![Vec::new(); members],
            long_steps: vec![None; members],
            due: vec![false; members],
            bytes_in: vec![Vec::new(); wires],
            bytes_out: vec![Vec::new(); wires],
            ..Buffers::default()
        }
    }
}

/// The result of a task beside the buffers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct TaskOutcome {
    pub evaluations: u64,
    pub next_event: Option<Time>,
    /// An event is due.
    pub event: bool,
    /// The first simulator that asks to end the simulation, and the function of the request.
    pub ended: Option<(usize, &'static str)>,
}

impl TaskOutcome {
    /// Merged with the outcome of another group.
    pub(super) fn and(self, other: TaskOutcome) -> TaskOutcome {
        TaskOutcome {
            evaluations: self.evaluations + other.evaluations,
            next_event: earlier(self.next_event, other.next_event),
            event: self.event || other.event,
            ended: self.ended.or(other.ended),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    Failed(SimulatorError),
    Panicked(String),
    NotFinite {
        output: usize,
        value: f64,
    },
    Stopped(Time),
    /// A simulator asks to end the simulation inside the window.
    Ended {
        at: Time,
        function: &'static str,
    },
}

impl From<SimulatorError> for Fault {
    fn from(cause: SimulatorError) -> Fault {
        Fault::Failed(cause)
    }
}

/// Sources of derivatives.
#[derive(Clone, Default)]
pub(crate) struct Sources {
    /// For outputs by inputs.
    pub interface: Option<Arc<dyn JacobianSource>>,
    /// For linear models.
    pub models: Option<Arc<dyn JacobianSource>>,
}

/// The index of a simulator and its fault.
pub(crate) type FaultOf = (usize, Fault);

/// Runs a task on a group, in order, up to the first fault. Panics are caught once around all calls.
pub(super) fn perform(
    team: &mut SimulatorGroup,
    task: Task,
    sources: &Sources,
    buffers: &mut Buffers,
) -> Result<TaskOutcome, FaultOf> {
    let current = Cell::new(0);
    let result = guarded(|| {
        if let Task::Advance { window, stage } = task {
            return advance(team, window, stage, buffers, &current);
        }
        let mut outcome = TaskOutcome::default();
        let mut watch = Stopwatch::start(&mut team.spent);
        for (place, member) in team.members.iter_mut().enumerate() {
            current.set(member.index);
            let said = one(member, task, sources, buffers).map_err(|fault| (member.index, fault))?;
            outcome = outcome.and(said);
            watch.lap(place);
        }
        Ok(outcome)
    });
    let result = result.unwrap_or_else(|message| Err((current.get(), Fault::Panicked(message))));
    if let Task::Advance { stage, .. } = task {
        // Members before the fault have outputs, of which one that is not finite is the earlier fault.
        let before = result.as_ref().map_or_else(|(index, _)| *index, |_| usize::MAX);
        if let Some(blamed) = not_finite(team, stage, before, &buffers.outputs) {
            return Err(blamed);
        }
    }
    result
}

/// The first output that is not finite, of members of the stage before an index. Checked once per stage, not per member:
/// outputs are contiguous, so this is one fast loop.
#[inline]
fn not_finite(team: &SimulatorGroup, stage: usize, before: usize, left: &[f64]) -> Option<FaultOf> {
    for run in team.stages.get(stage).map_or(&[][..], Vec::as_slice) {
        let members = &team.members[run.clone()];
        let (Some(first), Some(last)) = (members.first(), members.last()) else { continue };
        let values = &left[first.outputs.start..last.outputs.end];
        // Without an early exit the compiler vectorises this loop.
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

pub(crate) fn finite(values: &[f64]) -> Result<(), Fault> {
    match values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        Some((output, &value)) => Err(Fault::NotFinite { output, value }),
        None => Ok(()),
    }
}

/// The inner loop of every run.
#[inline]
fn advance(
    team: &mut SimulatorGroup,
    window: Window,
    stage: usize,
    buffers: &mut Buffers,
    current: &Cell<usize>,
) -> Result<TaskOutcome, FaultOf> {
    let mut outcome = TaskOutcome::default();
    let SimulatorGroup { members, stages, spent } = team;
    let mut watch = Stopwatch::start(spent);
    for run in stages.get(stage).map_or(&[][..], Vec::as_slice) {
        for (offset, member) in members[run.clone()].iter_mut().enumerate() {
            current.set(member.index);
            let inputs = Inputs::of(&buffers.segments[member.inputs.clone()]);
            let mut out = outputs(member, &mut buffers.outputs, &mut buffers.slopes);
            let reached = if member.offers_integrals {
                let integrals = &mut buffers.integrals[member.outputs.clone()];
                let simulator = member.simulator.need_integrals();
                simulator.and_then(|able| able.do_step_and_get_all(window, &inputs, integrals, &mut out))
            } else {
                member.simulator.do_step_and_get_outputs(window, &inputs, &mut out)
            };
            let reached = reached.map_err(|cause| (member.index, Fault::Failed(cause)))?;
            watch.lap(run.start + offset);
            outcome.evaluations += reached.evaluations;
            if reached.to < window.to {
                let at = reached.to;
                let ended = ending(member).map(|(_, function)| Fault::Ended { at, function });
                return Err((member.index, ended.unwrap_or(Fault::Stopped(at))));
            }
            outcome.next_event = earlier(outcome.next_event, reached.next_event);
            if reached.event {
                if let Some(ended) = ending(member) {
                    outcome.ended = outcome.ended.or(Some(ended));
                    continue;
                }
                let own = member.simulator.multi_rate();
                if let Some(at) = own.and_then(|own| own.event_inside_step()) {
                    return Err((member.index, Fault::Stopped(at)));
                }
                outcome.event = true;
                buffers.due[member.index] = true;
            }
        }
    }
    Ok(outcome)
}

/// The simulator that asks to end the simulation, and the function of the request.
fn ending(member: &mut SimulatorSlot) -> Option<(usize, &'static str)> {
    let function = member.simulator.lifecycle()?.ending()?;
    Some((member.index, function))
}

/// Measures the time from call to call, with one clock read for each; none if not requested.
struct Stopwatch<'a> {
    spent: &'a mut [Duration],
    last: Option<Instant>,
}

impl Stopwatch<'_> {
    #[inline]
    fn start(spent: &mut Option<Vec<Duration>>) -> Stopwatch<'_> {
        match spent {
            Some(spent) => Stopwatch { spent, last: Some(Instant::now()) },
            None => Stopwatch { spent: &mut [], last: None },
        }
    }

    #[inline]
    fn lap(&mut self, place: usize) {
        if let Some(last) = &mut self.last {
            let now = Instant::now();
            self.spent[place] += now - *last;
            *last = now;
        }
    }
}

#[inline]
pub(crate) fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// All tasks but steps.
fn one(
    member: &mut SimulatorSlot,
    task: Task,
    sources: &Sources,
    buffers: &mut Buffers,
) -> Result<TaskOutcome, Fault> {
    let simulator = member.simulator.as_mut();
    let inputs = Inputs::of(&buffers.segments[member.inputs.clone()]);
    match task {
        Task::Advance { .. } => {}
        Task::Settle { at, who, lenient } => return settle(member, at, who, lenient, buffers),
        Task::Enter(setup) => simulator.initialize(&setup)?,
        Task::Rehearse(window) => {
            buffers.rollback_checks[member.index] = match simulator.rollback() {
                Some(rollback) => rollback.check(window, &inputs)?,
                None => RollbackCheck::Untried,
            };
        }
        Task::Read => {
            let mut out = outputs(member, &mut buffers.outputs, &mut buffers.slopes);
            member.simulator.get_outputs(&mut out)?;
            finite(&buffers.outputs[member.outputs.clone()])?;
        }
        Task::ExitInitialisation { direct } if direct == simulator.interface().feedthrough.is_empty() => {}
        Task::ExitInitialisation { .. } => return exit_initialization(member, buffers),
        Task::Lead => {
            let lead = buffers.long_steps[member.index].take();
            if let (Some(lead), Some(own)) = (lead, simulator.multi_rate()) {
                own.begin_long_step(lead);
            }
        }
        Task::Take(who) => {
            for (wire, port) in member.cold.byte_inputs.iter().filter(|_| who.is(&member.cold)) {
                simulator.need_bytes()?.set_bytes(*port, &buffers.bytes_in[*wire])?;
            }
        }
        Task::Give(who) => {
            for (wire, port) in member.cold.byte_outputs.iter().filter(|_| who.is(&member.cold)) {
                simulator.need_bytes()?.get_bytes(*port, &mut buffers.bytes_out[*wire])?;
            }
        }
        Task::Save(slot) => simulator.need_rollback()?.save(slot)?,
        Task::Restore(slot) => simulator.need_rollback()?.restore(slot)?,
        Task::Jacobian { at } => {
            if let Some(source) = &sources.interface {
                source.refresh(
                    simulator,
                    at,
                    &inputs,
                    &mut member.cold.work,
                    &mut buffers.jacobian[member.cold.jacobian.clone()],
                )?;
            }
        }
        Task::Through { passes: (from, to) } => {
            let speaks = member.cold.passes.get(from..to).is_some_and(|passes| passes.contains(&true));
            if speaks && member.cold.has_jacobian {
                let into = &mut buffers.feedthrough[member.cold.jacobian.clone()];
                simulator.need_jacobian()?.fill(into)?;
            }
        }
        Task::Linearise { matrices } => {
            let ColdSlot { model, work, .. } = &mut *member.cold;
            if let (Some(place), Some(source)) = (model, &sources.models) {
                let present = &mut buffers.operating_points[place.present.clone()];
                let matrices = matrices.then(|| &mut buffers.matrices[place.matrices.clone()]);
                linearise(simulator, source.as_ref(), place, &inputs, work, present, matrices)?;
            }
        }
        Task::ReadLocals => {
            let into = &mut buffers.locals[member.cold.locals.clone()];
            if !into.is_empty() {
                simulator.need_locals()?.read(into)?;
            }
        }
        Task::GetStates => {
            if let Some(states) = simulator.states() {
                states.get(&mut buffers.states[member.cold.states.clone()]);
            }
        }
        Task::SetStates => {
            if let Some(states) = simulator.states() {
                states.set(&buffers.states[member.cold.states.clone()]);
            }
        }
        Task::Freeze => {
            let bytes = &mut buffers.serialized_states[member.index];
            bytes.clear();
            simulator.need_serialize_state()?.serialize(bytes)?;
        }
        Task::Thaw => {
            simulator.need_serialize_state()?.deserialize(&buffers.serialized_states[member.index])?
        }
        Task::Tune { member: tuned, parameter, value } if tuned == member.index => {
            simulator.need_parameters()?.set_parameter(parameter, value)?;
        }
        Task::Tune { .. } => {}
    }
    Ok(TaskOutcome::default())
}

fn settle(
    member: &mut SimulatorSlot,
    at: Time,
    who: SimulatorSelection,
    lenient: bool,
    buffers: &mut Buffers,
) -> Result<TaskOutcome, Fault> {
    if !who.is(&member.cold) {
        return Ok(TaskOutcome::default());
    }
    member.simulator.set_inputs(at, &Inputs::of(&buffers.segments[member.inputs.clone()]))?;
    let mut out = outputs(member, &mut buffers.outputs, &mut buffers.slopes);
    member.simulator.get_outputs(&mut out)?;
    if !lenient {
        finite(&buffers.outputs[member.outputs.clone()])?;
    }
    let ended = ending(member);
    let events = member.simulator.events().filter(|_| who == SimulatorSelection::EventsOrDirect);
    let next_event = events.map_or(Ok(None), |events| events.next_event())?;
    Ok(TaskOutcome { next_event, ended, ..TaskOutcome::default() })
}

fn exit_initialization(member: &mut SimulatorSlot, buffers: &mut Buffers) -> Result<TaskOutcome, Fault> {
    let values = &mut buffers.outputs[member.outputs.clone()];
    let lifecycle = member.simulator.lifecycle();
    if lifecycle.map_or(Ok(false), |lifecycle| lifecycle.exit_initialization())? {
        member.simulator.get_outputs(&mut Outputs { values, slopes: &mut [] })?;
    }
    let notices = member.simulator.lifecycle().map(|lifecycle| lifecycle.notices());
    buffers.notices[member.index] = notices.unwrap_or_default();
    let ended = ending(member);
    finite(values)?;
    Ok(TaskOutcome { ended, ..TaskOutcome::default() })
}

/// The linear model of one simulator; without a buffer for new matrices, the old ones stay.
fn linearise(
    simulator: &mut dyn Simulator,
    source: &dyn JacobianSource,
    place: &ModelPlace,
    inputs: &Inputs<'_>,
    work: &mut JacobianWork,
    present: &mut [f64],
    matrices: Option<&mut [f64]>,
) -> Result<(), SimulatorError> {
    let (states, ports, outputs) = (place.states, place.inputs, place.outputs);
    let (Some(insight), Some(dynamics)) = (simulator.interface().state_space_access, simulator.state_space())
    else {
        return Err(SimulatorError::new("linearise", "this simulator does not expose its equations"));
    };
    let mut point = OperatingPoint::of(states, ports, present);
    for (u, segment) in point.u.iter_mut().zip(inputs.segments) {
        *u = segment.start();
    }
    dynamics.operating_point(&mut point)?;
    all_finite("x", 1, point.x)?;
    all_finite("x'", 1, point.f)?;
    all_finite("y", 1, point.g)?;
    let Some(buffer) = matrices else { return Ok(()) };
    let mut found = StateSpaceMatrices::of(states, ports, outputs, buffer);
    source.linearise(&insight, dynamics, point.x, point.u, work, &mut found)?;
    all_finite("dx'/dx", states, found.a)?;
    all_finite("dx'/du", ports, found.b)?;
    all_finite("dy/dx", states, found.c)?;
    all_finite("dy/du", ports, found.d)
}

/// A model that is not finite would affect all inputs, so it ends the run where it is found.
fn all_finite(name: &str, width: usize, values: &[f64]) -> Result<(), SimulatorError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let place = match width {
                1 => format!("{}", at + 1),
                _ => format!("{}, {}", at / width + 1, at % width + 1),
            };
            let words = format!(
                "finite numbers are expected for a linear model, but {name}[{place}] is {}; choose another source of \
                 derivatives, or no correction for the inputs of this simulator",
                values[at]
            );
            Err(SimulatorError::new("linearise", words))
        }
    }
}

/// The buffers for the outputs of a member.
#[inline]
fn outputs<'a>(member: &SimulatorSlot, left: &'a mut [f64], slopes: &'a mut [f64]) -> Outputs<'a> {
    Outputs {
        values: &mut left[member.outputs.clone()],
        slopes: if member.offers_slopes { &mut slopes[member.outputs.clone()] } else { &mut [] },
    }
}
