//! Analysis uses the engine, not formulas about it.

pub mod stability;
