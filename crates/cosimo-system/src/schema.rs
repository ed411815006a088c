//! The JSON Schema of `system.toml`, for completion and checks in editors. It is generated from the
//! registry, so that it contains every method and option, and from the key tables of the reader.

use cosimo_core::Registry;
use cosimo_core::registry::{EntryListing, OptionKind, Range, Spec};
use serde_json::{Map, Value, json};

use crate::keys::walk::Codec;
use crate::keys::{EXCHANGE, EXCHANGE_DOC, SYSTEM};

/// Draft 2020-12. Errors of the text alone are errors here too; whether components
/// and ports exist cannot be checked by a schema.
pub fn json_schema(registry: &Registry) -> Value {
    let mut definitions = Map::new();
    // Jacobians are chosen by corrections, not in the file.
    for (axis, entries) in registry.axes().iter().filter(|(axis, _)| *axis != "jacobian") {
        definitions.insert((*axis).into(), choice(axis, entries));
    }
    definitions.insert(
        "exchange".into(),
        (Codec::from(EXCHANGE).schema)(EXCHANGE_DOC, Some(json!("stale")), registry),
    );
    definitions.insert(
        "port".into(),
        json!({
            "type": "string", "pattern": PORT, "description": "a port of a component, as `component.port`",
        }),
    );
    definitions.insert("name".into(), json!({ "type": "string", "pattern": NAME_PATTERN }));
    let mut schema = SYSTEM.object(registry);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("system.toml");
    schema["$defs"] = Value::Object(definitions);
    schema
}

pub(crate) const NAME_PATTERN: &str = "^[A-Za-z0-9_-]+$";
pub(crate) const COMPONENT_PATTERN: &str = "^[\\p{L}\\p{N}_-]+([ .][\\p{L}\\p{N}_-]+)*$";
pub(crate) const PORT: &str = "^[^.]+\\..+$";

/// A method by name, or by name with options.
fn choice(axis: &str, entries: &[EntryListing]) -> Value {
    let describe = |entry: &EntryListing| match entry.source {
        "" => entry.summary.to_owned(),
        source => format!("{} ({source})", entry.summary),
    };
    let named = entries.iter().map(|entry| json!({ "const": entry.name, "description": describe(entry) }));
    let with_options = entries.iter().map(|entry| {
        let options: Map<String, Value> =
            entry.options.iter().map(|spec| (spec.name.to_owned(), option(spec))).collect();
        let inner = object(Value::Object(options), &[], &describe(entry));
        object(json!({ entry.name: inner }), &[entry.name], &format!("`{}` with options", entry.name))
    });
    let mut schema = one_of(named.chain(with_options).collect());
    schema["title"] = json!(axis);
    schema
}

fn option(spec: &Spec) -> Value {
    match spec.kind {
        OptionKind::Number { default, range, unit } => {
            let unit = if unit.is_empty() { String::new() } else { format!(", in {unit}") };
            number(range, &format!("{}{unit}", spec.doc), default.map(|default| json!(default)))
        }
        OptionKind::Count { default, least } => {
            json!({
                "type": "integer", "minimum": least, "maximum": u32::MAX, "default": default,
                "description": spec.doc,
            })
        }
        OptionKind::Choice { default, of } => {
            json!({ "enum": of, "default": default, "description": spec.doc })
        }
        OptionKind::Flag { default } => {
            json!({ "type": "boolean", "default": default, "description": spec.doc })
        }
        OptionKind::Names => {
            json!({ "type": "array", "items": { "type": "string" }, "default": [], "description": spec.doc })
        }
        OptionKind::Matrix => {
            let row = json!({ "type": "array", "items": { "type": "number" } });
            let items = one_of(vec![json!({ "type": "number" }), row]);
            json!({ "type": "array", "items": items, "default": [], "description": spec.doc })
        }
    }
}

/// `oneOf` must not be empty.
pub(crate) fn one_of(list: Vec<Value>) -> Value {
    if list.is_empty() { json!({ "not": {} }) } else { json!({ "oneOf": list }) }
}

pub(crate) fn number(range: Range, description: &str, default: Option<Value>) -> Value {
    let mut schema = json!({ "type": "number" });
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    match range {
        Range::Finite => {}
        Range::Positive => schema["exclusiveMinimum"] = json!(0.0),
        Range::NotNegative => schema["minimum"] = json!(0.0),
        Range::Unit => {
            schema["minimum"] = json!(0.0);
            schema["maximum"] = json!(1.0);
        }
    }
    if let Some(default) = default {
        schema["default"] = default;
    }
    schema
}

/// Unknown keys are errors.
pub(crate) fn object(properties: Value, required: &[&str], description: &str) -> Value {
    let mut schema = json!({
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

pub(crate) fn reference_to(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}
