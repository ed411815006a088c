//! Suggests power bonds: two connections in opposite directions between the same two components, whose physical units
//! multiply to a power. Where several pairings are possible, names decide which is probable; the user decides.

use std::collections::BTreeSet;

use cosimo_core::registry::Registry;
use cosimo_core::unit::{DOMAINS, Domain, POWER};
use cosimo_core::{PowerVariable, Unit};
use cosimo_system::{BondDecl, ConnectionDecl, Opposite, PowerPort, Problem, System};

use super::Draft;
use super::ports::Ports;

/// Two connections that may be a bond.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The declaration that would replace the connections.
    pub bond: BondDecl,
    /// Indices in [`System::connections`]: of the effort and of the flow.
    pub wires: [usize; 2],
    /// The physical domain: `force and velocity`.
    pub domain: &'static str,
    /// Physical units of effort and flow, at their outputs.
    pub units: [String; 2],
    /// How well the names match.
    score: u32,
}

/// Candidates that share connections.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Suggestion {
    /// All possible pairings.
    pub candidates: Vec<Candidate>,
    /// Indices of the pairings that match by name, without using a connection twice; a single candidate always.
    pub probable: Vec<usize>,
}

impl Suggestion {
    /// There is only one way to pair these connections.
    pub fn is_certain(&self) -> bool {
        self.candidates.len() == 1
    }
}

/// Finds all candidates; fails if a component cannot be opened.
pub fn bonds(system: &System, registry: &Registry) -> Result<Vec<Suggestion>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut draft = Draft::open(system, registry, &mut problems);
    if !draft.closed.is_empty() {
        draft.plan(registry, &mut problems);
        return Err(problems);
    }
    let ports = draft.ports();
    let wires: Vec<(usize, PowerWire)> = system
        .connections
        .iter()
        .enumerate()
        .filter_map(|(at, wire)| Some((at, PowerWire::of(wire, &ports)?)))
        .collect();
    let mut candidates = Vec::new();
    for (at, (one, effort)) in wires.iter().enumerate() {
        let opposite = |flow: &PowerWire| effort.giver == flow.taker && effort.taker == flow.giver;
        for (other, flow) in wires[at + 1..].iter().filter(|(_, other)| opposite(other)) {
            // Which of the two is the effort follows from its physical unit, or does not matter.
            candidates.extend(
                Candidate::of([(*one, effort), (*other, flow)], &ports)
                    .or_else(|| Candidate::of([(*other, flow), (*one, effort)], &ports)),
            );
        }
    }
    let mut suggestions = grouped(candidates);
    name(&mut suggestions, system);
    Ok(suggestions)
}

/// A connection that could be one half of a bond: one output with a gain of 1 or -1.
struct PowerWire {
    output: usize,
    input: usize,
    /// The components.
    giver: usize,
    taker: usize,
    negative: bool,
}

impl PowerWire {
    fn of(wire: &ConnectionDecl, ports: &Ports<'_>) -> Option<PowerWire> {
        let [summand] = &wire.from[..] else { return None };
        if summand.gain.abs() != 1.0 || !summand.map.is_empty() || wire.offset != 0.0 || !wire.convert {
            return None;
        }
        let output = ports.output(&summand.port.0, &summand.port.1).ok()?;
        let input = ports.input(&wire.to.0, &wire.to.1).ok()?;
        let (giver, taker) = (ports.component_of(&summand.port.0)?, ports.component_of(&wire.to.0)?);
        (giver != taker).then_some(PowerWire { output, input, giver, taker, negative: summand.gain < 0.0 })
    }
}

impl Candidate {
    /// `None` unless the first can be the effort and the second the flow.
    fn of([(one, effort), (other, flow)]: [(usize, &PowerWire); 2], ports: &Ports<'_>) -> Option<Candidate> {
        let opposite = match (effort.negative, flow.negative) {
            (false, false) => Opposite::Neither,
            (true, false) => Opposite::Effort,
            (false, true) => Opposite::Flow,
            (true, true) => return None, // a bond has at most one opposite sign
        };
        // On side a the effort is the output.
        let a = [PowerVariable::Output(effort.output), PowerVariable::Input(flow.input)];
        let b = [PowerVariable::Input(effort.input), PowerVariable::Output(flow.output)];
        let units = |side: [PowerVariable; 2]| {
            Some((ports.port(side[0]).unit.as_ref()?, ports.port(side[1]).unit.as_ref()?))
        };
        // A side with units must match; one side may lack units.
        let (efforts, flows) = match (units(a), units(b)) {
            (Some(one), Some(other)) => power(one).and(power(other)).map(|()| one)?,
            (Some(one), None) | (None, Some(one)) => power(one).map(|()| one)?,
            (None, None) => return None,
        };
        let domain = DOMAINS
            .iter()
            .find(|domain| (domain.effort, domain.flow) == (efforts.dimension, flows.dimension));
        let swapped =
            DOMAINS.iter().any(|domain| (domain.flow, domain.effort) == (efforts.dimension, flows.dimension));
        if swapped {
            return None;
        }
        let side = |[effort, flow]: [PowerVariable; 2]| PowerPort {
            effort: (ports.path(effort), 0..0),
            flow: (ports.path(flow), 0..0),
        };
        let score =
            [a, b].map(|[effort, flow]| likeness(&ports.port(effort).name, &ports.port(flow).name, domain));
        Some(Candidate {
            bond: BondDecl {
                name: format!("{}-{}", ports.names[effort.giver], ports.names[effort.taker]),
                a: side(a),
                b: side(b),
                opposite,
                ..BondDecl::default()
            },
            wires: [one, other],
            domain: domain.map_or("an effort and a flow", |domain| domain.words),
            units: [efforts.to_string(), flows.to_string()],
            score: score.iter().sum(),
        })
    }
}

/// A power of two quantities that both have a dimension: watts times a plain number are not effort and flow.
fn power((effort, flow): (&Unit, &Unit)) -> Option<()> {
    let plain = effort.dimension == [0; 7] || flow.dimension == [0; 7];
    let level = effort.offset != 0.0 || flow.offset != 0.0;
    (effort.product(flow) == POWER && !plain && !level).then_some(())
}

/// How much two names look like effort and flow of one port: `hinge.F` and `hinge.v`, `tau_2` and `omega_2`.
fn likeness(effort: &str, flow: &str, domain: Option<&Domain>) -> u32 {
    let (letters, letters_of_flow): (&[&str], &[&str]) =
        domain.map_or((&[], &[]), |domain| (domain.efforts, domain.flows));
    let (spoken, rest) = without(effort, letters);
    let (spoken_flow, rest_of_flow) = without(flow, letters_of_flow);
    let same = match (rest == rest_of_flow, rest.is_empty()) {
        (true, false) => 2,
        (true, true) => 1,
        (false, _) => 0,
    };
    same + u32::from(spoken && spoken_flow)
}

/// The parts of a name without the letters of its quantity, and whether it had those.
fn without(name: &str, letters: &[&str]) -> (bool, Vec<String>) {
    let mut parts: Vec<String> = Vec::new();
    let mut last = None;
    for letter in name.chars() {
        let kind = (letter.is_alphabetic(), letter.is_numeric());
        match parts.last_mut() {
            Some(part) if last == Some(kind) => part.extend(letter.to_lowercase()),
            _ => parts.push(letter.to_lowercase().collect()),
        }
        last = Some(kind);
    }
    parts.retain(|part| part.chars().all(char::is_alphanumeric));
    let said = parts.iter().position(|part| letters.contains(&part.as_str()));
    if let Some(at) = said {
        parts.remove(at);
    }
    (said.is_some(), parts)
}

/// Groups candidates that share connections.
fn grouped(candidates: Vec<Candidate>) -> Vec<Suggestion> {
    let mut groups: Vec<Suggestion> = Vec::new();
    for candidate in candidates {
        let shares = |group: &Suggestion| {
            group.candidates.iter().any(|known| known.wires.iter().any(|wire| candidate.wires.contains(wire)))
        };
        let (mut joined, others): (Vec<Suggestion>, Vec<Suggestion>) = groups.into_iter().partition(shares);
        let mut group = Suggestion::default();
        joined.iter_mut().for_each(|known| group.candidates.append(&mut known.candidates));
        group.candidates.push(candidate);
        groups = others;
        groups.push(group);
    }
    for group in &mut groups {
        group.candidates.sort_by_key(|candidate| candidate.wires);
        group.probable = probable(&group.candidates);
    }
    groups.sort_by_key(|group| group.candidates.first().map(|first| first.wires));
    groups
}

/// The best matches first; of two that exclude each other with the same score, neither.
fn probable(candidates: &[Candidate]) -> Vec<usize> {
    if candidates.len() == 1 {
        return vec![0];
    }
    let rivals = |one: usize, other: usize| {
        one != other && candidates[one].wires.iter().any(|wire| candidates[other].wires.contains(wire))
    };
    let mut left: Vec<usize> = (0..candidates.len()).filter(|&at| candidates[at].score > 0).collect();
    let mut chosen = Vec::new();
    while let Some(best) = left.iter().map(|&at| candidates[at].score).max() {
        let top: Vec<usize> = left.iter().copied().filter(|&at| candidates[at].score == best).collect();
        let clear: Vec<usize> =
            top.iter().copied().filter(|&at| !top.iter().any(|&other| rivals(at, other))).collect();
        left.retain(|at| !top.contains(at) && !top.iter().any(|&taken| rivals(*at, taken)));
        chosen.extend(clear);
    }
    chosen.sort_unstable();
    chosen
}

/// Names bonds after the two components, in valid characters, numbered where there are several.
fn name(suggestions: &mut [Suggestion], system: &System) {
    let mut taken: BTreeSet<String> = (system.bonds.iter().map(|bond| &bond.name))
        .chain(system.junctions.iter().map(|junction| &junction.name))
        .cloned()
        .collect();
    for suggestion in suggestions {
        let likely = suggestion.probable.clone();
        let others = (0..suggestion.candidates.len()).filter(|at| !likely.contains(at));
        for at in likely.iter().copied().chain(others) {
            let name = &mut suggestion.candidates[at].bond.name;
            let plain: String = (name.chars())
                .map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' })
                .collect();
            let numbered =
                std::iter::once(plain.clone()).chain((2..).map(|count| format!("{plain}-{count}")));
            *name = numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or(plain);
            taken.insert(name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_port_are_alike() {
        let mechanical = DOMAINS.first();
        let score = |effort: &str, flow: &str| likeness(effort, flow, mechanical);
        assert_eq!(score("F", "v"), 2);
        assert_eq!(score("hinge.F", "hinge.v"), 3);
        assert_eq!(score("F_2", "v2"), 3);
        assert_eq!(score("F_2", "v_1"), 1);
        assert_eq!(score("axial_left", "speed_left"), 0);
        assert_eq!(score("F", "v_far"), 1);
        assert_eq!(score("load", "motion"), 0);
    }

    #[test]
    fn watts_times_a_number_are_no_effort_and_flow() {
        let unit = |text: &str| Unit::parse(text).unwrap();
        assert!(power((&unit("W"), &unit("1"))).is_none());
        assert!(power((&unit("kN"), &unit("mm/s"))).is_some());
        assert!(power((&unit("N"), &unit("m"))).is_none());
    }
}
