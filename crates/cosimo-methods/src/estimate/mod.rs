//! How wrong was the step? 1 is just good enough.

pub mod embedded;
pub mod milne;
pub mod none;
pub mod power_and_outputs;
pub mod power_residual;
pub mod predictor_corrector;
pub mod richardson;

use cosimo_core::method::Record;

/// The worst distance of the new outputs from others, each by its tolerance and size.
fn weighted(record: &Record<'_>, tolerance: f64, weight: f64, other: impl Fn(usize) -> f64) -> f64 {
    let mut worst = 0.0f64;
    for (output, new) in record.traces.newest().iter().enumerate().filter(|(k, _)| record.connected[*k]) {
        let tolerance = record.tolerances[output].unwrap_or(tolerance);
        let weight = record.weights[output].unwrap_or(weight);
        let part = (new - other(output)).abs() / (1.0 + weight * new.abs()) / tolerance;
        worst = if part.is_nan() { part } else { worst.max(part) };
    }
    worst
}
