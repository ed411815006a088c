//! The variables of an FMU, made from ports and parameters. The value reference is the place in the list:
//! time, inputs, outputs, parameters, texts. The description and the running FMU use the same list.

use cosimo_core::entry::Kind;
use cosimo_core::{Interface, Unit};

use crate::model::Model;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Time,
    /// By number of the port.
    Input(usize),
    Output(usize),
    /// A number, by place among the parameters of the model.
    Real(usize),
    /// A whole number, likewise.
    Count(usize),
    /// A text, by place among the texts.
    Text(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) unit: Option<Unit>,
    /// Where the variable has one: inputs and numeric parameters.
    pub(crate) start: f64,
    /// The least allowed value of a count.
    pub(crate) least: u32,
    pub(crate) about: String,
}

/// A parameter that is a text, with the value it starts with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    pub(crate) name: &'static str,
    pub(crate) start: &'static str,
    pub(crate) about: &'static str,
}

#[derive(Debug)]
pub(crate) struct Variables {
    pub(crate) list: Vec<Variable>,
    pub(crate) texts: Vec<Text>,
    inputs: usize,
    outputs: usize,
}

impl Variables {
    pub(crate) fn of(model: &Model, interface: &Interface) -> Variables {
        let variable = |name: &str, role, unit, start, about: &str| Variable {
            name: name.into(),
            role,
            unit,
            start,
            least: 0,
            about: about.into(),
        };
        let mut list = vec![variable("time", Role::Time, Unit::parse("s").ok(), 0.0, "simulated time")];
        for (port, input) in interface.inputs.iter().enumerate() {
            let start = input.start.unwrap_or(0.0);
            list.push(variable(
                &input.name,
                Role::Input(port),
                input.unit.clone(),
                start,
                &input.description,
            ));
        }
        for (port, output) in interface.outputs.iter().enumerate() {
            let (role, unit) = (Role::Output(port), output.unit.clone());
            list.push(variable(&output.name, role, unit, 0.0, &output.description));
        }
        for (place, (spec, default)) in model.parameters.iter().enumerate() {
            let unit = |text: &str| Unit::parse(text).ok();
            let added = match spec.kind {
                Kind::Count { least, .. } => {
                    Variable { least, ..variable(spec.name, Role::Count(place), None, *default, spec.doc) }
                }
                Kind::Number { unit: text, .. } => {
                    variable(spec.name, Role::Real(place), unit(text), *default, spec.doc)
                }
                _ => continue,
            };
            list.push(added);
        }
        for (place, text) in model.texts.iter().enumerate() {
            list.push(variable(text.name, Role::Text(place), None, 0.0, text.about));
        }
        distinguish(&mut list);
        let (inputs, outputs) = (interface.inputs.len(), interface.outputs.len());
        Variables { list, texts: model.texts.clone(), inputs, outputs }
    }

    /// The value reference of an input port.
    pub(crate) fn input(&self, port: usize) -> usize {
        1 + port
    }

    pub(crate) fn output(&self, port: usize) -> usize {
        1 + self.inputs + port
    }

    /// Value references of all that can be set before the start and matters to outputs.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let first = 1 + self.inputs + self.outputs;
        (first..self.list.len()).filter(|at| !matches!(self.list[*at].role, Role::Text(_))).collect()
    }
}

/// A model may use one name for an input, an output and a parameter; FMI may not.
fn distinguish(list: &mut [Variable]) {
    let names: Vec<String> = list.iter().map(|variable| variable.name.clone()).collect();
    for variable in list {
        if names.iter().filter(|name| **name == variable.name).count() > 1 {
            variable.name += match variable.role {
                Role::Input(_) => "_in",
                Role::Output(_) => "_out",
                _ => "_parameter",
            };
        }
    }
}
