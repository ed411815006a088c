//! All ports of a system by name.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use cosimo_core::PowerVariable;
use cosimo_core::interface::{BytePort, Interface, Port};
use cosimo_core::link::PortRanges;
use cosimo_core::registry::suggest;
use cosimo_system::{ConnectionDecl, Names, PathProblem, Problem, Span};

use crate::value_maps;

/// How many ports of a loop are shown.
const SHOWN: usize = 5;

/// All ports of a system by `component.port`.
#[derive(Debug)]
pub struct Ports<'a> {
    /// Names of the components.
    pub names: &'a [String],
    /// Per component.
    pub interfaces: &'a [Interface],
    /// Per component: its inputs and outputs among those of all.
    pub blocks: &'a [PortRanges],
    /// Components that could not be opened: their ports are unknown.
    pub closed: &'a [usize],
    index: OnceCell<Index<'a>>,
}

/// Why there is no such port; `None`: reported elsewhere, or unknown.
pub(super) type PortProblem = Option<Box<Problem>>;

/// Indices by name, built at the first lookup: callers that only need paths need none.
#[derive(Debug)]
struct Index<'a> {
    components: Names<'a>,
    /// Per component.
    inputs: Vec<BTreeMap<&'a str, usize>>,
    outputs: Vec<BTreeMap<&'a str, usize>>,
}

impl<'a> Index<'a> {
    fn new(names: &'a [String], interfaces: &'a [Interface]) -> Index<'a> {
        let places = |of: fn(&Interface) -> &[Port]| {
            let one = |interface: &'a Interface| {
                // Of several ports with the same name, the first.
                let ports = of(interface).iter().enumerate().rev();
                ports.map(|(at, port)| (port.name.as_str(), at)).collect()
            };
            interfaces.iter().map(one).collect()
        };
        Index {
            components: Names::new(names.iter().map(String::as_str)),
            inputs: places(|interface| &interface.inputs),
            outputs: places(|interface| &interface.outputs),
        }
    }
}

impl<'a> Ports<'a> {
    /// Ports of components that are all open.
    pub fn new(names: &'a [String], interfaces: &'a [Interface], blocks: &'a [PortRanges]) -> Ports<'a> {
        Ports { names, interfaces, blocks, closed: &[], index: OnceCell::new() }
    }

    pub(crate) fn with_closed(self, closed: &'a [usize]) -> Ports<'a> {
        Ports { closed, ..self }
    }

    fn index(&self) -> &Index<'a> {
        self.index.get_or_init(|| Index::new(self.names, self.interfaces))
    }

    /// The index of a component's input in the whole system.
    pub(crate) fn input_of(&self, component: usize, port: &str) -> Option<usize> {
        let at = self.index().inputs[component].get(port)?;
        Some(self.blocks[component].inputs.start + at)
    }

    pub(crate) fn output_of(&self, component: usize, port: &str) -> Option<usize> {
        let at = self.index().outputs[component].get(port)?;
        Some(self.blocks[component].outputs.start + at)
    }

    /// The component that a path begins with, whether it has such a port or not.
    pub(crate) fn component_of(&self, path: &str) -> Option<usize> {
        let components = &self.index().components;
        components.split(path).ok().map(|(index, ..)| index).or_else(|| components.get(path))
    }

    /// The index of a port, by `component.port`; of two with the same name, the input.
    pub fn find(&self, path: &str, span: &Span) -> Result<PowerVariable, PortProblem> {
        if path.is_empty() {
            return Err(None); // reported by the reader of the file
        }
        let unknown = |message: String, hint: String| {
            Problem::error("plan/unknown-port", message, span.clone()).hint(hint)
        };
        let (index, component, port) = match self.owner(path) {
            Ok(found) => found,
            Err(PathProblem::Unknown(component)) => {
                let hint = self.index().components.suggest(component);
                return Err(Some(Box::new(unknown(format!("no component is called `{component}`"), hint))));
            }
            Err(PathProblem::NoPath) => {
                let hint = "ports are written `component.port`, as in `chassis.v`";
                return Err(Some(Box::new(unknown(format!("`{path}` is not a port"), hint.into()))));
            }
        };
        if self.closed.contains(&index) {
            return Err(None);
        }
        // A name may be that of an input and of an output; `output` finds the latter.
        if let Some(input) = self.input_of(index, port) {
            return Ok(PowerVariable::Input(input));
        }
        if let Some(output) = self.output_of(index, port) {
            return Ok(PowerVariable::Output(output));
        }
        let interface = &self.interfaces[index];
        let known = interface.inputs.iter().chain(&interface.outputs).map(|known| known.name.as_str());
        let message = format!("component `{component}` has no port `{port}`");
        Err(Some(Box::new(unknown(message, suggest(port, known)).about_port(component, port))))
    }

    /// The simulator of a path, the component that the path names, and the name of the port in the simulator.
    fn owner<'p>(&self, path: &'p str) -> Result<(usize, &'p str, &'p str), PathProblem<'p>> {
        let lost = match self.index().components.split(path) {
            Ok(found) => return Ok(found),
            Err(lost) => lost,
        };
        // Ports of joined components have full paths.
        for (index, interface) in self.interfaces.iter().enumerate() {
            let of = |member: &String| {
                path.strip_prefix(member.as_str()).is_some_and(|rest| rest.starts_with('.'))
            };
            if let Some(member) =
                interface.members.iter().filter(|member| of(member)).max_by_key(|it| it.len())
            {
                return Ok((index, &path[..member.len()], path));
            }
        }
        Err(lost)
    }

    /// Whether a path is a tunable parameter and not a port.
    pub(crate) fn is_tunable(&self, path: &str) -> bool {
        self.owner(path).is_ok_and(|(index, _, name)| {
            self.interfaces[index].tunable.iter().any(|known| known == name)
                && self.input_of(index, name).is_none()
                && self.output_of(index, name).is_none()
        })
    }

    /// Outputs and gains of a connection.
    pub(crate) fn summands(&self, wire: &ConnectionDecl) -> (Vec<(usize, f64)>, Vec<PortProblem>) {
        let (mut outputs, mut unfound) = (Vec::new(), Vec::new());
        for summand in &wire.from {
            let (path, span) = &summand.port;
            let output = self.output(path, span).and_then(|output| match summand.map.is_empty() {
                true => Ok(output),
                // The map is a wrapper simulator around the one of the output.
                false => self.output(&value_maps::output(path, &wire.to.0), span),
            });
            match output {
                Ok(output) => outputs.push((output, summand.gain)),
                Err(problem) => unfound.push(problem),
            }
        }
        (outputs, unfound)
    }

    /// A string or binary port, by simulator and index.
    pub(crate) fn byte_port(&self, path: &str, input: bool) -> Option<((usize, usize), &BytePort)> {
        let (index, _, port) = self.owner(path).ok()?;
        let Interface { byte_inputs: parcels_in, byte_outputs: parcels_out, .. } = &self.interfaces[index];
        let list = if input { parcels_in } else { parcels_out };
        let place = list.iter().position(|known| known.name == port)?;
        Some(((index, place), &list[place]))
    }

    /// As [`Ports::find`], for outputs only.
    pub fn output(&self, path: &str, span: &Span) -> Result<usize, PortProblem> {
        let named = self.find(path, span)?;
        if let PowerVariable::Output(output) = named {
            return Ok(output);
        }
        if let Ok((index, _, port)) = self.owner(path)
            && let Some(output) = self.output_of(index, port)
        {
            return Ok(output);
        }
        Err(self.wrong_causality(named, "an output", span))
    }

    /// As [`Ports::find`], for inputs only.
    pub fn input(&self, path: &str, span: &Span) -> Result<usize, PortProblem> {
        match self.find(path, span)? {
            PowerVariable::Input(input) => Ok(input),
            named @ PowerVariable::Output(_) => Err(self.wrong_causality(named, "an input", span)),
        }
    }

    fn wrong_causality(&self, named: PowerVariable, expected: &str, span: &Span) -> PortProblem {
        let got = if let PowerVariable::Input(_) = named { "an input" } else { "an output" };
        let message = format!("expected {expected}, but `{}` is {got}", self.path(named));
        Some(Box::new(self.about(Problem::error("plan/wrong-causality", message, span.clone()), named)))
    }

    /// Attaches the port to a problem.
    pub(crate) fn about(&self, problem: Problem, end: PowerVariable) -> Problem {
        problem.about_port(&self.names[self.place(end).0], &self.port(end).name)
    }

    /// The description of a port.
    pub fn port(&self, end: PowerVariable) -> &Port {
        let (index, port) = self.place(end);
        match end {
            PowerVariable::Input(_) => &self.interfaces[index].inputs[port],
            PowerVariable::Output(_) => &self.interfaces[index].outputs[port],
        }
    }

    /// The path of a port: `component.port`.
    pub fn path(&self, end: PowerVariable) -> String {
        let (index, name) = (self.place(end).0, &self.port(end).name);
        match self.interfaces[index].members.is_empty() {
            true => format!("{}.{name}", self.names[index]),
            false => name.clone(),
        }
    }

    /// A loop in signal direction, closed; a long one truncated.
    pub(crate) fn loop_text(&self, path: &[usize]) -> String {
        // Against the signal: an output, the input it depends on, the output that drives it, ...
        let end = |(k, &at): (usize, &usize)| {
            if k % 2 == 0 { PowerVariable::Output(at) } else { PowerVariable::Input(at) }
        };
        let mut steps: Vec<String> = path.iter().enumerate().map(|step| self.path(end(step))).collect();
        steps.reverse();
        if steps.len() > SHOWN {
            let more = steps.len() - SHOWN;
            steps.truncate(SHOWN);
            return format!("{} -> and {more} more", steps.join(" -> "));
        }
        steps.extend(steps.first().cloned());
        steps.join(" -> ")
    }

    /// The component of a port, and the port's index in it.
    pub fn place(&self, end: PowerVariable) -> (usize, usize) {
        let (range_of, at): (fn(&PortRanges) -> std::ops::Range<usize>, usize) = match end {
            PowerVariable::Input(input) => (|block| block.inputs.clone(), input),
            PowerVariable::Output(output) => (|block| block.outputs.clone(), output),
        };
        let index = self.blocks.partition_point(|block| range_of(block).end <= at);
        (index, at - range_of(&self.blocks[index]).start)
    }
}
