//! The co-simulation methods of Cosimo, one file each. Settings are fields, memory belongs to the engine; no method
//! depends on threads, files or another axis. To add a method: one file, and one line in its slice below.

#![deny(missing_docs)]

use cosimo_core::method::{
    Correction, Estimate, ExtrapolationChoice, Iteration, JacobianSource, Partition, Steadiness,
    StepController,
};
use cosimo_core::registry::{MethodEntry, Registry};

mod controller;
mod correction;
mod estimate;
mod extrapolation;
mod identify;
mod iteration;
mod jacobian;
mod partition;
pub mod steadiness;

const PARTITIONS: &[&MethodEntry<dyn Partition>] =
    &[&partition::jacobi::ENTRY, &partition::gauss_seidel::ENTRY, &partition::levels::ENTRY];

const ITERATIONS: &[&MethodEntry<dyn Iteration>] = &[&iteration::once::ENTRY, &iteration::waveform::ENTRY];

const INPUTS: &[&MethodEntry<dyn ExtrapolationChoice>] = &[
    &extrapolation::hold::ENTRY,
    &extrapolation::linear::ENTRY,
    &extrapolation::quadratic::ENTRY,
    &extrapolation::taylor::ENTRY,
    &extrapolation::hermite::ENTRY,
    &extrapolation::causal::ENTRY,
    &extrapolation::online::ENTRY,
];

const CORRECTIONS: &[&MethodEntry<dyn Correction>] = &[
    &correction::none::ENTRY,
    &correction::nepce::ENTRY,
    &correction::pre_step::ENTRY,
    &correction::identified::ENTRY,
];

const JACOBIANS: &[&MethodEntry<dyn JacobianSource>] = &[
    &jacobian::declared::ENTRY,
    &jacobian::directional::ENTRY,
    &jacobian::difference::ENTRY,
    &jacobian::auto::ENTRY,
];

const ESTIMATES: &[&MethodEntry<dyn Estimate>] = &[
    &estimate::none::ENTRY,
    &estimate::power_residual::ENTRY,
    &estimate::predictor_corrector::ENTRY,
    &estimate::power_and_outputs::ENTRY,
    &estimate::milne::ENTRY,
    &estimate::embedded::ENTRY,
    &estimate::richardson::ENTRY,
];

const CONTROLLERS: &[&MethodEntry<dyn StepController>] = &[
    &controller::fixed::ENTRY,
    &controller::integral::ENTRY,
    &controller::pi::ENTRY,
    &controller::pid::ENTRY,
];

const STEADINESS: &[&MethodEntry<dyn Steadiness>] =
    &[&steadiness::sliding_window::ENTRY, &steadiness::f_test::ENTRY, &steadiness::r_test::ENTRY];

/// Adds all methods of this crate.
pub fn register(registry: &mut Registry) {
    registry.partitions.extend(PARTITIONS);
    registry.iterations.extend(ITERATIONS);
    registry.inputs.extend(INPUTS);
    registry.corrections.extend(CORRECTIONS);
    registry.jacobians.extend(JACOBIANS);
    registry.estimates.extend(ESTIMATES);
    registry.controllers.extend(CONTROLLERS);
    registry.steadiness.extend(STEADINESS);
}
