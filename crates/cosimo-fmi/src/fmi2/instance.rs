//! A running FMI 2.0 FMU.

use std::ffi::{CString, c_char, c_int};
use std::sync::{Arc, Once};

use cosimo_core::{Inputs, SimulatorError, Slot};

use crate::call_log;
use crate::description::{FmuUse, VariableType};
use crate::fmi2::ffi::{self, Functions};
use crate::fmu::{Binding, Fmu};
use crate::fp_environment;
use crate::instance::{
    CText, CoSimulationInstance, FOR_BYTES, Instance, InstanceHandle, InstanceState, IntermediateInput,
    NewInstance, ROUNDING, Scratch, StartValue, StepEnd, Values, VersionFunctions, absent, by_handle,
    c_string, copy_text, failures_only, other_version, refusal, states, uri, whole,
};
use crate::log::{self, LogRegistration, MessageLog};

states!(Functions, "fmi2SerializedFMUstateSize");

#[derive(Debug)]
pub(crate) struct Fmi2Instance {
    /// First, so that the instance is gone before what it points to.
    pub(crate) handle: InstanceHandle<Functions>,
    /// Only kept.
    _callbacks: Callbacks,
    scratch: Scratch,
    spelling: CText,
    quiet: Option<Vec<CString>>,
    /// No state will be restored that was saved before the start of a step.
    never_back: bool,
}

// SAFETY: an instance is made, used and freed through one owner at a time; nothing in it belongs to a thread.
// The engine keeps one thread per simulator, so the FMU sees one thread from its first call on.
unsafe impl Send for Fmi2Instance {}

/// Callbacks as the FMU sees them. Never freed, although small: threads of an FMU read them after the instance is gone.
/// Their address is the environment, because no other instance ever gets it.
#[derive(Debug)]
struct Callbacks {
    outer: *const ffi::Callbacks,
    /// Only kept.
    _listening: LogRegistration,
}

impl Callbacks {
    fn new(log: &Arc<MessageLog>) -> Callbacks {
        static ONCE: Once = Once::new();
        // SAFETY: both functions do what the shim expects of them.
        ONCE.call_once(|| unsafe { ffi::cosimo_fmi2_hand_on(log::find2, log::write2) });
        let outer = Box::leak(Box::new(ffi::Callbacks {
            logger: ffi::cosimo_fmi2_logger,
            allocate: ffi::calloc,
            free: ffi::free,
            step_finished: std::ptr::null(),
            environment: std::ptr::null_mut(),
        }));
        outer.environment = std::ptr::from_mut(outer).cast();
        let outer = std::ptr::from_ref(outer);
        Callbacks { outer, _listening: LogRegistration::new(outer.cast(), log) }
    }
}

impl NewInstance for Fmi2Instance {
    fn instantiate(
        binding: Binding,
        fmu: &Fmu,
        usage: FmuUse,
        name: &str,
        _fed: &[IntermediateInput],
    ) -> Result<Fmi2Instance, SimulatorError> {
        let Binding::Two(functions) = binding else { return Err(other_version("fmi2Instantiate")) };
        let log = Arc::new(MessageLog::new(name));
        let callbacks = Callbacks::new(&log);
        let (spelled, token) = (c_string(name), c_string(&fmu.description.token));
        let resources = c_string(&uri(&fmu.location()?.join("resources")));
        let kind = match usage {
            FmuUse::CoSimulation => ffi::CO_SIMULATION,
            FmuUse::ModelExchange => ffi::MODEL_EXCHANGE,
        };
        // SAFETY: all texts live through the call, the callbacks until after the instance.
        let instantiate = || {
            fp_environment::around(|| unsafe {
                (functions.instantiate)(
                    spelled.as_ptr(),
                    kind,
                    token.as_ptr(),
                    resources.as_ptr(),
                    callbacks.outer,
                    0,
                    1,
                )
            })
        };
        let pointer = call_log::instantiate(name, "fmi2Instantiate", &token, &resources, instantiate);
        if pointer.is_null() {
            return Err(SimulatorError::new("fmi2Instantiate", refusal(fmu, usage, &log)));
        }
        let quiet = failures_only(&fmu.description.log_categories);
        let (functions, pointer) = functions.logged(pointer, name);
        let handle = InstanceHandle::new(functions, pointer, log, fmu.corrupt.clone());
        Ok(Fmi2Instance {
            handle,
            _callbacks: callbacks,
            scratch: Scratch::default(),
            spelling: CText::default(),
            quiet,
            never_back: true,
        })
    }
}

impl Fmi2Instance {
    fn set_whole(
        &mut self,
        kind: VariableType,
        references: &[u32],
        values: &[f64],
    ) -> Result<(), SimulatorError> {
        let (of, count) = (references.as_ptr(), references.len());
        let room = match kind {
            VariableType::Boolean => self.scratch.filled(values, |value| c_int::from(value > 0.5)),
            _ => self.scratch.filled(values, |value| whole(value) as c_int),
        };
        // SAFETY: as many values as references.
        match kind {
            VariableType::Boolean => unsafe { self.handle.set_boolean(of, count, room) },
            _ => unsafe { self.handle.set_integer(of, count, room) },
        }
    }

    fn get_whole(
        &mut self,
        kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError> {
        let (of, count) = (references.as_ptr(), references.len());
        let room = self.scratch.room::<c_int>(count);
        // SAFETY: as many values as references, in the room.
        unsafe {
            match kind {
                VariableType::Boolean => self.handle.get_boolean(of, count, room)?,
                _ => self.handle.get_integer(of, count, room)?,
            }
            self.scratch.read::<c_int>(values, f64::from);
        }
        Ok(())
    }

    /// How far a step came that the FMU did not take whole.
    #[cold]
    fn discarded(&mut self, from: f64, size: f64) -> Result<StepEnd, SimulatorError> {
        let pointer = self.handle.pointer;
        let (mut until, mut terminated) = (f64::NAN, 0);
        if let Some(function) = self.handle.functions.get_boolean_status {
            self.handle.site.enter(function as usize);
            // SAFETY: the instance is alive; the number is ours.
            unsafe { function(pointer, ffi::TERMINATED, &mut terminated) };
        }
        if let Some(function) = self.handle.functions.get_real_status {
            self.handle.site.enter(function as usize);
            // SAFETY: the instance is alive; the number is ours.
            unsafe { function(pointer, ffi::LAST_SUCCESSFUL_TIME, &mut until) };
        }
        self.handle.site.leave();
        if terminated != 0 {
            // Where it does not say how far it came, it stands where it stood.
            let at = if until.is_finite() { until.clamp(from, from + size) } else { from };
            return Ok(StepEnd::Ended(at, "fmi2DoStep"));
        }
        // An FMU that cannot say where it is can only be rewound; that it stands where it stood is what the
        // standard suggests.
        let rounding = ROUNDING * size.max(from.abs());
        if until.is_finite() && until > from + rounding && until < from + size {
            Ok(StepEnd::Until(until))
        } else {
            Err(self.handle.failed("fmi2DoStep", 2))
        }
    }
}

impl Instance for Fmi2Instance {
    by_handle!(states);

    fn set_up(&mut self, start: f64, stop: Option<f64>) -> Result<(), SimulatorError> {
        let (bounded, stop) = (c_int::from(stop.is_some()), stop.unwrap_or(start));
        // SAFETY: nothing but numbers.
        fp_environment::around(|| unsafe { self.handle.setup_experiment(0, 0.0, start, bounded, stop) })
    }

    fn initialise(&mut self) -> Result<(), SimulatorError> {
        // SAFETY: no arguments.
        fp_environment::around(|| unsafe { self.handle.enter_initialization() })
    }

    fn configure(&mut self, setting: &StartValue) -> Result<(), SimulatorError> {
        match &setting.values {
            Values::Numbers(numbers) => self.set(setting.kind, &[setting.reference], numbers),
            Values::Texts(texts) => {
                let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
                // SAFETY: one text per reference, and they live through the call.
                unsafe { self.handle.set_string(&setting.reference, 1, pointers.as_ptr()) }
            }
        }
    }

    #[inline(always)]
    fn set(&mut self, kind: VariableType, references: &[u32], values: &[f64]) -> Result<(), SimulatorError> {
        debug_assert_eq!(references.len(), values.len());
        if kind != VariableType::Float64 {
            return self.set_whole(kind, references, values);
        }
        self.handle.site.enter(self.handle.functions.set_real as usize);
        // SAFETY: the instance is alive; as many values as references.
        let status = unsafe {
            (self.handle.functions.set_real)(
                self.handle.pointer,
                references.as_ptr(),
                references.len(),
                values.as_ptr(),
            )
        };
        self.handle.check_on("fmi2SetReal", status)
    }

    #[inline(always)]
    fn get(
        &mut self,
        kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError> {
        debug_assert_eq!(references.len(), values.len());
        if kind != VariableType::Float64 {
            return self.get_whole(kind, references, values);
        }
        // SAFETY: as many values as references.
        unsafe { self.handle.get_real(references.as_ptr(), references.len(), values.as_mut_ptr()) }
    }

    fn set_parcel(
        &mut self,
        kind: VariableType,
        reference: u32,
        content: &[u8],
    ) -> Result<(), SimulatorError> {
        if kind == VariableType::Binary {
            return Err(absent("SetBinary"));
        }
        let text = self.spelling.of(content)?;
        // SAFETY: the text lives through the call.
        unsafe { self.handle.set_string(&reference, 1, &text) }
    }

    fn get_parcel(
        &mut self,
        kind: VariableType,
        reference: u32,
        into: &mut Vec<u8>,
    ) -> Result<(), SimulatorError> {
        if kind == VariableType::Binary {
            return Err(absent("GetBinary"));
        }
        let mut text = std::ptr::null();
        // SAFETY: the answer is ours; it is a text of the FMU, good until its next call.
        unsafe {
            self.handle.get_string(&reference, 1, &mut text)?;
            copy_text(text, into);
        }
        Ok(())
    }

    fn derivatives(&mut self, of: &[u32], by: u32, into: &mut [f64]) -> Result<(), SimulatorError> {
        debug_assert_eq!(of.len(), into.len());
        let (rows, values) = (of.as_ptr(), into.as_mut_ptr());
        // SAFETY: one seed for one known, as many results as unknowns.
        unsafe { self.handle.directional_derivative(rows, of.len(), &by, 1, &1.0, values) }
    }
}

impl CoSimulationInstance for Fmi2Instance {
    fn set_slopes(
        &mut self,
        references: &[u32],
        orders: &[c_int],
        values: &[f64],
    ) -> Result<(), SimulatorError> {
        debug_assert!(references.len() == orders.len() && orders.len() == values.len());
        let (of, count) = (references.as_ptr(), references.len());
        // SAFETY: as many orders and values as references.
        unsafe { self.handle.set_real_input_derivatives(of, count, orders.as_ptr(), values.as_ptr()) }
    }

    fn promise(&mut self, never_back: bool) {
        self.never_back = never_back;
    }

    #[inline(always)]
    fn step(
        &mut self,
        _base: f64,
        from: f64,
        size: f64,
        _inputs: &Inputs<'_>,
    ) -> Result<StepEnd, SimulatorError> {
        let Some(function) = self.handle.functions.do_step else { return Err(absent("fmi2DoStep")) };
        let pointer = self.handle.pointer;
        let never_back = c_int::from(self.never_back);
        self.handle.site.enter_step(function as usize, from);
        // SAFETY: the instance is alive.
        let status = self.handle.home.around_step(|| unsafe { function(pointer, from, size, never_back) });
        match status {
            0 => Ok(StepEnd::Whole),
            2 => self.discarded(from, size),
            _ => self.handle.check("fmi2DoStep", status).map(|()| StepEnd::Whole),
        }
    }
}
