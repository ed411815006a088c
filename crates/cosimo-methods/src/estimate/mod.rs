//! How wrong was the step? 1 is just good enough.

pub(crate) mod embedded;
pub(crate) mod milne;
pub(crate) mod none;
pub(crate) mod power_and_outputs;
pub(crate) mod power_residual;
pub(crate) mod predictor_corrector;
pub(crate) mod richardson;

use cosimo_core::method::StepRecord;
use cosimo_core::registry::{Options, Range, Spec};

const TOLERANCE: Spec =
    Spec::number("tolerance", 1e-4, Range::Positive, "", "of simulators without their own");
const WEIGHT: Spec = Spec::number("weight", 1.0, Range::NotNegative, "", "weight of the relative part");

/// What simulators are measured by that have nothing of their own.
pub(crate) struct Scale {
    pub tolerance: f64,
    /// Of the relative part.
    pub weight: f64,
}

impl Scale {
    fn new(options: &Options) -> Scale {
        Scale { tolerance: options.number("tolerance"), weight: options.number("weight") }
    }

    /// The worst of all connected outputs: how far a value is from another, each by the tolerance of its simulator and by
    /// the size that is given third.
    fn worst(&self, record: &StepRecord<'_>, apart: impl Fn(usize) -> [f64; 3]) -> f64 {
        let outputs = (0..record.connected.len()).filter(|&output| record.connected[output]);
        worst(outputs.map(|output| {
            let tolerance = record.tolerances[output].unwrap_or(self.tolerance);
            let weight = record.weights[output].unwrap_or(self.weight);
            let [new, other, size] = apart(output);
            (new - other).abs() / (1.0 + weight * size) / tolerance
        }))
    }

    /// The same of the new outputs and those that were kept.
    fn kept(&self, record: &StepRecord<'_>) -> f64 {
        self.worst(record, |output| {
            let new = record.traces.newest()[output];
            [new, record.stashed[output], new.abs()]
        })
    }
}

/// What is not a number is worse than anything before it.
fn worst(parts: impl Iterator<Item = f64>) -> f64 {
    parts.fold(0.0, |worst: f64, part| if part.is_nan() { part } else { worst.max(part) })
}
