//! From what is known of an output to what is assumed of an input.

pub mod hold;
pub mod linear;
pub mod taylor;
