//! `system.toml`, the file format of Cosimo. Reading does not stop at the first problem: it
//! returns all of them, each with its place in the text, and as much of the system as could be read.

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

/// Reads a system; paths in it are relative to `folder`. Without problems the system is complete.
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
        problems.retain(|problem| is_reliable(problem, &places, text));
        problems.extend(syntax);
    }
    problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
    problems.dedup();
    (system, problems)
}

/// A missing quote makes everything after it wrong: only so many errors are listed.
const MAX_SYNTAX_ERRORS: usize = 100;

/// The syntax errors of the parser.
pub(crate) fn syntax(errors: &[::toml::de::Error], text: &str) -> Vec<Problem> {
    let mut problems: Vec<Problem> = errors.iter().map(|error| syntax_error(error, text)).collect();
    if problems.len() > MAX_SYNTAX_ERRORS {
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        let more = problems.len() - MAX_SYNTAX_ERRORS;
        let place = problems[MAX_SYNTAX_ERRORS].span.clone();
        problems.truncate(MAX_SYNTAX_ERRORS);
        let message = format!("invalid TOML: {more} more errors from here on");
        problems.push(Problem::error("system/syntax", message, place).label("the first of them"));
    }
    problems
}

fn syntax_error(error: &::toml::de::Error, text: &str) -> Problem {
    let mut span = error.span().unwrap_or(0..0);
    span.end = span.end.min(text.len());
    span.start = span.start.min(span.end);
    let word = text.get(span.clone()).unwrap_or_default().to_owned();
    let problem = Problem::error("system/syntax", format!("invalid TOML: {}", error.message()), span)
        .label(error.message());
    // The parser takes words that begin with t or f for misspelled Booleans.
    let unquoted = ["string values must be quoted", "invalid boolean"];
    if !word.is_empty() && unquoted.iter().any(|start| error.message().starts_with(start)) {
        return problem.hint(format!("texts need quotes: `\"{word}\"`"));
    }
    problem
}

/// After syntax errors keys and headers may be lost, so missing or unknown keys may be artefacts of the parser. Wrong
/// values on intact lines are still wrong.
fn is_reliable(problem: &Problem, broken: &[usize], text: &str) -> bool {
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
        SYSTEM.read_all(table, &mut system, &Context { registry, components, origin: ChoiceOrigin::File });
    (system, problems)
}

/// Adds to the system what another format cannot express: methods, bonds, monolithic groups, results,
/// and additional keys of existing components. `start` is the offset of the text among the files of the
/// system, so that spans are right.
pub fn supplement(text: &str, start: usize, system: &mut System, registry: &Registry) -> Vec<Problem> {
    // Blanks before the text shift the spans of the parser.
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
    let mut problems = SUPPLEMENT.read_all(table, system, &context);
    problems.extend(former);
    problems
}
