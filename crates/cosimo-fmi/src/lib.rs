//! Functional Mock-up Units (FMI 2.0 and 3.0, co-simulation) as simulators of Cosimo.

pub mod archive;
mod problem;

pub use archive::{Cache, use_cache};
pub use problem::{Place, Problem};
