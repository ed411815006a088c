//! What only some simulators can do, each ability a small trait. [`Simulator`] has a getter for each.

use super::{Inputs, Outputs, Simulator, Slot, StepResult};
use crate::error::SimulatorError;
use crate::linear_model::{OperatingPoint, StateSpaceMatrices};
use crate::time::{Time, Window};

/// Names of the abilities, for [`Simulator::inner`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    Lifecycle,
    Rollback,
    SerializeState,
    Events,
    Bytes,
    TunableParameters,
    Jacobian,
    StepIntegrals,
    States,
    StateSpace,
    Locals,
    MultiRate,
}

/// Phases of FMUs beside stepping.
pub trait Lifecycle {
    /// Ends initialization, if it did not end yet; whether outputs may differ now from what they were in it.
    fn exit_initialization(&mut self) -> Result<bool, SimulatorError>;

    /// Warnings once it is initialised, such as parameters that it did not take: codes of messages, with words.
    fn notices(&mut self) -> Vec<(&'static str, String)>;

    /// The function by which it asks to end the simulation where it stands: a regular end. Asked where `do_step` tells of
    /// an event or stops before the end of the window, and after `set_inputs`.
    fn ending(&mut self) -> Option<&'static str>;
}

/// `restore` brings back everything that `do_step`, `set_inputs` and `get_outputs` can see, the inputs held at the end of
/// the last step included.
pub trait Rollback {
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    /// Tries on the given window whether `restore` brings back what `save` kept, and is afterwards as it was.
    /// Simulators that were tested elsewhere need no trial.
    fn check(&mut self, _window: Window, _inputs: &Inputs<'_>) -> Result<RollbackCheck, SimulatorError> {
        Ok(RollbackCheck::Untried)
    }
}

/// What a trial of rollback showed.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RollbackCheck {
    #[default]
    Untried,
    /// The repeated step gave the same bits.
    Exact,
    /// It gave almost the same, or could not be tried: in words.
    Doubtful(String),
}

/// The state as bytes that outlive the process.
pub trait SerializeState {
    /// Appends the state.
    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError>;

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError>;
}

pub trait Events {
    /// The next event that it knows of, after `set_inputs`.
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError>;
}

/// Texts and bytes, by their places among the ports of the interface that carry such.
pub trait Bytes {
    /// What has arrived at a port. It holds from the next `set_inputs` or `do_step` on.
    fn set_bytes(&mut self, port: usize, content: &[u8]) -> Result<(), SimulatorError>;

    /// What a port shows at the present instant; `into` is overwritten.
    fn get_bytes(&mut self, port: usize, into: &mut Vec<u8>) -> Result<(), SimulatorError>;
}

pub trait TunableParameters {
    /// Changes one of the tunable parameters of the interface at the present instant. Never inside a step that may be
    /// taken back.
    fn set_parameter(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError>;
}

/// The interface Jacobian.
pub trait Jacobian {
    /// Derivatives of outputs by inputs, row by row, at the present state and the inputs last seen.
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
    fn count(&mut self) -> usize;
    fn get(&mut self, x: &mut [f64]);
    fn set(&mut self, x: &[f64]);
}

/// The equations x' = f(x, u) and y = g(x, u) at the present instant. No call changes what others see of the
/// simulator, and none allocates.
pub trait StateSpace {
    /// Where it is, and f and g there with the inputs in `u`. A simulator that cannot be asked about inputs that it has not
    /// seen writes those into `u` that it saw last.
    fn operating_point(&mut self, into: &mut OperatingPoint<'_>) -> Result<(), SimulatorError>;

    /// f and g elsewhere. Asked only where the interface says `anywhere`.
    fn derivatives_and_outputs(
        &mut self,
        x: &[f64],
        u: &[f64],
        f: &mut [f64],
        g: &mut [f64],
    ) -> Result<(), SimulatorError>;

    /// Derivatives of f and g at the present states, with the inputs that `present` left. Asked only where the
    /// interface offers derivatives.
    fn matrices(&mut self, u: &[f64], into: &mut StateSpaceMatrices<'_>) -> Result<(), SimulatorError>;
}

/// Variables inside a simulator, such as local variables of an FMU.
pub trait Locals {
    /// All of them. There may be very many, so that this is asked only where a result may hold some of them.
    fn list(&self) -> Vec<Local>;

    /// Chooses the locals that `read` reads, by their places in the list. Before `initialize`.
    fn choose(&mut self, places: &[usize]);

    /// The chosen locals at the present instant, in the order in which they were chosen.
    fn read(&mut self, into: &mut [f64]) -> Result<(), SimulatorError>;
}

/// A variable inside a simulator that nothing can be connected to.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    pub name: String,
    /// As its maker spells it; empty where that is not said.
    pub unit: String,
}

/// A simulator with a step of its own.
pub trait MultiRate {
    /// The next `do_step` begins a step of its own that is longer than the window: it goes to the end of that at once, and
    /// shows what lies between in this window and those that follow.
    fn begin_long_step(&mut self, lead: LongStep);

    /// Where it met an event in such a step. All simulators are then rewound, and its own step ends there the second time.
    fn event_inside_step(&self) -> Option<Time>;
}

/// A step that is longer than the window it begins with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongStep {
    pub own: Window,
    /// The degree of polynomial that those who hear of it get right, 1 or 2.
    pub degree: u32,
}

/// Abilities that the caller relies on: without one, an error.
macro_rules! needs {
    ($($need:ident = $getter:ident -> $ability:ident, $function:literal, $message:literal;)*) => {
        impl dyn Simulator + '_ {
            $(pub fn $need(&mut self) -> Result<&mut dyn $ability, SimulatorError> {
                self.$getter().ok_or_else(|| SimulatorError::new($function, $message))
            })*
        }
    };
}

needs! {
    need_rollback = rollback -> Rollback, "save", "this simulator cannot save and restore its state";
    need_serialize_state = serialize_state -> SerializeState, "freeze", "this simulator cannot write its state to bytes";
    need_bytes = bytes -> Bytes, "bytes", "this simulator has no ports for texts or bytes";
    need_parameters = parameters -> TunableParameters, "tune", "this simulator has no tunable parameters";
    need_jacobian = jacobian -> Jacobian, "jacobian", "this simulator declares no derivatives";
    need_integrals = integrals -> StepIntegrals, "integrals", "this simulator has no integrals of its outputs";
    need_locals = locals -> Locals, "locals", "this simulator shows no variables beside its ports";
}

/// The getters of an `impl Simulator`, as a list of what it can: `abilities! { self: events, rollback if self.exact }`. Each
/// says that the simulator itself has the ability, always or on a condition.
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
