//! The part of a system that another format has no words for, in the words of `system.toml`: methods, bonds, groups that
//! are integrated together, results, and what is special about components that are already there.

use ::toml::de::DeTable;
use cosimo_core::Registry;
use cosimo_core::entry::Range;

use super::section::{Section, value};
use super::{
    Context, END, RECORD, ROOT_KEYS, island, links, method, own_step, reference, results, strong, syntax,
    unit,
};
use crate::names::Names;
use crate::problem::Problem;
use crate::system::System;

const EXPERIMENT_KEYS: &[&str] = &["end", "record", "history"];
const COMPONENT_KEYS: &[&str] = &["parameters", "start", "units", "tolerance", "weight", "step"];

/// Adds to the system what the text says. `start` is where the text begins among the files of the system, so that
/// places are right.
pub fn supplement(text: &str, start: usize, system: &mut System, registry: &Registry) -> Vec<Problem> {
    // The parser knows places in its own text only: what stands before is blank to it.
    let text = format!("{}{text}", " ".repeat(start));
    let mut out = Vec::new();
    let (table, broken) = DeTable::parse_recoverable(&text);
    if !broken.is_empty() {
        return syntax(&broken, &text);
    }
    let root = Section::over("the annotation of Cosimo", table.get_ref(), 0..0, ROOT_KEYS, &mut out);
    if let Some(item) = root.get("experiment")
        && let Some(section) = Section::open("`[experiment]`", item.value, EXPERIMENT_KEYS, &mut out)
    {
        let experiment = &mut system.experiment;
        experiment.end = section.one_of("end", END, &mut out).unwrap_or_default();
        experiment.record = section.one_of("record", RECORD, &mut out).unwrap_or_default();
        let history = section.get("history").and_then(|item| item.text(&mut out));
        experiment.history = history.map(|(path, span)| (path.into(), span));
    }
    components(&root, system, &mut out);
    let names: Vec<String> = system.components.iter().map(|component| component.name.clone()).collect();
    let context = Context { registry, components: Names::new(names.iter().map(String::as_str)) };
    links::read(&root, &context, system, &mut out);
    if let Some(item) = root.get("strong") {
        system.strong = strong(&item, &context, &mut out);
    }
    if let Some(item) = root.get("method") {
        system.recipe = method::read(&item, &context, &mut out);
    }
    if let Some(item) = root.get("island") {
        system.islands = island::read(&item, &system.recipe, &context, &mut out);
    }
    if let Some(item) = root.get("results") {
        system.results = results(&item, &mut out);
    }
    if let Some(item) = root.get("reference") {
        system.reference = reference(&item, &context, &mut out);
    }
    out
}

fn components(root: &Section<'_>, system: &mut System, out: &mut Vec<Problem>) {
    let names: Vec<String> = system.components.iter().map(|component| component.name.clone()).collect();
    let names = Names::new(names.iter().map(String::as_str));
    for item in root.free("component", out) {
        let Some(place) = names.get(item.key) else {
            out.push(
                Problem::error(
                    "system/unknown-component",
                    format!("no component is called `{}`", item.key),
                    item.key_span.clone(),
                )
                .label("unknown component")
                .hint(names.suggest(item.key)),
            );
            continue;
        };
        let title = format!("component `{}`", item.key);
        let Some(section) = Section::open(title, item.value, COMPONENT_KEYS, out) else { continue };
        let component = &mut system.components[place];
        for item in section.free("parameters", out) {
            component.parameters.retain(|(name, ..)| name != item.key);
            component.parameters.push((item.key.into(), value(item.value.get_ref()), item.whole()));
        }
        for item in section.free("start", out) {
            if let Some(number) = item.number(Range::Finite, out) {
                component.starts.retain(|(name, ..)| name != item.key);
                component.starts.push((item.key.into(), number, item.whole()));
            }
        }
        for item in section.free("units", out) {
            if let Some(unit) = unit(&item, out) {
                component.units.retain(|(name, ..)| name != item.key);
                component.units.push((item.key.into(), unit, item.whole()));
            }
        }
        component.tolerance = section.number("tolerance", Range::Positive, out);
        component.weight = section.number("weight", Range::NotNegative, out);
        component.step = own_step(&section, out).or(component.step.take());
    }
}
