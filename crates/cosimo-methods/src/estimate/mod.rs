//! Error estimates of a macro step; 1 is the tolerance.

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

/// Tolerance and weight of simulators without their own.
pub(crate) struct Scale {
    pub tolerance: f64,
    /// Of the relative part.
    pub weight: f64,
}

impl Scale {
    fn new(options: &Options) -> Scale {
        Scale { tolerance: options.number("tolerance"), weight: options.number("weight") }
    }

    /// The largest scaled difference over all connected outputs. `values` gives the two values to compare and the size for
    /// the relative part; the tolerance is that of the simulator.
    fn worst(&self, record: &StepRecord<'_>, values: impl Fn(usize) -> [f64; 3]) -> f64 {
        let outputs = (0..record.connected.len()).filter(|&output| record.connected[output]);
        worst(outputs.map(|output| {
            let tolerance = record.tolerances[output].unwrap_or(self.tolerance);
            let weight = record.weights[output].unwrap_or(self.weight);
            let [new, other, size] = values(output);
            (new - other).abs() / (1.0 + weight * size) / tolerance
        }))
    }

    /// The largest scaled difference of new and stashed outputs.
    fn against_stashed(&self, record: &StepRecord<'_>) -> f64 {
        self.worst(record, |output| {
            let new = record.traces.newest()[output];
            [new, record.stashed[output], new.abs()]
        })
    }
}

/// The largest part; NaN if any part is. `f64::max` alone would forget a NaN.
fn worst(parts: impl Iterator<Item = f64>) -> f64 {
    parts.fold(
        0.0,
        |worst: f64, part| if part.is_nan() || worst.is_nan() { f64::NAN } else { worst.max(part) },
    )
}

#[cfg(test)]
mod tests {
    use super::worst;

    #[test]
    fn a_part_without_a_number_counts_wherever_it_stands() {
        for parts in [[f64::NAN, 1.0, 2.0], [1.0, f64::NAN, 2.0], [1.0, 2.0, f64::NAN]] {
            assert!(worst(parts.into_iter()).is_nan(), "{parts:?}");
        }
        assert_eq!(worst([1.0, 3.0, 2.0].into_iter()), 3.0);
        assert_eq!(worst([1.0, f64::INFINITY].into_iter()), f64::INFINITY);
        assert_eq!(worst(std::iter::empty()), 0.0);
    }
}
