//! One simulator for every model that is a set of ordinary differential equations.
//!
//! A [`Model`] has equations only; an [`Ode`] adds the inner solver, the held inputs and the save slots.
//! Deliberately without events and without step-size control: a step takes the configured number of micro steps.

use cosimo_core::abilities;
use cosimo_core::linear_model::{OperatingPoint, StateSpaceMatrices};
use cosimo_core::simulator::{
    Jacobian, Memory, Rollback, SerializeState, StateSpace, States, StepIntegrals, TunableParameters,
};
use cosimo_core::{
    Abilities, Derivatives, Inputs, Interface, Outputs, Port, Setup, Simulator, SimulatorError,
    StateSpaceAccess, StepResult, Time, Window,
};

use crate::linear::Linear;
use crate::model::{Quantity, Tangent, Unknown};
use crate::rebuild::ParameterRebuild;
use crate::solver::{Exact, Explicit, Solver};
use crate::tangents::Tangents;

/// Equations: x' = f(x, u), y = g(x, u).
pub trait Model: Send {
    /// Ports, feedthrough, and whether `jacobian` and `slopes` are available. By default the states are the outputs.
    fn interface(&self) -> Interface {
        Interface { outputs: self.states(), abilities: ABILITIES, ..Interface::default() }
    }

    fn initial(&self) -> Vec<f64>;

    /// Names and physical units of the states.
    fn states(&self) -> Vec<Port> {
        let state = |place: usize| {
            let (name, description) = (format!("state_{place}"), format!("state {place} of the equations"));
            Port { unit: None, ..Port::new(&name, "", &description) }
        };
        (1..=self.initial().len()).map(state).collect()
    }

    fn derivatives(&self, x: &[f64], u: &[f64], dx: &mut [f64]);

    /// The same for equations that depend on time. Their outputs do not.
    #[inline]
    fn derivatives_at(&self, _t: f64, x: &[f64], u: &[f64], dx: &mut [f64]) {
        self.derivatives(x, u, dx);
    }

    fn outputs(&self, x: &[f64], _u: &[f64], y: &mut [f64]) {
        y.copy_from_slice(x);
    }

    /// Directional derivative: the change of derivatives and outputs along a direction of states and inputs. Derivatives
    /// of outputs by inputs and by time follow from it; with feedthrough the latter are as good as the slopes of the
    /// inputs, which are 0 with a zero-order hold.
    fn tangent(&self, x: &[f64], u: &[f64], along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]);

    /// Whether one value ever depends on another.
    fn depends(&self, _value: Unknown, _on: Quantity) -> bool {
        true
    }

    /// Nominal values of the states.
    fn nominals(&self, into: &mut [f64]) {
        into.fill(1.0);
    }
}

/// A model with a solver.
#[derive(Debug)]
pub struct Ode<M> {
    model: M,
    interface: Interface,
    stepper: Stepper,
    /// States, then the time, then the last inputs, then their slopes.
    memory: Memory<Box<[f64]>>,
    states: usize,
    slope: Vec<f64>,
    tangents: Tangents,
    recipe: Option<ParameterRebuild<Ode<M>>>,
}

#[derive(Debug)]
enum Stepper {
    Explicit(Explicit),
    Exact(Box<Exact>),
}

impl<M: Model> Ode<M> {
    pub fn new(model: M, solver: Solver) -> Ode<M> {
        let states = model.initial().len();
        Ode::with(model, Stepper::Explicit(Explicit::new(solver, states)))
    }

    fn with(model: M, stepper: Stepper) -> Ode<M> {
        let mut interface = model.interface();
        interface.abilities.integrals = matches!(stepper, Stepper::Exact(_));
        let (now, states) = (start(&model, &interface, Time::ZERO), model.initial().len());
        interface.state_space_access =
            Some(StateSpaceAccess { states, derivatives: Derivatives::Declared, anywhere: true });
        let slope = vec![0.0; states];
        let tangents = Tangents::new(states, &interface);
        let memory = Memory::new(now);
        Ode { model, interface, stepper, memory, states, slope, tangents, recipe: None }
    }

    /// The equations without the solver.
    pub fn into_model(self) -> M {
        self.model
    }

    /// Makes these parameters tunable.
    pub fn make_tunable(&mut self, parameters: Vec<String>, recipe: ParameterRebuild<Ode<M>>) {
        self.interface.tunable = parameters;
        self.recipe = Some(recipe);
    }

    #[inline]
    fn step(&mut self, window: Window, inputs: &Inputs<'_>, integrals: &mut [f64]) -> StepResult {
        let (x, t, u, du) = split(&mut self.memory.now, self.states);
        *t = window.to.seconds();
        let evaluations = match &mut self.stepper {
            Stepper::Explicit(explicit) => explicit.step(&self.model, x, u, inputs, &window),
            Stepper::Exact(exact) => exact.step(x, inputs, window.size, integrals),
        };
        hold(inputs, window.size, u, du);
        StepResult::end_of(window, evaluations)
    }
}

impl Ode<Linear> {
    /// Solves exactly for cubic inputs, and provides the integrals of its outputs.
    pub fn exact(model: Linear) -> Ode<Linear> {
        let exact = Exact::new(&model);
        Ode::with(model, Stepper::Exact(Box::new(exact)))
    }
}

/// The initial states, the time, the start values of the inputs, and no slope.
fn start<M: Model>(model: &M, interface: &Interface, at: Time) -> Box<[f64]> {
    let mut start = model.initial();
    start.push(at.seconds());
    start.extend(interface.inputs.iter().map(|port| port.start.unwrap_or(0.0)));
    start.resize(start.len() + interface.inputs.len(), 0.0);
    start.into()
}

/// States, the time, inputs, slopes of inputs.
fn split(now: &mut [f64], states: usize) -> (&mut [f64], &mut f64, &mut [f64], &mut [f64]) {
    let (x, rest) = now.split_at_mut(states);
    let (t, rest) = rest.split_at_mut(1);
    let (u, du) = rest.split_at_mut(rest.len() / 2);
    (x, &mut t[0], u, du)
}

/// Values and slopes of the inputs at `s`, kept for the outputs.
fn hold(inputs: &Inputs<'_>, s: f64, u: &mut [f64], du: &mut [f64]) {
    for (port, segment) in inputs.segments.iter().enumerate() {
        u[port] = segment.at(s);
        du[port] = segment.slope(s);
    }
}

impl<M: Model + 'static> Simulator for Ode<M> {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.memory = Memory::new(start(&self.model, &self.interface, setup.start));
        Ok(())
    }

    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        let (_, t, u, du) = split(&mut self.memory.now, self.states);
        *t = at.seconds();
        hold(inputs, 0.0, u, du);
        Ok(())
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        Ok(self.step(window, inputs, &mut []))
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let (x, t, u, du) = split(&mut self.memory.now, self.states);
        self.model.outputs(x, u, out.values);
        if self.interface.abilities.slopes && !out.slopes.is_empty() {
            self.model.derivatives_at(*t, x, u, &mut self.slope);
            let along = Tangent { x: &self.slope, u: du };
            self.model.tangent(x, u, &along, self.tangents.derivatives(), out.slopes);
        }
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.memory)
    }

    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        Some(&mut self.memory)
    }

    abilities! {
        self:
        parameters, states, state_space,
        jacobian if self.interface.abilities.jacobian,
        integrals if self.interface.abilities.integrals,
    }
}

impl<M: Model + 'static> TunableParameters for Ode<M> {
    /// Equations and solver are rebuilt; states and inputs stay.
    fn set_parameter(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError> {
        let rebuilt = ParameterRebuild::rebuild(&mut self.recipe, &self.interface, parameter, value)?;
        (self.model, self.stepper) = (rebuilt.model, rebuilt.stepper);
        Ok(())
    }
}

impl<M: Model + 'static> Jacobian for Ode<M> {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        if self.interface.feedthrough.is_empty() {
            into.fill(0.0);
            return Ok(());
        }
        let (x, _, u, _) = split(&mut self.memory.now, self.states);
        self.tangents.jacobian(into, |along, dx, y| self.model.tangent(x, u, along, dx, y));
        Ok(())
    }
}

impl<M: Model + 'static> StepIntegrals for Ode<M> {
    fn do_step_with_integrals(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError> {
        Ok(self.step(window, inputs, integrals))
    }
}

impl<M: Model + 'static> StateSpace for Ode<M> {
    fn operating_point(&mut self, into: &mut OperatingPoint<'_>) -> Result<(), SimulatorError> {
        into.x.copy_from_slice(&self.memory.now[..self.states]);
        self.derivatives_and_outputs(into.x, into.u, into.f, into.g)
    }

    fn derivatives_and_outputs(
        &mut self,
        x: &[f64],
        u: &[f64],
        f: &mut [f64],
        g: &mut [f64],
    ) -> Result<(), SimulatorError> {
        self.model.derivatives(x, u, f);
        self.model.outputs(x, u, g);
        Ok(())
    }

    fn matrices(&mut self, u: &[f64], into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError> {
        let x = &self.memory.now[..self.states];
        self.tangents.matrices(into, |along, dx, y| self.model.tangent(x, u, along, dx, y));
        Ok(())
    }
}

impl<M: Model + 'static> States for Ode<M> {
    fn count(&mut self) -> usize {
        self.states
    }

    fn get(&mut self, x: &mut [f64]) {
        x.copy_from_slice(&self.memory.now[..self.states]);
    }

    fn set(&mut self, x: &[f64]) {
        self.memory.now[..self.states].copy_from_slice(x);
    }
}

/// Abilities of an `Ode` with any model. A Jacobian of zeros, too, saves a method from probing.
pub const ABILITIES: Abilities = Abilities { jacobian: true, ..Abilities::NATIVE };
