//! Stages along the connections: a simulator steps after those that drive it, with new values; simulators in a loop step
//! together, with the values of the previous point. Without loops nothing is extrapolated at all.

use cosimo_core::interface::Needs;
use cosimo_core::method::{CouplingGraph, Partition};
use cosimo_core::registry::MethodEntry;

use super::order;

pub(crate) struct Levels;

impl Partition for Levels {
    fn stages(&self, graph: &CouplingGraph) -> Result<Vec<Vec<usize>>, String> {
        Ok(order::levels(graph))
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Partition> = MethodEntry {
    name: "levels",
    summary: "level by level along the connections; simulators in a loop step together",
    source: "-",
    order: "of the input",
    options: &[],
    needs: |_| Needs::NOTHING,
    build: |_| Box::new(Levels),
};
