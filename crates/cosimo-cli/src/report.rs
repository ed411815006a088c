//! Prints problems: what, where in the file, and what to do. All problems of a file at once.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Once;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use cosimo::check::place;
use cosimo::core::printable;
use cosimo::error::with_remedy;
use cosimo::fmi_check::{self, Finding};
use cosimo::system::{Files, Problem, Severity};
use cosimo::{Error, ErrorKind};

use crate::{exit, output};

/// Prints problems to stderr, the errors with a count behind them.
pub(crate) fn problems(problems: &[Problem], files: &Files) {
    let renderer = renderer();
    for problem in problems {
        output::styled_to_stderr(&format!("{}\n", renderer.render(&[group(problem, files)])));
    }
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    if errors > 1 {
        eprintln!("{errors} errors; nothing was run");
    }
    if let Some(line) = more(problems) {
        print_once(&line);
    }
}

/// The `explain-error` command for the errors, or for the warnings where there are no errors.
pub(crate) fn more(problems: &[Problem]) -> Option<String> {
    let of = |severity| problems.iter().filter(move |problem| problem.severity == severity);
    let mut codes: Vec<&str> = of(Severity::Error).map(|problem| problem.code).collect();
    if codes.is_empty() {
        codes = of(Severity::Warning).map(|problem| problem.code).collect();
    }
    let (first, rest) = codes.split_first()?;
    let mut others: Vec<&str> = Vec::new();
    for code in rest {
        if code != first && !others.contains(code) {
            others.push(code);
        }
    }
    let others = if others.is_empty() { String::new() } else { format!(" (also: {})", others.join(", ")) };
    Some(more_about(first) + &others)
}

fn more_about(code: &str) -> String {
    format!("see also: `cosimo explain-error {code}`")
}

/// A command that reports twice refers to `explain-error` only once.
fn print_once(line: &str) {
    static PRINTED: Once = Once::new();
    PRINTED.call_once(|| eprintln!("{line}"));
}

/// A problem on stdout, as the result of the command.
pub(crate) fn problem(problem: &Problem, files: &Files) {
    output::styled(&format!("{}\n", for_stdout().render(&[group(problem, files)])));
}

/// Prints all problems of an error; returns the exit code.
pub(crate) fn failure(error: &Error) -> u8 {
    match error.problems() {
        [problem] if error.kind() == ErrorKind::Run && !problem.code.is_empty() => {
            coded(Some(problem.code), &problem.message, problem.hint.as_deref());
        }
        all if all.iter().all(|problem| problem.code.is_empty()) => {
            all.iter().for_each(|problem| self::error(&problem.message, problem.hint.as_deref()));
        }
        all => problems(all, error.files()),
    }
    match error.kind() {
        ErrorKind::Input => exit::BAD_INPUT,
        ErrorKind::File => exit::NO_FILE,
        ErrorKind::Run => exit::FAILED,
    }
}

/// Warnings, one line each. Those that differ in the component only share a line.
pub(crate) fn warnings(problems: &[Problem]) {
    for members in alike(of_warnings(problems)) {
        let code = if members[0].code.is_empty() { String::new() } else { format!("[{}]", members[0].code) };
        eprintln!("warning{code}: {}{}", with_remedy(members[0]), others(&members[1..]));
    }
}

/// Warnings that differ in the component only together, each group where its first one stands; errors alone.
pub(crate) fn alike<'p>(problems: impl Iterator<Item = &'p Problem>) -> Vec<Vec<&'p Problem>> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<Vec<&Problem>> = Vec::new();
    for problem in problems {
        let place = match problem.severity {
            Severity::Error => groups.len(),
            Severity::Warning => {
                *places.entry((problem.code, without_component(problem))).or_insert(groups.len())
            }
        };
        match groups.get_mut(place) {
            Some(members) => members.push(problem),
            None => groups.push(vec![problem]),
        }
    }
    groups
}

/// The message without the name of the component it is about.
fn without_component(problem: &Problem) -> String {
    let text = with_remedy(problem);
    match &problem.about {
        Some(about) => {
            let name = &about.component;
            text.replace(&format!("`{name}`"), "`*`").replace(&format!("`{name}."), "`*.")
        }
        None => text,
    }
}

/// How many there are of a warning, and which components the rest is about.
pub(crate) fn others(rest: &[&Problem]) -> String {
    if rest.is_empty() {
        return String::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for name in rest.iter().filter_map(|problem| Some(problem.about.as_ref()?.component.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let shown: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
    let of = match (shown.is_empty(), names.len() - shown.len()) {
        (true, _) => String::new(),
        (false, 0) => format!(", also for {}", shown.join(", ")),
        (false, more) => format!(", also for {} and {more} others", shown.join(", ")),
    };
    format!(" [{} times{of}]", rest.len() + 1)
}

fn of_warnings(problems: &[Problem]) -> impl Iterator<Item = &Problem> {
    problems.iter().filter(|problem| problem.severity == Severity::Warning)
}

/// An error without a place in a file.
pub(crate) fn error(message: &str, hint: Option<&str>) {
    titled(Group::with_title(Level::ERROR.primary_title(printable(message))), hint);
}

/// The same for a bad command line or file; returns the exit code.
pub(crate) fn refused(message: impl Display, hint: Option<&str>) -> u8 {
    error(&message.to_string(), hint);
    exit::BAD_INPUT
}

/// The same for a file that cannot be read or written.
pub(crate) fn no_file(message: impl Display, hint: Option<&str>) -> u8 {
    error(&message.to_string(), hint);
    exit::NO_FILE
}

/// An error of a run or a plan, which may have a code but has no place in a file. A message that lists several errors
/// contains their codes already.
pub(crate) fn coded(code: Option<&str>, message: &str, hint: Option<&str>) {
    let Some(code) = code else { return error(message, hint) };
    let mut title = Level::ERROR.primary_title(printable(message));
    if !message.contains(&format!("[{code}]")) {
        title = title.id(code);
    }
    titled(Group::with_title(title), hint);
    print_once(&more_about(code));
}

fn titled<'a>(mut group: Group<'a>, hint: Option<&'a str>) {
    if let Some(hint) = hint {
        group = group.element(Level::HELP.message(printable(hint)));
    }
    output::styled_to_stderr(&renderer().render(&[group]));
}

/// A violated rule of the standard, on stdout, as the result of the command.
pub(crate) fn finding(finding: &Finding, file: &str) {
    let level = match finding.severity {
        fmi_check::Severity::Error => Level::ERROR,
        fmi_check::Severity::Warning => Level::WARNING,
    };
    let compared = format!("expected {}, got {}", printable(&finding.wanted), printable(&finding.found));
    let mut group = Group::with_title(level.primary_title(printable(&finding.message)).id(finding.rule.id));
    let spot = &finding.spot;
    let path = if spot.entry.is_empty() { file.to_owned() } else { format!("{file}: {}", spot.entry) };
    let path = printable(&path);
    match (&spot.source, spot.place) {
        (Some((line, span)), Some(place)) => {
            let span = AnnotationKind::Primary.span(span.clone()).label(&compared);
            let source = Snippet::source(line).line_start(place.line as usize).path(path).annotation(span);
            group = group.element(source);
        }
        (_, place) => {
            let origin = Origin::path(path);
            group = group.element(match place {
                Some(place) => origin.line(place.line as usize).char_column(place.column as usize),
                None => origin,
            });
            group = group.element(Level::NOTE.message(&compared));
        }
    }
    group =
        group.element(Level::NOTE.message(&finding.clause)).element(Level::HELP.message(finding.rule.remedy));
    output::styled(&format!("{}\n", for_stdout().render(&[group])));
}

fn for_stdout() -> Renderer {
    if output::is_terminal() { Renderer::styled() } else { Renderer::plain() }
}

fn renderer() -> Renderer {
    if std::io::IsTerminal::is_terminal(&std::io::stderr()) { Renderer::styled() } else { Renderer::plain() }
}

fn group<'a>(problem: &'a Problem, files: &'a Files) -> Group<'a> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::NOTE.with_name("warning"),
    };
    let mut group = Group::with_title(level.primary_title(printable(&problem.message)).id(problem.code));
    if let Some((file, span)) = place(problem, files) {
        let mut annotation = AnnotationKind::Primary.span(span);
        if !problem.label.is_empty() {
            annotation = annotation.label(printable(&problem.label));
        }
        group = group.element(Snippet::source(&file.text).path(printable(&file.name)).annotation(annotation));
    }
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.message(printable(hint)));
    }
    group
}
