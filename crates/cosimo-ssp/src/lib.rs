//! System Structure and Parameterization, SSP 1.0 and 2.0, as systems of Cosimo and back.
//!
//! `load` opens archives and the files they name, `ssd` and `parameters` read XML into the `tree` of a file, `flatten`
//! makes one flat system of nested ones, `bindings` assigns parameters. What SSP cannot
//! express is kept in an annotation in the syntax of `system.toml` (`annotation`); annotations of other tools are
//! searched for simulation settings (`settings`). `write` is the opposite
//! direction, `package` makes the archive.

mod annotation;
mod bindings;
mod document;
mod flatten;
mod load;
mod package;
mod parameters;
mod settings;
mod ssd;
mod tree;
mod write;

use cosimo_system::SystemFormat;

/// Archives (`.ssp`), and descriptions without one (`.ssd`).
pub const SSP: SystemFormat = SystemFormat {
    name: "ssp",
    summary: "System Structure and Parameterization, SSP 1.0 and 2.0",
    endings: &["ssp", "ssd"],
    read: load::read,
    write: Some(package::write),
};
pub use load::PACKAGE;
