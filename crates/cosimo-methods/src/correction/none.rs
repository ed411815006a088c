//! No correction: inputs are applied as extrapolated.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Correction, CorrectionContext, Sizes, StepRecord};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{Segment, Window};

pub(crate) struct None;

impl Correction for None {
    fn memory(&self, _shape: &Sizes) -> usize {
        0
    }

    fn idle(&self) -> bool {
        true
    }

    fn offsets(
        &self,
        _: &CorrectionContext<'_>,
        _: &[f64],
        _: Window,
        _: &mut [Segment],
        _: &mut [bool],
        _: &mut [f64],
    ) {
    }

    fn learn(&self, _: &CorrectionContext<'_>, _: &StepRecord<'_>, _: &mut [f64], _: &mut [f64]) {}
}

pub(crate) const ENTRY: MethodEntry<dyn Correction> = MethodEntry {
    name: "none",
    summary: "inputs are applied as extrapolated",
    source: "-",
    order: "",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(None),
};
