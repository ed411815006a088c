//! Methods by name with their options, for all inputs or for single inputs.

use cosimo_core::Value;
use cosimo_core::registry::{EntryListing, Options, Range, Registry, quoted, suggest};
use serde_json::json;

use super::codec::{known_port, plain};
use super::walk::{Codec, Context, KeyText, TableReader, codec};
use crate::method_config::{Choice, PerInput};
use crate::problem::{Problem, Span};
use crate::schema::{PORT, number, reference_to};
use crate::toml::section::{Item, value};
use crate::write;

/// `"linear"` or `{ linear = { options } }`, of an axis of the registry.
pub(crate) fn method_of(axis: &'static str) -> Codec<Choice> {
    codec(
        move |item, _, at| read_choice(axis, item, at),
        |choice| {
            if choice.options.is_empty() {
                return plain(write::text(&choice.name));
            }
            let options = choice.options.iter().map(|(name, value, _)| (name.clone(), write::value(value)));
            let options = write::table(&options.collect::<Vec<_>>());
            Some(KeyText::Explicit(write::table(&[(choice.name.clone(), options)])))
        },
        move |doc, default, _| json!({ "$ref": format!("#/$defs/{axis}"), "default": default, "description": doc }),
    )
}

fn read_choice(axis: &str, item: &Item<'_>, at: &mut TableReader<'_, '_>) -> Option<Choice> {
    let (name, span, given) = match (item.value.get_ref().as_str(), item.entries()) {
        (Some(name), _) => (name, item.span(), Vec::new()),
        (None, Some(methods)) => {
            let [method] = &methods[..] else {
                let message = format!("`{}` must name one method, got {}", item.key, methods.len());
                let hint = "write `{ method = { option = value } }`";
                at.report("system/value", [&message, "expected: one method", hint], &item.span());
                return None;
            };
            let Some(options) = method.entries() else {
                let hint = format!("write `{{ {} = {{ option = value }} }}`", method.key);
                at.out.push(method.wrong("a table of options").hint(hint));
                return None;
            };
            (method.key, method.key_span.clone(), options)
        }
        _ => {
            at.out.push(item.wrong("the name of a method or a table"));
            return None;
        }
    };
    let listed = axis_entries(at.context.registry, axis);
    let Some(entry) = listed.iter().find(|entry| entry.name == name) else {
        let hint = item.entries().and_then(|entries| quotes_hint(entries.first()?, at.context));
        let hint = hint.unwrap_or_else(|| suggest(name, listed.iter().map(|entry| entry.name)));
        let message = format!("`{name}` is not a method for `{}`", at.keys.last().map_or("", |(key, _)| key));
        at.report("system/unknown-method", [&message, "unknown method", &hint], &span);
        return None;
    };
    let options = options(entry, &given, at);
    let (span, origin) = (at.context.place(span), at.context.origin);
    Some(Choice { name: name.to_owned(), options, span, origin })
}

/// The valid options; each invalid one is a problem at its key or value.
fn options(
    entry: &EntryListing,
    given: &[Item<'_>],
    at: &mut TableReader<'_, '_>,
) -> Vec<(String, Value, Span)> {
    let mut right = Vec::new();
    for item in given {
        let pair = (item.key.to_owned(), value(item.value.get_ref()));
        match Options::resolve(&format!("`{}`", entry.name), entry.options, std::slice::from_ref(&pair)) {
            Ok(_) => right.push((pair.0, pair.1, at.context.place(item.whole()))),
            Err(wrong) => at.out.extend(wrong.into_iter().map(|wrong| {
                let known = entry.options.iter().find(|spec| spec.name == wrong.key);
                let (span, label) = match known {
                    Some(spec) => (item.span(), format!("expected: {}", spec.expected())),
                    None => (item.key_span.clone(), "unknown option".into()),
                };
                let problem = Problem::error("system/option", wrong.message, span).label(label);
                Problem { hint: wrong.hint, ..problem }
            })),
        }
    }
    right
}

/// TOML reads `wheel.F` without quotes as a nested table.
fn quotes_hint(inner: &Item<'_>, context: &Context<'_>) -> Option<String> {
    let port = inner.entries()?.first()?.key;
    context.components.get(inner.key)?;
    Some(format!("names with a dot need quotes: `\"{}.{port}\"`", inner.key))
}

pub(crate) fn axis_entries(registry: &Registry, axis: &str) -> Vec<EntryListing> {
    let found = registry.axes().into_iter().find(|(name, _)| *name == axis);
    found.map(|(_, listed)| listed).unwrap_or_default()
}

/// `{ "wheel.F" = "hold", default = "linear" }`, or one value for all. A table is of the first form if it has a
/// key `default` or one with a dot; method names have no dots.
///
/// `definition` is that of one value in the schema, `defaults` the value of inputs that are not named.
pub(crate) fn each_input<T: Clone + 'static>(
    definition: &'static str,
    one: impl Into<Codec<T>>,
    defaults: T,
) -> Codec<PerInput<T>> {
    let Codec { read, write, .. } = one.into();
    let read = move |item: &Item<'_>, _: Option<&PerInput<T>>, at: &mut TableReader<'_, '_>| {
        let inner = item.entries().unwrap_or_default();
        if !inner.iter().any(|inner| inner.key == "default" || inner.key.contains('.')) {
            return read(item, None, at).map(PerInput::all);
        }
        let mut all = PerInput::all(defaults.clone());
        for inner in &inner {
            if inner.key == "default" {
                all.default = read(inner, None, at).unwrap_or(all.default);
            } else if !inner.key.contains('.') {
                let message = format!(
                    "a key of `{}` must be `default` or `component.port`, got `{}`",
                    item.key, inner.key
                );
                let hint = quotes_hint(inner, at.context);
                let hint = hint.unwrap_or_else(|| "write `\"component.port\" = \"method\"`".into());
                at.report("system/value", [&message, "not an input", &hint], &inner.key_span);
            } else {
                let known = known_port(item.key, inner.key, &inner.key_span, at);
                let chosen = read(inner, None, at).filter(|_| known);
                let place = at.context.place(inner.key_span.clone());
                all.inputs.extend(chosen.map(|chosen| (inner.key.to_owned(), chosen, place)));
            }
        }
        Some(all)
    };
    let write = move |all: &PerInput<T>| {
        let default = write(&all.default)?;
        if all.inputs.is_empty() {
            return Some(default);
        }
        let mut again = matches!(default, KeyText::Explicit(_));
        let mut pairs = vec![("default".to_owned(), default.text())];
        for (input, one, _) in &all.inputs {
            let one = write(one)?;
            again |= matches!(one, KeyText::Explicit(_));
            pairs.push((input.clone(), one.text()));
        }
        let text = write::table(&pairs);
        Some(if again { KeyText::Explicit(text) } else { KeyText::Plain(text) })
    };
    codec(read, write, move |doc, default, _| {
        let one = reference_to(definition);
        json!({
            "description": doc,
            "default": default,
            "anyOf": [
                one,
                {
                    "type": "object",
                    "description": "for single inputs as `component.port`, and `default` for the others",
                    "minProperties": 1,
                    "properties": { "default": one },
                    "patternProperties": { PORT: one },
                    "additionalProperties": false,
                },
            ],
        })
    })
}

/// Short for the option `tolerance` of the estimate, which is given `beside` it or was set before. The options of an
/// estimate that is not `known` cannot be checked.
pub(crate) fn tolerance(beside: bool, known: bool) -> Codec<Choice> {
    let read = move |item: &Item<'_>, old: Option<&Choice>, at: &mut TableReader<'_, '_>| {
        let number = item.number(Range::Positive, at.out);
        let mut estimate = old.filter(|_| known)?.clone();
        if !beside {
            // An earlier value is replaced.
            estimate.options.retain(|(name, ..)| name != "tolerance");
        }
        let (name, registry, span) = (&estimate.name, at.context.registry, &item.key_span);
        if !has_tolerance(registry, name) {
            let message = format!("the estimate `{name}` has no `tolerance`");
            at.report(
                "system/option",
                [&message, "not an option of the estimate", &estimates_with_tolerance(registry)],
                span,
            );
        } else if estimate.options.iter().any(|(name, ..)| name == "tolerance") {
            let message = format!("`tolerance` is given twice, here and to `{name}`");
            at.report("system/conflict", [&message, "given twice", "remove one of them"], span);
        } else if number.is_some()
            && let Some(entry) = axis_entries(registry, "estimate").iter().find(|entry| entry.name == *name)
        {
            estimate.options.extend(options(entry, std::slice::from_ref(item), at));
        }
        Some(estimate)
    };
    // Written as an option of the estimate.
    codec(
        read,
        |_| None,
        |doc, _, registry| {
            number(
                Range::Positive,
                &format!("{doc}, for {}", names_with_tolerance(registry).join(", ")),
                None,
            )
        },
    )
}

/// The estimates that have a tolerance.
fn names_with_tolerance(registry: &Registry) -> Vec<&'static str> {
    let has = |entry: &EntryListing| entry.options.iter().any(|spec| spec.name == "tolerance");
    axis_entries(registry, "estimate").into_iter().filter(has).map(|entry| entry.name).collect()
}

pub(crate) fn has_tolerance(registry: &Registry, estimate: &str) -> bool {
    names_with_tolerance(registry).contains(&estimate)
}

pub(crate) fn estimates_with_tolerance(registry: &Registry) -> String {
    match &names_with_tolerance(registry)[..] {
        [] => "no estimate has a tolerance".into(),
        names => format!("estimates with a tolerance are {}", quoted(names)),
    }
}
