//! Methods at work in the engine: orders, energies, stability and what the papers claim of them.

#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

#[path = "../../../cosimo-engine/tests/common/mod.rs"]
mod common;

mod energy;
mod formulas;
mod identified;
mod order;
mod pre_step;
mod stability;
#[allow(unreachable_pub)] // written as it would be in the crate
mod worked_example;
