//! Simulators that fail on purpose, to test how failures are handled. Until the time `at`
//! they pass their input on. Deliberately no early return and no refusal: those are not faults.

use cosimo_core::simulator::{Memory, Rollback, SerializeState};
use cosimo_core::{
    Abilities, Inputs, Interface, Options, Outputs, Setup, Simulator, SimulatorError, Spec, StepResult, Time,
    Window,
};

use crate::parameters::finite;
use crate::{ModelEntry, Native, input, output};

#[derive(Debug, Clone, Copy)]
enum Fault {
    NotANumber,
    Panic,
}

#[derive(Debug)]
struct Faulty {
    interface: Interface,
    fault: Fault,
    at: f64,
    /// The last input, and 1 from the step on that reached `at`: a rollback undoes the failure.
    memory: Memory<[f64; 2]>,
}

const AT: Spec = finite("at", 0.5, "s", "time from which on it fails");

pub(crate) const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "faulty/nan",
        summary: "passes its input on until a given time, then outputs NaN; for tests",
        parameters: &[AT],
        build: |options| build(options, Fault::NotANumber),
    },
    ModelEntry {
        name: "faulty/panic",
        summary: "passes its input on until a given time, then panics; for tests",
        parameters: &[AT],
        build: |options| build(options, Fault::Panic),
    },
];

fn build(options: &Options, fault: Fault) -> Box<dyn Native> {
    let interface = Interface {
        inputs: vec![input("u", "1", "any value")],
        outputs: vec![output("y", "1", "the input, until the failure")],
        feedthrough: vec![(0, 0)],
        abilities: Abilities { states: false, ..Abilities::NATIVE },
        ..Interface::default()
    };
    Box::new(Faulty { interface, fault, at: options.number("at"), memory: Memory::new([0.0; 2]) })
}

impl Native for Faulty {}

impl Simulator for Faulty {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, _setup: &Setup) -> Result<(), SimulatorError> {
        self.memory = Memory::new([0.0; 2]);
        Ok(())
    }

    fn set_inputs(&mut self, _at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.memory.now[0] = inputs.at(0, 0.0);
        Ok(())
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.memory.now[0] = inputs.at(0, window.size);
        if window.to.seconds() >= self.at {
            match self.fault {
                Fault::NotANumber => self.memory.now[1] = 1.0,
                Fault::Panic => panic!("faulty model reached its time"),
            }
        }
        Ok(StepResult::end_of(window, 1))
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let [u, failed] = self.memory.now;
        out.values[0] = if failed == 0.0 { u } else { f64::NAN };
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.memory)
    }

    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        Some(&mut self.memory)
    }
}
