//! Extrapolation of inputs over a macro step from past outputs.

pub(crate) mod causal;
pub(crate) mod hermite;
pub(crate) mod hold;
pub(crate) mod linear;
pub(crate) mod online;
mod polynomial;
pub(crate) mod quadratic;
pub(crate) mod taylor;
