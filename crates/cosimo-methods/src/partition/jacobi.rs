//! One stage of all: nobody sees new values before everybody has stepped. Steps run in parallel.

use cosimo_core::entry::Entry;
use cosimo_core::interface::Needs;
use cosimo_core::method::{CouplingGraph, Partition};

pub(crate) struct Jacobi;

impl Partition for Jacobi {
    fn stages(&self, graph: &CouplingGraph) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![(0..graph.simulators.len()).collect()])
    }
}

pub(crate) const ENTRY: Entry<dyn Partition> = Entry {
    name: "jacobi",
    summary: "all simulators step at once, on old values",
    source: "Kübler & Schiehlen 2000",
    order: "of the input",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Jacobi),
};
