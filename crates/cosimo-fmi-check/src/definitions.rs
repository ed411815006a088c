//! Rules about definitions other than variables: units, types, log categories, the experiment, annotations.

use std::collections::BTreeMap;

use cosimo_fmi::description::Fmi;
use cosimo_pack::xml::{child, children_of};
use roxmltree::Node;

use crate::model::ModelDescription;
use crate::report::Findings;
use crate::schema::number;
use crate::structure::repeated;

fn named<'a>(nodes: impl Iterator<Item = Node<'a, 'a>>) -> impl Iterator<Item = (Node<'a, 'a>, &'a str)> {
    nodes.filter_map(|node| Some((node, node.attribute("name")?)))
}

/// Names that occur more than once in a list.
fn report_repeated<'a>(
    model: &ModelDescription<'a>,
    report: &mut Findings,
    what: &str,
    nodes: impl Iterator<Item = Node<'a, 'a>>,
) {
    for (node, name, line) in repeated(model.source, named(nodes)) {
        report.find(
            model.source.attribute(node, "name"),
            format!("two {what} have the name `{name}`"),
            format!("first used in line {line}"),
            "a unique name",
        );
    }
}

pub(crate) fn duplicate_unit(model: &ModelDescription<'_>, report: &mut Findings) {
    report_repeated(model, report, "units", children_of(model.root, "UnitDefinitions"));
    for unit in children_of(model.root, "UnitDefinitions") {
        let shown = unit.children().filter(|node| node.tag_name().name() == "DisplayUnit");
        report_repeated(model, report, "display units of one unit", shown);
    }
}

pub(crate) fn unit_conversion(model: &ModelDescription<'_>, report: &mut Findings) {
    for unit in children_of(model.root, "UnitDefinitions") {
        for node in unit.children().filter(Node::is_element) {
            let value = |name: &str| node.attribute(name).and_then(number);
            let inverse = matches!(node.attribute("inverse"), Some("true" | "1"));
            let (name, found, wanted) =
                if value("factor").is_some_and(|factor| factor == 0.0 || !factor.is_finite()) {
                    ("factor", "a factor that is 0 or not finite", "a finite factor other than 0")
                } else if inverse && value("offset").is_some_and(|offset| offset != 0.0) {
                    ("offset", "`inverse` with an offset", "offset 0 where `inverse` is true")
                } else {
                    continue;
                };
            let of = unit.attribute("name").unwrap_or_default();
            let message = format!("the conversion of unit `{of}` is invalid");
            report.find(model.source.attribute(node, name), message, found, wanted);
        }
    }
}

pub(crate) fn duplicate_type(model: &ModelDescription<'_>, report: &mut Findings) {
    report_repeated(model, report, "types", children_of(model.root, "TypeDefinitions"));
}

pub(crate) fn type_and_variable(model: &ModelDescription<'_>, report: &mut Findings) {
    for variable in &model.variables {
        if model.types.contains_key(variable.name) {
            report.find(
                model.source.attribute(variable.node, "name"),
                format!("a variable and a type have the name `{}`", variable.name),
                "the name of a type",
                "a name that is not used by a type",
            );
        }
    }
}

pub(crate) fn enumeration_items(model: &ModelDescription<'_>, report: &mut Findings) {
    for declared in children_of(model.root, "TypeDefinitions") {
        let holder = if model.fmi == Fmi::Two { child(declared, "Enumeration") } else { Some(declared) };
        let items = || {
            holder.into_iter().flat_map(|node| node.children()).filter(|it| it.tag_name().name() == "Item")
        };
        report_repeated(model, report, "items of one enumeration", items());
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (item, name) in named(items()) {
            let Some(value) = item.attribute("value").map(str::trim) else { continue };
            if let Some(first) = seen.insert(value, name) {
                report.find(
                    model.source.attribute(item, "value"),
                    format!("`{first}` and `{name}` have the same value in one enumeration"),
                    value,
                    "a unique value",
                );
            }
        }
    }
}

pub(crate) fn duplicate_category(model: &ModelDescription<'_>, report: &mut Findings) {
    report_repeated(model, report, "log categories", children_of(model.root, "LogCategories"));
}

pub(crate) fn experiment(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some(node) = child(model.root, "DefaultExperiment") else { return };
    let value = |name: &str| node.attribute(name).and_then(number);
    let (start, stop) = (value("startTime").unwrap_or(0.0), value("stopTime"));
    for (name, wrong, wanted) in [
        ("stopTime", stop.is_some_and(|stop| stop < start), "a stop time after the start time"),
        ("tolerance", value("tolerance").is_some_and(|it| it <= 0.0), "a tolerance greater than 0"),
        ("stepSize", value("stepSize").is_some_and(|it| it <= 0.0), "a step size greater than 0"),
    ] {
        if wrong {
            let found = node.attribute(name).unwrap_or_default();
            let message = format!("`{name}` of the default experiment is invalid");
            report.find(model.source.attribute(node, name), message, found, wanted);
        }
    }
}

/// All lists of annotations in the description.
fn annotations<'a>(model: &ModelDescription<'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    let places = std::iter::once(model.root).chain(model.variables.iter().map(|variable| variable.node));
    let lists = places.flat_map(|node| node.children());
    lists.filter(|node| matches!(node.tag_name().name(), "VendorAnnotations" | "Annotations"))
}

/// FMI 2.0: one entry per tool.
pub(crate) fn duplicate_tool(model: &ModelDescription<'_>, report: &mut Findings) {
    for list in annotations(model) {
        report_repeated(model, report, "annotations of one list", list.children().filter(Node::is_element));
    }
}

/// FMI 3.0 requires the domain of the organisation that defines the type.
pub(crate) fn annotation_type(model: &ModelDescription<'_>, report: &mut Findings) {
    for node in annotations(model).flat_map(|list| list.children()) {
        let Some(name) = node.attribute("type") else { continue };
        if !name.contains('.') {
            report.find(
                model.source.attribute(node, "type"),
                "the type of an annotation is not in reverse domain notation",
                format!("\"{name}\""),
                "a type such as com.example.tool",
            );
        }
    }
}
