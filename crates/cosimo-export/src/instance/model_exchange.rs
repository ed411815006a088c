//! Model exchange: the importer moves time and states, this FMU answers with derivatives, outputs and indicators,
//! and changes states at events.
//!
//! Nothing is cached. Illegal calls that the mode alone does not exclude are refused here: going back over an event,
//! leaving event mode before the event iteration has converged, computing past the end.

use cosimo_core::{Segment, Simulator};
use cosimo_native::{Event, Hybrid, ModelPoint};

use super::{Call, CallResult, ExportedInstance, InstanceBody, Mode, Refusal};
use crate::design::{InterfaceType, Version};
use crate::equipment::HookEffect;
use crate::model::ExportedModel;

/// Equations with their current values.
pub(super) struct EquationsState {
    pub(super) equations: Box<dyn Hybrid>,
    pub(super) now: SavedValues,
    pub(super) indicators: usize,
    /// The inputs as numbers.
    u: Vec<f64>,
}

/// All that a restored state contains.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct SavedValues {
    pub(super) x: Vec<f64>,
    /// Discrete states.
    m: Vec<f64>,
    /// Event iterations in this event mode.
    round: u32,
    /// The event iteration has converged.
    settled: bool,
    /// The model requested the end.
    pub(super) ended: bool,
    /// The next time event.
    pub(super) next: Option<f64>,
    /// The last two completed steps, and the last event before: there is no way back over these.
    completed: [f64; 2],
    event: f64,
    steps: u64,
    /// Co-simulation: a step ended at an event that the importer has not handled yet.
    pub(super) due: bool,
}

/// The result of an update of the discrete states.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DiscreteStatesUpdate {
    pub needed: bool,
    pub terminate: bool,
    pub states_changed: bool,
    pub next: Option<f64>,
}

impl EquationsState {
    pub(super) fn new(equations: Box<dyn Hybrid>, start: f64) -> EquationsState {
        let (x, m) = equations.initial();
        let now = SavedValues { x, m, completed: [start; 2], event: start, ..SavedValues::default() };
        let (indicators, u) = (equations.indicator_count(), vec![0.0; equations.interface().inputs.len()]);
        EquationsState { equations, now, indicators, u }
    }

    /// The equations and the point at which to evaluate them.
    pub(super) fn at(&mut self, t: f64, inputs: &[Segment]) -> (&dyn Hybrid, ModelPoint<'_>) {
        for (u, segment) in self.u.iter_mut().zip(inputs) {
            *u = segment.0[0];
        }
        (&*self.equations, ModelPoint { t, x: &self.now.x, m: &self.now.m, u: &self.u })
    }

    /// One event iteration. The event is handled in the iteration before the last, so that importers that
    /// stop too early, or use the last result only, miss it.
    fn update(&mut self, t: f64, inputs: &[Segment], rounds: u32) -> DiscreteStatesUpdate {
        self.at(t, inputs);
        let now = &mut self.now;
        now.round += 1;
        let due = if rounds > 1 { rounds - 1 } else { 1 };
        let mut event = Event { next: now.next, ..Event::default() };
        if now.round >= due {
            event = self.equations.event(t, &self.u, &mut now.x, &mut now.m);
            now.next = event.next;
        }
        now.settled = now.round >= rounds;
        now.ended |= event.terminate;
        DiscreteStatesUpdate {
            needed: !now.settled,
            terminate: now.ended,
            states_changed: event.states_changed,
            next: now.next,
        }
    }

    pub(super) fn serialize(&self, into: &mut Vec<u8>) {
        let SavedValues { x, m, round, settled, ended, next, completed, event, steps, due } = &self.now;
        let optional = next.unwrap_or(f64::NAN);
        let numbers = x.iter().chain(m).chain([&optional, event]).chain(completed);
        for value in numbers {
            into.extend_from_slice(&value.to_le_bytes());
        }
        let flags = [*settled, *ended, *due].map(u64::from);
        for number in [u64::from(*round), *steps].into_iter().chain(flags) {
            into.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub(super) fn deserialize(&mut self, from: &[u8]) -> CallResult {
        let (states, memory) = (self.now.x.len(), self.now.m.len());
        let (words, rest) = from.as_chunks::<8>();
        if words.len() != states + memory + 9 || !rest.is_empty() {
            return Err(format!("{} bytes are not a state of this model", from.len()).into());
        }
        let word = |at: usize| u64::from_le_bytes(words[at]);
        let float = |at: usize| f64::from_bits(word(at));
        let after = states + memory;
        self.now = SavedValues {
            x: (0..states).map(float).collect(),
            m: (states..after).map(float).collect(),
            next: Some(float(after)).filter(|next| !next.is_nan()),
            event: float(after + 1),
            completed: [float(after + 2), float(after + 3)],
            round: word(after + 4) as u32,
            steps: word(after + 5),
            settled: word(after + 6) != 0,
            ended: word(after + 7) != 0,
            due: word(after + 8) != 0,
        };
        Ok(())
    }
}

/// The equations at the current state of a simulator that solves them itself.
pub(super) fn equations_at(
    model: &ExportedModel,
    simulator: &mut dyn Simulator,
    parameters: &[f64],
    (time, inputs): (f64, &[Segment]),
) -> Result<EquationsState, Refusal> {
    let mut opened = EquationsState::new(model.equations(parameters)?, time);
    // The discrete states of such a model follow from the time.
    opened.update(time, inputs, 1);
    if let Some(states) = simulator.states() {
        states.get(&mut opened.now.x);
    }
    Ok(opened)
}

pub(super) fn equations_of(body: &mut InstanceBody) -> Result<&mut EquationsState, Refusal> {
    match body {
        InstanceBody::Exchanged(exchange) => Ok(exchange),
        InstanceBody::Stepped(_) => Err("this instance is for co-simulation".into()),
    }
}

/// Importers round their times; anything more is an error.
fn beyond(time: f64, limit: f64) -> bool {
    time > limit + 1e-9 * limit.abs().max(time.abs()).max(1e-3)
}

/// Checks the length of an importer's array.
fn check_length(found: usize, wanted: usize, what: &str) -> CallResult {
    if found == wanted {
        return Ok(());
    }
    Err(format!("expected an array for {wanted} {what}, got {found} values").into())
}

impl ExportedInstance {
    pub(crate) fn enter_event(&mut self) -> CallResult {
        self.allow(Call::EnterEvent)?;
        if self.kind != InterfaceType::ModelExchange && !self.importer.event_mode {
            return Err("it was instantiated without event mode".into());
        }
        self.warn_late_event();
        let time = self.time;
        let now = &mut equations_of(&mut self.body)?.now;
        (now.round, now.settled, now.event, now.due) = (0, false, time, false);
        self.mode = Mode::Event;
        Ok(())
    }

    /// Time events are announced in advance; a step to a later time has passed one.
    fn warn_late_event(&mut self) {
        let (time, next) =
            (self.time, equations_of(&mut self.body).ok().and_then(|exchange| exchange.now.next));
        if let Some(next) = next.filter(|next| beyond(time, *next)) {
            self.equipment.warning(&format!("t = {time} lies behind the time event at {next}"));
        }
    }

    pub(crate) fn update_discrete(&mut self) -> Result<DiscreteStatesUpdate, Refusal> {
        self.allow(Call::UpdateDiscrete)?;
        if let Some(clocks) = &mut self.clocks {
            clocks.update(self.time);
        }
        let exchange = equations_of(&mut self.body)?;
        let first = exchange.now.round == 0;
        let mut update = exchange.update(self.time, &self.inputs, self.can.rounds);
        let now = &mut exchange.now;
        self.equipment.on_event(&self.parameters, self.time, first, &mut update, &mut now.x);
        (now.settled, now.ended) = (!update.needed, update.terminate);
        Ok(update)
    }

    /// The whole event iteration, where the importer has no event mode.
    pub(super) fn handle_event(&mut self) {
        let InstanceBody::Exchanged(exchange) = &mut self.body else { return };
        exchange.now.round = 0;
        while exchange.update(self.time, &self.inputs, self.can.rounds).needed {}
    }

    pub(crate) fn enter_step(&mut self) -> CallResult {
        self.allow(Call::EnterStep)?;
        self.leave_event(Mode::Stepping)
    }

    pub(crate) fn enter_continuous(&mut self) -> CallResult {
        self.allow(Call::EnterContinuous)?;
        self.leave_event(Mode::Continuous)
    }

    fn leave_event(&mut self, mode: Mode) -> CallResult {
        let function =
            if self.version == Version::Two { "fmi2NewDiscreteStates" } else { "fmi3UpdateDiscreteStates" };
        let time = self.time;
        let now = &mut equations_of(&mut self.body)?.now;
        if now.ended {
            return Err("the model requested the end of the simulation".into());
        }
        if !now.settled {
            return Err(format!("`{function}` must be called until it needs no further update").into());
        }
        now.completed = [time; 2];
        self.mode = mode;
        Ok(())
    }

    /// Returns whether an event is requested, and whether the simulation should end.
    pub(crate) fn completed_step(&mut self, promise: bool) -> Result<(bool, bool), Refusal> {
        self.allow(Call::CompletedStep)?;
        self.warn_late_event();
        let (time, every) = (self.time, self.can.step_events);
        let now = &mut equations_of(&mut self.body)?.now;
        now.completed = [now.completed[1], time];
        now.steps += 1;
        let event = every > 0 && now.steps.is_multiple_of(every);
        let ends = self.equipment.ends_after(&self.parameters, now.steps);
        if promise {
            self.promised = time;
        }
        Ok((event, ends))
    }

    pub(crate) fn set_time(&mut self, time: f64) -> CallResult {
        self.allow(Call::SetTime)?;
        let now = &equations_of(&mut self.body)?.now;
        let (earliest, settled, stateless) =
            (now.event.max(now.completed[0]), now.settled && !now.ended, now.x.is_empty());
        if !time.is_finite() {
            return Err(format!("invalid time {time}").into());
        }
        if beyond(earliest, time) {
            let what = "the last event or the step before the last";
            return Err(format!("t = {time} lies before t = {earliest}, {what}").into());
        }
        if let Some(stop) = self.stop
            && beyond(time, stop)
        {
            return Err(format!("t = {time} lies past the end at {stop}").into());
        }
        if self.mode == Mode::Event {
            if !stateless {
                return Err("in event mode the time can be set only in FMUs without continuous states".into());
            }
            if !settled {
                return Err("`fmi2NewDiscreteStates` must be called until it needs no further update".into());
            }
            // The next event instant: this leaves the event and begins the next.
            let now = &mut equations_of(&mut self.body)?.now;
            (now.round, now.settled, now.event) = (0, false, time);
        }
        self.time = time;
        Ok(())
    }

    pub(crate) fn set_continuous_states(&mut self, values: &[f64]) -> CallResult {
        self.allow(Call::SetContinuousStates)?;
        let x = &mut equations_of(&mut self.body)?.now.x;
        check_length(values.len(), x.len(), "continuous states")?;
        x.copy_from_slice(values);
        Ok(())
    }

    pub(crate) fn continuous_states(&mut self, into: &mut [f64]) -> CallResult {
        self.allow(Call::GetContinuousStates)?;
        self.reopen()?;
        let x = &equations_of(&mut self.body)?.now.x;
        check_length(into.len(), x.len(), "continuous states")?;
        into.copy_from_slice(x);
        Ok(())
    }

    pub(crate) fn derivatives(&mut self, into: &mut [f64]) -> CallResult {
        self.allow(Call::GetDerivatives)?;
        self.reopen()?;
        let exchange = equations_of(&mut self.body)?;
        check_length(into.len(), exchange.now.x.len(), "continuous states")?;
        let (equations, point) = exchange.at(self.time, &self.inputs);
        equations.derivatives(&point, into);
        if let HookEffect::Refuse(refusal) = self.equipment.on_derivatives(&self.parameters) {
            return Err(self.fail_with(&refusal));
        }
        into.iter_mut().for_each(|rate| *rate = self.equipment.shown(*rate, false));
        Ok(())
    }

    pub(crate) fn event_indicators(&mut self, into: &mut [f64]) -> CallResult {
        self.allow(Call::GetIndicators)?;
        self.reopen()?;
        let count = self.declared_indicators()?;
        check_length(into.len(), count, "event indicators")?;
        let exchange = equations_of(&mut self.body)?;
        let into = &mut into[..exchange.indicators];
        let (equations, point) = exchange.at(self.time, &self.inputs);
        equations.indicators(&point, into);
        Ok(())
    }

    pub(crate) fn nominals(&mut self, into: &mut [f64]) -> CallResult {
        self.allow(Call::GetNominals)?;
        self.reopen()?;
        let exchange = equations_of(&mut self.body)?;
        check_length(into.len(), exchange.now.x.len(), "continuous states")?;
        exchange.equations.nominals(into);
        Ok(())
    }

    /// How many continuous states and event indicators there are.
    pub(crate) fn counts(&mut self) -> Result<(usize, usize), Refusal> {
        self.allow(Call::GetCounts)?;
        Ok((equations_of(&mut self.body)?.now.x.len(), self.declared_indicators()?))
    }

    /// The number reported to the importer, which a fault may falsify.
    fn declared_indicators(&mut self) -> Result<usize, Refusal> {
        Ok(equations_of(&mut self.body)?.indicators + self.equipment.more_indicators())
    }
}
