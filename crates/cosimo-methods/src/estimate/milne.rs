//! Extrapolated inputs at the end of the step against the computed outputs: predictor against corrector.
//! One step, no rollback. It estimates the extrapolation error, not its effect inside the simulators.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Estimate, Sizes, StepRecord};
use cosimo_core::registry::{MethodEntry, Range, Spec};

use super::{Scale, WEIGHT, worst};

pub(crate) struct Milne(Scale);

impl Estimate for Milne {
    fn order(&self, shape: &Sizes) -> u32 {
        shape.degree + 1
    }

    fn measure(&self, record: &StepRecord<'_>) -> f64 {
        let Milne(Scale { tolerance, weight }) = self;
        let driven = |input: &usize| !record.couplings.terms(*input).is_empty();
        worst((0..record.applied.len()).filter(driven).map(|input| {
            let assumed = record.applied[input].at(record.window.size);
            let found = record.couplings.value(input, record.traces.newest());
            // The smallest tolerance of the simulators that drive the input.
            let tolerances = record
                .couplings
                .terms(input)
                .iter()
                .map(|term| record.tolerances[term.output].unwrap_or(*tolerance));
            (assumed - found).abs() / (1.0 + weight * found.abs()) / tolerances.fold(f64::INFINITY, f64::min)
        }))
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Estimate> = MethodEntry {
    name: "milne",
    summary: "extrapolated inputs against computed ones at the end of the step; one step for one",
    source: "Milne's device",
    order: "degree + 1",
    options: &[
        Spec::number("tolerance", 1e-3, Range::Positive, "", "of inputs from simulators without their own"),
        WEIGHT,
    ],
    needs: |_| Needs::NOTHING,
    build: |options| Box::new(Milne(Scale::new(options))),
};
