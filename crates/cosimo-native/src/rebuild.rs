//! Rebuilds a simulator with one parameter changed, so that parameters are tunable during a run.

use std::fmt;

use cosimo_core::{Interface, SimulatorError};

/// Rebuilds a simulator, or its equations, with a new value of one parameter.
pub struct ParameterRebuild<T>(Box<Rebuild<T>>);

type Rebuild<T> = dyn FnMut(&str, f64) -> Result<T, SimulatorError> + Send;

impl<T> ParameterRebuild<T> {
    /// From a function of the parameter's name and its new value.
    pub fn new(
        rebuild: impl FnMut(&str, f64) -> Result<T, SimulatorError> + Send + 'static,
    ) -> ParameterRebuild<T> {
        ParameterRebuild(Box::new(rebuild))
    }

    /// By the index of the parameter among the tunable ones.
    pub(crate) fn rebuild(
        recipe: &mut Option<ParameterRebuild<T>>,
        interface: &Interface,
        parameter: usize,
        value: f64,
    ) -> Result<T, SimulatorError> {
        let name = interface.tunable.get(parameter);
        match recipe.as_mut().zip(name) {
            Some((ParameterRebuild(rebuild), name)) => rebuild(name, value),
            None => Err(SimulatorError::new("set_parameter", "there is no such parameter")),
        }
    }
}

impl<T> fmt::Debug for ParameterRebuild<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParameterRebuild")
    }
}
