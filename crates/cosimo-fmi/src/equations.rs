//! The equations of an instance for model exchange, in either version: everything that an integrator asks for, and
//! the event iteration. What both versions spell alike is written once.

use cosimo_core::SimulatorError;
use cosimo_native::CompletedStep;

use crate::fmi2::Fmi2Instance;
use crate::fmi2::ffi::EventInfo;
use crate::fmi3::Fmi3Instance;
use crate::instance::{EventModeInstance, EventUpdate, ModelExchangeInstance};

/// Calls that take or fill one vector, or nothing.
macro_rules! alike {
    ($completed:literal) => {
        fn set_time(&mut self, t: f64) -> Result<(), SimulatorError> {
            self.handle.site.at(t);
            // SAFETY: nothing but a number.
            unsafe { self.handle.set_time(t) }
        }

        fn set_states(&mut self, x: &[f64]) -> Result<(), SimulatorError> {
            if x.is_empty() {
                return Ok(());
            }
            // SAFETY: so many states.
            unsafe { self.handle.set_continuous_states(x.as_ptr(), x.len()) }
        }

        fn enter_continuous_time(&mut self) -> Result<(), SimulatorError> {
            // SAFETY: no arguments.
            unsafe { self.handle.enter_continuous_time() }
        }

        alike!(@fill states, get_continuous_states);
        alike!(@fill nominals, get_nominals);
        alike!(@fill slopes, get_derivatives);
        alike!(@fill indicators, get_event_indicators);

        fn completed_step(&mut self, never_back: bool) -> Result<CompletedStep, SimulatorError> {
            let (mut event, mut terminate) = (0, 0);
            // SAFETY: the answers are ours.
            unsafe { self.handle.completed_step(never_back.into(), &mut event, &mut terminate)? };
            Ok(CompletedStep { event: event != 0, ended: (terminate != 0).then_some($completed) })
        }
    };
    (@fill $method:ident, $function:ident) => {
        fn $method(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
            if into.is_empty() {
                return Ok(());
            }
            // SAFETY: room for so many.
            unsafe { self.handle.$function(into.as_mut_ptr(), into.len()) }
        }
    };
}

impl EventModeInstance for Fmi2Instance {
    fn enter_event_mode(&mut self) -> Result<(), SimulatorError> {
        // SAFETY: no arguments.
        unsafe { self.handle.enter_event_mode() }
    }

    fn update(&mut self) -> Result<EventUpdate, SimulatorError> {
        let mut info = EventInfo::default();
        // SAFETY: the answer is ours.
        unsafe { self.handle.new_discrete_states(&mut info)? };
        Ok(EventUpdate {
            again: info.again != 0 && info.terminate == 0,
            states_changed: info.states_changed != 0,
            nominals_changed: info.nominals_changed != 0,
            next_event: (info.time_defined != 0).then_some(info.time),
            ended: (info.terminate != 0).then_some("fmi2NewDiscreteStates"),
        })
    }
}

impl ModelExchangeInstance for Fmi2Instance {
    alike!("fmi2CompletedIntegratorStep");
}

impl EventModeInstance for Fmi3Instance {
    fn enter_event_mode(&mut self) -> Result<(), SimulatorError> {
        // SAFETY: no arguments.
        unsafe { self.handle.enter_event_mode() }
    }

    fn update(&mut self) -> Result<EventUpdate, SimulatorError> {
        let [mut again, mut terminate, mut nominals, mut states, mut defined] = [0u8; 5];
        let mut time = 0.0;
        // SAFETY: the answers are ours.
        unsafe {
            self.handle.update_discrete_states(
                &mut again,
                &mut terminate,
                &mut nominals,
                &mut states,
                &mut defined,
                &mut time,
            )?;
        }
        Ok(EventUpdate {
            again: again != 0 && terminate == 0,
            states_changed: states != 0,
            nominals_changed: nominals != 0,
            next_event: (defined != 0).then_some(time),
            ended: (terminate != 0).then_some("fmi3UpdateDiscreteStates"),
        })
    }
}

impl ModelExchangeInstance for Fmi3Instance {
    alike!("fmi3CompletedIntegratorStep");
}
