//! The interface of a simulator: five methods that all have, and optional abilities.

mod abilities;
mod memory;

pub use abilities::{
    Ability, Bytes, Events, Jacobian, Lifecycle, Local, Locals, LongStep, MultiRate, Rollback, RollbackCheck,
    SerializeState, StateSpace, States, StepIntegrals, TunableParameters,
};
pub use memory::Memory;

use crate::error::SimulatorError;
use crate::interface::Interface;
use crate::line::LineEnd;
use crate::segment::Segment;
use crate::time::{Time, Window};

/// Something that steps through time: an FMU, a model, a table, or a decorator around one of them.
///
/// Legal order of calls: `initialize` once; then `set_inputs`, `get_outputs`, `do_step` and the methods of abilities in any
/// order, always from the thread that the simulator is pinned to. [`Rollback::check`] at most once, before the first
/// `do_step`, and after it [`Lifecycle::exit_initialization`], if at all.
///
/// What only some simulators can do is an ability, a small trait behind a getter. Whether a getter returns `Some` is fixed
/// once the plan has been made; it has no side effect and may be called before `initialize`.
///
/// ```
/// use cosimo_core::simulator::{Memory, Rollback, SerializeState};
/// use cosimo_core::{
///     Abilities, Inputs, Interface, Outputs, Port, Setup, Simulator, SimulatorError, StepResult, Time, Window,
/// };
///
/// /// y' = u, without error for any segment.
/// struct Integrator {
///     interface: Interface,
///     y: Memory<[f64; 1]>,
/// }
///
/// impl Simulator for Integrator {
///     fn interface(&self) -> &Interface {
///         &self.interface
///     }
///     fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
///         self.y.now = [0.0];
///         Ok(())
///     }
///     fn set_inputs(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
///         Ok(()) // no direct feed-through from u to y
///     }
///     fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
///         self.y.now[0] += inputs.segments[0].integral(window.size);
///         Ok(StepResult::end_of(window, 1))
///     }
///     fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
///         out.values.copy_from_slice(&self.y.now);
///         Ok(())
///     }
///     // The whole state is in one memory, which can be saved, restored and serialized.
///     fn rollback(&mut self) -> Option<&mut dyn Rollback> {
///         Some(&mut self.y)
///     }
///     fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
///         Some(&mut self.y)
///     }
/// }
///
/// let interface = Interface {
///     inputs: vec![Port::new("u", "1", "rate")],
///     outputs: vec![Port::new("y", "s", "integral of the rate")],
///     abilities: Abilities { states: false, ..Abilities::NATIVE },
///     ..Interface::default()
/// };
/// let mut integrator = Integrator { interface, y: Memory::new([0.0]) };
/// # let u = [cosimo_core::Segment::constant(2.0)];
/// # let window = Window { from: Time::ZERO, to: Time::new(0.5).unwrap(), size: 0.5 };
/// # integrator.do_step(window, &Inputs::of(&u)).unwrap();
/// # let mut values = [0.0];
/// # integrator.get_outputs(&mut Outputs { values: &mut values, slopes: &mut [] }).unwrap();
/// # assert_eq!(values, [1.0]);
/// ```
pub trait Simulator: Send {
    /// Ports and capabilities.
    fn interface(&self) -> &Interface;

    /// Initialises at the start of the run.
    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError>;

    /// Sets inputs at a communication point without a step, and handles an event that is due there.
    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError>;

    /// Steps from the start of the window to its end, or to an event before it.
    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError>;

    /// The outputs at the current communication point, with the inputs last set.
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError>;

    /// `do_step`, and `get_outputs` if the window's end was reached: the usual step, in one call.
    #[inline]
    fn do_step_and_get_outputs(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        out: &mut Outputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        let reached = self.do_step(window, inputs)?;
        if reached.to >= window.to {
            self.get_outputs(out)?;
        }
        Ok(reached)
    }

    /// Outputs that drive only discrete inputs and parameters, so that interpolation between recorded values is wrong.
    /// Called before `initialize`, at most once; the interface shows the result.
    fn hold_outputs(&mut self, _outputs: &[usize]) {}

    /// A decorator returns the inner simulator for every ability that it forwards unchanged, and `None` for those that it
    /// implements itself or does not support.
    fn inner(&mut self, _ability: Ability) -> Option<&mut dyn Simulator> {
        None
    }

    /// Phases beside stepping: initialization that ends late, warnings, a request to end the simulation.
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        self.inner(Ability::Lifecycle)?.lifecycle()
    }

    /// Saving and restoring its state.
    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        self.inner(Ability::Rollback)?.rollback()
    }

    /// Serialization of its state.
    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        self.inner(Ability::SerializeState)?.serialize_state()
    }

    /// Events, which `set_inputs` handles where they are due.
    fn events(&mut self) -> Option<&mut dyn Events> {
        self.inner(Ability::Events)?.events()
    }

    /// Ports for strings and binaries.
    fn bytes(&mut self) -> Option<&mut dyn Bytes> {
        self.inner(Ability::Bytes)?.bytes()
    }

    /// Parameters that may change while it runs.
    fn parameters(&mut self) -> Option<&mut dyn TunableParameters> {
        self.inner(Ability::TunableParameters)?.parameters()
    }

    /// Derivatives of outputs by inputs.
    fn jacobian(&mut self) -> Option<&mut dyn Jacobian> {
        self.inner(Ability::Jacobian)?.jacobian()
    }

    /// Exact integrals of its outputs over a step.
    fn integrals(&mut self) -> Option<&mut dyn StepIntegrals> {
        self.inner(Ability::StepIntegrals)?.integrals()
    }

    /// Continuous states that can be read and written.
    fn states(&mut self) -> Option<&mut dyn States> {
        self.inner(Ability::States)?.states()
    }

    /// Its equations, as far as [`Interface::state_space_access`] promises.
    fn state_space(&mut self) -> Option<&mut dyn StateSpace> {
        self.inner(Ability::StateSpace)?.state_space()
    }

    /// Variables beside its ports that can be recorded.
    fn locals(&mut self) -> Option<&mut dyn Locals> {
        self.inner(Ability::Locals)?.locals()
    }

    /// Steps of its own that are longer than the windows.
    fn multi_rate(&mut self) -> Option<&mut dyn MultiRate> {
        self.inner(Ability::MultiRate)?.multi_rate()
    }
}

/// What is fixed for a whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    /// Start of the run.
    pub start: Time,
    /// `None` where the run is open-ended or may pass its end.
    pub stop: Option<Time>,
    /// If a simulator stops at an event inside a window, all others are stepped to that instant too.
    pub stop_at_events: bool,
    /// Steps may be rejected, repeated or tried, so that `restore` goes back in time. Where this is false, `restore` is
    /// called only at the instant of the save.
    pub rewinds: bool,
}

/// Slots for saved states: the second half step of Richardson must not overwrite the start of the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The start of the attempt, to reject it.
    Attempt,
    /// The start of a window inside the attempt, to iterate over it.
    Window,
    /// For finite differences, inside an attempt.
    Jacobian,
    /// For analysis, around an attempt.
    Probe,
}

impl Slot {
    /// Number of slots.
    pub const COUNT: usize = 4;

    /// Index into arrays with one entry per slot.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Inputs of a simulator over a window: one segment each.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// Per input.
    pub segments: &'a [Segment],
    /// Ends of lines: these inputs are efforts that follow from the simulator's own flow at each instant. Empty unless
    /// [`Abilities::wave_boundary`](crate::Abilities::wave_boundary).
    pub ends: &'a [LineEnd<'a>],
    /// Return after one step of its own solver, however far from the end of the window. Only with `wave_boundary`.
    pub return_each_internal_step: bool,
}

impl<'a> Inputs<'a> {
    /// Segments alone, without lines.
    pub fn of(segments: &'a [Segment]) -> Inputs<'a> {
        Inputs { segments, ends: &[], return_each_internal_step: false }
    }

    /// The input `port`, `s` seconds after the window's start.
    #[inline]
    pub fn at(&self, port: usize, s: f64) -> f64 {
        self.segments[port].at(s)
    }
}

/// Where outputs go. `slopes` is empty unless the simulator offers slopes.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// Per output.
    pub values: &'a mut [f64],
    /// Time derivatives, per output.
    pub slopes: &'a mut [f64],
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepResult {
    /// The end of the window, or an event before it.
    pub to: Time,
    /// The next time event: no window may go past it.
    pub next_event: Option<Time>,
    /// An event is due at `to`: outputs are those before it, and `set_inputs` handles it.
    pub event: bool,
    /// Evaluations of the right-hand side, also of rejected steps.
    pub evaluations: u64,
}

impl StepResult {
    /// The window was completed without an event.
    pub fn end_of(window: Window, evaluations: u64) -> StepResult {
        StepResult { to: window.to, next_event: None, event: false, evaluations }
    }
}
