//! FMI 3.0, for co-simulation and model exchange.

#[allow(unsafe_code)] // the C interface itself
pub(crate) mod ffi;
#[allow(unsafe_code)] // calls into the FMU, is called by it
mod instance;
pub(crate) mod schema;

pub(crate) use instance::Fmi3Instance;
