//! What turns equations written in Rust into simulators: solvers, events, closures.
//!
//! A [`Model`] is x' = f(x, u), y = g(x, u); an [`Ode`] takes fixed micro steps, or
//! follows the exact flow of a [`Linear`] one.
//! A [`Hybrid`] has events too and is integrated with error control. Models out of closures are in [`closure`].

pub mod closure;
mod hybrid;
pub mod integrated;
pub mod linear;
mod model;
mod ode;
mod phi;
mod recipe;
pub mod solver;
mod tangents;

pub use closure::{Blueprint, discrete, ode};
pub use hybrid::{Beginning, CROWD, Completed, Equations, HybridSimulator, Method, Settled, crowded};
pub use integrated::Integrated;
pub use linear::Linear;
pub use model::{Direction, Event, Hybrid, Kind, Known, Point, Unknown};
pub use ode::{ABILITIES, Model, Ode};
pub use recipe::Recipe;
pub use solver::Solver;
