//! The step size stays as it is.

use cosimo_core::entry::Entry;
use cosimo_core::interface::Needs;
use cosimo_core::method::Law;

pub(crate) struct Fixed;

impl Law for Fixed {
    fn factor(&self, _memory: &[f64], _error: f64, _order: u32) -> f64 {
        1.0
    }

    fn adaptive(&self) -> bool {
        false
    }
}

pub(crate) const ENTRY: Entry<dyn Law> = Entry {
    name: "fixed",
    summary: "the step size stays as it is",
    source: "-",
    order: "",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Fixed),
};
