//! Monolithic groups: components that are integrated together become one simulator before methods are chosen. Their inner
//! connections leave the coupling matrix.

use std::sync::Arc;

use cosimo_core::registry::{InnerConnection, JoinRequest, OpenRequest, Registry, Source, suggest};
use cosimo_core::{PowerVariable, Simulator, Value};
use cosimo_system::{Component, MonolithicDecl, Problem, Span, System, values};

use super::open::cannot_open;
use super::resolve::{Links, Moves};
use super::{Draft, span_of};

/// The members of a group and the source that joins them, if that is possible.
fn members(
    group: &MonolithicDecl,
    system: &System,
    registry: &Registry,
    problems: &mut Vec<Problem>,
) -> Option<(Vec<usize>, Arc<dyn Source>)> {
    let before = problems.len();
    let mut members = Vec::new();
    for (name, span) in &group.components {
        match system.components.iter().position(|component| component.name == *name) {
            None => problems.push(
                Problem::error(
                    "plan/unknown-component",
                    format!("no component is called `{name}`"),
                    span.clone(),
                )
                .hint(suggest(name, system.components.iter().map(|component| component.name.as_str()))),
            ),
            Some(index) if members.contains(&index) => problems.push(Problem::error(
                "plan/joined-twice",
                format!("`{name}` is listed twice in `{}`", group.name),
                span.clone(),
            )),
            Some(index) => members.push(index),
        }
    }
    members.sort_unstable();
    if members.len() < 2 && problems.len() == before {
        problems.push(
            Problem::error(
                "plan/nothing-to-join",
                format!("`{}` needs at least two components, got {}", group.name, members.len()),
                group.span.clone(),
            )
            .hint("name the components that are to be integrated together"),
        );
    }
    let joins =
        |index: &usize| registry.source(&system.components[*index].source).filter(|kind| kind.joins());
    for index in members.iter().filter(|index| joins(index).is_none()) {
        let Component { name, source, source_span, .. } = &system.components[*index];
        problems.push(
            Problem::error(
                "plan/cannot-join",
                format!(
                    "`{name}` cannot be part of a monolithic group: `{source}` does not expose its equations"
                ),
                source_span.clone(),
            )
            .hint("only model-exchange FMUs do"),
        );
    }
    if problems.len() > before {
        return None;
    }
    Some((members.clone(), joins(members.first()?)?))
}

/// Makes one simulator of every group.
pub(super) fn fuse(
    mut draft: Draft<'static>,
    registry: &Registry,
    problems: &mut Vec<Problem>,
) -> Option<Draft<'static>> {
    let groups = std::mem::take(&mut draft.system.to_mut().monolithic);
    for (place, group) in groups.iter().enumerate() {
        let earlier = groups[..place].iter().find_map(|other| {
            let shared =
                |(name, _): &&(String, Span)| other.components.iter().any(|(there, _)| there == name);
            group.components.iter().find(shared).map(|shared| (shared, &other.name))
        });
        if let Some(((name, span), other)) = earlier {
            problems.push(Problem::error(
                "plan/joined-twice",
                format!("`{name}` is already in `{other}`"),
                span.clone(),
            ));
            return None;
        }
        let (members, kind) = members(group, &draft.system, registry, problems)?;
        for member in &members {
            let shown = &draft.interfaces[*member].outputs;
            if let Some(port) = shown.iter().find(|port| port.name.contains("->")) {
                let name = &draft.names[*member];
                problems.push(Problem::error(
                    "plan/cannot-join",
                    format!(
                        "`{name}` cannot be part of a monolithic group: a connection maps values of `{name}.{}`",
                        port.name
                    ),
                    group.span.clone(),
                ));
                return None;
            }
        }
        draft = join(draft, group, &members, &*kind, problems)?;
        // Islands that name a member now name the group.
        for (name, _) in draft.system.to_mut().islands.iter_mut().flat_map(|island| &mut island.components) {
            if group.components.iter().any(|(member, _)| member == name) {
                name.clone_from(&group.name);
            }
        }
    }
    Some(draft)
}

fn join(
    draft: Draft<'static>,
    group: &MonolithicDecl,
    members: &[usize],
    kind: &dyn Source,
    problems: &mut Vec<Problem>,
) -> Option<Draft<'static>> {
    let Draft { system, interfaces, blocks, links, .. } = &draft;
    let inside = |output: usize| members.iter().position(|member| blocks[*member].outputs.contains(&output));
    let mut wires = Vec::new();
    for (member, index) in members.iter().enumerate() {
        for (port, input) in blocks[*index].inputs.clone().enumerate() {
            let row = &links.rows[input];
            let terms: Vec<(usize, usize, f64)> = row
                .iter()
                .filter_map(|term| {
                    let from = inside(term.output)?;
                    Some((from, term.output - blocks[members[from]].outputs.start, term.gain))
                })
                .collect();
            if terms.is_empty() {
                continue;
            }
            let start = system.components[*index].start(&interfaces[*index].inputs[port].name);
            wires.push(InnerConnection {
                to: (member, port),
                outside: terms.len() < row.len(),
                constant: if terms.len() < row.len() { 0.0 } else { links.offsets[input] },
                terms,
                start,
            });
        }
    }
    let simulator = open(system, group, members, kind, &wires, problems)?;
    let joined = MonolithicGroup { draft: &draft, group, members, wires: &wires };
    let (links, whole) = (joined.links(problems), joined.component());
    let Draft { system, mut simulators, .. } = draft;
    let mut system = system.into_owned();
    (simulators[members[0]], system.components[members[0]]) = (Some(simulator), whole);
    for member in members[1..].iter().rev() {
        simulators.remove(*member);
        system.components.remove(*member);
    }
    Some(Draft::of(system, simulators.into_iter().flatten().collect(), links))
}

fn open(
    system: &System,
    group: &MonolithicDecl,
    members: &[usize],
    kind: &dyn Source,
    wires: &[InnerConnection],
    problems: &mut Vec<Problem>,
) -> Option<Box<dyn Simulator>> {
    let parameters: Vec<Vec<(String, Value)>> =
        members.iter().map(|index| values(&system.components[*index].parameters)).collect();
    let requests: Vec<OpenRequest<'_>> = members
        .iter()
        .zip(&parameters)
        .map(|(index, parameters)| OpenRequest {
            name: &system.components[*index].name,
            source: &system.components[*index].source,
            folder: &system.folder,
            parameters,
            joined: true,
        })
        .collect();
    let options: Vec<(String, Value)> =
        group.options.iter().map(|(name, value, _)| (format!("cosimo.{name}"), value.clone())).collect();
    let request =
        JoinRequest { name: &group.name, members: &requests, connections: wires, options: &options };
    match kind.join(&request)? {
        Ok(simulator) => Some(simulator),
        Err(found) => {
            problems.extend(found.into_iter().map(|(member, found)| match member {
                Some(member) => cannot_open(&system.components[members[member]], found),
                None => {
                    let option = found.parameter.as_deref().and_then(|name| name.strip_prefix("cosimo."));
                    let span = span_of(&group.options, option.unwrap_or_default(), &group.span);
                    let message =
                        format!("group `{}`: {}", group.name, found.message.replace("`cosimo.", "`"));
                    let hint = found.hint.map(|hint| hint.replace("`cosimo.", "`"));
                    Problem { hint, ..Problem::error("plan/cannot-open", message, span) }
                }
            }));
            None
        }
    }
}

/// A group that becomes one simulator, at the index of its first member.
struct MonolithicGroup<'a> {
    draft: &'a Draft<'a>,
    group: &'a MonolithicDecl,
    members: &'a [usize],
    wires: &'a [InnerConnection],
}

/// New indices of inputs and outputs; inputs driven by members only have none.
struct Places {
    inputs: Vec<Option<usize>>,
    outputs: Vec<usize>,
    /// The new number of inputs.
    count: usize,
}

impl MonolithicGroup<'_> {
    /// Whether only members drive an input.
    fn inner(&self, member: usize, port: usize) -> bool {
        self.wires.iter().any(|wire| wire.to == (member, port) && !wire.outside)
    }

    /// By simulator in the new order, members consecutively.
    fn places(&self) -> Places {
        let (blocks, members) = (&self.draft.blocks, self.members);
        let mut order: Vec<usize> = (0..blocks.len()).filter(|index| !members.contains(index)).collect();
        let place = order.iter().position(|index| *index > members[0]).unwrap_or(order.len());
        order.splice(place..place, members.iter().copied());
        let mut new_input = vec![None; self.draft.links.rows.len()];
        let mut new_output = vec![0; blocks.last().map_or(0, |block| block.outputs.end)];
        let (mut inputs, mut outputs) = (0, 0);
        for index in &order {
            let member = members.iter().position(|member| member == index);
            for (port, input) in blocks[*index].inputs.clone().enumerate() {
                if !member.is_some_and(|member| self.inner(member, port)) {
                    new_input[input] = Some(inputs);
                    inputs += 1;
                }
            }
            for output in blocks[*index].outputs.clone() {
                new_output[output] = outputs;
                outputs += 1;
            }
        }
        Places { inputs: new_input, outputs: new_output, count: inputs }
    }

    /// The remaining links.
    fn links(&self, problems: &mut Vec<Problem>) -> Links {
        let (links, ports, members) = (&self.draft.links, self.draft.ports(), self.members);
        let places = self.places();
        let of_group = |end: PowerVariable| members.contains(&ports.place(end).0);
        let (mut joined, cut) = links.moved(&Moves {
            inputs: places.count,
            input: &|input| places.inputs[input],
            output: &|output| Some(places.outputs[output]),
            kept: &|input, output| {
                !(of_group(PowerVariable::Input(input)) && of_group(PowerVariable::Output(output)))
            },
            // Joined FMUs have no string or binary connections, so only the indices of the others change.
            simulator: &|index| Some(index - members[1..].iter().filter(|member| **member < index).count()),
        });
        joined.tuned.clone_from(&links.tuned);
        problems.extend(cut.into_iter().map(|bond| {
            let message = format!(
                "bond `{}` is inside of the monolithic group `{}` and has no energy defect",
                bond.name, self.group.name
            );
            Problem::warning("plan/bond-inside", message, self.group.span.clone())
        }));
        joined
    }

    /// The declarations of the members, merged.
    fn component(&self) -> Component {
        let group = self.group;
        let mut whole = Component {
            name: group.name.clone(),
            source: "joined".into(),
            span: group.span.clone(),
            source_span: group.span.clone(),
            ..Component::default()
        };
        for (member, index) in self.members.iter().enumerate() {
            let part = &self.draft.system.components[*index];
            whole.tolerance = part.tolerance.into_iter().chain(whole.tolerance).reduce(f64::min);
            whole.weight = part.weight.into_iter().chain(whole.weight).reduce(f64::max);
            let ports = &self.draft.interfaces[*index].inputs;
            let is_inner = |name: &String| {
                ports.iter().position(|port| port.name == *name).is_some_and(|port| self.inner(member, port))
            };
            let starts = part.starts.iter().filter(|(name, ..)| !is_inner(name));
            let path = |name: &String| format!("{}.{name}", part.name);
            whole.starts.extend(starts.map(|(name, value, span)| (path(name), *value, span.clone())));
        }
        whole
    }
}
