//! Rules about XML syntax and the XML schemas.

use std::collections::BTreeMap;

use cosimo_pack::problem::FilePosition;
use roxmltree::Node;

use crate::model::ModelDescription;
use crate::package::{Package, XmlFile};
use crate::report::{Findings, Spot, XmlSource};
use crate::schema::{self, Element, ElementContent, Schema};

/// Kinds of schema violations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefectKind {
    UnknownElement,
    MissingElement,
    MisplacedElement,
    RepeatedElement,
    UnknownAttribute,
    MissingAttribute,
    AttributeValue,
    StrayText,
}

#[derive(Debug)]
pub(crate) struct Defect {
    kind: DefectKind,
    spot: Spot,
    message: String,
    found: String,
    wanted: String,
}

/// More are dropped: in such a file something more basic is wrong.
const MOST_DEFECTS: usize = 10_000;
/// Deeper than any element of the schemas.
const DEEPEST: usize = 64;

/// Compares a document with its schema; `name` is the root element in the schema.
pub(crate) fn defects(
    source: &XmlSource<'_>,
    root: Node<'_, '_>,
    (schema, name): (&Schema, &str),
    into: &mut Vec<Defect>,
) {
    if let Some(element) = schema.element(name) {
        StructureWalk { source, schema, into }.element(root, element, 0);
    }
}

struct StructureWalk<'w, 's> {
    source: &'w XmlSource<'s>,
    schema: &'w Schema,
    into: &'w mut Vec<Defect>,
}

impl<'w> StructureWalk<'w, '_> {
    fn add(&mut self, kind: DefectKind, spot: Spot, message: String, found: String, wanted: String) {
        if self.into.len() < MOST_DEFECTS {
            self.into.push(Defect { kind, spot, message, found, wanted });
        }
    }

    fn element(&mut self, node: Node<'_, '_>, schema: &'w Element, depth: usize) {
        let whole = self.schema;
        self.attributes(node, schema);
        let particles = match &schema.content {
            ElementContent::Sequence(particles) => particles,
            ElementContent::Any(most) => return self.any(node, schema, *most),
            ElementContent::Text => return self.any(node, schema, 0),
        };
        if depth > DEEPEST {
            return;
        }
        let tag = schema.name;
        let mut counts = vec![0; particles.len()];
        let mut furthest = 0;
        for child in node.children() {
            if let Some(text) = child.text().filter(|text| child.is_text() && !text.trim().is_empty()) {
                let shown: String = text.trim().chars().take(30).collect();
                let at = child.range().start + text.len() - text.trim_start().len();
                let spot = self.source.spot(at..at + 1);
                let message = format!("`<{tag}>` contains text");
                self.add(
                    DefectKind::StrayText,
                    spot,
                    message,
                    format!("\"{shown}\""),
                    "elements only".into(),
                );
            }
            if !child.is_element() {
                continue;
            }
            let name = child.tag_name().name();
            let known = particles.iter().enumerate().find_map(|(index, particle)| {
                whole.one_of(particle).find(|element| element.name == name).map(|element| (index, element))
            });
            let Some((index, element)) = known else {
                let names: Vec<String> = particles
                    .iter()
                    .flat_map(|particle| whole.one_of(particle))
                    .map(|element| format!("`<{}>`", element.name))
                    .collect();
                let wanted = if names.is_empty() { "no elements".into() } else { names.join(", ") };
                let message = format!("`<{tag}>` contains an unknown element");
                let spot = self.source.element(child);
                self.add(DefectKind::UnknownElement, spot, message, format!("`<{name}>`"), wanted);
                continue;
            };
            counts[index] += 1;
            if counts[index] > particles[index].most {
                let message = format!("`<{name}>` occurs too often");
                let (found, wanted) =
                    (counts[index].to_string(), format!("at most {}", particles[index].most));
                self.add(DefectKind::RepeatedElement, self.source.element(child), message, found, wanted);
            } else if index < furthest {
                let before: Vec<&str> =
                    whole.one_of(&particles[furthest]).map(|element| element.name).take(3).collect();
                let message = format!("`<{name}>` is in the wrong position");
                let found = format!("after `<{}>`", before.join(">` or `<"));
                self.add(
                    DefectKind::MisplacedElement,
                    self.source.element(child),
                    message,
                    found,
                    "before it".into(),
                );
            }
            furthest = furthest.max(index);
            self.element(child, element, depth + 1);
        }
        for (particle, count) in particles.iter().zip(counts) {
            if count < particle.least {
                let names: Vec<String> =
                    whole.one_of(particle).map(|element| format!("`<{}>`", element.name)).collect();
                let message = match node.attribute("name") {
                    Some(name) => format!("an element is missing in `<{tag}>` `{name}`"),
                    None => format!("an element is missing in `<{tag}>`"),
                };
                let wanted =
                    if names.len() == 1 { names[0].clone() } else { format!("one of {}", names.join(", ")) };
                self.add(
                    DefectKind::MissingElement,
                    self.source.element(node),
                    message,
                    "none".into(),
                    wanted,
                );
            }
        }
    }

    fn any(&mut self, node: Node<'_, '_>, schema: &Element, most: usize) {
        if let Some(child) = node.children().filter(Node::is_element).nth(most) {
            let message = format!("`<{}>` contains several elements", schema.name);
            let found = format!("a second one, `<{}>`", child.tag_name().name());
            self.add(
                DefectKind::RepeatedElement,
                self.source.element(child),
                message,
                found,
                format!("at most {most}"),
            );
        }
    }

    fn attributes(&mut self, node: Node<'_, '_>, schema: &Element) {
        let tag = schema.name;
        for attribute in node.attributes() {
            // Attributes of other namespaces, such as `xsi:noNamespaceSchemaLocation`, are not checked.
            if attribute.namespace().is_some() {
                continue;
            }
            let name = attribute.name();
            let spot = || self.source.spot(attribute.range());
            match schema.attribute(name) {
                None if schema.open => {}
                None => {
                    let known: Vec<&str> = schema.attributes.iter().map(|known| known.name).collect();
                    let near = known.iter().find(|known| known.eq_ignore_ascii_case(name));
                    let wanted = match near {
                        Some(near) => format!("`{near}`"),
                        None if known.is_empty() => "no attributes".into(),
                        None => known.join(", "),
                    };
                    let message = format!("`<{tag}>` has an unknown attribute");
                    let spot = spot();
                    self.add(DefectKind::UnknownAttribute, spot, message, format!("`{name}`"), wanted);
                }
                Some(known) => {
                    if let Some(wanted) = known.of.refuses(attribute.value()) {
                        let shown: String = attribute.value().chars().take(60).collect();
                        let message = format!("the value of `{name}` in `<{tag}>` has the wrong type");
                        let spot = spot();
                        self.add(DefectKind::AttributeValue, spot, message, format!("\"{shown}\""), wanted);
                    }
                }
            }
        }
        let required = schema.attributes.iter().filter(|known| known.required);
        for known in required.filter(|known| !node.has_attribute(known.name)) {
            let of = node.attribute("name").map_or(String::new(), |name| format!(" `{name}`"));
            let message = format!("an attribute is missing in `<{tag}>`{of}");
            let wanted = format!("`{}`", known.name);
            self.add(DefectKind::MissingAttribute, self.source.element(node), message, "none".into(), wanted);
        }
    }
}

/// The rule for one kind of defect.
pub(crate) fn report_defects(model: &ModelDescription<'_>, report: &mut Findings, kind: DefectKind) {
    for defect in model.defects.iter().filter(|defect| defect.kind == kind) {
        report.find(defect.spot.clone(), &*defect.message, &*defect.found, &*defect.wanted);
    }
}

fn texts(package: &Package) -> impl Iterator<Item = &XmlFile> {
    [&package.description, &package.terminals, &package.build].into_iter().flatten()
}

pub(crate) fn well_formed(package: &Package, report: &mut Findings) {
    for text in texts(package) {
        match &text.content {
            Err(error) => report.find(
                Spot::entry(text.entry),
                "the file cannot be read as text",
                error.as_str(),
                "text in UTF-8",
            ),
            Ok(content) => {
                let Err(problem) = cosimo_pack::xml::parse(content, text.entry) else { continue };
                let place = problem.place.unwrap_or(FilePosition { line: 1, column: 1 });
                let spot = XmlSource::new(text.entry, content).spot(offset(content, place)..usize::MAX);
                let spot = if problem.place.is_some() { spot } else { Spot::entry(text.entry) };
                let cause = problem.message.trim_start_matches("not well-formed XML: ");
                report.find(spot, "the file is not well-formed XML", cause, "well-formed XML");
            }
        }
    }
}

/// The byte at a line and column.
fn offset(text: &str, place: FilePosition) -> usize {
    let mut start = 0;
    for line in text.split_inclusive('\n').take(place.line.saturating_sub(1) as usize) {
        start += line.len();
    }
    let rest = &text[start.min(text.len())..];
    start + rest.char_indices().nth(place.column.saturating_sub(1) as usize).map_or(rest.len(), |(at, _)| at)
}

pub(crate) fn encoding(package: &Package, report: &mut Findings) {
    for text in texts(package) {
        if let Some(found) = &text.encoding {
            let message = "the file is not declared or not encoded as UTF-8";
            report.find(
                Spot::entry(text.entry),
                message,
                found.as_str(),
                "encoding=\"UTF-8\" in the first line",
            );
        }
    }
}

/// Root element and version of the description.
pub(crate) fn root(package: &Package, report: &mut Findings) {
    let Some(XmlFile { content: Ok(content), entry, .. }) = &package.description else { return };
    let Ok(document) = cosimo_pack::xml::parse(content, entry) else { return };
    let (source, root) = (XmlSource::new(entry, content), document.root_element());
    let tag = root.tag_name().name();
    if tag != schema::DESCRIPTION {
        let message = "the root element of the description is wrong";
        report.find(source.element(root), message, format!("`<{tag}>`"), "`<fmiModelDescription>`");
    } else if super::model::version(root).is_none() {
        let found = root.attribute("fmiVersion").map_or("none".into(), |version| format!("\"{version}\""));
        let message = "this FMI version cannot be checked";
        report.find(
            source.attribute(root, "fmiVersion"),
            message,
            found,
            "fmiVersion=\"1.0\", \"2.0\" or \"3.0\"",
        );
    }
}

/// Names that occur more than once in a list of elements: the later element, and the line of the first.
pub(crate) fn repeated<'a>(
    source: &XmlSource<'_>,
    nodes: impl Iterator<Item = (Node<'a, 'a>, &'a str)>,
) -> Vec<(Node<'a, 'a>, &'a str, u32)> {
    let mut seen: BTreeMap<&str, Node<'_, '_>> = BTreeMap::new();
    let mut again = Vec::new();
    for (node, name) in nodes {
        match seen.get(name) {
            Some(first) => {
                let line = source.element(*first).place.map_or(0, |place| place.line);
                again.push((node, name, line));
            }
            None => {
                seen.insert(name, node);
            }
        }
    }
    again
}
