//! The library as programs use it: simulations, result files, checkpoints, and the same numbers as FMPy.

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
