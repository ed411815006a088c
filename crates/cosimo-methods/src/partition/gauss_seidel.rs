//! Stages of one: each simulator sees the new values of those before it, which turns its extrapolation into
//! interpolation. The order is given, or that of the file.

use cosimo_core::entry::{Entry, Spec, suggest};
use cosimo_core::interface::Needs;
use cosimo_core::method::{CouplingGraph, Partition};

#[derive(Debug, Clone)]
pub struct GaussSeidel {
    /// Names of the first simulators; the others follow in the order of the file.
    pub order: Vec<String>,
}

impl Partition for GaussSeidel {
    fn stages(&self, graph: &CouplingGraph) -> Result<Vec<Vec<usize>>, String> {
        let mut order = Vec::new();
        for name in &self.order {
            let index = graph.simulators.iter().position(|known| known == name).ok_or_else(|| {
                let hint = suggest(name, graph.simulators.iter().map(String::as_str));
                format!("`order` of `gauss-seidel` names `{name}`, which is no component; {hint}")
            })?;
            if order.contains(&index) {
                return Err(format!("`order` of `gauss-seidel` names `{name}` twice"));
            }
            order.push(index);
        }
        for index in 0..graph.simulators.len() {
            if !order.contains(&index) {
                order.push(index);
            }
        }
        Ok(order.into_iter().map(|index| vec![index]).collect())
    }
}

pub const ENTRY: Entry<dyn Partition> = Entry {
    name: "gauss-seidel",
    summary: "one simulator after the other, each on the new values of those before it",
    source: "Kübler & Schiehlen 2000",
    options: &[Spec::names("order", "who steps first; the others follow in the order of the file")],
    needs: |_| Needs::NOTHING,
    build: |options| Box::new(GaussSeidel { order: options.names("order") }),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_order_comes_first_and_wrong_names_are_refused() {
        let graph = CouplingGraph { simulators: ["a", "b", "c"].map(String::from).to_vec(), edges: vec![] };
        let order = |names: &[&str]| GaussSeidel { order: names.iter().map(|n| (*n).into()).collect() };
        assert_eq!(order(&["c"]).stages(&graph).unwrap(), [[2], [0], [1]]);
        assert!(order(&["d"]).stages(&graph).unwrap_err().contains("no component"));
        assert!(order(&["a", "a"]).stages(&graph).unwrap_err().contains("twice"));
    }
}
