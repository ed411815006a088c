//! Failures of an integrator.

use std::borrow::Cow;

/// Why a step failed. The integrator stays at the end of its last accepted step.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum IntegrationFailure {
    /// A fatal fault of the system, passed through.
    #[error("{message} (in a step from t = {time})")]
    Fatal { time: f64, message: Cow<'static, str> },
    /// From `time` not even a step of `step` succeeded, and smaller ones are not allowed.
    #[error("no step from t = {time} succeeded, down to h = {step:e}: {cause}")]
    Stalled { time: f64, step: f64, cause: Cause },
    /// Steps go forward, to a finite limit.
    #[error("a step from t = {time} needs a finite limit that is not earlier, not {limit}")]
    Limit { time: f64, limit: f64 },
    /// An indicator was not a number at a point where the derivatives were valid.
    #[error("the indicator z[{index}] is not a number at t = {time}")]
    Indicator { time: f64, index: usize },
    /// Indicators were refused; no smaller step can help.
    #[error("the system refuses its indicators at t = {time}: {message}")]
    Refused { time: f64, message: Cow<'static, str> },
    /// Accumulating events: no progress beyond `time`.
    #[error(
        "events accumulate at t = {time}: the last {events} came within {gap:e} of each other; \
         the model has to come to rest there"
    )]
    Accumulation { time: f64, events: u32, gap: f64 },
}

/// Why a step was rejected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Cause {
    /// The error was too large, most in this state.
    #[error(
        "the error stays above tolerance, most in x[{state}]; \
         is there a discontinuity without an event, or a solution that grows without bound?"
    )]
    Error { state: usize },
    /// Newton's method did not converge, least in this state.
    #[error("Newton's method does not converge, least in x[{state}]")]
    Newton { state: usize },
    /// The derivative of this state was not a finite number.
    #[error("the derivative of x[{state}] is not a finite number")]
    NotFinite { state: usize },
    /// `EvaluationFault::Retry`.
    #[error("the system refuses: {message}")]
    Refused { message: Cow<'static, str> },
}

impl IntegrationFailure {
    /// The message with names of states instead of their indices, where there are names.
    pub fn naming(&self, states: &[String]) -> String {
        let mut text = self.to_string();
        for (place, name) in states.iter().enumerate() {
            text = text.replace(&format!("x[{place}]"), &format!("`{name}`"));
        }
        text
    }
}
