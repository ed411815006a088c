//! Codecs: how values are read, written and described in the schema.

use std::ffi::OsStr;
use std::path::Path;

use cosimo_core::registry::Range;
use cosimo_core::unit::describe;
use cosimo_core::{Registry, Unit, Value};
use serde_json::{Value as Json, json};

use super::UNIT;
use super::walk::{Codec, KeyText, TableReader, codec};
use crate::names::PathProblem;
use crate::problem::Span;
use crate::schema::{number, reference_to};
use crate::toml::section::{self, Item, or_report};
use crate::write;

pub(crate) fn plain(text: impl Into<String>) -> Option<KeyText> {
    Some(KeyText::Plain(text.into()))
}

/// Adds the members that are `Some`, in this order.
fn with_members<const N: usize>(mut schema: Json, members: [(&str, Option<Json>); N]) -> Json {
    members.into_iter().for_each(|(key, value)| value.into_iter().for_each(|value| schema[key] = value));
    schema
}

fn described(schema: Json, doc: &str, default: Option<Json>) -> Json {
    with_members(schema, [("description", (!doc.is_empty()).then(|| json!(doc))), ("default", default)])
}

impl From<Range> for Codec<f64> {
    fn from(range: Range) -> Codec<f64> {
        codec(
            move |item, _, at| item.number(range, at.out),
            |value| plain(write::number(*value)),
            move |doc, default, _| number(range, doc, default),
        )
    }
}

/// A number with special limits: for messages, as a test, and in the schema.
pub(crate) fn within(expected: &'static str, holds: fn(f64) -> bool, limits: Json) -> Codec<f64> {
    codec(
        move |item, _, at| item.within(expected, holds, at.out),
        |value: &f64| plain(write::number(*value)),
        move |doc, default, _| {
            with_members(limits.clone(), [("default", default), ("description", Some(json!(doc)))])
        },
    )
}

/// The exponent of a unit.
pub(crate) fn exponent() -> Codec<i8> {
    let limits = || json!({ "type": "integer", "minimum": -100, "maximum": 100 });
    codec(
        |item, _, at| {
            let exponent = item.number(Range::Finite, at.out)?;
            if exponent.fract() != 0.0 || exponent.abs() > 100.0 {
                at.out.push(item.wrong("a whole number from -100 to 100"));
            }
            Some(exponent as i8)
        },
        |exponent: &i8| plain(exponent.to_string()),
        move |doc, default, _| {
            with_members(limits(), [("default", default), ("description", Some(json!(doc)))])
        },
    )
}

/// One number of at least 1 for both sides, or one for each.
pub(crate) fn pair() -> Codec<[f64; 2]> {
    let number = |item: &Item<'_>| item.within("", |number| number >= 1.0, &mut Vec::new());
    codec(
        move |item, _, at| {
            let pair = match item.list().as_deref() {
                None => number(item).map(|both| [both; 2]),
                Some([a, b]) => number(a).zip(number(b)).map(|(a, b)| [a, b]),
                Some(_) => None,
            };
            or_report(pair, at.out, || item.wrong("a number of at least 1, or one for each side"))
        },
        |pair: &[f64; 2]| match pair.map(write::number) {
            [a, b] if a == b => plain(a),
            [a, b] => plain(format!("[{a}, {b}]")),
        },
        |doc, default, _| {
            let one = json!({ "type": "number", "minimum": 1 });
            let both = json!({ "type": "array", "minItems": 2, "maxItems": 2, "items": one });
            described(json!({ "anyOf": [one, both] }), doc, default)
        },
    )
}

pub(crate) fn flag() -> Codec<bool> {
    codec(
        |item, _, at| item.flag(at.out),
        |value: &bool| plain(value.to_string()),
        |doc, default, _| described(json!({ "type": "boolean" }), doc, default),
    )
}

/// Words and their values.
pub(crate) type WordValues<T> = &'static [(&'static str, T)];

impl<T: Copy + PartialEq> From<WordValues<T>> for Codec<T> {
    fn from(words: WordValues<T>) -> Codec<T> {
        codec(
            |item, _, at| item.one_of(words, at.out),
            |value| {
                words.iter().find(|(_, known)| known == value).and_then(|(word, _)| plain(write::text(word)))
            },
            |doc, default, _| {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                described(json!({ "enum": words }), doc, default)
            },
        )
    }
}

/// A text with its place; `valid` reports a problem if the text is invalid.
pub(crate) fn checked<T: From<String> + AsRef<OsStr>>(
    valid: impl Fn(&Item<'_>, &str, &mut TableReader<'_, '_>) -> bool + 'static,
    schema: impl Fn(&str, &Registry) -> Json + 'static,
) -> Codec<(T, Span)> {
    codec(
        move |item, _, at| {
            let (text, span) = item.text(at.out)?;
            valid(item, &text, at).then(|| (text.into(), span))
        },
        |(text, _): &(T, Span)| plain(write::text(&Path::new(text).to_string_lossy())),
        move |doc, _, registry| schema(doc, registry),
    )
}

pub(crate) fn text<T: From<String> + AsRef<OsStr>>() -> Codec<(T, Span)> {
    checked(|_, _, _| true, |doc, _| described(json!({ "type": "string" }), doc, None))
}

/// `component.port` of a component that exists.
pub(crate) fn port() -> Codec<(String, Span)> {
    let known = |item: &Item<'_>, text: &str, at: &mut TableReader<'_, '_>| {
        known_port(item.key, text, &item.span(), at)
    };
    checked(known, |_, _| reference_to("port"))
}

pub(crate) fn known_port(key: &str, text: &str, span: &Span, at: &mut TableReader<'_, '_>) -> bool {
    match at.context.components.split(text) {
        Ok(_) => return true,
        Err(PathProblem::Unknown(component)) => unknown_component(component, span, at),
        Err(PathProblem::NoPath) => {
            let message = format!("`{key}` must be `component.port`, got {text:?}");
            at.report("system/value", [&message, "expected: `component.port`", ""], span);
        }
    }
    false
}

pub(crate) fn unknown_component(name: &str, span: &Span, at: &mut TableReader<'_, '_>) {
    let (message, hint) = (format!("no component is called `{name}`"), at.context.components.suggest(name));
    at.report("system/unknown-component", [&message, "unknown component", &hint], span);
}

/// A value that may be absent.
pub(crate) fn optional<V: 'static>(one: impl Into<Codec<V>>) -> Codec<Option<V>> {
    let Codec { read, write, schema } = one.into();
    codec(move |item, _, at| read(item, None, at).map(Some), move |value| write(value.as_ref()?), schema)
}

/// Texts and their places, each checked; at least `least` of them.
pub(crate) fn texts(
    check: fn(&str, &Span, &mut TableReader<'_, '_>),
    least: Option<usize>,
    one: Json,
) -> Codec<Vec<(String, Span)>> {
    codec(
        move |item, _, at| {
            let texts = item.texts(at.out);
            texts.iter().for_each(|(text, span)| check(text, span, at));
            Some(texts)
        },
        |texts: &Vec<(String, Span)>| {
            let texts: Vec<String> = texts.iter().map(|(text, _)| write::text(text)).collect();
            plain(format!("[{}]", texts.join(", ")))
        },
        move |doc, _, _| {
            let least = least.map(|least| json!(least));
            let list = json!({ "type": "array" });
            described(with_members(list, [("minItems", least), ("items", Some(one.clone()))]), doc, None)
        },
    )
}

/// Components that exist.
pub(crate) fn components(least: usize) -> Codec<Vec<(String, Span)>> {
    let check = |name: &str, span: &Span, at: &mut TableReader<'_, '_>| {
        if at.context.components.get(name).is_none() {
            unknown_component(name, span, at);
        }
    };
    texts(check, Some(least), reference_to("name"))
}

/// Values under free names; they replace earlier values of the same name.
pub(crate) fn named_values<V: Clone + 'static>(one: impl Into<Codec<V>>) -> Codec<Vec<(String, V, Span)>> {
    let Codec { read, write, schema } = one.into();
    codec(
        move |item, old: Option<&Vec<(String, V, Span)>>, at| {
            let mut all = old.cloned().unwrap_or_default();
            for item in item.free_entries(at.out) {
                if let Some(value) = read(&item, None, at) {
                    all.retain(|(name, ..)| name != item.key);
                    all.push((item.key.into(), value, item.whole()));
                }
            }
            Some(all)
        },
        move |all| {
            let pair = |(name, value, _): &(String, V, Span)| Some((name.clone(), write(value)?.text()));
            plain(write::table(&all.iter().filter_map(pair).collect::<Vec<_>>()))
        },
        move |doc, _, registry| {
            let each = Some(schema("", None, registry)).filter(|each| !each.is_null());
            with_members(json!({ "type": "object", "description": doc }), [("additionalProperties", each)])
        },
    )
}

/// Any TOML value.
pub(crate) fn any() -> Codec<Value> {
    let read = |item: &Item<'_>, _: Option<&Value>, _: &mut TableReader<'_, '_>| {
        Some(section::value(item.value.get_ref()))
    };
    codec(read, |value: &Value| plain(write::value(value)), |_, _, _| Json::Null)
}

/// `{ 0 = 1, 1 = 0 }`: a replacement for each value; `true` is 1 and `false` is 0.
pub(crate) fn mapping() -> Codec<Vec<(f64, f64)>> {
    let read = |item: &Item<'_>, _: Option<&Vec<(f64, f64)>>, at: &mut TableReader<'_, '_>| {
        let mut map: Vec<(f64, f64)> = Vec::new();
        for item in item.free_entries(at.out) {
            let from = match item.key {
                "true" => Some(1.0),
                "false" => Some(0.0),
                text => text.parse::<f64>().ok().filter(|number| number.is_finite()),
            };
            let Some(from) = from else {
                let message =
                    format!("a key of `map` must be a number, `true` or `false`, got {:?}", item.key);
                at.report("system/value", [&message, "expected: a number", ""], &item.key_span);
                continue;
            };
            if map.iter().any(|(known, _)| *known == from) {
                let message = format!("`map` has two entries for {from}");
                at.report("system/value", [&message, "duplicate", ""], &item.key_span);
                continue;
            }
            let to = match item.truth() {
                Some(truth) => Some(f64::from(u8::from(truth))),
                None => item.number(Range::Finite, at.out),
            };
            map.extend(to.map(|to| (from, to)));
        }
        Some(map)
    };
    let write = |map: &Vec<(f64, f64)>| {
        // Whole numbers without a decimal point.
        let pairs = map.iter().map(|(from, to)| (from.to_string(), write::number(*to)));
        plain(write::table(&pairs.collect::<Vec<_>>()))
    };
    codec(read, write, |doc, _, _| {
        let each = json!({ "anyOf": [{ "type": "number" }, { "type": "boolean" }] });
        json!({ "type": "object", "description": doc, "additionalProperties": each })
    })
}

/// `"km/h"`, or its exponents of SI units with factor and offset.
pub(crate) fn unit() -> Codec<Unit> {
    let read = |item: &Item<'_>, _: Option<&Unit>, at: &mut TableReader<'_, '_>| {
        if let Some(table) = item.table() {
            let before = at.out.len();
            let mut unit = UNIT.read_one(item, 0, &Unit::default(), at)?;
            if !table.contains_key("name") {
                unit.text = describe(unit.dimension);
            }
            return (at.out.len() == before).then_some(unit);
        }
        let (text, span) = item.text(at.out)?;
        let hint = "use known units, as in `m/s`, or SI base units: `{ name = \"kn\", m = 1, s = -1, factor = 0.514 }`";
        Unit::parse(&text)
            .map_err(|message| at.report("system/value", [&message, "not a unit", hint], &span))
            .ok()
    };
    let write = |unit: &Unit| {
        // By its name where that is unambiguous.
        if Unit::parse(&unit.text).as_ref() == Ok(unit) {
            return plain(write::text(&unit.text));
        }
        let mut lines = UNIT.lines(unit);
        // Exponents come before factor and offset.
        lines.sort_by_key(|(key, _)| ["factor", "offset"].contains(&key.as_str()));
        plain(write::table(&lines))
    };
    codec(read, write, |_, _, registry| {
        let spelled = json!({ "type": "string", "description": "as `km/h` or `degC`" });
        json!({ "anyOf": [spelled, UNIT.object(registry)] })
    })
}
