//! modelDescription.xml of FMI 2.0.

use std::collections::BTreeMap;

use roxmltree::Node;

use crate::description::{Causality, Description, Fmi, ModelExchangeInfo, Output, Variable, VariableType};
use crate::problem::FilePosition;
use crate::quantity::{Units, definitions};
use crate::schema::{
    declared_types, derivative_of_nothing, head, identity, interfaces, listed, model_variables, offer,
    read_nature, typed, variable,
};
use crate::xml::{XmlReader, child, children_of};

pub(crate) fn read(reader: &mut XmlReader<'_>, root: Node<'_, '_>, version: &str) -> Option<Description> {
    let head = head(reader, root, (Fmi::Two, version), "guid");
    let (cosimulation, exchange) = interfaces(reader, root);
    let cosimulation = cosimulation.map(|interface| offer(reader, interface, Fmi::Two));
    let units = definitions(reader, root);
    let variables = variables(reader, root, &Units::new(&units));
    check_aliases(reader, root, &variables);
    let outputs = outputs(reader, root, &variables);
    let states = listed(reader, exchange.is_some(), |reader| states(reader, root, &variables));
    let exchange = exchange.map(|interface| ModelExchangeInfo {
        offer: offer(reader, interface, Fmi::Two),
        completed_steps: !reader.flag(interface, "completedIntegratorStepNotNeeded"),
        states: states.clone(),
        indicators: reader.parse(root, "numberOfEventIndicators", "a whole number").unwrap_or(0),
    });
    Some(Description { cosimulation, exchange, units, variables, outputs, states, ..head })
}

/// The continuous states in the order of their vector, which is that of the derivatives.
fn states(reader: &mut XmlReader<'_>, root: Node<'_, '_>, variables: &[Variable]) -> Vec<(usize, usize)> {
    // Which state a variable is the derivative of stands at its type.
    let of: Vec<Option<u32>> = children_of(root, "ModelVariables")
        .map(|node| {
            let typed = node.children().find(|child| child.tag_name().name() == "Real")?;
            typed.attribute("derivative")?.trim().parse().ok()
        })
        .collect();
    let index = |number: u32| (number as usize).checked_sub(1).filter(|index| *index < variables.len());
    let list = child(root, "ModelStructure").and_then(|node| child(node, "Derivatives"));
    let mut found = Vec::new();
    for node in list.into_iter().flat_map(|node| node.children()).filter(Node::is_element) {
        let Some(number) = reader.needed::<u32>(node, "index", "a whole number") else { continue };
        let Some(derivative) = index(number) else {
            let count = variables.len();
            reader.problem(node, format!("derivative {number} does not exist; there are {count} variables"));
            continue;
        };
        match of.get(derivative).copied().flatten().and_then(index) {
            Some(state) => found.push((state, derivative)),
            None => derivative_of_nothing(reader, node, &variables[derivative]),
        }
    }
    found
}

fn variables(reader: &mut XmlReader<'_>, root: Node<'_, '_>, units: &Units<'_>) -> Vec<Variable> {
    let mut types = declared_types(root);
    let mut found = Vec::new();
    for node in model_variables(reader, root) {
        let Some((name, reference)) = identity(reader, node) else { continue };
        let Some((typed, kind)) = typed(node) else {
            reader.problem(
                node,
                format!("`{name}` has no type, expected Real, Integer, Boolean, String or Enumeration"),
            );
            continue;
        };
        let types = (typed, types.of(typed));
        let mut variable = variable(reader, node, (name, reference), kind, types, units);
        read_nature(reader, node, &mut variable);
        found.push(variable);
    }
    types.warn(reader);
    found
}

/// Variables of one type may share a value reference, but only one of them can be set from outside.
fn check_aliases(reader: &mut XmlReader<'_>, root: Node<'_, '_>, variables: &[Variable]) {
    let mut seen: BTreeMap<(VariableType, u32), &Variable> = BTreeMap::new();
    let nodes: BTreeMap<FilePosition, Node<'_, '_>> =
        children_of(root, "ModelVariables").map(|node| (reader.place(node), node)).collect();
    for variable in variables.iter().filter(|variable| variable.causality == Causality::Input) {
        // Enumerations are integers to the interface.
        let kind =
            if variable.kind == VariableType::Enumeration { VariableType::Int32 } else { variable.kind };
        let Some(first) = seen.insert((kind, variable.reference), variable) else { continue };
        let node = nodes.get(&variable.place).copied().unwrap_or(root);
        reader.problem(
            node,
            format!(
                "inputs `{}` (line {}) and `{}` have the same value reference {}, so one would overwrite the other",
                first.name, first.place.line, variable.name, variable.reference
            ),
        );
    }
}

fn outputs(reader: &mut XmlReader<'_>, root: Node<'_, '_>, variables: &[Variable]) -> Vec<Output> {
    let mut found = Vec::new();
    let structure = child(root, "ModelStructure");
    let list = structure.and_then(|node| child(node, "Outputs"));
    let index = |number: u32| (number as usize).checked_sub(1).filter(|index| *index < variables.len());
    for node in list.into_iter().flat_map(|node| node.children()).filter(Node::is_element) {
        let Some(number) = reader.parse::<u32>(node, "index", "a whole number") else { continue };
        let Some(variable) = index(number) else {
            reader.warning(
                node,
                format!("output {number} does not exist; there are {} variables", variables.len()),
            );
            continue;
        };
        let dependencies =
            reader.indices(node, "dependencies").map(|list| list.into_iter().filter_map(index).collect());
        found.push(Output { variable, dependencies });
    }
    found
}
