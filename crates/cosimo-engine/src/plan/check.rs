//! Static checks of a system: what does not prevent a run but is probably a mistake (inputs left at defaults, powers that no
//! bond counts, step sizes that do not fit), together with the problems of the plan.

use std::collections::{BTreeMap, BTreeSet};

use cosimo_core::PowerVariable;
use cosimo_core::registry::{Registry, number_text};
use cosimo_system::{Component, ConnectionDecl, Problem, Severity, Span, Summand, System};
use schemars::JsonSchema;
use serde::Serialize;

use super::Draft;
use super::ports::Ports;

/// The result of a check: problems, and the size of the system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Findings {
    /// By position in the file; those without a position come first.
    #[serde(skip)]
    pub problems: Vec<Problem>,
    /// Number of components.
    pub components: usize,
    /// Number of bonds and junctions, without lines.
    pub bonds: usize,
    /// Number of lines.
    pub lines: usize,
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Unconnected outputs, as `component.port`.
    pub unread_outputs: Vec<String>,
    /// Multi-rate components.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_steps: Vec<ComponentStep>,
}

/// The step size of a multi-rate component.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ComponentStep {
    /// The name of the component.
    pub component: String,
    /// In seconds.
    pub size: f64,
}

impl Findings {
    /// The number of problems of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }
}

/// Checks a system without running it, also one that cannot be planned. `reading` are problems found while reading the
/// file; their mere consequences are left out.
pub fn check(system: &System, registry: &Registry, reading: Vec<Problem>) -> Findings {
    let mut found = Vec::new();
    let mut draft = Draft::open(system, registry, &mut found);
    let adaptive = draft.plan(registry, &mut found).is_none_or(|plan| plan.layout.limits.control.adaptive);
    let inspection =
        Inspection { system, draft: &draft, ports: draft.ports(), adaptive, named: named(system) };
    inspection.constants(&mut found);
    inspection.limits(&mut found);
    inspection.units(&mut found);
    inspection.bonds(&mut found);
    inspection.steps(&mut found);
    inspection.unconnected_components(&mut found);
    inspection.reference(&mut found);

    let (inputs, outputs) = inspection.size();
    let read: BTreeSet<usize> = draft.links.rows.iter().flatten().map(|term| term.output).collect();
    let rest = (0..outputs).filter(|output| !read.contains(output));
    let paths = rest.map(|output| inspection.ports.path(PowerVariable::Output(output)));
    let unread_outputs = paths.filter(|path| !inspection.named.contains(path.as_str())).collect();
    found.retain(|problem| !follows(problem, &reading, system));
    found.extend(reading);
    found.sort_by_key(|problem| (problem.span.start, problem.span.end));
    found.dedup();
    Findings {
        problems: found,
        components: system.components.len(),
        inputs,
        outputs,
        bonds: draft.links.bonds.len(),
        lines: draft.links.lines.len(),
        own_steps: system
            .components
            .iter()
            .filter_map(|Component { name, step, .. }| {
                Some(ComponentStep { component: name.clone(), size: step.as_ref()?.0 })
            })
            .collect(),
        unread_outputs,
    }
}

/// Whether a problem may be a mere consequence of a reading error: at the same position, or in the choice of the step
/// size, where defaults replace choices that could not be read.
fn follows(problem: &Problem, reading: &[Problem], system: &System) -> bool {
    let step = &system.methods.step.span;
    let in_step = |span: &Span| !span.is_empty() && step.start <= span.start && span.end <= step.end;
    let errors = || reading.iter().filter(|known| known.severity == Severity::Error);
    let same = errors().any(|known| !known.span.is_empty() && known.span == problem.span);
    same || (in_step(&problem.span) && errors().any(|known| in_step(&known.span)))
}

struct Inspection<'a> {
    system: &'a System,
    draft: &'a Draft<'a>,
    ports: Ports<'a>,
    /// The step size is variable.
    adaptive: bool,
    /// All ends of connections, also those that do not exist.
    named: BTreeSet<&'a str>,
}

fn named(system: &System) -> BTreeSet<&str> {
    let bonds = system.bonds.iter().flat_map(|bond| [&bond.a, &bond.b]);
    let junctions = system.junctions.iter().flat_map(|junction| &junction.sides).map(|side| &side.port);
    let sides = bonds.chain(junctions).flat_map(|side| [&side.effort, &side.flow]);
    let from = system.connections.iter().flat_map(|wire| &wire.from).map(|summand| &summand.port);
    let to = system.connections.iter().map(|wire| &wire.to);
    from.chain(to).chain(sides).map(|(path, _)| path.as_str()).collect()
}

impl Inspection<'_> {
    /// The numbers of inputs and outputs.
    fn size(&self) -> (usize, usize) {
        self.draft.blocks.last().map_or((0, 0), |block| (block.inputs.end, block.outputs.end))
    }

    /// The constant value of an unconnected input, and whether the file gives it.
    fn constant(&self, input: usize) -> Option<(f64, bool)> {
        let links = &self.draft.links;
        if !links.drivers[input].is_empty() || links.excused[input] {
            return None;
        }
        let given = self.given(input).map(|(value, _)| (value, true));
        given.or_else(|| self.ports.port(PowerVariable::Input(input)).start.map(|start| (start, false)))
    }

    /// The start value that the file gives to an input, with its span.
    fn given(&self, input: usize) -> Option<(f64, Span)> {
        let component = self.owner(input);
        let name = &self.ports.port(PowerVariable::Input(input)).name;
        let start = component.starts.iter().find(|(port, ..)| port == name);
        start.map(|(_, value, span)| (*value, span.clone()))
    }

    /// The component of an input.
    fn owner(&self, input: usize) -> &Component {
        &self.system.components[self.ports.place(PowerVariable::Input(input)).0]
    }

    /// Unconnected inputs may be forgotten ones, unless the file gives a start value.
    fn constants(&self, found: &mut Vec<Problem>) {
        for input in 0..self.size().0 {
            let Some((value, false)) = self.constant(input) else { continue };
            let (end, component) = (PowerVariable::Input(input), self.owner(input));
            let port = self.ports.port(end);
            let unit = port.unit.as_ref().map_or(String::new(), |unit| format!(" [{unit}]"));
            let message = format!(
                "input `{}` is not connected; keeps its start value {}{unit}",
                self.ports.path(end),
                number_text(value)
            );
            let hint = format!(
                "connect it, or write `start = {{ {} = {} }}` to confirm this value",
                cosimo_system::write::key(&port.name),
                number_text(value)
            );
            found.push(self.ports.about(component.warning("check/constant-input", message).hint(hint), end));
        }
    }

    fn limits(&self, found: &mut Vec<Problem>) {
        for input in 0..self.size().0 {
            let end = PowerVariable::Input(input);
            let (value, span, whose) = match (self.given(input), self.constant(input)) {
                (Some((value, span)), _) => (value, span, "the start value"),
                (None, Some((value, _))) => {
                    (value, self.owner(input).span.clone(), "the default start value")
                }
                (None, None) => continue,
            };
            let limits = self.ports.port(end).limits;
            if !limits.contains(value) {
                let message = format!(
                    "{whose} of `{}` is {}, but the allowed range is {limits}",
                    self.ports.path(end),
                    number_text(value)
                );
                let problem =
                    Problem::error("check/outside-limits", message, span).label("outside the limits");
                found.push(self.ports.about(problem, end));
            }
        }
    }

    /// Connections with a physical unit on one side only cannot be checked.
    fn units(&self, found: &mut Vec<Problem>) {
        for (wire, summand, output) in self.wired() {
            let Ok(input) = self.ports.input(&wire.to.0, &wire.to.1).map(PowerVariable::Input) else {
                continue;
            };
            // A value map has no physical unit on either side.
            if !wire.convert || !summand.map.is_empty() {
                continue;
            }
            let output = PowerVariable::Output(output);
            let (given, wanted) = (&self.ports.port(output).unit, &self.ports.port(input).unit);
            let (with, unit, without) = match (given, wanted) {
                (Some(unit), None) => (output, unit, input),
                (None, Some(unit)) => (input, unit, output),
                _ => continue,
            };
            let message = format!(
                "`{}` has the unit [{unit}], `{}` has none: the connection cannot be checked",
                self.ports.path(with),
                self.ports.path(without)
            );
            let problem = Problem::warning("check/unit-missing", message, wire.to.1.clone());
            found.push(self.ports.about(problem.hint("the value is not converted"), without));
        }
    }

    /// Connections and their outputs, where those exist.
    fn wired(&self) -> impl Iterator<Item = (&ConnectionDecl, &Summand, usize)> {
        let each = self
            .system
            .connections
            .iter()
            .flat_map(|wire| wire.from.iter().map(move |summand| (wire, summand)));
        each.filter_map(|(wire, summand)| {
            let output = self.ports.output(&summand.port.0, &summand.port.1).ok()?;
            Some((wire, summand, output))
        })
    }

    /// A connection from the port of a bond may carry power that no bond counts.
    fn bonds(&self, found: &mut Vec<Problem>) {
        let mut bonds = BTreeMap::new();
        for bond in &self.draft.links.bonds {
            for end in bond.sides.iter().flat_map(|side| [side.effort, side.flow]) {
                if let PowerVariable::Output(output) = end {
                    bonds.entry(output).or_insert(bond);
                }
            }
        }
        for (wire, summand, output) in self.wired() {
            let Some(bond) = bonds.get(&output) else { continue };
            let end = PowerVariable::Output(output);
            let message = format!(
                "`{}` belongs to bond `{}` and also drives `{}` by a connection; the power of the connection is not counted",
                summand.port.0, bond.name, wire.to.0
            );
            let problem = Problem::warning("check/bond-also-wired", message, summand.port.1.clone());
            let hint = "correct for a measurement; if the receiver acts back, use a `[[junction]]`";
            found.push(self.ports.about(problem.hint(hint), end));
        }
    }

    fn steps(&self, found: &mut Vec<Problem>) {
        let (experiment, recipe) = (&self.system.experiment, &self.system.methods);
        let (span, duration) = (&recipe.step.span, experiment.stop - experiment.start);
        for component in &self.system.components {
            let Some((every, span)) = component.step.as_ref().filter(|(every, _)| *every > duration) else {
                continue;
            };
            let message = format!(
                "the step of {} s of `{}` is longer than the run of {} s",
                number_text(*every),
                component.name,
                number_text(duration)
            );
            found.push(Problem::warning("check/long-step", message, span.clone()).about(&component.name));
        }
        let Some(size) = recipe.step.size else { return };
        if duration > 0.0 && size > duration {
            let message = format!(
                "the step of {} s is longer than the run of {} s",
                number_text(size),
                number_text(duration)
            );
            found.push(Problem::warning("check/long-step", message, span.clone()));
        }
        if self.adaptive {
            return; // the size is the first one only
        }
        for (component, interface) in self.system.components.iter().zip(&self.draft.interfaces) {
            let Some(internal) = interface.internal_step else { continue };
            let size = component.step.as_ref().map_or(size, |(every, _)| size.min(*every));
            let ratio = size / internal;
            if ratio.round() >= 1.0 && (ratio - ratio.round()).abs() <= 1e-9 * ratio {
                continue;
            }
            let fitting = internal * ratio.round().max(1.0);
            let message = format!(
                "`{}` has an internal step of {} s, and the step of {} s is not a multiple of it",
                component.name,
                number_text(internal),
                number_text(size)
            );
            let hint = format!("the nearest multiple is {} s", number_text(fitting));
            found.push(component.warning("check/step-size", message).hint(hint));
        }
    }

    fn unconnected_components(&self, found: &mut Vec<Problem>) {
        let joined: BTreeSet<usize> =
            self.named.iter().filter_map(|path| self.ports.component_of(path)).collect();
        let several = self.system.components.len() > 1;
        for (index, component) in self.system.components.iter().enumerate().filter(|_| several) {
            if !joined.contains(&index) {
                let message = format!("component `{}` has no connections", component.name);
                found.push(component.warning("check/lonely-component", message));
            }
        }
    }

    /// Reference columns whose port does not exist are not compared after a run.
    fn reference(&self, found: &mut Vec<Problem>) {
        let ports = self.system.reference.iter().flat_map(|reference| &reference.ports);
        for (path, column, span) in ports {
            if let Err(Some(problem)) = self.ports.output(path, span) {
                let message = format!("`{column}` is not compared: {}", problem.message);
                let warning = Problem::warning("check/reference-port", message, span.clone());
                found.push(Problem { hint: problem.hint, about: problem.about, ..warning });
            }
        }
    }
}
