//! `cargo xtask check-layers`: the real dependencies among our crates against the list in ARCHITECTURE.md,
//! and what must be absent where (see invariants.rs). All problems are reported at once.
//!
//! The list is a fenced block that begins with ```` ```layers ````, one crate per line:
//! `cosimo-engine: cosimo-core cosimo-system` is all that the engine may depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::{TaskResult, command, invariants, no_arguments};

const LIST: &str = "ARCHITECTURE.md";

/// A crate and the crates of ours that it depends on.
type Graph = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    no_arguments(arguments)?;
    let metadata =
        command::capture(command::cargo(root, &["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let real = real(&metadata)?;
    let mut problems = match std::fs::read_to_string(root.join(LIST)) {
        Err(error) => vec![format!("{LIST} cannot be read, so no dependency is allowed: {error}")],
        Ok(text) => match allowed(&text) {
            Ok(allowed) => compare(&real, &allowed),
            Err(problems) => problems,
        },
    };
    problems.extend(invariants::check(root));
    if problems.is_empty() {
        println!("{} crates keep to their layers", real.len());
        return Ok(());
    }
    for problem in &problems {
        eprintln!("{problem}");
    }
    Err(format!("{} found", count(problems.len(), "problem")))
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The graph as cargo sees it. Dev-dependencies are exempt: tests may depend on any crate.
fn real(metadata: &Value) -> Result<Graph, String> {
    let list = |value: &Value, key: &str| {
        value[key].as_array().cloned().ok_or_else(|| format!("cargo metadata has no list of {key}"))
    };
    let packages = list(metadata, "packages")?;
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_string();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let mut graph = Graph::new();
    for package in &packages {
        let dependencies = list(package, "dependencies")?;
        let counts = |dependency: &&Value| dependency["kind"].as_str() != Some("dev");
        let known =
            dependencies.iter().filter(counts).map(name).filter(|dependency| ours.contains(dependency));
        graph.insert(name(package), known.collect());
    }
    Ok(graph)
}

/// The list as people wrote it.
fn allowed(text: &str) -> Result<Graph, Vec<String>> {
    let mut lines =
        text.lines().enumerate().skip_while(|(_, line)| line.trim() != "```layers").skip(1).peekable();
    if lines.peek().is_none() {
        return Err(vec![format!("{LIST} has no block that begins with ```layers")]);
    }
    let mut graph = Graph::new();
    let mut problems = Vec::new();
    for (number, line) in lines {
        let line = line.trim();
        if line == "```" {
            return if problems.is_empty() { Ok(graph) } else { Err(problems) };
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = format!("{LIST}:{}", number + 1);
        let Some((name, dependencies)) = line.split_once(':') else {
            problems.push(format!("{at}: `{line}` should read `crate: what it may depend on`"));
            continue;
        };
        let dependencies = dependencies.split_whitespace().map(String::from).collect();
        if graph.insert(name.trim().into(), dependencies).is_some() {
            problems.push(format!("{at}: `{}` is listed twice", name.trim()));
        }
    }
    problems.push(format!("{LIST}: the block that begins with ```layers does not end"));
    Err(problems)
}

/// Everything in which the real graph breaks the list, or the list speaks of what is not there.
fn compare(real: &Graph, allowed: &Graph) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, dependencies) in real {
        let Some(may) = allowed.get(name) else {
            let words: Vec<&str> = dependencies.iter().map(String::as_str).collect();
            let line = format!("{name}: {}", words.join(" "));
            problems.push(format!(
                "`{name}` is not in {LIST}; today it would be listed as `{}`",
                line.trim_end()
            ));
            continue;
        };
        for dependency in dependencies.difference(may) {
            problems.push(format!("`{name}` depends on `{dependency}`, which {LIST} does not allow"));
        }
    }
    for (name, may) in allowed {
        if !real.contains_key(name) {
            problems.push(format!("`{name}` is in {LIST}, but there is no such crate"));
        }
        for dependency in may.iter().filter(|dependency| !real.contains_key(*dependency)) {
            problems
                .push(format!("{LIST} lets `{name}` depend on `{dependency}`, but there is no such crate"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(lines: &[(&str, &[&str])]) -> Graph {
        lines
            .iter()
            .map(|(name, on)| (name.to_string(), on.iter().map(|d| d.to_string()).collect()))
            .collect()
    }

    #[test]
    fn a_graph_within_the_list_is_fine() {
        let real = graph(&[("core", &[]), ("engine", &["core"])]);
        let allowed = graph(&[("core", &[]), ("engine", &["core"])]);
        assert_eq!(compare(&real, &allowed), [""; 0]);
    }

    #[test]
    fn what_is_allowed_need_not_be_used() {
        let real = graph(&[("core", &[]), ("engine", &[])]);
        let allowed = graph(&[("core", &[]), ("engine", &["core"])]);
        assert_eq!(compare(&real, &allowed), [""; 0]);
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let real = graph(&[("core", &["engine"]), ("engine", &["methods"]), ("methods", &["core"])]);
        let allowed = graph(&[("core", &[]), ("engine", &["core", "lost"]), ("gone", &[])]);
        assert_eq!(
            compare(&real, &allowed),
            [
                "`core` depends on `engine`, which ARCHITECTURE.md does not allow",
                "`engine` depends on `methods`, which ARCHITECTURE.md does not allow",
                "`methods` is not in ARCHITECTURE.md; today it would be listed as `methods: core`",
                "ARCHITECTURE.md lets `engine` depend on `lost`, but there is no such crate",
                "`gone` is in ARCHITECTURE.md, but there is no such crate",
            ]
        );
    }

    #[test]
    fn the_list_is_read_from_its_block_only() {
        let text = "a: b\n\n```layers\n# the base\ncore:\n\nengine: core   system\n```\nb: c\n";
        assert_eq!(allowed(text), Ok(graph(&[("core", &[]), ("engine", &["core", "system"])])));
    }

    #[test]
    fn a_broken_list_is_not_an_empty_list() {
        assert_eq!(allowed("# Architecture\n").unwrap_err().len(), 1);
        assert_eq!(allowed("```layers\ncore:\n").unwrap_err().len(), 1);
        let problems = allowed("```layers\ncore\nengine:\nengine: core\n```\n").unwrap_err();
        assert!(problems[0].starts_with("ARCHITECTURE.md:2: `core` should read"), "{problems:?}");
        assert_eq!(problems[1], "ARCHITECTURE.md:4: `engine` is listed twice");
    }

    #[test]
    fn only_our_crates_count_and_tests_may_know_anybody() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "core", "dependencies": [{ "name": "strsim", "kind": null }] },
            { "name": "engine", "dependencies": [
                { "name": "core", "kind": null },
                { "name": "methods", "kind": "dev" },
                { "name": "tools", "kind": "build" },
            ] },
            { "name": "methods", "dependencies": [] },
            { "name": "tools", "dependencies": [] },
        ] });
        let wanted = [("core", &[][..]), ("engine", &["core", "tools"]), ("methods", &[]), ("tools", &[])];
        assert_eq!(real(&metadata), Ok(graph(&wanted)));
    }
}
