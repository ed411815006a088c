//! Rules of FMI 1.0 only: aliases declared by attribute, dependencies by name.

use std::collections::{BTreeMap, BTreeSet};

use cosimo_fmi::description::UNDEFINED_REFERENCE;
use cosimo_fmi::description::VariableType;
use roxmltree::Node;

use crate::model::{ModelDescription, VariableNode};
use crate::report::Findings;

/// The type of its get and set functions: enumerations are accessed as integers.
fn base_type(variable: &VariableNode<'_>) -> Option<VariableType> {
    variable.kind.map(|kind| if kind == VariableType::Enumeration { VariableType::Int32 } else { kind })
}

fn is_alias(variable: &VariableNode<'_>) -> bool {
    matches!(variable.node.attribute("alias").map(str::trim), Some("alias" | "negatedAlias"))
}

pub(crate) fn alias_base(model: &ModelDescription<'_>, report: &mut Findings) {
    let bases: BTreeSet<(Option<VariableType>, Option<u32>)> = model
        .variables
        .iter()
        .filter(|variable| !is_alias(variable))
        .map(|variable| (base_type(variable), variable.reference))
        .collect();
    for variable in model.variables.iter().filter(|variable| is_alias(variable)) {
        let known = bases.contains(&(base_type(variable), variable.reference));
        if let Some(reference) =
            variable.reference.filter(|reference| !known && *reference != UNDEFINED_REFERENCE)
        {
            report.find(
                model.source.attribute(variable.node, "alias"),
                format!("`{}` is an alias without a base variable", variable.name),
                format!("no variable of the same type with value reference {reference}"),
                "a variable with this value reference that is not an alias itself",
            );
        }
    }
}

pub(crate) fn direct_dependency(model: &ModelDescription<'_>, report: &mut Findings) {
    let causalities: BTreeMap<&str, &str> = model
        .variables
        .iter()
        .map(|variable| (variable.name, variable.node.attribute("causality").map_or("internal", str::trim)))
        .collect();
    let named = |node: &Node<'_, '_>, tag: &str| node.is_element() && node.tag_name().name() == tag;
    for variable in &model.variables {
        let Some(list) = variable.node.children().find(|child| named(child, "DirectDependency")) else {
            continue;
        };
        if causalities.get(variable.name) != Some(&"output") {
            report.find(
                model.source.element(list),
                format!("`{}` has `<DirectDependency>` but is not an output", variable.name),
                format!("causality {}", causalities.get(variable.name).unwrap_or(&"internal")),
                "`<DirectDependency>` on outputs only",
            );
        }
        for name in list.children().filter(|child| named(child, "Name")) {
            let text = name.text().unwrap_or_default().trim();
            let found = match causalities.get(text) {
                Some(&"input") => continue,
                Some(causality) => format!("`{text}`, whose causality is {causality}"),
                None => format!("`{text}`, which does not exist"),
            };
            let message = format!("`{}` has a dependency that is not an input", variable.name);
            report.find(model.source.element(name), message, found, "the name of an input");
        }
    }
}
