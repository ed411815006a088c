//! Functional Mock-up Units (FMI 2.0 and 3.0, co-simulation) as simulators of Cosimo.

pub mod archive;
pub mod description;
mod elf;
pub mod platform;
mod problem;
mod quantity;
mod schema2;
mod schema3;
mod terminals;
mod xml;

pub use archive::{Cache, use_cache};
pub use description::Description;
pub use problem::{Place, Problem};
