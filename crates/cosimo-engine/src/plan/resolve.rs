//! From names to indices: connections, bonds and junctions become one coupling matrix and facts about it.

use cosimo_core::unit::{POWER, describe};
use cosimo_core::{Bond, BondSide, PowerVariable, Term, ValueType};
use cosimo_system::{
    BondDecl, Common, ConnectionDecl, JunctionDecl, LineDecl, Opposite, PowerDirection, PowerPort, Problem,
    Span, System,
};

use super::ports::Ports;

/// The resolved declarations of a system.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    /// Per input.
    pub rows: Vec<Vec<Term>>,
    /// Per input: a constant added to its row.
    pub offsets: Vec<f64>,
    /// Per input: its drivers, for messages.
    pub drivers: Vec<Vec<String>>,
    /// Per input: a faulty declaration names it or its component, so that it is not reported as unconnected, too.
    pub excused: Vec<bool>,
    pub bonds: Vec<Bond>,
    pub byte_connections: Vec<ByteConnection>,
    pub lines: Vec<Line>,
    /// Connections to tunable parameters, which drive no input.
    pub tuned: Vec<ConnectionDecl>,
}

/// A bond that is a delayed line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub name: String,
    pub sides: [LineSide; 2],
    pub decl: LineDecl,
}

/// One side of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LineSide {
    /// Indices of an input (effort) and an output (flow).
    pub effort: usize,
    pub flow: usize,
    /// From the output to the flow into the line, in SI units.
    pub sign: f64,
    /// From the effort in SI units to the input.
    pub scale: f64,
}

/// A connection of FMI string or binary variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteConnection {
    /// Simulator and output.
    pub from: (usize, usize),
    /// Simulator and input.
    pub to: (usize, usize),
}

pub(super) fn links(system: &System, ports: &Ports<'_>, problems: &mut Vec<Problem>) -> Links {
    let inputs = ports.blocks.last().map_or(0, |block| block.inputs.end);
    let mut resolver = Resolver { ports, links: Links::unconnected(inputs), problems };
    for wire in &system.connections {
        if resolver.byte_connection(wire) {
            continue;
        }
        if ports.is_tunable(&wire.to.0) {
            resolver.links.tuned.push(wire.clone());
            continue;
        }
        if let Err(found) = resolver.wire(wire) {
            resolver.problems.extend(found);
            resolver.excuse(&wire.to);
        }
    }
    for bond in &system.bonds {
        if let Err(found) = resolver.bond(bond) {
            resolver.problems.extend(found);
            resolver.excuse_sides([&bond.a, &bond.b].into_iter());
        }
    }
    for junction in &system.junctions {
        if let Err(found) = resolver.junction(junction) {
            resolver.problems.extend(found);
            resolver.excuse_sides(junction.sides.iter().map(|side| &side.port));
        }
    }
    resolver.links
}

impl Links {
    /// For `inputs` unconnected inputs.
    pub(crate) fn unconnected(inputs: usize) -> Links {
        Links {
            rows: vec![Vec::new(); inputs],
            offsets: vec![0.0; inputs],
            drivers: vec![Vec::new(); inputs],
            excused: vec![false; inputs],
            ..Links::default()
        }
    }

    /// The links after ports and simulators are renumbered or removed, and the bonds removed. Connections to parameters are dropped.
    pub(crate) fn moved(&self, moves: &Moves<'_>) -> (Links, Vec<&Bond>) {
        let (mut links, mut cut) = (Links::unconnected(moves.inputs), Vec::new());
        for (input, row) in self.rows.iter().enumerate() {
            let Some(new) = (moves.input)(input) else { continue };
            let kept = row.iter().filter(|term| (moves.kept)(input, term.output));
            let terms =
                kept.filter_map(|term| Some(Term { output: (moves.output)(term.output)?, gain: term.gain }));
            links.rows[new] = terms.collect();
            links.offsets[new] = self.offsets[input];
            links.drivers[new].clone_from(&self.drivers[input]);
            links.excused[new] = self.excused[input];
        }
        for bond in &self.bonds {
            match moves.bond(bond) {
                Some(bond) => links.bonds.push(bond),
                None => cut.push(bond),
            }
        }
        let parcel = |(index, port): (usize, usize)| Some(((moves.simulator)(index)?, port));
        links.byte_connections.extend(
            self.byte_connections
                .iter()
                .filter_map(|wire| Some(ByteConnection { from: parcel(wire.from)?, to: parcel(wire.to)? })),
        );
        for line in &self.lines {
            let side = |side: LineSide| {
                let (effort, flow) = ((moves.input)(side.effort)?, (moves.output)(side.flow)?);
                Some(LineSide { effort, flow, ..side })
            };
            if let [Some(a), Some(b)] = line.sides.map(side) {
                links.lines.push(Line { sides: [a, b], ..line.clone() });
            }
        }
        (links, cut)
    }
}

/// New indices of ports and simulators; `None`: removed.
pub(crate) struct Moves<'a> {
    /// The new number of inputs.
    pub(crate) inputs: usize,
    pub(crate) input: &'a dyn Fn(usize) -> Option<usize>,
    pub(crate) output: &'a dyn Fn(usize) -> Option<usize>,
    /// Whether the connection from an output (second) to an input (first) remains.
    pub(crate) kept: &'a dyn Fn(usize, usize) -> bool,
    pub(crate) simulator: &'a dyn Fn(usize) -> Option<usize>,
}

impl Moves<'_> {
    fn bond(&self, bond: &Bond) -> Option<Bond> {
        let end = |end: PowerVariable| match end {
            PowerVariable::Input(input) => (self.input)(input).map(PowerVariable::Input),
            PowerVariable::Output(output) => (self.output)(output).map(PowerVariable::Output),
        };
        let mut bond = bond.clone();
        for side in &mut bond.sides {
            (side.effort, side.flow) = (end(side.effort)?, end(side.flow)?);
        }
        Some(bond)
    }
}

/// Resolves declarations one by one.
struct Resolver<'a, 'p> {
    ports: &'a Ports<'p>,
    links: Links,
    problems: &'a mut Vec<Problem>,
}

/// Or the problems of the declaration.
type ResolveResult<T> = Result<T, Vec<Problem>>;

impl Resolver<'_, '_> {
    /// Resolves a connection of strings or binaries. Returns whether it is one, or is meant to be.
    fn byte_connection(&mut self, wire: &ConnectionDecl) -> bool {
        let ports = self.ports;
        let sources = wire.from.iter().map(|summand| (summand, ports.byte_port(&summand.port.0, false)));
        let sources: Vec<_> = sources.collect();
        let to = ports.byte_port(&wire.to.0, true);
        let wrong = |message: String, hint: &str| {
            Problem::error("plan/type-mismatch", message, wire.to.1.clone()).hint(hint)
        };
        let other = &wire.to.0;
        let lists = "connect ports of the same type; `cosimo info` lists the ports of an FMU";
        let Some((to, taken)) = to else {
            let Some((summand, (_, given))) =
                sources.iter().find_map(|(summand, port)| Some((summand, port.as_ref()?)))
            else {
                return false;
            };
            let (one, given) = (&summand.port.0, given.content.name());
            self.problems
                .push(wrong(format!("`{one}` provides {given}, which `{other}` does not accept"), lists));
            return true;
        };
        let one = wire.from.first().map_or("", |summand| summand.port.0.as_str());
        match &sources[..] {
            [(summand, Some((from, given)))] => {
                let changed = summand.gain != 1.0 || wire.offset != 0.0 || !summand.map.is_empty();
                if given.content != taken.content {
                    let (given, taken) = (given.content.name(), taken.content.name());
                    self.problems.push(wrong(
                        format!("`{one}` provides {given}, but `{other}` expects {taken}"),
                        "connect strings to strings and binaries to binaries",
                    ));
                } else if let Some(known) = self.links.byte_connections.iter().find(|known| known.to == to) {
                    let first = &ports.interfaces[known.from.0].byte_outputs[known.from.1].name;
                    let first = format!("{}.{first}", ports.names[known.from.0]);
                    self.problems.push(Problem::error(
                        "plan/driven-twice",
                        format!("input `{other}` is driven by `{first}` and by `{one}`"),
                        wire.to.1.clone(),
                    ));
                } else if changed {
                    self.problems.push(wrong(
                        format!("`{one}` is not a number: gain, offset and map do not apply"),
                        "remove gain, offset and map",
                    ));
                } else {
                    self.links.byte_connections.push(ByteConnection { from: *from, to });
                }
            }
            [(_, None)] => {
                // A name that does not exist is reported where numeric ports are resolved.
                if ports.output(one, &wire.to.1).is_err() {
                    return false;
                }
                let taken = taken.content.name();
                self.problems
                    .push(wrong(format!("`{other}` expects {taken}, which `{one}` does not provide"), lists));
            }
            _ => self.problems.push(wrong(
                format!("`{other}` expects {}, which cannot be summed", taken.content.name()),
                "connect exactly one output",
            )),
        }
        true
    }

    fn drive(&mut self, input: usize, terms: Vec<Term>, by: String, span: &Span) -> Option<Problem> {
        let ports = self.ports;
        self.links.drivers[input].push(by);
        if self.links.drivers[input].len() > 1 {
            let path = ports.path(PowerVariable::Input(input));
            let drivers = self.links.drivers[input].join(" and by ");
            return Some(
                Problem::error(
                    "plan/driven-twice",
                    format!("input `{path}` is driven by {drivers}"),
                    span.clone(),
                )
                .hint(
                    "an input can have one driver only; use a `[[junction]]` to sum flows or efforts, or `from = [\"a.y\", \"b.y\"]` \
                     for other sums",
                ),
            )
            .map(|problem| ports.about(problem, PowerVariable::Input(input)));
        }
        self.links.rows[input] = terms;
        None
    }

    fn excuse(&mut self, (path, span): &(String, Span)) {
        let ports = self.ports;
        match ports.find(path, span) {
            Ok(PowerVariable::Input(input)) => self.links.excused[input] = true,
            _ => self.excuse_component(path),
        }
    }

    fn excuse_component(&mut self, path: &str) {
        if let Some(index) = self.ports.component_of(path) {
            self.links.excused[self.ports.blocks[index].inputs.clone()].fill(true);
        }
    }

    fn excuse_sides<'d>(&mut self, sides: impl Iterator<Item = &'d PowerPort>) {
        let ports = self.ports;
        for PowerPort { effort, flow } in sides {
            match (ports.find(&effort.0, &effort.1), ports.find(&flow.0, &flow.1)) {
                (Ok(PowerVariable::Input(input)), Ok(PowerVariable::Output(_)))
                | (Ok(PowerVariable::Output(_)), Ok(PowerVariable::Input(input))) => {
                    self.links.excused[input] = true;
                }
                _ => {
                    self.excuse_component(&effort.0);
                    self.excuse_component(&flow.0);
                }
            }
        }
    }

    fn wire(&mut self, wire: &ConnectionDecl) -> ResolveResult<()> {
        let ports = self.ports;
        let names: Vec<String> = wire.from.iter().map(|summand| format!("`{}`", summand.port.0)).collect();
        let names = names.join(" + ");
        let (outputs, found) = ports.summands(wire);
        let input = match ports.input(&wire.to.0, &wire.to.1) {
            Ok(input) if found.is_empty() => input,
            other => {
                // An existing input counts as driven, even if the other end is wrong.
                let twice =
                    other.as_ref().ok().and_then(|&input| self.drive(input, vec![], names, &wire.to.1));
                let unfound = found.into_iter().chain(other.err()).flatten().map(|problem| *problem);
                return Err(unfound.chain(twice).collect());
            }
        };
        let mut terms = Vec::new();
        let mut sum = wire.offset;
        for (output, gain) in outputs {
            let (factor, offset) = if wire.convert {
                self.conversion(output, input, &wire.to.1).map_err(|problem| vec![problem])?
            } else {
                (1.0, 0.0)
            };
            terms.push(Term { output, gain: gain * factor });
            sum += gain * offset;
            self.problems.extend(rounded(output, input, ports, &wire.to.1));
        }
        match self.drive(input, terms, names, &wire.to.1) {
            Some(problem) => Err(vec![problem]),
            None => {
                self.links.offsets[input] = sum;
                Ok(())
            }
        }
    }

    fn bond(&mut self, decl: &BondDecl) -> ResolveResult<()> {
        let ports = self.ports;
        let (a, b) = match (self.power_port(&decl.a), self.power_port(&decl.b)) {
            (Ok(a), Ok(b)) => (a, b),
            (a, b) => return Err([a.err(), b.err()].into_iter().flatten().flatten().collect()),
        };
        if let Some(line) = &decl.line {
            return self.line(decl, line, [&a, &b]);
        }
        let name = &decl.name;
        let mut found = Vec::new();
        let sign = |flips: bool| if flips { -1.0 } else { 1.0 };
        let (effort_gain, flow_gain) =
            (sign(decl.opposite == Opposite::Effort), sign(decl.opposite == Opposite::Flow));
        for (what, one, other, gain) in
            [("effort", a.effort, b.effort, effort_gain), ("flow", a.flow, b.flow, flow_gain)]
        {
            let (output, input) = match (one, other) {
                (PowerVariable::Output(output), PowerVariable::Input(input))
                | (PowerVariable::Input(input), PowerVariable::Output(output)) => (output, input),
                _ => {
                    let kind = if matches!(one, PowerVariable::Input(_)) { "an input" } else { "an output" };
                    found.push(
                        Problem::error(
                            "plan/bond-causality",
                            format!(
                                "the {what} of bond `{name}` is {kind} on both sides: `{}` and `{}`",
                                ports.path(one),
                                ports.path(other)
                            ),
                            decl.span.clone(),
                        )
                        .hint("each side has one of effort and flow as output and the other as input"),
                    );
                    continue;
                }
            };
            match self.conversion(output, input, &decl.span) {
                Ok((factor, _)) => {
                    let term = Term { output, gain: gain * factor };
                    found.extend(self.drive(input, vec![term], format!("bond `{name}`"), &decl.span));
                }
                Err(problem) => found.push(problem),
            }
        }
        if !found.is_empty() {
            return Err(found);
        }
        let direction = sign(decl.direction == PowerDirection::BToA);
        self.links.bonds.push(Bond {
            name: name.clone(),
            sides: vec![
                BondSide { effort: a.effort, flow: a.flow, sign: -direction * a.watts },
                BondSide {
                    effort: b.effort,
                    flow: b.flow,
                    sign: direction * effort_gain * flow_gain * b.watts,
                },
            ],
            tolerance: decl.tolerance,
            energy_scale: decl.energy_scale,
        });
        Ok(())
    }

    /// Both sides have the flow as output and the effort as input, in any physical units; the line itself uses SI units.
    fn line(&mut self, decl: &BondDecl, line: &LineDecl, sides: [&PowerEnds; 2]) -> ResolveResult<()> {
        let ports = self.ports;
        let name = &decl.name;
        let mut found = Vec::new();
        let mut ends = Vec::new();
        let factor = |end: PowerVariable| ports.port(end).unit.as_ref().map_or(1.0, |unit| unit.factor);
        let sign = |flips: bool| if flips { -1.0 } else { 1.0 };
        let direction = sign(decl.direction == PowerDirection::BToA);
        // Into the line is out of the simulator: positive for side a, negative for side b.
        let into = [
            direction,
            -direction * sign(decl.opposite == Opposite::Effort) * sign(decl.opposite == Opposite::Flow),
        ];
        for (side, into) in sides.into_iter().zip(into) {
            let (PowerVariable::Input(effort), PowerVariable::Output(flow)) = (side.effort, side.flow) else {
                let wrong = if let PowerVariable::Output(_) = side.effort { side.effort } else { side.flow };
                let kind = if let PowerVariable::Output(_) = side.effort { "an output" } else { "an input" };
                let message = format!(
                    "line `{name}`: `{}` is {kind}; a line needs the effort as input and the flow as output",
                    ports.path(wrong)
                );
                let problem = Problem::error("plan/line-causality", message, decl.span.clone())
                    .hint("the line computes the effort of both sides from their flows");
                found.push(ports.about(problem, wrong));
                continue;
            };
            found.extend(self.drive(effort, vec![], format!("line `{name}`"), &decl.span));
            let through = |index: usize| {
                let block = &ports.blocks[index];
                let pair = (flow - block.outputs.start, effort - block.inputs.start);
                ports.interfaces[index].feedthrough.contains(&pair)
            };
            if through(ports.place(PowerVariable::Input(effort)).0) {
                let message = format!(
                    "line `{name}`: `{}` depends on `{}` by direct feed-through",
                    ports.path(side.flow),
                    ports.path(side.effort)
                );
                found.push(
                    Problem::error("plan/line-feedthrough", message, decl.span.clone()).hint(
                        "connect the line where the flow is a state: a mass, an inertia, an inductance",
                    ),
                );
            }
            ends.push(LineSide {
                effort,
                flow,
                sign: into * factor(side.flow),
                scale: 1.0 / factor(side.effort),
            });
        }
        let unit = |end: PowerVariable| ports.port(end).unit.as_ref();
        for (what, one, other) in
            [("effort", sides[0].effort, sides[1].effort), ("flow", sides[0].flow, sides[1].flow)]
        {
            if let (Some(a), Some(b)) = (unit(one), unit(other))
                && a.dimension != b.dimension
            {
                let message = format!(
                    "line `{name}`: the {what} is [{a}] in `{}` and [{b}] in `{}`",
                    ports.path(one),
                    ports.path(other)
                );
                found.push(Problem::error("plan/unit-mismatch", message, decl.span.clone()));
            }
        }
        match ends[..] {
            [a, b] if found.is_empty() => {
                self.links.lines.push(Line { name: name.clone(), sides: [a, b], decl: line.clone() });
                Ok(())
            }
            _ => Err(found),
        }
    }

    /// The side whose common variable is an output gets the sum of the others' contributions:
    /// with powers that enter summing to zero, s_h f_h = - sum of s_i f_i.
    fn junction(&mut self, decl: &JunctionDecl) -> ResolveResult<()> {
        let ports = self.ports;
        let name = &decl.name;
        let mut found = Vec::new();
        let mut sides = Vec::new();
        for side in &decl.sides {
            match self.power_port(&side.port) {
                Ok(port) => sides.push((port, if side.leaves { -1.0 } else { 1.0 })),
                Err(more) => found.extend(more),
            }
        }
        if !found.is_empty() {
            return Err(found);
        }
        let common = |port: &PowerEnds| if decl.common == Common::Effort { port.effort } else { port.flow };
        let summed = |port: &PowerEnds| if decl.common == Common::Effort { port.flow } else { port.effort };
        let word = if decl.common == Common::Effort { "effort" } else { "flow" };
        let hosts: Vec<usize> =
            (0..sides.len()).filter(|&k| matches!(common(&sides[k].0), PowerVariable::Output(_))).collect();
        let [host] = hosts[..] else {
            return Err(vec![
                Problem::error(
                    "plan/junction-causality",
                    format!(
                        "the common {word} of junction `{name}` must be an output of exactly one side, got {}",
                        hosts.len()
                    ),
                    decl.span.clone(),
                )
                .hint(format!("the {word} must be an output of one side and an input of all others")),
            ]);
        };
        let (host_port, host_sign) = sides[host];
        let (PowerVariable::Output(given), PowerVariable::Input(sum)) =
            (common(&host_port), summed(&host_port))
        else {
            return Err(vec![wrong_way(name, &host_port, ports, &decl.span)]);
        };
        let mut terms = Vec::new();
        for (port, sign) in sides.iter().enumerate().filter(|(k, _)| *k != host).map(|(_, side)| side) {
            let (PowerVariable::Input(taken), PowerVariable::Output(part)) = (common(port), summed(port))
            else {
                found.push(wrong_way(name, port, ports, &decl.span));
                continue;
            };
            match (self.conversion(given, taken, &decl.span), self.conversion(part, sum, &decl.span)) {
                (Ok((common_factor, _)), Ok((part_factor, _))) => {
                    let by = format!("junction `{name}`");
                    let common_term = vec![Term { output: given, gain: common_factor }];
                    found.extend(self.drive(taken, common_term, by, &decl.span));
                    terms.push(Term { output: part, gain: -sign / host_sign * part_factor });
                }
                (one, other) => found.extend(one.err().into_iter().chain(other.err())),
            }
        }
        found.extend(self.drive(sum, terms, format!("junction `{name}`"), &decl.span));
        if !found.is_empty() {
            return Err(found);
        }
        let sides = sides
            .iter()
            .map(|(port, sign)| BondSide { effort: port.effort, flow: port.flow, sign: sign * port.watts })
            .collect();
        self.links.bonds.push(Bond {
            name: name.clone(),
            sides,
            tolerance: decl.tolerance,
            energy_scale: decl.energy_scale,
        });
        Ok(())
    }

    fn power_port(&mut self, port: &PowerPort) -> ResolveResult<PowerEnds> {
        let ports = self.ports;
        let effort = ports.find(&port.effort.0, &port.effort.1);
        let flow = ports.find(&port.flow.0, &port.flow.1);
        let (effort, flow) = match (effort, flow) {
            (Ok(effort), Ok(flow)) => (effort, flow),
            (effort, flow) => {
                let unfound = [effort.err(), flow.err()].into_iter().flatten().flatten();
                return Err(unfound.map(|problem| *problem).collect());
            }
        };
        for (end, (path, span)) in [(effort, &port.effort), (flow, &port.flow)] {
            if let Some(level) = ports.port(end).unit.as_ref().filter(|unit| unit.offset != 0.0) {
                let message =
                    format!("`{path}` [{level}] has a unit with an offset and cannot be a factor of power");
                return Err(vec![
                    Problem::error("plan/no-power", message, span.clone())
                        .label(format!("[{level}]"))
                        .hint("use a unit without offset, such as K, or a `[[connection]]`"),
                ]);
            }
        }
        let watts = match (&ports.port(effort).unit, &ports.port(flow).unit) {
            (Some(e), Some(f)) if e.product(f) == POWER => e.factor * f.factor,
            (Some(e), Some(f)) => {
                let message = format!(
                    "`{}` [{e}] times `{}` [{f}] is not a power: got [{}], expected [{}]",
                    port.effort.0,
                    port.flow.0,
                    describe(e.product(f)),
                    describe(POWER)
                );
                let problem = Problem::error("plan/no-power", message, port.flow.1.clone())
                    .label(format!("[{f}]"))
                    .hint("a bond needs an effort and a flow, such as N and m/s; use a `[[connection]]` for other signals");
                return Err(vec![ports.about(problem, flow)]);
            }
            _ => {
                let message = format!(
                    "a physical unit is missing: `{}` times `{}` is assumed to be in W",
                    port.effort.0, port.flow.0
                );
                let problem = Problem::warning("plan/no-unit", message, port.effort.1.clone());
                self.problems.push(ports.about(problem, effort));
                1.0
            }
        };
        Ok(PowerEnds { effort, flow, watts })
    }

    /// Gain and offset from the output's physical unit to the input's. Bonds have refused units with an offset before.
    fn conversion(&mut self, output: usize, input: usize, span: &Span) -> Result<(f64, f64), Problem> {
        let ports = self.ports;
        let (from, to) = (PowerVariable::Output(output), PowerVariable::Input(input));
        let (Some(given), Some(wanted)) = (&ports.port(from).unit, &ports.port(to).unit) else {
            return Ok((1.0, 0.0));
        };
        if given.dimension != wanted.dimension {
            let message = format!(
                "`{}` [{given}] cannot be connected to `{}` [{wanted}]: the dimensions differ",
                ports.path(from),
                ports.path(to)
            );
            return Err(ports.about(Problem::error("plan/unit-mismatch", message, span.clone()), to));
        }
        let (factor, offset) = given.conversion(wanted);
        if (factor, offset) == (1.0, 0.0) {
            return Ok((factor, offset));
        }
        let plus = match offset {
            0.0 => String::new(),
            below if below < 0.0 => format!(" minus {}", -below),
            above => format!(" plus {above}"),
        };
        let message = format!(
            "`{}` [{given}] is converted to `{}` [{wanted}]: times {factor}{plus}",
            ports.path(from),
            ports.path(to)
        );
        self.problems.push(ports.about(Problem::warning("plan/unit-converted", message, span.clone()), to));
        Ok((factor, offset))
    }
}

/// Values are rounded to the type of the input. Real inputs accept every number; the outputs of maps are exact.
fn rounded(output: usize, input: usize, ports: &Ports<'_>, span: &Span) -> Option<Problem> {
    let (from, to) = (ports.port(PowerVariable::Output(output)), ports.port(PowerVariable::Input(input)));
    if to.value_type == ValueType::Real || from.value_type == to.value_type || from.name.contains("->") {
        return None;
    }
    let message = format!(
        "`{}` is {}, but `{}` is {}: values are rounded",
        ports.path(PowerVariable::Output(output)),
        from.value_type.name(),
        ports.path(PowerVariable::Input(input)),
        to.value_type.name()
    );
    Some(Problem::warning("plan/type-rounded", message, span.clone()))
}

fn wrong_way(name: &str, port: &PowerEnds, ports: &Ports<'_>, span: &Span) -> Problem {
    Problem::error(
        "plan/junction-causality",
        format!(
            "`{}` and `{}` of junction `{name}` are both {}",
            ports.path(port.effort),
            ports.path(port.flow),
            if matches!(port.effort, PowerVariable::Input(_)) { "inputs" } else { "outputs" }
        ),
        span.clone(),
    )
    .hint("each side has one of effort and flow as output and the other as input")
}

#[derive(Clone, Copy)]
struct PowerEnds {
    effort: PowerVariable,
    flow: PowerVariable,
    /// Effort times flow in watts, by their physical units.
    watts: f64,
}
