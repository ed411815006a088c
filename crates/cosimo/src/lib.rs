//! Cosimo: co-simulation of FMUs and native models, with error estimates and an energy balance of the coupling.
//!
//! A [`Simulation`] opens or builds a system and runs it; [`Simulation::start`] returns a [`Run`] that the caller
//! steps.
//!
//! ```
//! use cosimo::{Simulation, native};
//!
//! let mass = native::ode(["F"], [("x", 0.0), ("v", 1.0)], |_t, x, u, dx| {
//!     dx[0] = x[1];
//!     dx[1] = u[0] - 4.0 * x[0];
//! });
//! let mut run = Simulation::new().add("mass", mass).step_size(0.01).stop_time(5.0).start()?;
//! while !run.finished() {
//!     run.set_input("mass.F", -run.get_output("mass.v")?)?;
//!     run.step()?;
//! }
//! println!("{}", run.finish().summary.text());
//! # Ok::<(), cosimo::Error>(())
//! ```

#![deny(missing_docs)]

pub use cosimo_analysis as analysis;
pub use cosimo_core as core;
pub use cosimo_engine as engine;
#[cfg(feature = "export")]
pub use cosimo_export as export;
#[cfg(feature = "fmi")]
pub use cosimo_fmi as fmi;
#[cfg(feature = "fmi-check")]
pub use cosimo_fmi_check as fmi_check;
pub use cosimo_native as native;
#[cfg(feature = "osp")]
pub use cosimo_osp as osp;
pub use cosimo_pack::hash;
#[cfg(feature = "plot")]
pub use cosimo_plot as plot;
pub use cosimo_record as record;
#[cfg(feature = "report")]
pub use cosimo_report as report;
#[cfg(feature = "ssp")]
pub use cosimo_ssp as ssp;
pub use cosimo_system as system;

pub mod catalogue;
pub mod certificate;
pub mod check;
pub mod checkpoint_file;
pub mod draft_file;
pub mod error;
mod fmu_messages;
mod foreign;
#[cfg(feature = "fmi")]
pub mod info;
pub mod input_files;
pub mod json_schema;
pub mod observer;
pub mod observers;
pub mod open;
pub mod outcome;
mod output_files;
pub mod paths;
pub mod plan_text;
#[cfg(feature = "plot")]
pub mod plot_results;
pub mod reference;
mod run;
pub mod simulation;
pub mod starter;
pub mod ticker;

pub use draft_file::DraftFile;
pub use error::{Error, ErrorKind};
pub use observer::{Moment, Observer, RunEnd, RunStart, SavedState, When};
pub use outcome::Outcome;
pub use run::Run;
pub use simulation::Simulation;

use cosimo_core::Registry;
use cosimo_system::SystemFormat;

/// Formats of system files. The first one is also what files with an unknown ending are taken for.
pub const SYSTEM_FORMATS: &[&SystemFormat] = &[
    &cosimo_system::toml::TOML,
    #[cfg(feature = "ssp")]
    &cosimo_ssp::SSP,
    #[cfg(feature = "osp")]
    &cosimo_osp::OSP,
];

/// Every method, simulator kind, reference model and result format that ships with Cosimo. Add your own to the lists.
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    cosimo_methods::register(&mut registry);
    registry.add_source(&cosimo_models::LINEAR);
    registry.add_source(&cosimo_models::NATIVE);
    #[cfg(feature = "fmi")]
    registry.add_source(&cosimo_fmi::FMU);
    registry.references.extend(cosimo_models::REFERENCES);
    cosimo_record::register(&mut registry);
    registry
}
