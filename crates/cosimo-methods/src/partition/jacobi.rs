//! All simulators in one stage, with the values of the previous communication point. Steps run in parallel.

use cosimo_core::interface::Needs;
use cosimo_core::method::{CouplingGraph, Partition};
use cosimo_core::registry::MethodEntry;

pub(crate) struct Jacobi;

impl Partition for Jacobi {
    fn stages(&self, graph: &CouplingGraph) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![(0..graph.simulators.len()).collect()])
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Partition> = MethodEntry {
    name: "jacobi",
    summary: "all simulators step in parallel, with the values of the previous communication point",
    source: "Kübler & Schiehlen 2000",
    order: "of the input",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Jacobi),
};
