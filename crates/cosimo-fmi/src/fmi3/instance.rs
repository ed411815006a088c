//! A running FMI 3.0 FMU.
//!
//! An FMU with intermediate updates requests its inputs inside the step, so it follows whole segments.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::MAIN_SEPARATOR_STR;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosimo_core::{Inputs, LineEnd, Segment, SimulatorError, Slot};

use crate::call_log;
use crate::description::{FmuUse, VariableType};
use crate::fmi3::ffi::{Functions, Get, References, Set};
use crate::fmu::{Binding, Fmu};
use crate::fp_environment;
use crate::instance::{
    CText, CoSimulationInstance, FOR_BYTES, Instance, InstanceHandle, InstanceState, IntermediateInput,
    IntervalQualifier, NewInstance, ROUNDING, Scratch, StartValue, StepEnd, Values, VersionFunctions, absent,
    by_handle, c_string, copy_text, failures_only, other_version, refusal, states, whole,
};
use crate::log::{self, LogRegistration, MessageLog};

states!(Functions, "fmi3SerializedFMUStateSize");

#[derive(Debug)]
pub(crate) struct Fmi3Instance {
    /// First, so that the instance is gone before what it points to.
    pub(crate) handle: InstanceHandle<Functions>,
    environment: Environment,
    scratch: Scratch,
    spelling: CText,
    quiet: Option<Vec<CString>>,
    /// No state will be restored that was saved before the start of a step.
    never_back: bool,
    /// Event mode is used.
    event_mode: bool,
    /// When the run starts, and when it stops if that is known.
    experiment: (f64, Option<f64>),
}

type Calls = InstanceHandle<Functions>;
type CallResult = Result<(), SimulatorError>;

// SAFETY: an instance is made, used and freed through one owner at a time; nothing in it belongs to a thread.
// The engine keeps one thread per simulator, so the FMU sees one thread from its first call on.
unsafe impl Send for Fmi3Instance {}

/// Inputs for an FMU that asks for them inside a step.
#[derive(Debug)]
struct Feed {
    instance: *mut c_void,
    set: Set<f64>,
    references: Vec<u32>,
    ports: Vec<usize>,
    values: Vec<f64>,
    /// Waves of lines that the FMU stretches: their places among the values, and the efforts of their ends.
    waves: Vec<(usize, usize)>,
    get: Get<f64>,
    /// What says by how much, and what it said last.
    factor_references: Vec<u32>,
    factors: Vec<f64>,
    /// Null outside a step.
    segments: *const Segment,
    count: usize,
    ends: *const LineEnd<'static>,
    end_count: usize,
    from: f64,
    /// One step of the FMU's solver is enough.
    stepwise: bool,
    status: c_int,
}

/// What callbacks need of an instance. The FMU knows it by a key alone.
#[derive(Debug)]
struct Environment {
    /// An address that no other instance ever gets, given to the FMU and never followed.
    key: *mut c_void,
    /// At one address until it is dropped.
    feed: *mut Feed,
    /// Only kept.
    _listening: LogRegistration,
}

/// Feeds by their keys, for FMUs that ask from another thread than the one that steps them.
static FEEDS: Mutex<BTreeMap<usize, SharedFeed>> = Mutex::new(BTreeMap::new());

struct SharedFeed(*mut Feed);

// SAFETY: a feed is looked at inside a step only, while the thread that steps waits for the FMU, and under the lock.
unsafe impl Send for SharedFeed {}

thread_local! {
    /// The feed of the FMU that this thread steps.
    static FED: Cell<*mut Feed> = const { Cell::new(std::ptr::null_mut()) };
}

impl Environment {
    fn new(log: &Arc<MessageLog>, feed: Feed) -> Environment {
        let key: *mut c_void = std::ptr::from_mut(Box::leak(Box::new(0u64))).cast();
        let feed = Box::into_raw(Box::new(feed));
        feeds().insert(key.addr(), SharedFeed(feed));
        Environment { key, feed, _listening: LogRegistration::new(key, log) }
    }
}

fn feeds() -> MutexGuard<'static, BTreeMap<usize, SharedFeed>> {
    FEEDS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Environment {
    fn drop(&mut self) {
        feeds().remove(&self.key.addr());
        // SAFETY: it came from a box, the instance that was fed from it is gone, and no key leads to it any more.
        drop(unsafe { Box::from_raw(self.feed) });
    }
}

/// Hands inputs to the FMU that this thread steps, whatever it says of its environment. Asked from another thread, the
/// environment has to be one that was given out.
unsafe extern "C" fn update(
    environment: *mut c_void,
    time: f64,
    wants_inputs: u8,
    may_read: u8,
    finished: u8,
    can_return: u8,
    return_early: *mut u8,
    return_time: *mut f64,
) {
    let asked = IntermediateRequest { time, wants_inputs, may_read, finished, can_return };
    // SAFETY: where results go to is the FMU's, or null. A feed that a step was begun with lives until it ends, and so do
    // its segments; it is borrowed by nothing else meanwhile.
    unsafe {
        if !return_early.is_null() {
            return_early.write(0);
        }
        if !return_time.is_null() {
            return_time.write(time);
        }
        let own = FED.get();
        if !own.is_null() {
            answer(own, &asked, return_early);
        } else if let Some(SharedFeed(feed)) = feeds().get(&environment.addr()) {
            answer(*feed, &asked, return_early);
        }
    }
}

/// What an FMU says when it calls back inside a step.
struct IntermediateRequest {
    time: f64,
    wants_inputs: u8,
    may_read: u8,
    finished: u8,
    can_return: u8,
}

/// # Safety
/// The feed is alive and borrowed by nothing else; `return_early` is null or can be written to.
unsafe fn answer(feed: *mut Feed, asked: &IntermediateRequest, return_early: *mut u8) {
    // SAFETY: as promised. It may be asked for variables, as it says, and speaks to nothing but the log.
    unsafe {
        let feed = &mut *feed;
        if feed.stepwise && asked.finished != 0 && asked.can_return != 0 && !return_early.is_null() {
            return_early.write(1);
        }
        let count = feed.factor_references.len();
        if asked.may_read != 0 && count > 0 && !feed.segments.is_null() {
            let (references, factors) = (feed.factor_references.as_ptr(), feed.factors.as_mut_ptr());
            feed.status = feed.status.max((feed.get)(feed.instance, references, count, factors, count));
        }
        if asked.wants_inputs == 0 || feed.segments.is_null() || feed.references.is_empty() {
            return;
        }
        let segments = std::slice::from_raw_parts(feed.segments, feed.count);
        for (value, port) in feed.values.iter_mut().zip(&feed.ports) {
            if let Some(segment) = segments.get(*port) {
                *value = segment.at(asked.time - feed.from);
            }
        }
        // What arrives there now depends on how long the line is now.
        let ends =
            if feed.ends.is_null() { &[][..] } else { std::slice::from_raw_parts(feed.ends, feed.end_count) };
        for ((place, effort), factor) in feed.waves.iter().zip(&feed.factors) {
            if let Some(end) = ends.iter().find(|end| end.effort == *effort) {
                feed.values[*place] = end.scale * end.stretched(*factor).wave(asked.time);
            }
        }
        let count = feed.references.len();
        let status = (feed.set)(feed.instance, feed.references.as_ptr(), count, feed.values.as_ptr(), count);
        feed.status = feed.status.max(status);
    }
}

impl NewInstance for Fmi3Instance {
    fn instantiate(
        binding: Binding,
        fmu: &Fmu,
        usage: FmuUse,
        name: &str,
        fed: &[IntermediateInput],
    ) -> Result<Fmi3Instance, SimulatorError> {
        let Binding::Three(functions) = binding else {
            return Err(other_version("fmi3InstantiateCoSimulation"));
        };
        let log = Arc::new(MessageLog::new(name));
        let stretched =
            || fed.iter().enumerate().filter_map(|(place, input)| Some((place, input.stretched?)));
        let feed = Feed {
            instance: std::ptr::null_mut(),
            set: functions.set_float64,
            references: fed.iter().map(|input| input.reference).collect(),
            ports: fed.iter().map(|input| input.port).collect(),
            values: vec![0.0; fed.len()],
            waves: stretched().map(|(place, (effort, _))| (place, effort)).collect(),
            get: functions.get_float64,
            factor_references: stretched().map(|(_, (_, reference))| reference).collect(),
            factors: stretched().map(|_| 1.0).collect(),
            segments: std::ptr::null(),
            count: 0,
            ends: std::ptr::null(),
            end_count: 0,
            from: 0.0,
            stepwise: false,
            status: 0,
        };
        let required: Vec<u32> = feed.references.iter().chain(&feed.factor_references).copied().collect();
        let environment = Environment::new(&log, feed);
        let (spelled, token) = (c_string(name), c_string(&fmu.description.token));
        // The standard wants the separator at the end.
        let resources = fmu.location()?.join("resources").to_string_lossy().into_owned() + MAIN_SEPARATOR_STR;
        let resources = c_string(&resources);
        let can = fmu.capabilities(usage);
        let event_mode = usage == FmuUse::CoSimulation && can.event_mode;
        let function = match usage {
            FmuUse::CoSimulation => "fmi3InstantiateCoSimulation",
            FmuUse::ModelExchange => "fmi3InstantiateModelExchange",
        };
        let (spelling, about, place) = (spelled.as_ptr(), token.as_ptr(), resources.as_ptr());
        let instantiate = || match (usage, functions.instantiate, functions.instantiate_exchange) {
            // SAFETY: texts and references live through the call, the environment until after the instance.
            (FmuUse::CoSimulation, Some(make), _) => fp_environment::around(|| unsafe {
                make(
                    spelling,
                    about,
                    place,
                    false,
                    true,
                    event_mode,
                    can.early_return || can.early_on_request || event_mode,
                    required.as_ptr(),
                    required.len(),
                    environment.key,
                    Some(log::write3),
                    if required.is_empty() { None } else { Some(update) },
                )
            }),
            // SAFETY: as above.
            (FmuUse::ModelExchange, _, Some(make)) => fp_environment::around(|| unsafe {
                make(spelling, about, place, false, true, environment.key, Some(log::write3))
            }),
            _ => std::ptr::null_mut(),
        };
        let pointer = call_log::instantiate(name, function, &token, &resources, instantiate);
        if pointer.is_null() {
            return Err(SimulatorError::new(function, refusal(fmu, usage, &log)));
        }
        let (functions, pointer) = functions.logged(pointer, name);
        // SAFETY: no step is under way, so nothing else borrows the feed.
        unsafe {
            let feed = &mut *environment.feed;
            (feed.instance, feed.set, feed.get) = (pointer, functions.set_float64, functions.get_float64);
        }
        let quiet = failures_only(&fmu.description.log_categories);
        let handle = InstanceHandle::new(functions, pointer, log, fmu.corrupt.clone());
        Ok(Fmi3Instance {
            handle,
            environment,
            scratch: Scratch::default(),
            spelling: CText::default(),
            quiet,
            never_back: true,
            event_mode,
            experiment: (0.0, None),
        })
    }
}

impl Fmi3Instance {
    fn put<T>(
        &mut self,
        function: unsafe fn(&mut Calls, References, usize, *const T, usize) -> CallResult,
        references: &[u32],
        values: &[f64],
        convert: fn(f64) -> T,
    ) -> CallResult {
        let room = self.scratch.filled(values, convert);
        // SAFETY: the counts are those of the buffers.
        unsafe { function(&mut self.handle, references.as_ptr(), references.len(), room, values.len()) }
    }

    fn take<T>(
        &mut self,
        function: unsafe fn(&mut Calls, References, usize, *mut T, usize) -> CallResult,
        references: &[u32],
        values: &mut [f64],
        convert: fn(T) -> f64,
    ) -> CallResult {
        let room = self.scratch.room::<T>(values.len());
        // SAFETY: the counts are those of the buffers, and any bits are a number.
        unsafe {
            function(&mut self.handle, references.as_ptr(), references.len(), room, values.len())?;
            self.scratch.read(values, convert);
        }
        Ok(())
    }
}

impl Instance for Fmi3Instance {
    by_handle!(states);

    /// FMI 3.0 hears of it with the next call.
    fn set_up(&mut self, start: f64, stop: Option<f64>) -> Result<(), SimulatorError> {
        self.experiment = (start, stop);
        Ok(())
    }

    fn initialise(&mut self) -> Result<(), SimulatorError> {
        let (start, stop) = self.experiment;
        let (bounded, stop) = (stop.is_some(), stop.unwrap_or(start));
        // SAFETY: nothing but numbers.
        fp_environment::around(|| unsafe {
            self.handle.enter_initialization(false, 0.0, start, bounded, stop)
        })
    }

    fn configure(&mut self, setting: &StartValue) -> Result<(), SimulatorError> {
        match &setting.values {
            Values::Numbers(numbers) => self.set(setting.kind, &[setting.reference], numbers),
            Values::Texts(texts) => {
                let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
                // SAFETY: the texts live through the call.
                unsafe { self.handle.set_string(&setting.reference, 1, pointers.as_ptr(), pointers.len()) }
            }
        }
    }

    fn set(&mut self, kind: VariableType, references: &[u32], values: &[f64]) -> Result<(), SimulatorError> {
        match kind {
            VariableType::Float64 => {
                let function = self.handle.functions.set_float64;
                self.handle.site.enter(function as usize);
                // SAFETY: the instance is alive; the counts are those of the buffers.
                let status = unsafe {
                    function(
                        self.handle.pointer,
                        references.as_ptr(),
                        references.len(),
                        values.as_ptr(),
                        values.len(),
                    )
                };
                self.handle.check_on("fmi3SetFloat64", status)
            }
            VariableType::Float32 => self.put(Calls::set_float32, references, values, |v| v as f32),
            VariableType::Int8 => self.put(Calls::set_int8, references, values, |v| whole(v) as i8),
            VariableType::UInt8 => self.put(Calls::set_uint8, references, values, |v| whole(v) as u8),
            VariableType::Int16 => self.put(Calls::set_int16, references, values, |v| whole(v) as i16),
            VariableType::UInt16 => self.put(Calls::set_uint16, references, values, |v| whole(v) as u16),
            VariableType::Int32 => self.put(Calls::set_int32, references, values, |v| whole(v) as i32),
            VariableType::UInt32 => self.put(Calls::set_uint32, references, values, |v| whole(v) as u32),
            VariableType::Int64 | VariableType::Enumeration => {
                self.put(Calls::set_int64, references, values, |v| whole(v) as i64)
            }
            VariableType::UInt64 => self.put(Calls::set_uint64, references, values, |v| whole(v) as u64),
            VariableType::Boolean => self.put(Calls::set_boolean, references, values, |v| u8::from(v > 0.5)),
            VariableType::String | VariableType::Binary | VariableType::Clock => Err(absent("set")),
        }
    }

    fn get(
        &mut self,
        kind: VariableType,
        references: &[u32],
        values: &mut [f64],
    ) -> Result<(), SimulatorError> {
        match kind {
            VariableType::Float64 => {
                let (of, into) = (references.as_ptr(), values.as_mut_ptr());
                // SAFETY: the counts are those of the buffers.
                unsafe { self.handle.get_float64(of, references.len(), into, values.len()) }
            }
            VariableType::Float32 => self.take(Calls::get_float32, references, values, f64::from),
            VariableType::Int8 => self.take(Calls::get_int8, references, values, f64::from),
            VariableType::UInt8 => self.take(Calls::get_uint8, references, values, f64::from),
            VariableType::Int16 => self.take(Calls::get_int16, references, values, f64::from),
            VariableType::UInt16 => self.take(Calls::get_uint16, references, values, f64::from),
            VariableType::Int32 => self.take(Calls::get_int32, references, values, f64::from),
            VariableType::UInt32 => self.take(Calls::get_uint32, references, values, f64::from),
            VariableType::Int64 | VariableType::Enumeration => {
                self.take(Calls::get_int64, references, values, |v| v as f64)
            }
            VariableType::UInt64 => self.take(Calls::get_uint64, references, values, |v| v as f64),
            VariableType::Boolean => {
                self.take(Calls::get_boolean, references, values, |v| f64::from(u8::from(v != 0)))
            }
            VariableType::String | VariableType::Binary | VariableType::Clock => Err(absent("get")),
        }
    }

    fn set_parcel(
        &mut self,
        kind: VariableType,
        reference: u32,
        content: &[u8],
    ) -> Result<(), SimulatorError> {
        // SAFETY: bytes and text live through the call.
        match kind {
            VariableType::Binary => unsafe {
                self.handle.set_binary(&reference, 1, &content.len(), &content.as_ptr(), 1)
            },
            _ => {
                let text = self.spelling.of(content)?;
                unsafe { self.handle.set_string(&reference, 1, &text, 1) }
            }
        }
    }

    fn get_parcel(
        &mut self,
        kind: VariableType,
        reference: u32,
        into: &mut Vec<u8>,
    ) -> Result<(), SimulatorError> {
        // SAFETY: the answers are ours; they are the FMU's own bytes or text, good until its next call.
        unsafe {
            if kind != VariableType::Binary {
                let mut text = std::ptr::null();
                self.handle.get_string(&reference, 1, &mut text, 1)?;
                copy_text(text, into);
                return Ok(());
            }
            let (mut size, mut bytes) = (0, std::ptr::null());
            self.handle.get_binary(&reference, 1, &mut size, &mut bytes, 1)?;
            into.clear();
            if size > 0 && !bytes.is_null() {
                into.extend_from_slice(std::slice::from_raw_parts(bytes, size));
            }
        }
        Ok(())
    }

    fn derivatives(&mut self, of: &[u32], by: u32, into: &mut [f64]) -> Result<(), SimulatorError> {
        let (rows, count, values) = (of.as_ptr(), into.len(), into.as_mut_ptr());
        // SAFETY: one seed for one known, as many results as unknowns.
        unsafe { self.handle.directional_derivative(rows, of.len(), &by, 1, &1.0, 1, values, count) }
    }
}

impl CoSimulationInstance for Fmi3Instance {
    fn set_slopes(
        &mut self,
        _references: &[u32],
        _orders: &[c_int],
        _values: &[f64],
    ) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("set slopes", "FMI 3.0 has no input derivatives"))
    }

    fn promise(&mut self, never_back: bool) {
        self.never_back = never_back;
    }

    fn step(
        &mut self,
        base: f64,
        from: f64,
        size: f64,
        inputs: &Inputs<'_>,
    ) -> Result<StepEnd, SimulatorError> {
        let Some(function) = self.handle.functions.do_step else { return Err(absent("fmi3DoStep")) };
        let (pointer, never_back) = (self.handle.pointer, self.never_back);
        let own = self.environment.feed;
        // SAFETY: no step is under way, so the feed is not borrowed elsewhere; it forgets segments and ends below.
        unsafe {
            let feed = &mut *own;
            (feed.segments, feed.count) = (inputs.segments.as_ptr(), inputs.segments.len());
            (feed.ends, feed.end_count) = (inputs.ends.as_ptr().cast(), inputs.ends.len());
            (feed.from, feed.stepwise, feed.status) = (base, inputs.return_each_internal_step, 0);
        }
        let (mut event, mut terminate, mut early, mut until) = (0u8, 0u8, 0u8, from + size);
        FED.set(own);
        self.handle.site.enter_step(function as usize, from);
        // SAFETY: the instance is alive; the results are ours. Callbacks reach the feed through the same pointer.
        let status = self.handle.home.around_step(|| unsafe {
            function(pointer, from, size, never_back, &mut event, &mut terminate, &mut early, &mut until)
        });
        FED.set(std::ptr::null_mut());
        // SAFETY: the step is over.
        let fed = unsafe {
            let feed = &mut *own;
            (feed.segments, feed.ends) = (std::ptr::null(), std::ptr::null());
            feed.status
        };
        self.handle.check("fmi3DoStep", status)?;
        self.handle.check("fmi3IntermediateUpdate", fed)?;
        if terminate != 0 {
            let at = if until.is_finite() { until.clamp(from, from + size) } else { from + size };
            return Ok(StepEnd::Ended(at, "fmi3DoStep"));
        }
        // FMUs count their time themselves, so that it may be a rounding error away from ours at either end. Where a step
        // did not end early, it was taken, even if the FMU still shows where it began.
        let rounding = ROUNDING * size.max(from.abs());
        let inside = until > from + rounding && until < from + size - rounding;
        if early == 0 && inside {
            let message = format!(
                "the FMU stopped at t = {until} s instead of {} s without reporting an \
                 early return{}",
                from + size,
                self.handle.log.tail()
            );
            return Err(SimulatorError::new("fmi3DoStep", message));
        }
        let short =
            early != 0 && until.is_finite() && until >= from - rounding && until < from + size - rounding;
        let until = until.max(from);
        Ok(match (event != 0 && self.event_mode, short) {
            (true, true) => StepEnd::Event(until),
            (true, false) => StepEnd::Event(from + size),
            (false, true) => StepEnd::Until(until),
            (false, false) => StepEnd::Whole,
        })
    }

    fn enter_step_mode(&mut self) -> Result<(), SimulatorError> {
        // SAFETY: no arguments.
        unsafe { self.handle.enter_step_mode() }
    }

    fn set_clocks(&mut self, references: &[u32], values: &[u8]) -> Result<(), SimulatorError> {
        // SAFETY: as many values, all 0 or 1, as references.
        unsafe { self.handle.set_clock(references.as_ptr(), references.len(), values.as_ptr()) }
    }

    fn get_clocks(&mut self, references: &[u32], values: &mut [u8]) -> Result<(), SimulatorError> {
        // SAFETY: room for as many values as references.
        unsafe { self.handle.get_clock(references.as_ptr(), references.len(), values.as_mut_ptr()) }
    }

    fn interval(&mut self, reference: u32) -> Result<(f64, IntervalQualifier), SimulatorError> {
        let (mut interval, mut told) = (0.0, 0);
        // SAFETY: one of each.
        unsafe { self.handle.get_interval(&reference, 1, &mut interval, &mut told)? };
        match told {
            0 => Ok((interval, IntervalQualifier::NotYetKnown)),
            1 => Ok((interval, IntervalQualifier::Unchanged)),
            2 => Ok((interval, IntervalQualifier::Changed)),
            other => {
                let message = format!("invalid interval qualifier {other}");
                Err(SimulatorError::new("fmi3GetIntervalDecimal", message))
            }
        }
    }

    fn shift(&mut self, reference: u32) -> Result<Option<f64>, SimulatorError> {
        if self.handle.functions.get_shift.is_none() {
            return Ok(None);
        }
        let mut shift = 0.0;
        // SAFETY: one of each.
        unsafe { self.handle.get_shift(&reference, 1, &mut shift)? };
        Ok(Some(shift))
    }
}
