//! Methods at work in the engine: orders, energies, stability and what the papers claim of them.

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
