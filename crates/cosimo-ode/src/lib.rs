//! Integrators for use inside simulators: one step at a time, never beyond a limit, with exact rollback by a copy.
//!
//! ```
//! use cosimo_ode::{EvaluationFault, Integrator, OdeSystem, Settings, StepOutcome, entry};
//!
//! struct Decay;
//!
//! impl OdeSystem for Decay {
//!     fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
//!         dx[0] = -x[0];
//!         Ok(())
//!     }
//! }
//!
//! let mut integrator = Integrator::new(entry("dormand-prince")?, 1, &Settings::default())?;
//! integrator.restart(0.0, &[1.0]);
//! while integrator.step(&mut Decay, 2.0)? != StepOutcome::Reached {}
//! assert!((integrator.state()[0] - (-2f64).exp()).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The system is borrowed by each call, so that a model may be the system of its own integrator. Its derivatives may
//! fail. An integrator is plain data: `copy_from` rolls it back without allocating, all that follows is bit-identical,
//! and `serialize` writes it as bytes. Only `cvode`, available with the feature of that name, has internal memory that
//! cannot be copied: it restarts after a rollback.

mod bdf;
#[cfg(feature = "cvode")]
mod cvode;
mod explicit;
mod failure;
mod frame;
mod integrator;
mod jacobian;
mod lu;
mod newton;
mod root;
mod settings;
mod snapshot;
#[cfg(feature = "cvode")]
#[allow(unsafe_code)] // calls into SUNDIALS
mod sundials;
mod system;

pub use failure::{Cause, IntegrationFailure};
pub use integrator::{Counters, Integrator, IntegratorEntry, StepOutcome};
pub use jacobian::Pattern;
pub use newton::{Equations, Newton, NewtonError, Solution};
pub use root::{CrossingDirection, Roots};
pub use settings::{Absolute, HIGHEST_ORDER, Refusal, Settings};
pub use snapshot::SnapshotError;
pub use system::{EvaluationFault, OdeSystem};

/// All methods of this build.
pub const INTEGRATORS: &[&IntegratorEntry] = &[
    &explicit::DORMAND_PRINCE,
    &explicit::BOGACKI_SHAMPINE,
    &bdf::BDF,
    #[cfg(feature = "cvode")]
    &cvode::CVODE,
];

/// Methods that only some builds have, each with a hint.
pub const ABSENT: &[(&str, &str)] = &[
    #[cfg(not(feature = "cvode"))]
    ("cvode", "build Cosimo with `--features cvode` (needs cmake and libclang), or choose \"bdf\""),
];

/// The method by name.
pub fn entry(name: &str) -> Result<&'static IntegratorEntry, Refusal> {
    INTEGRATORS.iter().copied().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = INTEGRATORS.iter().map(|entry| entry.name).collect();
        Refusal(vec![match ABSENT.iter().find(|(absent, _)| *absent == name) {
            Some((_, remedy)) => format!("the integrator `{name}` is not in this build; {remedy}"),
            None => format!("there is no integrator `{name}`, only {}", names.join(", ")),
        }])
    })
}
