//! Opens components as simulators, with multi-rate and value-map wrappers where declared, and reads their interfaces.

use std::collections::{BTreeMap, BTreeSet};

use cosimo_core::interface::{Abilities, Interface};
use cosimo_core::link::PortRanges;
use cosimo_core::registry::{OpenProblem, OpenRequest, Registry, number_text, suggest};
use cosimo_core::{Local, Simulator, Unit, ValueType};
use cosimo_system::{Component, Names, Problem, System, values};

use super::span_of;
use crate::{multi_rate, value_maps};

/// Per component; `None`: it could not be opened.
type OpenSimulators = Vec<Option<Box<dyn Simulator>>>;

pub(super) fn open(system: &System, registry: &Registry, problems: &mut Vec<Problem>) -> OpenSimulators {
    let mut simulators = open_each(system, registry, problems);
    tables(system, &mut simulators, problems);
    let simulators = value_maps::around(multi_rate::around(simulators, system, problems), system);
    for (component, simulator) in system.components.iter().zip(&simulators) {
        if let Some(simulator) = simulator {
            warning(component, simulator.interface(), problems);
        }
    }
    simulators
}

fn open_each(system: &System, registry: &Registry, problems: &mut Vec<Problem>) -> OpenSimulators {
    let mut simulators = Vec::new();
    for component in &system.components {
        if component.source.is_empty() {
            simulators.push(None); // reported by the reader of the file
            continue;
        }
        let Some(kind) = registry.source(&component.source) else {
            let known = registry.sources.iter().map(|kind| kind.name());
            problems.push(
                Problem::error(
                    "plan/unknown-source",
                    format!("unknown type of source: `{}`", component.source),
                    component.source_span.clone(),
                )
                .about(&component.name)
                .hint(format!("{} as in `native:dual-mass/right`", suggest(&component.source, known))),
            );
            simulators.push(None);
            continue;
        };
        let parameters = values(&component.parameters);
        let request = OpenRequest {
            name: &component.name,
            source: &component.source,
            folder: &system.folder,
            parameters: &parameters,
            joined: system
                .monolithic
                .iter()
                .flat_map(|group| &group.components)
                .any(|(name, _)| *name == component.name),
        };
        match kind.open(&request) {
            Ok(simulator) => simulators.push(Some(simulator)),
            Err(found) => {
                simulators.push(None);
                problems.extend(found.into_iter().map(|found| cannot_open(component, found)));
            }
        }
    }
    simulators
}

pub(super) fn cannot_open(component: &Component, found: OpenProblem) -> Problem {
    let span = match &found.parameter {
        Some(parameter) => span_of(&component.parameters, parameter, &component.span),
        None => component.source_span.clone(),
    };
    let message = format!("component `{}`: {}", component.name, found.message);
    let problem = Problem::error("plan/cannot-open", message, span).about(&component.name);
    Problem { hint: found.hint, ..problem }
}

/// Input tables: values for discrete inputs and parameters are held from row to row; a run beyond the rows is a warning.
fn tables(system: &System, simulators: &mut OpenSimulators, problems: &mut Vec<Problem>) {
    let (start, stop) = (system.experiment.start, system.experiment.stop);
    let names = Names::new(system.components.iter().map(|component| component.name.as_str()));
    for index in 0..simulators.len() {
        let Some(interface) = simulators[index].as_ref().map(|simulator| simulator.interface()) else {
            continue;
        };
        let Some((first, last)) = interface.recorded else { continue };
        let mut kinds = vec![(false, None); interface.outputs.len()];
        for wire in &system.connections {
            let Some(discrete) = is_discrete(&wire.to.0, &names, simulators) else { continue };
            for summand in &wire.from {
                let Ok((owner, _, port)) = names.split(&summand.port.0) else { continue };
                let place = interface.outputs.iter().position(|output| output.name == port);
                let Some(place) = place.filter(|_| owner == index) else { continue };
                let (held, line) = &mut kinds[place];
                *held |= discrete;
                *line = line.or((!discrete).then_some(wire));
            }
        }
        let component = &system.components[index];
        let outputs = interface.outputs.iter().zip(&kinds);
        for (output, (_, line)) in outputs.filter(|(_, (held, line))| *held && line.is_some()) {
            let continuous = line.map_or("", |wire| wire.to.0.as_str());
            let message = format!(
                "`{}.{}` drives discrete inputs and the continuous input `{continuous}`: it is interpolated for all of them",
                component.name, output.name
            );
            let problem = Problem::warning("plan/table", message, component.source_span.clone());
            problems.push(problem.about_port(&component.name, &output.name).hint("use separate columns"));
        }
        // A single row is a constant, which covers every run.
        let little = 1e-9 * (stop - start).abs();
        let (early, late) = (start < first - little, stop > last + little);
        if first < last && (early || late) {
            let which = match (early, late) {
                (true, true) => "the first row is used before, the last row after that",
                (true, false) => "the first row is used before that",
                _ => "the last row is used after that",
            };
            let [first, last, start, stop] = [first, last, start, stop].map(number_text);
            let message = format!(
                "`{}` has rows from t = {first} s to {last} s, but the run goes from {start} s to {stop} s: {which}",
                component.source
            );
            let problem = Problem::warning("plan/table", message, component.source_span.clone());
            problems.push(problem.about(&component.name));
        }
        let held: Vec<usize> =
            (0..kinds.len()).filter(|&place| kinds[place].0 && kinds[place].1.is_none()).collect();
        if let Some(simulator) = simulators[index].as_mut().filter(|_| !held.is_empty()) {
            simulator.hold_outputs(&held);
        }
    }
}

/// Whether the target of a connection is discrete; `None`: unknown.
fn is_discrete(path: &str, names: &Names<'_>, simulators: &OpenSimulators) -> Option<bool> {
    let (index, _, name) = names.split(path).ok()?;
    let interface = simulators[index].as_ref()?.interface();
    match interface.inputs.iter().find(|port| port.name == name) {
        Some(port) => Some(port.discrete || port.value_type != ValueType::Real),
        None => interface.tunable.iter().any(|known| known == name).then_some(true),
    }
}

/// Warnings of a simulator about itself; a long list is truncated.
fn warning(component: &Component, interface: &Interface, problems: &mut Vec<Problem>) {
    const MOST: usize = 3;
    let said = &interface.warnings;
    let shown = if said.len() > MOST + 1 { MOST } else { said.len() };
    let mut add = |words: &str| {
        let message = format!("component `{}`: {words}", component.name);
        let problem = Problem::warning("plan/component", message, component.source_span.clone());
        problems.push(problem.about(&component.name));
    };
    said[..shown].iter().for_each(|words| add(words));
    if shown < said.len() {
        add(&format!("{} more warnings; `cosimo info` shows them all", said.len() - shown));
    }
    for (parameter, words) in &interface.parameter_warnings {
        let span = span_of(&component.parameters, parameter, &component.span);
        let message = format!("component `{}`: {words}", component.name);
        problems.push(Problem::warning("plan/parameter", message, span).about(&component.name));
    }
}

/// Local variables of simulators, if patterns choose what is recorded; without patterns only ports are.
pub(super) fn locals(system: &System, simulators: &mut OpenSimulators) -> Vec<Vec<Local>> {
    let asked = !system.results.variables.is_empty();
    let of = |simulator: &mut Option<Box<dyn Simulator>>| {
        let locals = simulator.as_mut().filter(|_| asked).and_then(|simulator| simulator.locals());
        locals.map_or(Vec::new(), |locals| locals.list())
    };
    simulators.iter_mut().map(of).collect()
}

/// For a simulator that could not be opened: all abilities, so that no consequential problems are reported.
fn unknown() -> Interface {
    let abilities = Abilities { slopes: true, jacobian: true, integrals: true, ..Abilities::NATIVE };
    Interface { abilities, ..Interface::default() }
}

/// Interfaces of simulators, with the physical units that the system file overrides.
pub(super) fn interfaces(
    system: &System,
    simulators: &OpenSimulators,
    problems: &mut Vec<Problem>,
) -> Vec<Interface> {
    let shown = |simulator: &Option<Box<dyn Simulator>>| match simulator {
        Some(simulator) => simulator.interface().clone(),
        None => unknown(),
    };
    let mut interfaces: Vec<Interface> = simulators.iter().map(shown).collect();
    let opened = simulators.iter().zip(&mut interfaces).zip(&system.components);
    for ((_, interface), component) in opened.filter(|((simulator, _), _)| simulator.is_some()) {
        let units: BTreeMap<&str, &Unit> =
            component.units.iter().map(|(port, unit, _)| (port.as_str(), unit)).collect();
        let mut unknown: BTreeSet<&str> = units.keys().copied().collect();
        for port in interface.inputs.iter_mut().chain(&mut interface.outputs) {
            if let Some(unit) = units.get(port.name.as_str()) {
                unknown.remove(port.name.as_str());
                port.unit = Some((*unit).clone());
            }
        }
        for (port, _, span) in component.units.iter().filter(|(port, ..)| unknown.contains(port.as_str())) {
            let known = interface.inputs.iter().chain(&interface.outputs).map(|known| known.name.as_str());
            let message = format!("component `{}` has no port `{port}`", component.name);
            let problem = Problem::error("plan/unknown-port", message, span.clone());
            problems.push(problem.hint(suggest(port, known)).about_port(&component.name, port));
        }
    }
    interfaces
}

/// The index ranges of the ports of each simulator.
pub(crate) fn blocks(interfaces: &[Interface]) -> Vec<PortRanges> {
    let (mut inputs, mut outputs) = (0, 0);
    interfaces
        .iter()
        .map(|interface| {
            let block = PortRanges {
                inputs: inputs..inputs + interface.inputs.len(),
                outputs: outputs..outputs + interface.outputs.len(),
            };
            (inputs, outputs) = (block.inputs.end, block.outputs.end);
            block
        })
        .collect()
}
