//! From what is known of an output to what is assumed of an input.

pub mod causal;
pub mod hermite;
pub mod hold;
pub mod linear;
pub mod online;
mod polynomial;
pub mod quadratic;
pub mod taylor;
