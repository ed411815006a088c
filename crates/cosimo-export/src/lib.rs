//! FMUs out of native models, for FMI 2.0 and 3.0, co-simulation and model exchange.
//!
//! One shared library serves every model and both versions: `resources/model.toml` inside the FMU tells it
//! what it is. So an FMU is written by packing files, never by compiling. `ffi` holds the C functions and
//! all `unsafe` code; below it, `instance` keeps the state machine of the standard in safe Rust.

mod clocks;
mod describe;
mod design;
mod echo;
mod ffi;
mod instance;
mod kappa;
mod line;
mod model;
mod pack;
mod quirk;
mod sabotage;
mod spy;
mod state;
mod variables;

pub use design::{Design, Kind, Variant, Version};
pub use model::{CLOCKS, ECHO, SABOTEUR, exchange_sources, sources};
pub use pack::{built_library, model_description, write};
pub use quirk::Quirk;
