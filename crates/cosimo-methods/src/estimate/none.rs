//! No estimate: every step is accepted.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Estimate, Sizes, StepRecord};
use cosimo_core::registry::MethodEntry;

pub(crate) struct None;

impl Estimate for None {
    fn idle(&self) -> bool {
        true
    }

    fn order(&self, _shape: &Sizes) -> u32 {
        1
    }

    fn measure(&self, _record: &StepRecord<'_>) -> f64 {
        0.0
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Estimate> = MethodEntry {
    name: "none",
    summary: "no estimate; every step is accepted",
    source: "-",
    order: "",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(None),
};
