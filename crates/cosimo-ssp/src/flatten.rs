//! Nested systems to one flat system. Connectors of all elements are nodes of one graph, connections its edges; from
//! every input of a component a walk against them finds its source output and the transformations in between.
//!
//! Order of transformations: "conversions based on different units are performed .. prior to the application of the linear
//! transformation" (SystemStructureCommon.xsd, `LinearTransformation`), at every connection of the path.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cosimo_core::unit::describe;
use cosimo_core::{Interface, Registry, Unit, Value};
use cosimo_system::names::is_component;
use cosimo_system::{ConnectionDecl, Experiment, Problem, Span, Summand, System, sources};

use crate::bindings::element;
use crate::document::{ProblemLog, suggest};
use crate::tree::{
    self, Binding, ComponentContent, Connection, ConnectionEnd, Connector, ConnectorKind, ConnectorType,
    Dictionary, Element, Items, Structure, Transformation,
};

/// More are an error or an attack: systems can be used by reference, and so grow exponentially.
const MOST_COMPONENTS: usize = 100_000;
/// Elements of one array.
const LARGEST_ARRAY: u64 = 100_000;

/// The graph and its components.
pub(crate) struct Flat<'t> {
    pub(crate) registry: &'t Registry,
    pub(crate) folder: PathBuf,
    pub(crate) parts: Vec<FlatComponent<'t>>,
    pub(crate) owners: Vec<Owner<'t>>,
    pub(crate) nodes: Vec<Node<'t>>,
    /// Bindings in ascending precedence.
    pub(crate) levels: Vec<(usize, &'t [Binding])>,
    /// Connected inputs of components, in the order of the file.
    ends: Vec<usize>,
    pub(crate) excess: bool,
}

pub(crate) struct FlatComponent<'t> {
    pub(crate) component: cosimo_system::Component,
    owner: usize,
    pub(crate) connectors: BTreeMap<&'t str, &'t Connector>,
    interface: OnceCell<Option<Interface>>,
    parameters: OnceCell<BTreeMap<String, Option<Unit>>>,
}

/// An element or system with connectors.
pub(crate) struct Owner<'t> {
    pub(crate) role: Role,
    pub(crate) connectors: BTreeMap<&'t str, &'t Connector>,
    /// Of a system.
    pub(crate) elements: BTreeMap<&'t str, usize>,
    /// By the name of a scalar.
    pub(crate) nodes: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Component(usize),
    System,
    Dictionary,
    /// A reference to a dictionary, by its owner.
    Reference(usize),
}

pub(crate) struct Node<'t> {
    pub(crate) role: Role,
    /// Path for messages.
    pub(crate) path: String,
    /// The port of a component.
    pub(crate) port: String,
    pub(crate) connector: &'t Connector,
    incoming: Option<Edge<'t>>,
    /// Targets of outgoing edges.
    pub(crate) outgoing: Vec<usize>,
}

#[derive(Clone)]
pub(crate) struct Edge<'t> {
    pub(crate) from: usize,
    pub(crate) map: Option<Vec<(f64, f64)>>,
    pub(crate) factor: f64,
    pub(crate) offset: f64,
    pub(crate) suppress: bool,
    span: &'t Span,
}

impl Edge<'_> {
    fn plain(&self) -> bool {
        self.map.is_none() && (self.factor, self.offset) == (1.0, 0.0) && !self.suppress
    }
}

/// The direction of a connector, seen from one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DataFlow {
    Gives,
    Takes,
    Either,
}

fn way(kind: ConnectorKind, of_the_system_itself: bool) -> DataFlow {
    match (kind, of_the_system_itself) {
        (ConnectorKind::Either, _) => DataFlow::Either,
        (ConnectorKind::Input | ConnectorKind::Parameter, false)
        | (ConnectorKind::Output | ConnectorKind::Calculated, true) => DataFlow::Takes,
        (ConnectorKind::Output | ConnectorKind::Calculated, false)
        | (ConnectorKind::Input | ConnectorKind::Parameter, true) => DataFlow::Gives,
    }
}

fn word(kind: ConnectorKind) -> &'static str {
    match kind {
        ConnectorKind::Input => "an input",
        ConnectorKind::Output => "an output",
        ConnectorKind::Parameter => "a parameter",
        ConnectorKind::Calculated => "a calculated parameter",
        ConnectorKind::Either => "an input and output",
    }
}

fn is_parameter(kind: ConnectorKind) -> bool {
    matches!(kind, ConnectorKind::Parameter | ConnectorKind::Calculated)
}

pub(crate) fn flatten<'t>(
    structure: &'t Structure,
    folder: &Path,
    registry: &'t Registry,
    log: &mut ProblemLog,
) -> Flat<'t> {
    let mut flat = Flat {
        registry,
        folder: folder.to_owned(),
        parts: Vec::new(),
        owners: Vec::new(),
        nodes: Vec::new(),
        levels: Vec::new(),
        ends: Vec::new(),
        excess: false,
    };
    let mut walk = TreeWalk { by_id: &structure.by_id, scopes: Vec::new(), open: Vec::new() };
    flat.system(&structure.system, "", &mut walk, log);
    if flat.excess {
        let message = format!("the system has more than {MOST_COMPONENTS} components, the limit");
        log.hinted("ssp/too-many", message, &structure.system.span, "do not trust this file");
    }
    let mut names = BTreeSet::new();
    for part in &flat.parts {
        let span = &part.component.span;
        let said = |problem: &Problem| problem.code == "ssp/duplicate" && problem.span == *span;
        if !names.insert(&part.component.name) && !log.problems.iter().any(said) {
            let message = format!("two components are named `{}`", part.component.name);
            log.error("ssp/duplicate", message, span);
        }
    }
    flat
}

/// Where the walk down the tree is.
struct TreeWalk<'t> {
    by_id: &'t BTreeMap<String, std::rc::Rc<tree::SspSystem>>,
    /// Dictionaries of the systems around, the innermost last.
    scopes: Vec<BTreeMap<&'t str, usize>>,
    /// Systems that are used by reference, from the outermost to this one.
    open: Vec<&'t str>,
}

impl<'t> Flat<'t> {
    fn owner(&mut self, role: Role, connectors: &'t [Connector], log: &mut ProblemLog) -> usize {
        let mut known = BTreeMap::new();
        for connector in connectors {
            let name = connector.name.as_str();
            if known.contains_key(name) {
                log.error("ssp/duplicate", format!("two connectors are named `{name}`"), &connector.span);
            } else {
                known.insert(name, connector);
            }
        }
        self.owners.push(Owner {
            role,
            connectors: known,
            elements: BTreeMap::new(),
            nodes: BTreeMap::new(),
        });
        self.owners.len() - 1
    }

    /// `prefix` is the name of the system with its dot; empty for the outermost.
    fn system(
        &mut self,
        system: &'t tree::SspSystem,
        prefix: &str,
        walk: &mut TreeWalk<'t>,
        log: &mut ProblemLog,
    ) -> usize {
        let owner = self.owner(Role::System, &system.connectors, log);
        let mut scope = BTreeMap::new();
        for Dictionary { name, entries } in &system.dictionaries {
            scope.insert(name.as_str(), self.owner(Role::Dictionary, entries, log));
        }
        walk.scopes.push(scope);
        for element in &system.elements {
            let (name, span) = match element {
                Element::Component(component) => (&component.name, &component.span),
                Element::System(system) => (&system.name, &system.span),
                Element::Reference(reference) => (&reference.name, &reference.span),
            };
            let path = format!("{prefix}{}", self.plain(name, span, log));
            let place = match element {
                Element::Component(component) => self.component(component, path, walk, log),
                Element::System(system) => Some(self.system(system, &format!("{path}."), walk, log)),
                Element::Reference(reference) => self.reference(reference, walk, log),
            };
            let Some(place) = place else { continue };
            if name.is_empty() {
                continue; // reported already
            }
            if self.owners[owner].elements.contains_key(name.as_str()) {
                let message = format!("two elements of a system are named `{name}`");
                log.error("ssp/duplicate", message, span);
            } else {
                self.owners[owner].elements.insert(name, place);
            }
        }
        walk.scopes.pop();
        for connection in &system.connections {
            self.connect(owner, connection, prefix, log);
        }
        self.levels.push((owner, &system.bindings));
        owner
    }

    /// A valid component name.
    fn plain(&self, name: &str, span: &Span, log: &mut ProblemLog) -> String {
        if is_component(name) {
            return name.to_owned();
        }
        if name.is_empty() {
            return "_".to_owned(); // reported already
        }
        let letter =
            |letter: char| if letter.is_alphanumeric() || "_-.".contains(letter) { letter } else { '_' };
        let parts: Vec<String> = name.split('.').map(|part| part.chars().map(letter).collect()).collect();
        let plain: Vec<&str> = parts.iter().map(|part| if part.is_empty() { "_" } else { part }).collect();
        let plain = plain.join(".");
        log.warning(
            "ssp/name",
            format!("{name:?} is renamed to `{plain}`: its name has characters that are not allowed"),
            span,
        );
        plain
    }

    fn component(
        &mut self,
        component: &'t tree::Component,
        path: String,
        walk: &mut TreeWalk<'t>,
        log: &mut ProblemLog,
    ) -> Option<usize> {
        // Systems count as well: recursion is possible without any component.
        self.excess |= self.parts.len() >= MOST_COMPONENTS || self.owners.len() >= 2 * MOST_COMPONENTS;
        if self.excess {
            return None;
        }
        let owner = match &component.content {
            ComponentContent::Structure(inner) => {
                let mut inside = TreeWalk { by_id: &inner.by_id, scopes: Vec::new(), open: Vec::new() };
                self.system(&inner.system, &format!("{path}."), &mut inside, log)
            }
            ComponentContent::Local(id) => {
                let Some(system) = walk.by_id.get(id) else {
                    let message = format!("there is no system with the id `{id}` in this file");
                    let hint = suggest(id, walk.by_id.keys().map(String::as_str));
                    log.hinted("ssp/unknown-id", message, &component.source_span, hint);
                    return None;
                };
                if walk.open.contains(&id.as_str()) {
                    let message = format!("the system with the id `{id}` contains itself");
                    log.error("ssp/circular", message, &component.source_span);
                    return None;
                }
                walk.open.push(id);
                let owner = self.system(system, &format!("{path}."), walk, log);
                walk.open.pop();
                owner
            }
            ComponentContent::Simulator(source) => self.simulator(component, source, path, log),
            // The error has been reported; its connectors are still valid.
            ComponentContent::Unknown => self.simulator(component, "", path, log),
        };
        // "Any parameter bindings in the component are treated as if they were present in the top-level system of the
        // SSP/SSD after all parameter bindings of the system" (SystemStructureDescription.xsd, `ParameterBinding`).
        self.levels.push((owner, &component.bindings));
        Some(owner)
    }

    fn simulator(
        &mut self,
        component: &'t tree::Component,
        source: &str,
        path: String,
        log: &mut ProblemLog,
    ) -> usize {
        let owner = self.owner(Role::Component(self.parts.len()), &component.connectors, log);
        let mut part = cosimo_system::Component {
            name: path,
            source: source.to_owned(),
            source_span: component.source_span.clone(),
            span: component.span.clone(),
            ..cosimo_system::Component::default()
        };
        if let Some(usage) = component.usage {
            let name = "cosimo.use".to_owned();
            part.parameters.push((name, Value::Text(usage.to_owned()), component.span.clone()));
        }
        for connector in component.connectors.iter().filter(|connector| !is_parameter(connector.kind)) {
            if let Some(unit) = &connector.unit {
                for name in self.scalars(connector, None, &connector.span, log).unwrap_or_default() {
                    part.units.push((name, unit.clone(), connector.span.clone()));
                }
            }
        }
        let connectors = component.connectors.iter().map(|known| (known.name.as_str(), known)).collect();
        self.parts.push(FlatComponent {
            component: part,
            owner,
            connectors,
            interface: OnceCell::new(),
            parameters: OnceCell::new(),
        });
        owner
    }

    fn reference(
        &mut self,
        reference: &'t tree::Reference,
        walk: &TreeWalk<'t>,
        log: &mut ProblemLog,
    ) -> Option<usize> {
        let name = reference.dictionary.as_str();
        let Some(&dictionary) = walk.scopes.iter().rev().find_map(|scope| scope.get(name)) else {
            let known = walk.scopes.iter().flat_map(|scope| scope.keys().copied());
            let message = format!("there is no signal dictionary `{name}`");
            log.hinted("ssp/unknown-dictionary", message, &reference.dictionary_span, suggest(name, known));
            return None;
        };
        for connector in &reference.connectors {
            let entries = &self.owners[dictionary].connectors;
            if !entries.contains_key(connector.name.as_str()) {
                let message = format!("the signal dictionary `{name}` has no entry `{}`", connector.name);
                let hint = suggest(&connector.name, entries.keys().copied());
                log.hinted("ssp/unknown-entry", message, &connector.span, hint);
            }
        }
        Some(self.owner(Role::Reference(dictionary), &reference.connectors, log))
    }

    /// The names of the single values of a connector, or of one of them.
    fn scalars(
        &self,
        connector: &Connector,
        indices: Option<&[u64]>,
        span: &Span,
        log: &mut ProblemLog,
    ) -> Option<Vec<String>> {
        let name = &connector.name;
        if let Some(indices) = indices.filter(|indices| !indices.is_empty()) {
            let indices: Vec<String> = indices.iter().map(u64::to_string).collect();
            return Some(vec![format!("{name}[{}]", indices.join(","))]);
        }
        let Some(sizes) = &connector.sizes else {
            let message =
                format!("the size of the array `{name}` is unknown; its elements cannot be connected");
            let hint = "give each `<Dimension>` a `size`, or connect single elements";
            log.hinted("ssp/array", message, span, hint);
            return None;
        };
        if sizes.is_empty() {
            return Some(vec![name.clone()]);
        }
        let count = sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
        let Some(count) = count.filter(|count| *count <= LARGEST_ARRAY) else {
            let message = format!("the array `{name}` has more than {LARGEST_ARRAY} elements, the limit");
            log.error("ssp/array", message, span);
            return None;
        };
        Some((0..count).map(|at| element(name, at, sizes)).collect())
    }

    /// One end of a connection: its connector, the owner, and whether that is the enclosing system.
    fn end(
        &self,
        system: usize,
        end: &'t ConnectionEnd,
        log: &mut ProblemLog,
    ) -> Option<(usize, &'t Connector, bool)> {
        let (owner, itself) = match &end.element {
            None => (system, true),
            Some(element) => match self.owners[system].elements.get(element.as_str()) {
                Some(&owner) => (owner, false),
                None if log.is_full() => return None,
                None => {
                    let known = self.owners[system].elements.keys().copied();
                    let message = format!("this system has no element `{element}`");
                    log.hinted("ssp/unknown-element-name", message, &end.span, suggest(element, known));
                    return None;
                }
            },
        };
        let connectors = &self.owners[owner].connectors;
        let Some(&connector) = connectors.get(end.connector.as_str()) else {
            if log.is_full() {
                return None;
            }
            let whose = end.element.as_ref().map_or("this system".to_owned(), |name| format!("`{name}`"));
            let message = format!("{whose} has no connector `{}`", end.connector);
            let hint = suggest(&end.connector, connectors.keys().copied());
            log.hinted("ssp/unknown-connector", message, &end.span, hint);
            return None;
        };
        if let ConnectorType::Other(what) = connector.of {
            let message = format!("`{}` exchanges {what}; only numbers are supported", end.connector);
            log.error("ssp/type", message, &end.span);
            return None;
        }
        Some((owner, connector, itself))
    }

    fn node(&mut self, owner: usize, connector: &'t Connector, scalar: &str, prefix: &str) -> usize {
        // A dictionary has one node for all that refer to it.
        let (owner, connector) = match self.owners[owner].role {
            Role::Reference(dictionary) => {
                let entry = self.owners[dictionary].connectors.get(connector.name.as_str());
                (dictionary, entry.copied().unwrap_or(connector))
            }
            _ => (owner, connector),
        };
        if let Some(&node) = self.owners[owner].nodes.get(scalar) {
            return node;
        }
        let role = self.owners[owner].role;
        let path = match role {
            Role::Component(part) => format!("{}.{scalar}", self.parts[part].component.name),
            _ => format!("{prefix}{scalar}"),
        };
        let port = scalar.to_owned();
        self.nodes.push(Node { role, path, port, connector, incoming: None, outgoing: Vec::new() });
        self.owners[owner].nodes.insert(scalar.to_owned(), self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn connect(&mut self, system: usize, connection: &'t Connection, prefix: &str, log: &mut ProblemLog) {
        let start = self.end(system, &connection.start, log);
        let end = self.end(system, &connection.end, log);
        let (Some((start_owner, start, start_self)), Some((end_owner, end, end_self))) = (start, end) else {
            return;
        };
        let forward = match (way(start.kind, start_self), way(end.kind, end_self)) {
            (DataFlow::Gives, DataFlow::Takes | DataFlow::Either) | (DataFlow::Either, DataFlow::Takes) => {
                true
            }
            (DataFlow::Takes, DataFlow::Gives | DataFlow::Either) | (DataFlow::Either, DataFlow::Gives) => {
                false
            }
            (DataFlow::Either, DataFlow::Either) => {
                let message = format!(
                    "`{}` and `{}` are both inputs and outputs; the direction of the connection is undefined",
                    start.name, end.name
                );
                log.error("ssp/kind", message, &connection.span);
                return;
            }
            (DataFlow::Gives, DataFlow::Gives) | (DataFlow::Takes, DataFlow::Takes) => {
                let side = |connector: &Connector, itself| {
                    let of = if itself { " of the system" } else { "" };
                    format!("`{}` is {}{of}", connector.name, word(connector.kind))
                };
                let message = format!(
                    "{} and {}: they cannot be connected",
                    side(start, start_self),
                    side(end, end_self)
                );
                let hint = "between elements connect an output to an input; between a system and its elements connect equal kinds";
                log.hinted("ssp/kind", message, &connection.span, hint);
                return;
            }
        };
        let both_known = start.kind != ConnectorKind::Either && end.kind != ConnectorKind::Either;
        if both_known && is_parameter(start.kind) != is_parameter(end.kind) {
            let message = format!(
                "`{}` is {} and `{}` is {}: parameters cannot be connected to signals",
                start.name,
                word(start.kind),
                end.name,
                word(end.kind)
            );
            log.error("ssp/kind", message, &connection.span);
            return;
        }
        let from = self.scalars(start, connection.start.indices.as_deref(), &connection.start.span, log);
        let to = self.scalars(end, connection.end.indices.as_deref(), &connection.end.span, log);
        let (Some(from), Some(to)) = (from, to) else { return };
        if from.len() != to.len() {
            let message =
                format!("`{}` has {} elements and `{}` has {}", start.name, from.len(), end.name, to.len());
            log.error("ssp/array", message, &connection.span);
            return;
        }
        let Some((map, factor, offset)) = self.resolve(connection, forward, start, end, log) else { return };
        for (from, to) in from.iter().zip(&to) {
            let from = self.node(start_owner, start, from, prefix);
            let to = self.node(end_owner, end, to, prefix);
            let (from, to) = if forward { (from, to) } else { (to, from) };
            if let Some(earlier) = &self.nodes[to].incoming {
                let message = format!(
                    "`{}` is connected to two sources, `{}` and `{}`",
                    self.nodes[to].path, self.nodes[earlier.from].path, self.nodes[from].path
                );
                log.error("ssp/connected-twice", message, &connection.span);
                continue;
            }
            let span = &connection.span;
            let edge = Edge { from, map: map.clone(), factor, offset, suppress: connection.suppress, span };
            self.nodes[to].incoming = Some(edge);
            self.nodes[from].outgoing.push(to);
            if matches!(self.nodes[to].role, Role::Component(_)) {
                self.ends.push(to);
            }
        }
    }

    /// A transformation with item names replaced by numbers.
    #[allow(clippy::type_complexity)]
    fn resolve(
        &self,
        connection: &Connection,
        forward: bool,
        start: &Connector,
        end: &Connector,
        log: &mut ProblemLog,
    ) -> Option<(Option<Vec<(f64, f64)>>, f64, f64)> {
        match &connection.transformation {
            Transformation::None => Some((None, 1.0, 0.0)),
            Transformation::Linear { factor, offset } => Some((None, *factor, *offset)),
            Transformation::Map(map) => Some((Some(map.clone()), 1.0, 0.0)),
            Transformation::Names(names) => {
                let (from, to) = if forward { (start, end) } else { (end, start) };
                let item = |connector: &Connector, name: &str, log: &mut ProblemLog| {
                    let ConnectorType::Enumeration(items) = &connector.of else {
                        let message =
                            format!("`{}` is not an enumeration and has no item `{name}`", connector.name);
                        log.error("ssp/type", message, &connection.span);
                        return None;
                    };
                    let found = items.get(name).copied();
                    if found.is_none() {
                        unknown_item(&connector.name, name, items, &connection.span, log);
                    }
                    found
                };
                let pairs: Option<Vec<(f64, f64)>> = names
                    .iter()
                    .map(|(source, target)| Some((item(from, source, log)?, item(to, target, log)?)))
                    .collect();
                pairs.map(|map| (Some(map), 1.0, 0.0))
            }
        }
    }

    /// The interface of a component, which is opened only if needed.
    pub(crate) fn interface(&self, part: usize) -> Option<&Interface> {
        let FlatComponent { component, interface, .. } = &self.parts[part];
        interface.get_or_init(|| sources::interface(component, &self.folder, self.registry)).as_ref()
    }

    /// The unit of a parameter, if the component has one of this name.
    pub(crate) fn parameter(&self, part: usize, name: &str) -> Option<&Option<Unit>> {
        let FlatComponent { component, parameters, .. } = &self.parts[part];
        let known = parameters.get_or_init(|| {
            let kind = self.registry.source(&component.source);
            let known = kind.map(|kind| kind.parameters(&component.source, &self.folder)).unwrap_or_default();
            known.into_iter().map(|parameter| (parameter.name, parameter.unit)).collect()
        });
        known.get(name)
    }

    /// The unit of a node: its connector's, else the port's own.
    pub(crate) fn unit(&self, node: usize) -> Option<Unit> {
        let Node { role, port, connector, .. } = &self.nodes[node];
        if connector.unit.is_some() {
            return connector.unit.clone();
        }
        let Role::Component(part) = role else { return None };
        let interface = self.interface(*part)?;
        let ports = interface.inputs.iter().chain(&interface.outputs);
        ports.filter(|known| known.name == *port).find_map(|known| known.unit.clone())
    }

    /// Whether an input of a component is connected.
    pub(crate) fn is_driven(&self, part: usize, port: &str) -> bool {
        let node = self.owners[self.parts[part].owner].nodes.get(port);
        node.is_some_and(|&node| self.source(node).is_some())
    }

    /// The edges from an output of a component to this node, starting at the output.
    fn way_to(&self, node: usize) -> Result<Option<Vec<(&Edge<'t>, usize)>>, ()> {
        let mut way = Vec::new();
        let mut at = node;
        while let Some(edge) = &self.nodes[at].incoming {
            way.push((edge, at));
            at = edge.from;
            if matches!(self.nodes[at].role, Role::Component(_)) {
                way.reverse();
                return Ok(Some(way));
            }
            if way.len() > self.nodes.len() {
                return Err(());
            }
        }
        Ok(None)
    }

    fn source(&self, node: usize) -> Option<usize> {
        Some(self.way_to(node).ok()??.first()?.0.from)
    }

    fn wire(&self, end: usize, log: &mut ProblemLog) -> Option<ConnectionDecl> {
        let target = &self.nodes[end];
        let way = match self.way_to(end) {
            Ok(way) => way?,
            Err(()) => {
                let message = format!("`{}` is connected to a circle of connectors", target.path);
                log.error("ssp/circular", message, &target.connector.span);
                return None;
            }
        };
        let (first, last) = (way.first()?.0, way.last()?.0);
        let source = &self.nodes[first.from];
        if is_parameter(target.connector.kind) {
            let message = format!(
                "the parameter `{}` is connected to `{}`; connections of parameters are not supported",
                target.path, source.path
            );
            let hint = "set it by a `<ParameterBinding>`, or make it an input";
            log.hinted("ssp/calculated", message, last.span, hint);
            return None;
        }
        let mut summand = Summand::plain((source.path.clone(), last.span.clone()));
        let to = (target.path.clone(), last.span.clone());
        let mut wire = ConnectionDecl { from: Vec::new(), to, offset: 0.0, convert: true };
        if let [(edge, _)] = way[..] {
            summand.gain = edge.factor;
            summand.map = edge.map.clone().unwrap_or_default();
            (wire.offset, wire.convert) = (edge.offset, !edge.suppress);
        } else if way.iter().all(|(edge, _)| edge.plain()) {
            self.check_dimensions(&way, first.from, log)?;
        } else {
            // A transformation in between uses units that the flat system does not have.
            wire.convert = false;
            let mut unit = self.unit(first.from);
            for (edge, to) in &way {
                if let Some(map) = &edge.map {
                    if (summand.gain, wire.offset) != (1.0, 0.0) {
                        let message = format!(
                            "values for `{}` are mapped after they were scaled, which is not supported",
                            target.path
                        );
                        let hint = "map them first, at the connection next to the output";
                        log.hinted("ssp/transformation", message, edge.span, hint);
                        return None;
                    }
                    summand.map = composed(&summand.map, map);
                    unit = None;
                }
                let wanted = self.unit(*to);
                if let (Some(given), Some(wanted)) = (&unit, &wanted)
                    && !edge.suppress
                {
                    if given.dimension != wanted.dimension {
                        self.unfit(given, wanted, edge, *to, log);
                        return None;
                    }
                    let (gain, offset) = given.conversion(wanted);
                    (summand.gain, wire.offset) = (gain * summand.gain, gain * wire.offset + offset);
                }
                summand.gain *= edge.factor;
                wire.offset = edge.factor * wire.offset + edge.offset;
                unit = wanted.or(if edge.suppress { None } else { unit });
            }
        }
        wire.from.push(summand);
        Some(wire)
    }

    /// All units along the path must have the same dimension.
    fn check_dimensions(&self, way: &[(&Edge<'t>, usize)], from: usize, log: &mut ProblemLog) -> Option<()> {
        let mut given = self.nodes[from].connector.unit.as_ref();
        for (edge, to) in way {
            let wanted = self.nodes[*to].connector.unit.as_ref();
            if let (Some(given), Some(wanted)) = (given, wanted)
                && given.dimension != wanted.dimension
            {
                self.unfit(given, wanted, edge, *to, log);
                return None;
            }
            given = wanted.or(given);
        }
        Some(())
    }

    fn unfit(&self, given: &Unit, wanted: &Unit, edge: &Edge<'t>, to: usize, log: &mut ProblemLog) {
        let message = format!(
            "`{}` [{given}] cannot be connected to `{}` [{wanted}]: the dimensions differ, [{}] and [{}]",
            self.nodes[edge.from].path,
            self.nodes[to].path,
            describe(given.dimension),
            describe(wanted.dimension)
        );
        log.error("ssp/unit-mismatch", message, edge.span);
    }

    /// The edge that leads into a node.
    pub(crate) fn edge_into(&self, node: usize) -> Option<&Edge<'t>> {
        self.nodes[node].incoming.as_ref()
    }

    /// The system without the annotation.
    pub(crate) fn finish(self, structure: &Structure, log: &mut ProblemLog) -> System {
        let wires = self.ends.iter().filter_map(|&end| self.wire(end, log)).collect();
        let usual = Experiment::default();
        let start = structure.start.unwrap_or(usual.start);
        let experiment = Experiment {
            start,
            stop: structure.stop.unwrap_or(start + 1.0),
            span: structure.experiment_span.clone(),
            ..usual
        };
        if experiment.stop <= experiment.start {
            let message =
                format!("`stopTime` must be later than the start, {start}, got {}", experiment.stop);
            log.error("ssp/value", message, &experiment.span);
        }
        if self.parts.is_empty() {
            log.error("ssp/empty", "the system has no components", &structure.system.span);
        }
        let components = self.parts.into_iter().map(|part| part.component).collect();
        System { folder: self.folder, experiment, components, connections: wires, ..System::default() }
    }
}

/// The composition of two maps; values without an entry in the second are dropped.
fn composed(first: &[(f64, f64)], second: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if first.is_empty() {
        return second.to_vec();
    }
    let then = |value: f64| second.iter().find(|(from, _)| *from == value).map(|(_, to)| *to);
    first.iter().filter_map(|(from, to)| Some((*from, then(*to)?))).collect()
}

pub(crate) fn unknown_item(connector: &str, name: &str, items: &Items, span: &Span, log: &mut ProblemLog) {
    let message = format!("the enumeration of `{connector}` has no item `{name}`");
    log.hinted("ssp/unknown-item", message, span, suggest(name, items.keys().map(String::as_str)));
}
