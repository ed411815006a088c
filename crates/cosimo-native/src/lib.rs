//! Simulators from equations written in Rust: solvers, events, closures.
//!
//! A [`Model`] is x' = f(x, u), y = g(x, u); an [`Ode`] takes fixed micro steps, or
//! follows the exact flow of a [`Linear`] one.
//! A [`Hybrid`] has events too and is integrated with error control. For models from closures see [`closure`].

pub mod closure;
mod hybrid;
pub mod linear;
mod model;
pub mod native_hybrid;
mod ode;
mod phi;
mod rebuild;
pub mod solver;
mod tangents;

pub use closure::{Blueprint, discrete, ode};
pub use hybrid::{
    CompletedStep, Equations, EventResult, HybridSimulator, InitialState, IntegrationMethod,
    MAX_EVENTS_AT_INSTANT, too_many_events,
};
pub use linear::Linear;
pub use model::{Event, Hybrid, ModelPoint, OutputKind, Quantity, Tangent, Unknown};
pub use native_hybrid::NativeHybrid;
pub use ode::{ABILITIES, Model, Ode};
pub use rebuild::ParameterRebuild;
pub use solver::Solver;
