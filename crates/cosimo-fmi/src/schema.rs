//! What modelDescription.xml has in every version of FMI.

use cosimo_core::ValueRange;
use roxmltree::Node;

use crate::declared_types::DeclaredTypes;
use crate::description::{
    CAUSALITIES, Capabilities, Causality, DefaultExperiment, Description, Fmi, INITIALS, InterfaceInfo,
    VARIABILITIES, Variability, Variable, VariableType,
};
use crate::quantity::Units;
use crate::xml::{XmlReader, child, children_of};

/// Types of FMI 1.0 and 2.0.
const KINDS: &[(&str, VariableType)] = &[
    ("Real", VariableType::Float64),
    ("Integer", VariableType::Int32),
    ("Boolean", VariableType::Boolean),
    ("String", VariableType::String),
    ("Enumeration", VariableType::Enumeration),
];

/// A description with its head alone.
pub(crate) fn head(
    reader: &mut XmlReader<'_>,
    root: Node<'_, '_>,
    (fmi, version): (Fmi, &str),
    token_name: &str,
) -> Description {
    Description {
        fmi,
        fmi_version: version.to_owned(),
        model_name: reader.text(root, "modelName").unwrap_or_default().to_owned(),
        token: token(reader, root, token_name),
        description: root.attribute("description").unwrap_or_default().to_owned(),
        generation_tool: root.attribute("generationTool").unwrap_or_default().to_owned(),
        cosimulation: None,
        exchange: None,
        unsupported: Vec::new(),
        details: Vec::new(),
        obstacles: Vec::new(),
        experiment: experiment(reader, root),
        log_categories: children_of(root, "LogCategories")
            .filter_map(|node| node.attribute("name").map(str::to_owned))
            .collect(),
        units: Vec::new(),
        variables: Vec::new(),
        outputs: Vec::new(),
        states: Vec::new(),
        terminals: Vec::new(),
        warnings: Vec::new(),
    }
}

/// What the FMU compares before it starts. Some are made without and compare nothing.
fn token(reader: &mut XmlReader<'_>, node: Node<'_, '_>, name: &str) -> String {
    let found = node.attribute(name);
    if found.is_none() {
        reader.warning(node, format!("there is no `{name}`; the FMU is started with an empty one"));
    }
    found.unwrap_or_default().to_owned()
}

fn experiment(reader: &mut XmlReader<'_>, root: Node<'_, '_>) -> DefaultExperiment {
    let Some(node) = child(root, "DefaultExperiment") else { return DefaultExperiment::default() };
    DefaultExperiment {
        start: reader.number(node, "startTime"),
        stop: reader.number(node, "stopTime"),
        tolerance: reader.number(node, "tolerance"),
        step: reader.number(node, "stepSize"),
    }
}

/// The elements for co-simulation and model exchange, since FMI 2.0.
pub(crate) fn interfaces<'a, 'i>(
    reader: &mut XmlReader<'_>,
    root: Node<'a, 'i>,
) -> (Option<Node<'a, 'i>>, Option<Node<'a, 'i>>) {
    let (cosimulation, exchange) = (child(root, "CoSimulation"), child(root, "ModelExchange"));
    if cosimulation.is_none() && exchange.is_none() {
        let offers = if child(root, "ScheduledExecution").is_some() {
            "scheduled execution only"
        } else {
            "no interface type"
        };
        reader.problem_hint(
            root,
            format!("the FMU supports {offers}; expected `<CoSimulation>` or `<ModelExchange>`"),
            "re-export it for co-simulation or model exchange",
        );
    }
    (cosimulation, exchange)
}

/// Since FMI 2.0. What only co-simulation has is false for model exchange.
pub(crate) fn offer(reader: &mut XmlReader<'_>, interface: Node<'_, '_>, fmi: Fmi) -> InterfaceInfo {
    let identifier = reader.text(interface, "modelIdentifier").unwrap_or_default().to_owned();
    let three = fmi == Fmi::Three;
    let [get_set, serialize, directional] = if three {
        ["canGetAndSetFMUState", "canSerializeFMUState", "providesDirectionalDerivatives"]
    } else {
        ["canGetAndSetFMUstate", "canSerializeFMUstate", "providesDirectionalDerivative"]
    };
    let mut capabilities = Capabilities {
        variable_step: reader.flag(interface, "canHandleVariableCommunicationStepSize"),
        get_set_state: reader.flag(interface, get_set),
        serialize_state: reader.flag(interface, serialize),
        directional_derivatives: reader.flag(interface, directional),
        output_derivative_order: output_derivative_order(reader, interface),
        needs_execution_tool: reader.flag(interface, "needsExecutionTool"),
        once_per_process: reader.flag(interface, "canBeInstantiatedOnlyOncePerProcess"),
        ..Capabilities::default()
    };
    if three {
        capabilities.intermediate_update = reader.flag(interface, "providesIntermediateUpdate");
        capabilities.event_mode = reader.flag(interface, "hasEventMode");
        capabilities.early_return = reader.flag(interface, "mightReturnEarlyFromDoStep");
        capabilities.early_on_request = reader.flag(interface, "canReturnEarlyAfterIntermediateUpdate");
        capabilities.fixed_step = reader.number(interface, "fixedInternalStepSize");
    } else {
        capabilities.input_derivative_order = input_derivative_order(reader, interface);
    }
    InterfaceInfo { identifier, capabilities }
}

pub(crate) fn output_derivative_order(reader: &mut XmlReader<'_>, node: Node<'_, '_>) -> u32 {
    reader.parse(node, "maxOutputDerivativeOrder", "a whole number").unwrap_or(0)
}

/// FMI 1.0 and 2.0 have no order of input derivatives; a segment has three, and so have splines.
pub(crate) fn input_derivative_order(reader: &mut XmlReader<'_>, node: Node<'_, '_>) -> u32 {
    if reader.flag(node, "canInterpolateInputs") { 3 } else { 0 }
}

/// States with their derivatives. An FMU for co-simulation need not list them, and is not refused if it does so badly.
pub(crate) fn listed(
    reader: &mut XmlReader<'_>,
    needed: bool,
    states: impl FnOnce(&mut XmlReader<'_>) -> Vec<(usize, usize)>,
) -> Vec<(usize, usize)> {
    let before = reader.problems.len();
    let found = states(reader);
    if needed || reader.problems.len() == before {
        return found;
    }
    reader.problems.truncate(before);
    Vec::new()
}

/// The elements of the variables, which FMI 2.0 and 3.0 require.
pub(crate) fn model_variables<'a, 'i>(
    reader: &mut XmlReader<'_>,
    root: Node<'a, 'i>,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
    if child(root, "ModelVariables").is_none() {
        reader.problem(root, "there is no `<ModelVariables>`");
    }
    children_of(root, "ModelVariables")
}

pub(crate) fn derivative_of_nothing(reader: &mut XmlReader<'_>, node: Node<'_, '_>, derivative: &Variable) {
    let name = &derivative.name;
    reader.problem(node, format!("`{name}` is listed as a derivative, but has no attribute `derivative`"));
}

/// Name and value reference of a variable.
pub(crate) fn identity<'a>(reader: &mut XmlReader<'_>, node: Node<'a, '_>) -> Option<(&'a str, u32)> {
    let (name, _) = (reader.text(node, "name"), reader.text(node, "valueReference")?);
    Some((name?, reader.needed(node, "valueReference", "a whole number below 2^32")?))
}

/// The element that has a variable's type, in FMI 1.0 and 2.0.
pub fn typed<'a, 'i>(node: Node<'a, 'i>) -> Option<(Node<'a, 'i>, VariableType)> {
    node.children().find_map(|child| {
        let kind = KINDS.iter().find(|(tag, _)| child.is_element() && child.tag_name().name() == *tag)?;
        Some((child, kind.1))
    })
}

/// Declared types of FMI 1.0 and 2.0, which are an element deeper than in FMI 3.0.
pub(crate) fn declared_types<'a, 'i>(root: Node<'a, 'i>) -> DeclaredTypes<'a, 'i> {
    DeclaredTypes::new(
        children_of(root, "TypeDefinitions")
            .filter_map(|node| Some((node.attribute("name")?, node.children().find(Node::is_element)?))),
    )
}

/// A variable as far as all versions say it alike. `typed` is the element with its type, `declared` that of the type
/// which it refers to.
pub(crate) fn variable(
    reader: &mut XmlReader<'_>,
    node: Node<'_, '_>,
    (name, reference): (&str, u32),
    kind: VariableType,
    (typed, declared): (Node<'_, '_>, Option<Node<'_, '_>>),
    units: &Units<'_>,
) -> Variable {
    let unit_name = typed.attribute("unit").or_else(|| declared?.attribute("unit"));
    let relative = [Some(typed), declared].into_iter().flatten();
    let relative = relative.map(|node| reader.flag(node, "relativeQuantity")).fold(false, |a, b| a | b);
    Variable {
        name: name.to_owned(),
        reference,
        negated: None,
        kind,
        causality: Causality::Local,
        variability: if kind.is_float() { Variability::Continuous } else { Variability::Discrete },
        initial: None,
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
    }
}

/// Causality, variability and initial, as FMI 2.0 and 3.0 have them.
pub(crate) fn read_nature(reader: &mut XmlReader<'_>, node: Node<'_, '_>, variable: &mut Variable) {
    variable.causality = reader.choice(node, "causality", CAUSALITIES).unwrap_or(variable.causality);
    variable.variability = reader.choice(node, "variability", VARIABILITIES).unwrap_or(variable.variability);
    variable.initial = reader.choice(node, "initial", INITIALS);
}

/// From the variable, else from its type. What is no number limits nothing; `cosimo validate` says so.
fn limits(variable: Node<'_, '_>, declared: Option<Node<'_, '_>>) -> ValueRange {
    let number = |name: &str| {
        let text = variable.attribute(name).or_else(|| declared?.attribute(name))?;
        text.trim().parse::<f64>().ok().filter(|number| !number.is_nan())
    };
    ValueRange {
        least: number("min").unwrap_or(ValueRange::NONE.least),
        largest: number("max").unwrap_or(ValueRange::NONE.largest),
    }
}

/// The named values of an enumeration's type.
fn items(node: Node<'_, '_>) -> Vec<(String, i64)> {
    let item = |item: Node<'_, '_>| {
        Some((item.attribute("name")?.to_owned(), item.attribute("value")?.trim().parse().ok()?))
    };
    node.children().filter(|child| child.tag_name().name() == "Item").filter_map(item).collect()
}
