//! modelDescription.xml of FMI 3.0.

use std::collections::BTreeMap;

use roxmltree::Node;

use crate::declared_types::DeclaredTypes;
use crate::description::{
    Clock, Description, Fmi, INTERVALS, KINDS, ModelExchangeInfo, Output, Variable, VariableType,
};
use crate::quantity::{Units, definitions};
use crate::schema::{
    derivative_of_nothing, head, identity, interfaces, listed, model_variables, offer, read_nature, variable,
};
use crate::xml::{XmlReader, child, children_of};

/// More elements in one variable are a mistake or an attack.
const LARGEST_ARRAY: u64 = 1_000_000;
/// All arrays together.
const LARGEST_SUM: u64 = 10_000_000;

pub(crate) fn read(reader: &mut XmlReader<'_>, root: Node<'_, '_>, version: &str) -> Option<Description> {
    let head = head(reader, root, (Fmi::Three, version), "instantiationToken");
    let (cosimulation, exchange) = interfaces(reader, root);
    let scheduled = child(root, "ScheduledExecution").is_some();
    let unsupported = if scheduled { vec!["scheduled execution"] } else { Vec::new() };
    let cosimulation = cosimulation.map(|interface| offer(reader, interface, Fmi::Three));
    let units = definitions(reader, root);
    let variables = variables(reader, root, &Units::new(&units));
    let outputs = outputs(reader, root, &variables);
    let states = listed(reader, exchange.is_some(), |reader| states(reader, root, &variables));
    let exchange = exchange.map(|interface| ModelExchangeInfo {
        offer: offer(reader, interface, Fmi::Three),
        completed_steps: reader.flag(interface, "needsCompletedIntegratorStep"),
        states: states.clone(),
        indicators: indicators(reader, root, &variables),
    });
    Some(Description { cosimulation, exchange, unsupported, units, variables, outputs, states, ..head })
}

/// Elements of the model structure of one name, with the variables that they name.
fn structure<'a, 'i>(
    reader: &mut XmlReader<'_>,
    root: Node<'a, 'i>,
    tag: &str,
    variables: &[Variable],
) -> Vec<(Node<'a, 'i>, usize)> {
    let mut found = Vec::new();
    for node in children_of(root, "ModelStructure").filter(|node| node.tag_name().name() == tag) {
        let Some(reference) = reader.needed::<u32>(node, "valueReference", "a whole number") else {
            continue;
        };
        match variables.iter().position(|variable| variable.reference == reference) {
            Some(index) => found.push((node, index)),
            None => {
                reader.problem(node, format!("the {tag} with value reference {reference} does not exist"));
            }
        }
    }
    found
}

/// The continuous states in the order of their vector, which is that of the derivatives.
fn states(reader: &mut XmlReader<'_>, root: Node<'_, '_>, variables: &[Variable]) -> Vec<(usize, usize)> {
    let of: BTreeMap<u32, u32> = children_of(root, "ModelVariables")
        .filter_map(|node| {
            let number = |key: &str| node.attribute(key)?.trim().parse::<u32>().ok();
            Some((number("valueReference")?, number("derivative")?))
        })
        .collect();
    let mut found = Vec::new();
    for (node, derivative) in structure(reader, root, "ContinuousStateDerivative", variables) {
        let state = of.get(&variables[derivative].reference);
        match state.and_then(|state| variables.iter().position(|variable| variable.reference == *state)) {
            Some(state) => found.push((state, derivative)),
            None => derivative_of_nothing(reader, node, &variables[derivative]),
        }
    }
    found
}

fn indicators(reader: &mut XmlReader<'_>, root: Node<'_, '_>, variables: &[Variable]) -> usize {
    let found = structure(reader, root, "EventIndicator", variables);
    found.iter().map(|(_, index)| variables[*index].elements()).sum()
}

fn variables(reader: &mut XmlReader<'_>, root: Node<'_, '_>, units: &Units<'_>) -> Vec<Variable> {
    let mut types = DeclaredTypes::new(
        children_of(root, "TypeDefinitions").filter_map(|node| Some((node.attribute("name")?, node))),
    );
    let sizes = structural_sizes(root);
    let mut found: Vec<Variable> = Vec::new();
    let mut references: BTreeMap<u32, usize> = BTreeMap::new();
    let mut sum = 0;
    for node in model_variables(reader, root) {
        let tag = node.tag_name().name();
        let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == tag) else {
            reader.warning(node, format!("`<{tag}>` is not a type of FMI 3.0 and is ignored"));
            continue;
        };
        let Some((name, reference)) = identity(reader, node) else { continue };
        if let Some(first) = references.insert(reference, found.len()).and_then(|index| found.get(index)) {
            let (first, line) = (first.name.clone(), first.place.line);
            reader.problem(
                node,
                format!("`{first}` (line {line}) and `{name}` have the same value reference {reference}"),
            );
        }
        let Some(dimensions) = dimensions(reader, node, name, &sizes) else { continue };
        sum += dimensions.iter().product::<u64>();
        if sum > LARGEST_SUM {
            reader.problem(
                node,
                format!("with `{name}` there are more than {LARGEST_SUM} elements in all arrays, which is the limit"),
            );
            break;
        }
        let declared = types.of(node);
        let mut variable = variable(reader, node, (name, reference), *kind, (node, declared), units);
        read_nature(reader, node, &mut variable);
        found.push(Variable {
            start: start(node, *kind),
            dimensions,
            intermediate_update: reader.flag(node, "intermediateUpdate"),
            clock: if *kind == VariableType::Clock { clock(reader, node, declared) } else { None },
            clocks: reader.indices(node, "clocks").unwrap_or_default(),
            ..variable
        });
    }
    types.warn(reader);
    found
}

/// Seconds, given as counts of a resolution, which is exact, or as such.
fn clock(reader: &mut XmlReader<'_>, node: Node<'_, '_>, declared: Option<Node<'_, '_>>) -> Option<Clock> {
    let number = |key: &str| {
        let text = node.attribute(key).or_else(|| declared?.attribute(key))?;
        text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
    };
    let seconds = |decimal: &str, counter: &str| {
        let counted = || Some(number(counter)? / number("resolution").filter(|it| *it > 0.0)?);
        counted().or_else(|| number(decimal))
    };
    let place = if node.attribute("intervalVariability").is_some() { node } else { declared.unwrap_or(node) };
    let interval = reader.choice(place, "intervalVariability", INTERVALS)?;
    Some(Clock {
        interval,
        period: seconds("intervalDecimal", "intervalCounter").filter(|period| *period > 0.0),
        shift: seconds("shiftDecimal", "shiftCounter").unwrap_or(0.0),
    })
}

/// Start values of what can size an array.
fn structural_sizes(root: Node<'_, '_>) -> BTreeMap<u32, u64> {
    children_of(root, "ModelVariables")
        .filter(|node| node.tag_name().name() == "UInt64")
        .filter_map(|node| {
            let number = |key: &str| node.attribute(key)?.trim().parse::<u64>().ok();
            Some((u32::try_from(number("valueReference")?).ok()?, number("start")?))
        })
        .collect()
}

fn dimensions(
    reader: &mut XmlReader<'_>,
    node: Node<'_, '_>,
    name: &str,
    sizes: &BTreeMap<u32, u64>,
) -> Option<Vec<u64>> {
    let mut found = Vec::new();
    for dimension in node.children().filter(|child| child.tag_name().name() == "Dimension") {
        let fixed = reader.needed::<u64>(dimension, "start", "a whole number");
        let by = reader.needed::<u32>(dimension, "valueReference", "a whole number");
        match fixed.or_else(|| sizes.get(&by?).copied()) {
            Some(size) => found.push(size),
            None => {
                let message = format!(
                    "the size of `{name}` is neither a number nor a structural parameter with a start value"
                );
                reader.problem(dimension, message);
                return None;
            }
        }
    }
    let total = found.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
    if total.is_none_or(|total| total > LARGEST_ARRAY) {
        let sizes = found.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
        reader.problem(node, format!("`{name}` has {sizes} elements, at most {LARGEST_ARRAY} are allowed"));
        return None;
    }
    Some(found)
}

fn start(node: Node<'_, '_>, kind: VariableType) -> Vec<String> {
    match kind {
        VariableType::String | VariableType::Binary => node
            .children()
            .filter(|child| child.tag_name().name() == "Start")
            .filter_map(|child| child.attribute("value").map(str::to_owned))
            .collect(),
        _ => node
            .attribute("start")
            .map_or(Vec::new(), |text| text.split_whitespace().map(str::to_owned).collect()),
    }
}

fn outputs(reader: &mut XmlReader<'_>, root: Node<'_, '_>, variables: &[Variable]) -> Vec<Output> {
    let index: BTreeMap<u32, usize> =
        variables.iter().enumerate().map(|(index, variable)| (variable.reference, index)).collect();
    let mut found = Vec::new();
    for node in children_of(root, "ModelStructure").filter(|node| node.tag_name().name() == "Output") {
        let Some(reference) = reader.parse::<u32>(node, "valueReference", "a whole number") else { continue };
        let Some(variable) = index.get(&reference).copied() else {
            reader.warning(node, format!("the output with value reference {reference} does not exist"));
            continue;
        };
        let dependencies = reader
            .indices(node, "dependencies")
            .map(|list| list.iter().filter_map(|reference| index.get(reference).copied()).collect());
        found.push(Output { variable, dependencies });
    }
    found
}
