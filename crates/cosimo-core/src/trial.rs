//! Trials: simulators that are executed only to learn something about them, as forecasts and rehearsals of rollback do.
//! A simulator that dies there must not take the caller with it. How a trial is kept apart is a matter of the operating
//! system, so this is only where it is asked for: a program installs an [`Isolation`]; without one, trials run in place.

use std::sync::OnceLock;

/// Runs a task such that the caller survives it, however the task ends.
pub trait Isolation: Sync {
    /// The answer of the task, or how it died. `None` where the task cannot be kept apart here and now; it was not begun
    /// then.
    fn isolate(&self, task: &mut dyn FnMut() -> Vec<u8>) -> Option<Result<Vec<u8>, Crash>>;
}

/// The end of a trial that took its process with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", simulator.as_ref().map_or(String::new(), |name| format!("`{name}` ")))]
pub struct Crash {
    /// The simulator that was being called, by the name of its instance.
    pub simulator: Option<String>,
    /// As in `crashed in fmi2SetFMUstate (restore 5, 24 steps after the save)`.
    pub what: String,
}

static ISOLATION: OnceLock<&'static dyn Isolation> = OnceLock::new();

/// Keeps all later trials of this process apart. Whether that can be done is for the program to know, not for libraries
/// in it; the first call counts.
pub fn use_isolation(isolation: &'static dyn Isolation) {
    let _ = ISOLATION.set(isolation);
}

/// Runs a task apart, as [`Isolation::isolate`] does; `None` where it has to run in place. What the task changes is lost
/// with its process: only the answer comes back.
pub fn isolated(task: &mut dyn FnMut() -> Vec<u8>) -> Option<Result<Vec<u8>, Crash>> {
    ISOLATION.get()?.isolate(task)
}
