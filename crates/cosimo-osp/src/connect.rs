//! Connections and functions as connections and bonds. A function is not a simulator: its output is a sum of outputs
//! with factors and an offset, which is a connection with several summands.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use cosimo_core::registry::{Range, suggest};
use cosimo_core::unit::DOMAINS;
use cosimo_core::{Interface, Port};
use cosimo_system::{BondDecl, Component, ConnectionDecl, PowerPort, Problem, Span, Summand, System};
use roxmltree::Node;

use crate::groups::{self, Groups};
use crate::problem_list::{ProblemList, child, children, head, optional};
use crate::structure::OpenedInterfaces;

/// More inputs of one function, elements counted, are a mistake or an attack.
const MOST_SIGNALS: usize = 10_000;

/// What is known of an FMU before planning.
struct OspSimulator {
    /// `None` if it cannot be opened, which the planner reports.
    interface: Option<Interface>,
    groups: Groups,
}

/// One end of a connection at a simulator.
#[derive(Debug, Clone)]
struct ConnectionEnd {
    component: usize,
    variable: String,
    span: Span,
}

#[derive(Debug, Clone)]
struct Function {
    factor: f64,
    offset: f64,
    inputs: usize,
    /// `None` for those that have single signals.
    dimension: Option<usize>,
    /// What its only input is called, without a number.
    plain: bool,
    span: Span,
}

impl Function {
    fn sum(inputs: usize, dimension: Option<usize>, span: Span) -> Function {
        Function { factor: 1.0, offset: 0.0, inputs, dimension, plain: false, span }
    }

    fn input(&self, input: usize) -> String {
        if self.plain { "in".into() } else { format!("in[{input}]") }
    }
}

/// A signal of a function: which input, or the output; and which element of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FunctionSignal {
    Input(usize, usize),
    Output(usize),
}

struct Connector<'a> {
    system: &'a System,
    units: Vec<OspSimulator>,
    functions: BTreeMap<String, Function>,
    /// Functions and bonds of which a connection could not be read: what they lack is not missed a second time.
    excused: BTreeSet<String>,
    page: &'a mut ProblemList,
}

/// Reads `<Functions>` and `<Connections>` into wires and bonds of the system.
pub(crate) fn connect(
    root: Node<'_, '_>,
    system: &mut System,
    opened: &OpenedInterfaces,
    page: &mut ProblemList,
) {
    let mut connector = Connector {
        units: units(system, opened),
        functions: functions(root, page),
        excused: BTreeSet::new(),
        system: &*system,
        page,
    };
    let (wires, bonds) = connector.read(root);
    let sides = bonds.iter().flat_map(|bond| [&bond.a.effort, &bond.a.flow, &bond.b.effort, &bond.b.flow]);
    let driven: BTreeSet<String> =
        wires.iter().map(|wire| &wire.to).chain(sides).map(|(path, _)| path.clone()).collect();
    for component in &system.components {
        for (input, _, span) in &component.starts {
            if driven.contains(&format!("{}.{input}", component.name)) {
                let message = format!(
                    "`{input}` of `{}` is driven, so this is only what outputs that answer it at once see before the start",
                    component.name
                );
                page.warning("osp/driven-start", message, span.clone());
            }
        }
    }
    system.connections = wires;
    system.bonds = bonds;
}

fn units(system: &System, opened: &OpenedInterfaces) -> Vec<OspSimulator> {
    let each = |component: &Component| {
        let interface = opened.get(&component.source).cloned().flatten();
        let mut facts = interface.iter().flat_map(|interface| &interface.facts);
        let model = facts.find(|(word, _)| word == "model").map(|(_, name)| name.clone());
        let file = system.folder.join(&component.source);
        let groups = groups::of_unit(&file, model.as_deref(), &system.folder);
        OspSimulator { interface, groups }
    };
    system.components.iter().map(each).collect()
}

fn functions(root: Node<'_, '_>, page: &mut ProblemList) -> BTreeMap<String, Function> {
    let mut found = BTreeMap::new();
    let Some(list) = child(root, "Functions") else { return found };
    page.only(list, &[], &["LinearTransformation", "Sum", "VectorSum"]);
    for node in list.children().filter(Node::is_element) {
        let span = head(node);
        let function = match node.tag_name().name() {
            "LinearTransformation" => {
                page.only(node, &["name", "factor", "offset"], &[]);
                let factor = page.number(node, "factor", Range::Finite).unwrap_or(1.0);
                let offset = page.number(node, "offset", Range::Finite).unwrap_or(0.0);
                Some(Function { factor, offset, inputs: 1, dimension: None, plain: true, span })
            }
            "Sum" => {
                page.only(node, &["name", "inputCount"], &[]);
                let inputs = page.count(node, "inputCount", MOST_SIGNALS);
                inputs.map(|inputs| Function::sum(inputs, None, span))
            }
            "VectorSum" => {
                page.only(node, &["name", "inputCount", "dimension"], &[]);
                let inputs = page.count(node, "inputCount", MOST_SIGNALS);
                let dimension = page.count(node, "dimension", MOST_SIGNALS);
                inputs.zip(dimension).and_then(|(inputs, dimension)| {
                    if inputs * dimension > MOST_SIGNALS {
                        let message = format!("more than {MOST_SIGNALS} signals go into one function");
                        page.error("osp/value", message, span.clone());
                        return None;
                    }
                    Some(Function::sum(inputs, Some(dimension), span))
                })
            }
            _ => None,
        };
        let Some((name, span)) = page.attribute(node, "name") else { continue };
        let Some(function) = function else { continue };
        match found.entry(name) {
            Entry::Vacant(place) => {
                place.insert(function);
            }
            Entry::Occupied(first) => {
                let message = format!("two functions are called `{}`", first.key());
                page.error("osp/duplicate", message, span);
            }
        }
    }
    found
}

/// Variables that go together from one simulator to another, with the name of their bond if they have one.
struct Pair {
    from: ConnectionEnd,
    to: ConnectionEnd,
    bond: Option<(String, Span)>,
    /// Several pairs of one element are several bonds.
    element: usize,
}

impl Connector<'_> {
    fn read(&mut self, root: Node<'_, '_>) -> (Vec<ConnectionDecl>, Vec<BondDecl>) {
        let Some(list) = child(root, "Connections") else {
            self.unused(&BTreeMap::new(), &[]);
            return (Vec::new(), Vec::new());
        };
        let kinds =
            ["VariableConnection", "SignalConnection", "VariableGroupConnection", "SignalGroupConnection"];
        self.page.only(list, &[], &kinds);
        let mut pairs = Vec::new();
        // What goes into functions, and what comes out of them.
        let mut inputs: BTreeMap<(String, FunctionSignal), ConnectionEnd> = BTreeMap::new();
        let mut outputs: Vec<(String, FunctionSignal, ConnectionEnd)> = Vec::new();
        for (element, node) in list.children().filter(Node::is_element).enumerate() {
            match node.tag_name().name() {
                "VariableConnection" => match self.variables(node, element) {
                    Some(pair) => pairs.push(pair),
                    None => self.excuse(node),
                },
                "VariableGroupConnection" => match self.groups(node, element) {
                    Some(found) => pairs.extend(found),
                    None => self.excuse(node),
                },
                kind @ ("SignalConnection" | "SignalGroupConnection") => {
                    let one = kind == "SignalConnection";
                    let signals = if one { self.signal(node).map(|it| vec![it]) } else { self.signals(node) };
                    if signals.is_none() {
                        self.excuse(node);
                    }
                    for (function, signal, end) in signals.into_iter().flatten() {
                        self.at_function(function, signal, end, &mut inputs, &mut outputs);
                    }
                }
                _ => {}
            }
        }
        self.unused(&inputs, &outputs);
        let mut wires = Vec::new();
        let mut bonded: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
        for pair in pairs {
            match &pair.bond {
                Some((name, _)) => bonded.entry(name.clone()).or_default().push(pair),
                None => wires.push(self.wire(&pair)),
            }
        }
        wires.extend(
            outputs.iter().filter_map(|(function, signal, end)| self.sum(function, *signal, end, &inputs)),
        );
        let bonds = bonded.into_iter().flat_map(|(name, pairs)| self.bonds(&name, pairs)).collect();
        (wires, bonds)
    }

    fn excuse(&mut self, node: Node<'_, '_>) {
        let functions = node.children().filter_map(|child| child.attribute("function"));
        self.excused.extend(functions.chain(node.attribute("powerBond")).map(str::to_owned));
    }

    /// A simulator by name.
    fn component(&mut self, node: Node<'_, '_>) -> Option<(usize, Span)> {
        let (name, span) = self.page.attribute(node, "simulator")?;
        let components = &self.system.components;
        let found = components.iter().position(|component| component.name == name);
        if found.is_none() {
            let hint = suggest(&name, components.iter().map(|component| component.name.as_str()));
            self.page
                .error("osp/unknown-simulator", format!("no simulator is called `{name}`"), span.clone())
                .hint = Some(hint);
        }
        found.map(|found| (found, span))
    }

    fn end(&mut self, node: Node<'_, '_>) -> Option<ConnectionEnd> {
        self.page.only(node, &["simulator", "name", "causality"], &[]);
        let component = self.component(node);
        let (variable, span) = self.page.attribute(node, "name")?;
        Some(ConnectionEnd { component: component?.0, variable, span })
    }

    fn path(&self, end: &ConnectionEnd) -> (String, Span) {
        let component = &self.system.components[end.component].name;
        (format!("{component}.{}", end.variable), end.span.clone())
    }

    fn port<'u>(&'u self, end: &ConnectionEnd, of: fn(&Interface) -> &[Port]) -> Option<&'u Port> {
        let interface = self.units[end.component].interface.as_ref()?;
        of(interface).iter().find(|port| port.name == end.variable)
    }

    /// Which of two variables gives and which takes: the FMUs decide it, not the attribute `causality`, which
    /// is written both ways. If an FMU does not open, the first one gives.
    fn directed(&self, one: ConnectionEnd, other: ConnectionEnd) -> (ConnectionEnd, ConnectionEnd) {
        let gives = |end: &ConnectionEnd| self.port(end, |interface| &interface.outputs).is_some();
        let takes = |end: &ConnectionEnd| self.port(end, |interface| &interface.inputs).is_some();
        if !gives(&one) && gives(&other) || (!gives(&one) && takes(&one)) {
            (other, one)
        } else {
            (one, other)
        }
    }

    fn two<'a, 'i>(&mut self, node: Node<'a, 'i>, tag: &'static str) -> Option<[Node<'a, 'i>; 2]> {
        self.page.only(node, &["powerBond"], &[tag]);
        let ends: Vec<Node<'a, 'i>> = children(node, tag).collect();
        if let [one, other] = ends[..] {
            return Some([one, other]);
        }
        let message = format!("`<{}>` joins two `<{tag}>`, got {}", node.tag_name().name(), ends.len());
        self.page.error("osp/ends", message, head(node));
        None
    }

    fn variables(&mut self, node: Node<'_, '_>, element: usize) -> Option<Pair> {
        let [one, other] = self.two(node, "Variable")?;
        let (one, other) = (self.end(one), self.end(other));
        let (from, to) = self.directed(one?, other?);
        Some(Pair { from, to, bond: optional(node, "powerBond"), element })
    }

    fn groups(&mut self, node: Node<'_, '_>, element: usize) -> Option<Vec<Pair>> {
        let [one, other] = self.two(node, "VariableGroup")?;
        let (one, other) = (self.group(one), self.group(other));
        let (one, other) = (one?, other?);
        if one.len() != other.len() {
            let message =
                format!("the groups do not fit: one has {} variables, the other {}", one.len(), other.len());
            self.page.error("osp/group-size", message, head(node));
            return None;
        }
        let bond = optional(node, "powerBond");
        let pair = |(one, other): (ConnectionEnd, ConnectionEnd)| {
            let (from, to) = self.directed(one, other);
            Pair { from, to, bond: bond.clone(), element }
        };
        Some(one.into_iter().zip(other).map(pair).collect())
    }

    /// The variables of a group.
    fn group(&mut self, node: Node<'_, '_>) -> Option<Vec<ConnectionEnd>> {
        self.page.only(node, &["simulator", "name", "causality"], &[]);
        let component = self.component(node);
        let (name, span) = self.page.attribute(node, "name")?;
        let (component, _) = component?;
        let simulator = &self.system.components[component].name;
        let wrong = match &self.units[component].groups {
            Groups::Known(groups) => match groups::find(groups, &name) {
                Some(group) => {
                    let end = |variable: &str| ConnectionEnd {
                        component,
                        variable: variable.to_owned(),
                        span: span.clone(),
                    };
                    return Some(group.all().into_iter().map(end).collect());
                }
                None => {
                    let hint = suggest(&name, groups::names(groups).into_iter());
                    (format!("`{simulator}` has no group of variables `{name}`"), hint)
                }
            },
            Groups::Unreadable(message) => {
                (format!("groups of `{simulator}` cannot be read: {message}"), "correct that file".into())
            }
            Groups::Missing(tried) => {
                let shown = |path: &PathBuf| {
                    let path = path.strip_prefix(&self.system.folder).unwrap_or(path);
                    format!("`{}`", path.display())
                };
                let tried: Vec<String> = tried.iter().map(shown).collect();
                (
                    format!("no file says which variables of `{simulator}` are the group `{name}`"),
                    format!("looked for {}, in upper or lower case", tried.join(", ")),
                )
            }
        };
        self.page.error("osp/group", wrong.0, span).hint = Some(wrong.1);
        None
    }

    /// A function by name, and which of its signals is meant; `whole` where groups are.
    fn function(&mut self, node: Node<'_, '_>, whole: bool) -> Option<(String, Function, FunctionSignal)> {
        self.page.only(node, &["function", "name"], &[]);
        let function = self.page.attribute(node, "function");
        let (signal, signal_span) = self.page.attribute(node, "name")?;
        let (name, span) = function?;
        let Some(function) = self.functions.get(&name).cloned() else {
            let hint = suggest(&name, self.functions.keys().map(String::as_str));
            self.page.error("osp/unknown-function", format!("no function is called `{name}`"), span).hint =
                Some(hint);
            return None;
        };
        let signals: BTreeMap<String, FunctionSignal> = named(&function, whole);
        match signals.get(&signal) {
            Some(found) => Some((name, function, *found)),
            None => {
                let hint = suggest(&signal, signals.keys().map(String::as_str));
                let message = format!("function `{name}` has no signal `{signal}`");
                self.page.error("osp/unknown-signal", message, signal_span).hint = Some(hint);
                None
            }
        }
    }

    fn signal(&mut self, node: Node<'_, '_>) -> Option<(String, FunctionSignal, ConnectionEnd)> {
        let (variable, signal) = self.both(node, "Variable", "Signal")?;
        let (end, function) = (self.end(variable), self.function(signal, false));
        let (name, _, signal) = function?;
        Some((name, signal, end?))
    }

    fn signals(&mut self, node: Node<'_, '_>) -> Option<Vec<(String, FunctionSignal, ConnectionEnd)>> {
        let (variables, signals) = self.both(node, "VariableGroup", "SignalGroup")?;
        let (group, function) = (self.group(variables), self.function(signals, true));
        let (group, (name, function, signal)) = (group?, function?);
        let dimension = function.dimension.unwrap_or(1);
        if group.len() != dimension {
            let message = format!(
                "the group has {} variables, function `{name}` the dimension {dimension}",
                group.len()
            );
            self.page.error("osp/group-size", message, head(node));
            return None;
        }
        let element = |(at, end): (usize, ConnectionEnd)| match signal {
            FunctionSignal::Input(input, _) => (name.clone(), FunctionSignal::Input(input, at), end),
            FunctionSignal::Output(_) => (name.clone(), FunctionSignal::Output(at), end),
        };
        Some(group.into_iter().enumerate().map(element).collect())
    }

    fn both<'a, 'i>(
        &mut self,
        node: Node<'a, 'i>,
        one: &'static str,
        other: &'static str,
    ) -> Option<(Node<'a, 'i>, Node<'a, 'i>)> {
        self.page.only(node, &[], &[one, other]);
        let found = (child(node, one), child(node, other));
        if let (Some(one), Some(other)) = found
            && node.children().filter(Node::is_element).count() == 2
        {
            return Some((one, other));
        }
        let message = format!("`<{}>` joins a `<{one}>` and a `<{other}>`", node.tag_name().name());
        self.page.error("osp/ends", message, head(node));
        None
    }

    fn at_function(
        &mut self,
        function: String,
        signal: FunctionSignal,
        end: ConnectionEnd,
        inputs: &mut BTreeMap<(String, FunctionSignal), ConnectionEnd>,
        outputs: &mut Vec<(String, FunctionSignal, ConnectionEnd)>,
    ) {
        if let FunctionSignal::Output(_) = signal {
            outputs.push((function, signal, end));
            return;
        }
        let span = end.span.clone();
        if let Some(first) = inputs.insert((function.clone(), signal), end) {
            let message =
                format!("an input of function `{function}` is also connected to `{}`", self.path(&first).0);
            self.page.error("osp/driven-twice", message, span);
        }
    }

    /// Functions with open ends: without an input there is no sum, without an output it is for nothing.
    fn unused(
        &mut self,
        inputs: &BTreeMap<(String, FunctionSignal), ConnectionEnd>,
        outputs: &[(String, FunctionSignal, ConnectionEnd)],
    ) {
        let used: BTreeSet<&str> = outputs.iter().map(|(function, ..)| function.as_str()).collect();
        let mut found = Vec::new();
        for (name, function) in self.functions.iter().filter(|(name, _)| !self.excused.contains(*name)) {
            let elements = function.dimension.unwrap_or(1);
            let all = (0..function.inputs)
                .flat_map(|input| (0..elements).map(move |at| FunctionSignal::Input(input, at)));
            let open = all.into_iter().find(|signal| !inputs.contains_key(&(name.clone(), *signal)));
            if let Some(FunctionSignal::Input(input, _)) = open {
                let message =
                    format!("input `{}` of function `{name}` is not connected", function.input(input));
                found.push(Problem::error("osp/open-function", message, function.span.clone()));
            }
            if !used.contains(name.as_str()) {
                let message = format!("the output of function `{name}` is not connected");
                found.push(Problem::warning("osp/unread-function", message, function.span.clone()));
            }
        }
        self.page.problems.extend(found);
    }

    fn wire(&mut self, pair: &Pair) -> ConnectionDecl {
        let unit = |end: &ConnectionEnd, of: fn(&Interface) -> &[Port]| {
            self.port(end, of).and_then(|port| port.unit.clone())
        };
        let units =
            (unit(&pair.from, |interface| &interface.outputs), unit(&pair.to, |interface| &interface.inputs));
        if let (Some(given), Some(wanted)) = units
            && (given.dimension, given.factor, given.offset)
                != (wanted.dimension, wanted.factor, wanted.offset)
        {
            let message = format!(
                "`{}` [{given}] drives `{}` [{wanted}] as it is: these files know no conversion of units",
                self.path(&pair.from).0,
                self.path(&pair.to).0
            );
            self.page.warning("osp/unit", message, pair.to.span.clone());
        }
        let plain = ConnectionDecl::plain(self.path(&pair.from), self.path(&pair.to));
        ConnectionDecl { convert: false, ..plain }
    }

    /// What a function sends to a variable.
    fn sum(
        &self,
        name: &str,
        signal: FunctionSignal,
        to: &ConnectionEnd,
        inputs: &BTreeMap<(String, FunctionSignal), ConnectionEnd>,
    ) -> Option<ConnectionDecl> {
        let function = self.functions.get(name)?;
        let FunctionSignal::Output(element) = signal else { return None };
        let summand = |input: usize| {
            let end = inputs.get(&(name.to_owned(), FunctionSignal::Input(input, element)))?;
            Some(Summand { gain: function.factor, ..Summand::plain(self.path(end)) })
        };
        let from: Option<Vec<Summand>> = (0..function.inputs).map(summand).collect();
        Some(ConnectionDecl { from: from?, to: self.path(to), offset: function.offset, convert: false })
    }

    /// The pairs of one name as bonds: effort one way, flow the other.
    fn bonds(&mut self, name: &str, pairs: Vec<Pair>) -> Vec<BondDecl> {
        let span = pairs.first().and_then(|pair| pair.bond.clone()).map_or(0..0, |(_, span)| span);
        let between = pairs.first().map(|pair| (pair.from.component, pair.to.component));
        let (forth, back): (Vec<Pair>, Vec<Pair>) =
            pairs.into_iter().partition(|pair| Some((pair.from.component, pair.to.component)) == between);
        let returns = back.iter().all(|pair| Some((pair.to.component, pair.from.component)) == between);
        // Only groups can hold several bonds.
        let grouped = forth.iter().chain(&back).map(|pair| pair.element).collect::<BTreeSet<_>>().len() <= 2;
        if self.excused.contains(name) {
            return Vec::new();
        }
        if forth.len() != back.len() || !returns || (forth.len() > 1 && !grouped) {
            let message = format!(
                "power bond `{name}` must be one connection there and one back between two simulators, got {} and {}",
                forth.len(),
                back.len()
            );
            self.page.error("osp/power-bond", message, span).hint =
                Some("effort goes one way and flow the other; each bond has a name of its own".into());
            return Vec::new();
        }
        let plain: String = name
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() || "_-".contains(letter) { letter } else { '_' })
            .collect();
        if plain != name {
            let message = format!("power bond `{name}` is called `{plain}` in results");
            self.page.warning("osp/bond-name", message, span.clone());
        }
        let count = forth.len();
        let each = forth.iter().zip(&back).enumerate();
        each.map(|(at, (one, other))| {
            let name = if count == 1 { plain.clone() } else { format!("{plain}-{}", at + 1) };
            self.bond(name, one, other, span.clone())
        })
        .collect()
    }

    /// The effort is known by the units; where they say nothing, it is the first.
    fn bond(&self, name: String, one: &Pair, other: &Pair, span: Span) -> BondDecl {
        let flows = |pair: &Pair| {
            let unit =
                self.port(&pair.from, |interface| &interface.outputs).and_then(|port| port.unit.as_ref());
            unit.is_some_and(|unit| DOMAINS.iter().any(|domain| domain.flow == unit.dimension))
        };
        let (effort, flow) = if flows(one) && !flows(other) { (other, one) } else { (one, other) };
        let a = PowerPort { effort: self.path(&effort.from), flow: self.path(&flow.to) };
        let b = PowerPort { effort: self.path(&effort.to), flow: self.path(&flow.from) };
        BondDecl { name, a, b, span, ..BondDecl::default() }
    }
}

/// The signals of a function by name: single ones, or whole groups.
fn named(function: &Function, whole: bool) -> BTreeMap<String, FunctionSignal> {
    let inputs = (0..function.inputs).map(|input| (function.input(input), Some(input)));
    let signal = |input: Option<usize>, at| {
        input.map_or(FunctionSignal::Output(at), |input| FunctionSignal::Input(input, at))
    };
    let mut names = BTreeMap::new();
    for (name, input) in inputs.chain([("out".to_owned(), None)]) {
        match (function.dimension, whole) {
            (None, false) | (Some(_), true) => {
                names.insert(name, signal(input, 0));
            }
            (Some(dimension), false) => {
                names.extend((0..dimension).map(|at| (format!("{name}[{at}]"), signal(input, at))));
            }
            (None, true) => {}
        }
    }
    names
}
