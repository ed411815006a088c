//! Dependencies of outputs at one instant: the order in which outputs are read, and algebraic loops.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use cosimo_core::Couplings;
use cosimo_core::graph::components;
use cosimo_core::link::PortRanges;

/// The order in which all outputs are computed at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Order {
    /// In sequence. Outputs without dependencies are read before.
    pub steps: Vec<OrderStep>,
    pub loops: Vec<Loop>,
    /// The longest chain of feed-throughs, with loops torn at their unknowns.
    pub depth: usize,
    /// Per input: it is an unknown of a loop.
    pub unknown: Vec<bool>,
    /// Per pass: the outputs that become known.
    pub passes: Vec<Vec<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderStep {
    /// An index into `passes`.
    Pass(usize),
    /// An index into `loops`.
    Loop(usize),
}

/// A strongly connected component: outputs and inputs that all depend on each other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Loop {
    /// Tearing variables: inputs that determine all the rest, except for discrete outputs.
    pub unknowns: Vec<usize>,
    /// Discrete outputs.
    pub discrete: Vec<usize>,
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
    /// The passes that compute the outputs from the unknowns.
    pub passes: Range<usize>,
    /// One cycle against the signal direction: `[output, input it depends on, output that drives it, ...]`.
    pub path: Vec<usize>,
}

impl Order {
    /// `feedthrough` are global (output, input) pairs; those of inputs that are not `renewed` do not count. Loops are torn
    /// behind all `discrete` outputs, and then preferably at `wanted` inputs, which have a start value.
    pub(crate) fn new(
        couplings: &Couplings,
        discrete: &[bool],
        feedthrough: &[(usize, usize)],
        renewed: &[bool],
        wanted: &[bool],
    ) -> Order {
        let outputs = discrete.len();
        let mut through = vec![Vec::new(); outputs];
        for &(output, input) in feedthrough {
            if renewed[input] && !couplings.terms(input).is_empty() {
                through[output].push(input);
            }
        }
        let inputs = couplings.inputs();
        let graph = Graph { couplings, through, discrete, outputs };
        let mut order = Order { unknown: vec![false; inputs], ..Order::default() };
        let mut levels = vec![0; outputs + inputs];
        let mut depths = vec![0; outputs + inputs];
        let mut inner = Inner { open: vec![SearchState::Outside; outputs + inputs], ranks: vec![0; outputs] };
        for group in components(outputs + inputs, |node, k| graph.needs(node, k)) {
            if let [node] = group[..] {
                let one = usize::from(node < outputs);
                for needed in graph.all_needs(node) {
                    levels[node] = levels[node].max(levels[needed] + one);
                    depths[node] = depths[node].max(depths[needed] + one);
                }
                if one == 1 && levels[node] > 0 {
                    let pass = levels[node] - 1;
                    order.passes.resize(order.passes.len().max(pass + 1), Vec::new());
                    order.passes[pass].push(node);
                }
                continue;
            }
            let mut found = inner.cut(&graph, group.clone(), wanted, &mut order.unknown);
            let ranks = found.outputs.iter().map(|output| inner.ranks[*output]).max().unwrap_or(0);
            // Levels of the group itself are still 0.
            let before = || group.iter().flat_map(|node| graph.all_needs(*node));
            let level = 1 + before().map(|node| levels[node]).max().unwrap_or(0);
            let depth = before().map(|node| depths[node]).max().unwrap_or(0);
            for node in &group {
                levels[*node] = level;
                depths[*node] = depth + 1 + ranks;
            }
            // The first own pass is set when all levels are known.
            found.passes = level..level + 1 + ranks;
            order.loops.push(found);
        }
        order.depth = depths[..outputs].iter().copied().max().unwrap_or(0);
        order.arrange(&inner.ranks);
        order
    }

    /// Level by level: first outputs outside of loops, then the loops, which are independent of each other there.
    fn arrange(&mut self, ranks: &[usize]) {
        let levels =
            self.passes.len().max(self.loops.iter().map(|found| found.passes.start).max().unwrap_or(0));
        self.passes.resize(levels, Vec::new());
        let starts: Vec<usize> = self.loops.iter().map(|found| found.passes.start).collect();
        for found in &mut self.loops {
            let first = self.passes.len();
            self.passes.resize(first + found.passes.len(), Vec::new());
            found.passes = first..self.passes.len();
            for output in &found.outputs {
                self.passes[first + ranks[*output]].push(*output);
            }
        }
        for level in 1..=levels {
            if !self.passes[level - 1].is_empty() {
                self.steps.push(OrderStep::Pass(level - 1));
            }
            let here = starts.iter().enumerate().filter(|(_, start)| **start == level);
            self.steps.extend(here.map(|(place, _)| OrderStep::Loop(place)));
        }
    }
}

/// Nodes are outputs, then inputs.
struct Graph<'a> {
    couplings: &'a Couplings,
    through: Vec<Vec<usize>>,
    discrete: &'a [bool],
    outputs: usize,
}

impl Graph<'_> {
    fn needs(&self, node: usize, k: usize) -> Option<usize> {
        match node.checked_sub(self.outputs) {
            None => self.through[node].get(k).map(|input| self.outputs + input),
            Some(input) => self.couplings.terms(input).get(k).map(|term| term.output),
        }
    }

    fn all_needs(&self, node: usize) -> impl Iterator<Item = usize> {
        (0..).map_while(move |k| self.needs(node, k))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum SearchState {
    /// In another group.
    Outside,
    New,
    Open,
    Done,
}

/// Search inside of a loop.
struct Inner {
    open: Vec<SearchState>,
    /// Per output: how many outputs of its loop precede it.
    ranks: Vec<usize>,
}

impl Inner {
    /// Depth-first search: an input that closes a cycle becomes an unknown.
    fn cut(
        &mut self,
        graph: &Graph<'_>,
        mut group: Vec<usize>,
        wanted: &[bool],
        unknown: &mut [bool],
    ) -> Loop {
        group.sort_unstable();
        let first_input = group.partition_point(|node| *node < graph.outputs);
        let inputs: Vec<usize> = group[first_input..].iter().map(|node| node - graph.outputs).collect();
        for node in &group {
            self.open[*node] = SearchState::New;
        }
        // Inputs driven by discrete outputs alone need no guess.
        let real = |input: usize| {
            let mut terms = graph.couplings.terms(input).iter();
            terms.any(|term| !graph.discrete[term.output] && self.open[term.output] == SearchState::New)
        };
        for input in inputs.iter().filter(|input| wanted[**input] && real(**input)) {
            unknown[*input] = true;
        }
        let mut done = Vec::with_capacity(group.len());
        for start in &group {
            if self.open[*start] != SearchState::New {
                continue;
            }
            let mut path = vec![(*start, 0)];
            self.open[*start] = SearchState::Open;
            while let Some((node, seen)) = path.last_mut() {
                let node = *node;
                let cut = node.checked_sub(graph.outputs).is_some_and(|input| unknown[input]);
                match graph.needs(node, *seen).filter(|_| !cut) {
                    Some(next) => {
                        *seen += 1;
                        if graph.discrete.get(next).copied().unwrap_or(false) {
                            continue; // held while real unknowns are solved
                        }
                        match self.open[next] {
                            SearchState::New => {
                                self.open[next] = SearchState::Open;
                                path.push((next, 0));
                            }
                            SearchState::Open => unknown[node.max(next) - graph.outputs] = true,
                            SearchState::Outside | SearchState::Done => {}
                        }
                    }
                    None => {
                        self.open[node] = SearchState::Done;
                        done.push(node);
                        path.pop();
                    }
                }
            }
        }
        // In this order the dependencies of an output precede it, since all cuts are known.
        for &node in done.iter().filter(|node| **node < graph.outputs) {
            let known =
                |input: &usize| !unknown[*input] && self.open[graph.outputs + input] == SearchState::Done;
            let drivers = graph.through[node].iter().filter(|input| known(input));
            let drivers = drivers.flat_map(|input| graph.couplings.terms(*input)).map(|term| term.output);
            let inside =
                drivers.filter(|output| self.open[*output] == SearchState::Done && !graph.discrete[*output]);
            self.ranks[node] = inside.map(|output| self.ranks[output] + 1).max().unwrap_or(0);
        }
        let unknowns: Vec<usize> = inputs.iter().copied().filter(|input| unknown[*input]).collect();
        let begin = unknowns.first().or(inputs.first());
        let path = begin.map_or(Vec::new(), |input| self.way_round(graph, *input));
        for node in &group {
            self.open[*node] = SearchState::Outside;
        }
        let outputs = group[..first_input].to_vec();
        let discrete = outputs.iter().copied().filter(|output| graph.discrete[*output]).collect();
        Loop { unknowns, discrete, inputs, outputs, passes: 0..0, path }
    }

    /// The shortest cycle through an input.
    fn way_round(&self, graph: &Graph<'_>, input: usize) -> Vec<usize> {
        let start = graph.outputs + input;
        let mut came_from = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front().filter(|_| !came_from.contains_key(&start)) {
            for next in graph.all_needs(node).filter(|next| self.open[*next] == SearchState::Done) {
                came_from.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    node
                });
            }
        }
        // The search went against the signal, so its path is reversed.
        let before = |node: &usize| came_from.get(node).copied().filter(|node| *node != start);
        let mut way: Vec<usize> = std::iter::successors(before(&start), before).collect();
        way.reverse();
        let Some(last) = way.pop() else { return Vec::new() };
        let bare = |node: usize| if node < graph.outputs { node } else { node - graph.outputs };
        [last, start].into_iter().chain(way).map(bare).collect()
    }
}

/// (from, to) pairs of simulators, sorted, without repetition.
pub(super) fn edges(couplings: &Couplings, blocks: &[PortRanges], owners: &[usize]) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for (to, block) in blocks.iter().enumerate() {
        for input in block.inputs.clone() {
            edges.extend(couplings.terms(input).iter().map(|term| (owners[term.output], to)));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::Term;

    fn couplings(rows: &[Vec<usize>]) -> Couplings {
        let rows: Vec<Vec<Term>> =
            rows.iter().map(|row| row.iter().map(|&output| Term { output, gain: 1.0 }).collect()).collect();
        let constants = vec![0.0; rows.len()];
        Couplings::new(&rows, constants)
    }

    fn order(rows: &[Vec<usize>], outputs: usize, feedthrough: &[(usize, usize)]) -> Order {
        let all = vec![true; rows.len()];
        Order::new(&couplings(rows), &vec![false; outputs], feedthrough, &all, &vec![false; rows.len()])
    }

    #[test]
    fn passes_follow_the_signal() {
        // Outputs 0 -> input 1 -> output 1 -> input 2 -> output 2; output 0 has no feed-through.
        let chain = order(&[vec![2], vec![0], vec![1]], 3, &[(1, 1), (2, 2)]);
        assert_eq!(chain.passes, [vec![1], vec![2]]);
        assert_eq!(chain.steps, [OrderStep::Pass(0), OrderStep::Pass(1)]);
        assert_eq!((chain.depth, chain.loops.len()), (2, 0));
    }

    #[test]
    fn unconnected_inputs_are_no_dependencies() {
        let alone = order(&[vec![]], 1, &[(0, 0)]);
        assert_eq!((alone.depth, alone.steps.len()), (0, 0));
    }

    #[test]
    fn a_loop_has_a_path_and_is_cut_where_a_guess_is() {
        let rows = [vec![1], vec![0]];
        let feedthrough = [(0, 0), (1, 1)];
        let pair = order(&rows, 2, &feedthrough);
        let [found] = &pair.loops[..] else { panic!("{pair:?}") };
        assert_eq!((found.unknowns.len(), &found.inputs, &found.outputs), (1, &vec![0, 1], &vec![0, 1]));
        assert_eq!(pair.steps, [OrderStep::Loop(0)]);
        assert_eq!(found.path.len(), 4);
        let wanted = |input| {
            Order::new(&couplings(&rows), &[false; 2], &feedthrough, &[true; 2], &[input == 0, input == 1])
        };
        // Output 0 depends on input 0, which output 1 drives, which depends on input 1, which output 0 drives.
        assert_eq!((&wanted(0).loops[0].unknowns, &wanted(0).loops[0].path), (&vec![0], &vec![0, 0, 1, 1]));
        assert_eq!((&wanted(1).loops[0].unknowns, &wanted(1).loops[0].path), (&vec![1], &vec![1, 1, 0, 0]));
        // From the unknown input 0 follows output 0, from that output 1.
        assert_eq!(wanted(0).passes[wanted(0).loops[0].passes.clone()], [vec![0], vec![1]]);
        assert_eq!(wanted(0).depth, 2);
    }

    #[test]
    fn an_input_that_is_not_renewed_breaks_a_loop() {
        let rows = couplings(&[vec![1], vec![0]]);
        let open = Order::new(&rows, &[false; 2], &[(0, 0), (1, 1)], &[true, false], &[false; 2]);
        assert_eq!((open.loops.len(), open.steps), (0, vec![OrderStep::Pass(0)]));
    }

    #[test]
    fn loops_wait_for_what_they_depend_on() {
        // A source 0, a loop of 1 and 2 driven by it, 3 driven by the loop, and a loop of 4 and 5 driven by 3.
        // Inputs: 0 and 1 of the first loop's first (from 0 and 2), 2 of its second, 3, 4 and 5 of the second loop's
        // first (from 3 and 5), 6 of its second.
        let rows = [vec![0], vec![2], vec![1], vec![1], vec![3], vec![5], vec![4]];
        let feedthrough = [(1, 0), (1, 1), (2, 2), (3, 3), (4, 4), (4, 5), (5, 6)];
        let order = order(&rows, 6, &feedthrough);
        assert_eq!(order.loops.len(), 2);
        let outputs: Vec<&Vec<usize>> = order.loops.iter().map(|found| &found.outputs).collect();
        assert_eq!(outputs, [&vec![1, 2], &vec![4, 5]]);
        let [OrderStep::Loop(0), OrderStep::Pass(pass), OrderStep::Loop(1)] = order.steps[..] else {
            panic!("{order:?}")
        };
        assert_eq!(order.passes[pass], [3]);
        assert_eq!(order.depth, 5);
    }

    #[test]
    fn what_is_discrete_is_no_unknown_of_newton() {
        // 1 and the switch 2 drive 0, which drives both: one real unknown, one discrete output.
        let rows = couplings(&[vec![1, 2], vec![0], vec![0]]);
        let feedthrough = [(0, 0), (1, 1), (2, 2)];
        let order = Order::new(&rows, &[false, false, true], &feedthrough, &[true; 3], &[false; 3]);
        let [found] = &order.loops[..] else { panic!("{order:?}") };
        assert_eq!((found.unknowns.len(), &found.discrete), (1, &vec![2]));
        // Two switches that drive each other: no unknown for Newton, even with start values.
        let pair = couplings(&[vec![1], vec![0]]);
        let order = Order::new(&pair, &[true; 2], &[(0, 0), (1, 1)], &[true; 2], &[true; 2]);
        assert_eq!((&order.loops[0].unknowns, &order.loops[0].discrete), (&vec![], &vec![0, 1]));
        assert_eq!(order.loops[0].path.len(), 4);
    }

    #[test]
    fn two_loops_through_one_simulator_are_solved_together() {
        // 1 and 2 drive 0, which drives both.
        let order = order(&[vec![1], vec![2], vec![0], vec![0]], 3, &[(0, 0), (0, 1), (1, 2), (2, 3)]);
        let [found] = &order.loops[..] else { panic!("{order:?}") };
        let known: Vec<usize> = order.passes[found.passes.clone()].concat();
        assert_eq!(known.len(), 3);
        assert!(found.unknowns.len() <= 2, "{found:?}");
    }
}
