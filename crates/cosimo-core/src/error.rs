//! What can go wrong while a run is under way. Every message names what, where and when.

use crate::registry::number_text;
use crate::time::{Time, Window};

/// Boxed so that a successful call returns in registers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{function}` failed: {message}", function = .0.function, message = .0.message)]
pub struct SimulatorError(Box<FailureDetails>);

#[derive(Debug, Clone, PartialEq)]
pub struct FailureDetails {
    pub function: &'static str,
    pub message: String,
    /// The simulator is unharmed; it only could not take this step.
    pub discarded: bool,
    /// It is no failure at all: the simulator asks to end the simulation.
    pub ends: bool,
}

impl SimulatorError {
    pub fn new(function: &'static str, message: impl Into<String>) -> SimulatorError {
        SimulatorError(Box::new(FailureDetails {
            function,
            message: message.into(),
            discarded: false,
            ends: false,
        }))
    }

    /// A step that was not taken: rewound, the simulator may be asked for a smaller one.
    pub fn discard(function: &'static str, message: impl Into<String>) -> SimulatorError {
        SimulatorError(Box::new(FailureDetails {
            function,
            message: message.into(),
            discarded: true,
            ends: false,
        }))
    }

    /// No step was taken, because the simulator asks to end the simulation where it stands: a regular end.
    pub fn end(function: &'static str) -> SimulatorError {
        let message = "the simulation is to end".into();
        SimulatorError(Box::new(FailureDetails { function, message, discarded: false, ends: true }))
    }

    /// The function that asked to end the simulation, if that is what it says.
    pub fn ends(&self) -> Option<&'static str> {
        self.0.ends.then_some(self.0.function)
    }

    pub fn discarded(&self) -> bool {
        self.0.discarded
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StepError {
    #[error("simulator `{simulator}` failed while stepping {window}: {cause}")]
    Failed { simulator: String, window: Window, cause: SimulatorError },

    #[error("simulator `{simulator}` failed at t = {at}: {cause}")]
    FailedAt { simulator: String, at: Time, cause: SimulatorError },

    #[error("simulator `{simulator}` panicked while stepping {window}: {message}")]
    Panicked { simulator: String, window: Window, message: String },

    #[error("simulator `{simulator}` returned {value} for `{simulator}.{output}` after stepping {window}")]
    NotFinite { simulator: String, output: String, value: f64, window: Window },

    #[error("the error indicator of `{estimate}` is {value} after stepping {window}")]
    BadIndicator { estimate: &'static str, value: f64, window: Window },

    #[error(
        "the iteration did not settle in {} sweeps while stepping {window}: outputs still change by {:.1e} times what is \
         allowed, `{output}` most (changes so far: {})",
        .changes.len(), .changes.last().copied().unwrap_or(f64::NAN), listed(.changes)
    )]
    NotSettled { output: String, changes: Vec<f64>, window: Window },

    #[error("the event at t = {at} does not settle: `{output}` still changes after 100 rounds")]
    Restless { output: String, at: Time },

    #[error(
        "the algebraic loop {path} is not solved at t = {at}: what drives `{input}` is {driven}, and no step leads nearer to \
         that (last values: {}; iterations: {rounds})", named(.values)
    )]
    Unsolved { path: String, input: String, driven: f64, rounds: u32, values: Vec<(String, f64)>, at: Time },

    #[error(
        "the algebraic loop {path} comes to no rest at t = {at}: `{output}` still changes after {rounds} rounds (last values: \
         {})", named(.values)
    )]
    Undecided { path: String, output: String, rounds: u32, values: Vec<(String, f64)>, at: Time },

    #[error("simulator `{simulator}` stopped at t = {at} while stepping {window}")]
    StoppedEarly { simulator: String, at: Time, window: Window },

    #[error(
        "time hardly moves: {steps} steps in a row were shorter than {} s, the last one {} s at t = {}",
        number_text(*.shortest), number_text(.window.size), number_text(.window.from.seconds())
    )]
    Stuck { steps: u32, shortest: f64, window: Window },

    /// A regular end, which a run turns into its own.
    #[error("simulator `{simulator}` asked by `{function}` to end the simulation at t = {at}")]
    Ended { simulator: String, at: Time, function: &'static str },
}

impl StepError {
    /// Whether a smaller step may do.
    pub fn discarded(&self) -> bool {
        match self {
            StepError::Failed { cause, .. } => cause.discarded(),
            StepError::NotSettled { .. } | StepError::Unsolved { .. } | StepError::Undecided { .. } => true,
            _ => false,
        }
    }

    /// Stable, for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            StepError::Failed { .. } | StepError::FailedAt { .. } => "step/simulator-failed",
            StepError::Panicked { .. } => "step/simulator-panicked",
            StepError::NotFinite { .. } => "step/not-finite",
            StepError::BadIndicator { .. } => "step/bad-indicator",
            StepError::NotSettled { .. } => "step/not-settled",
            StepError::Restless { .. } => "step/event-not-settled",
            StepError::Unsolved { .. } | StepError::Undecided { .. } => "step/loop-not-solved",
            StepError::StoppedEarly { .. } => "step/stopped-early",
            StepError::Stuck { .. } => "step/stuck",
            StepError::Ended { .. } => "step/ended",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            StepError::Failed { cause, .. } if cause.discarded() => {
                "the simulator may be able to take a smaller step: try a smaller `--step`, or an adaptive `law` with \
                 `reject = \"above-one\"`, which tries smaller steps by itself where all simulators can rewind"
                    .into()
            }
            StepError::Failed { .. } | StepError::FailedAt { .. } => {
                "result files keep the rows up to this step; the simulator's own message is above".into()
            }
            StepError::Panicked { .. } => {
                "this is a bug in the simulator, not in the system file; result files keep the rows up to this step".into()
            }
            StepError::NotFinite { window, .. } => format!(
                "either the simulator itself failed, or the coupling is unstable at this step size: try `--step {:.1e}`, \
                 and look at the last rows of the result file",
                window.size / 4.0
            ),
            StepError::BadIndicator { .. } => {
                "the outputs grew beyond what a double can hold; try a smaller step or tolerance".into()
            }
            StepError::NotSettled { window, .. } => format!(
                "try `--step {:.1e}`, another `relaxation` (quasi-newton, or constant with a smaller `factor`), more \
                 `sweeps`, or an adaptive `law` with `reject = \"above-one\"`, which tries smaller steps by itself",
                window.size / 4.0
            ),
            StepError::Undecided { .. } => {
                "these values switch each other for ever: break the loop by a delay in one of the simulators".into()
            }
            StepError::Restless { .. } => {
                "simulators answer each other for ever at this instant: look at the loop that this output is part of".into()
            }
            StepError::Unsolved { input, .. } => {
                format!("make sure that the loop has a solution; then begin nearer to it, with a start value for `{input}`")
            }
            StepError::StoppedEarly { .. } => {
                "all simulators of the system must be able to rewind for an early return; or forbid it in this one".into()
            }
            StepError::Stuck { .. } => {
                "either the step is far too small (`--step`, `min`), or a component announces an event just ahead again and \
                 again; if steps so short are meant, run a shorter part: `--stop`"
                    .into()
            }
            StepError::Ended { .. } => "end the experiment before that instant: `--stop`".into(),
        }
    }
}

/// The first few of what a loop has.
fn named(values: &[(String, f64)]) -> String {
    let text = |(name, value): &(String, f64)| format!("{name} = {value}");
    let mut list: Vec<String> = values.iter().take(8).map(text).collect();
    if values.len() > list.len() {
        list.push(format!("and {} more", values.len() - list.len()));
    }
    list.join(", ")
}

/// The first and the last few numbers of a history.
fn listed(changes: &[f64]) -> String {
    let text = |change: &f64| format!("{change:.1e}");
    match changes {
        [first, second, .., before, last] if changes.len() > 6 => {
            [text(first), text(second), "...".into(), text(before), text(last)].join(", ")
        }
        all => all.iter().map(text).collect::<Vec<_>>().join(", "),
    }
}
