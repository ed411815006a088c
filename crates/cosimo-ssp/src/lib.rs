//! System Structure and Parameterization, SSP 1.0 and 2.0, as systems of Cosimo and back.
//!
//! `load` opens archives and the files they name, `ssd` and `parameters` turn XML into the `tree` of a file, `flatten`
//! the nested systems of a tree into one flat system, `bindings` puts parameters where they belong. What SSP has no
//! words for stands in an annotation of our own, as `system.toml` would say it (`annotation`); those of other tools are
//! looked through for their settings (`settings`). `write` goes the other
//! way, `package` makes the archive.

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
