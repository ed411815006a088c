//! `modelDescription.xml`, from a model's interface and parameters. All versions say the same things in
//! different words; what they share is here. No date and no path, so that equal models give equal files.

mod fmi1;
mod fmi2;
mod fmi3;

use std::fmt::Write as _;

use cosimo_core::{Interface, Unit};
use cosimo_models::{Hybrid, Known, Unknown};

use crate::design::{Design, Variant, Version};
use crate::model::Model;
use crate::variables::{Type, Variable, Variables};

/// What an FMU declares, and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) rollback: bool,
    pub(crate) fixed_step: bool,
    pub(crate) interpolates: bool,
    pub(crate) intermediate: bool,
    /// Shows every step of its solver, and returns after one where the importer wants that.
    pub(crate) walks: bool,
    /// Co-simulation with time events that the importer may handle.
    pub(crate) event_mode: bool,
    /// Derivatives of outputs by time, up to this order.
    pub(crate) output_order: u32,
    /// Derivatives of outputs by inputs.
    pub(crate) jacobian: bool,
    /// Model exchange: derivatives of derivatives and outputs by states and inputs.
    pub(crate) tangents: bool,
    /// Wants to hear of completed steps.
    pub(crate) completed: bool,
    /// Asks for an event after every so many of them; 0 is never.
    pub(crate) step_events: u64,
    /// How often the discrete states are to be updated at an event.
    pub(crate) rounds: u32,
}

impl Capabilities {
    pub(crate) fn of(design: &Design, model: &Model, interface: &Interface) -> Capabilities {
        let abilities = interface.abilities;
        let stepped = design.variant == Variant::StepEvents;
        Capabilities {
            rollback: abilities.freeze
                && design.variant != Variant::NoRollback
                && design.version != Version::One,
            fixed_step: !abilities.variable_step || design.variant == Variant::FixedStep,
            interpolates: design.variant == Variant::Interpolates,
            intermediate: design.variant == Variant::Intermediate
                || (design.line && design.version == Version::Three),
            walks: design.line && design.version == Version::Three,
            event_mode: model.hybrid && model.echoes.is_empty() && design.version == Version::Three,
            output_order: u32::from(abilities.slopes),
            // An effort that follows the flow is none that derivatives are told by.
            jacobian: abilities.jacobian && !design.line,
            tangents: design.variant != Variant::NoDerivatives,
            completed: stepped || design.variant == Variant::Completed,
            step_events: if stepped { 5 } else { 0 },
            rounds: if design.variant == Variant::Iterates { 3 } else { 1 },
        }
    }
}

/// All that a description tells.
pub(crate) struct Facts<'a> {
    pub(crate) design: &'a Design,
    pub(crate) model: &'a Model,
    pub(crate) interface: &'a Interface,
    /// Where the importer may solve them.
    pub(crate) equations: Option<&'a dyn Hybrid>,
    pub(crate) variables: &'a Variables,
    pub(crate) can: Capabilities,
    pub(crate) token: &'a str,
}

pub(crate) fn description(facts: &Facts<'_>) -> String {
    match facts.design.version {
        Version::One => fmi1::description(facts),
        Version::Two => fmi2::description(facts),
        Version::Three => fmi3::description(facts),
    }
}

/// Elements with their ends and indents.
#[derive(Debug)]
struct Xml {
    text: String,
    open: Vec<&'static str>,
}

impl Xml {
    fn new() -> Xml {
        Xml { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".into(), open: vec![] }
    }

    fn begin(&mut self, name: &'static str, attributes: &[(&str, String)]) {
        self.tag(name, attributes, ">");
        self.open.push(name);
    }

    fn end(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = writeln!(self.text, "{}</{name}>", "  ".repeat(self.open.len()));
        }
    }

    fn element(&mut self, name: &str, attributes: &[(&str, String)]) {
        self.tag(name, attributes, "/>");
    }

    /// An element with nothing but a text in it.
    fn text(&mut self, name: &str, text: &str) {
        let _ = writeln!(self.text, "{}<{name}>{}</{name}>", "  ".repeat(self.open.len()), escape(text));
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, String)], end: &str) {
        self.text += &"  ".repeat(self.open.len());
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", escape(value));
        }
        self.text += end;
        self.text.push('\n');
    }

    fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.end();
        }
        self.text
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn words(value: bool) -> String {
    value.to_string()
}

/// The same in both versions. The radian is dimensionless here, as in all of Cosimo.
fn units(xml: &mut Xml, variables: &Variables) {
    let mut units: Vec<&Unit> = Vec::new();
    for unit in variables.list.iter().filter_map(|variable| variable.unit.as_ref()) {
        if !units.iter().any(|known| known.text == unit.text) {
            units.push(unit);
        }
    }
    xml.begin("UnitDefinitions", &[]);
    for unit in units {
        xml.begin("Unit", &[("name", unit.text.clone())]);
        let names = ["kg", "m", "s", "A", "K", "mol", "cd"];
        let mut base: Vec<(&str, String)> = Vec::new();
        for (name, exponent) in names.into_iter().zip(unit.dimension) {
            if exponent != 0 {
                base.push((name, exponent.to_string()));
            }
        }
        if unit.factor != 1.0 {
            base.push(("factor", unit.factor.to_string()));
        }
        xml.element("BaseUnit", &base);
        xml.end();
    }
    xml.end();
}

fn log_categories(xml: &mut Xml) {
    xml.begin("LogCategories", &[]);
    let about = "why a call was refused or failed".to_string();
    xml.element("Category", &[("name", "logStatusError".into()), ("description", about)]);
    xml.end();
}

fn default_experiment(xml: &mut Xml, model: &Model) {
    let numbers = [("startTime", 0.0), ("stopTime", model.stop), ("stepSize", model.stop * 1e-3)];
    xml.element("DefaultExperiment", &numbers.map(|(key, value)| (key, value.to_string())));
}

/// As a description spells it.
fn start_text(kind: Type, start: f64) -> String {
    match kind {
        Type::Boolean => words(start != 0.0),
        _ => start.to_string(),
    }
}

/// The attribute of states that jump at events.
fn reinitialised(facts: &Facts<'_>, state: usize) -> Option<(&'static str, String)> {
    let jumps = facts.equations.is_some_and(|equations| equations.jumps(state));
    jumps.then(|| ("reinit", "true".into()))
}

/// Attributes that both versions give a variable alike.
fn common(variable: &Variable, reference: usize) -> Vec<(&'static str, String)> {
    vec![
        ("name", variable.name.clone()),
        ("valueReference", reference.to_string()),
        ("description", variable.about.clone()),
        ("causality", variable.nature.causality.into()),
        ("variability", variable.nature.variability.into()),
    ]
}

/// A value of the model structure, with the value references of what it depends on.
struct Told {
    reference: usize,
    dependencies: Vec<usize>,
}

/// What each output answers at once: inputs, and states where they can be set.
fn outputs(facts: &Facts<'_>) -> Vec<Told> {
    let told = |(output, reference): (usize, &usize)| {
        let pairs = facts.interface.feedthrough.iter().filter(|(of, _)| *of == output);
        let inputs = pairs.map(|(_, input)| facts.variables.inputs[*input]);
        Told {
            reference: *reference,
            dependencies: sorted(inputs, on_states(facts, Unknown::Output(output))),
        }
    };
    let others = facts.variables.shown.iter();
    let others = others.map(|(reference, on)| Told { reference: *reference, dependencies: on.clone() });
    facts.variables.outputs.iter().enumerate().map(told).chain(others).collect()
}

fn derivatives(facts: &Facts<'_>) -> Vec<Told> {
    felt(facts, &facts.variables.derivatives, Unknown::Derivative)
}

fn indicators(facts: &Facts<'_>) -> Vec<Told> {
    felt(facts, &facts.variables.indicators, Unknown::Indicator)
}

/// Values that may feel states and inputs alike.
fn felt(facts: &Facts<'_>, references: &[usize], unknown: fn(usize) -> Unknown) -> Vec<Told> {
    let told = |(place, reference): (usize, &usize)| {
        let value = unknown(place);
        let inputs = facts.variables.inputs.iter().enumerate();
        let felt = |(input, _): &(usize, &usize)| {
            facts.equations.is_some_and(|equations| equations.depends(value, Known::Input(*input)))
        };
        let inputs = inputs.filter(felt).map(|(_, reference)| *reference);
        Told { reference: *reference, dependencies: sorted(inputs, on_states(facts, value)) }
    };
    references.iter().enumerate().map(told).collect()
}

fn on_states(facts: &Facts<'_>, value: Unknown) -> Vec<usize> {
    let Some(equations) = facts.equations else { return Vec::new() };
    let states = facts.variables.states.iter().enumerate();
    let felt = states.filter(|(state, _)| equations.depends(value, Known::State(*state)));
    felt.map(|(_, reference)| *reference).collect()
}

fn sorted(inputs: impl Iterator<Item = usize>, states: Vec<usize>) -> Vec<usize> {
    let mut all: Vec<usize> = inputs.chain(states).collect();
    all.sort_unstable();
    all
}

/// What is worked out at the start, from inputs that are felt at once and from all that can be set before it.
fn at_start(facts: &Facts<'_>) -> Vec<Told> {
    let variables = facts.variables;
    let states =
        variables.states.iter().map(|reference| Told { reference: *reference, dependencies: vec![] });
    let mut all: Vec<Told> = outputs(facts);
    all.extend(states.filter(|state| !variables.outputs.contains(&state.reference)));
    all.extend(derivatives(facts));
    // What a clock changes has no value before its first tick.
    all.retain(|told| {
        let variable = &variables.list[told.reference];
        variable.nature.initial == Some("calculated") && variable.clocked_by().is_none()
    });
    for told in &mut all {
        told.dependencies.retain(|reference| variables.list[*reference].nature.causality == "input");
        told.dependencies.extend(variables.numbers());
        told.dependencies.sort_unstable();
    }
    all
}

/// The names of an enumeration, once for all variables that have them.
fn enumerations(variables: &Variables) -> Vec<(String, &'static [&'static str])> {
    let mut found: Vec<(String, &'static [&'static str])> = Vec::new();
    for variable in &variables.list {
        if let Type::Enumeration(names) = variable.kind
            && !found.iter().any(|(_, known)| *known == names)
        {
            found.push((enumeration(names), names));
        }
    }
    found
}

/// A name for it.
fn enumeration(names: &[&str]) -> String {
    names.join("_or_")
}

fn joined(references: &[usize], add: usize) -> String {
    references.iter().map(|at| (at + add).to_string()).collect::<Vec<_>>().join(" ")
}

fn tool() -> String {
    format!("Cosimo {}", env!("CARGO_PKG_VERSION"))
}
