//! An FMU for model exchange as equations that Cosimo integrates, in the loop of [`HybridSimulator`].

use std::marker::PhantomData;
use std::sync::Arc;

use cosimo_core::linear_model::StateSpaceMatrices;
use cosimo_core::simulator::Locals;
use cosimo_core::{
    Abilities, DefaultExperiment, Derivatives, Inputs, Interface, LineEnd, Local, RollbackCheck, Setup,
    SimulatorError, Slot, StateSpaceAccess, Time, Window,
};
use cosimo_native::{
    CompletedStep, Equations, EventResult, HybridSimulator, InitialState, IntegrationMethod,
};
use cosimo_ode::{Absolute, Settings};

use crate::description::{Description, FmuUse, Variability, VariableType};
use crate::feedthrough;
use crate::fmu::Fmu;
use crate::instance::{
    EventModeInstance, EventUpdate, Instance, InstanceState, ModelExchangeInstance, NewInstance, StartValue,
};
use crate::jacobian::{Column, Tangents, columns};
use crate::locals::{self, LocalSelection, notices};
use crate::parameters::{self, Feedthrough, Parameters, Rollback};
use crate::ports::{PortGroup, Ports};
use crate::rollback_check::{self, RollbackTrial};

/// Iterations of one event iteration; more are taken for an endless loop.
pub(crate) const ROUNDS: usize = 1000;
const RELATIVE: f64 = 1e-6;
/// The absolute tolerance of a state, as a part of its nominal value times the relative tolerance.
const ABSOLUTE: f64 = 1e-2;

/// A simulator out of the equations of FMUs.
pub(crate) type ModelExchangeFmu<O> = HybridSimulator<FmuEquations<O>>;

/// The equations of FMUs, as they stand in an instance.
pub(crate) struct FmuEquations<O: EquationsOrigin> {
    origin: O,
    known: EquationsInfo,
    parameters: Parameters,
    /// Once they are instantiated.
    instance: Option<O::Instance>,
    inputs: Vec<PortGroup>,
    outputs: Vec<PortGroup>,
    /// Derivatives of the outputs by the inputs.
    jacobian: Option<Vec<Column>>,
    /// Of everything by everything.
    tangents: Option<Tangents>,
    rollback: bool,
    /// They need `CompletedIntegratorStep`, and whether a step may be rolled back.
    completed_steps: Option<bool>,
    /// Variables beside the ports that are recorded.
    locals: LocalSelection,
}

/// Where equations come from: one FMU, or several that are integrated together.
pub(crate) trait EquationsOrigin: Send {
    type Instance: ModelExchangeInstance;

    /// Instantiated, and in initialisation mode with all parameters set.
    fn make(&self, start: f64, stop: Option<f64>) -> Result<Self::Instance, SimulatorError>;

    /// Parameters that an initialised instance does not have as they were set, in words.
    fn lost(&self, instance: &mut Self::Instance) -> Vec<String>;

    /// An instance returned `fatal`, which ends all of them.
    fn is_corrupt(&self) -> bool;

    /// Descriptions of the FMUs, with the names of their components where there are several.
    fn members(&self) -> impl Iterator<Item = (&Description, Option<&str>)>;

    /// Any variables of a member, ports or not.
    fn get(
        instance: &mut Self::Instance,
        member: usize,
        kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError>;

    /// An error of a member whose answer was not needed.
    fn forgive(instance: &mut Self::Instance, member: usize);
}

/// What is known of equations before they are asked anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct EquationsInfo {
    pub(crate) states: usize,
    /// Names of the states, as far as each is one number.
    pub(crate) names: Vec<String>,
    pub(crate) indicators: usize,
    /// They need `CompletedIntegratorStep`.
    pub(crate) completed_steps: bool,
    /// What is in them beside the states can be saved and restored, and turned into bytes.
    pub(crate) keeps_state: bool,
    pub(crate) serializes: bool,
    /// Some FMU can have one instance only.
    pub(crate) once_per_process: bool,
    /// They have nothing but their states, so that they need no event to take a jump. Nor should they have one: FMUs
    /// refuse to go back behind an event unless their state is restored.
    pub(crate) eventless: bool,
    /// Value references of states and derivatives, if these are known to be differentiated by those.
    pub(crate) columns: Option<(Vec<u32>, Vec<u32>)>,
    /// Derivatives of outputs by inputs are known.
    pub(crate) jacobian: bool,
    pub(crate) tolerance: Option<f64>,
}

/// The equations of one FMU.
pub(crate) struct Single<I> {
    fmu: Arc<Fmu>,
    name: String,
    settings: Vec<StartValue>,
    version: PhantomData<fn() -> I>,
}

impl<I> Single<I> {
    pub(crate) fn new(fmu: Arc<Fmu>, name: &str, settings: &[StartValue]) -> Single<I> {
        Single { fmu, name: name.to_owned(), settings: settings.to_vec(), version: PhantomData }
    }
}

impl<I: NewInstance + ModelExchangeInstance> EquationsOrigin for Single<I> {
    type Instance = I;

    fn make(&self, start: f64, stop: Option<f64>) -> Result<I, SimulatorError> {
        let mut instance: I = self.fmu.instantiate(FmuUse::ModelExchange, &self.name, &[])?;
        instance.enter(start, stop, &self.settings)?;
        Ok(instance)
    }

    fn lost(&self, instance: &mut I) -> Vec<String> {
        parameters::lost(&self.fmu.description, &self.settings, instance)
    }

    fn is_corrupt(&self) -> bool {
        self.fmu.is_corrupt()
    }

    fn members(&self) -> impl Iterator<Item = (&Description, Option<&str>)> {
        std::iter::once((&self.fmu.description, None))
    }

    fn get(
        instance: &mut I,
        _member: usize,
        kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError> {
        instance.get(kind, references, values)
    }

    fn forgive(instance: &mut I, _member: usize) {
        instance.forgive(InstanceState::Stepping);
    }
}

/// Only doubles may change between events.
fn smooth(group: &PortGroup) -> bool {
    group.kind == VariableType::Float64 && !group.discrete
}

/// The instance, if there is one.
#[inline]
pub(crate) fn live<I>(instance: &mut Option<I>) -> Result<&mut I, SimulatorError> {
    instance.as_mut().ok_or_else(|| SimulatorError::new("initialize", "the FMU was not instantiated"))
}

impl<O: EquationsOrigin> Equations for FmuEquations<O> {
    fn enter_initialization(&mut self, setup: &Setup) -> Result<bool, SimulatorError> {
        self.instance = None;
        self.instance = Some(self.origin.make(setup.start.seconds(), setup.stop.map(Time::seconds))?);
        let final_steps = !(setup.rewinds && self.rollback);
        self.completed_steps = self.known.completed_steps.then_some(final_steps);
        Ok(true)
    }

    fn set_initial_inputs(&mut self, u: &[f64]) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        self.inputs.iter_mut().try_for_each(|group| group.set(instance, |port| u[port]))
    }

    /// An FMU leaves initialisation in event mode.
    fn exit_initialization(&mut self, at: f64, x: &mut [f64]) -> Result<InitialState, SimulatorError> {
        let instance = live(&mut self.instance)?;
        instance.ready()?;
        let (settled, _) = settle_events(instance, at)?;
        let relative = self.parameters.relative.or(self.known.tolerance).unwrap_or(RELATIVE);
        let mut settings = Settings { relative, ..Settings::default() };
        if settled.ended.is_none() {
            instance.enter_continuous_time()?;
            x.fill(1.0);
            instance.nominals(x)?;
            let tolerance =
                |nominal: &f64| self.parameters.absolute.unwrap_or_else(|| allowed(relative, *nominal));
            settings.absolute = Absolute::Each(x.iter().map(tolerance).collect());
            instance.states(x)?;
        }
        Ok(InitialState { event: settled, due: false, settings })
    }

    fn set_point(&mut self, t: f64, x: &[f64], u: &[f64]) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        instance.set_time(t)?;
        instance.set_states(x)?;
        let mut smooth = self.inputs.iter_mut().filter(|group| smooth(group));
        smooth.try_for_each(|group| group.set(instance, |port| u[port]))
    }

    fn flows(&mut self, ends: &[LineEnd<'_>], y: &mut [f64]) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        let shows =
            |group: &&mut PortGroup| group.ports.iter().any(|port| ends.iter().any(|end| end.flow == *port));
        self.outputs.iter_mut().filter(shows).try_for_each(|group| group.get(instance, y))
    }

    fn set_efforts(&mut self, ends: &[LineEnd<'_>], u: &[f64]) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        let takes = |group: &&mut PortGroup| {
            group.ports.iter().any(|port| ends.iter().any(|end| end.effort == *port))
        };
        self.inputs.iter_mut().filter(takes).try_for_each(|group| group.set(instance, |port| u[port]))
    }

    fn derivatives(&mut self, dx: &mut [f64]) -> Result<(), SimulatorError> {
        live(&mut self.instance)?.slopes(dx)
    }

    fn outputs(&mut self, y: &mut [f64]) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        self.outputs.iter_mut().try_for_each(|group| group.get(instance, y))
    }

    fn indicators(&mut self, z: &mut [f64]) -> Result<(), SimulatorError> {
        live(&mut self.instance)?.indicators(z)
    }

    fn state_jacobian(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        let Some((states, derivatives)) = &self.known.columns else { return Ok(()) };
        let instance = live(&mut self.instance)?;
        // A column after the other, written where rows will be; turned round in the end.
        let n = states.len();
        for (column, state) in states.iter().enumerate() {
            instance.derivatives(derivatives, *state, &mut into[column * n..(column + 1) * n])?;
        }
        for row in 0..n {
            for column in 0..row {
                into.swap(row * n + column, column * n + row);
            }
        }
        Ok(())
    }

    fn jacobian(&mut self, interface: &Interface, into: &mut [f64]) -> Result<(), SimulatorError> {
        into.fill(0.0);
        let Some(columns) = &mut self.jacobian else {
            let none =
                || SimulatorError::new("jacobian", "this FMU does not provide directional derivatives");
            return if interface.feedthrough.is_empty() { Ok(()) } else { Err(none()) };
        };
        let instance = live(&mut self.instance)?;
        columns.iter_mut().try_for_each(|column| column.fill(instance, into, interface.inputs.len()))
    }

    fn matrices(&mut self, into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError> {
        let none = || SimulatorError::new("linearise", "this FMU does not provide directional derivatives");
        self.tangents.as_mut().ok_or_else(none)?.fill(live(&mut self.instance)?, into)
    }

    fn event(&mut self, at: f64, x: &mut [f64], u: &[f64]) -> Result<EventResult, SimulatorError> {
        let instance = live(&mut self.instance)?;
        instance.set_time(at)?;
        instance.set_states(x)?;
        instance.enter_event_mode()?;
        self.inputs.iter_mut().try_for_each(|group| group.set(instance, |port| u[port]))?;
        let (settled, states_changed) = settle_events(instance, at)?;
        if states_changed {
            instance.states(x)?;
        }
        if settled.ended.is_none() {
            instance.enter_continuous_time()?;
        }
        Ok(settled)
    }

    fn needs_event(&self, _due: bool) -> bool {
        !self.known.eventless
    }

    fn completed_step(&mut self) -> Result<CompletedStep, SimulatorError> {
        match self.completed_steps {
            Some(never_back) => live(&mut self.instance)?.completed_step(never_back),
            None => Ok(CompletedStep::default()),
        }
    }

    /// The effort of a line answers a flow, so that no flow can answer it at once.
    fn check_ends(&self, interface: &Interface, ends: &[LineEnd<'_>]) -> Result<(), SimulatorError> {
        let Interface { feedthrough, inputs, outputs, .. } = interface;
        match ends.iter().find(|end| feedthrough.contains(&(end.flow, end.effort))) {
            None => Ok(()),
            Some(LineEnd { flow, effort, .. }) => Err(SimulatorError::new(
                "line",
                format!(
                    "the flow `{}` has (or may have) direct feed-through from the effort `{}`: a line cannot end there; if the \
                     description only lacks dependencies, set \"cosimo.feedthrough\" = \"probed\"",
                    outputs[*flow].name, inputs[*effort].name
                ),
            )),
        }
    }

    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        if self.known.keeps_state { live(&mut self.instance)?.save(slot) } else { Ok(()) }
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        if self.known.keeps_state { live(&mut self.instance)?.restore(slot) } else { Ok(()) }
    }

    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        if self.known.keeps_state { live(&mut self.instance)?.freeze(into) } else { Ok(()) }
    }

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        if self.known.keeps_state { live(&mut self.instance)?.thaw(from) } else { Ok(()) }
    }

    fn foreign_state_message(_bytes: usize) -> String {
        "the bytes are not a serialized state of this FMU".into()
    }

    fn notices(&mut self) -> Vec<(&'static str, String)> {
        let Some(instance) = &mut self.instance else { return Vec::new() };
        let lost = self.origin.lost(instance);
        let unreadable = self.locals.drop_unreadable(|member, kind, references, values| {
            O::get(instance, member, kind, references, values).inspect_err(|_| O::forgive(instance, member))
        });
        notices(lost, unreadable)
    }

    fn locals(&mut self) -> Option<&mut dyn Locals> {
        Some(self)
    }

    fn check_rollback(
        simulator: &mut ModelExchangeFmu<O>,
        window: Window,
        inputs: &Inputs<'_>,
    ) -> Result<RollbackCheck, SimulatorError> {
        match simulator.equations.parameters.rollback {
            Rollback::Tried => rollback_check::check_rollback(simulator, &simulator.setup(), window, inputs),
            _ => Ok(RollbackCheck::Untried),
        }
    }
}

impl<O: EquationsOrigin> Locals for FmuEquations<O> {
    fn list(&self) -> Vec<Local> {
        locals::all(self.origin.members())
    }

    fn choose(&mut self, places: &[usize]) {
        self.locals = LocalSelection::new(self.origin.members().map(|(description, _)| description), places);
    }

    fn read(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        let instance = live(&mut self.instance)?;
        self.locals
            .read(into, |member, kind, references, values| O::get(instance, member, kind, references, values))
    }
}

impl<O: EquationsOrigin> RollbackTrial for ModelExchangeFmu<O> {
    fn corrupt(&mut self) -> Option<bool> {
        let fatal = |instance: O::Instance| instance.life() == InstanceState::Fatal;
        self.equations.origin.is_corrupt().then(|| self.equations.instance.take().is_some_and(fatal))
    }
}

fn allowed(relative: f64, nominal: f64) -> f64 {
    let nominal = if nominal.is_finite() && nominal != 0.0 { nominal.abs() } else { 1.0 };
    (ABSOLUTE * relative * nominal).max(f64::MIN_POSITIVE)
}

/// The event iteration: what it came to, and whether states changed.
pub(crate) fn settle_events(
    instance: &mut impl EventModeInstance,
    at: f64,
) -> Result<(EventResult, bool), SimulatorError> {
    let mut states_changed = false;
    for _ in 0..ROUNDS {
        let update = instance.update()?;
        states_changed |= update.states_changed;
        if update.ended.is_some() {
            return Ok((EventResult { next_event: f64::INFINITY, ended: update.ended }, states_changed));
        }
        if !update.again {
            return Ok((EventResult { next_event: announced(&update, at)?, ended: None }, states_changed));
        }
    }
    Err(unsettled(at))
}

/// When the next time event is; infinite where there is none.
pub(crate) fn announced(update: &EventUpdate, at: f64) -> Result<f64, SimulatorError> {
    let next = update.next_event.unwrap_or(f64::INFINITY);
    if next <= at || next.is_nan() {
        let words = format!(
            "the FMU announces its next event at t = {next} s, which is before the current time {at} s"
        );
        return Err(SimulatorError::new("event", words));
    }
    Ok(next)
}

pub(crate) fn unsettled(at: f64) -> SimulatorError {
    let words = format!("the event iteration at t = {at} s does not converge within {ROUNDS} iterations");
    SimulatorError::new("event", words)
}

impl EquationsInfo {
    /// Of one FMU.
    pub(crate) fn of(fmu: &Fmu) -> EquationsInfo {
        let (about, can) = (&fmu.description, fmu.capabilities(FmuUse::ModelExchange));
        let Some(exchange) = &about.exchange else { return EquationsInfo::default() };
        let states = exchange.state_count(&about.variables);
        let scalars = exchange.states.len() == states;
        let reference = |index: &usize| about.variables[*index].reference;
        let name = |index: &usize| about.variables[*index].name.clone();
        let pairs = || exchange.states.iter().map(|(x, dx)| (reference(x), reference(dx))).unzip();
        let named = exchange.states.iter().filter(|_| scalars);
        // That something else changes from step to step only the variables give away.
        let discrete = about.variables.iter().any(|variable| variable.variability == Variability::Discrete);
        EquationsInfo {
            states,
            names: named.map(|(x, _)| name(x)).collect(),
            indicators: exchange.indicators,
            completed_steps: exchange.completed_steps,
            keeps_state: can.get_set_state,
            serializes: can.serialize_state,
            once_per_process: can.once_per_process,
            eventless: exchange.indicators == 0 && !exchange.completed_steps && !discrete,
            columns: (scalars && can.directional_derivatives).then(pairs),
            jacobian: can.directional_derivatives,
            tolerance: about.experiment.tolerance,
        }
    }

    /// What a linear model is asked by, if the FMUs give derivatives.
    fn tangents(&self, ports: &Ports) -> Option<Tangents> {
        Tangents::new(self.columns.as_ref().filter(|_| self.jacobian)?, ports)
    }

    fn insight(&self, ports: &Ports) -> StateSpaceAccess {
        let derivatives = match self.tangents(ports) {
            Some(_) => Derivatives::Directional,
            None => Derivatives::None,
        };
        StateSpaceAccess { states: self.states, derivatives, anywhere: true }
    }

    /// Without the FMUs' help only what Cosimo integrates comes back, which is all there is without events.
    pub(crate) fn can_go_back(&self) -> bool {
        self.keeps_state || self.eventless
    }

    pub(crate) fn can_be_bytes(&self) -> bool {
        self.can_go_back() && (self.serializes || !self.keeps_state)
    }
}

/// The ports of an FMU that is to be integrated, with what its user should know of it.
pub(crate) fn ports<I: NewInstance>(fmu: &Fmu, parameters: &Parameters) -> Ports {
    let mut ports = Ports::new(&fmu.description, parameters.feedthrough == Feedthrough::None, false);
    let mut warnings = fmu.description.warnings(FmuUse::ModelExchange);
    if parameters.feedthrough == Feedthrough::Probed {
        let (pairs, doubts) = feedthrough::probe::<I>(fmu, FmuUse::ModelExchange, parameters, &ports);
        ports.interface.feedthrough = pairs.into_iter().collect();
        warnings.extend(doubts);
    }
    let experiment = fmu.description.experiment;
    ports.interface.default_experiment =
        DefaultExperiment { start: experiment.start, stop: experiment.stop, step: experiment.step };
    ports.interface.facts = fmu.facts();
    ports.interface.warnings = warnings;
    ports.interface.parameter_warnings = parameters.doubts.clone();
    ports
}

impl<I: NewInstance + ModelExchangeInstance> FmuEquations<Single<I>> {
    pub(crate) fn of_fmu(fmu: Arc<Fmu>, parameters: Parameters, name: &str) -> ModelExchangeFmu<Single<I>> {
        let (ports, known) = (ports::<I>(&fmu, &parameters), EquationsInfo::of(&fmu));
        FmuEquations::new(Single::new(fmu, name, &parameters.settings), known, ports, parameters)
    }
}

impl<O: EquationsOrigin> FmuEquations<O> {
    pub(crate) fn new(
        origin: O,
        known: EquationsInfo,
        mut ports: Ports,
        parameters: Parameters,
    ) -> ModelExchangeFmu<O> {
        let rollback = parameters.rollback != Rollback::None;
        if rollback && known.can_go_back() && !parameters.solver.rewinds_exactly {
            ports.interface.warnings.push(format!(
                "the solver \"{}\" restarts at every rollback and save; runs are reproducible, but a repeated step differs \
                 within the tolerances from the same step without rollback",
                parameters.solver.name
            ));
        }
        let jacobian = columns(&ports).filter(|_| known.jacobian);
        ports.interface.abilities = Abilities {
            rollback: rollback && known.can_go_back(),
            serialize_state: rollback && known.can_be_bytes(),
            input_degree: 3,
            slopes: true,
            jacobian: jacobian.is_some(),
            integrals: true,
            states: true,
            early_return: known.indicators > 0 || known.completed_steps,
            variable_step: true,
            direct_response: true,
            events: !known.eventless,
            wave_boundary: true,
            returns_each_internal_step: true,
            once_per_process: known.once_per_process,
        };
        ports.interface.state_space_access = Some(known.insight(&ports));
        let mut discrete = vec![false; ports.interface.inputs.len()];
        for group in ports.inputs.iter().filter(|group| !smooth(group)) {
            group.ports.iter().for_each(|port| discrete[*port] = true);
        }
        let method = IntegrationMethod {
            states: known.states,
            names: known.names.clone(),
            indicators: known.indicators,
            discrete,
            state_jacobian: known.columns.is_some(),
            solver: parameters.solver,
            micro_steps: None,
            largest_step: parameters.largest_step.unwrap_or(f64::INFINITY),
        };
        let equations = FmuEquations {
            origin,
            parameters,
            instance: None,
            jacobian,
            tangents: known.tangents(&ports),
            known,
            inputs: ports.inputs,
            outputs: ports.outputs,
            rollback: ports.interface.abilities.rollback,
            completed_steps: None,
            locals: LocalSelection::default(),
        };
        HybridSimulator::new(equations, ports.interface, method)
    }
}
