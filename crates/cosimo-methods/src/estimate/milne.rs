//! Inputs as they were assumed at the step's end against what they turned out to be: predictor against corrector.
//! One step, no rollback. It measures the assumption, not what became of it inside the simulators.

use cosimo_core::entry::{Entry, Range, Spec};
use cosimo_core::interface::Needs;
use cosimo_core::method::{Estimate, Record, Shape};

#[derive(Debug, Clone, Copy)]
pub struct Milne {
    pub tolerance: f64,
    pub weight: f64,
}

impl Estimate for Milne {
    fn order(&self, shape: &Shape) -> u32 {
        shape.degree + 1
    }

    fn measure(&self, record: &Record<'_>) -> f64 {
        let mut worst = 0.0f64;
        for (input, applied) in record.applied.iter().enumerate() {
            let terms = record.couplings.terms(input);
            if terms.is_empty() {
                continue;
            }
            let assumed = applied.at(record.window.size);
            let found = record.couplings.value(input, record.traces.newest());
            // The strictest of the simulators that the input comes from.
            let tolerance = terms
                .iter()
                .map(|term| record.tolerances[term.output].unwrap_or(self.tolerance))
                .fold(f64::INFINITY, f64::min);
            let part = (assumed - found).abs() / (1.0 + self.weight * found.abs()) / tolerance;
            worst = if part.is_nan() { part } else { worst.max(part) };
        }
        worst
    }
}

pub const ENTRY: Entry<dyn Estimate> = Entry {
    name: "milne",
    summary: "inputs as assumed against inputs as they turned out; one step for one",
    source: "Milne's device",
    order: "degree + 1",
    options: &[
        Spec::number("tolerance", 1e-3, Range::Positive, "", "of inputs from simulators without their own"),
        Spec::number("weight", 1.0, Range::NotNegative, "", "weight of the relative part"),
    ],
    needs: |_| Needs::NOTHING,
    build: |options| {
        Box::new(Milne { tolerance: options.number("tolerance"), weight: options.number("weight") })
    },
};
