//! Linear models of simulators from nothing but their inputs and outputs.

pub mod arx;
pub mod finder;
pub mod realise;
pub mod rooms;
