//! The `[method]` table: names and options of methods, for all inputs or for each. The command line speaks
//! the same language, one axis at a time.

use cosimo_core::Value;
use cosimo_core::entry::{Listed, Options, Range, Registry, suggest};

use super::Context;
use super::links::check_port;
use super::section::{Item, Section, entries, value};
use crate::problem::{Problem, Span};
use crate::recipe::{Choice, Exchange, Origin, PerInput, Recipe, Reject};

pub(crate) const METHOD_KEYS: &[&str] =
    &["schedule", "partition", "iteration", "input", "correction", "exchange", "step"];
pub(crate) const STEP_KEYS: &[&str] =
    &["estimate", "law", "tolerance", "size", "min", "max", "shrink", "grow", "reject"];
/// What the command line may choose, one at a time.
pub(crate) const AXES: &[&str] =
    &["schedule", "partition", "iteration", "input", "correction", "exchange", "estimate", "law", "reject"];

pub(crate) const EXCHANGE: &[(&str, Exchange)] = &[("stale", Exchange::Stale), ("fresh", Exchange::Fresh)];
pub(crate) const REJECT: &[(&str, Reject)] = &[("never", Reject::Never), ("above-one", Reject::AboveOne)];

pub(super) fn read(item: &Item<'_>, context: &Context<'_>, out: &mut Vec<Problem>) -> Recipe {
    let mut recipe = Recipe::default();
    if let Some(section) = Section::open("`[method]`", item.value, METHOD_KEYS, out) {
        fill(&section, context, &mut recipe, out);
    }
    recipe
}

/// Reads all axes that are there; the others stay as they are.
pub(super) fn fill(
    section: &Section<'_>,
    context: &Context<'_>,
    recipe: &mut Recipe,
    out: &mut Vec<Problem>,
) {
    for key in METHOD_KEYS.iter().filter(|key| **key != "step") {
        if let Some(item) = section.get(key) {
            axis(key, &item, context, recipe, out);
        }
    }
    check_schedule(section, out);
    if section.get("schedule").is_some() {
        recipe.iteration = Recipe::default().iteration;
    }
    if let Some(item) = section.get("step")
        && let Some(section) = Section::open("`step`", item.value, STEP_KEYS, out)
    {
        step(&section, item.whole(), context, recipe, out);
    }
}

/// Reads one axis into the recipe; what cannot be read leaves it as it was. `key` is one of [`AXES`].
pub(crate) fn axis(
    key: &str,
    item: &Item<'_>,
    context: &Context<'_>,
    recipe: &mut Recipe,
    out: &mut Vec<Problem>,
) {
    let named = |axis: &str, item: &Item<'_>, out: &mut Vec<Problem>| choice(axis, key, item, context, out);
    match key {
        "schedule" | "partition" => set(&mut recipe.partition, named("partition", item, out)),
        "iteration" => set(&mut recipe.iteration, named("iteration", item, out)),
        "estimate" => set(&mut recipe.estimate, named("estimate", item, out)),
        "law" => set(&mut recipe.law, named("law", item, out)),
        "input" => {
            let read = |item: &Item<'_>, out: &mut Vec<Problem>| named("input", item, out);
            set(&mut recipe.input, per_input(item, Recipe::default().input.default, context, out, read));
        }
        "correction" => {
            let read = |item: &Item<'_>, out: &mut Vec<Problem>| named("correction", item, out);
            let default = Recipe::default().correction.default;
            set(&mut recipe.correction, per_input(item, default, context, out, read));
        }
        "exchange" => {
            let read = |item: &Item<'_>, out: &mut Vec<Problem>| item.one_of(EXCHANGE, out);
            set(&mut recipe.exchange, per_input(item, Exchange::default(), context, out, read));
        }
        "reject" => set(&mut recipe.step.reject, item.one_of(REJECT, out)),
        _ => unreachable!("`{key}` is no axis"),
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// `{ "wheel.F" = "hold", default = "linear" }`, or one for all. A table is taken for the first if it has a
/// key `default` or one with a dot; method names have no dots.
fn per_input<T>(
    item: &Item<'_>,
    mut default: T,
    context: &Context<'_>,
    out: &mut Vec<Problem>,
    read: impl Fn(&Item<'_>, &mut Vec<Problem>) -> Option<T>,
) -> Option<PerInput<T>> {
    let inner = item.table().map(|table| entries(table)).unwrap_or_default();
    if !inner.iter().any(|inner| inner.key == "default" || inner.key.contains('.')) {
        return read(item, out).map(PerInput::all);
    }
    let mut inputs = Vec::new();
    for inner in &inner {
        if inner.key == "default" {
            set(&mut default, read(inner, out));
        } else if !inner.key.contains('.') {
            out.push(not_an_input(inner, item, context));
        } else {
            let known = check_port(item.key, inner.key, inner.key_span.clone(), context, out);
            if let Some(choice) = read(inner, out)
                && known
            {
                inputs.push((inner.key.to_owned(), choice, inner.key_span.clone()));
            }
        }
    }
    Some(PerInput { default, inputs })
}

fn not_an_input(inner: &Item<'_>, item: &Item<'_>, context: &Context<'_>) -> Problem {
    let message =
        format!("a key of `{}` must be `default` or `component.port`, found `{}`", item.key, inner.key);
    Problem::error("system/value", message, inner.key_span.clone())
        .label("no input")
        .hint(unquoted(inner, context).unwrap_or_else(|| "write `\"component.port\" = \"method\"`".into()))
}

/// TOML takes the dot of `wheel.F` without quotes for a table in a table.
fn unquoted(inner: &Item<'_>, context: &Context<'_>) -> Option<String> {
    let table = inner.table()?;
    context.components.get(inner.key)?;
    let (component, port) = (inner.key, entries(table).first()?.key);
    Some(format!("names with a dot need quotes: `\"{component}.{port}\"`"))
}

/// `"linear"` or `{ linear = { options } }`. `key` is what the user calls the axis.
pub(super) fn choice(
    axis: &str,
    key: &str,
    item: &Item<'_>,
    context: &Context<'_>,
    out: &mut Vec<Problem>,
) -> Option<Choice> {
    let (name, span, given) = match (item.value.get_ref().as_str(), item.table()) {
        (Some(name), _) => (name, item.span(), Vec::new()),
        (None, Some(table)) => {
            let [method] = &entries(table)[..] else {
                let message = format!("`{}` must name one method, found {}", item.key, table.len());
                out.push(
                    Problem::error("system/value", message, item.span())
                        .label("wanted: one method")
                        .hint("write `{ method = { option = value } }`"),
                );
                return None;
            };
            let Some(options) = method.table() else {
                let hint = format!("write `{{ {} = {{ option = value }} }}`", method.key);
                out.push(method.wrong("a table of options").hint(hint));
                return None;
            };
            (method.key, method.key_span.clone(), entries(options))
        }
        _ => {
            out.push(item.wrong("the name of a method or a table"));
            return None;
        }
    };
    let listed = listed(context.registry, axis);
    let Some(entry) = listed.iter().find(|entry| entry.name == name) else {
        let hint = item.table().and_then(|table| unquoted(entries(table).first()?, context));
        out.push(
            Problem::error("system/unknown-method", format!("`{name}` is not a method for `{key}`"), span)
                .label("unknown method")
                .hint(hint.unwrap_or_else(|| suggest(name, listed.iter().map(|entry| entry.name)))),
        );
        return None;
    };
    let options = options(entry, &given, out);
    Some(Choice { name: name.to_owned(), options, span, origin: Origin::File })
}

/// The options that are right; each wrong one is a problem under its own key or value.
fn options(entry: &Listed, given: &[Item<'_>], out: &mut Vec<Problem>) -> Vec<(String, Value, Span)> {
    let mut right = Vec::new();
    for item in given {
        let pair = (item.key.to_owned(), value(item.value.get_ref()));
        match Options::resolve(&format!("`{}`", entry.name), entry.options, std::slice::from_ref(&pair)) {
            Ok(_) => right.push((pair.0, pair.1, item.whole())),
            Err(wrong) => out.extend(wrong.into_iter().map(|wrong| {
                let known = entry.options.iter().find(|spec| spec.name == wrong.key);
                let (span, label) = match known {
                    Some(spec) => (item.span(), format!("wanted: {}", spec.wanted())),
                    None => (item.key_span.clone(), "unknown option".into()),
                };
                let problem = Problem::error("system/option", wrong.message, span).label(label);
                Problem { hint: wrong.hint, ..problem }
            })),
        }
    }
    right
}

pub(crate) fn listed(registry: &Registry, axis: &str) -> Vec<Listed> {
    let found = registry.axes().into_iter().find(|(name, _)| *name == axis);
    found.map(|(_, listed)| listed).unwrap_or_default()
}

fn check_schedule(section: &Section<'_>, out: &mut Vec<Problem>) {
    let Some(schedule) = section.get("schedule") else { return };
    for other in ["partition", "iteration"].iter().filter_map(|key| section.get(key)) {
        out.push(
            Problem::error(
                "system/conflict",
                format!("`schedule` and `{}` cannot stand together", other.key),
                schedule.key_span.clone(),
            )
            .label(format!("already says `{}`", other.key))
            .hint("`schedule` is short for `partition` with `iteration = \"once\"`; keep one spelling"),
        );
    }
}

fn step(
    section: &Section<'_>,
    span: Span,
    context: &Context<'_>,
    recipe: &mut Recipe,
    out: &mut Vec<Problem>,
) {
    let before = out.len();
    if section.get("tolerance").is_some() && section.get("estimate").is_none() {
        // One that was there before is replaced.
        recipe.estimate.options.retain(|(name, ..)| name != "tolerance");
    }
    for key in ["estimate", "law", "reject"] {
        if let Some(item) = section.get(key) {
            axis(key, &item, context, recipe, out);
        }
        if key == "estimate"
            && let Some(item) = section.get("tolerance")
        {
            // An estimate that could not be read says nothing about its options.
            let known = out.len() == before;
            tolerance(&item, known, context, recipe, out);
        }
    }
    let step = &mut recipe.step;
    step.span = span;
    if let Some(size) = section.number("size", Range::Positive, out) {
        (step.size, step.size_origin) = (Some(size), Origin::File);
    }
    set(&mut step.min, section.number("min", Range::Positive, out));
    set(&mut step.max, section.number("max", Range::Positive, out));
    if step.min > step.max
        && let Some(item) = section.get("max").or(section.get("min"))
    {
        let message = format!("`min` must be at most `max`, found {} and {}", step.min, step.max);
        let problem = Problem::error("system/value", message, item.span()).label("the limits cross");
        out.push(match section.get("min") {
            Some(_) => problem,
            None => problem.hint(format!("without `min`, the least step is {} s", step.min)),
        });
    }
    // Ratios of neighbouring sizes: no change, a ratio of 1, must lie between them.
    if let Some(item) = section.get("shrink") {
        set(&mut step.shrink, ratio(&item, "a number above 0 and at most 1", |r| r > 0.0 && r <= 1.0, out));
    }
    if let Some(item) = section.get("grow") {
        set(&mut step.grow, ratio(&item, "a finite number of at least 1", |r| r >= 1.0, out));
    }
}

fn ratio(item: &Item<'_>, wanted: &str, holds: impl Fn(f64) -> bool, out: &mut Vec<Problem>) -> Option<f64> {
    let number = item.number(Range::Finite, &mut Vec::new()).filter(|ratio| holds(*ratio));
    if number.is_none() {
        out.push(item.wrong(wanted));
    }
    number
}

/// Short for the option of the same name of the estimate.
fn tolerance(
    item: &Item<'_>,
    estimate_known: bool,
    context: &Context<'_>,
    recipe: &mut Recipe,
    out: &mut Vec<Problem>,
) {
    let number = item.number(Range::Positive, out);
    if !estimate_known {
        return;
    }
    let estimate = &mut recipe.estimate;
    if !has_tolerance(context.registry, &estimate.name) {
        let message = format!("the estimate `{}` has no `tolerance`", estimate.name);
        out.push(
            Problem::error("system/option", message, item.key_span.clone())
                .label("nobody reads it")
                .hint(estimates_with_tolerance(context.registry)),
        );
    } else if estimate.options.iter().any(|(name, ..)| name == "tolerance") {
        let message = format!("`tolerance` is given twice, here and to `{}`", estimate.name);
        out.push(
            Problem::error("system/conflict", message, item.key_span.clone())
                .label("the second one")
                .hint("keep one of them"),
        );
    } else if number.is_some()
        && let Some(entry) =
            listed(context.registry, "estimate").iter().find(|entry| entry.name == estimate.name)
    {
        estimate.options.extend(options(entry, std::slice::from_ref(item), out));
    }
}

pub(crate) fn has_tolerance(registry: &Registry, estimate: &str) -> bool {
    let listed = listed(registry, "estimate");
    let entry = listed.iter().find(|entry| entry.name == estimate);
    entry.is_some_and(|entry| entry.options.iter().any(|spec| spec.name == "tolerance"))
}

pub(crate) fn estimates_with_tolerance(registry: &Registry) -> String {
    let names: Vec<String> = listed(registry, "estimate")
        .iter()
        .filter(|entry| has_tolerance(registry, entry.name))
        .map(|entry| format!("`{}`", entry.name))
        .collect();
    match names.is_empty() {
        true => "no estimate has one".into(),
        false => format!("estimates with a tolerance are {}", names.join(", ")),
    }
}
