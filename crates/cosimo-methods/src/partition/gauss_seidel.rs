//! One simulator per stage: each uses the new values of those before it, which turns extrapolation into interpolation.
//! The order is given, that of the file, or that of the connections.

use cosimo_core::interface::Needs;
use cosimo_core::method::{CouplingGraph, Partition};
use cosimo_core::registry::{MethodEntry, Spec, suggest};

pub(crate) struct GaussSeidel {
    /// Names of the first simulators.
    pub order: Vec<String>,
    /// The others are ordered along the connections, as far as loops allow; else as in the file.
    pub by_graph: bool,
}

impl Partition for GaussSeidel {
    fn stages(&self, graph: &CouplingGraph) -> Result<Vec<Vec<usize>>, String> {
        let mut order = Vec::new();
        for name in &self.order {
            let index = graph.simulators.iter().position(|known| known == name).ok_or_else(|| {
                let hint = suggest(name, graph.simulators.iter().map(String::as_str));
                format!("`order` of `gauss-seidel` names `{name}`, which is not a component; {hint}")
            })?;
            if order.contains(&index) {
                return Err(format!("`order` of `gauss-seidel` names `{name}` twice"));
            }
            order.push(index);
        }
        let rest: Vec<usize> = match self.by_graph {
            true => super::order::groups(graph).concat(),
            false => (0..graph.simulators.len()).collect(),
        };
        for index in rest {
            if !order.contains(&index) {
                order.push(index);
            }
        }
        Ok(order.into_iter().map(|index| vec![index]).collect())
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Partition> = MethodEntry {
    name: "gauss-seidel",
    summary: "one simulator after the other, each with the new values of those before it",
    source: "Kübler & Schiehlen 2000",
    order: "of the input",
    options: &[
        Spec::names("order", "components that step first, in this order"),
        Spec::choice(
            "rest",
            "file",
            &["file", "graph"],
            "order of the others: that of the file, or along the connections",
        ),
    ],
    needs: |_| Needs::NOTHING,
    build: |options| {
        Box::new(GaussSeidel { order: options.names("order"), by_graph: options.text("rest") == "graph" })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_order_comes_first_and_wrong_names_are_refused() {
        let graph = CouplingGraph { simulators: ["a", "b", "c"].map(String::from).to_vec(), edges: vec![] };
        let order = |names: &[&str]| GaussSeidel {
            order: names.iter().map(|n| (*n).into()).collect(),
            by_graph: false,
        };
        assert_eq!(order(&["c"]).stages(&graph).unwrap(), [[2], [0], [1]]);
        let chain = CouplingGraph { edges: vec![(1, 0), (2, 1)], ..graph.clone() };
        assert_eq!(GaussSeidel { order: vec![], by_graph: true }.stages(&chain).unwrap(), [[2], [1], [0]]);
        assert!(order(&["d"]).stages(&graph).unwrap_err().contains("not a component"));
        assert!(order(&["a", "a"]).stages(&graph).unwrap_err().contains("twice"));
    }

    #[test]
    fn others_follow_the_file_unless_the_graph_is_asked_for() {
        let simulators = ["a", "b"].map(String::from).to_vec();
        let graph = CouplingGraph { simulators, edges: vec![(1, 0)] };
        let stages = |given: &[(String, cosimo_core::Value)]| {
            let options = cosimo_core::Options::resolve("it", ENTRY.options, given).unwrap();
            (ENTRY.build)(&options).stages(&graph).unwrap()
        };
        assert_eq!(stages(&[]), [[0], [1]]);
        assert_eq!(stages(&[("rest".into(), "graph".into())]), [[1], [0]]);
    }
}
