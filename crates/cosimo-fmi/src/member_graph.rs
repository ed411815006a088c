//! The coupling graph of a monolithic group: in which order inputs are set and outputs read at one instant, and which of
//! them form algebraic loops.

use std::collections::BTreeSet;
use std::ops::Range;

use cosimo_core::graph::components;
use cosimo_core::registry::InnerConnection;

use crate::description::VariableType;
use crate::ports::{PortGroup, Ports};

/// A variable of an FMU: one number, or the elements of an array.
#[derive(Debug, Clone)]
pub(crate) struct MemberVariable {
    pub(crate) member: usize,
    pub(crate) kind: VariableType,
    /// An input that changes only at events.
    pub(crate) discrete: bool,
    pub(crate) reference: u32,
    /// Its places among all inputs, or all outputs.
    pub(crate) places: Range<usize>,
}

/// What an input is: a constant, and what comes from outside, and what comes from other members.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputSum {
    pub(crate) constant: f64,
    /// The input of the group connected to it.
    pub(crate) outside: Option<usize>,
    /// Places of outputs, with gains.
    pub(crate) terms: Vec<(usize, f64)>,
}

/// What can be done at once because all that it depends on is known.
#[derive(Debug, Clone)]
pub(crate) enum SolveStep {
    /// One after the other or in any order.
    Plain { sets: Vec<usize>, gets: Vec<usize> },
    /// Each depends on each.
    Loop { sets: Vec<usize>, gets: Vec<usize> },
}

#[derive(Debug, Clone)]
pub(crate) struct MemberGraph {
    pub(crate) inputs: Vec<MemberVariable>,
    pub(crate) outputs: Vec<MemberVariable>,
    /// One per place among all inputs.
    pub(crate) sources: Vec<InputSum>,
    pub(crate) turns: Vec<SolveStep>,
    /// How many outputs there are, elements counted.
    pub(crate) shown: usize,
    /// Per output: connected to another member.
    pub(crate) drives: Vec<bool>,
    /// How many inputs the whole has.
    pub(crate) heard: usize,
    /// Pairs of an output of the whole and an input of the whole that it answers at once.
    pub(crate) feedthrough: Vec<(usize, usize)>,
}

/// The variables of one side of all members.
fn variables(
    members: &[Ports],
    groups: fn(&Ports) -> &[PortGroup],
    count: fn(&Ports) -> usize,
) -> Vec<MemberVariable> {
    let mut list: Vec<MemberVariable> = Vec::new();
    let mut first = 0;
    for (member, ports) in members.iter().enumerate() {
        for group in groups(ports) {
            let mut rest = group.ports.as_slice();
            for (reference, size) in group.references.iter().zip(&group.sizes) {
                let (own, behind) = rest.split_at((*size).min(rest.len()));
                rest = behind;
                if let Some(start) = own.first() {
                    let places = first + start..first + start + own.len();
                    let PortGroup { kind, discrete, .. } = *group;
                    list.push(MemberVariable { member, kind, discrete, reference: *reference, places });
                }
            }
        }
        first += count(ports);
    }
    list
}

impl MemberGraph {
    pub(crate) fn new(members: &[Ports], wires: &[InnerConnection]) -> MemberGraph {
        let inputs = variables(members, |ports| &ports.inputs, |ports| ports.interface.inputs.len());
        let outputs = variables(members, |ports| &ports.outputs, |ports| ports.interface.outputs.len());
        // The first input and output of each member.
        let starts = |count: fn(&Ports) -> usize| {
            members.iter().scan(0, move |next, ports| {
                let start = *next;
                *next += count(ports);
                Some(start)
            })
        };
        let first_input: Vec<usize> = starts(|ports| ports.interface.inputs.len()).collect();
        let first_output: Vec<usize> = starts(|ports| ports.interface.outputs.len()).collect();
        let all: usize = members.iter().map(|ports| ports.interface.inputs.len()).sum();
        let shown = members.iter().map(|ports| ports.interface.outputs.len()).sum();
        let mut sources = vec![InputSum::default(); all];
        let mut inner = vec![false; all];
        for wire in wires {
            let place = first_input[wire.to.0] + wire.to.1;
            inner[place] = !wire.outside;
            sources[place].constant = wire.constant;
            sources[place].terms = wire
                .terms
                .iter()
                .map(|(member, output, gain)| (first_output[*member] + output, *gain))
                .collect();
        }
        let mut heard = 0;
        for (source, _) in sources.iter_mut().zip(&inner).filter(|(_, inner)| !**inner) {
            source.outside = Some(heard);
            heard += 1;
        }
        let mut drives = vec![false; shown];
        sources.iter().flat_map(|source| &source.terms).for_each(|(output, _)| drives[*output] = true);
        let (turns, feedthrough) = (Vec::new(), Vec::new());
        let mut net = MemberGraph { inputs, outputs, sources, turns, shown, drives, heard, feedthrough };
        let through: Vec<(usize, usize)> = members
            .iter()
            .enumerate()
            .flat_map(|(member, ports)| {
                let pairs = ports.interface.feedthrough.iter();
                pairs.map(move |(output, input)| (member, *output, *input))
            })
            .map(|(member, output, input)| (first_output[member] + output, first_input[member] + input))
            .collect();
        let graph = net.graph(&through);
        net.turns = in_turns(&graph, net.inputs.len());
        net.feedthrough = net.reach(&graph);
        net
    }

    /// Which variable follows from which: inputs first, then outputs.
    fn graph(&self, through: &[(usize, usize)]) -> Vec<BTreeSet<usize>> {
        let owner = |variables: &[MemberVariable], first: usize, count: usize| {
            let mut owners = vec![usize::MAX; count];
            for (index, variable) in variables.iter().enumerate() {
                owners[variable.places.clone()].fill(first + index);
            }
            owners
        };
        let input_of = owner(&self.inputs, 0, self.sources.len());
        let output_of = owner(&self.outputs, self.inputs.len(), self.shown);
        let mut needs = vec![BTreeSet::new(); self.inputs.len() + self.outputs.len()];
        for (place, source) in self.sources.iter().enumerate() {
            for (output, _) in &source.terms {
                if let Some(needs) = needs.get_mut(input_of[place]) {
                    needs.insert(output_of[*output]);
                }
            }
        }
        for (output, input) in through {
            if let Some(needs) = needs.get_mut(output_of[*output]) {
                needs.insert(input_of[*input]);
            }
        }
        needs
    }

    fn reach(&self, needs: &[BTreeSet<usize>]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (index, variable) in self.outputs.iter().enumerate() {
            let mut seen = BTreeSet::from([self.inputs.len() + index]);
            let mut open: Vec<usize> = seen.iter().copied().collect();
            while let Some(node) = open.pop() {
                open.extend(needs[node].iter().copied().filter(|next| seen.insert(*next)));
            }
            let heard = seen.iter().filter_map(|node| self.inputs.get(*node));
            let outside: Vec<usize> = heard
                .flat_map(|input| &self.sources[input.places.clone()])
                .filter_map(|source| source.outside)
                .collect();
            for output in variable.places.clone() {
                pairs.extend(outside.iter().map(|input| (output, *input)));
            }
        }
        pairs
    }
}

/// Nodes that depend on each other are one; what depends on nothing comes first.
fn in_turns(needs: &[BTreeSet<usize>], inputs: usize) -> Vec<SolveStep> {
    let lists: Vec<Vec<usize>> = needs.iter().map(|needs| needs.iter().copied().collect()).collect();
    let groups = components(needs.len(), |node, k| lists[node].get(k).copied());
    let mut group_of = vec![0; needs.len()];
    for (index, group) in groups.iter().enumerate() {
        group.iter().for_each(|node| group_of[*node] = index);
    }
    let mut levels: Vec<usize> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let before = group.iter().flat_map(|node| &needs[*node]).map(|needed| group_of[*needed]);
        let level = before.filter(|other| *other != index).map(|other| levels[other] + 1).max().unwrap_or(0);
        levels.push(level);
    }
    let parts = |mut nodes: Vec<usize>| {
        nodes.sort_unstable();
        let (sets, gets): (Vec<usize>, Vec<usize>) = nodes.into_iter().partition(|node| *node < inputs);
        (sets, gets.into_iter().map(|node| node - inputs).collect())
    };
    let mut turns = Vec::new();
    for level in 0..levels.iter().max().map_or(0, |deepest| deepest + 1) {
        let here = || groups.iter().zip(&levels).filter(|(_, at)| **at == level).map(|(group, _)| group);
        let plain: Vec<usize> = here().filter(|group| group.len() == 1).flatten().copied().collect();
        if !plain.is_empty() {
            let (sets, gets) = parts(plain);
            turns.push(SolveStep::Plain { sets, gets });
        }
        for group in here().filter(|group| group.len() > 1) {
            let (sets, gets) = parts(group.clone());
            turns.push(SolveStep::Loop { sets, gets });
        }
    }
    turns
}
