//! modelDescription.xml of FMI 1.0, of whatever kind: what can be read is read, also where the FMU cannot run here.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::Node;

use crate::description::{
    Capabilities, Causality, Description, Fmi, Initial, InterfaceInfo, Output, UNDEFINED_REFERENCE,
    UnitDefinition, Variability, Variable, VariableType, words,
};
use crate::quantity::Units;
use crate::schema::{
    declared_types, head, identity, input_derivative_order, output_derivative_order, typed, variable,
};
use crate::xml::{XmlReader, child, children_of};

words! {
    /// Causality as FMI 1.0 has it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Fmi1Causality in DIRECTIONS {
        Input = "input",
        Output = "output",
        Internal = "internal",
        /// Without influence on the simulation, such as a switch for logging.
        None = "none",
    }
}

words! {
    /// Variability as FMI 1.0 has it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Fmi1Variability in CHANGES {
        Constant = "constant",
        Parameter = "parameter",
        Discrete = "discrete",
        Continuous = "continuous",
    }
}

words! {
    /// How a variable refers to one with the same value reference.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Alias in ALIASES {
        None = "noAlias",
        Same = "alias",
        Negated = "negatedAlias",
    }
}

pub(crate) fn read(reader: &mut XmlReader<'_>, root: Node<'_, '_>, version: &str) -> Option<Description> {
    let head = head(reader, root, (Fmi::One, version), "guid");
    let identifier = reader.text(root, "modelIdentifier").unwrap_or_default().to_owned();
    let implementation = child(root, "Implementation");
    let alone = implementation.and_then(|node| child(node, "CoSimulation_StandAlone"));
    let tool = implementation.and_then(|node| child(node, "CoSimulation_Tool"));
    let mut unsupported = Vec::new();
    let mut details = details(root);
    let cosimulation =
        alone.map(|node| InterfaceInfo { identifier, capabilities: capabilities(reader, node) });
    if let (None, Some(tool)) = (alone, tool) {
        unsupported.push("co-simulation coupled to a tool");
        details.extend(coupling(tool));
        let maker = root.attribute("generationTool").map_or(String::new(), |tool| format!(" ({tool})"));
        reader.problem_hint(
            tool,
            format!("this FMI 1.0 FMU is a tool coupling, which requires the exporting tool{maker}"),
            "export it as a stand-alone FMU, best in FMI 2.0 or 3.0",
        );
    } else if cosimulation.is_none() {
        unsupported.push("model exchange");
        let counts = [("states", "numberOfContinuousStates"), ("indicators", "numberOfEventIndicators")];
        details.extend(
            counts.into_iter().filter_map(|(word, name)| Some((word, root.attribute(name)?.to_owned()))),
        );
        reader.problem_hint(
            root,
            "this FMU is for model exchange in FMI 1.0; Cosimo runs FMI 1.0 for co-simulation only",
            "export it for co-simulation, or as FMI 2.0 or 3.0",
        );
    }
    let units = definitions(root);
    let mut variables = variables(reader, root, &Units::new(&units));
    settle_aliases(reader, root, &mut variables);
    let outputs = outputs(reader, root, &variables);
    Some(Description { cosimulation, unsupported, details, units, variables, outputs, ..head })
}

/// What stands in the description and nothing computes with.
fn details(root: Node<'_, '_>) -> Vec<(&'static str, String)> {
    let attributes = [("author", "author"), ("version", "version"), ("made on", "generationDateAndTime")];
    let text = |(word, name)| Some((word, root.attribute(name)?.trim().to_owned()));
    attributes.into_iter().filter_map(text).filter(|(_, text)| !text.is_empty()).collect()
}

/// Which model of which tool a coupling is for.
fn coupling(tool: Node<'_, '_>) -> Option<(&'static str, String)> {
    let model = child(tool, "Model")?;
    let mut parts: Vec<String> = ["entryPoint", "type"]
        .into_iter()
        .filter_map(|name| model.attribute(name).map(str::to_owned))
        .collect();
    if model.attribute("manualStart").is_some_and(|text| matches!(text.trim(), "true" | "1")) {
        parts.push("to be started manually".into());
    }
    Some(("tool model", parts.join(", ")))
}

fn capabilities(reader: &mut XmlReader<'_>, alone: Node<'_, '_>) -> Capabilities {
    let Some(can) = child(alone, "Capabilities") else { return Capabilities::default() };
    Capabilities {
        variable_step: reader.flag(can, "canHandleVariableCommunicationStepSize"),
        input_derivative_order: input_derivative_order(reader, can),
        output_derivative_order: output_derivative_order(reader, can),
        once_per_process: reader.flag(can, "canBeInstantiatedOnlyOncePerProcess"),
        ..Capabilities::default()
    }
}

/// Physical units have names only. What a name means is read from it.
fn definitions(root: Node<'_, '_>) -> Vec<UnitDefinition> {
    let named = children_of(root, "UnitDefinitions").filter_map(|node| node.attribute("unit"));
    named
        .map(|name| UnitDefinition {
            name: name.to_owned(),
            unit: cosimo_core::Unit::parse(name).ok(),
            place: Default::default(),
        })
        .collect()
}

fn variables(reader: &mut XmlReader<'_>, root: Node<'_, '_>, units: &Units<'_>) -> Vec<Variable> {
    let mut types = declared_types(root);
    let mut found = Vec::new();
    for node in children_of(root, "ModelVariables") {
        let Some((name, reference)) = identity(reader, node) else { continue };
        let Some((typed, kind)) = typed(node) else {
            reader.problem(
                node,
                format!("`{name}` has no type, expected Real, Integer, Boolean, String or Enumeration"),
            );
            continue;
        };
        let declared = types.of(typed);
        let variable = variable(reader, node, (name, reference), kind, (typed, declared), units);
        let start = typed.attribute("start");
        let fixed = typed.attribute("fixed").is_none_or(|text| !matches!(text.trim(), "false" | "0"));
        let direction = reader.choice(node, "causality", DIRECTIONS).unwrap_or(Fmi1Causality::Internal);
        // All types are continuous by default, which makes no sense for most of them.
        let usual = if kind == VariableType::Float64 {
            Fmi1Variability::Continuous
        } else {
            Fmi1Variability::Discrete
        };
        let change = reader.choice(node, "variability", CHANGES).unwrap_or(usual);
        let change = if change == Fmi1Variability::Continuous { usual } else { change };
        let (causality, variability) = nature(direction, change, start.is_some());
        let alias = reader.choice(node, "alias", ALIASES).unwrap_or(Alias::None);
        found.push(Variable {
            negated: (alias == Alias::Negated).then_some(reference),
            causality,
            variability,
            initial: match causality {
                Causality::Input => None,
                _ if start.is_none() => Some(Initial::Calculated),
                _ if fixed => Some(Initial::Exact),
                _ => Some(Initial::Approx),
            },
            items: declared.map_or(Vec::new(), items),
            ..variable
        });
    }
    types.warn(reader);
    found
}

/// Causality and variability as later versions have them. A parameter with a start value can be set, one without is
/// calculated.
fn nature(direction: Fmi1Causality, change: Fmi1Variability, start: bool) -> (Causality, Variability) {
    let variability = match change {
        Fmi1Variability::Constant => Variability::Constant,
        Fmi1Variability::Parameter => Variability::Fixed,
        Fmi1Variability::Discrete => Variability::Discrete,
        Fmi1Variability::Continuous => Variability::Continuous,
    };
    let causality = match (direction, change) {
        (Fmi1Causality::Input, Fmi1Variability::Parameter | Fmi1Variability::Constant) => {
            Causality::Parameter
        }
        (Fmi1Causality::Input, _) => Causality::Input,
        (Fmi1Causality::Output, _) => Causality::Output,
        (Fmi1Causality::Internal | Fmi1Causality::None, Fmi1Variability::Parameter) if start => {
            Causality::Parameter
        }
        (Fmi1Causality::Internal | Fmi1Causality::None, Fmi1Variability::Parameter) => {
            Causality::CalculatedParameter
        }
        (Fmi1Causality::Internal | Fmi1Causality::None, _) => Causality::Local,
    };
    (causality, variability)
}

/// The first item is 1.
fn items(node: Node<'_, '_>) -> Vec<(String, i64)> {
    let items = node.children().filter(|child| child.tag_name().name() == "Item");
    items.zip(1..).filter_map(|(item, value)| Some((item.attribute("name")?.to_owned(), value))).collect()
}

/// Variables of one value reference are one value. Negatives get a number of their own, by which they are told apart,
/// and only one of several inputs can be told.
fn settle_aliases(reader: &mut XmlReader<'_>, root: Node<'_, '_>, variables: &mut [Variable]) {
    let nodes: BTreeMap<_, Node<'_, '_>> =
        children_of(root, "ModelVariables").map(|node| (reader.place(node), node)).collect();
    let mut told: BTreeMap<(VariableType, u32), String> = BTreeMap::new();
    for at in 0..variables.len() {
        let node = nodes.get(&variables[at].place).copied().unwrap_or(root);
        let Variable { name, kind, reference, causality, negated, .. } = &mut variables[at];
        if *reference == UNDEFINED_REFERENCE && matches!(causality, Causality::Input | Causality::Output) {
            reader.warning(node, format!("`{name}` has no value reference and is not a port"));
            *causality = Causality::Local;
        }
        if negated.is_some() && matches!(kind, VariableType::String | VariableType::Enumeration) {
            reader.warning(node, format!("`{name}` is not a number; its `negatedAlias` is read as `alias`"));
            *negated = None;
        }
        if *causality != Causality::Input {
            continue;
        }
        // Enumerations are integers to the interface.
        let type_in_calls = if *kind == VariableType::Enumeration { VariableType::Int32 } else { *kind };
        if let Some(first) = told.get(&(type_in_calls, *reference)) {
            let words =
                format!("input `{name}` is an alias of input `{first}` and is not a port: connect `{first}`");
            reader.warning(node, words);
            *causality = Causality::Local;
        } else {
            told.insert((type_in_calls, *reference), name.clone());
        }
    }
    let used: BTreeSet<u32> = variables.iter().map(|variable| variable.reference).collect();
    let mut free = (0..UNDEFINED_REFERENCE).rev().filter(|number| !used.contains(number));
    for variable in variables.iter_mut().filter(|variable| variable.negated.is_some()) {
        variable.reference = free.next().unwrap_or(UNDEFINED_REFERENCE);
    }
}

/// Each output with the inputs that it depends on at once. Without a list it may depend on all.
fn outputs(reader: &mut XmlReader<'_>, root: Node<'_, '_>, variables: &[Variable]) -> Vec<Output> {
    let names: BTreeMap<&str, usize> =
        variables.iter().enumerate().map(|(at, variable)| (variable.name.as_str(), at)).collect();
    let mut found = Vec::new();
    for node in children_of(root, "ModelVariables") {
        let Some(&variable) = node.attribute("name").and_then(|name| names.get(name)) else { continue };
        if variables[variable].causality != Causality::Output {
            continue;
        }
        let dependencies = child(node, "DirectDependency").map(|list| {
            let named = list.children().filter(|child| child.tag_name().name() == "Name");
            let mut inputs = Vec::new();
            for name in named {
                let text = name.text().unwrap_or_default().trim();
                match names.get(text) {
                    Some(&at) => inputs.push(at),
                    None => {
                        reader.warning(name, format!("`{text}` in a list of dependencies does not exist"))
                    }
                }
            }
            inputs
        });
        found.push(Output { variable, dependencies });
    }
    found
}
