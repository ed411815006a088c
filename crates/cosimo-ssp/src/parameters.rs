//! Parameter bindings: values from SSV, names mapped by SSM, each inline or in a file of its own.

use cosimo_core::Value;
use roxmltree::Node;

use crate::document::{SspDocument, truth};
use crate::load::{Loader, NamedFile};
use crate::ssd::{Definitions, transformation};
use crate::tree::{Binding, Mapping, Parameter};

const SET: &str = "application/x-ssp-parameter-set";
const MAPPING: &str = "application/x-ssp-parameter-mapping";
const FLOATS: &[&str] = &["Real", "Float64", "Float32"];
const INTEGERS: &[&str] =
    &["Integer", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64"];

/// `component` is the source of the component with these bindings.
pub(crate) fn bindings(
    page: &mut SspDocument<'_>,
    list: Node<'_, '_>,
    component: Option<&str>,
    loader: &mut Loader<'_>,
) -> Vec<Binding> {
    let nodes = page.children(list, &["ParameterBinding"]);
    nodes.into_iter().filter_map(|node| binding(page, node, component, loader)).collect()
}

fn binding(
    page: &mut SspDocument<'_>,
    node: Node<'_, '_>,
    component: Option<&str>,
    loader: &mut Loader<'_>,
) -> Option<Binding> {
    let inside = ["ParameterValues", "ParameterMapping", "Annotations", "MetaData", "Signature"];
    let parts = page.children(node, &inside);
    let part = |name: &str| parts.iter().find(|part| part.tag_name().name() == name).copied();
    if !of_type(page, node, SET) {
        return None;
    }
    let values = match (node.attribute("source"), part("ParameterValues")) {
        (Some(source), inline) => {
            if let Some(inline) = inline {
                let message = "a binding has a `source` or `<ParameterValues>`, not both; the source is read";
                page.log.warning("ssp/value", message, &page.span(inline));
            }
            let component = base(page, node, component)?;
            let span = &page.span_of(node, "source");
            loader.values(page, NamedFile { source, component, span })?
        }
        (None, Some(inline)) => match page.child(inline, "ParameterSet") {
            Some(set) => values(page, set),
            None => {
                let message = "`<ParameterValues>` has no `<ParameterSet>` in it";
                page.log.error("ssp/missing-element", message, &page.span(inline));
                return None;
            }
        },
        (None, None) => {
            let message = "a binding needs a `source` or `<ParameterValues>`";
            page.log.error("ssp/missing-attribute", message, &page.span(node));
            return None;
        }
    };
    let mapping = match part("ParameterMapping") {
        None => None,
        Some(node) if !of_type(page, node, MAPPING) => return None,
        Some(node) => Some(match node.attribute("source") {
            Some(source) => {
                let component = base(page, node, component)?;
                let span = &page.span_of(node, "source");
                loader.mapping(page, NamedFile { source, component, span })?
            }
            None => match page.child(node, "ParameterMapping") {
                Some(inline) => mapping(page, inline),
                None => {
                    let message = "`<ParameterMapping>` has neither `source` nor entries";
                    page.log.error("ssp/missing-element", message, &page.span(node));
                    return None;
                }
            },
        }),
    };
    Some(Binding { prefix: node.attribute("prefix").unwrap_or_default().to_owned(), values, mapping })
}

fn of_type(page: &mut SspDocument<'_>, node: Node<'_, '_>, expected: &str) -> bool {
    let found = node.attribute("type").map_or(expected, str::trim);
    if found != expected {
        let message = format!("`type` must be {expected:?}, got {found:?}");
        page.log.error("ssp/type", message, &page.span_of(node, "type"));
    }
    found == expected
}

/// The component that a source is relative to, if it is one.
fn base<'c>(
    page: &mut SspDocument<'_>,
    node: Node<'_, '_>,
    component: Option<&'c str>,
) -> Option<Option<&'c str>> {
    match page.choice(node, "sourceBase", &[("SSD", false), ("component", true)]) {
        Some(true) if component.is_none() => {
            let message = "`sourceBase` is \"component\", but this binding belongs to a system";
            page.log.error("ssp/value", message, &page.span_of(node, "sourceBase"));
            None
        }
        Some(true) => Some(component),
        _ => Some(None),
    }
}

/// The parameters of an SSV file or an inline set.
pub(crate) fn values(page: &mut SspDocument<'_>, root: Node<'_, '_>) -> Vec<Parameter> {
    let definitions = Definitions::read(page, root);
    let parts =
        page.children(root, &["Parameters", "Enumerations", "Units", "Annotations", "MetaData", "Signature"]);
    let list = parts.into_iter().find(|part| part.tag_name().name() == "Parameters");
    let Some(list) = list else {
        let message = "`<ParameterSet>` has no `<Parameters>`";
        page.log.error("ssp/missing-element", message, &page.span(root));
        return Vec::new();
    };
    let nodes = page.children(list, &["Parameter"]);
    nodes.into_iter().filter_map(|node| parameter(page, node, &definitions)).collect()
}

fn parameter(page: &mut SspDocument<'_>, node: Node<'_, '_>, definitions: &Definitions) -> Option<Parameter> {
    let name = page.required(node, "name")?;
    let span = page.span_of(node, "name");
    let mut known: Vec<&str> = FLOATS.iter().chain(INTEGERS).copied().collect();
    known.extend(["Boolean", "String", "Enumeration", "Binary", "Dimension", "Annotations"]);
    let parts = page.children(node, &known);
    let typed = parts.into_iter().find(|part| !matches!(part.tag_name().name(), "Dimension" | "Annotations"));
    let Some(typed) = typed else {
        let message = format!("parameter `{name}` has no value, such as `<Real value=\"1\"/>`");
        page.log.error("ssp/missing-element", message, &page.span(node));
        return None;
    };
    let kind = typed.tag_name().name();
    let unit = if FLOATS.contains(&kind) { definitions.unit(page, typed) } else { None };
    let value = value(page, typed, kind, &name)?;
    Some(Parameter { name, value, unit, span })
}

/// One value, or a list of several.
fn value(page: &mut SspDocument<'_>, node: Node<'_, '_>, kind: &str, name: &str) -> Option<Value> {
    // SSP 2.0 has lists of strings as elements.
    let several: Vec<String> = page
        .children(node, &["Value"])
        .iter()
        .filter_map(|value| value.attribute("value").map(str::to_owned))
        .collect();
    let wrong = |page: &mut SspDocument<'_>, expected: &str| {
        let found = node.attribute("value").unwrap_or_default();
        let message = format!("the value of `{name}` must be {expected}, got {found:?}");
        page.log.error("ssp/value", message, &page.span_of(node, "value"));
    };
    if matches!(kind, "String" | "Enumeration") {
        return match several.len() {
            0 => page.required(node, "value").map(Value::Text),
            _ => Some(Value::List(several.into_iter().map(Value::Text).collect())),
        };
    }
    if kind == "Binary" {
        let message = format!(
            "parameter `{name}` is binary and ignored: only numbers, Booleans and strings are supported"
        );
        page.log.warning("ssp/binary", message, &page.span(node));
        return None;
    }
    let text = page.required(node, "value")?;
    let one = |word: &str| -> Option<Value> {
        if kind == "Boolean" {
            return truth(word).map(Value::Flag);
        }
        let number = match word {
            "INF" => f64::INFINITY,
            "-INF" => f64::NEG_INFINITY,
            word => word.parse::<f64>().ok().filter(|number| number.is_finite())?,
        };
        (FLOATS.contains(&kind) || number.fract() == 0.0).then_some(Value::Number(number))
    };
    let values: Option<Vec<Value>> = text.split_whitespace().map(one).collect();
    match values {
        Some(mut values) if values.len() == 1 => values.pop(),
        Some(values) if !values.is_empty() => Some(Value::List(values)),
        _ => {
            let expected = match kind {
                "Boolean" => "true or false",
                kind if FLOATS.contains(&kind) => "a number",
                _ => "a whole number",
            };
            wrong(page, expected);
            None
        }
    }
}

/// The entries of an SSM file or an inline mapping.
pub(crate) fn mapping(page: &mut SspDocument<'_>, root: Node<'_, '_>) -> Vec<Mapping> {
    let nodes = page.children(root, &["MappingEntry", "Annotations", "MetaData", "Signature"]);
    let entries = nodes.into_iter().filter(|node| node.tag_name().name() == "MappingEntry");
    let entry = |node: Node<'_, '_>| {
        let (source, target) = (page.required(node, "source"), page.required(node, "target"));
        Some(Mapping {
            transformation: transformation(page, node),
            suppress: page.flag(node, "suppressUnitConversion"),
            span: page.span(node),
            source: source?,
            target: target?,
        })
    };
    entries.filter_map(entry).collect()
}
