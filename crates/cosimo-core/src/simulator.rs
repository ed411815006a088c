//! The contract of a simulator: five methods that every one has, and abilities that some have.

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

/// Something that steps through time: an FMU, a model, a table, or one of them with something around it.
///
/// Legal order of calls: `initialize` once; then `set_inputs`, `get_outputs`, `do_step` and the methods of abilities in any
/// order, always from the thread that the simulator is pinned to. [`Rollback::check`] at most once, before the first
/// `do_step`, and after it [`Lifecycle::exit_initialization`], if at all.
///
/// What only some simulators can do is an ability, a small trait behind a getter. A getter says `Some` or `None` for good
/// once the plan has been made, has no side effect, and answers before `initialize`, too.
///
/// ```
/// use cosimo_core::simulator::{Memory, Rollback, SerializeState};
/// use cosimo_core::{
///     Abilities, Inputs, Interface, Outputs, Port, Reached, Setup, Simulator, SimulatorError, Time, Window,
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
///         Ok(()) // y does not answer u at once
///     }
///     fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<Reached, SimulatorError> {
///         self.y.now[0] += inputs.segments[0].integral(window.size);
///         Ok(Reached::end_of(window, 1))
///     }
///     fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
///         out.values.copy_from_slice(&self.y.now);
///         Ok(())
///     }
///     // All that changes lies in one memory, which can be saved, restored and written to a file.
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
    /// Ports, and facts about what it can do.
    fn interface(&self) -> &Interface;

    /// Initialises at the start of the run.
    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError>;

    /// Takes new inputs at an instant without letting time pass, and handles an event that is due there.
    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError>;

    /// Moves from the start of the window to its end, or to an event before it.
    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError>;

    /// The outputs at the present instant, with the inputs last seen.
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError>;

    /// `do_step`, and `get_outputs` if that reached the window's end: what almost every step wants, in one call.
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

    /// Outputs that drive nothing but discrete inputs and parameters, so that values between two recorded ones mean
    /// nothing. Called before `initialize`, at most once; the interface shows what became of it.
    fn hold_outputs(&mut self, _outputs: &[usize]) {}

    /// A decorator names the simulator inside for every ability that it leaves as it is. An ability that it has to know of
    /// it implements itself, and one that it destroys it does not name.
    fn inner(&mut self, _asked: Ability) -> Option<&mut dyn Simulator> {
        None
    }

    /// Phases beside stepping: initialization that ends late, warnings, a wish to end the simulation.
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        self.inner(Ability::Lifecycle)?.lifecycle()
    }

    /// Saves and restores its state.
    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        self.inner(Ability::Rollback)?.rollback()
    }

    /// Writes its state to bytes that outlive the process.
    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        self.inner(Ability::SerializeState)?.serialize_state()
    }

    /// Has events that `set_inputs` handles where they are due.
    fn events(&mut self) -> Option<&mut dyn Events> {
        self.inner(Ability::Events)?.events()
    }

    /// Ports for texts and bytes.
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

    /// Its equations, as far as the interface promises insight.
    fn state_space(&mut self) -> Option<&mut dyn StateSpace> {
        self.inner(Ability::StateSpace)?.state_space()
    }

    /// Variables beside its ports that can be recorded.
    fn locals(&mut self) -> Option<&mut dyn Locals> {
        self.inner(Ability::Locals)?.locals()
    }

    /// Steps of its own that are longer than the windows of the others.
    fn multi_rate(&mut self) -> Option<&mut dyn MultiRate> {
        self.inner(Ability::MultiRate)?.multi_rate()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    pub start: Time,
    /// `None` where the run is open-ended or may pass its end.
    pub stop: Option<Time>,
    /// Whoever stops at an event inside a window is met there by everybody else.
    pub stop_at_events: bool,
    /// A state may be restored that was saved before the present instant, because steps are rejected, repeated or
    /// tried. Where this is false, `restore` is called for no instant before the present one.
    pub rewinds: bool,
}

/// Which of the saved states: Richardson's second half must not overwrite the bookmark of the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Attempt,
    Window,
    /// For derivatives by differences, inside an attempt.
    Jacobian,
    /// For analysis, around one.
    Probe,
}

impl Slot {
    pub const COUNT: usize = 4;

    pub fn index(self) -> usize {
        self as usize
    }
}

/// What a simulator is given: one segment per input.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    pub segments: &'a [Segment],
    /// Inputs that are efforts of lines follow from these instead, with the simulator's own flow at each instant it looks
    /// at. Only those who can are given any.
    pub ends: &'a [LineEnd<'a>],
    /// One step of its own is enough, however far from the end of the window, and no step is longer than the window.
    /// Only those who take lines are asked so.
    pub return_each_internal_step: bool,
}

impl<'a> Inputs<'a> {
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
    pub values: &'a mut [f64],
    pub slopes: &'a mut [f64],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepResult {
    pub to: Time,
    /// No later window may cross this instant before it was reached.
    pub next_event: Option<Time>,
    /// An event is due at `to`: outputs are those before it, and `set_inputs` handles it.
    pub event: bool,
    /// Evaluations of the right-hand side; never rewound.
    pub evaluations: u64,
}

impl StepResult {
    pub fn end_of(window: Window, evaluations: u64) -> StepResult {
        StepResult { to: window.to, next_event: None, event: false, evaluations }
    }
}
