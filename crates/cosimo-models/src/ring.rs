//! The cheapest simulator: it rotates a pair of numbers by a small angle. For benchmarks of the engine,
//! where all time that is spent should be the engine's own. No physics, and no states to probe.

use cosimo_core::abilities;
use cosimo_core::math;
use cosimo_core::simulator::{Jacobian, Memory, Rollback, SerializeState};
use cosimo_core::{
    Abilities, Inputs, Interface, Outputs, Setup, Simulator, SimulatorError, StepResult, Time, Window,
};

use crate::parameters::finite;
use crate::{ModelEntry, Native, input, output};

const START: [f64; 2] = [1.0, 0.0];

#[derive(Debug)]
struct Rotor {
    interface: Interface,
    sin: f64,
    cos: f64,
    /// The outputs. Inputs need no memory: only a step uses them.
    memory: Memory<[f64; 2]>,
}

pub(crate) const MODELS: &[ModelEntry] = &[ModelEntry {
    name: "ring/rotor",
    summary: "rotates a pair of numbers by an angle at every step; for benchmarks",
    parameters: &[finite("angle", 1e-3, "rad", "rotation per step, for any step size")],
    build: |options| {
        let (sin, cos) = math::sin_cos(options.number("angle"));
        let interface = Interface {
            inputs: vec![
                input("a", "1", "first number to rotate").starting_at(START[0]),
                input("b", "1", "second number to rotate").starting_at(START[1]),
            ],
            outputs: vec![
                output("a", "1", "first number, rotated").starting_at(START[0]),
                output("b", "1", "second number, rotated").starting_at(START[1]),
            ],
            feedthrough: vec![],
            abilities: Abilities { jacobian: true, states: false, ..Abilities::NATIVE },
            ..Interface::default()
        };
        Box::new(Rotor { interface, sin, cos, memory: Memory::new(START) })
    },
}];

impl Native for Rotor {}

impl Simulator for Rotor {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, _setup: &Setup) -> Result<(), SimulatorError> {
        self.memory = Memory::new(START);
        Ok(())
    }

    fn set_inputs(&mut self, _at: Time, _inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }

    #[inline]
    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        let (a, b) = (inputs.at(0, window.size), inputs.at(1, window.size));
        self.memory.now = [self.cos * a - self.sin * b, self.sin * a + self.cos * b];
        Ok(StepResult::end_of(window, 1))
    }

    #[inline]
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values.copy_from_slice(&self.memory.now);
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.memory)
    }

    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        Some(&mut self.memory)
    }

    abilities! { self: jacobian }
}

impl Jacobian for Rotor {
    /// Zero: outputs change by steps alone.
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        into.fill(0.0);
        Ok(())
    }
}
