//! Trials: simulators that are executed only to be examined, as forecasts and rollback tests do. A crash there must not
//! end the process. How a trial is isolated depends on the operating system, so this is only the hook: a program installs
//! an [`Isolation`]; without one, trials run in place.

use std::sync::OnceLock;

/// Runs a task such that a crash of it does not end the caller.
pub trait Isolation: Sync {
    /// The result of the task, or how it crashed. `None` where isolation is not possible; the task was not started then.
    fn isolate(&self, task: &mut dyn FnMut() -> Vec<u8>) -> Option<Result<Vec<u8>, Crash>>;
}

/// A trial that crashed its process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", simulator.as_ref().map_or(String::new(), |name| format!("`{name}` ")))]
pub struct Crash {
    /// The simulator that was being called, by the name of its instance.
    pub simulator: Option<String>,
    /// As in `crashed in fmi2SetFMUstate (restore 5, 24 steps after the save)`.
    pub what: String,
}

static ISOLATION: OnceLock<&'static dyn Isolation> = OnceLock::new();

/// Isolates all later trials of this process. For programs, not for libraries; only the first call has an effect.
pub fn use_isolation(isolation: &'static dyn Isolation) {
    let _ = ISOLATION.set(isolation);
}

/// Runs a task isolated, as [`Isolation::isolate`] does; `None` where it has to run in place. Changes that the task makes
/// are lost with its process: only the result comes back.
pub fn isolated(task: &mut dyn FnMut() -> Vec<u8>) -> Option<Result<Vec<u8>, Crash>> {
    ISOLATION.get()?.isolate(task)
}
