//! What SSP cannot express: methods, bonds, tolerances, results. It is kept in an annotation in the syntax of
//! `system.toml`, so that the same reader and writer are used.

use cosimo_core::Registry;
use cosimo_system::{JunctionDecl, System, sources, toml};

use crate::document::ProblemLog;
use crate::tree::Structure;

/// The namespace of the one element inside the annotation.
pub(crate) const NAMESPACE: &str = "urn:cosimo:ssp:1";

/// Adds the annotation; without one, the experiment is the default experiment of the components.
pub(crate) fn merge(system: &mut System, structure: &Structure, registry: &Registry, log: &mut ProblemLog) {
    if let Some((text, start)) = &structure.own {
        let problems = toml::supplement(text, *start, system, registry);
        problems.into_iter().for_each(|problem| log.push(problem));
        drop_implied(system);
        if structure.stop.is_some() {
            return;
        }
    }
    let mut suggested = system.clone();
    sources::suggest_experiment(&mut suggested, registry);
    if structure.start.is_none() {
        system.experiment.start = suggested.experiment.start;
    }
    if structure.stop.is_none() && suggested.experiment.stop > system.experiment.start {
        system.experiment.stop = suggested.experiment.stop;
    }
    if structure.own.is_none() {
        system.methods.step = suggested.methods.step;
        structure.settings.apply(system, registry);
    }
}

/// Bonds and junctions are written as connections as well, for other tools; here those are redundant.
fn drop_implied(system: &mut System) {
    let bonds = system
        .bonds
        .iter()
        .flat_map(|bond| [(&bond.a.effort.0, &bond.b.effort.0), (&bond.a.flow.0, &bond.b.flow.0)]);
    let junctions = system.junctions.iter().flat_map(pairs);
    let mut implied = std::collections::BTreeSet::new();
    for (one, other) in bonds.chain(junctions) {
        implied.insert((one.clone(), other.clone()));
        implied.insert((other.clone(), one.clone()));
    }
    system.connections.retain(|connection| match &connection.from[..] {
        [from] => !implied.contains(&(from.port.0.clone(), connection.to.0.clone())),
        _ => true,
    });
}

/// All pairs of ports of the common variable: the planner finds the output among them.
fn pairs(junction: &JunctionDecl) -> Vec<(&String, &String)> {
    let common = |at: usize| {
        let port = &junction.sides[at].port;
        if junction.common == cosimo_system::Common::Effort { &port.effort.0 } else { &port.flow.0 }
    };
    let count = junction.sides.len();
    (0..count)
        .flat_map(|one| (0..one).map(move |other| (one, other)))
        .map(|(a, b)| (common(a), common(b)))
        .collect()
}
