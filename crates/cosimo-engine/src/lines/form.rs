//! From a system with lines to islands: the coupling graph is cut at the lines, and every part gets its own clock and method.
//! A merged view takes the place of the components.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use cosimo_core::interface::{Abilities, Interface, Port};
use cosimo_core::method::Steadiness;
use cosimo_core::registry::{Options, Registry, find};
use cosimo_core::{PowerVariable as PortEnd, Setup, Simulator, Time};
use cosimo_system::{
    Boundary, Choice, Component, EndRule, Impedances, MethodConfig, Problem, Results, Span, System, values,
};

use super::drive::Drive;
use super::end::EndState;
use super::group::group;
use super::island::{BlueprintBody, IslandBlueprint, IslandEnds};
use super::rounds::{IslandNames, IslandPlan};
use super::single::SingleBlueprint;
use super::terminal::Terminal;
use crate::plan::{Draft, Line, Links, Ports};

/// The default number of rows of a run.
const ROWS: f64 = 1000.0;

/// One island, by the indices of its components.
pub(super) struct IslandMembers {
    pub(super) members: Vec<usize>,
    /// Line, side and member, in the order of members and their inputs.
    ends: Vec<(usize, usize, usize)>,
    /// One simulator, connected by lines only.
    alone: bool,
    /// The index of its `[island]` declaration, if there is one.
    island: Option<usize>,
}

impl IslandMembers {
    fn names<'a>(&self, ports: &Ports<'a>) -> Vec<&'a str> {
        self.members.iter().map(|member| ports.names[*member].as_str()).collect()
    }

    pub(super) fn recipe<'a>(&self, system: &'a System) -> &'a MethodConfig {
        self.island.map_or(&system.methods, |island| &system.islands[island].methods)
    }
}

/// The islands and their merged view: components without connections, and the lines.
pub(crate) fn form(
    mut draft: Draft<'_>,
    registry: &Registry,
    problems: &mut Vec<Problem>,
) -> Option<Draft<'static>> {
    let before = problems.len();
    let mut simulators = std::mem::take(&mut draft.simulators);
    let ports = draft.ports();
    let Draft { system, names, interfaces, links, .. } = &draft;
    let mut pieces = pieces(links, &ports);
    choose_methods(&mut pieces, system, &ports, problems);
    let ways: Vec<Boundary> =
        (0..names.len()).map(|component| way(component, &draft, &ports, problems)).collect();
    for line in &links.lines {
        warning_delays(line, problems);
    }
    let efforts: Vec<f64> =
        links.lines.iter().map(|line| first_effort(line, system, &ports, problems)).collect();
    let steps: Vec<f64> = pieces.iter().map(|piece| step(piece, &draft, &ways, &ports, problems)).collect();
    if problems[before..].iter().any(|problem| problem.severity == cosimo_system::Severity::Error) {
        return None;
    }
    let experiment = &system.experiment;
    let stop = Time::new(experiment.stop).filter(|_| experiment.end == EndRule::Exact);
    let setup = Setup { start: Time::new(experiment.start)?, stop, stop_at_events: false, rewinds: false };
    let starts: Vec<Vec<f64>> =
        (0..names.len()).map(|component| constants(component, system, interfaces)).collect();
    let mut seeds = Vec::new();
    for (piece, step) in pieces.iter().zip(steps) {
        let cut = IslandCut { piece, links, ports: &ports, ways: &ways, efforts: &efforts };
        let ends = Arc::new(Mutex::new(cut.ends(registry, problems)?));
        let mut inside = Vec::new();
        for &component in &piece.members {
            inside.push(simulators[component].take()?);
        }
        let body = if piece.alone {
            let (component, simulator) = (piece.members[0], inside.pop()?);
            let simulator = cut.terminal(0, simulator, &ends).alone(&starts[component]);
            BlueprintBody::Solo(Box::new(SingleBlueprint {
                name: names[component].clone(),
                simulator,
                size: step,
            }))
        } else {
            let at_line = |member: usize| piece.ends.iter().any(|(.., owner)| *owner == member);
            let inside = inside.into_iter().enumerate().map(|(member, simulator)| match at_line(member) {
                true => Box::new(cut.terminal(member, simulator, &ends)),
                false => simulator,
            });
            let plan = group(piece, inside.collect(), step, system, links, &ports, registry, problems)?;
            BlueprintBody::Group(Box::new(plan))
        };
        seeds.push(IslandBlueprint { body, ends, setup });
    }
    let (whole, shown) = whole(system, links, &pieces, &ports, &starts);
    Some(Draft { formed: Some(IslandPlan { blueprints: seeds, shown }), ..whole })
}

/// One island and its context.
struct IslandCut<'a> {
    piece: &'a IslandMembers,
    links: &'a Links,
    ports: &'a Ports<'a>,
    /// Per component: how efforts are applied.
    ways: &'a [Boundary],
    /// Per line: the effort at the start.
    efforts: &'a [f64],
}

impl IslandCut<'_> {
    /// The line ends of the island.
    fn ends(&self, registry: &Registry, problems: &mut Vec<Problem>) -> Option<Vec<EndState>> {
        let IslandCut { piece, links, ports, .. } = self;
        let mut ends = Vec::new();
        for &(line, side, member) in &piece.ends {
            let (found, component) = (&links.lines[line], piece.members[member]);
            let (block, name) = (&ports.blocks[component], &ports.names[component]);
            let (decl, at, interface) = (&found.decl, &found.sides[side], &ports.interfaces[component]);
            let place = (member, at.effort - block.inputs.start, at.flow - block.outputs.start);
            let varies = interface.abilities.variable_step;
            if decl.steady.is_some() && !varies {
                let message = format!(
                    "line `{}`: `{name}` has a fixed step size and gains nothing from a longer delay; the delay of its side stays \
                     constant",
                    found.name
                );
                problems.push(Problem::warning("plan/line-step", message, decl.span.clone()).about(name));
            }
            let steady = match decl.steady.as_ref().filter(|_| varies) {
                Some(choice) => Some(steadiness(choice, found, registry, problems)?),
                None => None,
            };
            let owner = (interface.stretches.iter())
                .find(|(effort, _)| *effort == place.1)
                .filter(|_| piece.alone && self.ways[component] == Boundary::Inside && steady.is_some())
                .filter(|_| decl.impedances == Impedances::Own && decl.factor[side] == 1.0)
                .map(|(_, output)| *output);
            if let Some(output) = owner {
                problems.push(warning_owner(found, side, name, interface, output));
            }
            ends.push(EndState::new((line, side), place, at, decl, self.efforts[line], steady, owner));
        }
        Some(ends)
    }

    /// Wraps a simulator with its line ends, which are consecutive.
    fn terminal(&self, member: usize, simulator: Box<dyn Simulator>, ends: &IslandEnds) -> Terminal {
        let ends_of = |(.., owner): &(usize, usize, usize)| *owner == member;
        let first = self.piece.ends.iter().position(ends_of).unwrap_or(0);
        let own = self.piece.ends.iter().filter(|end| ends_of(end));
        let masses = own.map(|(line, side, _)| self.links.lines[*line].decl.mass[*side].unwrap_or(f64::NAN));
        let way = self.ways[self.piece.members[member]];
        let drive = Drive::new(way, masses.collect(), simulator.as_ref());
        let own = first..first + drive.masses.len();
        Terminal::new(simulator, ends, own, drive)
    }
}

/// The connected parts when lines are cut.
fn pieces(links: &Links, ports: &Ports<'_>) -> Vec<IslandMembers> {
    let count = ports.names.len();
    let mut group: Vec<usize> = (0..count).collect();
    let join = |group: &mut Vec<usize>, a: usize, b: usize| {
        let (from, to) = (group[a].max(group[b]), group[a].min(group[b]));
        group.iter_mut().filter(|name| **name == from).for_each(|name| *name = to);
    };
    let mut wired = vec![false; count];
    for (input, row) in links.rows.iter().enumerate() {
        let (to, _) = ports.place(PortEnd::Input(input));
        for term in row {
            let (from, _) = ports.place(PortEnd::Output(term.output));
            join(&mut group, from, to);
            (wired[from], wired[to]) = (true, true);
        }
    }
    for wire in &links.byte_connections {
        join(&mut group, wire.from.0, wire.to.0);
        (wired[wire.from.0], wired[wire.to.0]) = (true, true);
    }
    let mut pieces: Vec<IslandMembers> = Vec::new();
    for first in 0..count {
        if group[first] != first {
            continue;
        }
        let members: Vec<usize> = (0..count).filter(|component| group[*component] == first).collect();
        let mut ends = Vec::new();
        for (line, found) in links.lines.iter().enumerate() {
            for (side, at) in found.sides.iter().enumerate() {
                let (owner, _) = ports.place(PortEnd::Input(at.effort));
                ends.extend(
                    members.iter().position(|member| *member == owner).map(|member| (line, side, member)),
                );
            }
        }
        ends.sort_by_key(|(line, side, member)| (*member, links.lines[*line].sides[*side].effort));
        let alone = members.len() == 1 && !wired[first];
        pieces.push(IslandMembers { members, ends, alone, island: None });
    }
    pieces
}

/// Assigns declared islands to the parts by their components.
fn choose_methods(
    pieces: &mut [IslandMembers],
    system: &System,
    ports: &Ports<'_>,
    problems: &mut Vec<Problem>,
) {
    for (index, island) in system.islands.iter().enumerate() {
        let mut refuse = |message: String, span: &Span, hint: &str| {
            let message = format!("`[island.{}]`: {message}", island.name);
            problems.push(Problem::error("plan/island", message, span.clone()).hint(hint));
        };
        let mut found: Option<(usize, &str)> = None;
        for (name, span) in &island.components {
            let holds =
                |piece: &IslandMembers| piece.members.iter().any(|member| ports.names[*member] == *name);
            let Some(piece) = pieces.iter().position(holds) else { continue };
            match found {
                Some((first, other)) if first != piece => refuse(
                    format!("`{other}` and `{name}` are in different islands: only lines connect them"),
                    span,
                    "list components of one island; one of them is enough",
                ),
                _ => found = Some((piece, name)),
            }
        }
        let Some((piece, _)) = found else {
            // Unknown components have been reported already.
            if island.components.is_empty() {
                refuse("it lists no component".into(), &island.span, "list one component of the island");
            }
            continue;
        };
        let piece = &mut pieces[piece];
        if let Some(other) = piece.island.replace(index) {
            let other = &system.islands[other].name;
            refuse(format!("`[island.{other}]` declares the same island"), &island.span, "keep one of them");
        }
        let own = MethodConfig { step: island.methods.step.clone(), ..system.methods.clone() };
        if piece.alone && own != island.methods {
            let name = &ports.names[piece.members[0]];
            problems.push(Problem::warning(
                "plan/island-method",
                format!(
                    "`[island.{}]` contains `{name}` only: there is nothing to couple, and only its step size is used",
                    island.name
                ),
                island.span.clone(),
            ));
        }
    }
}

/// How efforts are applied to a component, with a warning that explains it.
fn way(component: usize, draft: &Draft<'_>, ports: &Ports<'_>, problems: &mut Vec<Problem>) -> Boundary {
    let can = ports.interfaces[component].abilities;
    let name = &ports.names[component];
    let mut chosen: Option<(Boundary, &str)> = None;
    for line in &draft.links.lines {
        for (side, at) in line.sides.iter().enumerate() {
            if ports.place(PortEnd::Input(at.effort)).0 != component {
                continue;
            }
            let known = line.decl.mass[side].is_some();
            let wanted = match line.decl.boundary {
                Boundary::Best if can.wave_boundary => Boundary::Inside,
                Boundary::Best if can.rollback => Boundary::Corrected,
                Boundary::Best if known => Boundary::SemiImplicit,
                other => other,
            };
            let problem = |message: String, hint: &str| {
                Problem::error(
                    "plan/line-boundary",
                    format!("line `{}`: {message}", line.name),
                    line.decl.span.clone(),
                )
                .about(name)
                .hint(hint.to_owned())
            };
            let refused = match wanted {
                Boundary::Held => Some(problem(
                    "an effort held from the start of a step adds half a step of delay, which is unstable"
                        .into(),
                    "remove `boundary`, or use \"mid-step\"",
                )),
                Boundary::Inside if !can.wave_boundary => Some(problem(
                    format!("`{name}` cannot evaluate the line inside of its steps"),
                    "only native models with an own solver and model-exchange FMUs can; remove `boundary`",
                )),
                Boundary::Corrected if !can.rollback => Some(problem(
                    format!("`{name}` does not support rollback, so trial steps are not possible"),
                    "use `boundary = \"semi-implicit\"` and give `mass_a` or `mass_b`",
                )),
                Boundary::Best => Some(problem(
                    format!(
                        "`{name}` neither supports rollback nor evaluates the line inside of its steps, and its mass is not given"
                    ),
                    "give the mass at that side of the line: `mass_a` or `mass_b`, effort per rate of the flow",
                )),
                Boundary::SemiImplicit if !known && !can.rollback => Some(problem(
                    format!("the mass of `{name}` is not given, and without rollback it cannot be measured"),
                    "give the mass at that side of the line: `mass_a` or `mass_b`, effort per rate of the flow",
                )),
                _ => None,
            };
            // Reported once for both sides.
            problems.extend(refused.filter(|_| wanted != Boundary::Held || side == 0));
            match chosen {
                Some((before, other)) if before != wanted => problems.push(problem(
                    format!("`boundary` at `{name}` differs from that of line `{other}`"),
                    "use one `boundary` for all lines of a component",
                )),
                _ => chosen = Some((wanted, &line.name)),
            }
        }
    }
    let Some((way, line)) = chosen else { return Boundary::MidStep };
    let words = match way {
        Boundary::Inside | Boundary::Held | Boundary::Best => return way,
        Boundary::Corrected => "two trial steps measure the response of the flow",
        Boundary::SemiImplicit => "the response of the flow is predicted from its mass",
        _ => "one value per step, with the flow at the start of the step",
    };
    problems.push(
        Problem::warning(
            "plan/line-boundary",
            format!("line `{line}`: the effort at `{name}` is computed before each step: {words}"),
            draft.system.components[component].source_span.clone(),
        )
        .about(name),
    );
    way
}

/// Different delays with separate impedances create energy if the heavier side has the longer delay.
fn warning_delays(line: &Line, problems: &mut Vec<Problem>) {
    let decl = &line.decl;
    if decl.impedances == Impedances::Own
        && (decl.most[0] != decl.most[1] || decl.factor[0] != decl.factor[1])
    {
        let longer = if decl.most[0] > decl.most[1] || decl.factor[0] > decl.factor[1] { "a" } else { "b" };
        problems.push(
            Problem::warning(
                "plan/line-asymmetric",
                format!(
                    "line `{}` may have a longer delay for side {longer}: if that is the heavier side, the line creates energy",
                    line.name
                ),
                decl.span.clone(),
            )
            .hint("`impedances = \"common\"` creates none, and saves slightly fewer steps"),
        );
    }
}

/// A simulator that controls the delay itself also decides when its flow is steady.
fn warning_owner(line: &Line, side: usize, name: &str, interface: &Interface, output: usize) -> Problem {
    let message = format!(
        "line `{}`: `{name}` controls the delay of side {} itself, up to {} times the shortest one, by its output `{}`; \
         `steady`, `hold` and `rollback` have no effect there",
        line.name,
        ["a", "b"][side],
        line.decl.most[side],
        interface.outputs[output].name
    );
    Problem::warning("plan/line-owner", message, line.decl.span.clone())
        .about(name)
        .hint("with `impedances = \"common\"` the run controls it")
}

/// The effort at the start, in SI units, from the start value of either input.
fn first_effort(line: &Line, system: &System, ports: &Ports<'_>, problems: &mut Vec<Problem>) -> f64 {
    let given = line.sides.map(|side| {
        let (owner, _) = ports.place(PortEnd::Input(side.effort));
        let port = ports.port(PortEnd::Input(side.effort));
        let start = system.components[owner].start(&port.name).or(port.start);
        start.map(|value| value / side.scale)
    });
    match given {
        [Some(a), Some(b)] if (a - b).abs() > 1e-9 * a.abs().max(b.abs()) => {
            let message = format!("line `{}` has two start efforts: {a} on side a, {b} on side b", line.name);
            problems.push(
                Problem::error("plan/line-start", message, line.decl.span.clone())
                    .hint("the start values of both effort inputs must be the same"),
            );
            a
        }
        [a, b] => a.or(b).unwrap_or(0.0),
    }
}

/// The step size of an island whose solver does not choose it.
fn step(
    piece: &IslandMembers,
    draft: &Draft<'_>,
    ways: &[Boundary],
    ports: &Ports<'_>,
    problems: &mut Vec<Problem>,
) -> f64 {
    let (given, experiment) = (piece.recipe(&draft.system).step.size, &draft.system.experiment);
    let usual = given.unwrap_or((experiment.stop - experiment.start) / ROWS);
    let shortest = piece.ends.iter().map(|(line, side, _)| {
        let decl = &draft.links.lines[*line].decl;
        (decl.delay * decl.factor[*side].min(1.0), *line)
    });
    let Some((delay, line)) = shortest.min_by(|a, b| a.0.total_cmp(&b.0)) else { return usual };
    let inside = piece.alone && ways[piece.members[0]] == Boundary::Inside;
    // Whether every internal step is published.
    let shows = inside && ports.interfaces[piece.members[0]].abilities.returns_each_internal_step;
    // An island that is refused for another reason needs no warning.
    let hides = !shows && piece.members.iter().all(|member| ways[*member] != Boundary::Held);
    let fixed = piece.members.iter().find(|member| !ports.interfaces[**member].abilities.variable_step);
    let name = &draft.links.lines[line].name;
    let span = draft.links.lines[line].decl.span.clone();
    let hidden = || {
        let who = match &piece.names(ports)[..] {
            [alone] => format!("`{alone}`"),
            names => format!("the island {}", names.join(", ")),
        };
        format!("line `{name}`: internal steps of {who} are not published")
    };
    let inner = |message: String, hint: String| {
        let problem = Problem::warning("plan/line-inner", message, span.clone());
        problem.about(&ports.names[piece.members[0]]).hint(hint)
    };
    let half = 0.5 * delay;
    match given {
        Some(size) if size > delay * (1.0 + 1e-9) && !inside && fixed.is_some() => {
            let message = format!(
                "line `{name}` has a delay of {delay} s, shorter than the fixed step of `{}`, {size} s",
                ports.names[fixed.copied().unwrap_or_default()]
            );
            problems.push(
                Problem::error("plan/line-step", message, span.clone())
                    .hint("steps must not be longer than the delay: increase the delay or reduce the step"),
            );
            size
        }
        Some(size) if piece.alone => {
            if hides && size.min(delay) > half * (1.0 + 1e-9) {
                let message = format!(
                    "{}, and steps of {:e} s are longer than half the delay: its signal is linear in between",
                    hidden(),
                    size.min(delay)
                );
                problems.push(inner(message, format!("remove the size, or use at most {half:e} s")));
            }
            size.min(delay)
        }
        // Its solver chooses the step size.
        None if shows => f64::INFINITY,
        _ => {
            if hides && usual > half * (1.0 + 1e-9) {
                let message = format!("{}, so its steps are limited to half the delay: {half:e} s", hidden());
                problems.push(inner(message, "a longer delay allows longer steps".into()));
            }
            usual.min(half)
        }
    }
}

fn steadiness(
    choice: &Choice,
    line: &Line,
    registry: &Registry,
    problems: &mut Vec<Problem>,
) -> Option<Box<dyn Steadiness>> {
    let Some(entry) = find(&registry.steadiness, &choice.name) else {
        let message = format!("line `{}`: unknown steadiness criterion `{}`", line.name, choice.name);
        problems.push(Problem::error("plan/unknown-method", message, line.decl.span.clone()));
        return None;
    };
    match Options::resolve(&format!("`{}`", entry.name), entry.options, &values(&choice.options)) {
        Ok(options) => Some((entry.build)(&options)),
        Err(wrong) => {
            let problem = |message| Problem::error("plan/bad-option", message, choice.span.clone());
            problems.extend(wrong.into_iter().map(|wrong| problem(wrong.message)));
            None
        }
    }
}

/// Values of unconnected inputs.
fn constants(component: usize, system: &System, interfaces: &[Interface]) -> Vec<f64> {
    let given = |port: &Port| system.components[component].start(&port.name);
    let value = |port: &Port| given(port).or(port.start).unwrap_or(0.0);
    interfaces[component].inputs.iter().map(value).collect()
}

/// The merged view of all islands, and where the islands have its values.
fn whole(
    system: &System,
    links: &Links,
    pieces: &[IslandMembers],
    ports: &Ports<'_>,
    starts: &[Vec<f64>],
) -> (Draft<'static>, IslandNames) {
    let mut faces: Vec<PortMap> = ports.names.iter().map(|_| PortMap::default()).collect();
    let mut tails = Vec::new();
    for (isle, piece) in pieces.iter().enumerate() {
        let mut places = 0..;
        let mut next = || (isle, places.next().unwrap_or_default());
        for &component in &piece.members {
            let Interface { inputs, outputs, abilities, .. } = &ports.interfaces[component];
            let face = &mut faces[component];
            face.freezes = abilities.serialize_state;
            face.once_per_process = abilities.once_per_process;
            face.outputs.extend(outputs.iter().map(|port| (port.clone(), next())));
            for (input, port) in inputs.iter().enumerate() {
                let place = next();
                let driven = !links.drivers[ports.blocks[component].inputs.start + input].is_empty();
                if driven || !piece.alone {
                    // A port name may be that of an input and of an output.
                    let taken = outputs.iter().any(|output| output.name == port.name);
                    let name = if taken { format!("{}.in", port.name) } else { port.name.clone() };
                    face.outputs.push((Port { name, ..port.clone() }, place));
                } else {
                    let start = Some(starts[component][input]);
                    face.inputs.push((Port { start, ..port.clone() }, (isle, input)));
                }
            }
        }
        tails.push(next().1);
    }
    let mut components: Vec<Component> = system
        .components
        .iter()
        .map(|component| Component {
            name: component.name.clone(),
            source: component.source.clone(),
            source_span: component.source_span.clone(),
            span: component.span.clone(),
            ..Component::default()
        })
        .collect();
    for (index, line) in links.lines.iter().enumerate() {
        let mut face = PortMap { freezes: true, ..PortMap::default() };
        for (side, letter) in ["a", "b"].into_iter().enumerate() {
            let at = pieces.iter().enumerate().find_map(|(isle, piece)| {
                let end = piece.ends.iter().position(|end| (end.0, end.1) == (index, side))?;
                Some((isle, tails[isle] + 3 * end))
            });
            let Some((isle, first)) = at else { continue };
            let words = [
                ("delay", "s", 1, "present delay of this side"),
                ("still", "1", 2, "1 while this side is steady"),
            ];
            for (name, unit, place, doc) in words {
                face.outputs.push((Port::new(&format!("{name}_{letter}"), unit, doc), (isle, first + place)));
            }
        }
        faces.push(face);
        components.push(Component {
            name: format!("line.{}", line.name),
            source: "line".into(),
            span: line.decl.span.clone(),
            source_span: line.decl.span.clone(),
            ..Component::default()
        });
    }
    let shown = IslandNames {
        islands: pieces.iter().map(|piece| piece.names(ports).join(", ")).collect(),
        lines: links.lines.iter().map(|line| line.name.clone()).collect(),
        first: pieces.iter().map(|piece| piece.members[0]).collect(),
        outputs: faces.iter().flat_map(|face| &face.outputs).map(|(_, place)| *place).collect(),
        inputs: faces.iter().flat_map(|face| &face.inputs).map(|(_, place)| *place).collect(),
    };
    let inputs = shown.inputs.len();
    let mut recipe = MethodConfig::default();
    let experiment = system.experiment.clone();
    let every = system.results.every.unwrap_or((experiment.stop - experiment.start) / ROWS);
    recipe.step.size = Some(every);
    let system = System {
        folder: system.folder.clone(),
        components,
        methods: recipe,
        results: Results { every: None, ..system.results.clone() },
        scenario: system.scenario.clone(),
        experiment,
        ..System::default()
    };
    // Unconnected inputs have been reported already.
    let (excused, tuned) = (vec![true; inputs], links.tuned.clone());
    let links = Links { excused, tuned, ..Links::unconnected(inputs) };
    let interfaces = faces.into_iter().map(PortMap::interface).collect();
    (Draft::new(Cow::Owned(system), Vec::new(), interfaces, links), shown)
}

/// A component or a line in the merged view: ports, and where an island has their values.
#[derive(Default)]
struct PortMap {
    outputs: Vec<(Port, (usize, usize))>,
    /// Unconnected ones.
    inputs: Vec<(Port, (usize, usize))>,
    /// Its state can be serialized.
    freezes: bool,
    once_per_process: bool,
}

impl PortMap {
    fn interface(self) -> Interface {
        let abilities = Abilities {
            rollback: false,
            serialize_state: self.freezes,
            once_per_process: self.once_per_process,
            states: false,
            direct_response: false,
            // Without feed-through it is never needed.
            jacobian: true,
            ..Abilities::NATIVE
        };
        Interface {
            outputs: self.outputs.into_iter().map(|(port, _)| port).collect(),
            inputs: self.inputs.into_iter().map(|(port, _)| port).collect(),
            abilities,
            ..Interface::default()
        }
    }
}
