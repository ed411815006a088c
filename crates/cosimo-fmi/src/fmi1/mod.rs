//! FMI 1.0 for co-simulation: stand-alone slaves.
//!
//! What differs from FMI 2.0: functions carry the model identifier in their names, callbacks come by value and the logger
//! is given the instance, Booleans are `char`, there is no initialisation mode and no FMU state, and variables may be the
//! negative of another one.

#[allow(unsafe_code)] // the C interface itself
pub(crate) mod ffi;
#[allow(unsafe_code)] // calls into the FMU
mod instance;
#[allow(unsafe_code)] // is called by the FMU
mod logger;
pub(crate) mod schema;

pub(crate) use instance::Fmi1Instance;
