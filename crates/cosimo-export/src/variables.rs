//! The variables of an FMU, made from ports, states and parameters. The value reference is the index in the list:
//! time, inputs, outputs, states with their derivatives and, in FMI 3.0, event indicators where the importer
//! solves the equations, parameters, strings. The description and the running FMU use the same list.

use cosimo_core::registry::OptionKind;
use cosimo_core::{Interface, Port, Spec, Unit};
use cosimo_native::{Hybrid, OutputKind};

use crate::design::Version;
use crate::equipment::ClockEntry;
use crate::model::ExportedModel;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Time,
    /// By number of the port.
    Input(usize),
    Output(usize),
    /// By index among the states.
    State(usize),
    /// Likewise.
    Derivative(usize),
    /// By index among the event indicators.
    Indicator(usize),
    /// A number, by index among the parameters of the model.
    Real(usize),
    /// A whole number, likewise.
    Count(usize),
    /// A text, by index among the texts.
    Text(usize),
    /// An input that is copied to an output, by index among those.
    EchoInput(usize),
    /// The output that it is copied to.
    EchoOutput(usize),
    /// By index among the clocks of the model.
    Clock(usize),
    /// A count that changes with a clock, likewise.
    Clocked(usize),
}

/// The type of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableType {
    Single,
    Real,
    Int8,
    UInt8,
    Int16,
    UInt16,
    /// With 32 bits.
    Integer,
    UInt32,
    Int64,
    UInt64,
    Boolean,
    /// From 1 on.
    Enumeration(&'static [&'static str]),
    Text,
    Binary,
    /// Active or not.
    Clock,
}

impl VariableType {
    /// Name in FMI 3.0.
    pub(crate) fn name(self) -> &'static str {
        match self {
            VariableType::Single => "Float32",
            VariableType::Real => "Float64",
            VariableType::Int8 => "Int8",
            VariableType::UInt8 => "UInt8",
            VariableType::Int16 => "Int16",
            VariableType::UInt16 => "UInt16",
            VariableType::Integer => "Int32",
            VariableType::UInt32 => "UInt32",
            VariableType::Int64 => "Int64",
            VariableType::UInt64 => "UInt64",
            VariableType::Boolean => "Boolean",
            VariableType::Enumeration(_) => "Enumeration",
            VariableType::Text => "String",
            VariableType::Binary => "Binary",
            VariableType::Clock => "Clock",
        }
    }

    /// Name in FMI 2.0, which has no other widths.
    pub(crate) fn old_name(self) -> &'static str {
        match self {
            VariableType::Single | VariableType::Real => "Real",
            VariableType::Boolean => "Boolean",
            VariableType::Enumeration(_) => "Enumeration",
            VariableType::Text | VariableType::Binary => "String",
            _ => "Integer",
        }
    }
}

/// Causality, variability and initial, as in the standard.
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
    const LOCAL: Nature = Nature { causality: "local", ..Nature::OUTPUT };
    const PARAMETER: Nature = Nature { causality: "parameter", variability: "fixed", initial: Some("exact") };
}

#[derive(Debug, Clone)]
pub(crate) struct ExportedVariable {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) kind: VariableType,
    pub(crate) nature: Nature,
    pub(crate) unit: Option<Unit>,
    /// Start value of inputs, numeric parameters and states with a start parameter.
    pub(crate) start: Option<f64>,
    /// Index of the start parameter of a state, where it is set by the state's variable.
    pub(crate) starts_with: Option<usize>,
    /// The least allowed value of a count.
    pub(crate) least: u32,
    /// Index of the clock of a clocked variable.
    pub(crate) clocked_by: Option<usize>,
    pub(crate) about: String,
}

impl ExportedVariable {
    fn port(port: &Port, role: Role, nature: Nature) -> ExportedVariable {
        ExportedVariable {
            name: port.name.clone(),
            role,
            kind: VariableType::Real,
            nature,
            unit: port.unit.clone(),
            start: None,
            starts_with: None,
            least: 0,
            clocked_by: None,
            about: port.description.clone(),
        }
    }

    fn parameter(spec: &Spec, default: f64, place: usize) -> ExportedVariable {
        let (role, kind, unit, least) = match spec.kind {
            OptionKind::Count { least, .. } => (Role::Count(place), VariableType::Integer, None, least),
            OptionKind::Number { unit, .. } => {
                (Role::Real(place), VariableType::Real, Unit::parse(unit).ok(), 0)
            }
            _ => (Role::Real(place), VariableType::Real, None, 0),
        };
        let (name, about) = (spec.name.into(), spec.doc.into());
        let (nature, start, starts_with, clocked_by) = (Nature::PARAMETER, Some(default), None, None);
        ExportedVariable { name, role, kind, nature, unit, start, starts_with, least, clocked_by, about }
    }

    fn clock(place: usize, clock: &ClockEntry) -> ExportedVariable {
        let port = Port { unit: None, ..Port::new(clock.name, "", clock.about) };
        let causality = if clock.is_input { "input" } else { "output" };
        let nature = Nature { causality, variability: "discrete", initial: None };
        let variable = ExportedVariable::port(&port, Role::Clock(place), nature);
        ExportedVariable { kind: VariableType::Clock, clocked_by: clock.clocked_by, ..variable }
    }

    /// An input and the output that it is copied to.
    fn echo(kind: VariableType, place: usize) -> (ExportedVariable, ExportedVariable) {
        let name = kind.name().to_lowercase();
        let port = |end: &str| Port {
            unit: None,
            ..Port::new(&format!("{name}_{end}"), "", &format!("a {} to pass on", kind.name()))
        };
        let continuous = matches!(kind, VariableType::Single | VariableType::Real);
        let nature = |nature: Nature| Nature {
            variability: if continuous { "continuous" } else { "discrete" },
            ..nature
        };
        let heard = ExportedVariable::port(&port("in"), Role::EchoInput(place), nature(Nature::INPUT));
        let echoed = ExportedVariable::port(&port("out"), Role::EchoOutput(place), nature(Nature::OUTPUT));
        let start = match kind {
            VariableType::Text | VariableType::Binary => None,
            VariableType::Enumeration(_) => Some(1.0),
            _ => Some(0.0),
        };
        (ExportedVariable { kind, start, ..heard }, ExportedVariable { kind, ..echoed })
    }

    /// Index of the parameter that is set by this variable.
    pub(crate) fn parameter_place(&self) -> Option<usize> {
        match self.role {
            Role::Real(place) | Role::Count(place) => Some(place),
            _ => self.starts_with,
        }
    }

    /// An output, which may be a state at the same time.
    fn output(port: &Port, role: Role, kind: OutputKind) -> ExportedVariable {
        let variability = if kind == OutputKind::Real { "continuous" } else { "discrete" };
        let kind = match kind {
            OutputKind::Real | OutputKind::Held => VariableType::Real,
            OutputKind::Integer => VariableType::Integer,
            OutputKind::Boolean => VariableType::Boolean,
            OutputKind::Enumeration(names) => VariableType::Enumeration(names),
        };
        let variable = ExportedVariable::port(port, role, Nature { variability, ..Nature::OUTPUT });
        // Units belong to real numbers.
        let unit = variable.unit.clone().filter(|_| kind == VariableType::Real);
        ExportedVariable { kind, unit, ..variable }
    }
}

/// A string parameter with its start value.
#[derive(Debug, Clone, Copy)]
pub struct TextParameter {
    pub name: &'static str,
    pub start: &'static str,
    pub about: &'static str,
}

#[derive(Debug)]
pub(crate) struct Variables {
    pub(crate) list: Vec<ExportedVariable>,
    pub(crate) texts: Vec<TextParameter>,
    /// Value references by number of the port.
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
    /// And by place.
    pub(crate) states: Vec<usize>,
    pub(crate) derivatives: Vec<usize>,
    pub(crate) indicators: Vec<usize>,
    /// Outputs that are no ports, with the inputs they depend on directly.
    pub(crate) shown: Vec<(usize, Vec<usize>)>,
}

impl Variables {
    /// With states and derivatives where `equations` are given.
    pub(crate) fn of(
        model: &ExportedModel,
        interface: &Interface,
        equations: Option<&dyn Hybrid>,
        version: Version,
    ) -> Variables {
        let states = equations.map_or(Vec::new(), Hybrid::states);
        let kinds = equations.map_or(Vec::new(), Hybrid::kinds);
        let indicators = equations.map_or(0, Hybrid::indicator_count);
        let time = Port::new("time", "s", "simulated time");
        let mut list = vec![ExportedVariable::port(&time, Role::Time, Nature::TIME)];
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (place, port) in interface.inputs.iter().enumerate() {
            inputs.push(list.len());
            let start = Some(port.start.unwrap_or(0.0));
            list.push(ExportedVariable {
                start,
                ..ExportedVariable::port(port, Role::Input(place), Nature::INPUT)
            });
        }
        for (place, port) in interface.outputs.iter().enumerate() {
            outputs.push(list.len());
            let state = states.iter().position(|state| state.name == port.name);
            let role = state.map_or(Role::Output(place), Role::State);
            let otherwise = if port.discrete { OutputKind::Held } else { OutputKind::Real };
            let kind = kinds.get(place).copied().unwrap_or(otherwise);
            list.push(ExportedVariable::output(port, role, kind));
        }
        let mut state_references = Vec::new();
        for (place, port) in states.iter().enumerate() {
            let shown = list.iter().position(|variable| variable.role == Role::State(place));
            state_references.push(shown.unwrap_or(list.len()));
            if shown.is_none() {
                list.push(ExportedVariable::port(port, Role::State(place), Nature::LOCAL));
            }
        }
        let mut derivatives = Vec::new();
        for (place, port) in states.iter().enumerate() {
            derivatives.push(list.len());
            let about = match port.description.as_str() {
                "" => String::new(),
                description => format!("rate of change: {description}"),
            };
            let unit = port.unit.as_ref().and_then(|unit| Unit::parse(&format!("{}/s", unit.text)).ok());
            let port = Port { unit, ..Port::new(&format!("der({})", port.name), "", &about) };
            list.push(ExportedVariable::port(&port, Role::Derivative(place), Nature::LOCAL));
        }
        let mut indicator_references = Vec::new();
        // FMI 2.0 has a number for them and no variables.
        for place in (0..indicators).filter(|_| version == Version::Three) {
            indicator_references.push(list.len());
            let port = Port::new(&format!("indicator_{}", place + 1), "1", "event indicator");
            list.push(ExportedVariable::port(&port, Role::Indicator(place), Nature::LOCAL));
        }
        let mut shown = Vec::new();
        for (place, kind) in model.echoes.iter().enumerate() {
            let (heard, echoed) = ExportedVariable::echo(*kind, place);
            shown.push((list.len() + 1, vec![list.len()]));
            list.extend([heard, echoed]);
        }
        if let Some(model) = model.clocks {
            let first = list.len();
            for (place, clock) in model.clocks.iter().enumerate() {
                shown.extend(clock.clocked_by.map(|by| (first + place, vec![first + by])));
                list.push(ExportedVariable::clock(place, clock));
            }
            for (of, name, about) in model.counts {
                shown.push((list.len(), vec![first + of]));
                let port = Port { unit: None, ..Port::new(name, "", about) };
                let nature = Nature { variability: "discrete", ..Nature::OUTPUT };
                let variable = ExportedVariable::port(&port, Role::Clocked(*of), nature);
                list.push(ExportedVariable {
                    kind: VariableType::Integer,
                    clocked_by: Some(*of),
                    ..variable
                });
            }
        }
        for (place, (spec, default)) in model.parameters.iter().enumerate() {
            match states.iter().position(|state| state.name == spec.name) {
                None => list.push(ExportedVariable::parameter(spec, *default, place)),
                Some(state) => {
                    let variable = &mut list[state_references[state]];
                    variable.nature.initial = Some("exact");
                    (variable.start, variable.starts_with) = (Some(*default), Some(place));
                }
            }
        }
        for (place, text) in model.texts.iter().enumerate() {
            let port = Port { unit: None, ..Port::new(text.name, "", text.about) };
            let kind = VariableType::Text;
            list.push(ExportedVariable {
                kind,
                ..ExportedVariable::port(&port, Role::Text(place), Nature::PARAMETER)
            });
        }
        distinguish(&mut list);
        Variables {
            list,
            texts: model.texts.clone(),
            inputs,
            outputs,
            states: state_references,
            derivatives,
            indicators: indicator_references,
            shown,
        }
    }

    /// Value references of all variables that can be set before the start and affect outputs.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let number = |at: &usize| {
            let variable = &self.list[*at];
            matches!(variable.role, Role::Real(_) | Role::Count(_)) || variable.starts_with.is_some()
        };
        (0..self.list.len()).filter(number).collect()
    }
}

/// A model may use one name for an input, an output and a parameter; in FMI names are unique.
fn distinguish(list: &mut [ExportedVariable]) {
    let names: Vec<String> = list.iter().map(|variable| variable.name.clone()).collect();
    for variable in list {
        if names.iter().filter(|name| **name == variable.name).count() > 1 {
            variable.name += match variable.role {
                Role::Input(_) => "_in",
                Role::Output(_) => "_out",
                Role::State(_) => "_state",
                _ => "_parameter",
            };
        }
    }
}
