//! What the loop asks of equations with events, and what it is told of them.

use cosimo_core::linear_model::StateSpaceMatrices;
use cosimo_core::simulator::Locals;
use cosimo_core::{Inputs, Interface, LineEnd, RollbackCheck, Setup, SimulatorError, Slot, Window};
use cosimo_ode::{IntegratorEntry, Settings};

use super::HybridSimulator;

/// Equations with events that stand somewhere: at a time, with states and inputs. Whatever is asked of them is answered
/// for where they stand.
pub trait Equations: Send + Sized {
    /// Makes them ready for a run. Whether they are now in initialisation mode, which `begin` ends; without such a mode
    /// `begin` follows at once.
    fn enter_initialization(&mut self, setup: &Setup) -> Result<bool, SimulatorError>;

    /// Takes inputs in initialisation mode.
    fn set_initial_inputs(&mut self, _u: &[f64]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Ends initialisation and writes the states into `x`.
    fn exit_initialization(&mut self, at: f64, x: &mut [f64]) -> Result<InitialState, SimulatorError>;

    /// Goes to a point. Inputs that change at events only stay as they are.
    fn set_point(&mut self, t: f64, x: &[f64], u: &[f64]) -> Result<(), SimulatorError>;

    /// Of the outputs at least the flows of these ends.
    fn flows(&mut self, _ends: &[LineEnd<'_>], y: &mut [f64]) -> Result<(), SimulatorError> {
        self.outputs(y)
    }

    /// Takes the efforts of these ends, without going anywhere.
    fn set_efforts(&mut self, ends: &[LineEnd<'_>], u: &[f64]) -> Result<(), SimulatorError>;

    fn derivatives(&mut self, dx: &mut [f64]) -> Result<(), SimulatorError>;

    fn outputs(&mut self, y: &mut [f64]) -> Result<(), SimulatorError>;

    /// Values whose change of sign is an event.
    fn indicators(&mut self, z: &mut [f64]) -> Result<(), SimulatorError>;

    /// Derivatives of derivatives by states, row by row. Asked only where the method says so.
    fn state_jacobian(&mut self, _into: &mut [f64]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Derivatives of outputs by inputs, row by row.
    fn jacobian(&mut self, interface: &Interface, into: &mut [f64]) -> Result<(), SimulatorError>;

    /// Derivatives of everything by everything.
    fn matrices(&mut self, into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError>;

    /// An event at an instant, with inputs, until nothing changes any more. `x` are the states before and after it.
    fn event(&mut self, at: f64, x: &mut [f64], u: &[f64]) -> Result<EventResult, SimulatorError>;

    /// Whether an event is needed where inputs jump or, if `due`, where one is due; otherwise the integrator starts anew.
    fn needs_event(&self, due: bool) -> bool;

    /// Hears of a step of the integrator, and asks for what it wants then.
    fn completed_step(&mut self) -> Result<CompletedStep, SimulatorError> {
        Ok(CompletedStep::default())
    }

    /// Refuses ends of lines where flows depend directly on efforts.
    fn check_ends(&self, _interface: &Interface, _ends: &[LineEnd<'_>]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Keeps what is in them beside states and inputs; so do the next three.
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError>;

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError>;

    /// What to say of bytes that are no state of theirs.
    fn foreign_state_message(bytes: usize) -> String;

    /// Changes a tunable parameter; an event follows.
    fn set_parameter(
        &mut self,
        _interface: &Interface,
        _parameter: usize,
        _value: f64,
    ) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("set_parameter", "this simulator has no tunable parameters"))
    }

    /// The rest is as in [`Simulator`].
    fn notices(&mut self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn locals(&mut self) -> Option<&mut dyn Locals> {
        None
    }

    fn check_rollback(
        _simulator: &mut HybridSimulator<Self>,
        _window: Window,
        _inputs: &Inputs<'_>,
    ) -> Result<RollbackCheck, SimulatorError> {
        Ok(RollbackCheck::Untried)
    }
}

/// How equations leave initialisation.
#[derive(Debug)]
pub struct InitialState {
    pub event: EventResult,
    /// The first event is yet to be handled, with the first inputs.
    pub due: bool,
    /// Tolerances for the integrator.
    pub settings: Settings,
}

/// What an event came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventResult {
    /// Infinite where none is announced.
    pub next_event: f64,
    /// The function that asks to end the simulation.
    pub ended: Option<&'static str>,
}

/// What equations ask for after a step of the integrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompletedStep {
    pub event: bool,
    /// The function that asks to end the simulation.
    pub ended: Option<&'static str>,
}

/// How equations are integrated.
#[derive(Debug)]
pub struct IntegrationMethod {
    pub states: usize,
    /// Names of the states, as far as each is one number.
    pub names: Vec<String>,
    pub indicators: usize,
    /// Of each input, whether it changes at events only; a change of it is one.
    pub discrete: Vec<bool>,
    /// They tell their `state_jacobian`.
    pub state_jacobian: bool,
    pub solver: &'static IntegratorEntry,
    /// Steps of fixed size per window instead. The integrator then keeps the place only.
    pub micro_steps: Option<usize>,
    pub largest_step: f64,
}
