//! One sweep: non-iterative co-simulation.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Iteration, Passes};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{StepError, Window};

pub(crate) struct Once;

impl Iteration for Once {
    fn run(&self, passes: &mut dyn Passes, window: Window, _scratch: &mut [f64]) -> Result<(), StepError> {
        passes.sweep(window)
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Iteration> = MethodEntry {
    name: "once",
    summary: "every stage steps once; no rollback",
    source: "-",
    order: "of the input",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Once),
};
