//! `system.toml`, the spelling of a system that people write. Reading never stops at the first problem: it
//! returns all of them, each with its place in the text, and as much of the system as could be understood.

mod file;
pub(crate) mod section;

pub use file::TOML;

use std::path::Path;

use ::toml::de::DeTable;
use cosimo_core::Registry;

use crate::keys::walk::Context;
use crate::keys::{SUPPLEMENT, SYSTEM, former};
use crate::method_config::ChoiceOrigin;
use crate::names::Names;
use crate::problem::Problem;
use crate::system::System;
use section::Item;

/// Reads a system; relative paths in it start from `folder`. Without problems the system is complete.
pub fn read(text: &str, folder: &Path, registry: &Registry) -> (System, Vec<Problem>) {
    let (table, broken) = DeTable::parse_recoverable(text);
    let mut table = table.into_inner();
    let former = former::rename(&mut table);
    let (system, mut problems) = document(table, folder, registry);
    problems.extend(former);

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

fn document(table: DeTable<'_>, folder: &Path, registry: &Registry) -> (System, Vec<Problem>) {
    let components = Item::of(&table, "component").and_then(|item| item.entries()).unwrap_or_default();
    let names: Vec<String> = components.iter().map(|item| item.key.to_owned()).collect();
    let components = Names::new(names.iter().map(String::as_str));
    let mut system = System { folder: folder.into(), ..System::default() };
    let problems =
        SYSTEM.root(table, &mut system, &Context { registry, components, origin: ChoiceOrigin::File });
    (system, problems)
}

/// Adds to the system what another format has no words for: methods, bonds, groups that are integrated together, results,
/// and what is special about components that are already there. `start` is where the text begins among the files of the
/// system, so that places are right.
pub fn supplement(text: &str, start: usize, system: &mut System, registry: &Registry) -> Vec<Problem> {
    // The parser knows places in its own text only: what stands before is blank to it.
    let text = format!("{}{text}", " ".repeat(start));
    let (table, broken) = DeTable::parse_recoverable(&text);
    if !broken.is_empty() {
        return syntax(&broken, &text);
    }
    let names: Vec<String> = system.components.iter().map(|component| component.name.clone()).collect();
    let components = Names::new(names.iter().map(String::as_str));
    let context = Context { registry, components, origin: ChoiceOrigin::File };
    let mut table = table.into_inner();
    let former = former::rename(&mut table);
    let mut problems = SUPPLEMENT.root(table, system, &context);
    problems.extend(former);
    problems
}
