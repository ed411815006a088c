//! The interface between the integration loop and equations with events.

use cosimo_core::linear_model::StateSpaceMatrices;
use cosimo_core::simulator::Locals;
use cosimo_core::{Inputs, Interface, LineEnd, RollbackCheck, Setup, SimulatorError, Slot, Window};
use cosimo_ode::{IntegratorEntry, Settings};

use super::HybridSimulator;

/// Equations with events and a current point: time, states and inputs. All values are those at the current point.
pub trait Equations: Send + Sized {
    /// Prepares for a run. Returns whether they are now in initialisation mode, which `exit_initialization` ends; without
    /// such a mode `exit_initialization` follows immediately.
    fn enter_initialization(&mut self, setup: &Setup) -> Result<bool, SimulatorError>;

    /// Sets inputs in initialisation mode.
    fn set_initial_inputs(&mut self, _u: &[f64]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Ends initialisation and writes the states into `x`.
    fn exit_initialization(&mut self, at: f64, x: &mut [f64]) -> Result<InitialState, SimulatorError>;

    /// Sets the current point. Discrete inputs stay unchanged.
    fn set_point(&mut self, t: f64, x: &[f64], u: &[f64]) -> Result<(), SimulatorError>;

    /// Writes at least the flows of these ends into the outputs.
    fn flows(&mut self, _ends: &[LineEnd<'_>], y: &mut [f64]) -> Result<(), SimulatorError> {
        self.outputs(y)
    }

    /// Sets the efforts of these ends at the same point.
    fn set_efforts(&mut self, ends: &[LineEnd<'_>], u: &[f64]) -> Result<(), SimulatorError>;

    fn derivatives(&mut self, dx: &mut [f64]) -> Result<(), SimulatorError>;

    fn outputs(&mut self, y: &mut [f64]) -> Result<(), SimulatorError>;

    /// Values whose change of sign is an event.
    fn indicators(&mut self, z: &mut [f64]) -> Result<(), SimulatorError>;

    /// Derivatives of derivatives by states, row by row. Called only if [`IntegrationMethod::state_jacobian`].
    fn state_jacobian(&mut self, _into: &mut [f64]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Derivatives of outputs by inputs, row by row.
    fn jacobian(&mut self, interface: &Interface, into: &mut [f64]) -> Result<(), SimulatorError>;

    /// Derivatives of derivatives and outputs by states and inputs.
    fn matrices(&mut self, into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError>;

    /// Event iteration at an instant, until nothing changes any more. `x` are the states before and after it.
    fn event(&mut self, at: f64, x: &mut [f64], u: &[f64]) -> Result<EventResult, SimulatorError>;

    /// Whether event handling is needed where inputs jump or, if `due`, where an event is due; otherwise the integrator restarts.
    fn needs_event(&self, due: bool) -> bool;

    /// Called after a step of the integrator; may request an event or the end.
    fn completed_step(&mut self) -> Result<CompletedStep, SimulatorError> {
        Ok(CompletedStep::default())
    }

    /// Refuses ends of lines where flows depend directly on efforts.
    fn check_ends(&self, _interface: &Interface, _ends: &[LineEnd<'_>]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// Saves the internal state beside states and inputs; so do the next three.
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError>;

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError>;

    /// The message for bytes that are not a state of these equations.
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

/// The result of initialisation.
#[derive(Debug)]
pub struct InitialState {
    pub event: EventResult,
    /// The first event is yet to be handled, with the first inputs.
    pub due: bool,
    /// Tolerances for the integrator.
    pub settings: Settings,
}

/// The result of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventResult {
    /// Infinite where none is announced.
    pub next_event: f64,
    /// The function that requested the end of the simulation.
    pub ended: Option<&'static str>,
}

/// Requests of the equations after a step of the integrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompletedStep {
    pub event: bool,
    /// The function that requested the end of the simulation.
    pub ended: Option<&'static str>,
}

/// How equations are integrated.
#[derive(Debug)]
pub struct IntegrationMethod {
    pub states: usize,
    /// Names of the scalar states.
    pub names: Vec<String>,
    pub indicators: usize,
    /// Per input, whether it is discrete: a change of it is an event.
    pub discrete: Vec<bool>,
    /// `state_jacobian` is available.
    pub state_jacobian: bool,
    pub solver: &'static IntegratorEntry,
    /// Steps of fixed size per window instead. The integrator then only stores time and state.
    pub micro_steps: Option<usize>,
    pub largest_step: f64,
}
