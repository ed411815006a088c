//! FMUs that test importers, and a shared library for them: what `cosimo-export` makes of native models, with faults and
//! habits of other tools on request, and with a record of every call.
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

use cosimo_export::equipment::{self, AddedModel, Additions, Equipment, Text};

pub use cosimo_export::{Design, Kind, Variant, Version, exchange_sources, sources};
pub use quirk::Quirk;

/// Does what it is told to do wrong.
pub const SABOTEUR: &str = "test:saboteur";

/// Shows its inputs again, one of every type.
pub const ECHO: &str = "test:echo";

/// Counts the ticks of clocks; FMI 3.0 only.
pub const CLOCKS: &str = "test:clocks";

struct TestAdditions;

impl Additions for TestAdditions {
    fn model(&self, source: &str) -> Option<&'static AddedModel> {
        [&sabotage::MODEL, &echo::MODEL, &clocks::MODEL].into_iter().find(|model| model.source == source)
    }

    fn texts(&self, design: &Design) -> Vec<Text> {
        let mut texts = Vec::new();
        if design.source == SABOTEUR {
            texts.push(sabotage::FAULT);
        }
        if design.spy {
            texts.push(spy::FILE);
        }
        texts
    }

    fn equip(&self, design: &Design, instance: &str) -> Result<Option<Box<dyn Equipment>>, String> {
        equipped::equip(design, instance)
    }
}

fn install() {
    equipment::install(&TestAdditions);
}

/// What `modelDescription.xml` of an FMU says.
pub fn model_description(design: &Design) -> Result<String, String> {
    install();
    cosimo_export::model_description(design)
}

/// The shared library that cargo built together with the program that runs now.
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
    design.spy || design.quirk.is_some() || TestAdditions.model(&design.source).is_some()
}
