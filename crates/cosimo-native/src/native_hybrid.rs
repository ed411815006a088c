//! Native equations with an integrator: stiff ones, those with events, and those at the ends of lines.

use std::fmt;

use cosimo_core::linear_model::StateSpaceMatrices;
use cosimo_core::registry::Range;
use cosimo_core::simulator::{Memory, Rollback, SerializeState};
use cosimo_core::{
    Abilities, Derivatives, Interface, LineEnd, Options, Setup, Simulator, SimulatorError, Slot, Spec,
    StateSpaceAccess, Time,
};
use cosimo_ode::{Absolute, Settings};

use crate::hybrid::{Equations, EventResult, HybridSimulator, InitialState, IntegrationMethod};
use crate::model::{Hybrid, ModelPoint};
use crate::ode::ABILITIES;
use crate::rebuild::ParameterRebuild;
use crate::tangents::Tangents;

/// The option `solver` of models with an integrator.
pub const SOLVER: Spec = Spec::choice(
    "solver",
    "bdf",
    &["bdf", "dormand-prince", "bogacki-shampine", RK4],
    "the inner solver; `rk4` takes fixed steps, the others control the error",
);
/// The option `relative`.
pub const RELATIVE: Spec =
    Spec::number("relative", 1e-4, Range::Positive, "1", "relative tolerance of the inner solver");
/// The option `absolute`.
pub const ABSOLUTE: Spec = Spec::number(
    "absolute",
    1e-4,
    Range::Positive,
    "1",
    "absolute tolerance of the inner solver, relative to the nominal value of each state",
);
const RK4: &str = "rk4";

/// Range of tolerances that an integrator accepts.
const TINY: f64 = f64::MIN_POSITIVE;
const HUGE: f64 = f64::MAX;

/// Equations with events, and the integrator that solves them.
pub type NativeHybrid = HybridSimulator<NativeEquations>;

/// Equations written in Rust, and their current point.
pub struct NativeEquations {
    model: Box<dyn Hybrid>,
    settings: Settings,
    t: f64,
    x: Vec<f64>,
    u: Vec<f64>,
    /// The discrete states.
    memory: Memory<Box<[f64]>>,
    tangents: Tangents,
    recipe: Option<ParameterRebuild<Box<dyn Hybrid>>>,
}

impl fmt::Debug for NativeEquations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Native({} states)", self.x.len())
    }
}

impl NativeHybrid {
    /// With the solver that the options select.
    pub fn of(model: impl Hybrid + 'static, options: &Options) -> NativeHybrid {
        let fixed = (options.text("solver") == RK4).then(|| options.count("micro_steps"));
        // With fixed steps the integrator only stores time and state.
        let name = if fixed.is_some() { "bogacki-shampine" } else { options.text("solver") };
        let (relative, absolute) = (options.number("relative"), options.number("absolute"));
        NativeHybrid::solved(Box::new(model), name, fixed, relative, absolute)
    }

    /// With an integrator by its name, or steps of fixed size.
    pub fn solved(
        model: Box<dyn Hybrid>,
        solver: &str,
        micro_steps: Option<usize>,
        relative: f64,
        absolute: f64,
    ) -> NativeHybrid {
        let mut interface = model.interface();
        let (x, memory) = model.initial();
        let (states, inputs, indicators) = (x.len(), interface.inputs.len(), model.indicator_count());
        interface.abilities = Abilities {
            early_return: indicators > 0,
            events: indicators > 0 || !memory.is_empty(),
            wave_boundary: true,
            returns_each_internal_step: micro_steps.is_none(),
            ..ABILITIES
        };
        interface.state_space_access =
            Some(StateSpaceAccess { states, derivatives: Derivatives::Declared, anywhere: true });
        let mut tolerances = vec![1.0; states];
        model.nominals(&mut tolerances);
        tolerances.iter_mut().for_each(|nominal| *nominal = (*nominal * absolute).clamp(TINY, HUGE));
        // Names are those of the list above, and tolerances were checked when the options were resolved.
        let solver = cosimo_ode::entry(solver).unwrap_or_else(|refusal| unreachable!("{refusal}"));
        let names = model.states().into_iter().map(|port| port.name).collect();
        let method = IntegrationMethod {
            states,
            names,
            indicators,
            discrete: vec![false; inputs],
            state_jacobian: false,
            solver,
            micro_steps,
            largest_step: f64::INFINITY,
        };
        let equations = NativeEquations {
            settings: Settings { relative, absolute: Absolute::Each(tolerances), ..Settings::default() },
            t: 0.0,
            u: vec![0.0; inputs],
            memory: Memory::new(memory.into()),
            tangents: Tangents::new(states, &interface),
            recipe: None,
            model,
            x,
        };
        let mut integrated = HybridSimulator::new(equations, interface, method);
        let setup = Setup { start: Time::ZERO, stop: None, stop_at_events: false, rewinds: true };
        integrated.initialize(&setup).unwrap_or_else(|refusal| unreachable!("{refusal}"));
        integrated
    }

    /// The equations without the solver.
    pub fn into_model(self) -> Box<dyn Hybrid> {
        self.equations.model
    }

    /// Makes these parameters tunable.
    pub fn make_tunable(&mut self, parameters: Vec<String>, recipe: ParameterRebuild<Box<dyn Hybrid>>) {
        self.interface.tunable = parameters;
        self.equations.recipe = Some(recipe);
    }
}

impl NativeEquations {
    fn point(&self) -> ModelPoint<'_> {
        ModelPoint { t: self.t, x: &self.x, m: &self.memory.now, u: &self.u }
    }
}

impl Equations for NativeEquations {
    fn enter_initialization(&mut self, _setup: &Setup) -> Result<bool, SimulatorError> {
        self.memory = Memory::new(self.model.initial().1.into());
        Ok(false)
    }

    /// The first event is due: it announces the next one.
    fn exit_initialization(&mut self, _at: f64, x: &mut [f64]) -> Result<InitialState, SimulatorError> {
        x.copy_from_slice(&self.model.initial().0);
        let settled = EventResult { next_event: f64::INFINITY, ended: None };
        Ok(InitialState { event: settled, due: true, settings: self.settings.clone() })
    }

    fn set_point(&mut self, t: f64, x: &[f64], u: &[f64]) -> Result<(), SimulatorError> {
        self.t = t;
        self.x.copy_from_slice(x);
        self.u.copy_from_slice(u);
        Ok(())
    }

    fn set_efforts(&mut self, _ends: &[LineEnd<'_>], u: &[f64]) -> Result<(), SimulatorError> {
        self.u.copy_from_slice(u);
        Ok(())
    }

    fn derivatives(&mut self, dx: &mut [f64]) -> Result<(), SimulatorError> {
        self.model.derivatives(&self.point(), dx);
        Ok(())
    }

    fn outputs(&mut self, y: &mut [f64]) -> Result<(), SimulatorError> {
        self.model.outputs(&self.point(), y);
        Ok(())
    }

    fn indicators(&mut self, z: &mut [f64]) -> Result<(), SimulatorError> {
        self.model.indicators(&self.point(), z);
        Ok(())
    }

    fn jacobian(&mut self, _interface: &Interface, into: &mut [f64]) -> Result<(), SimulatorError> {
        let NativeEquations { model, t, x, u, memory, tangents, .. } = self;
        let point = ModelPoint { t: *t, x, m: &memory.now, u };
        tangents.jacobian(into, |along, dx, y| model.tangent(&point, along, dx, y));
        Ok(())
    }

    fn matrices(&mut self, into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError> {
        let NativeEquations { model, t, x, u, memory, tangents, .. } = self;
        let point = ModelPoint { t: *t, x, m: &memory.now, u };
        tangents.matrices(into, |along, dx, y| model.tangent(&point, along, dx, y));
        Ok(())
    }

    fn event(&mut self, at: f64, x: &mut [f64], u: &[f64]) -> Result<EventResult, SimulatorError> {
        let event = self.model.event(at, u, x, &mut self.memory.now);
        if event.terminate {
            return Err(SimulatorError::end("event"));
        }
        let next_event = event.next.unwrap_or(f64::INFINITY);
        if next_event <= at || next_event.is_nan() {
            let message =
                format!("the model announces its next event for t = {next_event} s, not after t = {at} s");
            return Err(SimulatorError::new("event", message));
        }
        Ok(EventResult { next_event, ended: None })
    }

    fn needs_event(&self, due: bool) -> bool {
        due
    }

    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.memory.save(slot)
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.memory.restore(slot)
    }

    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        self.memory.serialize(into)
    }

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        self.memory.deserialize(from)
    }

    fn foreign_state_message(bytes: usize) -> String {
        format!("these {bytes} bytes are not a state of this model with these parameters")
    }

    fn set_parameter(
        &mut self,
        interface: &Interface,
        parameter: usize,
        value: f64,
    ) -> Result<(), SimulatorError> {
        self.model = ParameterRebuild::rebuild(&mut self.recipe, interface, parameter, value)?;
        Ok(())
    }
}
