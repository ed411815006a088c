//! A running FMI 1.0 slave.
//!
//! FMI 1.0 has no initialisation mode: a slave computes its initial values in `fmiInitializeSlave`, from what was set before
//! that call, and outputs can be read only after it. The engine sets inputs, reads outputs and sets the inputs that
//! follow from them. So the slave is initialised when its outputs are read for the first time. Where its inputs are others
//! when initialisation ends, it is made anew with those, once: its initial values are those of its real inputs, and a loop
//! that is solved in many rounds does not make an instance for each of them.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use cosimo_core::{Inputs, SimulatorError};

use crate::call_log;
use crate::description::{Description, FmuUse, VariableType};
use crate::fmi1::ffi::{self, Callbacks, Functions};
use crate::fmi1::logger::{LogRegistration, while_beginning};
use crate::fmu::{Binding, Fmu};
use crate::fp_environment;
use crate::instance::{
    CText, CoSimulationInstance, EndFunctions, EventModeInstance, Instance, InstanceHandle, InstanceState,
    IntermediateInput, NewInstance, Scratch, StartValue, StepEnd, Values, VersionFunctions, absent,
    by_handle, c_string, copy_text, other_version, refusal, uri, whole,
};
use crate::log::MessageLog;
use crate::site::CallNames;

#[derive(Debug)]
pub(crate) struct Fmi1Instance {
    /// First, so that the instance is gone before what it points to.
    handle: InstanceHandle<Functions>,
    /// Dropped after the instance, which may log while it is freed.
    listening: Option<LogRegistration>,
    origin: InstanceOrigin,
    start: StartRecord,
    negated: NegatedAliases,
    scratch: Scratch,
    spelling: CText,
}

// SAFETY: an instance is made, used and freed through one owner at a time; nothing in it belongs to a thread.
// The engine keeps one thread per simulator, so the FMU sees one thread from its first call on.
unsafe impl Send for Fmi1Instance {}

/// What an instance is made of.
#[derive(Debug)]
struct InstanceOrigin {
    functions: Functions,
    name: String,
    name_in_c: CString,
    token: CString,
    location: CString,
    /// The FMU allows one instance per process: it is not made a second time.
    once: bool,
}

impl InstanceOrigin {
    /// The slave itself, null where it refuses, and what connects it with its log.
    fn make(&self, log: &Arc<MessageLog>) -> (*mut c_void, Option<LogRegistration>) {
        let callbacks = Callbacks {
            logger: ffi::cosimo_fmi1_logger,
            allocate: crate::fmi2::ffi::calloc,
            free: crate::fmi2::ffi::free,
            step_finished: std::ptr::null(),
        };
        // SAFETY: all texts live through the call; the callbacks are functions, which live for ever.
        let instantiate = || {
            fp_environment::around(|| unsafe {
                (self.functions.instantiate)(
                    self.name_in_c.as_ptr(),
                    self.token.as_ptr(),
                    self.location.as_ptr(),
                    ffi::MIME_TYPE.as_ptr(),
                    // Wait as long as it takes; no windows, no questions; tell what is wrong.
                    0.0,
                    0,
                    0,
                    callbacks,
                    1,
                )
            })
        };
        let pointer = while_beginning(log, || {
            call_log::instantiate(&self.name, "fmiInstantiateSlave", &self.token, &self.location, instantiate)
        });
        (pointer, (!pointer.is_null()).then(|| LogRegistration::to(pointer, &self.name, log)))
    }
}

/// What was told before the first step, to tell it to another instance.
#[derive(Debug, Default)]
struct StartRecord {
    time: f64,
    stop: Option<f64>,
    settings: Vec<StartValue>,
    /// The latest of each call.
    numbers: Vec<(VariableType, Vec<u32>, Vec<f64>)>,
    texts: Vec<(u32, CString)>,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// It was not initialised yet.
    #[default]
    Telling,
    Initialised,
    /// Something was set to another value since.
    Changed,
    /// Time passes.
    Running,
}

/// Variables that are the negative of another one have numbers of their own here.
#[derive(Debug, Default)]
struct NegatedAliases {
    /// Own number and value reference, sorted.
    pairs: Box<[(u32, u32)]>,
    references: Vec<u32>,
    values: Vec<f64>,
}

impl NegatedAliases {
    fn of(description: &Description) -> NegatedAliases {
        let pairs = description.variables.iter();
        let mut pairs: Vec<_> = pairs.filter_map(|it| Some((it.reference, it.negated?))).collect();
        pairs.sort_unstable();
        NegatedAliases { pairs: pairs.into(), ..NegatedAliases::default() }
    }

    fn find(&self, reference: u32) -> Option<u32> {
        let place = self.pairs.binary_search_by_key(&reference, |(own, _)| *own).ok()?;
        Some(self.pairs[place].1)
    }

    fn concerns(&self, references: &[u32]) -> bool {
        !self.pairs.is_empty() && references.iter().any(|reference| self.find(*reference).is_some())
    }

    /// The references as the FMU knows them, and the values with their signs.
    fn translate(&mut self, kind: VariableType, references: &[u32], values: &[f64]) {
        self.references.clear();
        self.values.clear();
        for (reference, value) in references.iter().zip(values) {
            let written = self.find(*reference);
            self.references.push(written.unwrap_or(*reference));
            self.values.push(if written.is_some() { negative(kind, *value) } else { *value });
        }
    }
}

/// Minus a number, without a negative zero; a Boolean the other way round.
fn negative(kind: VariableType, value: f64) -> f64 {
    if kind == VariableType::Boolean { 1.0 - value } else { 0.0 - value }
}

impl VersionFunctions for Functions {
    fn names(&self) -> CallNames {
        Functions::names(self)
    }

    fn ending(&self) -> EndFunctions {
        EndFunctions { free_state: None, terminate: self.terminate, free_instance: self.free_instance }
    }
}

impl NewInstance for Fmi1Instance {
    fn instantiate(
        binding: Binding,
        fmu: &Fmu,
        usage: FmuUse,
        name: &str,
        _fed: &[IntermediateInput],
    ) -> Result<Fmi1Instance, SimulatorError> {
        let Binding::One(functions) = binding else { return Err(other_version("fmiInstantiateSlave")) };
        let log = Arc::new(MessageLog::new(name));
        let origin = InstanceOrigin {
            functions,
            name: name.to_owned(),
            name_in_c: c_string(name),
            token: c_string(&fmu.description.token),
            location: c_string(&uri(&fmu.location()?)),
            once: fmu.capabilities(usage).once_per_process,
        };
        let (pointer, listening) = origin.make(&log);
        if pointer.is_null() {
            return Err(SimulatorError::new("fmiInstantiateSlave", refusal(fmu, usage, &log)));
        }
        let (functions, pointer) = functions.logged(pointer, name);
        Ok(Fmi1Instance {
            handle: InstanceHandle::new(functions, pointer, log, fmu.corrupt.clone()),
            listening,
            origin,
            start: StartRecord::default(),
            negated: NegatedAliases::of(&fmu.description),
            scratch: Scratch::default(),
            spelling: CText::default(),
        })
    }
}

impl Fmi1Instance {
    fn initialize(&mut self) -> Result<(), SimulatorError> {
        let StartRecord { time, stop, .. } = self.start;
        let (bounded, stop) = (stop.is_some() as ffi::Bool, stop.unwrap_or(time));
        // SAFETY: nothing but numbers.
        fp_environment::around(|| unsafe { self.handle.initialize(time, bounded, stop) })?;
        self.handle.life = InstanceState::Stepping;
        self.start.phase = Phase::Initialised;
        Ok(())
    }

    /// Outputs can be read.
    #[cold]
    fn come_up(&mut self) -> Result<(), SimulatorError> {
        if self.start.phase == Phase::Telling { self.initialize() } else { Ok(()) }
    }

    /// Another instance that was told the same.
    fn make_anew(&mut self) -> Result<(), SimulatorError> {
        let (functions, pointer) = (self.handle.functions, self.handle.pointer);
        // Until there is another one, there is nothing to free.
        self.handle.life = InstanceState::Fatal;
        // SAFETY: the instance is alive, it was initialised, and it is replaced before anything uses it again.
        fp_environment::around(|| unsafe {
            functions.ending().close(pointer, &mut [], true, self.handle.site)
        });
        self.listening = None;
        let (pointer, listening) = self.origin.make(&self.handle.log);
        if pointer.is_null() {
            let words = format!(
                "the slave was initialised before its inputs were known, and cannot be instantiated again{}",
                self.handle.log.tail()
            );
            return Err(SimulatorError::new("fmiInstantiateSlave", words));
        }
        self.listening = listening;
        (self.handle.functions, self.handle.pointer) =
            self.origin.functions.logged(pointer, &self.origin.name);
        self.handle.life = InstanceState::Instantiated;
        let StartRecord { time, stop, settings, numbers, texts, .. } = std::mem::take(&mut self.start);
        let told = settings.iter().try_for_each(|setting| self.set_start_value(setting));
        let told = told.and_then(|()| {
            numbers.iter().try_for_each(|(kind, references, values)| self.set_all(*kind, references, values))
        });
        let told = told.and_then(|()| {
            texts.iter().try_for_each(|(reference, text)| self.set_text(*reference, text.as_ptr()))
        });
        self.start = StartRecord { time, stop, settings, numbers, texts, phase: Phase::Telling };
        told
    }

    /// Keeps what is set before the first step. Afterwards nothing is kept, and nothing allocated.
    #[cold]
    fn note(&mut self, kind: VariableType, references: &[u32], values: &[f64]) {
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let known = self.start.numbers.iter_mut().find(|(k, r, _)| *k == kind && r == references);
        let changed = match known {
            Some((_, _, old)) if bits(old) == bits(values) => false,
            Some((_, _, old)) => {
                old.copy_from_slice(values);
                true
            }
            None => {
                self.start.numbers.push((kind, references.to_vec(), values.to_vec()));
                true
            }
        };
        self.changed(changed);
    }

    fn changed(&mut self, changed: bool) {
        if changed && self.start.phase == Phase::Initialised {
            self.start.phase = Phase::Changed;
        }
    }

    fn set_start_value(&mut self, setting: &StartValue) -> Result<(), SimulatorError> {
        match &setting.values {
            Values::Numbers(numbers) => self.set_all(setting.kind, &[setting.reference], numbers),
            Values::Texts(texts) => {
                texts.iter().try_for_each(|text| self.set_text(setting.reference, text.as_ptr()))
            }
        }
    }

    fn set_text(&mut self, reference: u32, text: *const c_char) -> Result<(), SimulatorError> {
        // SAFETY: one text that lives through the call.
        unsafe { self.handle.set_string(&reference, 1, &text) }
    }

    /// Numbers of whatever type, with those that are negatives of others.
    #[inline]
    fn set_all(
        &mut self,
        kind: VariableType,
        references: &[u32],
        values: &[f64],
    ) -> Result<(), SimulatorError> {
        if !self.negated.concerns(references) {
            return self.set_plain(kind, references, values);
        }
        let mut negated = std::mem::take(&mut self.negated);
        negated.translate(kind, references, values);
        let outcome = self.set_plain(kind, &negated.references, &negated.values);
        self.negated = negated;
        outcome
    }

    #[inline]
    fn set_plain(
        &mut self,
        kind: VariableType,
        references: &[u32],
        values: &[f64],
    ) -> Result<(), SimulatorError> {
        debug_assert_eq!(references.len(), values.len());
        let (of, count) = (references.as_ptr(), references.len());
        // SAFETY: the instance is alive; as many values as references.
        unsafe {
            match kind {
                VariableType::Float64 => {
                    let function = self.handle.functions.set_real.ok_or_else(|| absent("fmiSetReal"))?;
                    self.handle.site.enter(function as usize);
                    let status = function(self.handle.pointer, of, count, values.as_ptr());
                    self.handle.check_on("fmiSetReal", status)
                }
                VariableType::Boolean => {
                    let room = self.scratch.filled(values, |value| (value > 0.5) as ffi::Bool);
                    self.handle.set_boolean(of, count, room)
                }
                _ => {
                    let room = self.scratch.filled(values, |value| whole(value) as c_int);
                    self.handle.set_integer(of, count, room)
                }
            }
        }
    }

    #[inline]
    fn get_plain(
        &mut self,
        kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError> {
        debug_assert_eq!(references.len(), values.len());
        let (of, count) = (references.as_ptr(), references.len());
        // SAFETY: as many values as references, in the room.
        unsafe {
            match kind {
                VariableType::Float64 => self.handle.get_real(of, count, values.as_mut_ptr())?,
                VariableType::Boolean => {
                    self.handle.get_boolean(of, count, self.scratch.room(count))?;
                    self.scratch.read(values, |value: ffi::Bool| f64::from(u8::from(value != 0)));
                }
                _ => {
                    self.handle.get_integer(of, count, self.scratch.room(count))?;
                    self.scratch.read::<c_int>(values, f64::from);
                }
            }
        }
        Ok(())
    }

    /// What became of a step that goes on after `fmiDoStep` has returned.
    #[cold]
    fn wait(&mut self) -> Result<c_int, SimulatorError> {
        let name = "fmiGetStatus";
        let function = self.handle.functions.get_status.ok_or_else(|| absent(name))?;
        let mut pause = Duration::from_micros(10);
        loop {
            let mut status = ffi::PENDING;
            self.handle.site.enter(function as usize);
            // SAFETY: the instance is alive; the answer is ours.
            let outcome = unsafe { function(self.handle.pointer, ffi::DO_STEP_STATUS, &mut status) };
            self.handle.site.leave();
            if outcome > 1 {
                return Err(self.handle.failed(name, outcome));
            }
            if status != ffi::PENDING {
                return Ok(status);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(2));
        }
    }

    /// How far a step came that the slave did not take whole.
    #[cold]
    fn discarded(&mut self, from: f64, size: f64) -> Result<StepEnd, SimulatorError> {
        let mut until = f64::NAN;
        if let Some(function) = self.handle.functions.get_real_status {
            self.handle.site.enter(function as usize);
            // SAFETY: the instance is alive; the number is ours.
            let status = unsafe { function(self.handle.pointer, ffi::LAST_SUCCESSFUL_TIME, &mut until) };
            self.handle.site.leave();
            if status > 1 {
                until = f64::NAN;
            }
        }
        if until > from && until < from + size {
            Ok(StepEnd::Until(until))
        } else {
            Err(self.handle.failed("fmiDoStep", 2))
        }
    }
}

impl Instance for Fmi1Instance {
    by_handle!();

    /// The call that tells the experiment also initialises, so it waits until inputs are known.
    fn set_up(&mut self, start: f64, stop: Option<f64>) -> Result<(), SimulatorError> {
        (self.start.time, self.start.stop) = (start, stop);
        Ok(())
    }

    fn initialise(&mut self) -> Result<(), SimulatorError> {
        Ok(())
    }

    fn ready(&mut self) -> Result<(), SimulatorError> {
        if self.start.phase == Phase::Changed && !self.origin.once {
            self.make_anew()?;
        }
        self.come_up()?;
        self.start.phase = Phase::Running;
        Ok(())
    }

    fn configure(&mut self, setting: &StartValue) -> Result<(), SimulatorError> {
        self.start.settings.push(setting.clone());
        self.set_start_value(setting)
    }

    #[inline]
    fn set(&mut self, kind: VariableType, references: &[u32], values: &[f64]) -> Result<(), SimulatorError> {
        if self.start.phase != Phase::Running {
            self.note(kind, references, values);
        }
        self.set_all(kind, references, values)
    }

    #[inline]
    fn get(
        &mut self,
        kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError> {
        if self.start.phase != Phase::Running {
            self.come_up()?;
        }
        if !self.negated.concerns(references) {
            return self.get_plain(kind, references, values);
        }
        let mut negated = std::mem::take(&mut self.negated);
        negated.translate(kind, references, values);
        let outcome = self.get_plain(kind, &negated.references, values);
        for (reference, value) in references.iter().zip(values.iter_mut()) {
            if negated.find(*reference).is_some() {
                *value = negative(kind, *value);
            }
        }
        self.negated = negated;
        outcome
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
        if self.start.phase != Phase::Running
            && let Ok(text) = CString::new(content)
        {
            let known = self.start.texts.iter_mut().find(|(known, _)| *known == reference);
            let changed = known.as_ref().is_none_or(|(_, old)| *old != text);
            match known {
                Some((_, old)) => *old = text,
                None => self.start.texts.push((reference, text)),
            }
            self.changed(changed);
        }
        self.set_text(reference, text)
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
        if self.start.phase != Phase::Running {
            self.come_up()?;
        }
        let mut text = std::ptr::null();
        // SAFETY: the answer is ours; it is a text of the FMU, good until its next call.
        unsafe {
            self.handle.get_string(&reference, 1, &mut text)?;
            copy_text(text, into);
        }
        Ok(())
    }
}

impl CoSimulationInstance for Fmi1Instance {
    fn set_slopes(
        &mut self,
        references: &[u32],
        orders: &[c_int],
        values: &[f64],
    ) -> Result<(), SimulatorError> {
        debug_assert!(references.len() == orders.len() && orders.len() == values.len());
        let (mut told, mut slopes) = (references, values);
        if self.negated.concerns(references) {
            self.negated.translate(VariableType::Float64, references, values);
            (told, slopes) = (&self.negated.references, &self.negated.values);
        }
        let (of, count) = (told.as_ptr(), told.len());
        // SAFETY: as many orders and values as references.
        unsafe { self.handle.set_real_input_derivatives(of, count, orders.as_ptr(), slopes.as_ptr()) }
    }

    /// FMI 1.0 saves no states, so there is nothing to promise.
    fn promise(&mut self, _never_back: bool) {}

    #[inline]
    fn step(
        &mut self,
        _base: f64,
        from: f64,
        size: f64,
        _inputs: &Inputs<'_>,
    ) -> Result<StepEnd, SimulatorError> {
        let (function, pointer) = (self.handle.functions.do_step, self.handle.pointer);
        self.handle.site.enter_step(function as usize, from);
        // Every step is a new one: those that were taken are never repeated.
        // SAFETY: the instance is alive.
        let mut status = self.handle.home.around_step(|| unsafe { function(pointer, from, size, 1) });
        if status == ffi::PENDING {
            status = self.wait()?;
        }
        match status {
            0 => Ok(StepEnd::Whole),
            2 => self.discarded(from, size),
            _ => self.handle.check("fmiDoStep", status).map(|()| StepEnd::Whole),
        }
    }
}

// FMI 1.0 has no event mode in co-simulation.
impl EventModeInstance for Fmi1Instance {}
