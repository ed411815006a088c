//! Constant step size.

use cosimo_core::interface::Needs;
use cosimo_core::method::StepController;
use cosimo_core::registry::MethodEntry;

pub(crate) struct FixedStep;

impl StepController for FixedStep {
    fn factor(&self, _memory: &[f64], _error: f64, _order: u32) -> f64 {
        1.0
    }

    fn adaptive(&self) -> bool {
        false
    }
}

pub(crate) const ENTRY: MethodEntry<dyn StepController> = MethodEntry {
    name: "fixed",
    summary: "constant step size",
    source: "-",
    order: "",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(FixedStep),
};
