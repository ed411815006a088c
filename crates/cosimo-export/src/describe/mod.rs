//! `modelDescription.xml`, from a model's interface and parameters. Both versions say the same things in
//! different words; what they share is here. No date and no path, so that equal models give equal files.

mod fmi2;
mod fmi3;

use std::fmt::Write as _;

use cosimo_core::{Interface, Unit};

use crate::design::{Design, Variant, Version};
use crate::model::Model;
use crate::variables::{Variable, Variables};

/// What an FMU declares, and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) rollback: bool,
    pub(crate) fixed_step: bool,
    pub(crate) interpolates: bool,
    pub(crate) intermediate: bool,
    /// Derivatives of outputs by time, up to this order.
    pub(crate) output_order: u32,
    /// Derivatives of outputs by inputs.
    pub(crate) jacobian: bool,
}

impl Capabilities {
    pub(crate) fn of(design: &Design, interface: &Interface) -> Capabilities {
        let abilities = interface.abilities;
        Capabilities {
            rollback: abilities.freeze && design.variant != Variant::NoRollback,
            fixed_step: !abilities.variable_step || design.variant == Variant::FixedStep,
            interpolates: design.variant == Variant::Interpolates,
            intermediate: design.variant == Variant::Intermediate,
            output_order: u32::from(abilities.slopes),
            jacobian: abilities.jacobian,
        }
    }
}

/// All that a description tells.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) design: &'a Design,
    pub(crate) model: &'a Model,
    pub(crate) interface: &'a Interface,
    pub(crate) variables: &'a Variables,
    pub(crate) can: Capabilities,
    pub(crate) token: &'a str,
}

pub(crate) fn description(facts: &Facts<'_>) -> String {
    match facts.design.version {
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

fn default_experiment(xml: &mut Xml) {
    let numbers = [("startTime", "0"), ("stopTime", "1"), ("stepSize", "0.001")];
    xml.element("DefaultExperiment", &numbers.map(|(key, value)| (key, value.to_string())));
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

/// Value references of the inputs that an output answers at once.
fn at_once(facts: &Facts<'_>, output: usize) -> Vec<usize> {
    let pairs = facts.interface.feedthrough.iter().filter(|(of, _)| *of == output);
    let mut inputs: Vec<usize> = pairs.map(|(_, input)| facts.variables.inputs[*input]).collect();
    inputs.sort_unstable();
    inputs
}

/// And of the parameters, which decide where it starts.
fn at_start(facts: &Facts<'_>, output: usize) -> Vec<usize> {
    let mut known = at_once(facts, output);
    known.extend(facts.variables.numbers());
    known
}

fn joined(references: &[usize], add: usize) -> String {
    references.iter().map(|at| (at + add).to_string()).collect::<Vec<_>>().join(" ")
}

fn tool() -> String {
    format!("Cosimo {}", env!("CARGO_PKG_VERSION"))
}
