//! Topological order of the simulators: drivers come before those they drive, and simulators in a loop stay together.

use cosimo_core::graph::components;
use cosimo_core::method::CouplingGraph;

/// Groups of simulators that drive each other in a loop, those without inputs from others first; inside a group and
/// between independent groups in the order of the file.
pub(super) fn groups(graph: &CouplingGraph) -> Vec<Vec<usize>> {
    let count = graph.simulators.len();
    let mut backward = vec![Vec::new(); count];
    for &(from, to) in &graph.edges {
        backward[to].push(from);
    }
    let mut cycles = components(count, |member, k| backward[member].get(k).copied());
    let mut cycle_of = vec![0; count];
    for (place, cycle) in cycles.iter_mut().enumerate() {
        cycle.sort_unstable();
        cycle.iter().for_each(|&member| cycle_of[member] = place);
    }
    // Of all loops whose drivers are placed, the first in the file comes next.
    let mut placed = vec![false; cycles.len()];
    let mut order = Vec::new();
    while order.len() < cycles.len() {
        let ready = |cycle: &usize| {
            !placed[*cycle]
                && cycles[*cycle].iter().all(|&member| {
                    backward[member].iter().all(|&from| cycle_of[from] == *cycle || placed[cycle_of[from]])
                })
        };
        let Some(next) = (0..cycles.len()).filter(ready).min_by_key(|&cycle| cycles[cycle][0]) else {
            break;
        };
        placed[next] = true;
        order.push(cycles[next].clone());
    }
    order
}

/// Simulators by level: the longest path of groups that leads to them.
pub(super) fn levels(graph: &CouplingGraph) -> Vec<Vec<usize>> {
    let groups = groups(graph);
    let mut level_of = vec![0; graph.simulators.len()];
    for group in &groups {
        let level = graph
            .edges
            .iter()
            .filter(|(from, to)| group.contains(to) && !group.contains(from))
            .map(|(from, _)| level_of[*from] + 1)
            .max()
            .unwrap_or(0);
        group.iter().for_each(|&member| level_of[member] = level);
    }
    let depth = level_of.iter().max().map_or(0, |deepest| deepest + 1);
    (0..depth)
        .map(|level| (0..level_of.len()).filter(|&member| level_of[member] == level).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(count: usize, edges: &[(usize, usize)]) -> CouplingGraph {
        CouplingGraph { simulators: (0..count).map(|k| k.to_string()).collect(), edges: edges.to_vec() }
    }

    #[test]
    fn circles_stay_together_and_sources_come_first() {
        // 3 drives 1, 1 and 4 drive each other, 4 drives 0; 2 is alone.
        let graph = graph(5, &[(1, 4), (3, 1), (4, 0), (4, 1)]);
        assert_eq!(groups(&graph), [vec![2], vec![3], vec![1, 4], vec![0]]);
        assert_eq!(levels(&graph), [vec![2, 3], vec![1, 4], vec![0]]);
    }

    #[test]
    fn a_ring_is_one_group_and_a_chain_none() {
        let ring: Vec<_> = (0..1000).map(|k| (k, (k + 1) % 1000)).collect();
        assert_eq!(groups(&graph(1000, &ring)).len(), 1);
        let chain: Vec<_> = (1..300).map(|k| (k, k - 1)).collect();
        assert_eq!(levels(&graph(300, &chain)).concat(), (0..300).rev().collect::<Vec<_>>());
        assert_eq!(groups(&graph(0, &[])), Vec::<Vec<usize>>::new());
    }
}
