//! Cosimo, the co-simulation engine that can tell you whether to believe the result.
//!
//! ```
//! let registry = cosimo::registry();
//! let text = r#"
//!     [experiment]
//!     stop = 1.0
//!     [component.left]
//!     source = "native:dual-mass/left-force"
//!     [component.right]
//!     source = "native:dual-mass/right"
//!     [[wire]]
//!     from = "right.x"
//!     to = "left.x_far"
//!     [[bond]]
//!     a = { effort = "left.f", flow = "left.v_far" }
//!     b = { effort = "right.f", flow = "right.v" }
//!     [method]
//!     step = { size = 0.01 }
//! "#;
//! let (system, problems) = cosimo::system::toml::read(text, std::path::Path::new("."), &registry);
//! assert!(problems.is_empty());
//! let mut run = cosimo::engine::Run::new(cosimo::engine::plan(&system, &registry).unwrap(), 1).unwrap();
//! run.run_until(cosimo::core::Time::new(1.0).unwrap()).unwrap();
//! println!("{}", run.summary().words());
//! ```

pub use cosimo_analysis as analysis;
pub use cosimo_core as core;
pub use cosimo_engine as engine;
pub use cosimo_export as export;
pub use cosimo_fmi as fmi;
pub use cosimo_models::closure as native;
pub use cosimo_osp as osp;
pub use cosimo_plot as plot;
pub use cosimo_record as record;
pub use cosimo_report as report;
pub use cosimo_ssp as ssp;
pub use cosimo_system as system;

pub mod catalogue;
pub mod certificate;
mod draft_file;
pub mod error;
mod foreign;
pub mod input_files;
pub mod observer;
pub mod observers;
pub mod open;
pub mod outcome;
mod output_files;
pub mod overlay;
pub mod paths;
pub mod plan_text;
pub mod reference;
pub mod reproduce;
mod run;
pub mod saved;
pub mod simulation;

pub use draft_file::DraftFile;
pub use error::{Error, ErrorKind};
pub use observer::{End, Moment, Observer, SavedState, Start, When};
pub use outcome::Outcome;
pub use run::Run;
pub use simulation::Simulation;

use cosimo_core::Registry;
use cosimo_system::SystemFormat;

/// Formats of system files. The first one is also what files with an unknown ending are taken for.
pub const SYSTEM_FORMATS: &[&SystemFormat] =
    &[&cosimo_system::toml::TOML, &cosimo_ssp::SSP, &cosimo_osp::OSP];

/// Every method, simulator kind, reference model and result format that ships with Cosimo. Add your own to the lists.
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    cosimo_methods::register(&mut registry);
    registry.add_source(&cosimo_models::NATIVE);
    registry.add_source(&cosimo_fmi::FMU);
    registry.references.extend(cosimo_models::REFERENCES);
    cosimo_record::register(&mut registry);
    registry
}
