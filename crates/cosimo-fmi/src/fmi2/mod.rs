//! FMI 2.0, for co-simulation and model exchange.

#[allow(unsafe_code)] // the C interface itself
pub(crate) mod ffi;
#[allow(unsafe_code)] // calls into the FMU
mod instance;
pub(crate) mod schema;

pub(crate) use instance::Fmi2Instance;
