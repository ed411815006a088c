//! Rules about `terminalsAndIcons.xml` of FMI 3.0.

use std::collections::{BTreeMap, BTreeSet};

use cosimo_fmi::description::Causality;
use cosimo_pack::xml::{child, children_of};
use roxmltree::Node;

use crate::model::ModelDescription;
use crate::report::{Findings, XmlSource};
use crate::structure::repeated;

/// Limit for nested terminals.
const DEEPEST: usize = 64;

/// All terminals, including nested ones.
fn terminals<'a>(root: Node<'a, 'a>) -> Vec<Node<'a, 'a>> {
    fn gather<'a>(node: Node<'a, 'a>, depth: usize, into: &mut Vec<Node<'a, 'a>>) {
        into.push(node);
        for inner in node.children().filter(|inner| inner.tag_name().name() == "Terminal" && depth < DEEPEST)
        {
            gather(inner, depth + 1, into);
        }
    }
    let mut found = Vec::new();
    children_of(root, "Terminals").for_each(|node| gather(node, 0, &mut found));
    found
}

fn members<'a>(terminal: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    terminal.children().filter(|node| node.tag_name().name() == "TerminalMemberVariable")
}

pub(crate) fn version(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some((source, root)) = model.terminals else { return };
    let (own, fmu) = (root.attribute("fmiVersion"), model.root.attribute("fmiVersion"));
    if own.is_some() && own != fmu {
        report.find(
            source.attribute(root, "fmiVersion"),
            "terminalsAndIcons.xml has another fmiVersion than the FMU",
            format!("\"{}\"", own.unwrap_or_default()),
            format!("\"{}\"", fmu.unwrap_or_default()),
        );
    }
}

pub(crate) fn duplicate_name(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some((source, root)) = model.terminals else { return };
    let inner = terminals(root);
    let lists = child(root, "Terminals").into_iter().chain(inner);
    for list in lists {
        let nodes = list.children().filter(|node| node.tag_name().name() == "Terminal");
        let named = nodes.filter_map(|node| Some((node, node.attribute("name")?)));
        for (node, name, line) in repeated(source, named) {
            let message = format!("two terminals of one level have the name `{name}`");
            let found = format!("first used in line {line}");
            report.find(source.attribute(node, "name"), message, found, "a unique name");
        }
    }
}

/// Attributes of a member that refer to a variable.
const VARIABLES: [&str; 3] = ["variableName", "inStreamVariableName", "outStreamVariableName"];

pub(crate) fn variable(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some((source, root)) = model.terminals else { return };
    let known: BTreeMap<&str, Option<Causality>> = model
        .variables
        .iter()
        .flat_map(|variable| {
            let aliases = variable.node.children().filter(|node| node.tag_name().name() == "Alias");
            let aliases = aliases.filter_map(|node| node.attribute("name"));
            std::iter::once(variable.name).chain(aliases).map(|name| (name, variable.causality))
        })
        .collect();
    for terminal in terminals(root) {
        let of = terminal.attribute("name").unwrap_or_default();
        for member in terminal.children().filter(Node::is_element) {
            for key in VARIABLES {
                let Some(name) = member.attribute(key) else { continue };
                let found = match known.get(name) {
                    None => format!("`{name}`, which is not a variable"),
                    Some(Some(
                        Causality::Local | Causality::Independent | Causality::StructuralParameter,
                    )) => {
                        format!("`{name}`, which cannot be connected")
                    }
                    Some(_) => continue,
                };
                report.find(
                    source.attribute(member, key),
                    format!("terminal `{of}` has an invalid member"),
                    found,
                    "an input, output, parameter or calculated parameter",
                );
            }
        }
    }
}

pub(crate) fn member_name(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some((source, root)) = model.terminals else { return };
    for terminal in terminals(root) {
        let of = terminal.attribute("name").unwrap_or_default();
        if !matches!(terminal.attribute("matchingRule"), Some("plug" | "bus")) {
            continue;
        }
        let mut seen = BTreeSet::new();
        for member in members(terminal) {
            let (found, at) = match member.attribute("memberName") {
                None => ("none".to_owned(), source.element(member)),
                Some(name) if !seen.insert(name) => {
                    (format!("`{name}` again"), source.attribute(member, "memberName"))
                }
                Some(_) => continue,
            };
            let message = format!("members of terminal `{of}` have no unique names");
            report.find(at, message, found, "a unique `memberName`, as the matching rule is plug or bus");
        }
    }
}

/// A predefined value, or one in reverse domain notation.
fn is_known(word: &str, standard: &[&str]) -> bool {
    standard.contains(&word) || word.contains('.')
}

fn check_word(
    report: &mut Findings,
    source: &XmlSource<'_>,
    node: Node<'_, '_>,
    key: &str,
    standard: &[&str],
) {
    let Some(word) = node.attribute(key).filter(|word| !is_known(word, standard)) else { return };
    report.find(
        source.attribute(node, key),
        format!("`{key}` is not a predefined value"),
        format!("\"{word}\""),
        format!("{}, or a name such as com.example.rule", standard.join(", ")),
    );
}

pub(crate) fn word(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some((source, root)) = model.terminals else { return };
    for terminal in terminals(root) {
        check_word(report, source, terminal, "matchingRule", &["plug", "bus", "sequence"]);
        for member in members(terminal) {
            check_word(report, source, member, "variableKind", &["signal", "inflow", "outflow"]);
        }
    }
}

pub(crate) fn streams(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some((source, root)) = model.terminals else { return };
    for terminal in terminals(root) {
        let stream = child(terminal, "TerminalStreamMemberVariable");
        let flows: Vec<Node<'_, '_>> = members(terminal)
            .filter(|member| matches!(member.attribute("variableKind"), Some("inflow" | "outflow")))
            .collect();
        if stream.is_some() && flows.len() > 1 {
            let of = terminal.attribute("name").unwrap_or_default();
            report.find(
                source.element(flows[1]),
                format!("terminal `{of}` has a stream and several flows"),
                flows.len().to_string(),
                "one flow if there is a stream",
            );
        }
    }
}
