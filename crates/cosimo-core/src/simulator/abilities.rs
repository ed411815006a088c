//! Optional abilities of simulators, each a small trait. [`Simulator`] has a getter for each.

use super::{Inputs, Outputs, Simulator, Slot, StepResult};
use crate::error::SimulatorError;
use crate::linear_model::{OperatingPoint, StateSpaceMatrices};
use crate::time::{Time, Window};

/// Names of the abilities, for [`Simulator::inner`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// [`Simulator::lifecycle`].
    Lifecycle,
    /// [`Simulator::rollback`].
    Rollback,
    /// [`Simulator::serialize_state`].
    SerializeState,
    /// [`Simulator::events`].
    Events,
    /// [`Simulator::bytes`].
    Bytes,
    /// [`Simulator::parameters`].
    TunableParameters,
    /// [`Simulator::jacobian`].
    Jacobian,
    /// [`Simulator::integrals`].
    StepIntegrals,
    /// [`Simulator::states`].
    States,
    /// [`Simulator::state_space`].
    StateSpace,
    /// [`Simulator::locals`].
    Locals,
    /// [`Simulator::multi_rate`].
    MultiRate,
}

/// Phases of FMUs beside stepping.
pub trait Lifecycle {
    /// Leaves initialization mode, if not left yet; whether outputs may have changed thereby.
    fn exit_initialization(&mut self) -> Result<bool, SimulatorError>;

    /// Warnings after initialization, such as parameters that were not accepted: code and message.
    fn notices(&mut self) -> Vec<(&'static str, String)>;

    /// The function by which it requested the end of the simulation at the current instant, if it did. Called after
    /// `set_inputs`, and where `do_step` reports an event or stops before the end of the window.
    fn ending(&mut self) -> Option<&'static str>;
}

/// `restore` brings back everything that `do_step`, `set_inputs` and `get_outputs` depend on, the inputs held at the end of
/// the last step included.
pub trait Rollback {
    /// Copies the state into a slot, over what was there.
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    /// Goes back to the state in a slot, which stays filled.
    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    /// Tests on the given window whether `restore` brings back what `save` stored; the state afterwards is that before.
    /// Simulators that are tested elsewhere need not implement it.
    fn check(&mut self, _window: Window, _inputs: &Inputs<'_>) -> Result<RollbackCheck, SimulatorError> {
        Ok(RollbackCheck::Untried)
    }
}

/// Result of a rollback test.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RollbackCheck {
    /// Not tested.
    #[default]
    Untried,
    /// The repeated step gave the same bits.
    Exact,
    /// The repeated step differed slightly, or the test was impossible: the reason.
    Doubtful(String),
}

/// The state as bytes that outlive the process.
pub trait SerializeState {
    /// Appends the state.
    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError>;

    /// Replaces the state by one that `serialize` wrote; an error leaves it unchanged.
    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError>;
}

/// State and time events.
pub trait Events {
    /// The next time event, after `set_inputs`.
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError>;
}

/// Strings and binaries, by index into `byte_inputs` and `byte_outputs` of the interface.
pub trait Bytes {
    /// Sets an input. It takes effect with the next `set_inputs` or `do_step`.
    fn set_bytes(&mut self, port: usize, content: &[u8]) -> Result<(), SimulatorError>;

    /// Reads an output at the current instant; `into` is overwritten.
    fn get_bytes(&mut self, port: usize, into: &mut Vec<u8>) -> Result<(), SimulatorError>;
}

/// Parameters with FMI's variability `tunable`.
pub trait TunableParameters {
    /// Sets one of the tunable parameters of the interface at the current instant. Never inside a step that may be rolled
    /// back.
    fn set_parameter(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError>;
}

/// The interface Jacobian.
pub trait Jacobian {
    /// Derivatives of outputs by inputs, row by row, at the current state and the inputs last set.
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError>;
}

/// Steps that also give the integral of each output over the window.
pub trait StepIntegrals: Simulator {
    /// As `do_step`.
    fn do_step_with_integrals(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError>;

    /// As `do_step_and_get_outputs`.
    fn do_step_and_get_all(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
        out: &mut Outputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        let reached = self.do_step_with_integrals(window, inputs, integrals)?;
        if reached.to >= window.to {
            self.get_outputs(out)?;
        }
        Ok(reached)
    }
}

/// Continuous states, for probing.
pub trait States {
    /// How many there are; constant.
    fn count(&mut self) -> usize;
    /// Reads all of them.
    fn get(&mut self, x: &mut [f64]);
    /// Writes all of them.
    fn set(&mut self, x: &[f64]);
}

/// The equations x' = f(x, u) and y = g(x, u) at the current instant. No call changes the simulator as seen from outside,
/// and none allocates.
pub trait StateSpace {
    /// The current states, and f and g there with the inputs in `u`. A simulator that cannot evaluate other inputs than
    /// those last set writes these into `u`.
    fn operating_point(&mut self, into: &mut OperatingPoint<'_>) -> Result<(), SimulatorError>;

    /// f and g at other states and inputs. Only with [`StateSpaceAccess::anywhere`](crate::StateSpaceAccess::anywhere).
    fn derivatives_and_outputs(
        &mut self,
        x: &[f64],
        u: &[f64],
        f: &mut [f64],
        g: &mut [f64],
    ) -> Result<(), SimulatorError>;

    /// Derivatives of f and g at the current states, with the inputs that `operating_point` left in `u`. Only where the
    /// interface offers derivatives.
    fn matrices(&mut self, u: &[f64], into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError>;
}

/// Variables inside a simulator, such as local variables of an FMU.
pub trait Locals {
    /// All of them. There may be very many, so that this is called only where some may be recorded.
    fn list(&self) -> Vec<Local>;

    /// Chooses the locals that `read` reads, by index into the list. Before `initialize`.
    fn choose(&mut self, places: &[usize]);

    /// The chosen locals at the current instant, in the order of `choose`.
    fn read(&mut self, into: &mut [f64]) -> Result<(), SimulatorError>;
}

/// A variable inside a simulator that nothing can be connected to.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// As the simulator calls it.
    pub name: String,
    /// Physical unit as the model spells it; empty where it is not known.
    pub unit: String,
}

/// A simulator with a step of its own.
pub trait MultiRate {
    /// The next `do_step` begins a step of its own that is longer than the window: the simulator computes all of it at
    /// once, and interpolates its outputs in this window and those that follow.
    fn begin_long_step(&mut self, long_step: LongStep);

    /// The instant of an event inside such a step. All simulators are then rolled back, and the repeated step ends there.
    fn event_inside_step(&self) -> Option<Time>;
}

/// A step that is longer than the window it begins with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongStep {
    /// From the start of the window on.
    pub own: Window,
    /// The degree of interpolation of its outputs, 1 or 2.
    pub degree: u32,
}

/// Getters for abilities that the caller relies on: without one, an error.
macro_rules! needs {
    ($($need:ident = $getter:ident -> $ability:ident, $function:literal, $message:literal;)*) => {
        impl dyn Simulator + '_ {
            $(/// The ability, or an error that names what is missing.
            pub fn $need(&mut self) -> Result<&mut dyn $ability, SimulatorError> {
                self.$getter().ok_or_else(|| SimulatorError::new($function, $message))
            })*
        }
    };
}

needs! {
    need_rollback = rollback -> Rollback, "save", "this simulator cannot save and restore its state";
    need_serialize_state = serialize_state -> SerializeState, "serialize_state", "this simulator cannot serialize its state";
    need_bytes = bytes -> Bytes, "bytes", "this simulator has no ports for strings or binaries";
    need_parameters = parameters -> TunableParameters, "set_parameter", "this simulator has no tunable parameters";
    need_jacobian = jacobian -> Jacobian, "jacobian", "this simulator declares no derivatives";
    need_integrals = integrals -> StepIntegrals, "integrals", "this simulator has no integrals of its outputs";
    need_locals = locals -> Locals, "locals", "this simulator exposes no local variables";
}

/// The getters of an `impl Simulator` as a list: `abilities! { self: events, rollback if self.exact }`. The simulator
/// itself implements each of these abilities, always or on a condition.
#[macro_export]
macro_rules! abilities {
    ($this:ident: $($getter:ident $(if $able:expr)?),+ $(,)?) => {
        $($crate::abilities!(@getter $this $getter $(if $able)?);)+
    };
    (@getter $this:ident $getter:ident) => {
        fn $getter(&mut $this) -> Option<&mut $crate::abilities!(@trait $getter)> {
            Some($this)
        }
    };
    (@getter $this:ident $getter:ident if $able:expr) => {
        fn $getter(&mut $this) -> Option<&mut $crate::abilities!(@trait $getter)> {
            $able.then_some($this as _)
        }
    };
    (@trait lifecycle) => { dyn $crate::simulator::Lifecycle };
    (@trait rollback) => { dyn $crate::simulator::Rollback };
    (@trait serialize_state) => { dyn $crate::simulator::SerializeState };
    (@trait events) => { dyn $crate::simulator::Events };
    (@trait bytes) => { dyn $crate::simulator::Bytes };
    (@trait parameters) => { dyn $crate::simulator::TunableParameters };
    (@trait jacobian) => { dyn $crate::simulator::Jacobian };
    (@trait integrals) => { dyn $crate::simulator::StepIntegrals };
    (@trait states) => { dyn $crate::simulator::States };
    (@trait state_space) => { dyn $crate::simulator::StateSpace };
    (@trait locals) => { dyn $crate::simulator::Locals };
    (@trait multi_rate) => { dyn $crate::simulator::MultiRate };
}
