//! `modelDescription.xml`, from a model's interface and parameters; here the parts that all versions share. No date
//! and no path, so that equal models give equal files.

mod fmi1;
mod fmi2;
mod fmi3;

use cosimo_core::{Interface, Unit};
use cosimo_native::{Hybrid, Quantity, Unknown};
use cosimo_pack::XmlWriter;
use cosimo_pack::xml_writer::Tag;

use crate::design::{Design, Variant, Version};
use crate::model::ExportedModel;
use crate::variables::{ExportedVariable, Role, VariableType, Variables};

/// The capabilities that an FMU declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) rollback: bool,
    pub(crate) fixed_step: bool,
    pub(crate) interpolates: bool,
    pub(crate) intermediate: bool,
    /// Intermediate update at every step of its solver, with early return on request.
    pub(crate) shows_solver_steps: bool,
    /// Co-simulation with time events that the importer may handle.
    pub(crate) event_mode: bool,
    /// Derivatives of outputs by time, up to this order.
    pub(crate) output_order: u32,
    /// Derivatives of outputs by inputs.
    pub(crate) jacobian: bool,
    /// Model exchange: derivatives of derivatives and outputs by states and inputs.
    pub(crate) tangents: bool,
    /// Needs `completedIntegratorStep`.
    pub(crate) completed: bool,
    /// Requests an event after so many completed steps; 0 is never.
    pub(crate) step_events: u64,
    /// Event iterations per event.
    pub(crate) rounds: u32,
}

impl Capabilities {
    pub(crate) fn of(design: &Design, model: &ExportedModel, interface: &Interface) -> Capabilities {
        let abilities = interface.abilities;
        let stepped = design.variant == Variant::StepEvents;
        Capabilities {
            rollback: abilities.serialize_state
                && design.variant != Variant::NoRollback
                && design.version != Version::One,
            fixed_step: !abilities.variable_step || design.variant == Variant::FixedStep,
            interpolates: design.variant == Variant::Interpolates,
            intermediate: design.variant == Variant::Intermediate
                || (design.line && design.version == Version::Three),
            shows_solver_steps: design.line && design.version == Version::Three,
            event_mode: model.hybrid && model.echoes.is_empty() && design.version == Version::Three,
            output_order: u32::from(abilities.slopes),
            // No derivatives by an effort that follows the flow.
            jacobian: abilities.jacobian && !design.line,
            tangents: design.variant != Variant::NoDerivatives,
            completed: stepped || design.variant == Variant::Completed,
            step_events: if stepped { 5 } else { 0 },
            rounds: if design.variant == Variant::Iterates { 3 } else { 1 },
        }
    }
}

/// All contents of a description.
pub(crate) struct Facts<'a> {
    pub(crate) design: &'a Design,
    pub(crate) model: &'a ExportedModel,
    pub(crate) interface: &'a Interface,
    /// Where the importer may solve them.
    pub(crate) equations: Option<&'a dyn Hybrid>,
    pub(crate) variables: &'a Variables,
    pub(crate) capabilities: Capabilities,
    pub(crate) token: &'a str,
}

pub(crate) fn description(facts: &Facts<'_>) -> String {
    let mut xml = XmlWriter::new();
    match facts.design.version {
        Version::One => fmi1::describe(&mut xml, facts),
        Version::Two => fmi2::describe(&mut xml, facts),
        Version::Three => fmi3::describe(&mut xml, facts),
    }
    xml.finish()
}

/// The root element, which stays open; the name of the token attribute depends on the version.
fn document<'a>(xml: &'a mut XmlWriter, facts: &Facts<'_>, token: &str) -> Tag<'a> {
    let Facts { design, model, .. } = facts;
    let old = design.version == Version::One;
    let mut tag = xml.open("fmiModelDescription");
    tag.set("fmiVersion", design.version.text())
        .set("modelName", design.name())
        .set_some("modelIdentifier", old.then(|| design.identifier()))
        .set(token, facts.token)
        .set("description", model.summary)
        .set("generationTool", format_args!("Cosimo {}", env!("CARGO_PKG_VERSION")))
        .set("variableNamingConvention", "flat");
    tag
}

/// The same in FMI 2.0 and 3.0. The radian is dimensionless here, as in all of Cosimo.
fn units(xml: &mut XmlWriter, variables: &Variables) {
    let mut units: Vec<&Unit> = Vec::new();
    for unit in variables.list.iter().filter_map(|variable| variable.unit.as_ref()) {
        if !units.iter().any(|known| known.text == unit.text) {
            units.push(unit);
        }
    }
    xml.open("UnitDefinitions");
    for unit in units {
        xml.open("Unit").set("name", &unit.text);
        let mut base = xml.leaf("BaseUnit");
        for (name, exponent) in ["kg", "m", "s", "A", "K", "mol", "cd"].into_iter().zip(unit.dimension) {
            base.set_some(name, Some(exponent).filter(|exponent| *exponent != 0));
        }
        base.set_some("factor", Some(unit.factor).filter(|factor| *factor != 1.0));
        drop(base);
        xml.close();
    }
    xml.close();
}

/// Names of enumerations, in the elements that a version has for them. Without values the first item is 1, too.
fn types(xml: &mut XmlWriter, variables: &Variables, elements: &[&'static str], values: bool) {
    let mut found: Vec<&[&str]> = Vec::new();
    for variable in &variables.list {
        if let VariableType::Enumeration(names) = variable.kind
            && !found.contains(&names)
        {
            found.push(names);
        }
    }
    if found.is_empty() {
        return;
    }
    xml.open("TypeDefinitions");
    for names in found {
        for (depth, element) in elements.iter().enumerate() {
            xml.open(element).set_some("name", (depth == 0).then(|| enumeration(names)));
        }
        for (value, name) in (1..).zip(names) {
            xml.leaf("Item").set("name", name).set_some("value", values.then_some(value));
        }
        elements.iter().for_each(|_| xml.close());
    }
    xml.close();
}

/// The name of an enumeration.
fn enumeration(names: &[&str]) -> String {
    names.join("_or_")
}

/// The same in FMI 2.0 and 3.0.
fn categories_and_experiment(xml: &mut XmlWriter, model: &ExportedModel) {
    xml.open("LogCategories");
    let about = "reason why a call was refused or failed";
    xml.leaf("Category").set("name", "logStatusError").set("description", about);
    xml.close();
    xml.leaf("DefaultExperiment")
        .set("startTime", 0)
        .set("stopTime", model.stop)
        .set("stepSize", model.stop * 1e-3);
}

/// Attributes that FMI 2.0 and 3.0 give a variable alike.
fn common(tag: &mut Tag<'_>, variable: &ExportedVariable, reference: usize) {
    tag.set("name", &variable.name)
        .set("valueReference", reference)
        .set("description", &variable.about)
        .set("causality", variable.nature.causality)
        .set("variability", variable.nature.variability);
}

impl Facts<'_> {
    fn least(&self, variable: &ExportedVariable) -> Option<u32> {
        matches!(variable.role, Role::Count(_)).then_some(variable.least)
    }

    /// The value reference of the state that a variable is the derivative of.
    fn state_of(&self, variable: &ExportedVariable) -> Option<usize> {
        match variable.role {
            Role::Derivative(state) => Some(self.variables.states[state]),
            _ => None,
        }
    }

    /// Whether a variable is a state that jumps at events.
    fn jumps(&self, variable: &ExportedVariable) -> Option<bool> {
        let Role::State(state) = variable.role else { return None };
        self.equations.is_some_and(|equations| equations.jumps(state)).then_some(true)
    }

    /// Start value of a string or binary variable.
    fn start_text(&self, variable: &ExportedVariable) -> Option<&'static str> {
        match variable.role {
            Role::Text(at) => Some(self.variables.texts[at].start),
            Role::EchoInput(_) if matches!(variable.kind, VariableType::Text | VariableType::Binary) => {
                Some("")
            }
            _ => None,
        }
    }

    /// Start value of a numeric or Boolean variable.
    fn start(&self, variable: &ExportedVariable) -> Option<String> {
        let start = variable.start?;
        Some(if variable.kind == VariableType::Boolean {
            (start != 0.0).to_string()
        } else {
            start.to_string()
        })
    }

    fn declared_type(&self, variable: &ExportedVariable) -> Option<String> {
        match variable.kind {
            VariableType::Enumeration(names) => Some(enumeration(names)),
            _ => None,
        }
    }
}

/// An entry of the model structure, with the value references of its dependencies.
struct ModelStructureEntry {
    reference: usize,
    dependencies: Vec<usize>,
}

/// Direct dependencies of outputs on inputs, and on states where these can be set.
fn outputs(facts: &Facts<'_>) -> Vec<ModelStructureEntry> {
    let entry = |(output, reference): (usize, &usize)| {
        let pairs = facts.interface.feedthrough.iter().filter(|(of, _)| *of == output);
        let inputs = pairs.map(|(_, input)| facts.variables.inputs[*input]);
        ModelStructureEntry {
            reference: *reference,
            dependencies: sorted(inputs, on_states(facts, Unknown::Output(output))),
        }
    };
    let others = facts.variables.shown.iter();
    let others =
        others.map(|(reference, on)| ModelStructureEntry { reference: *reference, dependencies: on.clone() });
    facts.variables.outputs.iter().enumerate().map(entry).chain(others).collect()
}

fn derivatives(facts: &Facts<'_>) -> Vec<ModelStructureEntry> {
    dependent(facts, &facts.variables.derivatives, Unknown::Derivative)
}

fn indicators(facts: &Facts<'_>) -> Vec<ModelStructureEntry> {
    dependent(facts, &facts.variables.indicators, Unknown::Indicator)
}

/// Values that may depend on states and inputs.
fn dependent(
    facts: &Facts<'_>,
    references: &[usize],
    unknown: fn(usize) -> Unknown,
) -> Vec<ModelStructureEntry> {
    let entry = |(place, reference): (usize, &usize)| {
        let value = unknown(place);
        let inputs = facts.variables.inputs.iter().enumerate();
        let felt = |(input, _): &(usize, &usize)| {
            facts.equations.is_some_and(|equations| equations.depends(value, Quantity::Input(*input)))
        };
        let inputs = inputs.filter(felt).map(|(_, reference)| *reference);
        ModelStructureEntry { reference: *reference, dependencies: sorted(inputs, on_states(facts, value)) }
    };
    references.iter().enumerate().map(entry).collect()
}

fn on_states(facts: &Facts<'_>, value: Unknown) -> Vec<usize> {
    let Some(equations) = facts.equations else { return Vec::new() };
    let states = facts.variables.states.iter().enumerate();
    let felt = states.filter(|(state, _)| equations.depends(value, Quantity::State(*state)));
    felt.map(|(_, reference)| *reference).collect()
}

fn sorted(inputs: impl Iterator<Item = usize>, states: Vec<usize>) -> Vec<usize> {
    let mut all: Vec<usize> = inputs.chain(states).collect();
    all.sort_unstable();
    all
}

/// Initial unknowns: they depend on direct inputs and on all that can be set before initialisation.
fn at_start(facts: &Facts<'_>) -> Vec<ModelStructureEntry> {
    let variables = facts.variables;
    let states = variables
        .states
        .iter()
        .map(|reference| ModelStructureEntry { reference: *reference, dependencies: vec![] });
    let mut all: Vec<ModelStructureEntry> = outputs(facts);
    all.extend(states.filter(|state| !variables.outputs.contains(&state.reference)));
    all.extend(derivatives(facts));
    // Clocked variables have no value before their first tick.
    all.retain(|entry| {
        let variable = &variables.list[entry.reference];
        variable.nature.initial == Some("calculated") && variable.clocked_by.is_none()
    });
    for entry in &mut all {
        entry.dependencies.retain(|reference| variables.list[*reference].nature.causality == "input");
        entry.dependencies.extend(variables.numbers());
        entry.dependencies.sort_unstable();
    }
    all
}

fn joined(references: &[usize], add: usize) -> String {
    references.iter().map(|at| (at + add).to_string()).collect::<Vec<_>>().join(" ")
}
