//! What deserves a look before a run although it does not keep the run from starting: values nobody chose, powers
//! nobody counts, sizes that do not fit. Together with what the plan has to say it is all that can be known of a
//! system without running it.

use std::collections::{BTreeMap, BTreeSet};

use cosimo_core::PowerVariable;
use cosimo_core::registry::{Registry, number_text};
use cosimo_system::{Component, ConnectionDecl, Problem, Severity, Span, Summand, System};
use schemars::JsonSchema;
use serde::Serialize;

use super::Draft;
use super::ports::Ports;

/// All that is wrong or odd, and how much there is of what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Findings {
    /// In the order of their places; those without one come first.
    #[serde(skip)]
    pub problems: Vec<Problem>,
    pub components: usize,
    pub bonds: usize,
    pub lines: usize,
    pub inputs: usize,
    pub outputs: usize,
    /// Outputs that drive nothing, as `component.port`.
    pub unread_outputs: Vec<String>,
    /// Components with steps of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_steps: Vec<ComponentStep>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ComponentStep {
    pub component: String,
    /// Seconds.
    pub size: f64,
}

impl Findings {
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }
}

/// Checks as much as can be checked, whatever is wrong with the rest. `reading` is what was found on the way to the
/// system; what only follows from that is left out.
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
    inspection.lonely(&mut found);
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

/// Whether a problem may be nothing but the consequence of one that the reader met: at the same place, or in the
/// choice of the step size, where a default stands in for every choice that could not be read.
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
    /// The size of steps may change.
    adaptive: bool,
    /// All ends of connections, be they wrong ones.
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
    /// How many inputs and outputs there are.
    fn size(&self) -> (usize, usize) {
        self.draft.blocks.last().map_or((0, 0), |block| (block.inputs.end, block.outputs.end))
    }

    /// The value that an input keeps because nobody drives it, and whether the file says so.
    fn constant(&self, input: usize) -> Option<(f64, bool)> {
        let links = &self.draft.links;
        if !links.drivers[input].is_empty() || links.excused[input] {
            return None;
        }
        let given = self.given(input).map(|(value, _)| (value, true));
        given.or_else(|| self.ports.port(PowerVariable::Input(input)).start.map(|start| (start, false)))
    }

    /// The start value that the file gives to an input, with its place.
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

    /// An input that was forgotten looks like one that was left alone; a start value in the file tells them apart.
    fn constants(&self, found: &mut Vec<Problem>) {
        for input in 0..self.size().0 {
            let Some((value, false)) = self.constant(input) else { continue };
            let (end, component) = (PowerVariable::Input(input), self.owner(input));
            let port = self.ports.port(end);
            let unit = port.unit.as_ref().map_or(String::new(), |unit| format!(" [{unit}]"));
            let message = format!(
                "input `{}` is driven by nobody and stays at the simulator's own start value {}{unit}",
                self.ports.path(end),
                number_text(value)
            );
            let hint = format!(
                "connect it, or write `start = {{ {} = {} }}` to say that this is meant",
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
                    (value, self.owner(input).span.clone(), "the simulator's own start value")
                }
                (None, None) => continue,
            };
            let limits = self.ports.port(end).limits;
            if !limits.contains(value) {
                let message = format!(
                    "{whose} of `{}` is {}, but allowed is {limits}",
                    self.ports.path(end),
                    number_text(value)
                );
                let problem =
                    Problem::error("check/outside-limits", message, span).label("outside the limits");
                found.push(self.ports.about(problem, end));
            }
        }
    }

    /// Where one end of a wire has a unit and the other none, nothing can be compared.
    fn units(&self, found: &mut Vec<Problem>) {
        for (wire, summand, output) in self.wired() {
            let Ok(input) = self.ports.input(&wire.to.0, &wire.to.1).map(PowerVariable::Input) else {
                continue;
            };
            // A table of values has no unit on either side.
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
                "`{}` is in [{unit}], `{}` has no unit: nobody can tell whether they fit",
                self.ports.path(with),
                self.ports.path(without)
            );
            let problem = Problem::warning("check/unit-missing", message, wire.to.1.clone());
            found.push(self.ports.about(problem.hint("the value is passed on as it is"), without));
        }
    }

    /// Wires by their outputs, where those exist.
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

    /// A wire from the port of a bond may carry power that no bond counts.
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
                "`{}` belongs to bond `{}` and also drives `{}` by a wire; power that goes that way is not in the ledger",
                summand.port.0, bond.name, wire.to.0
            );
            let problem = Problem::warning("check/bond-also-wired", message, summand.port.1.clone());
            let hint =
                "fine for a measurement; where it acts back, use a `[[junction]]` of all that take part";
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
                "a step of {} s, which `{}` has of its own, is longer than the run of {} s",
                number_text(*every),
                component.name,
                number_text(duration)
            );
            found.push(Problem::warning("check/long-step", message, span.clone()).about(&component.name));
        }
        let Some(size) = recipe.step.size else { return };
        if duration > 0.0 && size > duration {
            let message = format!(
                "a step of {} s is longer than the run of {} s",
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
                "`{}` steps by {} s inside, of which a step of {} s is no multiple",
                component.name,
                number_text(internal),
                number_text(size)
            );
            let hint = format!("the nearest size that fits is {} s", number_text(fitting));
            found.push(component.warning("check/step-size", message).hint(hint));
        }
    }

    fn lonely(&self, found: &mut Vec<Problem>) {
        let joined: BTreeSet<usize> =
            self.named.iter().filter_map(|path| self.ports.component_of(path)).collect();
        let several = self.system.components.len() > 1;
        for (index, component) in self.system.components.iter().enumerate().filter(|_| several) {
            if !joined.contains(&index) {
                let message = format!("component `{}` is connected to nobody", component.name);
                found.push(component.warning("check/lonely-component", message));
            }
        }
    }

    /// The comparison after a run leaves out what it cannot find.
    fn reference(&self, found: &mut Vec<Problem>) {
        let ports = self.system.reference.iter().flat_map(|reference| &reference.ports);
        for (path, column, span) in ports {
            if let Err(Some(problem)) = self.ports.output(path, span) {
                let message = format!("no comparison with `{column}`: {}", problem.message);
                let warning = Problem::warning("check/reference-port", message, span.clone());
                found.push(Problem { hint: problem.hint, about: problem.about, ..warning });
            }
        }
    }
}
