//! Additions of a shared library to its FMUs: models beside the native ones, and hooks that change the behaviour of an
//! instance. The library of this crate adds nothing. That of `cosimo-test-fmus` adds FMUs that
//! test importers.

use std::ffi::c_void;
use std::sync::OnceLock;

use cosimo_core::{Simulator, Spec};
use cosimo_native::Hybrid;

pub use crate::ffi::{Callbacks2, Logger2, Logger3};
pub use crate::instance::{DiscreteStatesUpdate, Refusal, Status};
pub use crate::variables::{TextParameter, VariableType};

use crate::design::{Design, Version};

/// All additions of a library.
#[derive(Debug)]
pub struct Additions {
    pub models: &'static [AddedModel],
    /// String parameters of an FMU.
    pub texts: fn(&Design) -> Vec<TextParameter>,
    /// The hooks of an instance, by its name.
    pub equip: fn(&Design, &str) -> Result<Hooks, String>,
}

/// `None` where the design needs no hooks.
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
            Err("the library of this FMU supports neither call logs nor quirks".into())
        }
        None => Ok(Box::new(NoEquipment)),
    }
}

/// A model beside the native ones.
#[derive(Debug)]
pub struct AddedModel {
    pub source: &'static str,
    pub summary: &'static str,
    pub parameters: &'static [Spec],
    /// Default stop time in seconds.
    pub stop: f64,
    /// `None` where there is nothing to solve between events.
    pub simulator: Option<fn() -> Box<dyn Simulator>>,
    pub equations: fn() -> Box<dyn Hybrid>,
    /// Types of the inputs that are copied to an output each.
    pub echoes: fn(Version) -> &'static [VariableType],
    pub clocks: Option<&'static ClockModel>,
}

/// The clocks of a model, for FMI 3.0; variables refer to them by index.
#[derive(Debug)]
pub struct ClockModel {
    pub clocks: &'static [ClockEntry],
    /// Outputs that count the ticks of a clock: its index, their name and description.
    pub counts: &'static [(usize, &'static str, &'static str)],
    /// Those of an instance, by its start time.
    pub start: fn(f64) -> Box<dyn Clocks>,
}

#[derive(Debug)]
pub struct ClockEntry {
    pub name: &'static str,
    pub about: &'static str,
    pub is_input: bool,
    /// The clock that it is triggered by.
    pub clocked_by: Option<usize>,
    /// XML attributes of the description.
    pub attributes: &'static [(&'static str, &'static str)],
}

/// Interval qualifier, numbered as in FMI 3.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Qualifier {
    NotYetKnown,
    Unchanged,
    Changed,
}

/// The clocks of one instance.
pub trait Clocks {
    /// Ticks so far, including the one that is active.
    fn count(&self, clock: usize) -> i32;
    fn is_active(&self, clock: usize) -> bool;
    fn set(&mut self, clock: usize, active: bool, time: f64) -> Result<(), String>;
    fn interval(&mut self, clock: usize) -> Result<(f64, Qualifier), String>;
    fn shift(&self, clock: usize) -> Result<f64, String>;
    /// Handles the active clocks; afterwards none is active.
    fn update(&mut self, time: f64);
    /// Refuses a step over a tick.
    fn check_step(&self, to: f64) -> Result<(), String>;
    fn serialize(&self, into: &mut Vec<u8>);
    /// Returns what follows.
    fn deserialize<'a>(&mut self, from: &'a [u8]) -> Option<&'a [u8]>;
}

/// The effect of a hook on a step, or on a call for derivatives.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEffect {
    None,
    /// Returns a status that is not ok.
    Refuse(Refusal),
    /// Requests the end of the simulation after this part of the step.
    Terminate(f64),
    /// The step succeeds and changes nothing.
    Skip,
}

/// The importer's logger from instantiation.
#[derive(Debug, Clone, Copy)]
pub enum ImporterLog {
    None,
    /// The importer's struct.
    Two(*const Callbacks2),
    Three(Logger3, *mut c_void),
}

/// Hooks of one instance; by default they do nothing.
///
/// `parameters` are the values of the model's own parameters, in its order.
#[allow(unused_variables, reason = "the names document the arguments")]
pub trait Equipment {
    /// Before every function of the standard.
    fn before_call(&mut self, function: &str) {}

    /// Whether calls are to be recorded. The instance then stays in memory when it is freed: a later call is an error
    /// of the importer that is to be recorded, not undefined behaviour.
    fn records(&self) -> bool {
        false
    }

    fn record(&mut self, function: &str, arguments: &str, outcome: &str) {}

    /// A call that is accepted here but that other FMUs may refuse, or a violated guarantee.
    fn warning(&mut self, text: &str) {}

    /// A message for the importer after a call.
    fn message_after(&self, function: &str) -> Option<String> {
        None
    }

    /// The pointer passed to the importer's callbacks instead of its environment.
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

    /// Whether new values of a parameter are ignored, by index.
    fn ignores(&self, specs: &[(&'static Spec, f64)], place: usize) -> bool {
        false
    }

    /// `kept` is `noSetFMUStatePriorToCurrentPoint`.
    fn on_step(&mut self, parameters: &[f64], size: f64, kept: bool) -> HookEffect {
        HookEffect::None
    }

    fn on_derivatives(&mut self, parameters: &[f64]) -> HookEffect {
        HookEffect::None
    }

    /// Whether restoring a state is ignored.
    fn on_restore(&mut self, parameters: &[f64]) -> bool {
        false
    }

    /// After an event iteration, `first` for the first one. The update may be changed.
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

    /// Additional event indicators.
    fn more_indicators(&self) -> usize {
        0
    }

    /// The value returned to the importer; `initializing` for outputs in initialisation mode.
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
