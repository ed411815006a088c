//! `system.toml`, the spelling of a system that people write. Reading never stops at the first problem: it
//! returns all of them, each with its place in the text, and as much of the system as could be understood.

mod file;
pub(crate) mod island;
pub(crate) mod line;
pub(crate) mod links;
pub(crate) mod method;
pub(crate) mod section;
mod supplement;

pub use file::TOML;
pub use supplement::supplement;

use std::path::{Path, PathBuf};

use ::toml::de::DeTable;
use cosimo_core::entry::{Range, suggest};
use cosimo_core::unit::{BASE_UNITS, describe};
use cosimo_core::{Registry, Unit};

use crate::names::{COMPONENT_RULE, Names, is_component};
use crate::problem::{Problem, Span};
use crate::system::{
    Component, EndRule, Experiment, RecordPoint, ReferenceDecl, Results, StrongDecl, System,
};
use section::{Item, Section, entries, value};

pub(crate) const ROOT_KEYS: &[&str] = &[
    "experiment",
    "component",
    "wire",
    "bond",
    "junction",
    "strong",
    "method",
    "island",
    "results",
    "reference",
];
pub(crate) const EXPERIMENT_KEYS: &[&str] = &["start", "stop", "end", "record", "history"];
pub(crate) const COMPONENT_KEYS: &[&str] =
    &["source", "parameters", "start", "units", "tolerance", "weight", "step"];
pub(crate) const STRONG_KEYS: &[&str] = &["components", "solver", "relative", "absolute", "largest_step"];
pub(crate) const UNIT_KEYS: &[&str] = &["name", "factor", "offset", "kg", "m", "s", "A", "K", "mol", "cd"];
pub(crate) const RESULTS_KEYS: &[&str] = &["variables", "every"];
pub(crate) const REFERENCE_KEYS: &[&str] = &["model", "ports"];

pub(crate) const END: &[(&str, EndRule)] = &[("exact", EndRule::Exact), ("after", EndRule::After)];
pub(crate) const RECORD: &[(&str, RecordPoint)] =
    &[("after-exchange", RecordPoint::AfterExchange), ("before-exchange", RecordPoint::BeforeExchange)];

/// What names are checked against.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub registry: &'a Registry,
    /// Components, the ones with problems included.
    pub components: Names<'a>,
}

/// Reads a system; relative paths in it start from `folder`. Without problems the system is complete.
pub fn read(text: &str, folder: &Path, registry: &Registry) -> (System, Vec<Problem>) {
    let (table, broken) = DeTable::parse_recoverable(text);
    let mut problems = Vec::new();
    let system = document(table.get_ref(), folder, registry, &mut problems);

    let syntax = syntax(&broken, text);
    if !syntax.is_empty() {
        let mut places: Vec<usize> = syntax.iter().map(|broken| broken.span.start).collect();
        places.sort_unstable();
        problems.retain(|problem| outlives(problem, &places, text));
        problems.extend(syntax);
    }
    problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
    problems.dedup();
    (system, problems)
}

/// Behind a quote that is missing everything is wrong: so many mistakes are told one by one.
const MOST_TOLD: usize = 100;

/// What keeps a text from being TOML.
pub(crate) fn syntax(errors: &[::toml::de::Error], text: &str) -> Vec<Problem> {
    let mut problems: Vec<Problem> = errors.iter().map(|error| mistake(error, text)).collect();
    if problems.len() > MOST_TOLD {
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        let more = problems.len() - MOST_TOLD;
        let place = problems[MOST_TOLD].span.clone();
        problems.truncate(MOST_TOLD);
        let words = format!("this is not TOML: from here on there are {more} more mistakes");
        problems.push(Problem::error("system/syntax", words, place).label("the first of them"));
    }
    problems
}

fn mistake(error: &::toml::de::Error, text: &str) -> Problem {
    let mut span = error.span().unwrap_or(0..0);
    span.end = span.end.min(text.len());
    span.start = span.start.min(span.end);
    let word = text.get(span.clone()).unwrap_or_default().to_owned();
    let problem = Problem::error("system/syntax", format!("this is not TOML: {}", error.message()), span)
        .label(error.message());
    // The parser takes words that begin like `true` and `false` for misspelled ones.
    let unquoted = ["string values must be quoted", "invalid boolean"];
    if !word.is_empty() && unquoted.iter().any(|start| error.message().starts_with(start)) {
        return problem.hint(format!("texts stand in quotes: `\"{word}\"`"));
    }
    problem
}

/// A broken text has lost keys and headers, so what seems missing or unknown may be the parser's guess. Wrong
/// values on whole lines are still wrong.
fn outlives(problem: &Problem, broken: &[usize], text: &str) -> bool {
    let on_its_own = matches!(problem.code, "system/value" | "system/option" | "system/unknown-method");
    let (before, after) = text.as_bytes().split_at(problem.span.start.min(text.len()));
    let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let end = before.len() + after.iter().position(|byte| *byte == b'\n').unwrap_or(after.len());
    let next = broken.partition_point(|place| *place < begin);
    on_its_own && broken.get(next).is_none_or(|place| *place > end)
}

fn document(table: &DeTable<'_>, folder: &Path, registry: &Registry, out: &mut Vec<Problem>) -> System {
    let root = Section::over("the file", table, 0..0, ROOT_KEYS, out);
    let mut system = System { folder: folder.into(), ..System::default() };
    system.experiment = experiment(&root, out);
    system.components = components(&root, registry, out);
    let names: Vec<String> = system.components.iter().map(|component| component.name.clone()).collect();
    let context = Context { registry, components: Names::new(names.iter().map(String::as_str)) };
    links::read(&root, &context, &mut system, out);
    if let Some(item) = root.get("strong") {
        system.strong = strong(&item, &context, out);
    }
    if let Some(item) = root.get("method") {
        system.recipe = method::read(&item, &context, out);
    }
    if let Some(item) = root.get("island") {
        system.islands = island::read(&item, &system.recipe, &context, out);
    }
    if let Some(item) = root.get("results") {
        system.results = results(&item, out);
    }
    if let Some(item) = root.get("reference") {
        system.reference = reference(&item, &context, out);
    }
    system
}

fn experiment(root: &Section<'_>, out: &mut Vec<Problem>) -> Experiment {
    let mut experiment = Experiment::default();
    let Some(item) = root.required("experiment", "[experiment]` with `stop = 4.0", out) else {
        return experiment;
    };
    let Some(section) = Section::open("`[experiment]`", item.value, EXPERIMENT_KEYS, out) else {
        return experiment;
    };
    experiment.span = section.span.clone();
    let start = section.number("start", Range::Finite, out);
    experiment.start = start.unwrap_or(0.0);
    if let Some(item) = section.required("stop", "stop = 4.0", out)
        && let Some(stop) = item.number(Range::Finite, out)
    {
        experiment.stop = stop;
        // A start that could not be read cannot be compared with.
        if stop <= experiment.start && (start.is_some() || section.get("start").is_none()) {
            out.push(item.wrong(&format!("later than `start`, {} s", experiment.start)));
        }
    }
    experiment.end = section.one_of("end", END, out).unwrap_or_default();
    experiment.record = section.one_of("record", RECORD, out).unwrap_or_default();
    let history = section.get("history").and_then(|item| item.text(out));
    experiment.history = history.map(|(path, span)| (PathBuf::from(path), span));
    experiment
}

fn components(root: &Section<'_>, registry: &Registry, out: &mut Vec<Problem>) -> Vec<Component> {
    let example = "[component.name]` with `source = \"native:model\"";
    let Some(item) = root.required("component", example, out) else { return Vec::new() };
    let Some(table) = item.table() else {
        out.push(item.wrong("a table of components").hint("write `[component.name]`, once for each"));
        return Vec::new();
    };
    if table.is_empty() {
        let problem = Problem::error("system/missing", "a system needs at least one component", item.span());
        out.push(problem.label("empty").hint(format!("write for example `{example}`")));
    }
    entries(table).iter().map(|item| component(item, registry, out)).collect()
}

fn component(item: &Item<'_>, registry: &Registry, out: &mut Vec<Problem>) -> Component {
    if !is_component(item.key) {
        let message = format!("{COMPONENT_RULE}, found {:?}", item.key);
        let problem = Problem::error("system/name", message, item.key_span.clone());
        out.push(problem.label("not a name"));
    }
    let mut component =
        Component { name: item.key.into(), span: item.key_span.clone(), ..Component::default() };
    let title = format!("component `{}`", item.key);
    let Some(section) = Section::open(title, item.value, COMPONENT_KEYS, out) else { return component };
    let source = section.required("source", "source = \"native:model\"", out);
    if let Some((source, span)) = source.and_then(|item| item.text(out)) {
        if registry.source(&source).is_none() {
            let message = format!("no kind of simulator takes the source `{source}`");
            out.push(
                Problem::error("system/unknown-source", message, span.clone())
                    .label("unknown source")
                    .hint(suggest_source(&source, registry)),
            );
        }
        (component.source, component.source_span) = (source, span);
    }
    for item in section.free("parameters", out) {
        component.parameters.push((item.key.into(), value(item.value.get_ref()), item.whole()));
    }
    for item in section.free("start", out) {
        if let Some(number) = item.number(Range::Finite, out) {
            component.starts.push((item.key.into(), number, item.whole()));
        }
    }
    for item in section.free("units", out) {
        if let Some(unit) = unit(&item, out) {
            component.units.push((item.key.into(), unit, item.whole()));
        }
    }
    component.tolerance = section.number("tolerance", Range::Positive, out);
    component.weight = section.number("weight", Range::NotNegative, out);
    component.step = own_step(&section, out);
    component
}

/// Seconds, and where they stand.
pub(crate) fn own_step(section: &Section<'_>, out: &mut Vec<Problem>) -> Option<(f64, Span)> {
    let item = section.get("step")?;
    item.number(Range::Positive, out).map(|every| (every, item.whole()))
}

fn strong(item: &Item<'_>, context: &Context<'_>, out: &mut Vec<Problem>) -> Vec<StrongDecl> {
    let Some(table) = item.table() else {
        out.push(
            item.wrong("a table of groups").hint("write `[strong.name]` with `components = [\"a\", \"b\"]`"),
        );
        return Vec::new();
    };
    let mut groups: Vec<StrongDecl> = Vec::new();
    for item in entries(table) {
        check_name("group", item.key, item.key_span.clone(), out);
        if context.components.get(item.key).is_some() {
            let message = format!("`{}` is the name of a component and of a group", item.key);
            out.push(Problem::error("system/name", message, item.key_span.clone()).label("taken"));
        }
        let title = format!("`[strong.{}]`", item.key);
        let Some(section) = Section::open(title, item.value, STRONG_KEYS, out) else { continue };
        let components = known_components(&section, "components = [\"a\", \"b\"]", context, out);
        let options = STRONG_KEYS[1..].iter().filter_map(|key| section.get(key));
        let options = options.map(|item| (item.key.into(), value(item.value.get_ref()), item.whole()));
        let options: Vec<_> = options.collect();
        groups.push(StrongDecl { name: item.key.into(), components, options, span: item.key_span.clone() });
    }
    groups
}

/// The list under `components`; those that nobody knows are problems.
fn known_components(
    section: &Section<'_>,
    example: &str,
    context: &Context<'_>,
    out: &mut Vec<Problem>,
) -> Vec<(String, Span)> {
    let listed = section.required("components", example, out);
    let components = listed.as_ref().map(|item| item.texts(out)).unwrap_or_default();
    for (name, span) in &components {
        if context.components.get(name).is_none() {
            let message = format!("no component is called `{name}`");
            out.push(
                Problem::error("system/unknown-component", message, span.clone())
                    .label("unknown component")
                    .hint(context.components.suggest(name)),
            );
        }
    }
    components
}

/// `"km/h"`, or its exponents of SI units with factor and offset.
fn unit(item: &Item<'_>, out: &mut Vec<Problem>) -> Option<Unit> {
    if item.table().is_none() {
        let (text, span) = item.text(out)?;
        return match Unit::parse(&text) {
            Ok(unit) => Some(unit),
            Err(message) => {
                let hint = "spell it by known ones, as `m/s`, or by SI units: `{ name = \"kn\", m = 1, s = -1, factor = 0.514 }`";
                out.push(Problem::error("system/value", message, span).label("not a unit").hint(hint));
                None
            }
        };
    }
    let title = format!("the unit of `{}`", item.key);
    let section = Section::open(title, item.value, UNIT_KEYS, out)?;
    let before = out.len();
    let name = section.get("name").and_then(|item| item.text(out)).map(|(name, _)| name);
    let dimension = BASE_UNITS.map(|base| {
        let Some(item) = section.get(base) else { return 0 };
        let exponent = item.number(Range::Finite, out).unwrap_or(0.0);
        if exponent.fract() != 0.0 || exponent.abs() > 100.0 {
            out.push(item.wrong("a whole number from -100 to 100"));
        }
        exponent as i8
    });
    let factor = section.number("factor", Range::Positive, out).unwrap_or(1.0);
    let offset = section.number("offset", Range::Finite, out).unwrap_or(0.0);
    let text = name.unwrap_or_else(|| describe(dimension));
    (out.len() == before).then_some(Unit { text, dimension, factor, offset })
}

/// Names of bonds and junctions stand before a dot, in file names and in column heads.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))
}

fn check_name(kind: &str, name: &str, span: Span, out: &mut Vec<Problem>) {
    if !is_name(name) {
        let message = format!("the name of a {kind} is made of letters, digits, `_` and `-`, found {name:?}");
        out.push(Problem::error("system/name", message, span).label("not a name"));
    }
}

/// Every model that can be had by name, as a source spells it.
pub(crate) fn known_sources(registry: &Registry) -> Vec<(String, &'static str)> {
    let of_kind = |kind: &std::sync::Arc<dyn cosimo_core::Source>| {
        let name = kind.name().to_owned();
        kind.models().into_iter().map(move |model| (format!("{name}:{}", model.name), model.summary))
    };
    registry.sources.iter().flat_map(of_kind).collect()
}

fn suggest_source(source: &str, registry: &Registry) -> String {
    let known = known_sources(registry);
    if let Some((full, _)) =
        known.iter().find(|(full, _)| full.split_once(':').is_some_and(|f| f.1 == source))
    {
        return format!("did you mean `{full}`?");
    }
    let near = suggest(source, known.iter().map(|(full, _)| full.as_str()));
    if near.starts_with("did you mean") {
        return near;
    }
    let kinds: Vec<String> =
        registry.sources.iter().map(|kind| format!("`{}` ({})", kind.name(), kind.summary())).collect();
    match kinds.is_empty() {
        true => "no kind of simulator is known".into(),
        false => format!("known kinds are {}", kinds.join(", ")),
    }
}

fn results(item: &Item<'_>, out: &mut Vec<Problem>) -> Results {
    let Some(section) = Section::open("`[results]`", item.value, RESULTS_KEYS, out) else {
        return Results::default();
    };
    let variables = section.get("variables").map(|item| item.texts(out)).unwrap_or_default();
    for (pattern, span) in &variables {
        if !is_pattern(pattern) {
            let message = format!("a pattern must have letters, found {pattern:?}");
            out.push(Problem::error("system/value", message, span.clone()).label("empty pattern"));
        }
    }
    Results { variables, every: section.number("every", Range::Positive, out) }
}

/// Anything but nothing, with or without the `!`.
pub(crate) fn is_pattern(pattern: &str) -> bool {
    !pattern.strip_prefix('!').unwrap_or(pattern).is_empty()
}

fn reference(item: &Item<'_>, context: &Context<'_>, out: &mut Vec<Problem>) -> Option<ReferenceDecl> {
    let section = Section::open("`[reference]`", item.value, REFERENCE_KEYS, out)?;
    let model = section.required("model", "model = \"name\"", out).and_then(|item| item.text(out));
    let references = &context.registry.references;
    let entry = model.as_ref().and_then(|(name, _)| references.iter().find(|entry| entry.name == name));
    if let (Some((name, span)), None) = (&model, entry) {
        out.push(
            Problem::error(
                "system/unknown-reference",
                format!("no reference model is called `{name}`"),
                span.clone(),
            )
            .label("unknown model")
            .hint(suggest(name, references.iter().map(|entry| entry.name))),
        );
    }
    let mut ports = Vec::new();
    for item in section.free("ports", out) {
        let known = links::check_port("ports", item.key, item.key_span.clone(), context, out);
        let Some((column, span)) = item.text(out) else { continue };
        if let Some(entry) = entry
            && !entry.columns.contains(&column.as_str())
        {
            let message = format!("the reference `{}` has no column `{column}`", entry.name);
            out.push(
                Problem::error("system/unknown-column", message, span)
                    .label("unknown column")
                    .hint(suggest(&column, entry.columns.iter().copied())),
            );
        } else if known {
            ports.push((item.key.into(), column, item.whole()));
        }
    }
    Some(ReferenceDecl { model: model?, ports })
}
