//! modelDescription.xml of FMI 2.0.

use std::collections::BTreeMap;

use cosimo_core::Limits;
use roxmltree::Node;

use crate::declared_types::DeclaredTypes;
use crate::description::{
    CAUSALITIES, Capabilities, Causality, Description, Exchange, Experiment, Fmi, INITIALS, Kind, Offer,
    Output, VARIABILITIES, Variability, Variable, token,
};
use crate::problem::Place;
use crate::quantity::{Units, definitions};
use crate::xml::{Reader, child, children_of};

pub(crate) const KINDS: &[(&str, Kind)] = &[
    ("Real", Kind::Float64),
    ("Integer", Kind::Int32),
    ("Boolean", Kind::Boolean),
    ("String", Kind::String),
    ("Enumeration", Kind::Enumeration),
];

pub(crate) fn read(reader: &mut Reader<'_>, root: Node<'_, '_>, version: &str) -> Option<Description> {
    let model_name = reader.text(root, "modelName").unwrap_or_default().to_owned();
    let token = token(reader, root, "guid");
    let (cosimulation, exchange) = (child(root, "CoSimulation"), child(root, "ModelExchange"));
    if cosimulation.is_none() && exchange.is_none() {
        reader.problem_hint(
            root,
            "the unit is made for nothing; wanted `<CoSimulation>` or `<ModelExchange>`",
            "export it again for co-simulation or model exchange",
        );
    }
    let unsupported = Vec::new();
    let cosimulation = cosimulation.map(|interface| offer(reader, interface));
    let units = definitions(reader, root);
    let variables = variables(reader, root, &Units::new(&units));
    check_aliases(reader, root, &variables);
    let outputs = outputs(reader, root, &variables);
    let listed = listed(reader, root, &variables, exchange.is_some());
    let exchange = exchange.map(|interface| Exchange {
        offer: offer(reader, interface),
        completed_steps: !reader.flag(interface, "completedIntegratorStepNotNeeded"),
        states: listed.clone(),
        indicators: reader.parse(root, "numberOfEventIndicators", "a whole number").unwrap_or(0),
    });
    Some(Description {
        fmi: Fmi::Two,
        fmi_version: version.to_owned(),
        model_name,
        token,
        description: root.attribute("description").unwrap_or_default().to_owned(),
        generation_tool: root.attribute("generationTool").unwrap_or_default().to_owned(),
        cosimulation,
        exchange,
        unsupported,
        details: Vec::new(),
        obstacles: Vec::new(),
        experiment: experiment(reader, root),
        log_categories: children_of(root, "LogCategories")
            .filter_map(|node| node.attribute("name").map(str::to_owned))
            .collect(),
        units,
        variables,
        outputs,
        states: listed,
        terminals: Vec::new(),
        remarks: Vec::new(),
    })
}

/// What only co-simulation has is false for model exchange.
fn offer(reader: &mut Reader<'_>, interface: Node<'_, '_>) -> Offer {
    let identifier = reader.text(interface, "modelIdentifier").unwrap_or_default().to_owned();
    let interpolates = reader.flag(interface, "canInterpolateInputs");
    let capabilities = Capabilities {
        variable_step: reader.flag(interface, "canHandleVariableCommunicationStepSize"),
        get_set_state: reader.flag(interface, "canGetAndSetFMUstate"),
        serialize_state: reader.flag(interface, "canSerializeFMUstate"),
        directional_derivatives: reader.flag(interface, "providesDirectionalDerivative"),
        // The standard has no order of input derivatives; a segment has three, and so have splines.
        input_derivative_order: if interpolates { 3 } else { 0 },
        output_derivative_order: reader
            .parse(interface, "maxOutputDerivativeOrder", "a whole number")
            .unwrap_or(0),
        needs_execution_tool: reader.flag(interface, "needsExecutionTool"),
        once_per_process: reader.flag(interface, "canBeInstantiatedOnlyOncePerProcess"),
        ..Capabilities::default()
    };
    Offer { identifier, capabilities }
}

/// The continuous states in the order of their vector, which is that of the derivatives.
/// States with their derivatives. A unit for co-simulation need not list them, and nobody minds if it does so badly.
fn listed(
    reader: &mut Reader<'_>,
    root: Node<'_, '_>,
    variables: &[Variable],
    needed: bool,
) -> Vec<(usize, usize)> {
    let before = reader.problems.len();
    let found = states(reader, root, variables);
    if needed || reader.problems.len() == before {
        return found;
    }
    reader.problems.truncate(before);
    Vec::new()
}

fn states(reader: &mut Reader<'_>, root: Node<'_, '_>, variables: &[Variable]) -> Vec<(usize, usize)> {
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
            None => {
                let name = &variables[derivative].name;
                reader.problem(
                    node,
                    format!("`{name}` is listed as a derivative, but does not say of which state"),
                );
            }
        }
    }
    found
}

pub(crate) fn experiment(reader: &mut Reader<'_>, root: Node<'_, '_>) -> Experiment {
    let Some(node) = child(root, "DefaultExperiment") else { return Experiment::default() };
    Experiment {
        start: reader.number(node, "startTime"),
        stop: reader.number(node, "stopTime"),
        tolerance: reader.number(node, "tolerance"),
        step: reader.number(node, "stepSize"),
    }
}

fn variables(reader: &mut Reader<'_>, root: Node<'_, '_>, units: &Units<'_>) -> Vec<Variable> {
    let mut types = DeclaredTypes::new(
        children_of(root, "TypeDefinitions")
            .filter_map(|node| Some((node.attribute("name")?, node.children().find(Node::is_element)?))),
    );
    if child(root, "ModelVariables").is_none() {
        reader.problem(root, "there is no `<ModelVariables>`");
    }
    let mut found = Vec::new();
    for node in children_of(root, "ModelVariables") {
        let (Some(name), Some(_)) = (reader.text(node, "name"), reader.text(node, "valueReference")) else {
            continue;
        };
        let Some(reference) = reader.needed(node, "valueReference", "a whole number below 2^32") else {
            continue;
        };
        let typed = node.children().find_map(|child| {
            let kind = KINDS.iter().find(|(tag, _)| child.is_element() && child.tag_name().name() == *tag)?;
            Some((child, kind.1))
        });
        let Some((typed, kind)) = typed else {
            reader.problem(
                node,
                format!("`{name}` has no type, wanted Real, Integer, Boolean, String or Enumeration"),
            );
            continue;
        };
        let declared = types.of(typed);
        let unit_name = typed.attribute("unit").or_else(|| declared?.attribute("unit"));
        let relative = [Some(typed), declared].into_iter().flatten();
        let relative = relative.map(|node| reader.flag(node, "relativeQuantity")).fold(false, |a, b| a | b);
        let float = kind == Kind::Float64;
        found.push(Variable {
            name: name.to_owned(),
            reference,
            negated: None,
            kind,
            causality: reader.choice(node, "causality", CAUSALITIES).unwrap_or(Causality::Local),
            variability: reader.choice(node, "variability", VARIABILITIES).unwrap_or(if float {
                Variability::Continuous
            } else {
                Variability::Discrete
            }),
            initial: reader.choice(node, "initial", INITIALS),
            start: typed.attribute("start").map(str::to_owned).into_iter().collect(),
            unit: unit_name.and_then(|name| units.of_variable(name, relative)),
            unit_name: unit_name.map(str::to_owned),
            limits: limits(typed, declared),
            dimensions: Vec::new(),
            description: node.attribute("description").unwrap_or_default().to_owned(),
            intermediate_update: false,
            clock: None,
            clocks: Vec::new(),
            items: declared.map_or(Vec::new(), items),
            place: reader.place(node),
        });
    }
    types.warn(reader);
    found
}

/// From the variable, else from its type. What is no number limits nothing; `cosimo validate` says so.
pub(crate) fn limits(variable: Node<'_, '_>, declared: Option<Node<'_, '_>>) -> Limits {
    let number = |name: &str| {
        let text = variable.attribute(name).or_else(|| declared?.attribute(name))?;
        text.trim().parse::<f64>().ok().filter(|number| !number.is_nan())
    };
    Limits {
        least: number("min").unwrap_or(Limits::NONE.least),
        largest: number("max").unwrap_or(Limits::NONE.largest),
    }
}

/// The named values of an enumeration's type.
pub(crate) fn items(node: Node<'_, '_>) -> Vec<(String, i64)> {
    let item = |item: Node<'_, '_>| {
        Some((item.attribute("name")?.to_owned(), item.attribute("value")?.trim().parse().ok()?))
    };
    node.children().filter(|child| child.tag_name().name() == "Item").filter_map(item).collect()
}

/// Variables of one type may share a value reference, but only one of them can be set from outside.
fn check_aliases(reader: &mut Reader<'_>, root: Node<'_, '_>, variables: &[Variable]) {
    let mut seen: BTreeMap<(Kind, u32), &Variable> = BTreeMap::new();
    let nodes: BTreeMap<Place, Node<'_, '_>> =
        children_of(root, "ModelVariables").map(|node| (reader.place(node), node)).collect();
    for variable in variables.iter().filter(|variable| variable.causality == Causality::Input) {
        // Enumerations are integers to the interface.
        let kind = if variable.kind == Kind::Enumeration { Kind::Int32 } else { variable.kind };
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

fn outputs(reader: &mut Reader<'_>, root: Node<'_, '_>, variables: &[Variable]) -> Vec<Output> {
    let mut found = Vec::new();
    let structure = child(root, "ModelStructure");
    let list = structure.and_then(|node| child(node, "Outputs"));
    let index = |number: u32| (number as usize).checked_sub(1).filter(|index| *index < variables.len());
    for node in list.into_iter().flat_map(|node| node.children()).filter(Node::is_element) {
        let Some(number) = reader.parse::<u32>(node, "index", "a whole number") else { continue };
        let Some(variable) = index(number) else {
            reader.remark(
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
