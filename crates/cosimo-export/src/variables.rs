//! The variables of an FMU, made from ports and parameters. The value reference is the place in the list:
//! time, inputs, outputs, parameters, texts. The description and the running FMU use the same list.

use cosimo_core::entry::Kind;
use cosimo_core::{Interface, Port, Spec, Unit};

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

/// What the values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Real,
    Integer,
    Text,
}

/// As the standard says it: what a variable is for and when it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nature {
    pub(crate) causality: &'static str,
    pub(crate) variability: &'static str,
    pub(crate) initial: Option<&'static str>,
}

impl Nature {
    const TIME: Nature = Nature { causality: "independent", variability: "continuous", initial: None };
    const INPUT: Nature = Nature { causality: "input", ..Nature::TIME };
    const OUTPUT: Nature = Nature { causality: "output", initial: Some("calculated"), ..Nature::TIME };
    const PARAMETER: Nature = Nature { causality: "parameter", variability: "fixed", initial: Some("exact") };
}

#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) kind: Type,
    pub(crate) nature: Nature,
    pub(crate) unit: Option<Unit>,
    /// Where the variable has one: inputs and numeric parameters.
    pub(crate) start: Option<f64>,
    /// The least allowed value of a count.
    pub(crate) least: u32,
    pub(crate) about: String,
}

impl Variable {
    fn port(port: &Port, role: Role, nature: Nature) -> Variable {
        Variable {
            name: port.name.clone(),
            role,
            kind: Type::Real,
            nature,
            unit: port.unit.clone(),
            start: None,
            least: 0,
            about: port.description.clone(),
        }
    }

    fn parameter(spec: &Spec, default: f64, place: usize) -> Variable {
        let (role, kind, unit, least) = match spec.kind {
            Kind::Count { least, .. } => (Role::Count(place), Type::Integer, None, least),
            Kind::Number { unit, .. } => (Role::Real(place), Type::Real, Unit::parse(unit).ok(), 0),
            _ => (Role::Real(place), Type::Real, None, 0),
        };
        let (name, about) = (spec.name.into(), spec.doc.into());
        Variable { name, role, kind, nature: Nature::PARAMETER, unit, start: Some(default), least, about }
    }
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
    /// Value references by number of the port.
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
}

impl Variables {
    pub(crate) fn of(model: &Model, interface: &Interface) -> Variables {
        let time = Port::new("time", "s", "simulated time");
        let mut list = vec![Variable::port(&time, Role::Time, Nature::TIME)];
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (place, port) in interface.inputs.iter().enumerate() {
            inputs.push(list.len());
            let start = Some(port.start.unwrap_or(0.0));
            list.push(Variable { start, ..Variable::port(port, Role::Input(place), Nature::INPUT) });
        }
        for (place, port) in interface.outputs.iter().enumerate() {
            outputs.push(list.len());
            list.push(Variable::port(port, Role::Output(place), Nature::OUTPUT));
        }
        for (place, (spec, default)) in model.parameters.iter().enumerate() {
            list.push(Variable::parameter(spec, *default, place));
        }
        for (place, text) in model.texts.iter().enumerate() {
            let port = Port { unit: None, ..Port::new(text.name, "", text.about) };
            let kind = Type::Text;
            list.push(Variable { kind, ..Variable::port(&port, Role::Text(place), Nature::PARAMETER) });
        }
        distinguish(&mut list);
        Variables { list, texts: model.texts.clone(), inputs, outputs }
    }

    /// Value references of all that can be set before the start and matters to outputs.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let number = |at: &usize| matches!(self.list[*at].role, Role::Real(_) | Role::Count(_));
        (0..self.list.len()).filter(number).collect()
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
