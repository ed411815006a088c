//! The equations of an instance for model exchange, in either version: everything that an integrator asks for, and
//! the event iteration. What both versions spell alike is written once.

use std::ffi::c_int;

use cosimo_core::SimulatorError;

use crate::ffi2::EventInfo;
use crate::instance::{Completed, Evented, Exchanged, Update, absent};
use crate::unit2::Unit2;
use crate::unit3::Unit3;

/// Calls that take or fill one vector, or nothing.
macro_rules! alike {
    ($prefix:literal, $derivatives:literal) => {
        fn set_time(&mut self, t: f64) -> Result<(), SimulatorError> {
            let name = concat!($prefix, "SetTime");
            let function = self.handle.functions.set_time.ok_or_else(|| absent(name))?;
            self.handle.site.at(t);
            self.handle.site.enter(function as usize);
            // SAFETY: the instance is alive.
            let status = unsafe { function(self.handle.pointer, t) };
            self.handle.check(name, status)
        }

        fn set_states(&mut self, x: &[f64]) -> Result<(), SimulatorError> {
            let name = concat!($prefix, "SetContinuousStates");
            if x.is_empty() {
                return Ok(());
            }
            let function = self.handle.functions.set_continuous_states.ok_or_else(|| absent(name))?;
            self.handle.site.enter(function as usize);
            // SAFETY: the instance is alive; so many states.
            let status = unsafe { function(self.handle.pointer, x.as_ptr(), x.len()) };
            self.handle.check(name, status)
        }

        alike!(@fill $prefix, states, get_continuous_states, "GetContinuousStates");
        alike!(@fill $prefix, nominals, get_nominals, "GetNominalsOfContinuousStates");
        alike!(@fill $prefix, slopes, get_derivatives, $derivatives);
        alike!(@fill $prefix, indicators, get_event_indicators, "GetEventIndicators");
        alike!(@mode $prefix, enter_continuous_time, "EnterContinuousTimeMode");
    };
    (@fill $prefix:literal, $method:ident, $function:ident, $name:literal) => {
        fn $method(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
            let name = concat!($prefix, $name);
            if into.is_empty() {
                return Ok(());
            }
            let function = self.handle.functions.$function.ok_or_else(|| absent(name))?;
            self.handle.site.enter(function as usize);
            // SAFETY: the instance is alive; room for so many.
            let status = unsafe { function(self.handle.pointer, into.as_mut_ptr(), into.len()) };
            self.handle.check(name, status)
        }
    };
    (@mode $prefix:literal, $method:ident, $name:literal) => {
        fn $method(&mut self) -> Result<(), SimulatorError> {
            let name = concat!($prefix, $name);
            let function = self.handle.functions.$method.ok_or_else(|| absent(name))?;
            self.handle.site.enter(function as usize);
            // SAFETY: the instance is alive.
            let status = unsafe { function(self.handle.pointer) };
            self.handle.check(name, status)
        }
    };
}

impl Evented for Unit2 {
    alike!(@mode "fmi2", enter_event_mode, "EnterEventMode");

    fn update(&mut self) -> Result<Update, SimulatorError> {
        let name = "fmi2NewDiscreteStates";
        let function = self.handle.functions.new_discrete_states.ok_or_else(|| absent(name))?;
        let mut info = EventInfo::default();
        self.handle.site.enter(function as usize);
        // SAFETY: the instance is alive; the answer is ours.
        let status = unsafe { function(self.handle.pointer, &mut info) };
        self.handle.check(name, status)?;
        Ok(Update {
            again: info.again != 0 && info.terminate == 0,
            states_changed: info.states_changed != 0,
            nominals_changed: info.nominals_changed != 0,
            next_event: (info.time_defined != 0).then_some(info.time),
            ended: (info.terminate != 0).then_some(name),
        })
    }
}

impl Exchanged for Unit2 {
    alike!("fmi2", "GetDerivatives");

    fn completed_step(&mut self, never_back: bool) -> Result<Completed, SimulatorError> {
        let name = "fmi2CompletedIntegratorStep";
        let function = self.handle.functions.completed_step.ok_or_else(|| absent(name))?;
        let (mut event, mut terminate) = (0, 0);
        // SAFETY: the instance is alive; the answers are ours.
        let status =
            unsafe { function(self.handle.pointer, c_int::from(never_back), &mut event, &mut terminate) };
        self.handle.check(name, status)?;
        Ok(Completed { event: event != 0, ended: (terminate != 0).then_some(name) })
    }
}

impl Evented for Unit3 {
    alike!(@mode "fmi3", enter_event_mode, "EnterEventMode");

    fn update(&mut self) -> Result<Update, SimulatorError> {
        let name = "fmi3UpdateDiscreteStates";
        let function = self.handle.functions.update_discrete_states.ok_or_else(|| absent(name))?;
        let [mut again, mut terminate, mut nominals, mut states, mut defined] = [0u8; 5];
        let mut time = 0.0;
        self.handle.site.enter(function as usize);
        // SAFETY: the instance is alive; the answers are ours.
        let status = unsafe {
            function(
                self.handle.pointer,
                &mut again,
                &mut terminate,
                &mut nominals,
                &mut states,
                &mut defined,
                &mut time,
            )
        };
        self.handle.check(name, status)?;
        Ok(Update {
            again: again != 0 && terminate == 0,
            states_changed: states != 0,
            nominals_changed: nominals != 0,
            next_event: (defined != 0).then_some(time),
            ended: (terminate != 0).then_some(name),
        })
    }
}

impl Exchanged for Unit3 {
    alike!("fmi3", "GetContinuousStateDerivatives");

    fn completed_step(&mut self, never_back: bool) -> Result<Completed, SimulatorError> {
        let name = "fmi3CompletedIntegratorStep";
        let function = self.handle.functions.completed_step.ok_or_else(|| absent(name))?;
        let (mut event, mut terminate) = (0u8, 0u8);
        self.handle.site.enter(function as usize);
        // SAFETY: the instance is alive; the answers are ours.
        let status = unsafe { function(self.handle.pointer, never_back, &mut event, &mut terminate) };
        self.handle.check(name, status)?;
        Ok(Completed { event: event != 0, ended: (terminate != 0).then_some(name) })
    }
}
