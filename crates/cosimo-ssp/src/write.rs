//! A system as a flat SystemStructureDescription 1.0. Other tools can read components, connectors, connections, units,
//! parameters and the experiment; what the standard cannot express goes into the annotation. Bonds are both: the
//! connections that they imply, and entries of the annotation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use cosimo_core::unit::BASE_UNITS;
use cosimo_core::{Interface, Registry, Unit, Value};
use cosimo_pack::XmlWriter;
use cosimo_system::{
    Common, Component, ConnectionDecl, Names, Opposite, Problem, Span, Summand, System, sources,
    write::to_supplement,
};

use crate::annotation::NAMESPACE;
use crate::load::{FMU, NATIVE, TABLE};
use crate::ssd::OWN;

/// A description, the files it needs, and warnings.
#[derive(Debug)]
pub(crate) struct WrittenDescription {
    pub(crate) text: String,
    /// Where each file is, and where the description expects it.
    pub(crate) resources: Vec<(PathBuf, String)>,
    pub(crate) warnings: Vec<Problem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectorUse {
    Input,
    Output,
    Parameter,
}

/// What is written of one component.
#[derive(Debug, Default)]
struct WrittenElement {
    connectors: BTreeMap<String, (Option<ConnectorUse>, Option<String>)>,
    values: Vec<(String, Value)>,
    implementation: Option<&'static str>,
}

struct WrittenConnection {
    from: (usize, String),
    to: (usize, String),
    gain: f64,
    offset: f64,
    map: Vec<(f64, f64)>,
    convert: bool,
}

pub(crate) fn ssd(
    system: &System,
    name: &str,
    registry: &Registry,
) -> Result<WrittenDescription, Vec<Problem>> {
    let mut writer = Writer::new(system, registry)?;
    writer.links();
    writer.values();
    writer.units();
    let (resources, history) = writer.resources();
    if let (Some((path, _)), Some(history)) = (&mut writer.rest.experiment.history, history) {
        *path = history.into();
    }
    let text = writer.page(name);
    Ok(WrittenDescription { text, resources, warnings: writer.warnings })
}

struct Writer<'a> {
    system: &'a System,
    names: Names<'a>,
    interfaces: Vec<Interface>,
    elements: Vec<WrittenElement>,
    connections: Vec<WrittenConnection>,
    /// By their name in the file.
    units: BTreeMap<String, Unit>,
    sources: Vec<String>,
    /// The content of the annotation.
    rest: System,
    warnings: Vec<Problem>,
}

impl<'a> Writer<'a> {
    fn new(system: &'a System, registry: &Registry) -> Result<Writer<'a>, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut interfaces = Vec::new();
        for component in &system.components {
            match sources::interface(component, &system.folder, registry) {
                Some(interface) => interfaces.push(interface),
                None => {
                    let message = format!(
                        "component `{}` cannot be opened; its connectors are unknown",
                        component.name
                    );
                    let problem = Problem::error("ssp/cannot-open", message, component.source_span.clone());
                    problems.push(problem.hint("run `cosimo explain` for the reason"));
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let bare = |component: &Component| Component {
            name: component.name.clone(),
            tolerance: component.tolerance,
            weight: component.weight,
            step: component.step.clone(),
            ..Component::default()
        };
        Ok(Writer {
            system,
            names: Names::new(system.components.iter().map(|component| component.name.as_str())),
            interfaces,
            elements: system.components.iter().map(|_| WrittenElement::default()).collect(),
            connections: Vec::new(),
            units: BTreeMap::new(),
            sources: Vec::new(),
            rest: System {
                components: system.components.iter().map(bare).collect(),
                connections: Vec::new(),
                ..system.clone()
            },
            warnings: Vec::new(),
        })
    }

    fn port(&self, path: &str) -> Option<(usize, String)> {
        let (component, _, port) = self.names.split(path).ok()?;
        Some((component, port.to_owned()))
    }

    fn gives(&self, (component, port): &(usize, String)) -> bool {
        self.interfaces[*component].outputs.iter().any(|known| known.name == *port)
    }

    fn takes(&self, (component, port): &(usize, String)) -> bool {
        self.interfaces[*component].inputs.iter().any(|known| known.name == *port)
    }

    /// Whether the component has, or can still get, a connector of this name and kind. A native model may have an
    /// input and an output of one name; a component of the standard cannot.
    fn connector(&mut self, component: usize, name: &str, kind: ConnectorUse) -> bool {
        if !is_text(name) {
            return false;
        }
        let connector = self.elements[component].connectors.entry(name.to_owned()).or_default();
        *connector.0.get_or_insert(kind) == kind
    }

    fn connect(&mut self, connection: WrittenConnection) -> bool {
        let (from, to) = (connection.from.clone(), connection.to.clone());
        let good = self.gives(&from)
            && self.takes(&to)
            && self.connector(from.0, &from.1, ConnectorUse::Output)
            && self.connector(to.0, &to.1, ConnectorUse::Input);
        if good {
            self.connections.push(connection);
        }
        good
    }

    fn links(&mut self) {
        for connection in &self.system.connections {
            if !self.add_connection(connection) {
                self.rest.connections.push(connection.clone());
                self.annotated(&format!("the connection to `{}`", connection.to.0), &connection.to.1);
            }
        }
        for bond in &self.system.bonds {
            if bond.line.is_some() {
                self.annotated(&format!("line `{}`", bond.name), &bond.span);
                continue;
            }
            let effort = if bond.opposite == Opposite::Effort { -1.0 } else { 1.0 };
            let flow = if bond.opposite == Opposite::Flow { -1.0 } else { 1.0 };
            self.both_ways(&bond.a.effort.0, &bond.b.effort.0, effort);
            self.both_ways(&bond.a.flow.0, &bond.b.flow.0, flow);
        }
        for junction in &self.system.junctions {
            let common: Vec<&String> = junction
                .sides
                .iter()
                .map(|side| match junction.common {
                    Common::Effort => &side.port.effort.0,
                    Common::Flow => &side.port.flow.0,
                })
                .collect();
            let host =
                common.iter().find(|path| self.port(path).is_some_and(|port| self.gives(&port))).copied();
            for other in common.iter().filter(|path| Some(**path) != host) {
                if let Some(host) = host {
                    self.both_ways(host, other, 1.0);
                }
            }
            self.annotated(&format!("the sum in junction `{}`", junction.name), &junction.span);
        }
    }

    fn annotated(&mut self, what: &str, span: &Span) {
        let message = format!(
            "{what} cannot be expressed in SSP 1.0 and is written to an annotation that only Cosimo reads"
        );
        self.warnings.push(Problem::warning("ssp/annotated", message, span.clone()));
    }

    fn add_connection(&mut self, connection: &ConnectionDecl) -> bool {
        let [Summand { port, gain, map }] = &connection.from[..] else { return false };
        let (Some(from), Some(to)) = (self.port(&port.0), self.port(&connection.to.0)) else { return false };
        let whole = |number: f64| number.fract() == 0.0 && number.abs() < f64::from(i32::MAX);
        let said = map.is_empty()
            || (*gain, connection.offset) == (1.0, 0.0)
                && map.iter().all(|(from, to)| whole(*from) && whole(*to));
        let connection = WrittenConnection {
            from,
            to,
            gain: *gain,
            offset: connection.offset,
            map: map.clone(),
            convert: connection.convert,
        };
        said && self.connect(connection)
    }

    /// From the output to the input.
    fn both_ways(&mut self, one: &str, other: &str, gain: f64) {
        let (Some(one), Some(other)) = (self.port(one), self.port(other)) else { return };
        let (from, to) = if self.gives(&one) && self.takes(&other) { (one, other) } else { (other, one) };
        self.connect(WrittenConnection { from, to, gain, offset: 0.0, map: Vec::new(), convert: true });
    }

    /// Parameters, and start values of unconnected inputs.
    fn values(&mut self) {
        let driven = self.driven();
        for (at, component) in self.system.components.iter().enumerate() {
            for (name, value, span) in &component.parameters {
                let usage = match value {
                    Value::Text(text) if name == "cosimo.use" => match text.as_str() {
                        "co-simulation" => Some("CoSimulation"),
                        "model-exchange" => Some("ModelExchange"),
                        _ => None,
                    },
                    _ => None,
                };
                if usage.is_some() {
                    self.elements[at].implementation = usage;
                    continue;
                }
                let said = match value {
                    Value::Number(number) => !number.is_nan(),
                    Value::Flag(_) => true,
                    Value::Text(text) => is_text(text),
                    Value::List(_) | Value::Table(_) => false,
                };
                if said && !name.starts_with("cosimo.") && self.connector(at, name, ConnectorUse::Parameter) {
                    self.elements[at].values.push((name.clone(), value.clone()));
                } else {
                    self.rest.components[at].parameters.push((name.clone(), value.clone(), span.clone()));
                }
            }
            for (port, value, span) in &component.starts {
                let free = !driven.contains(&(at, port.clone())) && self.takes(&(at, port.clone()));
                if free && self.connector(at, port, ConnectorUse::Input) {
                    self.elements[at].values.push((port.clone(), Value::Number(*value)));
                } else {
                    self.rest.components[at].starts.push((port.clone(), *value, span.clone()));
                }
            }
        }
    }

    fn driven(&self) -> BTreeSet<(usize, String)> {
        let wires = self.system.connections.iter().map(|connection| &connection.to.0);
        let bonds = self.system.bonds.iter().flat_map(|bond| [&bond.a, &bond.b]);
        let sides =
            self.system.junctions.iter().flat_map(|junction| junction.sides.iter().map(|side| &side.port));
        let bonded = bonds.chain(sides).flat_map(|port| [&port.effort.0, &port.flow.0]);
        wires.chain(bonded).filter_map(|path| self.port(path)).filter(|port| self.takes(port)).collect()
    }

    fn units(&mut self) {
        for (at, component) in self.system.components.iter().enumerate() {
            for (port, unit, span) in &component.units {
                let here = (at, port.clone());
                let kind = if self.gives(&here) { ConnectorUse::Output } else { ConnectorUse::Input };
                let known = self.units.get(&unit.text);
                let said =
                    is_text(&unit.text) && !unit.text.is_empty() && known.is_none_or(|known| known == unit);
                if said && (self.gives(&here) || self.takes(&here)) && self.connector(at, port, kind) {
                    self.units.insert(unit.text.clone(), unit.clone());
                    if let Some(connector) = self.elements[at].connectors.get_mut(port) {
                        connector.1 = Some(unit.text.clone());
                    }
                } else {
                    self.rest.components[at].units.push((port.clone(), unit.clone(), span.clone()));
                }
            }
        }
    }

    /// Files to be copied, each under a name of its own; and the new name of the history.
    fn resources(&mut self) -> (Vec<(PathBuf, String)>, Option<String>) {
        let mut copies: Vec<(PathBuf, String)> = Vec::new();
        let mut places: BTreeMap<PathBuf, String> = BTreeMap::new();
        let mut taken = BTreeSet::new();
        let mut copy = |path: PathBuf| {
            places
                .entry(path.clone())
                .or_insert_with(|| {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
                    let numbered = (2..).map(|number| format!("{stem}-{number}.{ending}"));
                    let free =
                        std::iter::once(name.clone()).chain(numbered).find(|name| taken.insert(name.clone()));
                    let place = format!("resources/{}", free.unwrap_or_default());
                    copies.push((path, place.clone()));
                    place
                })
                .clone()
        };
        for component in &self.system.components {
            self.sources.push(match sources::file(&component.source) {
                Some(file) => copy(self.system.folder.join(file)),
                None => component.source.clone(),
            });
        }
        let history = self.system.experiment.history.as_ref();
        let history = history.map(|(path, _)| copy(self.system.folder.join(path)));
        (copies, history)
    }

    fn page(&self, name: &str) -> String {
        let mut xml = XmlWriter::new();
        xml.open("ssd:SystemStructureDescription")
            .set("xmlns:ssd", "http://ssp-standard.org/SSP1/SystemStructureDescription")
            .set("xmlns:ssc", "http://ssp-standard.org/SSP1/SystemStructureCommon")
            .set("xmlns:ssv", "http://ssp-standard.org/SSP1/SystemStructureParameterValues")
            .set("version", "1.0")
            .set("name", name)
            .set("generationTool", concat!("Cosimo ", env!("CARGO_PKG_VERSION")));
        xml.open("ssd:System").set("name", name);
        xml.open("ssd:Elements");
        for at in 0..self.elements.len() {
            self.write_component(&mut xml, at);
        }
        xml.close();
        if !self.connections.is_empty() {
            xml.open("ssd:Connections");
            self.connections.iter().for_each(|connection| self.write_connection(&mut xml, connection));
            xml.close();
        }
        xml.close();
        if !self.units.is_empty() {
            xml.open("ssd:Units");
            self.units.iter().for_each(|(name, unit)| write_unit(&mut xml, name, unit));
            xml.close();
        }
        let experiment = &self.system.experiment;
        xml.leaf("ssd:DefaultExperiment")
            .set("startTime", number(experiment.start))
            .set("stopTime", number(experiment.stop));
        xml.open("ssd:Annotations");
        xml.open("ssc:Annotation").set("type", OWN);
        // A CDATA section cannot contain its own end.
        let own = to_supplement(&self.rest).replace("]]>", "]]]]><![CDATA[>");
        xml.raw(&format!(
            "<cosimo:system xmlns:cosimo=\"{NAMESPACE}\"><![CDATA[\n{own}]]></cosimo:system>\n"
        ));
        xml.finish()
    }

    fn write_component(&self, xml: &mut XmlWriter, at: usize) {
        let (component, element) = (&self.system.components[at], &self.elements[at]);
        let source = &self.sources[at];
        let of = match sources::file(&component.source) {
            None => Some(NATIVE),
            Some(file) if file.to_lowercase().ends_with(".fmu") => None,
            Some(file) if file.to_lowercase().ends_with(".csv") => Some(TABLE),
            Some(_) => Some("application/octet-stream"),
        };
        let encoded = if of == Some(NATIVE) { source.clone() } else { encode(source) };
        let empty = element.connectors.is_empty() && element.values.is_empty();
        let mut tag = if empty { xml.leaf("ssd:Component") } else { xml.open("ssd:Component") };
        tag.set("name", &component.name)
            .set("type", of.unwrap_or(FMU))
            .set("source", encoded)
            .set_some("implementation", element.implementation);
        drop(tag);
        if !element.connectors.is_empty() {
            write_connectors(xml, element);
        }
        if !element.values.is_empty() {
            write_values(xml, &component.name, &element.values);
        }
        if !empty {
            xml.close();
        }
    }

    fn write_connection(&self, xml: &mut XmlWriter, connection: &WrittenConnection) {
        let name = |end: &(usize, String)| &self.system.components[end.0].name;
        let same = connection.map.is_empty() && (connection.gain, connection.offset) == (1.0, 0.0);
        let mut tag = if same { xml.leaf("ssd:Connection") } else { xml.open("ssd:Connection") };
        tag.set("startElement", name(&connection.from))
            .set("startConnector", &connection.from.1)
            .set("endElement", name(&connection.to))
            .set("endConnector", &connection.to.1)
            .set_some("suppressUnitConversion", (!connection.convert).then_some(true));
        drop(tag);
        if same {
            return;
        }
        if connection.map.is_empty() {
            xml.leaf("ssc:LinearTransformation")
                .set("factor", number(connection.gain))
                .set("offset", number(connection.offset));
        } else {
            xml.open("ssc:IntegerMappingTransformation");
            for (from, to) in &connection.map {
                xml.leaf("ssc:MapEntry").set("source", from).set("target", to);
            }
            xml.close();
        }
        xml.close();
    }
}

fn write_connectors(xml: &mut XmlWriter, element: &WrittenElement) {
    xml.open("ssd:Connectors");
    for (name, (kind, unit)) in &element.connectors {
        let kind = match kind {
            Some(ConnectorUse::Output) => "output",
            Some(ConnectorUse::Parameter) => "parameter",
            _ => "input",
        };
        let mut tag = if unit.is_some() { xml.open("ssd:Connector") } else { xml.leaf("ssd:Connector") };
        tag.set("name", name).set("kind", kind);
        drop(tag);
        if let Some(unit) = unit {
            xml.leaf("ssc:Real").set("unit", unit);
            xml.close();
        }
    }
    xml.close();
}

fn write_values(xml: &mut XmlWriter, component: &str, values: &[(String, Value)]) {
    for list in ["ssd:ParameterBindings", "ssd:ParameterBinding", "ssd:ParameterValues"] {
        xml.open(list);
    }
    xml.open("ssv:ParameterSet").set("version", "1.0").set("name", component);
    xml.open("ssv:Parameters");
    for (name, value) in values {
        xml.open("ssv:Parameter").set("name", name);
        let typed = match value {
            Value::Number(value) => Some(("ssv:Real", number(*value))),
            Value::Flag(value) => Some(("ssv:Boolean", value.to_string())),
            Value::Text(value) => Some(("ssv:String", value.clone())),
            Value::List(_) | Value::Table(_) => None,
        };
        if let Some((element, value)) = typed {
            xml.leaf(element).set("value", value);
        }
        xml.close();
    }
    (0..5).for_each(|_| xml.close());
}

fn write_unit(xml: &mut XmlWriter, name: &str, unit: &Unit) {
    xml.open("ssc:Unit").set("name", name);
    let mut tag = xml.leaf("ssc:BaseUnit");
    for (base, exponent) in BASE_UNITS.iter().zip(unit.dimension) {
        tag.set_some(base, Some(exponent).filter(|exponent| *exponent != 0));
    }
    tag.set("factor", number(unit.factor)).set("offset", number(unit.offset));
    drop(tag);
    xml.close();
}

/// The shortest text that reads back as the same number, in the syntax of XML Schema.
fn number(number: f64) -> String {
    match number {
        f64::INFINITY => "INF".into(),
        f64::NEG_INFINITY => "-INF".into(),
        finite => format!("{finite:?}"),
    }
}

/// Whether XML can hold it.
fn is_text(text: &str) -> bool {
    text.chars().all(|letter| {
        matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
    })
}

/// A relative path as a URI.
fn encode(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
