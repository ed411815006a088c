//! SystemStructureDescription: XML to tree. Files named by URI are opened by `load`.

use std::collections::BTreeMap;
use std::rc::Rc;

use cosimo_core::Unit;
use cosimo_core::unit::BASE_UNITS;
use cosimo_system::Problem;
use roxmltree::Node;

use crate::document::{SspDocument, suggest};
use crate::load::Loader;
use crate::parameters;
use crate::settings::Settings;
use crate::tree::{
    Component, ComponentContent, Connection, ConnectionEnd, Connector, ConnectorKind, ConnectorType,
    Dictionary, Element, Items, Reference, SspSystem, Structure, Transformation,
};

/// The type of the annotation of Cosimo.
pub(crate) const OWN: &str = "org.cosimo";

const KINDS: &[(&str, ConnectorKind)] = &[
    ("input", ConnectorKind::Input),
    ("output", ConnectorKind::Output),
    ("parameter", ConnectorKind::Parameter),
    ("calculatedParameter", ConnectorKind::Calculated),
    ("inout", ConnectorKind::Either),
    ("structuralParameter", ConnectorKind::Parameter),
    ("constant", ConnectorKind::Calculated),
    ("local", ConnectorKind::Output),
    ("unspecified", ConnectorKind::Either),
];

const USES: &[(&str, Option<&str>)] = &[
    ("any", None),
    ("CoSimulation", Some("co-simulation")),
    ("ModelExchange", Some("model-exchange")),
    ("ScheduledExecution", Some("scheduled-execution")),
];

/// Elements allowed in a component or a reference to a signal dictionary.
const IN_ELEMENT: &[&str] =
    &["Connectors", "ElementGeometry", "ParameterBindings", "Annotations", "MetaData", "Signature"];
/// Elements allowed in a connector: its type, and others without meaning here.
const IN_CONNECTOR: &[&str] = &[
    "Real",
    "Float64",
    "Float32",
    "Integer",
    "Int8",
    "UInt8",
    "Int16",
    "UInt16",
    "Int32",
    "UInt32",
    "Int64",
    "UInt64",
    "Boolean",
    "Enumeration",
    "String",
    "Binary",
    "Clock",
    "Dimension",
    "ConnectorGeometry",
    "Annotations",
];
/// Elements allowed in a connection or a mapping entry.
const TRANSFORMATIONS: &[&str] = &[
    "LinearTransformation",
    "BooleanMappingTransformation",
    "IntegerMappingTransformation",
    "EnumerationMappingTransformation",
    "ConnectionGeometry",
    "Annotations",
];

/// Units and enumerations of a file, by name.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    units: BTreeMap<String, Option<Unit>>,
    enumerations: BTreeMap<String, Rc<Items>>,
}

impl Definitions {
    pub(crate) fn read(page: &mut SspDocument<'_>, root: Node<'_, '_>) -> Definitions {
        let mut known = Definitions::default();
        if let Some(list) = page.child(root, "Units") {
            for node in page.children(list, &["Unit"]) {
                let Some(name) = page.required(node, "name") else { continue };
                let unit = unit(page, node, &name);
                if known.units.insert(name.clone(), unit).is_some() {
                    let message = format!("two units are named `{name}`");
                    page.log.error("ssp/duplicate", message, &page.span_of(node, "name"));
                }
            }
        }
        if let Some(list) = page.child(root, "Enumerations") {
            for node in page.children(list, &["Enumeration"]) {
                let Some(name) = page.required(node, "name") else { continue };
                let mut items = Items::new();
                for item in page.children(node, &["Item", "Annotations"]) {
                    if item.tag_name().name() == "Item"
                        && let Some(item_name) = page.required(item, "name")
                        && page.required(item, "value").is_some()
                        && let Some(value) = page.number(item, "value")
                    {
                        items.insert(item_name, value);
                    }
                }
                known.enumerations.insert(name, Rc::new(items));
            }
        }
        known
    }

    /// The unit that an attribute names: as the file defines it, else as Cosimo reads the name.
    pub(crate) fn unit(&self, page: &mut SspDocument<'_>, node: Node<'_, '_>) -> Option<Unit> {
        let name = node.attribute("unit").filter(|name| !name.is_empty())?;
        if let Some(defined) = self.units.get(name) {
            return defined.clone();
        }
        let parsed = Unit::parse(name).ok();
        let what = if parsed.is_some() { "it is interpreted by its name" } else { "nothing is converted" };
        let message = format!("the unit `{name}` is not among the `<Units>` of this file; {what}");
        let problem = Problem::warning("ssp/unknown-unit", message, page.span_of(node, "unit"));
        page.log.push_hinted(problem, suggest(name, self.units.keys().map(String::as_str)));
        parsed
    }

    /// Type and unit of a connector or an entry of a dictionary, from the element inside it.
    fn of_type(&self, page: &mut SspDocument<'_>, node: Node<'_, '_>) -> (ConnectorType, Option<Unit>) {
        match node.tag_name().name() {
            "Real" | "Float64" | "Float32" => (ConnectorType::Number, self.unit(page, node)),
            "Enumeration" => {
                let Some(name) = page.required(node, "name") else { return (ConnectorType::Number, None) };
                if let Some(items) = self.enumerations.get(&name) {
                    return (ConnectorType::Enumeration(items.clone()), None);
                }
                let message = format!("there is no enumeration `{name}`; its values are read as integers");
                let known = |problem: &Problem| problem.message == message;
                if !page.log.problems.iter().any(known) {
                    let problem =
                        Problem::warning("ssp/unknown-enumeration", message, page.span_of(node, "name"));
                    let hint = suggest(&name, self.enumerations.keys().map(String::as_str));
                    page.log.push_hinted(problem, hint);
                }
                (ConnectorType::Number, None)
            }
            "String" => (ConnectorType::Other("texts"), None),
            "Binary" => (ConnectorType::Other("bytes"), None),
            "Clock" => (ConnectorType::Other("clocks"), None),
            _ => (ConnectorType::Number, None),
        }
    }
}

fn unit(page: &mut SspDocument<'_>, node: Node<'_, '_>, name: &str) -> Option<Unit> {
    let Some(base) = page.child(node, "BaseUnit") else {
        let message = format!("the unit `{name}` has no `<BaseUnit>`");
        page.log.error("ssp/missing-element", message, &page.span(node));
        return None;
    };
    let before = page.log.problems.len();
    let exponent = |page: &mut SspDocument<'_>, key: &str| {
        let number = page.number(base, key).unwrap_or(0.0);
        if number.fract() != 0.0 || number.abs() > 100.0 {
            let message = format!("`{key}` is {number}, expected a whole number from -100 to 100");
            page.log.error("ssp/value", message, &page.span_of(base, key));
        }
        number as i8
    };
    let dimension = BASE_UNITS.map(|key| exponent(page, key));
    let factor = page.number(base, "factor").unwrap_or(1.0);
    let offset = page.number(base, "offset").unwrap_or(0.0);
    if factor <= 0.0 {
        let message = format!("`factor` is {factor}, expected a number above 0");
        page.log.error("ssp/value", message, &page.span_of(base, "factor"));
    }
    (page.log.problems.len() == before).then(|| Unit { text: name.to_owned(), dimension, factor, offset })
}

/// Everything below the root. `loader` opens what it refers to.
pub(crate) fn structure(
    page: &mut SspDocument<'_>,
    root: Node<'_, '_>,
    loader: &mut Loader<'_>,
) -> Structure {
    let parts = page.children(
        root,
        &["System", "Enumerations", "Units", "DefaultExperiment", "Annotations", "MetaData", "Signature"],
    );
    let definitions = Definitions::read(page, root);
    let mut structure = Structure { experiment_span: page.span(root), ..Structure::default() };
    let part = |name: &str| parts.iter().find(|node| node.tag_name().name() == name).copied();
    match part("System") {
        Some(node) => {
            let system = Rc::new(system(page, node, &definitions, loader));
            loader.add_system_by_id(&system);
            structure.system = system;
        }
        None => {
            let message = "`<SystemStructureDescription>` has no `<System>`";
            page.log.error("ssp/missing-element", message, &page.span(root));
        }
    }
    if let Some(node) = part("DefaultExperiment") {
        structure.experiment_span = page.span(node);
        structure.start = page.number(node, "startTime");
        structure.stop = page.number(node, "stopTime");
    }
    structure.own = part("Annotations").and_then(|node| own(page, node));
    if structure.own.is_none() {
        structure.settings = Settings::read(page, root);
    }
    structure.by_id = loader.take_systems_by_id();
    structure
}

/// The text of the annotation of Cosimo.
fn own(page: &mut SspDocument<'_>, list: Node<'_, '_>) -> Option<(String, usize)> {
    let annotations = page.children(list, &["Annotation"]);
    let ours = annotations.into_iter().find(|node| node.attribute("type").map(str::trim) == Some(OWN))?;
    let content = ours.children().find(Node::is_element)?;
    let texts: Vec<Node<'_, '_>> = content.children().filter(Node::is_text).collect();
    let text: String = texts.iter().filter_map(|node| node.text()).collect();
    // Spans inside are exact in a CDATA section, which has no escapes.
    let start = texts.first().map_or(content.range().start, |node| node.range().start);
    let skipped = page.text[start..].find(text.as_str()).unwrap_or(0);
    Some((text, page.base + start + skipped))
}

fn system(
    page: &mut SspDocument<'_>,
    node: Node<'_, '_>,
    definitions: &Definitions,
    loader: &mut Loader<'_>,
) -> SspSystem {
    let mut system = SspSystem {
        name: page.required(node, "name").unwrap_or_default(),
        id: node.attribute("id").map(str::to_owned),
        span: page.span_of(node, "name"),
        ..SspSystem::default()
    };
    let parts = page.children(
        node,
        &[
            "Connectors",
            "ElementGeometry",
            "ParameterBindings",
            "Elements",
            "Connections",
            "SignalDictionaries",
            "SystemGeometry",
            "GraphicalElements",
            "Annotations",
            "MetaData",
            "Signature",
        ],
    );
    for part in parts {
        match part.tag_name().name() {
            "Connectors" => system.connectors = connectors(page, part, definitions),
            "ParameterBindings" => system.bindings = parameters::bindings(page, part, None, loader),
            "Elements" => {
                for child in page.children(part, &["Component", "System", "SignalDictionaryReference"]) {
                    system.elements.push(match child.tag_name().name() {
                        "Component" => Element::Component(component(page, child, definitions, loader)),
                        "System" => {
                            let inner = Rc::new(self::system(page, child, definitions, loader));
                            loader.add_system_by_id(&inner);
                            Element::System(inner)
                        }
                        _ => Element::Reference(reference(page, child, definitions)),
                    });
                }
            }
            "Connections" => {
                for child in page.children(part, &["Connection"]) {
                    system.connections.extend(connection(page, child));
                }
            }
            "SignalDictionaries" => {
                for child in page.children(part, &["SignalDictionary"]) {
                    system.dictionaries.extend(dictionary(page, child, loader));
                }
            }
            _ => {}
        }
    }
    system
}

fn component(
    page: &mut SspDocument<'_>,
    node: Node<'_, '_>,
    definitions: &Definitions,
    loader: &mut Loader<'_>,
) -> Component {
    let mut component = Component {
        name: page.required(node, "name").unwrap_or_default(),
        span: page.span_of(node, "name"),
        source_span: page.span_of(node, "source"),
        usage: page.choice(node, "implementation", USES).flatten(),
        ..Component::default()
    };
    component.content = match node.attribute("source") {
        Some(source) => {
            let of = node.attribute("type").map(str::trim);
            loader.component(page, source, of, &component.source_span, &page.span_of(node, "type"))
        }
        None => {
            let message = format!("component `{}` has no `source`", component.name);
            page.log.error("ssp/missing-attribute", message, &page.span(node));
            ComponentContent::Unknown
        }
    };
    for part in page.children(node, IN_ELEMENT) {
        match part.tag_name().name() {
            "Connectors" => component.connectors = connectors(page, part, definitions),
            "ParameterBindings" => {
                component.bindings = parameters::bindings(page, part, node.attribute("source"), loader);
            }
            _ => {}
        }
    }
    component
}

fn reference(page: &mut SspDocument<'_>, node: Node<'_, '_>, definitions: &Definitions) -> Reference {
    let list =
        page.children(node, IN_ELEMENT).into_iter().find(|part| part.tag_name().name() == "Connectors");
    Reference {
        name: page.required(node, "name").unwrap_or_default(),
        span: page.span_of(node, "name"),
        dictionary: page.required(node, "dictionary").unwrap_or_default(),
        dictionary_span: page.span_of(node, "dictionary"),
        connectors: list.map_or(Vec::new(), |list| connectors(page, list, definitions)),
    }
}

fn dictionary(page: &mut SspDocument<'_>, node: Node<'_, '_>, loader: &mut Loader<'_>) -> Option<Dictionary> {
    let name = page.required(node, "name")?;
    let entries = match node.attribute("source") {
        Some(source) => loader.dictionary(page, source, &page.span_of(node, "source"))?,
        None => {
            let Some(inline) = page.child(node, "SignalDictionary") else {
                let message = format!("the signal dictionary `{name}` has neither `source` nor entries");
                page.log.error("ssp/missing-element", message, &page.span(node));
                return None;
            };
            entries(page, inline)
        }
    };
    Some(Dictionary { name, entries })
}

/// The entries of an SSB file or an inline dictionary.
pub(crate) fn entries(page: &mut SspDocument<'_>, root: Node<'_, '_>) -> Vec<Connector> {
    let definitions = Definitions::read(page, root);
    let parts = ["DictionaryEntry", "Enumerations", "Units", "Annotations", "MetaData", "Signature"];
    let nodes = page.children(root, &parts);
    let nodes = nodes.into_iter().filter(|node| node.tag_name().name() == "DictionaryEntry");
    nodes.filter_map(|node| connector(page, node, &definitions, Some(ConnectorKind::Either))).collect()
}

fn connectors(page: &mut SspDocument<'_>, list: Node<'_, '_>, definitions: &Definitions) -> Vec<Connector> {
    let nodes = page.children(list, &["Connector"]);
    nodes.into_iter().filter_map(|node| connector(page, node, definitions, None)).collect()
}

fn connector(
    page: &mut SspDocument<'_>,
    node: Node<'_, '_>,
    definitions: &Definitions,
    kind: Option<ConnectorKind>,
) -> Option<Connector> {
    let name = page.required(node, "name")?;
    let kind = match kind {
        Some(kind) => kind,
        None => {
            page.required(node, "kind")?;
            // The error has been reported; any connection to it is accepted.
            page.choice(node, "kind", KINDS).unwrap_or(ConnectorKind::Either)
        }
    };
    let mut connector = Connector {
        name,
        kind,
        of: ConnectorType::Unspecified,
        unit: None,
        sizes: Some(Vec::new()),
        span: page.span_of(node, "name"),
    };
    for part in page.children(node, IN_CONNECTOR) {
        match part.tag_name().name() {
            "ConnectorGeometry" | "Annotations" => {}
            "Dimension" => {
                let size = part.attribute("size").and_then(|size| size.trim().parse::<u64>().ok());
                connector.sizes = match (connector.sizes, size) {
                    (Some(mut sizes), Some(size)) => {
                        sizes.push(size);
                        Some(sizes)
                    }
                    _ => None,
                };
            }
            // After a type, SSP 2.0 names the clock of a connector by the same word.
            "Clock" if connector.of != ConnectorType::Unspecified => {}
            _ => (connector.of, connector.unit) = definitions.of_type(page, part),
        }
    }
    Some(connector)
}

fn connection(page: &mut SspDocument<'_>, node: Node<'_, '_>) -> Option<Connection> {
    let end = |page: &mut SspDocument<'_>,
               element: &str,
               connector: &str,
               indices: &str|
     -> Option<ConnectionEnd> {
        Some(ConnectionEnd {
            // Some tools write an empty name for the enclosing system instead of none.
            element: node.attribute(element).filter(|name| !name.is_empty()).map(str::to_owned),
            connector: page.required(node, connector)?,
            indices: page.indices(node, indices),
            span: page.span_of(node, connector),
        })
    };
    let start = end(page, "startElement", "startConnector", "startIndices");
    let end = end(page, "endElement", "endConnector", "endIndices");
    Some(Connection {
        transformation: transformation(page, node),
        suppress: page.flag(node, "suppressUnitConversion"),
        span: page.span(node),
        start: start?,
        end: end?,
    })
}

/// The one transformation inside a connection or a mapping entry.
pub(crate) fn transformation(page: &mut SspDocument<'_>, node: Node<'_, '_>) -> Transformation {
    let mut found = Transformation::None;
    for part in page.children(node, TRANSFORMATIONS) {
        let name = part.tag_name().name();
        if matches!(name, "ConnectionGeometry" | "Annotations") {
            continue;
        }
        if found != Transformation::None {
            page.log.error("ssp/value", "expected at most one transformation, got two", &page.span(part));
        }
        found = match name {
            "LinearTransformation" => Transformation::Linear {
                factor: page.number(part, "factor").unwrap_or(1.0),
                offset: page.number(part, "offset").unwrap_or(0.0),
            },
            "EnumerationMappingTransformation" => Transformation::Names(map(page, part, |_, node, name| {
                node.attribute(name).map(str::to_owned)
            })),
            "BooleanMappingTransformation" => Transformation::Map(map(page, part, |page, node, name| {
                node.attribute(name).map(|_| f64::from(u8::from(page.flag(node, name))))
            })),
            _ => Transformation::Map(map(page, part, |page, node, name| page.number(node, name))),
        };
    }
    found
}

fn map<T>(
    page: &mut SspDocument<'_>,
    node: Node<'_, '_>,
    read: impl Fn(&mut SspDocument<'_>, Node<'_, '_>, &str) -> Option<T>,
) -> Vec<(T, T)> {
    let mut map = Vec::new();
    for entry in page.children(node, &["MapEntry"]) {
        let both = page.required(entry, "source").zip(page.required(entry, "target"));
        if both.is_some()
            && let (Some(source), Some(target)) = (read(page, entry, "source"), read(page, entry, "target"))
        {
            map.push((source, target));
        }
    }
    map
}
