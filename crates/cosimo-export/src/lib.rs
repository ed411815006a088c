//! FMUs from native models, for FMI 1.0, 2.0 and 3.0, co-simulation and model exchange.
//!
//! One shared library serves every model and all versions: `resources/model.toml` inside the FMU selects the model.
//! So an FMU is written by packing files, without compiling. `ffi` holds the C functions and
//! all `unsafe` code; below it, `instance` keeps the state machine of the standard in safe Rust.

mod datum;
mod delay_control;
mod describe;
mod design;
pub mod equipment;
mod ffi;
mod instance;
mod line;
mod model;
mod pack;
mod state;
mod variables;

pub use design::{Design, InterfaceType, Variant, Version};
pub use model::{exchange_sources, sources};
pub use pack::{built_library, library_beside, model_description, write};
