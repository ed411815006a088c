//! From what is known of an output to what is assumed of an input.

pub(crate) mod causal;
pub(crate) mod hermite;
pub(crate) mod hold;
pub(crate) mod linear;
pub(crate) mod online;
mod polynomial;
pub(crate) mod quadratic;
pub(crate) mod taylor;
