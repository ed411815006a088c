//! The library as programs use it: simulations, result files, checkpoints, and the same numbers as FMPy.

#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

#[path = "../../../cosimo-engine/tests/common/mod.rs"]
mod common;

mod error_bars;
mod fmpy;
mod formats;
mod gate;
#[cfg(feature = "plot")]
mod overlay;
mod reference;
mod results;
mod saved;
mod sealed;
mod simulation;
mod steps;
#[cfg(feature = "report")]
mod verdict;
