//! Simulators for tests that are one formula: outputs answer inputs at once, and there is nothing else to them.

#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use cosimo::core::interface::{Abilities, Interface, Port, ValueType};
use cosimo::core::registry::{OpenProblem, OpenRequest, OpenResult};
use cosimo::core::simulator::{Memory, Rollback, SerializeState};
use cosimo::core::{
    Inputs, Outputs, Setup, Simulator, SimulatorError, SourceEntry, StepResult, Time, Window,
};

struct Formula {
    interface: Interface,
    of: fn(&[f64]) -> f64,
    /// It refuses inputs for which there is no value.
    strict: bool,
    inputs: Memory<Vec<f64>>,
}

/// Name, inputs with their start values, the formula.
type Known = (&'static str, &'static [(&'static str, f64)], fn(&[f64]) -> f64);

/// Thermal voltage and saturation current of the diode.
pub(crate) const VT: f64 = 0.025;
pub(crate) const IS: f64 = 1e-12;

const FORMULAS: &[Known] = &[
    ("cosine", &[("u", 0.0)], |u| u[0].cos()),
    ("square", &[("u", 0.0)], |u| u[0] * u[0] + 1.0),
    ("inverse", &[("u", 2.0)], |u| 1.0 / u[0]),
    ("strict-inverse", &[("u", 2.0)], |u| 1.0 / u[0]),
    ("half", &[("u", 0.0)], |u| u[0] / 2.0),
    ("sum", &[("a", 0.0), ("b", 0.0)], |u| u[0] + u[1]),
    ("diode", &[("v", 0.0)], |u| IS * ((u[0] / VT).exp() - 1.0)),
    ("resistor", &[("i", 0.0)], |u| 5.0 - 1000.0 * u[0]),
    ("above", &[("u", 0.0)], |u| f64::from(u8::from(u[0] > 3.0))),
    // Of truth values, as their outputs are.
    ("nor", &[("a", 0.0), ("b", 0.0)], |u| f64::from(u8::from(u[0] == 0.0 && u[1] == 0.0))),
];

pub(crate) const FORMULA: SourceEntry = SourceEntry {
    name: "formula",
    summary: "one output as a formula of the inputs",
    claims: |source| source.starts_with("formula:"),
    open,
    parameters: |_, _| Vec::new(),
    models: Vec::new,
    join: None,
};

fn open(request: &OpenRequest<'_>) -> OpenResult {
    let name = request.source.strip_prefix("formula:").unwrap_or_default();
    let Some((_, inputs, of)) = FORMULAS.iter().find(|(known, ..)| *known == name) else {
        let message = format!("there is no formula `{name}`");
        return Err(vec![OpenProblem { parameter: None, message, hint: None }]);
    };
    let (inputs, of) = (*inputs, *of);
    let carries = |truth: bool| if truth { ValueType::Boolean } else { ValueType::Real };
    let port = |name: &str, truth| Port { value_type: carries(truth), ..Port::new(name, "1", "") };
    let interface = Interface {
        inputs: inputs.iter().map(|(input, start)| port(input, name == "nor").starting_at(*start)).collect(),
        outputs: vec![port("y", name == "nor" || name == "above")],
        feedthrough: (0..inputs.len()).map(|input| (0, input)).collect(),
        abilities: Abilities { states: false, ..Abilities::NATIVE },
        ..Interface::default()
    };
    let strict = name.starts_with("strict");
    Ok(Box::new(Formula { interface, of, strict, inputs: Memory::new(vec![0.0; inputs.len()]) }))
}

impl Simulator for Formula {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
        Ok(())
    }

    fn set_inputs(&mut self, _: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.inputs.now.iter_mut().enumerate().for_each(|(k, input)| *input = inputs.at(k, 0.0));
        if self.strict && !(self.of)(&self.inputs.now).is_finite() {
            return Err(SimulatorError::new("settle", format!("there is no value at {:?}", self.inputs.now)));
        }
        Ok(())
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.inputs.now.iter_mut().enumerate().for_each(|(k, input)| *input = inputs.at(k, window.size));
        Ok(StepResult::end_of(window, 1))
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values[0] = (self.of)(&self.inputs.now);
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.inputs)
    }

    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        Some(&mut self.inputs)
    }
}
