//! An FMU that fails on request, to test how an importer handles it. Until then it integrates its input.
//! The parameter `fault` selects the fault, `at_step` the call of doStep or, in model exchange, for the derivatives; a
//! repeated step is a further call, so a discarded one can be tried again. Faults of events come at the event of
//! that number, the one after initialisation included.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cosimo_core::abilities;
use cosimo_core::simulator::{Jacobian, Memory, Rollback, SerializeState};
use cosimo_core::{
    Abilities, Inputs, Interface, Outputs, Port, Setup, Simulator, SimulatorError, Spec, StepResult, Time,
    Window,
};
use cosimo_export::equipment::{
    AddedModel, DiscreteStatesUpdate, HookEffect, Refusal, Status, TextParameter,
};
use cosimo_native::{Event, Hybrid, ModelPoint, Tangent};

use crate::harm;

pub(crate) const MODEL: AddedModel = AddedModel {
    source: crate::SABOTEUR,
    summary: "integrates its input and fails on request; for tests",
    parameters: &[Spec::count(
        "at_step",
        1,
        0,
        "the step, call for derivatives or event at which the fault comes; 0 is never",
    )],
    stop: 1.0,
    simulator: Some(|| Box::new(Integrator::default())),
    equations: || Box::new(Fickle),
    echoes: |_| &[],
    clocks: None,
};

pub(crate) const FAULT: TextParameter = TextParameter {
    name: "fault",
    start: "none",
    about: "none, discard, warning, error, fatal, nan, wrong-time, forget, leak, directory, rounding, print, panic, \
            abort, exit, hang, segfault, terminate, terminate-whole, restore-crash (at the restore of that number), \
            input-crash (at the first value) or exit-handler (which aborts); in model exchange also \
            terminate-completed, unsettled, past-event, near-event, silent-jump or indicators",
};

pub(crate) const FAULTS: &[&str] = &[
    "none",
    "discard",
    "warning",
    "error",
    "fatal",
    "nan",
    "wrong-time",
    "forget",
    "leak",
    "directory",
    "rounding",
    "print",
    "panic",
    "abort",
    "exit",
    "hang",
    "segfault",
    // Asks to end the simulation in the middle of a step, or at an event.
    "terminate",
    // The same at the end of a step.
    "terminate-whole",
    // The same after a completed step of the integrator.
    "terminate-completed",
    // A null pointer is followed when a state is restored.
    "restore-crash",
    // The same when an input is set.
    "input-crash",
    // The process is to end by a handler that aborts it.
    "exit-handler",
    // The discrete states always need another update.
    "unsettled",
    // The next time event lies in the past.
    "past-event",
    // The next time event is always a rounding error ahead.
    "near-event",
    // A state jumps without being reported.
    "silent-jump",
    // There is one event indicator more than declared, from the start.
    "indicators",
];

/// `function=fault`, or `function=fault@n` for the n-th call of it: misbehaves in any function of the standard, also in
/// those that are called before parameters can be set.
const VARIABLE: &str = "COSIMO_SABOTAGE";

/// To be called in every function of a saboteur.
pub(crate) fn strike_call(function: &str) {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let Ok(request) = std::env::var(VARIABLE) else { return };
    let Some((target, fault)) = request.split_once('=') else { return };
    let (fault, number) = fault.split_once('@').unwrap_or((fault, "1"));
    if target == function && (CALLS.fetch_add(1, Ordering::Relaxed) + 1).to_string() == number {
        match fault {
            "exit" => std::process::exit(0),
            "segfault" => harm::segfault(),
            "abort" => std::process::abort(),
            "hang" => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            "fork" => harm::fork_and_exit(),
            _ => fault.parse().into_iter().for_each(harm::send),
        }
    }
}

/// Messages of a step and of derivatives with the status warning, discard, error and fatal.
pub(crate) const STEP: [&str; 4] = [
    "told to warn in this step",
    "told to discard this step",
    "told to fail in this step",
    "told to fail for good in this step",
];
pub(crate) const DERIVATIVES: [&str; 4] = [
    "told to warn of these derivatives",
    "told to discard these derivatives",
    "told to fail at these derivatives",
    "told to fail for good at these derivatives",
];

/// Survives a rollback, on purpose.
#[derive(Debug)]
pub(crate) struct Sabotage {
    pub(crate) fault: String,
    calls: u64,
    restores: u64,
    events: u64,
    struck: bool,
    /// Outputs and derivatives are NaN from now on.
    pub(crate) poisoned: bool,
    /// Discrete states always need another update from now on.
    unsettled: bool,
    /// By how much the reported time is wrong.
    pub(crate) behind: f64,
}

impl Default for Sabotage {
    fn default() -> Sabotage {
        Sabotage {
            fault: FAULT.start.into(),
            calls: 0,
            restores: 0,
            events: 0,
            struck: false,
            poisoned: false,
            unsettled: false,
            behind: 0.0,
        }
    }
}

impl Sabotage {
    /// Counts a call of doStep or for derivatives, and fails if it is the one.
    pub(crate) fn strike(&mut self, at_step: f64, size: f64, said: [&str; 4]) -> HookEffect {
        self.calls += 1;
        self.behind = 0.0;
        if self.calls as f64 != at_step {
            return HookEffect::None;
        }
        self.struck = true;
        let refuse = |status: Status, said: &str| HookEffect::Refuse(Refusal::new(status, said));
        match self.fault.as_str() {
            "warning" => return refuse(Status::Warning, said[0]),
            "discard" => return refuse(Status::Discard, said[1]),
            "error" => return refuse(Status::Error, said[2]),
            "fatal" => return refuse(Status::Fatal, said[3]),
            "terminate" => return HookEffect::Terminate(0.5),
            "terminate-whole" => return HookEffect::Terminate(1.0),
            "nan" => self.poisoned = true,
            "wrong-time" => self.behind = size / 2.0,
            "leak" => std::mem::forget(vec![1u8; 16 << 20]),
            "directory" => {
                let _ = std::env::set_current_dir("/");
            }
            "rounding" => harm::round_upwards(),
            "print" => {
                println!("a word on the standard output");
                // Without the end of a line, so that it is written when the process ends.
                harm::print_by_c(c"and one by C");
                eprintln!("a word on the standard error");
            }
            "panic" => panic!("told to panic in this step"),
            "abort" => std::process::abort(),
            "exit" => std::process::exit(3),
            "hang" => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            "segfault" => harm::segfault(),
            "exit-handler" => harm::abort_at_exit(),
            _ => {}
        }
        HookEffect::None
    }

    /// Counts a restored state, and dies if it is the one. Returns whether the state is to be ignored.
    pub(crate) fn strike_restore(&mut self, at_step: f64) -> bool {
        self.restores += 1;
        if self.fault == "restore-crash" && self.restores as f64 == at_step {
            harm::segfault();
        }
        self.struck && self.fault == "forget"
    }

    /// Counts an event, and fails if it is the one.
    pub(crate) fn strike_event(
        &mut self,
        at_step: f64,
        time: f64,
        update: &mut DiscreteStatesUpdate,
        x: &mut [f64],
    ) {
        if self.fault == "near-event" {
            update.next = Some((time + 1e-15).max(time.next_up()));
            return;
        }
        self.events += 1;
        if self.events as f64 != at_step {
            return;
        }
        match self.fault.as_str() {
            "unsettled" => self.unsettled = true,
            "past-event" => update.next = Some(time - 1.0),
            "terminate" => update.terminate = true,
            "silent-jump" => x[0] += 1.0,
            _ => {}
        }
    }

    /// After every round of an event.
    pub(crate) fn unsettle(&self, update: &mut DiscreteStatesUpdate) {
        update.needed |= self.unsettled;
    }
}

/// The same for model exchange: y' = u, a time event at every whole second, and an indicator that turns at y = 1.5.
/// None of the events changes anything, unless a fault does.
#[derive(Debug)]
struct Fickle;

impl Hybrid for Fickle {
    fn interface(&self) -> Interface {
        Integrator::default().interface
    }

    fn states(&self) -> Vec<Port> {
        self.interface().outputs
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (vec![0.0], Vec::new())
    }

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]) {
        dx[0] = at.u[0];
    }

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]) {
        y[0] = at.x[0];
    }

    fn indicator_count(&self) -> usize {
        1
    }

    fn indicators(&self, at: &ModelPoint<'_>, z: &mut [f64]) {
        z[0] = 1.5 - at.x[0];
    }

    fn event(&self, t: f64, _u: &[f64], _x: &mut [f64], _m: &mut [f64]) -> Event {
        Event { next: Some((t + 1e-9).floor() + 1.0), ..Event::default() }
    }

    fn tangent(&self, _at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        dx[0] = along.u[0];
        y[0] = along.x[0];
    }
}

/// y' = u, without error for any segment.
#[derive(Debug)]
struct Integrator {
    interface: Interface,
    y: Memory<[f64; 1]>,
}

impl Default for Integrator {
    fn default() -> Integrator {
        let interface = Interface {
            inputs: vec![Port::new("u", "1", "rate").starting_at(1.0)],
            outputs: vec![Port::new("y", "s", "integral of the rate")],
            feedthrough: vec![],
            abilities: Abilities { jacobian: true, states: false, ..Abilities::NATIVE },
            ..Interface::default()
        };
        Integrator { interface, y: Memory::new([0.0]) }
    }
}

impl Simulator for Integrator {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, _setup: &Setup) -> Result<(), SimulatorError> {
        self.y.now = [0.0];
        Ok(())
    }

    fn set_inputs(&mut self, _at: Time, _inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.y.now[0] += inputs.segments[0].integral(window.size);
        Ok(StepResult::end_of(window, 1))
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values.copy_from_slice(&self.y.now);
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.y)
    }

    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        Some(&mut self.y)
    }

    abilities! { self: jacobian }
}

impl Jacobian for Integrator {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        into.fill(0.0);
        Ok(())
    }
}
