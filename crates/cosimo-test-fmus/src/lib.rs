//! FMUs that test importers, and a shared library for them: what `cosimo-export` makes of native models, with faults and
//! quirks of other tools on request, and with a record of every call.
//!
//! Nothing of this is in the library that users export. This one adds it when it is loaded (`loaded`), by the hooks
//! of `cosimo_export::equipment`.

mod clocks;
mod echo;
mod equipped;
mod harm;
mod loaded;
mod quirk;
mod sabotage;
mod spy;

use std::path::{Path, PathBuf};

use cosimo_export::equipment::{self, Additions};

pub use cosimo_export::{Design, InterfaceType, Variant, Version, exchange_sources, sources};
pub use quirk::Quirk;

/// Fails on request.
pub const SABOTEUR: &str = "test:saboteur";

/// Copies its inputs to outputs, one of every type.
pub const ECHO: &str = "test:echo";

/// Counts the ticks of clocks; FMI 3.0 only.
pub const CLOCKS: &str = "test:clocks";

static ADDITIONS: Additions = Additions {
    models: &[sabotage::MODEL, echo::MODEL, clocks::MODEL],
    texts: |design| {
        let fault = (design.source == SABOTEUR).then_some(sabotage::FAULT);
        fault.into_iter().chain(design.spy.then_some(spy::FILE)).collect()
    },
    equip: equipped::equip,
};

fn install() {
    equipment::install(&ADDITIONS);
}

/// The `modelDescription.xml` of an FMU.
pub fn model_description(design: &Design) -> Result<String, String> {
    install();
    cosimo_export::model_description(design)
}

/// The shared library that cargo built together with the running program.
pub fn built_library() -> Result<PathBuf, String> {
    cosimo_export::library_beside("cosimo_test_fmus")
}

/// Writes one FMU. `library` is this crate as a shared library, or that of `cosimo-export` where a design needs nothing
/// of this one.
pub fn write(design: &Design, library: &Path, out: &Path) -> Result<(), String> {
    install();
    cosimo_export::write(design, library, out)
}

/// Whether a design needs the library of this crate.
pub fn is_test_fmu(design: &Design) -> bool {
    design.spy || design.quirk.is_some() || design.source.starts_with("test:")
}
