//! What the command line changes about a system. It beats the file, and speaks its language: a value after
//! `=` is spelled as in `system.toml`, except that plain words need no quotes.

use std::borrow::Cow;

use ::toml::Spanned;
use ::toml::de::DeValue;
use cosimo_core::entry::{Options, Range, Registry, suggest};
use cosimo_core::{SourceEntry, Value};

use crate::problem::Problem;
use crate::recipe::{Choice, Origin};
use crate::system::{Component, EndRule, System};
use crate::toml::Context;
use crate::toml::method::{self, AXES, estimates_with_tolerance, has_tolerance, listed};
use crate::toml::section::{Item, value};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    pub stop: Option<f64>,
    pub end: Option<EndRule>,
    /// The step size, in seconds.
    pub step: Option<f64>,
    /// For everything that has a tolerance.
    pub tolerance: Option<f64>,
    /// `component.parameter=value`, or `parameter=value` for every component that has such a parameter.
    pub sets: Vec<String>,
    /// `axis=value`, the value as it would stand in `[method]`.
    pub methods: Vec<String>,
}

/// Changes the system; a wrong override changes nothing and is a problem that names its flag.
pub fn apply(system: &mut System, overrides: &Overrides, registry: &Registry) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(stop) = overrides.stop {
        set_stop(system, stop, &mut problems);
    }
    if let Some(end) = overrides.end {
        system.experiment.end = end;
    }
    // Before the tolerance, which goes to the estimate that is chosen in the end.
    for text in &overrides.methods {
        set_method(system, text, registry, &mut problems);
    }
    if let Some(size) = overrides.step {
        if Range::Positive.holds(size) {
            system.recipe.step.size = Some(size);
            system.recipe.step.size_origin = Origin::CommandLine;
        } else {
            problems.push(must("--step", size, Range::Positive.words()));
        }
    }
    if let Some(tolerance) = overrides.tolerance {
        set_tolerance(system, tolerance, registry, &mut problems);
    }
    for text in &overrides.sets {
        set_parameter(system, text, registry, &mut problems);
    }
    problems
}

fn wrong(code: &'static str, flag: &str, message: &str) -> Problem {
    Problem::error(code, format!("`{flag}`: {message}"), 0..0)
}

fn must(flag: &str, found: f64, wanted: &str) -> Problem {
    // As a person types it.
    let found = if found.is_nan() { "nan".into() } else { found.to_string() };
    wrong("override/value", &format!("{flag} {found}"), &format!("must be {wanted}, found {found}"))
}

fn set_stop(system: &mut System, stop: f64, out: &mut Vec<Problem>) {
    let start = system.experiment.start;
    if !stop.is_finite() {
        out.push(must("--stop", stop, Range::Finite.words()));
    } else if stop <= start {
        out.push(must("--stop", stop, &format!("later than the start, {start} s")));
    } else {
        system.experiment.stop = stop;
    }
}

fn set_method(system: &mut System, text: &str, registry: &Registry, out: &mut Vec<Problem>) {
    let flag = format!("--method {text}");
    let Some((axis, spelled)) = text.split_once('=').map(|(axis, spelled)| (axis.trim(), spelled.trim()))
    else {
        let hint = format!("axes are {}", quoted(AXES));
        out.push(wrong("override/syntax", &flag, "must be `axis=method`").hint(hint));
        return;
    };
    if !AXES.contains(&axis) {
        let problem = wrong("override/unknown-axis", &flag, &format!("there is no axis `{axis}`"));
        out.push(problem.hint(suggest(axis, AXES.iter().copied())));
        return;
    }
    let value = match parse(spelled) {
        Ok(value) => value,
        Err(message) => {
            out.push(wrong("override/syntax", &flag, &message));
            return;
        }
    };
    let context =
        Context { registry, components: system.components.iter().map(|c| c.name.clone()).collect() };
    let item = Item { key: axis, key_span: 0..0, value: &value };
    let mut recipe = system.recipe.clone();
    let mut found = Vec::new();
    method::axis(axis, &item, &context, &mut recipe, &mut found);
    if !found.is_empty() {
        // Places in the flag's text are not places in the file.
        let named = |p: Problem| Problem {
            message: format!("`{flag}`: {}", p.message),
            span: 0..0,
            label: String::new(),
            ..p
        };
        out.extend(found.into_iter().map(named));
        return;
    }
    match axis {
        "schedule" => {
            recipe.iteration = Choice::named("once");
            claim(&mut recipe.partition);
            claim(&mut recipe.iteration);
        }
        "partition" => claim(&mut recipe.partition),
        "iteration" => claim(&mut recipe.iteration),
        "estimate" => claim(&mut recipe.estimate),
        "law" => claim(&mut recipe.law),
        "input" | "correction" => {
            let per_input = if axis == "input" { &mut recipe.input } else { &mut recipe.correction };
            claim(&mut per_input.default);
            for (_, choice, span) in &mut per_input.inputs {
                claim(choice);
                *span = 0..0;
            }
        }
        "exchange" => recipe.exchange.inputs.iter_mut().for_each(|(_, _, span)| *span = 0..0),
        _ => {}
    }
    system.recipe = recipe;
}

/// Marks a choice as made here.
fn claim(choice: &mut Choice) {
    choice.span = 0..0;
    choice.origin = Origin::CommandLine;
    for (_, _, span) in &mut choice.options {
        *span = 0..0;
    }
}

fn set_tolerance(system: &mut System, tolerance: f64, registry: &Registry, out: &mut Vec<Problem>) {
    let flag = format!("--tolerance {tolerance}");
    let estimate = &mut system.recipe.estimate;
    if !Range::Positive.holds(tolerance) {
        out.push(must("--tolerance", tolerance, Range::Positive.words()));
        return;
    }
    if !has_tolerance(registry, &estimate.name) {
        let message = format!("the estimate `{}` has no tolerance", estimate.name);
        out.push(wrong("override/value", &flag, &message).hint(estimates_with_tolerance(registry)));
        return;
    }
    let pair = ("tolerance".to_owned(), Value::Number(tolerance));
    let specs =
        listed(registry, "estimate").iter().find(|entry| entry.name == estimate.name).map(|e| e.options);
    if let Err(found) = Options::resolve(
        &format!("`{}`", estimate.name),
        specs.unwrap_or_default(),
        std::slice::from_ref(&pair),
    ) {
        out.extend(found.iter().map(|found| wrong("override/value", &flag, &found.message)));
        return;
    }
    *estimate = std::mem::take(estimate).with(&pair.0, pair.1);
    estimate.origin = Origin::CommandLine;
    // Narrower ones in the file would beat the one of the estimate, and the command line beats the file.
    system.bonds.iter_mut().for_each(|bond| bond.tolerance = None);
    system.junctions.iter_mut().for_each(|junction| junction.tolerance = None);
    system.components.iter_mut().for_each(|component| component.tolerance = None);
}

fn set_parameter(system: &mut System, text: &str, registry: &Registry, out: &mut Vec<Problem>) {
    let flag = format!("--set {text}");
    let parts = text.split_once('=').map(|(left, right)| (left.trim(), right.trim()));
    let Some((target, spelled)) = parts.filter(|(target, _)| !target.is_empty()) else {
        let problem = wrong("override/syntax", &flag, "must be `component.parameter=value`");
        out.push(problem.hint("`parameter=value` sets it wherever there is one"));
        return;
    };
    let value = match parse(spelled) {
        Ok(parsed) => value(parsed.get_ref()),
        Err(message) => {
            out.push(wrong("override/syntax", &flag, &message));
            return;
        }
    };
    let dotted = target.split_once('.').filter(|(component, parameter)| {
        !parameter.is_empty() && system.components.iter().any(|known| known.name == *component)
    });
    let mut hit = false;
    for component in &mut system.components {
        let parameter = match dotted {
            Some((name, parameter)) if component.name == name => parameter,
            // Not of a component by that name: a parameter may have dots in its own.
            None if parameters(component, registry).iter().any(|known| known == target) => target,
            _ => continue,
        };
        component.parameters.retain(|(name, ..)| name != parameter);
        component.parameters.push((parameter.to_owned(), value.clone(), 0..0));
        hit = true;
    }
    if hit {
        return;
    }
    out.push(match target.split_once('.') {
        Some((component, _)) => {
            let names = system.components.iter().map(|known| known.name.as_str());
            let message = format!("no component is called `{component}`");
            wrong("override/unknown-component", &flag, &message).hint(suggest(component, names))
        }
        None => {
            let mut known: Vec<String> =
                system.components.iter().flat_map(|component| parameters(component, registry)).collect();
            known.sort();
            known.dedup();
            let message = format!("no component has a parameter `{target}`");
            wrong("override/unknown-parameter", &flag, &message)
                .hint(suggest(target, known.iter().map(String::as_str)))
        }
    });
}

/// The parameters that are known of a component before it is opened.
fn parameters(component: &Component, registry: &Registry) -> Vec<String> {
    let own = component.parameters.iter().map(|(name, ..)| name.clone());
    let kind = registry.sources.iter().find(|kind| (kind.claims)(&component.source));
    own.chain(kind.map(|kind| declared(kind, &component.source)).unwrap_or_default()).collect()
}

fn declared(kind: &SourceEntry, source: &str) -> Vec<String> {
    let models = (kind.models)();
    let model =
        models.iter().find(|model| source.split_once(':').is_some_and(|(_, name)| name == model.name));
    model.map(|model| model.parameters.iter().map(|spec| spec.name.to_owned()).collect()).unwrap_or_default()
}

/// A TOML value, or a text that nobody cared to quote.
fn parse(spelled: &str) -> Result<Spanned<DeValue<'_>>, String> {
    if spelled.is_empty() {
        return Err("there is no value after `=`".into());
    }
    match DeValue::parse(spelled) {
        Ok(value) => Ok(value),
        Err(error) if spelled.starts_with(['{', '[', '"', '\'']) => {
            Err(format!("the value is not TOML: {}", error.message()))
        }
        Err(_) => Ok(Spanned::new(0..0, DeValue::String(Cow::Borrowed(spelled)))),
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
