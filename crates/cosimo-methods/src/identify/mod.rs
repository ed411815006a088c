//! Identification of linear models of simulators from their inputs and outputs.

pub(crate) mod arx;
pub(crate) mod finder;
pub(crate) mod realization;
pub(crate) mod workspace;
