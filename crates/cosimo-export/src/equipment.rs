//! What a shared library adds to the FMUs that it is the binary of: models beside the native ones, and hooks at which an
//! instance behaves in another way. The library of this crate adds nothing. That of `cosimo-test-fmus` adds FMUs that
//! test importers.

use std::ffi::c_void;
use std::sync::OnceLock;

use cosimo_core::{Simulator, Spec};
use cosimo_native::Hybrid;

pub use crate::ffi::{Callbacks2, Logger2, Logger3};
pub use crate::instance::{DiscreteStatesUpdate, Refusal, Status};
pub use crate::variables::{TextParameter, VariableType};

use crate::design::{Design, Version};

/// Everything that a library adds.
#[derive(Debug)]
pub struct Additions {
    pub models: &'static [AddedModel],
    /// Parameters of an FMU that are texts.
    pub texts: fn(&Design) -> Vec<TextParameter>,
    /// The hooks of an instance, by its name.
    pub equip: fn(&Design, &str) -> Result<Hooks, String>,
}

/// `None` where the design asks for nothing.
pub type Hooks = Option<Box<dyn Equipment>>;

static ADDITIONS: OnceLock<&'static Additions> = OnceLock::new();

/// To be called by the library before its first FMU is written or instantiated; only the first call counts.
pub fn install(additions: &'static Additions) {
    let _ = ADDITIONS.set(additions);
}

fn additions() -> &'static Additions {
    ADDITIONS.get().unwrap_or(&&Additions { models: &[], texts: |_| Vec::new(), equip: |_, _| Ok(None) })
}

/// A model by its source.
pub(crate) fn model(source: &str) -> Option<&'static AddedModel> {
    additions().models.iter().find(|model| model.source == source)
}

pub(crate) fn texts(design: &Design) -> Vec<TextParameter> {
    (additions().texts)(design)
}

pub(crate) fn equip(design: &Design, instance: &str) -> Result<Box<dyn Equipment>, String> {
    match (additions().equip)(design, instance)? {
        Some(equipment) => Ok(equipment),
        None if design.spy || design.quirk.is_some() => {
            Err("the library of this FMU has neither spies nor quirks".into())
        }
        None => Ok(Box::new(NoEquipment)),
    }
}

/// A model that is none of the native ones.
#[derive(Debug)]
pub struct AddedModel {
    pub source: &'static str,
    pub summary: &'static str,
    pub parameters: &'static [Spec],
    /// Where a run usually ends.
    pub stop: f64,
    /// `None` where there is nothing to solve between events.
    pub simulator: Option<fn() -> Box<dyn Simulator>>,
    pub equations: fn() -> Box<dyn Hybrid>,
    /// Types of the inputs that are passed on as they are, each with an output that shows it.
    pub echoes: fn(Version) -> &'static [VariableType],
    pub clocks: Option<&'static ClockModel>,
}

/// The clocks of a model, for FMI 3.0; variables name them by place.
#[derive(Debug)]
pub struct ClockModel {
    pub clocks: &'static [ClockEntry],
    /// Outputs that count the ticks of a clock: its place, their name and description.
    pub counts: &'static [(usize, &'static str, &'static str)],
    /// Those of an instance, by its start time.
    pub start: fn(f64) -> Box<dyn Clocks>,
}

#[derive(Debug)]
pub struct ClockEntry {
    pub name: &'static str,
    pub about: &'static str,
    pub is_input: bool,
    /// The clock with which it can be active only.
    pub clocked_by: Option<usize>,
    /// As the description has them.
    pub attributes: &'static [(&'static str, &'static str)],
}

/// What an importer is told of an interval, as FMI 3.0 numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Qualifier {
    NotYetKnown,
    Unchanged,
    Changed,
}

/// The clocks of one instance.
pub trait Clocks {
    /// What a clock counts; a new number as soon as it is active.
    fn count(&self, clock: usize) -> i32;
    fn is_active(&self, clock: usize) -> bool;
    fn set(&mut self, clock: usize, active: bool, time: f64) -> Result<(), String>;
    fn interval(&mut self, clock: usize) -> Result<(f64, Qualifier), String>;
    fn shift(&self, clock: usize) -> Result<f64, String>;
    /// What active clocks cause; afterwards none is.
    fn update(&mut self, time: f64);
    /// Refuses a step over a tick.
    fn check_step(&self, to: f64) -> Result<(), String>;
    fn serialize(&self, into: &mut Vec<u8>);
    /// Returns what follows.
    fn deserialize<'a>(&mut self, from: &'a [u8]) -> Option<&'a [u8]>;
}

/// What a hook does to a step, or to a call for derivatives.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEffect {
    None,
    /// With a status that is not ok.
    Refuse(Refusal),
    /// The end of the simulation is asked for after this part of the step.
    Terminate(f64),
    /// The step succeeds and changes nothing.
    Skip,
}

/// The importer's logger as it was given at instantiation.
#[derive(Debug, Clone, Copy)]
pub enum ImporterLog {
    None,
    /// The struct that the importer keeps.
    Two(*const Callbacks2),
    Three(Logger3, *mut c_void),
}

/// Hooks of one instance. None does anything unless it is written.
///
/// `parameters` are the values of the model's own parameters, in its order.
#[allow(unused_variables, reason = "the names say what a hook is told")]
pub trait Equipment {
    /// Before every function of the standard.
    fn before_call(&mut self, function: &str) {}

    /// Whether calls are to be recorded. The instance then stays in memory when it is freed: a later call is a mistake
    /// of the importer that is to be written down, not undefined.
    fn records(&self) -> bool {
        false
    }

    fn record(&mut self, function: &str, arguments: &str, outcome: &str) {}

    /// Something legal here that other FMUs may refuse, or a promise that was not kept.
    fn warning(&mut self, text: &str) {}

    /// A message for the importer after a call.
    fn message_after(&self, function: &str) -> Option<String> {
        None
    }

    /// What is handed to the importer's callbacks in the place of its environment.
    fn environment(&self, given: *mut c_void) -> *mut c_void {
        given
    }

    fn instantiated(&mut self, log: ImporterLog) {}

    /// At instantiation and reset.
    fn begin(&mut self) {}

    /// Whether setting up an experiment sets all parameters back.
    fn resets_parameters(&self) -> bool {
        false
    }

    fn initialized(&mut self) {}

    fn check_text(&self, name: &str, text: &str) -> Result<(), String> {
        Ok(())
    }

    fn take_text(&mut self, name: &str, text: &str) {}

    fn before_input(&self) {}

    /// Whether new values of a parameter are ignored, by place.
    fn ignores(&self, specs: &[(&'static Spec, f64)], place: usize) -> bool {
        false
    }

    /// `kept` is the importer's promise not to return before this step.
    fn on_step(&mut self, parameters: &[f64], size: f64, kept: bool) -> HookEffect {
        HookEffect::None
    }

    fn on_derivatives(&mut self, parameters: &[f64]) -> HookEffect {
        HookEffect::None
    }

    /// Whether a state that is to be restored is ignored.
    fn on_restore(&mut self, parameters: &[f64]) -> bool {
        false
    }

    /// After a round of an event; `first` of its rounds. What it says may be changed.
    fn on_event(
        &mut self,
        parameters: &[f64],
        time: f64,
        first: bool,
        update: &mut DiscreteStatesUpdate,
        x: &mut [f64],
    ) {
    }

    /// Whether the run should end after so many completed steps of the importer's integrator.
    fn ends_after(&self, parameters: &[f64], steps: u64) -> bool {
        false
    }

    /// Event indicators beyond those that there are.
    fn more_indicators(&self) -> usize {
        0
    }

    /// A value that is shown, for outputs with whether initialisation is under way.
    fn shown(&self, value: f64, initializing: bool) -> f64 {
        value
    }

    /// The last successful time, from the true one, the start of the last step, and whether that returned early.
    fn last_time(&self, time: f64, begun: f64, early: bool) -> f64 {
        time
    }
}

struct NoEquipment;

impl Equipment for NoEquipment {}
