//! An FMU for co-simulation as a simulator of Cosimo.
//!
//! The instance is made in `enter`, on the thread that keeps it. It stays in initialisation mode until the
//! first step, save or derivative, because only there outputs must respond to new inputs without a step.
//! Inputs inside a step: set as derivatives (FMI 2.0), requested by the FMU in intermediate updates (FMI 3.0), split
//! into substeps, or held.

use std::ffi::c_int;
use std::sync::Arc;

use cosimo_core::abilities;
use cosimo_core::linear_model::{OperatingPoint, StateSpaceMatrices};
use cosimo_core::simulator::{
    Bytes, Events, Jacobian, Lifecycle, Locals, Rollback, SerializeState, StateSpace, TunableParameters,
};
use cosimo_core::{
    Abilities, DefaultExperiment, Derivatives, Inputs, Interface, Local, Outputs, RollbackCheck, Segment,
    Setup, Simulator, SimulatorError, Slot, StateSpaceAccess, StepResult, Time, Window,
};
use cosimo_native::{MAX_EVENTS_AT_INSTANT, too_many_events};

use crate::description::{Description, Fmi, FmuUse, VariableType};
use crate::event_mode::EventMode;
use crate::feedthrough;
use crate::fmu::Fmu;
use crate::instance::{CoSimulationInstance, InstanceState, StepEnd};
use crate::jacobian::{Column, Tangents, columns};
use crate::locals::{self, LocalSelection, notices};
use crate::model_exchange::live;
use crate::parameters::{self, Feedthrough, Parameters};
use crate::ports::{PortGroup, Ports};
use crate::rollback_check::{self, RollbackTrial};
use crate::waves::Waves;

/// An event this part of a step before its end counts as one at its end.
const NEAR: f64 = 1e-9;

/// How inputs move inside a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputMotion {
    Held,
    Derivatives,
    Asked,
    Substeps(u32),
}

/// Time derivatives of the inputs, as one call takes them: first those of order 1, then 2, then 3.
#[derive(Debug, Default)]
struct Slopes {
    /// The highest order that was not zero so far. Higher ones are never set: many FMUs support the first only.
    told: usize,
    references: Vec<u32>,
    orders: Vec<c_int>,
    ports: Vec<usize>,
    values: Vec<f64>,
}

/// What a step needs of an FMU that has nothing but doubles and holds its inputs, which is what most FMUs are.
#[derive(Debug)]
struct PlainStep {
    inputs: Box<[u32]>,
    /// One per input.
    values: Box<[f64]>,
    outputs: Box<[u32]>,
}

impl PlainStep {
    fn of(ports: &Ports, motion: InputMotion) -> Option<PlainStep> {
        let references = |groups: &[PortGroup], count: usize| match groups {
            [] => Some(Box::default()),
            [one] if one.kind == VariableType::Float64 && one.references.len() == count => {
                Some(one.references.clone().into_boxed_slice())
            }
            _ => None,
        };
        let inputs = references(&ports.inputs, ports.interface.inputs.len())?;
        let outputs = references(&ports.outputs, ports.interface.outputs.len())?;
        let values = vec![0.0; inputs.len()].into_boxed_slice();
        (motion == InputMotion::Held).then_some(PlainStep { inputs, values, outputs })
    }
}

pub(crate) struct CoSimulationFmu<I> {
    fmu: Arc<Fmu>,
    /// The component name, also the instance name of the FMU.
    name: String,
    parameters: Parameters,
    ports: Ports,
    /// First ports of the output groups whose ports follow each other.
    output_runs: Vec<Option<usize>>,
    motion: InputMotion,
    plain: Option<PlainStep>,
    columns: Vec<Column>,
    /// If it lists its states and gives derivatives.
    tangents: Option<Tangents>,
    slopes: Slopes,
    /// If it solves for efforts of lines.
    waves: Waves,
    /// Value references and types of tunable parameters, in the order of the interface.
    tunable: Vec<(u32, VariableType)>,
    instance: Option<I>,
    initialising: bool,
    setup: Option<Setup>,
    /// If it has an event mode.
    agenda: Option<EventMode>,
    /// Inputs as they were set last, for its first event.
    held: Vec<f64>,
    /// The function by which the FMU asked to end the simulation; it is not stepped any further.
    ending: Option<&'static str>,
    /// Variables beside the ports that are recorded.
    locals: LocalSelection,
}

impl<I: CoSimulationInstance> CoSimulationFmu<I> {
    pub(crate) fn new(fmu: Arc<Fmu>, parameters: Parameters, name: &str) -> CoSimulationFmu<I> {
        let can = fmu.capabilities(FmuUse::CoSimulation);
        let events = can.event_mode && fmu.description.fmi == Fmi::Three;
        let (description, mut waves) = Waves::find(&fmu.description, can);
        let mut ports = Ports::new(&description, parameters.feedthrough == Feedthrough::None, events);
        ports.add_parcels(&fmu.description);
        let mut warnings = fmu.description.warnings(FmuUse::CoSimulation);
        if parameters.feedthrough == Feedthrough::Probed && fmu.description.fmi == Fmi::One {
            warnings.push("FMI 1.0 has no initialisation mode in which direct feed-through could be probed; the description is used".into());
        } else if parameters.feedthrough == Feedthrough::Probed {
            let (pairs, doubts) = feedthrough::probe::<I>(&fmu, FmuUse::CoSimulation, &parameters, &ports);
            ports.interface.feedthrough = pairs.into_iter().collect();
            warnings.extend(doubts);
        }
        if parameters.substep.is_some() {
            // Waves are set for whole steps.
            waves = Waves::default();
        }
        waves.place(&mut ports);
        let motion = match parameters.substep {
            Some(count) => InputMotion::Substeps(count),
            None if can.input_derivative_order > 0 => InputMotion::Derivatives,
            None if can.intermediate_update && !ports.fed.is_empty() => InputMotion::Asked,
            None => InputMotion::Held,
        };
        if motion != InputMotion::Asked {
            ports.fed.clear();
        }
        let columns = if can.directional_derivatives { columns(&ports) } else { None };
        let tangents = (can.directional_derivatives && !events)
            .then(|| listed_states(&fmu.description))
            .flatten()
            .and_then(|states| Some((states.0.len(), Tangents::new(&states, &ports)?)));
        let rollback = can.get_set_state && parameters.rollback != parameters::Rollback::None;
        let about = fmu.description.experiment;
        ports.interface.default_experiment =
            DefaultExperiment { start: about.start, stop: about.stop, step: can.fixed_step.or(about.step) };
        let (names, tunable) = parameters::tunable(&fmu.description);
        ports.interface.tunable = names;
        ports.interface.facts = fmu.facts();
        ports.interface.warnings = warnings;
        ports.interface.parameter_warnings = parameters.doubts.clone();
        ports.interface.internal_step = can.fixed_step.filter(|step| *step > 0.0);
        ports.interface.abilities = Abilities {
            rollback,
            serialize_state: rollback && can.serialize_state,
            input_degree: match motion {
                InputMotion::Held => 0,
                _ => 3,
            },
            slopes: false,
            jacobian: columns.is_some(),
            integrals: false,
            states: false,
            early_return: fmu.description.fmi == Fmi::Three && (can.early_return || events),
            variable_step: can.variable_step,
            // Neither standard promises it for co-simulation (FMI 2.0, 4.2.4); most FMUs do.
            direct_response: false,
            events,
            wave_boundary: !waves.is_empty() && !events,
            returns_each_internal_step: motion == InputMotion::Asked
                && can.early_on_request
                && waves.are_asked()
                && !events,
            once_per_process: can.once_per_process,
        };
        let directional =
            |states| StateSpaceAccess { states, derivatives: Derivatives::Directional, anywhere: false };
        ports.interface.state_space_access = tangents.as_ref().map(|(states, _)| directional(*states));
        let slopes = if motion == InputMotion::Derivatives { slopes(&ports) } else { Slopes::default() };
        let columns = columns.unwrap_or_default();
        let output_runs = ports.outputs.iter().map(PortGroup::run).collect();
        let plain = PlainStep::of(&ports, motion).filter(|_| !events && waves.is_empty());
        let starts = ports.interface.inputs.iter().map(|port| port.start.unwrap_or(0.0)).collect();
        let agenda = events.then(|| EventMode::new(&fmu.description, &ports));
        CoSimulationFmu {
            fmu,
            name: name.to_owned(),
            parameters,
            ports,
            output_runs,
            motion,
            plain,
            columns,
            tangents: tangents.map(|(_, tangents)| tangents),
            slopes,
            waves,
            tunable,
            instance: None,
            initialising: false,
            setup: None,
            held: if agenda.is_some() { starts } else { Vec::new() },
            ending: None,
            locals: LocalSelection::default(),
            agenda,
        }
    }

    /// The instance, past its initialisation.
    #[inline]
    fn running(&mut self) -> Result<&mut I, SimulatorError> {
        let instance = live(&mut self.instance)?;
        if self.initialising {
            let start = self.setup.map_or(0.0, |setup| setup.start.seconds());
            if let Some(agenda) = &mut self.agenda {
                agenda.prepare(instance, start)?;
            }
            instance.ready()?;
            self.initialising = false;
            if let Some(agenda) = &mut self.agenda {
                // An FMU leaves initialisation in event mode; inputs are what they were there.
                let held = &self.held;
                self.ending = agenda.handle(instance, &mut self.ports, start, |port| held[port], true)?;
            }
        }
        Ok(instance)
    }

    /// Sets all inputs by a rule from segment to value.
    #[inline]
    fn write_inputs(
        &mut self,
        inputs: &Inputs<'_>,
        value: impl Fn(&Segment) -> f64,
    ) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        for group in &mut self.ports.inputs {
            group.set(instance, |port| value(&inputs.segments[port]))?;
        }
        Ok(())
    }

    /// Sets what may be set between events.
    fn set_smooth(&mut self, value: impl Fn(usize) -> f64) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        let mut smooth = self.ports.inputs.iter_mut().filter(|group| !group.discrete);
        smooth.try_for_each(|group| group.set(instance, &value))
    }

    /// Takes inputs at an instant: in event mode if something is due or changes there, else those that may change
    /// between events.
    fn take(&mut self, at: f64, value: impl Fn(usize) -> f64) -> Result<(), SimulatorError> {
        self.running()?;
        let (Some(agenda), Some(instance)) = (&mut self.agenda, &mut self.instance) else { return Ok(()) };
        if self.ending.is_some() {
            return Ok(());
        }
        if agenda.is_due() || agenda.has_new_inputs(&value) {
            self.ending = agenda.handle(instance, &mut self.ports, at, value, false)?;
            return Ok(());
        }
        agenda.listen(&value);
        self.set_smooth(value)
    }

    /// A window of an FMU with an event mode, from event to event.
    fn advance_by_events(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        let (from, to) = (window.from.seconds(), window.to.seconds());
        let meets = self.setup.is_some_and(|setup| setup.stop_at_events);
        self.take(from, |port| inputs.segments[port].start())?;
        let (mut at, mut steps, mut crowd) = (from, 0, 0);
        loop {
            if let Some(function) = self.ending {
                return if at > from {
                    Ok(ended(window, at, steps))
                } else {
                    Err(SimulatorError::end(function))
                };
            }
            let agenda = live(&mut self.agenda)?;
            agenda.move_on();
            let (next, met) = (agenda.next(), agenda.met);
            let limit = if next > at { next.min(to) } else { to };
            let stepped = self.running()?.step(from, at, limit - at, inputs)?;
            steps += 1;
            let (reached, event) = match stepped {
                StepEnd::Whole => (limit, limit == next || (limit == to && to == met)),
                StepEnd::Event(until) => (until, true),
                StepEnd::Until(until) => (until, false),
                StepEnd::Ended(until, function) => {
                    self.ending = Some(function);
                    return Ok(ended(window, until, steps));
                }
            };
            if reached <= at {
                let words = format!("the FMU does not advance beyond t = {at} s");
                return Err(SimulatorError::new("fmi3DoStep", words));
            }
            crowd = if reached - at <= 1e-12 * reached.abs().max(window.size) { crowd + 1 } else { 0 };
            if crowd > MAX_EVENTS_AT_INSTANT {
                return Err(too_many_events(reached));
            }
            let agenda = live(&mut self.agenda)?;
            if to - reached <= NEAR * window.size {
                agenda.stand(to);
                let event = event || agenda.ticks_at(to);
                if event {
                    agenda.set_due();
                }
                let next = agenda.next();
                let next_event = Time::new(next).filter(|_| next.is_finite());
                return Ok(StepResult { to: window.to, next_event, event, evaluations: steps });
            }
            at = reached;
            let value = |port: usize| inputs.segments[port].at(at - from);
            if event && meets {
                agenda.met = at;
                let to = Time::new(at).unwrap_or(window.to);
                return Ok(StepResult { to, next_event: None, event: false, evaluations: steps });
            }
            let instance = live(&mut self.instance)?;
            if event {
                self.ending = agenda.handle(instance, &mut self.ports, at, value, false)?;
            } else {
                self.set_smooth(value)?;
            }
        }
    }

    /// A window of an FMU that solves for efforts itself: one step, or as far as its solver goes at once if that is
    /// enough and it can return there.
    fn advance_by_waves(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        let instance = live(&mut self.instance)?;
        let told = self.waves.set_waves(instance, &window, inputs)?;
        for group in &mut self.ports.inputs {
            group.set(instance, |port| told[port].start())?;
        }
        let from = window.from.seconds();
        let told = Inputs { segments: told, ..*inputs };
        let stepped = instance.step(from, from, window.size, &told)?;
        reached(window, stepped, 1, &mut self.ending)
    }

    /// Derivatives at the start of the step, up to the highest order that is in use.
    fn set_slopes(&mut self, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        let Slopes { told, references, orders, ports, values } = &mut self.slopes;
        for ((value, order), port) in values.iter_mut().zip(orders.iter()).zip(ports.iter()) {
            let factorial = [1.0, 1.0, 2.0, 6.0][*order as usize];
            *value = factorial * inputs.segments[*port].0[*order as usize];
            if *value != 0.0 {
                *told = (*told).max(*order as usize);
            }
        }
        let count = *told * (references.len() / 3);
        if count == 0 {
            return Ok(());
        }
        let instance = live(&mut self.instance)?;
        instance.set_slopes(&references[..count], &orders[..count], &values[..count])
    }
}

impl<I: CoSimulationInstance> RollbackTrial for CoSimulationFmu<I> {
    fn corrupt(&mut self) -> Option<bool> {
        let fatal = |instance: I| instance.life() == InstanceState::Fatal;
        self.fmu.is_corrupt().then(|| self.instance.take().is_some_and(fatal))
    }
}

impl<I: CoSimulationInstance> Simulator for CoSimulationFmu<I> {
    fn interface(&self) -> &Interface {
        &self.ports.interface
    }

    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.instance = None;
        let mut instance: I = self.fmu.instantiate(FmuUse::CoSimulation, &self.name, &self.ports.fed)?;
        instance.enter(setup.start.seconds(), setup.stop.map(Time::seconds), &self.parameters.settings)?;
        // FMUs exist that do not advance while a return before the current point is announced.
        instance.promise(!(setup.rewinds && self.ports.interface.abilities.rollback));
        self.instance = Some(instance);
        self.initialising = true;
        self.ending = None;
        self.setup = Some(*setup);
        self.slopes.told = 0;
        if self.agenda.is_some() {
            self.agenda = Some(EventMode::new(&self.fmu.description, &self.ports));
        }
        Ok(())
    }

    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        if self.ending.is_some() {
            return Ok(());
        }
        if self.agenda.is_none() {
            return self.write_inputs(inputs, Segment::start);
        }
        if !self.initialising {
            return self.take(at.seconds(), |port| inputs.segments[port].start());
        }
        for (held, segment) in self.held.iter_mut().zip(inputs.segments) {
            *held = segment.start();
        }
        self.write_inputs(inputs, Segment::start)
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        if let Some(function) = self.ending {
            return Err(SimulatorError::end(function));
        }
        if self.agenda.is_some() {
            return self.advance_by_events(window, inputs);
        }
        self.running()?;
        if !self.waves.is_empty() {
            return self.advance_by_waves(window, inputs);
        }
        let (from, size) = (window.from.seconds(), window.size);
        let InputMotion::Substeps(count) = self.motion else {
            self.write_inputs(inputs, Segment::start)?;
            if self.motion == InputMotion::Derivatives {
                self.set_slopes(inputs)?;
            }
            let stepped = self.running()?.step(from, from, size, inputs)?;
            return reached(window, stepped, 1, &mut self.ending);
        };
        for index in 0..count {
            let place = |index: u32| size * (f64::from(index) / f64::from(count));
            let (start, end) = (place(index), place(index + 1));
            // The mean, so that the integral of the input is what was assumed.
            self.write_inputs(inputs, |segment| {
                (segment.integral(end) - segment.integral(start)) / (end - start)
            })?;
            let stepped = self.running()?.step(from, from + start, end - start, inputs)?;
            if stepped != StepEnd::Whole {
                return reached(window, stepped, u64::from(index) + 1, &mut self.ending);
            }
        }
        Ok(StepResult::end_of(window, u64::from(count)))
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        if let Some(agenda) = &self.agenda {
            agenda.show(out.values);
        }
        for (group, run) in self.ports.outputs.iter_mut().zip(&self.output_runs) {
            if !group.clocks.is_empty() {
                continue; // shown as they were when their clock ticked
            }
            let Some(first) = *run else {
                group.get(instance, out.values)?;
                continue;
            };
            let values = &mut out.values[first..first + group.ports.len()];
            instance.get(group.kind, &group.references, values)?;
        }
        Ok(())
    }

    /// The same calls as `do_step` and `get_outputs` make. A small FMU's step is a dozen nanoseconds, so plain FMUs have
    /// them here in one straight piece.
    fn do_step_and_get_outputs(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        out: &mut Outputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        let waiting = self.initialising || self.ending.is_some();
        let (Some(plain), Some(instance), false) = (&mut self.plain, &mut self.instance, waiting) else {
            let reached = self.do_step(window, inputs)?;
            if reached.to >= window.to {
                self.get_outputs(out)?;
            }
            return Ok(reached);
        };
        if !plain.inputs.is_empty() {
            // Not `zip`: its constructor is a call in builds without LTO.
            let segments = &inputs.segments[..plain.values.len()];
            for (index, value) in plain.values.iter_mut().enumerate() {
                *value = segments[index].start();
            }
            instance.set(VariableType::Float64, &plain.inputs, &plain.values)?;
        }
        let stepped = instance.step(window.from.seconds(), window.from.seconds(), window.size, inputs)?;
        let reached = reached(window, stepped, 1, &mut self.ending)?;
        if reached.to >= window.to && !plain.outputs.is_empty() {
            instance.get(VariableType::Float64, &plain.outputs, &mut out.values[..plain.outputs.len()])?;
        }
        Ok(reached)
    }

    abilities! {
        self:
        lifecycle, bytes, parameters, locals,
        rollback if self.ports.interface.abilities.rollback,
        serialize_state if self.ports.interface.abilities.serialize_state,
        jacobian if self.ports.interface.abilities.jacobian,
        events if self.agenda.is_some(),
        state_space if self.tangents.is_some(),
    }
}

impl<I: CoSimulationInstance> Lifecycle for CoSimulationFmu<I> {
    fn exit_initialization(&mut self) -> Result<bool, SimulatorError> {
        let initialising = self.initialising;
        self.running()?;
        Ok(initialising)
    }

    fn notices(&mut self) -> Vec<(&'static str, String)> {
        let Some(instance) = &mut self.instance else { return Vec::new() };
        let lost = parameters::lost(&self.fmu.description, &self.parameters.settings, instance);
        let life = instance.life();
        let unreadable = self.locals.drop_unreadable(|_, kind, references, values| {
            instance.get(kind, references, values).inspect_err(|_| instance.forgive(life))
        });
        notices(lost, unreadable)
    }

    fn ending(&mut self) -> Option<&'static str> {
        self.ending
    }
}

impl<I: CoSimulationInstance> Locals for CoSimulationFmu<I> {
    fn list(&self) -> Vec<Local> {
        locals::all(std::iter::once((&self.fmu.description, None)))
    }

    fn choose(&mut self, places: &[usize]) {
        self.locals = LocalSelection::new(std::iter::once(&self.fmu.description), places);
    }

    fn read(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        self.locals.read(into, |_, kind, references, values| instance.get(kind, references, values))
    }
}

impl<I: CoSimulationInstance> Bytes for CoSimulationFmu<I> {
    fn set_bytes(&mut self, port: usize, content: &[u8]) -> Result<(), SimulatorError> {
        match &mut self.agenda {
            Some(agenda) if !self.initialising => {
                agenda.take_parcel(port, content);
                Ok(())
            }
            _ => {
                let instance = live(&mut self.instance)?;
                let (kind, reference) = self.ports.byte_inputs[port];
                instance.set_parcel(kind, reference, content)?;
                self.agenda.iter_mut().for_each(|agenda| agenda.mark_bytes_set(port, content));
                Ok(())
            }
        }
    }

    fn get_bytes(&mut self, port: usize, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        let (kind, reference) = self.ports.byte_outputs[port];
        instance.get_parcel(kind, reference, into)
    }
}

impl<I: CoSimulationInstance> Events for CoSimulationFmu<I> {
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        self.running()?;
        if self.ending.is_some() {
            return Ok(None);
        }
        let next = self.agenda.as_ref().map_or(f64::INFINITY, EventMode::next);
        Ok(Time::new(next).filter(|_| next.is_finite()))
    }
}

impl<I: CoSimulationInstance> Rollback for CoSimulationFmu<I> {
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.running()?.save(slot)?;
        self.agenda.iter_mut().for_each(|agenda| agenda.save(slot));
        Ok(())
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.running()?.restore(slot)?;
        self.ending = None;
        self.agenda.iter_mut().for_each(|agenda| agenda.restore(slot));
        Ok(())
    }

    fn check(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<RollbackCheck, SimulatorError> {
        match self.setup {
            Some(setup) if self.parameters.rollback == parameters::Rollback::Tried => {
                rollback_check::check_rollback(self, &setup, window, inputs)
            }
            _ => Ok(RollbackCheck::Untried),
        }
    }
}

impl<I: CoSimulationInstance> SerializeState for CoSimulationFmu<I> {
    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        // The FMU may keep input derivatives that are zero from now on, so they are set to zero.
        into.push(self.slopes.told as u8);
        self.running()?;
        self.agenda.iter_mut().for_each(|agenda| agenda.serialize(into));
        self.running()?.freeze(into)
    }

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let damaged = || SimulatorError::new("deserialize state", "the bytes are not a serialized FMU state");
        let (told, mut state) = from.split_first().filter(|(told, _)| **told <= 3).ok_or_else(damaged)?;
        self.slopes.told = usize::from(*told);
        self.running()?;
        if let Some(agenda) = &mut self.agenda {
            state = agenda.deserialize(state).ok_or_else(damaged)?;
        }
        self.running()?.thaw(state)
    }
}

impl<I: CoSimulationInstance> TunableParameters for CoSimulationFmu<I> {
    /// Between two steps, where FMI 2.0 allows it (4.2.4), and FMI 3.0 as long as no event mode is in use; else there.
    fn set_parameter(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError> {
        let unknown = || SimulatorError::new("set parameter", "there is no such parameter");
        let (reference, kind) = *self.tunable.get(parameter).ok_or_else(unknown)?;
        self.running()?;
        let instance = live(&mut self.instance)?;
        match &mut self.agenda {
            Some(agenda) => agenda.tune(instance, kind, reference, value),
            None => instance.set(kind, &[reference], &[value]),
        }
    }
}

impl<I: CoSimulationInstance> Jacobian for CoSimulationFmu<I> {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        let width = self.ports.interface.inputs.len();
        into.fill(0.0);
        self.running()?;
        let instance = live(&mut self.instance)?;
        for column in &mut self.columns {
            column.fill(instance, into, width)?;
        }
        Ok(())
    }
}

/// No version of FMI lets an importer evaluate an FMU for co-simulation at other inputs, so all values are those of the
/// current communication point.
impl<I: CoSimulationInstance> StateSpace for CoSimulationFmu<I> {
    fn operating_point(&mut self, into: &mut OperatingPoint<'_>) -> Result<(), SimulatorError> {
        self.running()?;
        let instance = live(&mut self.instance)?;
        self.tangents.as_ref().ok_or_else(no_insight)?.read_operating_point(instance, into)
    }

    fn derivatives_and_outputs(
        &mut self,
        _: &[f64],
        _: &[f64],
        _: &mut [f64],
        _: &mut [f64],
    ) -> Result<(), SimulatorError> {
        Err(SimulatorError::new(
            "linearise",
            "an FMU for co-simulation can be linearised at its current state only",
        ))
    }

    fn matrices(&mut self, _u: &[f64], into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError> {
        self.running()?;
        let instance = live(&mut self.instance)?;
        self.tangents.as_mut().ok_or_else(no_insight)?.fill(instance, into)
    }
}

/// Value references of states and derivatives, if there are any and each is one double.
fn listed_states(about: &Description) -> Option<(Vec<u32>, Vec<u32>)> {
    let plain = |index: &usize| {
        let variable = &about.variables[*index];
        variable.kind == VariableType::Float64 && variable.dimensions.is_empty()
    };
    let usable = about.states.iter().all(|(x, dx)| plain(x) && plain(dx)) && !about.states.is_empty();
    let reference = |index: &usize| about.variables[*index].reference;
    usable.then(|| about.states.iter().map(|(x, dx)| (reference(x), reference(dx))).unzip())
}

#[cold]
fn no_insight() -> SimulatorError {
    SimulatorError::new("linearise", "this FMU does not list its states")
}

fn reached(
    window: Window,
    stepped: StepEnd,
    evaluations: u64,
    ending: &mut Option<&'static str>,
) -> Result<StepResult, SimulatorError> {
    let to = match stepped {
        StepEnd::Whole => window.to,
        StepEnd::Ended(until, function) => {
            *ending = Some(function);
            return Ok(ended(window, until, evaluations));
        }
        StepEnd::Until(until) | StepEnd::Event(until) => Time::new(until).unwrap_or(window.from),
    };
    Ok(StepResult { to, next_event: None, event: false, evaluations })
}

/// The step result when the FMU ended the simulation.
fn ended(window: Window, at: f64, evaluations: u64) -> StepResult {
    let near = window.to.seconds() - at <= NEAR * window.size;
    let to = if near { window.to } else { Time::new(at).unwrap_or(window.from) };
    StepResult { to, next_event: None, event: true, evaluations }
}

fn slopes(ports: &Ports) -> Slopes {
    let mut slopes = Slopes::default();
    for order in 1..=3 {
        for group in ports.inputs.iter().filter(|group| group.kind == VariableType::Float64) {
            for (reference, port) in group.references.iter().zip(&group.ports) {
                slopes.references.push(*reference);
                slopes.orders.push(order);
                slopes.ports.push(*port);
            }
        }
    }
    slopes.values = vec![0.0; slopes.ports.len()];
    slopes
}
