//! The contract of a simulator.
//!
//! Legal order of calls: `enter` once; then `settle`, `outputs`, `advance`, `save`, `restore`, `freeze` in
//! any order, always from the thread the simulator is pinned to. `rehearse` at most once, before the first
//! `advance`, and after it `exit_initialisation`, if at all. `restore` brings back everything that
//! `advance`, `settle` and `outputs` can see, the inputs held at the end of the last step included.

use crate::error::SimulatorError;
use crate::interface::Interface;
use crate::line::LineEnd;
use crate::linearised::{Matrices, Present};
use crate::segment::Segment;
use crate::time::{Time, Window};

pub trait Simulator: Send {
    fn interface(&self) -> &Interface;

    /// Outputs that drive nothing but discrete inputs and parameters, so that values between two recorded ones mean
    /// nothing. Called before `enter`, at most once; the interface shows what became of it.
    fn hold_outputs(&mut self, _outputs: &[usize]) {}

    /// Initialises at the start of the run.
    fn enter(&mut self, setup: &Setup) -> Result<(), SimulatorError>;

    /// Takes new inputs at an instant without letting time pass, and handles an event that is due there.
    fn settle(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError>;

    /// Ends initialisation, if it did not end yet; whether outputs may differ now from what they were in it.
    fn exit_initialisation(&mut self) -> Result<bool, SimulatorError> {
        Ok(false)
    }

    /// What its user should know once it is initialised, such as parameters that it did not take: codes of messages, with
    /// words.
    fn notices(&mut self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Moves from the start of the window to its end, or to an event before it.
    fn advance(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        trail: &mut Trail<'_>,
    ) -> Result<Reached, SimulatorError>;

    /// The outputs at the present instant, with the inputs last seen.
    fn outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError>;

    /// What can be recorded beside its ports, such as local variables of an FMU. There may be very many, so that this is
    /// asked only where a result may hold some of them.
    fn locals(&self) -> Vec<Local> {
        Vec::new()
    }

    /// Chooses the locals that `read_locals` reads, by their places in `locals`. Before `enter`.
    fn choose_locals(&mut self, _places: &[usize]) {}

    /// The chosen locals at the present instant, in the order in which they were chosen.
    fn read_locals(&mut self, _into: &mut [f64]) -> Result<(), SimulatorError> {
        Ok(())
    }

    /// The next event that it knows of, after `settle`.
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        Ok(None)
    }

    /// `advance`, and `outputs` if that reached the window's end: what almost every step wants, in one call.
    #[inline]
    fn advance_and_read(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        trail: &mut Trail<'_>,
        out: &mut Outputs<'_>,
    ) -> Result<Reached, SimulatorError> {
        let reached = self.advance(window, inputs, trail)?;
        if reached.to >= window.to {
            self.outputs(out)?;
        }
        Ok(reached)
    }

    /// The next `advance` begins a step of its own that is longer than the window: it goes to the end of that at once,
    /// and shows what lies between in this window and those that follow. Only simulators with a step of their own are
    /// told so.
    fn lead(&mut self, _lead: Lead) {}

    /// Where it met an event in such a step. Everybody is then rewound, and its own step ends there the second time.
    fn met(&self) -> Option<Time> {
        None
    }

    /// The function by which it asks to end the simulation where it stands, as FMUs may: a regular end. Asked where
    /// `advance` tells of an event or stops before the end of the window, and after `settle`.
    fn ending(&self) -> Option<&'static str> {
        None
    }

    /// What has arrived at a port for texts or bytes. It holds from the next `settle` or `advance` on.
    fn take_parcel(&mut self, _port: usize, _content: &[u8]) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("take", "this simulator takes no texts and no bytes"))
    }

    /// What a port for texts or bytes shows at the present instant; `into` is overwritten.
    fn give_parcel(&mut self, _port: usize, _into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("give", "this simulator gives no texts and no bytes"))
    }

    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError>;

    /// Tries on the given window whether `restore` brings back what `save` kept, and is afterwards as it was.
    /// Simulators that were tested elsewhere need no trial.
    fn rehearse(&mut self, _window: Window, _inputs: &Inputs<'_>) -> Result<Rehearsal, SimulatorError> {
        Ok(Rehearsal::Untried)
    }

    /// The state as bytes that outlive the process.
    fn freeze(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError>;

    fn thaw(&mut self, from: &[u8]) -> Result<(), SimulatorError>;

    /// Changes one of the tunable parameters of the interface at the present instant. Never inside a step that may be
    /// taken back.
    fn tune(&mut self, _parameter: usize, _value: f64) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("tune", "this simulator has no tunable parameters"))
    }

    /// Derivatives of outputs by inputs, row by row, at the present state and the inputs last seen.
    fn jacobian(&mut self, _into: &mut [f64]) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("jacobian", "this simulator declares no derivatives"))
    }

    fn states(&mut self) -> Option<&mut dyn States> {
        None
    }

    /// Its equations, as far as the interface promises insight.
    fn dynamics(&mut self) -> Option<&mut dyn Dynamics> {
        None
    }
}

/// The equations x' = f(x, u) and y = g(x, u) at the present instant. No call changes what others see of the
/// simulator, and none allocates.
pub trait Dynamics {
    /// Where it is, and f and g there with the inputs in `u`. Who cannot be asked about inputs that it has not seen
    /// writes those into `u` that it saw last.
    fn present(&mut self, into: &mut Present<'_>) -> Result<(), SimulatorError>;

    /// f and g elsewhere. Asked only where the interface says `anywhere`.
    fn motion(&mut self, x: &[f64], u: &[f64], f: &mut [f64], g: &mut [f64]) -> Result<(), SimulatorError>;

    /// Derivatives of f and g at the present states, with the inputs that `present` left. Asked only where the
    /// interface offers derivatives.
    fn matrices(&mut self, u: &[f64], into: &mut Matrices<'_>) -> Result<(), SimulatorError>;
}

/// A variable inside a simulator that nothing can be connected to.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    pub name: String,
    /// As its maker spells it; empty where that is not said.
    pub unit: String,
}

/// A step that is longer than the window it begins with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lead {
    pub own: Window,
    /// The degree of polynomial that those who hear of it get right, 1 or 2.
    pub degree: u32,
}

/// Continuous states, for probing.
pub trait States {
    fn count(&self) -> usize;
    fn get(&mut self, x: &mut [f64]);
    fn set(&mut self, x: &[f64]);
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    pub start: Time,
    /// `None` where the run is open-ended or may pass its end.
    pub stop: Option<Time>,
    /// Whoever stops at an event inside a window is met there by everybody else.
    pub meets: bool,
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
    pub stepwise: bool,
}

impl<'a> Inputs<'a> {
    pub fn of(segments: &'a [Segment]) -> Inputs<'a> {
        Inputs { segments, ends: &[], stepwise: false }
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

/// What a simulator can tell about the inside of a step. Empty unless it offers integrals.
#[derive(Debug)]
pub struct Trail<'a> {
    /// Integral of each output over the window.
    pub integrals: &'a mut [f64],
}

/// What a trial of rollback showed.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Rehearsal {
    #[default]
    Untried,
    /// The repeated step gave the same bits.
    Exact,
    /// It gave almost the same, or could not be tried: in words.
    Doubtful(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reached {
    pub to: Time,
    /// No later window may cross this instant before it was reached.
    pub next_event: Option<Time>,
    /// An event is due at `to`: outputs are those before it, and `settle` handles it.
    pub event: bool,
    /// Evaluations of the right-hand side; never rewound.
    pub evaluations: u64,
}

impl Reached {
    pub fn end_of(window: Window, evaluations: u64) -> Reached {
        Reached { to: window.to, next_event: None, event: false, evaluations }
    }
}
