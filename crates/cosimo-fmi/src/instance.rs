//! One running FMU, whatever its version: what the simulator asks of it, and what both versions share.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cosimo_core::{Inputs, SimulatorError, Slot};
use cosimo_native::CompletedStep;

use crate::description::{FmuUse, VariableType};
use crate::fmu::{Binding, Fmu};
use crate::fp_environment::{self, RoundingMode};
use crate::log::{MessageLog, status_word};
use crate::site::{CallNames, Site};

/// A value to be set before the FMU initialises.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StartValue {
    pub(crate) reference: u32,
    pub(crate) kind: VariableType,
    pub(crate) values: Values,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Values {
    Numbers(Vec<f64>),
    Texts(Vec<CString>),
}

/// Instants of an FMU and of ours that differ by less than this part of a step or of the time are one.
pub(crate) const ROUNDING: f64 = 1e-9;

/// How far a step came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StepEnd {
    Whole,
    Until(f64),
    /// To an event, which is to be handled there.
    Event(f64),
    /// To where the FMU asks to end the simulation, by a function.
    Ended(f64, &'static str),
}

/// An input that an FMU asks for inside of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IntermediateInput {
    pub(crate) reference: u32,
    pub(crate) port: usize,
    /// If it is the wave of a line that the FMU stretches itself: the effort of that end, and the variable that says by
    /// how much.
    pub(crate) stretched: Option<(usize, u32)>,
}

/// An instance that one FMU makes.
pub(crate) trait NewInstance: Instance + Sized {
    fn instantiate(
        binding: Binding,
        fmu: &Fmu,
        usage: FmuUse,
        name: &str,
        fed: &[IntermediateInput],
    ) -> Result<Self, SimulatorError>;
}

/// All calls of one instance come from one thread.
pub(crate) trait Instance: Send {
    fn life(&self) -> InstanceState;

    /// Goes on after an error of a call whose answer is not needed; `life` is what there was before it.
    fn forgive(&mut self, life: InstanceState);

    /// Sets up the experiment. Parameters are set after it: FMUs exist that reset them there.
    fn set_up(&mut self, start: f64, stop: Option<f64>) -> Result<(), SimulatorError>;

    /// Enters initialisation mode.
    fn initialise(&mut self) -> Result<(), SimulatorError>;

    /// From the instance as it was made into initialisation mode.
    fn enter(
        &mut self,
        start: f64,
        stop: Option<f64>,
        settings: &[StartValue],
    ) -> Result<(), SimulatorError> {
        self.set_up(start, stop)?;
        settings.iter().try_for_each(|setting| self.configure(setting))?;
        self.initialise()
    }

    /// Leaves initialisation mode.
    fn ready(&mut self) -> Result<(), SimulatorError>;

    fn configure(&mut self, setting: &StartValue) -> Result<(), SimulatorError>;

    fn set(&mut self, kind: VariableType, references: &[u32], values: &[f64]) -> Result<(), SimulatorError>;

    fn get(
        &mut self,
        kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError>;

    /// A text or bytes; a text is without NUL, which ends it in C.
    fn set_parcel(
        &mut self,
        kind: VariableType,
        reference: u32,
        content: &[u8],
    ) -> Result<(), SimulatorError>;

    /// Overwrites `into`.
    fn get_parcel(
        &mut self,
        kind: VariableType,
        reference: u32,
        into: &mut Vec<u8>,
    ) -> Result<(), SimulatorError>;

    // FMI 1.0 has neither states nor directional derivatives.
    fn save(&mut self, _slot: Slot) -> Result<(), SimulatorError> {
        Err(absent("GetFMUstate"))
    }

    fn restore(&mut self, _slot: Slot) -> Result<(), SimulatorError> {
        Err(absent("SetFMUstate"))
    }

    fn freeze(&mut self, _into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        Err(absent("SerializeFMUstate"))
    }

    fn thaw(&mut self, _from: &[u8]) -> Result<(), SimulatorError> {
        Err(absent("DeSerializeFMUstate"))
    }

    /// Derivatives of some outputs by one input.
    fn derivatives(&mut self, _of: &[u32], _by: u32, _into: &mut [f64]) -> Result<(), SimulatorError> {
        Err(absent("GetDirectionalDerivative"))
    }
}

/// What only an instance for co-simulation can do.
pub(crate) trait CoSimulationInstance: NewInstance + EventModeInstance {
    /// Derivatives of inputs by time, for the coming step.
    fn set_slopes(
        &mut self,
        references: &[u32],
        orders: &[c_int],
        values: &[f64],
    ) -> Result<(), SimulatorError>;

    /// Whether from now on every step is final: no state will be restored that was saved before its start.
    fn promise(&mut self, never_back: bool);

    /// `inputs` are for FMUs that ask for them inside the step; they count from `base`.
    fn step(
        &mut self,
        base: f64,
        from: f64,
        size: f64,
        inputs: &Inputs<'_>,
    ) -> Result<StepEnd, SimulatorError>;

    // The rest is for FMUs of FMI 3.0 with an event mode, and for their clocks.
    fn enter_step_mode(&mut self) -> Result<(), SimulatorError> {
        Err(absent("EnterStepMode"))
    }

    fn set_clocks(&mut self, _references: &[u32], _values: &[u8]) -> Result<(), SimulatorError> {
        Err(absent("SetClock"))
    }

    fn get_clocks(&mut self, _references: &[u32], _values: &mut [u8]) -> Result<(), SimulatorError> {
        Err(absent("GetClock"))
    }

    /// Seconds from tick to tick, or to the next one.
    fn interval(&mut self, _reference: u32) -> Result<(f64, IntervalQualifier), SimulatorError> {
        Err(absent("GetIntervalDecimal"))
    }

    /// Seconds from the start to the first tick, if the FMU has a word for it.
    fn shift(&mut self, _reference: u32) -> Result<Option<f64>, SimulatorError> {
        Err(absent("GetShiftDecimal"))
    }
}

/// The interval of a clock with its qualifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntervalQualifier {
    NotYetKnown,
    Unchanged,
    Changed,
}

/// What an instance with an event mode can do.
pub(crate) trait EventModeInstance: Instance {
    fn enter_event_mode(&mut self) -> Result<(), SimulatorError> {
        Err(absent("EnterEventMode"))
    }

    /// One round of the event iteration.
    fn update(&mut self) -> Result<EventUpdate, SimulatorError> {
        Err(absent("UpdateDiscreteStates"))
    }
}

/// What only an instance for model exchange can do. Its equations are asked for anywhere, so that calls are small:
/// an integrator makes them by the thousand.
pub(crate) trait ModelExchangeInstance: EventModeInstance {
    fn set_time(&mut self, t: f64) -> Result<(), SimulatorError>;

    fn set_states(&mut self, x: &[f64]) -> Result<(), SimulatorError>;

    fn states(&mut self, x: &mut [f64]) -> Result<(), SimulatorError>;

    fn nominals(&mut self, x: &mut [f64]) -> Result<(), SimulatorError>;

    fn slopes(&mut self, dx: &mut [f64]) -> Result<(), SimulatorError>;

    fn indicators(&mut self, z: &mut [f64]) -> Result<(), SimulatorError>;

    /// `CompletedIntegratorStep`, and its answer.
    fn completed_step(&mut self, never_back: bool) -> Result<CompletedStep, SimulatorError>;

    fn enter_continuous_time(&mut self) -> Result<(), SimulatorError>;
}

/// What a round of the event iteration came to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct EventUpdate {
    /// Another round is needed.
    pub(crate) again: bool,
    pub(crate) states_changed: bool,
    pub(crate) nominals_changed: bool,
    pub(crate) next_event: Option<f64>,
    /// The function that asks to end the simulation; then no further round is due.
    pub(crate) ended: Option<&'static str>,
}

/// What may still be done with an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstanceState {
    Instantiated,
    Stepping,
    /// It can only be freed.
    Failed,
    /// Not even that.
    Fatal,
}

/// The functions of a version of FMI, as far as every version has them.
pub(crate) trait VersionFunctions {
    /// The functions with their names.
    fn names(&self) -> CallNames;

    fn ending(&self) -> EndFunctions;
}

/// How an instance ends.
pub(crate) struct EndFunctions {
    pub(crate) free_state: Option<unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int>,
    pub(crate) terminate: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub(crate) free_instance: unsafe extern "C" fn(*mut c_void),
}

impl EndFunctions {
    /// Frees the states that are not null, terminates where that is due, and frees the instance.
    ///
    /// # Safety
    /// The instance is alive, the states are its own, and nothing uses any of them again.
    pub(crate) unsafe fn close(
        &self,
        pointer: *mut c_void,
        states: &mut [*mut c_void],
        terminate: bool,
        site: &Site,
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(free) = self.free_state {
                site.enter(free as usize);
                for state in states.iter_mut().filter(|state| !state.is_null()) {
                    free(pointer, state);
                }
            }
            if terminate {
                site.enter(self.terminate as usize);
                (self.terminate)(pointer);
            }
            site.enter(self.free_instance as usize);
            (self.free_instance)(pointer);
        }
        site.leave();
    }
}

impl<F: VersionFunctions> Drop for InstanceHandle<F> {
    fn drop(&mut self) {
        // The standard forbids every further call after a fatal one, also to other instances of the same FMU.
        if self.life != InstanceState::Fatal && !self.corrupt.load(Ordering::Relaxed) {
            let (terminate, site) = (self.life == InstanceState::Stepping, self.site);
            // SAFETY: the instance is alive until here, and its owner is being dropped.
            fp_environment::around(|| unsafe {
                self.functions.ending().close(self.pointer, &mut self.states, terminate, site);
            });
        }
        self.site.give_back();
    }
}

/// An instance of either version: the pointer, the functions, and the saved states. Freed when dropped.
#[derive(Debug)]
pub(crate) struct InstanceHandle<F: VersionFunctions> {
    pub(crate) functions: F,
    pub(crate) pointer: *mut c_void,
    pub(crate) log: Arc<MessageLog>,
    /// Which call it is in.
    pub(crate) site: &'static Site,
    pub(crate) life: InstanceState,
    /// Of all instances of the FMU: one of them failed for good.
    corrupt: Arc<AtomicBool>,
    /// Of the thread that made it and makes all its calls.
    pub(crate) home: RoundingMode,
    /// One per slot, and one for bytes. The FMU allocates a state once and overwrites it from then on.
    pub(crate) states: [*mut c_void; Slot::COUNT + 1],
}

/// The place of the state that is turned into bytes.
pub(crate) const FOR_BYTES: usize = Slot::COUNT;

impl<F: VersionFunctions> InstanceHandle<F> {
    pub(crate) fn new(
        functions: F,
        pointer: *mut c_void,
        log: Arc<MessageLog>,
        corrupt: Arc<AtomicBool>,
    ) -> InstanceHandle<F> {
        let states = [std::ptr::null_mut(); Slot::COUNT + 1];
        let home = RoundingMode::of_this_thread();
        let site = Site::take(log.instance(), functions.names());
        InstanceHandle {
            functions,
            pointer,
            log,
            site,
            life: InstanceState::Instantiated,
            corrupt,
            home,
            states,
        }
    }

    #[inline(always)]
    pub(crate) fn check(&mut self, function: &'static str, status: c_int) -> Result<(), SimulatorError> {
        self.site.leave();
        self.check_on(function, status)
    }

    /// The same where the next call follows at once, and is noted instead of this one.
    #[inline(always)]
    pub(crate) fn check_on(&mut self, function: &'static str, status: c_int) -> Result<(), SimulatorError> {
        if status == 0 { Ok(()) } else { self.not_ok(function, status) }
    }

    /// A warning is no error: the FMU did what it was asked to do. It is counted.
    #[cold]
    fn not_ok(&mut self, function: &'static str, status: c_int) -> Result<(), SimulatorError> {
        if status == 1 {
            self.log.warned(function);
            return Ok(());
        }
        Err(self.failed(function, status))
    }

    #[cold]
    pub(crate) fn failed(&mut self, function: &'static str, status: c_int) -> SimulatorError {
        self.site.leave();
        match status {
            2 => {}
            4 => {
                self.life = InstanceState::Fatal;
                self.corrupt.store(true, Ordering::Relaxed);
            }
            _ if self.life != InstanceState::Fatal => self.life = InstanceState::Failed,
            _ => {}
        }
        let word = status_word(status);
        let message = format!("the FMU returned `{word}`{}", self.log.tail());
        match status {
            2 => SimulatorError::discard(function, message),
            _ => SimulatorError::new(function, message),
        }
    }
}

/// A function that the library does not have, although a variable or a capability calls for it.
#[cold]
pub(crate) fn absent(function: &'static str) -> SimulatorError {
    SimulatorError::new(function, "the FMU's library does not have this function")
}

/// Why instantiation failed, from log messages and the description.
#[cold]
pub(crate) fn refusal(fmu: &Fmu, usage: FmuUse, log: &MessageLog) -> String {
    let tool = match fmu.description.generation_tool.as_str() {
        _ if !fmu.capabilities(usage).needs_execution_tool => String::new(),
        "" => " (it requires the exporting tool)".into(),
        tool => format!(" (it requires the exporting tool: {tool})"),
    };
    format!("the FMU could not be instantiated{tool}{}", log.tail())
}

/// Functions of the version that the description does not name.
#[cold]
pub(crate) fn other_version(function: &'static str) -> SimulatorError {
    SimulatorError::new(function, "the library was loaded as another version of FMI")
}

/// What an instance lets its handle do, alike in all versions and, with `states`, in those that have states.
macro_rules! by_handle {
    () => {
        fn life(&self) -> InstanceState {
            self.handle.life
        }

        fn forgive(&mut self, life: InstanceState) {
            if self.handle.life == InstanceState::Failed {
                self.handle.life = life;
            }
        }
    };
    (states) => {
        by_handle!();

        fn ready(&mut self) -> Result<(), SimulatorError> {
            // SAFETY: no arguments.
            fp_environment::around(|| unsafe { self.handle.exit_initialization() })?;
            self.handle.life = InstanceState::Stepping;
            if let (Some(quiet), Some(function)) = (&self.quiet, self.handle.functions.set_debug_logging) {
                let names: Vec<*const c_char> = quiet.iter().map(|name| name.as_ptr()).collect();
                // Only a wish: what it answers does not matter.
                self.handle.site.enter(function as usize);
                // SAFETY: the instance is alive, the names live through the call.
                unsafe { function(self.handle.pointer, true.into(), names.len(), names.as_ptr()) };
                self.handle.site.leave();
            }
            Ok(())
        }

        fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
            self.handle.keep(slot.index())
        }

        fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
            self.handle.bring_back(slot.index())
        }

        fn freeze(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
            self.handle.freeze_state(into)
        }

        fn thaw(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
            self.handle.thaw_state(from)
        }
    };
}
pub(crate) use by_handle;

/// Saving, restoring and bytes: the same in both versions that have states, but for the type of a byte.
macro_rules! states {
    ($functions:ty, $size:literal) => {
        impl VersionFunctions for $functions {
            fn names(&self) -> $crate::site::CallNames {
                <$functions>::names(self)
            }

            fn ending(&self) -> $crate::instance::EndFunctions {
                let Functions { free_state, terminate, free_instance, .. } = *self;
                $crate::instance::EndFunctions { free_state, terminate, free_instance }
            }
        }

        impl InstanceHandle<$functions> {
            fn keep(&mut self, place: usize) -> Result<(), SimulatorError> {
                let state = &raw mut self.states[place];
                // SAFETY: the place holds null or a state that the FMU itself made, which it may reuse.
                unsafe { self.get_state(state) }
            }

            fn bring_back(&mut self, place: usize) -> Result<(), SimulatorError> {
                let state = self.states[place];
                if state.is_null() && self.functions.set_state.is_some() {
                    return Err(SimulatorError::new("restore", "no state was saved"));
                }
                // SAFETY: the state was made by the instance.
                unsafe { self.set_state(state) }
            }

            fn freeze_state(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
                self.keep(FOR_BYTES)?;
                let (state, mut size) = (self.states[FOR_BYTES], 0);
                // SAFETY: the state was made by the instance.
                unsafe { self.serialized_size(state, &mut size)? };
                if size > 1 << 40 {
                    let message = format!("implausible size of the serialized state: {size} bytes");
                    return Err(SimulatorError::new($size, message));
                }
                let start = into.len();
                into.resize(start + size, 0);
                // SAFETY: as above; behind the pointer are `size` bytes of our own.
                unsafe { self.serialize(state, into[start..].as_mut_ptr().cast(), size) }
            }

            fn thaw_state(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
                let state = &raw mut self.states[FOR_BYTES];
                // SAFETY: the bytes are ours and so many; the state is null or the FMU's.
                unsafe { self.deserialize(from.as_ptr().cast(), from.len(), state)? };
                self.bring_back(FOR_BYTES)
            }
        }
    };
}
pub(crate) use states;

/// A text with the NUL that C wants, without allocating while it grows no longer.
#[derive(Debug, Default)]
pub(crate) struct CText(Vec<u8>);

impl CText {
    pub(crate) fn of(&mut self, text: &[u8]) -> Result<*const c_char, SimulatorError> {
        if text.contains(&0) {
            return Err(SimulatorError::new("set text", "a string must not contain a NUL character"));
        }
        self.0.clear();
        self.0.extend_from_slice(text);
        self.0.push(0);
        Ok(self.0.as_ptr().cast())
    }
}

/// Copies a text that belongs to an FMU.
///
/// # Safety
/// The pointer is null or leads to a text that ends.
pub(crate) unsafe fn copy_text(text: *const c_char, into: &mut Vec<u8>) {
    into.clear();
    if !text.is_null() {
        // SAFETY: as promised.
        into.extend_from_slice(unsafe { CStr::from_ptr(text) }.to_bytes());
    }
}

/// Numbers in another form than double, without allocating after the first time.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Vec<u64>);

impl Scratch {
    /// Room for `count` values of a type that is no larger than 8 bytes.
    pub(crate) fn room<T>(&mut self, count: usize) -> *mut T {
        const { assert!(size_of::<T>() <= 8 && align_of::<T>() <= 8) };
        if self.0.len() < count {
            self.0.resize(count, 0);
        }
        self.0.as_mut_ptr().cast()
    }

    /// Values in another form.
    pub(crate) fn filled<T>(&mut self, values: &[f64], convert: impl Fn(f64) -> T) -> *const T {
        let room: *mut T = self.room(values.len());
        for (place, value) in values.iter().enumerate() {
            // SAFETY: there is room for so many.
            unsafe { room.add(place).write(convert(*value)) };
        }
        room
    }

    /// Takes values back.
    ///
    /// # Safety
    /// There was [`Scratch::room`] for so many, and any bits are a `T`.
    pub(crate) unsafe fn read<T>(&self, values: &mut [f64], convert: impl Fn(T) -> f64) {
        let room = self.0.as_ptr().cast::<T>();
        for (place, value) in values.iter_mut().enumerate() {
            // SAFETY: as promised; all of it is initialised.
            *value = convert(unsafe { room.add(place).read() });
        }
    }
}

/// The nearest whole number; a value between two is the mark of an assumption about a whole-numbered input.
pub(crate) fn whole(value: f64) -> f64 {
    value.round()
}

/// Categories that are worth their cost during the run, if the FMU has others that are not. An FMU without such is
/// left alone: some tell their failures under a category that they do not declare.
pub(crate) fn failures_only(categories: &[String]) -> Option<Vec<CString>> {
    const WANTED: [&str; 4] = ["logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal"];
    let costly =
        |name: &String| !WANTED.contains(&name.as_str()) && name != "logAll" && name != "logStatusPending";
    if !categories.iter().any(costly) {
        return None;
    }
    let found: Vec<CString> = categories
        .iter()
        .filter(|name| WANTED.contains(&name.as_str()))
        .filter_map(|name| CString::new(name.as_str()).ok())
        .collect();
    (!found.is_empty()).then_some(found)
}

/// `file:///..` with everything spelled by number that may not stand there as it is, and no more: few FMUs read it.
pub(crate) fn uri(path: &Path) -> String {
    let mut text = String::from("file://");
    let path = path.to_string_lossy().replace('\\', "/");
    if !path.starts_with('/') {
        text.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(byte.into()),
            _ if b"/-_.~:@!$&'()*+,;=".contains(&byte) => text.push(byte.into()),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_a_uri_that_any_path_fits_into() {
        assert_eq!(uri(Path::new("/tmp/a b/ö#/resources")), "file:///tmp/a%20b/%C3%B6%23/resources");
        assert_eq!(uri(Path::new("/home/a@b.c/(1)")), "file:///home/a@b.c/(1)");
        assert_eq!(uri(Path::new("C:\\a\\resources")), "file:///C:/a/resources");
    }
}
