//! Analysis uses the engine, not formulas about it.

pub mod correlation;
pub mod order;
pub mod stability;
