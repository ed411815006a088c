//! FMUs as an importer meets them: written, unpacked, loaded from their shared library and stepped, beside the
//! native simulator they were made of.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod clocks;
mod echo;
mod equal;
mod event_mode;
mod events;
mod exchange;
mod faults;
mod fmpy;
#[allow(dead_code, reason = "shared with the test of leaks")]
mod load;
mod order;
mod states;
mod table;
mod xml;
