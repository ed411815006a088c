//! Errors of a run. Every message names what failed, where and when.

use crate::registry::number_text;
use crate::time::{Time, Window};

/// A failed call of a simulator. Boxed so that a successful call returns in registers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{function}` failed: {message}", function = .0.function, message = .0.message)]
pub struct SimulatorError(Box<FailureDetails>);

/// What failed, and how bad it is.
#[derive(Debug, Clone, PartialEq)]
pub struct FailureDetails {
    /// As FMI or the trait calls it.
    pub function: &'static str,
    /// The cause, without a full stop.
    pub message: String,
    /// FMI's status Discard: the simulator can be used on, it only could not take this step.
    pub discarded: bool,
    /// Not a failure: the simulator requests the end of the simulation.
    pub ends: bool,
}

impl SimulatorError {
    /// A failure: the simulator cannot be used any more.
    pub fn new(function: &'static str, message: impl Into<String>) -> SimulatorError {
        SimulatorError(Box::new(FailureDetails {
            function,
            message: message.into(),
            discarded: false,
            ends: false,
        }))
    }

    /// A discarded step: after a rollback a smaller step may succeed.
    pub fn discard(function: &'static str, message: impl Into<String>) -> SimulatorError {
        SimulatorError(Box::new(FailureDetails {
            function,
            message: message.into(),
            discarded: true,
            ends: false,
        }))
    }

    /// No step was taken, because the simulator requests the end of the simulation here: a regular end.
    pub fn end(function: &'static str) -> SimulatorError {
        let message = "the simulator requests the end of the simulation".into();
        SimulatorError(Box::new(FailureDetails { function, message, discarded: false, ends: true }))
    }

    /// The function by which the simulator requested the end of the simulation, if it did.
    pub fn ends(&self) -> Option<&'static str> {
        self.0.ends.then_some(self.0.function)
    }

    /// Whether a smaller step may succeed.
    pub fn discarded(&self) -> bool {
        self.0.discarded
    }
}

/// Why a macro step failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are explained by the messages")]
pub enum StepError {
    /// A simulator failed inside a step.
    #[error("simulator `{simulator}` failed while stepping {window}: {cause}")]
    Failed { simulator: String, window: Window, cause: SimulatorError },

    /// A simulator failed at a communication point, between two steps.
    #[error("simulator `{simulator}` failed at t = {at}: {cause}")]
    FailedAt { simulator: String, at: Time, cause: SimulatorError },

    /// A simulator panicked inside a step.
    #[error("simulator `{simulator}` panicked while stepping {window}: {message}")]
    Panicked { simulator: String, window: Window, message: String },

    /// An output is NaN or infinite.
    #[error("simulator `{simulator}` returned {value} for `{simulator}.{output}` after stepping {window}")]
    NotFinite { simulator: String, output: String, value: f64, window: Window },

    /// The error indicator is NaN or infinite.
    #[error("the error indicator of `{estimate}` is {value} after stepping {window}")]
    BadIndicator { estimate: &'static str, value: f64, window: Window },

    /// Outputs grow from step to step: the coupling is unstable.
    #[error(
        "diverged: `{output}` grew {growth:.0e}-fold in {steps} steps, to {value:.1e}, up to t = {}",
        number_text(.window.to.seconds())
    )]
    Diverged { output: String, growth: f64, steps: u64, value: f64, window: Window },

    /// An iteration over the window did not converge.
    #[error(
        "the iteration did not converge in {} sweeps while stepping {window}: outputs still change by {:.1e} times the \
         tolerance, `{output}` most (changes so far: {})",
        .changes.len(), .changes.last().copied().unwrap_or(f64::NAN), history_text(.changes)
    )]
    NotSettled { output: String, changes: Vec<f64>, window: Window },

    /// The event iteration at an instant did not converge.
    #[error("the event iteration at t = {at} does not converge: `{output}` still changes after 100 rounds")]
    Restless { output: String, at: Time },

    /// The residual of an algebraic loop did not become small enough.
    #[error(
        "the algebraic loop {path} is not solved at t = {at}: the outputs that drive `{input}` give {driven}, and no \
         iteration reduces the difference any more (last values: {}; iterations: {rounds})", values_text(.values)
    )]
    Unsolved { path: String, input: String, driven: f64, rounds: u32, values: Vec<(String, f64)>, at: Time },

    /// An algebraic loop of discrete values did not come to rest.
    #[error(
        "the algebraic loop {path} does not converge at t = {at}: `{output}` still changes after {rounds} rounds (last values: \
         {})", values_text(.values)
    )]
    Undecided { path: String, output: String, rounds: u32, values: Vec<(String, f64)>, at: Time },

    /// A simulator returned early although not all simulators can be rewound.
    #[error("simulator `{simulator}` stopped at t = {at} while stepping {window}")]
    StoppedEarly { simulator: String, at: Time, window: Window },

    #[error(
        "no progress: {steps} steps in a row were shorter than {} s, the last one {} s at t = {}",
        number_text(*.shortest), number_text(.window.size), number_text(.window.from.seconds())
    )]
    /// Many steps in a row were too short to get anywhere.
    Stuck { steps: u32, shortest: f64, window: Window },

    /// A regular end: it becomes the end of the run.
    #[error("simulator `{simulator}` requested the end of the simulation by `{function}` at t = {at}")]
    Ended { simulator: String, at: Time, function: &'static str },
}

impl StepError {
    /// Whether a smaller step may succeed.
    pub fn discarded(&self) -> bool {
        match self {
            StepError::Failed { cause, .. } => cause.discarded(),
            StepError::NotSettled { .. } | StepError::Unsolved { .. } | StepError::Undecided { .. } => true,
            _ => false,
        }
    }

    /// The error code; stable, for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            StepError::Failed { .. } | StepError::FailedAt { .. } => "step/simulator-failed",
            StepError::Panicked { .. } => "step/simulator-panicked",
            StepError::NotFinite { .. } => "step/not-finite",
            StepError::BadIndicator { .. } => "step/bad-indicator",
            StepError::Diverged { .. } => "step/diverged",
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
                "the simulator may be able to take a smaller step: try a smaller `--step`, or an adaptive `controller` with \
                 `reject = \"above-one\"`, which retries with smaller steps where all simulators support rollback"
                    .into()
            }
            StepError::Failed { .. } | StepError::FailedAt { .. } => {
                "result files hold the rows up to this step; the simulator's own message is above".into()
            }
            StepError::Panicked { .. } => {
                "this is a bug in the simulator, not in the system file; result files hold the rows up to this step".into()
            }
            StepError::NotFinite { window, .. } => format!(
                "either the simulator itself failed, or the coupling is unstable at this step size: try `--step {:.1e}`, \
                 and look at the last rows of the result file",
                window.size / 4.0
            ),
            StepError::Diverged { window, .. } => format!(
                "the coupling is unstable at this step size: try `--step {:.1e}`; `cosimo check` forecasts the largest stable \
                 step and names remedies",
                window.size / 4.0
            ),
            StepError::BadIndicator { .. } => {
                "the outputs grew beyond the range of a double; try a smaller step or tolerance".into()
            }
            StepError::NotSettled { window, .. } => format!(
                "try `--step {:.1e}`, another `relaxation` (quasi-newton, or constant with a smaller `factor`), more \
                 `sweeps`, or an adaptive `controller` with `reject = \"above-one\"`, which retries with smaller steps",
                window.size / 4.0
            ),
            StepError::Undecided { .. } => {
                "these values switch each other endlessly: break the loop by a delay in one of the simulators".into()
            }
            StepError::Restless { .. } => {
                "simulators trigger each other endlessly at this instant: check the loop that this output is part of".into()
            }
            StepError::Unsolved { input, .. } => {
                format!("make sure that the loop has a solution; then start closer to it, with a start value for `{input}`")
            }
            StepError::StoppedEarly { .. } => {
                "early return needs rollback in all simulators of the system; or disable it in this one".into()
            }
            StepError::Stuck { .. } => {
                "either the step is far too small (`--step`, `min`), or a component announces an event just ahead again and \
                 again; if such short steps are intended, simulate a shorter time: `--stop`"
                    .into()
            }
            StepError::Ended { .. } => "end the experiment before that instant: `--stop`".into(),
        }
    }
}

/// The first few values of a loop.
fn values_text(values: &[(String, f64)]) -> String {
    let text = |(name, value): &(String, f64)| format!("{name} = {value}");
    let mut list: Vec<String> = values.iter().take(8).map(text).collect();
    if values.len() > list.len() {
        list.push(format!("and {} more", values.len() - list.len()));
    }
    list.join(", ")
}

/// The first and the last few numbers of a history.
fn history_text(changes: &[f64]) -> String {
    let text = |change: &f64| format!("{change:.1e}");
    match changes {
        [first, second, .., before, last] if changes.len() > 6 => {
            [text(first), text(second), "...".into(), text(before), text(last)].join(", ")
        }
        all => all.iter().map(text).collect::<Vec<_>>().join(", "),
    }
}
