//! The functions of FMI 3.0.

#![allow(non_snake_case, reason = "the names are the standard's")]

use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;

use super::{
    Handle, ImporterLogger, Logger3, call, free, get_texts, instantiate, list, list_mut, place, readable,
    show, texts,
};
use crate::design::{InterfaceType, Version};
use crate::equipment::ImporterLog;
use crate::instance::{
    CallResult, ExportedInstance, ImporterAbilities, Refusal, SAMPLES, SolverStep, StepEnd,
};

/// Environment, time, set requested, get allowed, step finished, may return early, early return requested, at.
type IntermediateUpdate = unsafe extern "C" fn(*mut c_void, f64, bool, bool, bool, bool, *mut bool, *mut f64);

#[derive(Clone, Copy)]
pub(super) struct Callback {
    update: IntermediateUpdate,
    pub(super) environment: *mut c_void,
}

/// The importer's logger, for messages and as it was given.
fn logs(logger: Option<Logger3>, environment: *mut c_void) -> (ImporterLogger, ImporterLog) {
    match logger {
        Some(logger) => {
            (ImporterLogger::Three { logger, environment }, ImporterLog::Three(logger, environment))
        }
        None => (ImporterLogger::None, ImporterLog::None),
    }
}

#[unsafe(no_mangle)]
extern "C" fn fmi3GetVersion() -> *const c_char {
    c"3.0".as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3InstantiateModelExchange(
    name: *const c_char,
    token: *const c_char,
    resources: *const c_char,
    visible: bool,
    logging: bool,
    environment: *mut c_void,
    logger: Option<Logger3>,
) -> *mut c_void {
    // SAFETY: texts end with zero or are null.
    let (name, token, resources) = unsafe { (readable(name), readable(token), readable(resources)) };
    let arguments = format!("{name}, {visible}, {logging}");
    let call = ("fmi3InstantiateModelExchange", arguments.as_str());
    let folder = Ok(PathBuf::from(resources));
    let kind = (Version::Three, InterfaceType::ModelExchange, ImporterAbilities::default());
    instantiate(kind, &name, &token, folder, logs(logger, environment), None, call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3InstantiateCoSimulation(
    name: *const c_char,
    token: *const c_char,
    resources: *const c_char,
    visible: bool,
    logging: bool,
    event_mode: bool,
    early_return: bool,
    required: *const u32,
    required_count: usize,
    environment: *mut c_void,
    logger: Option<Logger3>,
    update: Option<IntermediateUpdate>,
) -> *mut c_void {
    // SAFETY: texts end with zero or are null.
    let (name, token, resources) = unsafe { (readable(name), readable(token), readable(resources)) };
    let callback = update.map(|update| Callback { update, environment });
    // SAFETY: an array with the length that comes with it.
    let required = unsafe { show(required, required_count) };
    let arguments = format!("{name}, {visible}, {logging}, {event_mode}, {early_return}, {required}");
    let call = ("fmi3InstantiateCoSimulation", arguments.as_str());
    let kind = (Version::Three, InterfaceType::CoSimulation, ImporterAbilities { event_mode, early_return });
    let folder = Ok(PathBuf::from(resources));
    instantiate(kind, &name, &token, folder, logs(logger, environment), callback, call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3FreeInstance(c: *mut c_void) {
    // SAFETY: the importer gives up a handle of this library, and uses it no more.
    unsafe { free(c, "fmi3FreeInstance") }
}

/// Values beside references: all variables here are scalars.
fn as_many(references: usize, values: usize) -> Result<(), Refusal> {
    if references == values {
        Ok(())
    } else {
        Err(format!("{values} values for {references} scalars").into())
    }
}

exported! { Three:
    fn fmi3SetDebugLogging(on: bool, count: usize, categories: *const *const c_char)
        |_instance| list(categories, count).map(drop),
        format!("{on}, {count} categories");
    fn fmi3EnterInitializationMode(relative: bool, tolerance: f64, start: f64, stops: bool, stop: f64)
        |instance| {
            instance.set_up(start, stops.then_some(stop))?;
            instance.enter_initialization()
        },
        format!("{relative}, {tolerance:?}, {start:?}, {stops}, {stop:?}");

    fn fmi3GetBinary(
        references: *const u32, count: usize, sizes: *mut usize, values: *mut *const u8, room: usize
    )
        |instance| {
            as_many(count, room)?;
            let (sizes, values) = (list_mut(sizes, room)?, list_mut(values, room)?);
            for ((reference, size), value) in list(references, count)?.iter().zip(sizes).zip(values) {
                let bytes = instance.get_binary(*reference)?;
                (*size, *value) = (bytes.len(), bytes.as_ptr());
            }
            Ok(())
        },
        format!("{}, {} bytes", show(references, count), show(sizes, room));
    fn fmi3SetBinary(
        references: *const u32, count: usize, sizes: *const usize, values: *const *const u8, room: usize
    )
        |instance| {
            as_many(count, room)?;
            let given = list(sizes, room)?.iter().zip(list(values, room)?);
            let bytes: Vec<&[u8]> =
                given.map(|(size, value)| list(*value, *size)).collect::<Result<_, _>>()?;
            instance.set_binaries(list(references, count)?, &bytes)
        },
        format!("{}, {} bytes", show(references, count), show(sizes, room));
    fn fmi3GetString(references: *const u32, count: usize, values: *mut *const c_char, room: usize)
        |instance| {
            as_many(count, room)?;
            get_texts(instance, list(references, count)?, list_mut(values, room)?)
        },
        show(references, count);
    fn fmi3SetString(references: *const u32, count: usize, values: *const *const c_char, room: usize)
        |instance| {
            as_many(count, room)?;
            instance.set_texts(list(references, count)?, texts(list(values, room)?)?)
        },
        show(references, count);

    fn fmi3GetIntervalDecimal(
        references: *const u32, count: usize, intervals: *mut f64, qualifiers: *mut c_int
    )
        |instance| {
            let (intervals, qualifiers) = (list_mut(intervals, count)?, list_mut(qualifiers, count)?);
            instance.intervals(list(references, count)?, intervals, qualifiers)
        },
        format!("{}, {}, {}", show(references, count), show(intervals, count), show(qualifiers, count));
    fn fmi3GetShiftDecimal(references: *const u32, count: usize, shifts: *mut f64)
        |instance| instance.shifts(list(references, count)?, list_mut(shifts, count)?),
        format!("{}, {}", show(references, count), show(shifts, count));

    fn fmi3UpdateDiscreteStates(
        needed: *mut bool, terminate: *mut bool, nominals: *mut bool, values: *mut bool, defined: *mut bool, next: *mut f64
    )
        |instance| {
            let update = instance.update_discrete()?;
            (*place(needed)?, *place(terminate)?) = (update.needed, update.terminate);
            // Nominals never change here.
            (*place(nominals)?, *place(values)?) = (false, update.states_changed);
            (*place(defined)?, *place(next)?) = (update.next.is_some(), update.next.unwrap_or(0.0));
            Ok(())
        },
        [needed, terminate, nominals, values, defined].map(|flag| show(flag.cast::<u8>(), 1)).join(", ") + ", " + &show(next, 1);
    fn fmi3CompletedIntegratorStep(promise: bool, event: *mut bool, terminate: *mut bool)
        |instance| {
            (*place(event)?, *place(terminate)?) = instance.completed_step(promise)?;
            Ok(())
        },
        format!("{promise}, {}, {}", show(event.cast::<u8>(), 1), show(terminate.cast::<u8>(), 1));
    fn fmi3GetNumberOfEventIndicators(count: *mut usize)
        |instance| {
            *place(count)? = instance.counts()?.1;
            Ok(())
        },
        show(count, 1);
    fn fmi3GetNumberOfContinuousStates(count: *mut usize)
        |instance| {
            *place(count)? = instance.counts()?.0;
            Ok(())
        },
        show(count, 1);

    fn fmi3GetOutputDerivatives(
        references: *const u32, count: usize, orders: *const i32, values: *mut f64, room: usize
    )
        |instance| {
            as_many(count, room)?;
            instance.output_derivatives(list(references, count)?, list(orders, count)?, list_mut(values, room)?)
        },
        format!("{}, {}, {}", show(references, count), show(orders, count), show(values, room));
}

/// Partial derivatives, forwards or adjoint.
macro_rules! tangents {
    ($($name:ident $adjoint:literal;)*) => { exported! { Three: $(
        fn $name(
            unknowns: *const u32, rows: usize, knowns: *const u32, columns: usize,
            seed: *const f64, seeds: usize, into: *mut f64, room: usize
        )
            |instance| {
                let (from, to) = if $adjoint { (rows, columns) } else { (columns, rows) };
                as_many(from, seeds)?;
                as_many(to, room)?;
                let (unknowns, knowns) = (list(unknowns, rows)?, list(knowns, columns)?);
                instance.tangent(unknowns, knowns, list(seed, seeds)?, list_mut(into, room)?, $adjoint)
            },
            format!("{}, {}, {}, {}", show(unknowns, rows), show(knowns, columns), show(seed, seeds), show(into, room));
    )*}};
}

tangents! {
    fmi3GetDirectionalDerivative false;
    fmi3GetAdjointDerivative true;
}

modes! { Three:
    fmi3ExitInitializationMode exit_initialization
    fmi3EnterEventMode enter_event
    fmi3Terminate terminate
    fmi3Reset reset
    fmi3EnterContinuousTimeMode enter_continuous
    fmi3EnterStepMode enter_step
}

sized_values! {
    fmi3GetFloat32 get_plain fmi3SetFloat32 set_plain f32;
    fmi3GetFloat64 get_reals fmi3SetFloat64 set_reals f64;
    fmi3GetInt8 get_plain fmi3SetInt8 set_plain i8;
    fmi3GetUInt8 get_plain fmi3SetUInt8 set_plain u8;
    fmi3GetInt16 get_plain fmi3SetInt16 set_plain i16;
    fmi3GetUInt16 get_plain fmi3SetUInt16 set_plain u16;
    fmi3GetInt32 get_integers fmi3SetInt32 set_integers i32;
    fmi3GetUInt32 get_plain fmi3SetUInt32 set_plain u32;
    fmi3GetInt64 get_wide fmi3SetInt64 set_plain i64;
    fmi3GetUInt64 get_plain fmi3SetUInt64 set_plain u64;
    // As bytes: importers promise nothing of what stands there before the call.
    fmi3GetBoolean get_booleans fmi3SetBoolean set_booleans u8;
}

values! { Three: fmi3GetClock get_clocks fmi3SetClock set_clocks u8; }

states! { Three:
    fmi3GetFMUState fmi3SetFMUState fmi3FreeFMUState
    fmi3SerializedFMUStateSize fmi3SerializeFMUState fmi3DeserializeFMUState
}

equations! { Three:
    fmi3SetTime
    fmi3SetContinuousStates
    fmi3GetContinuousStateDerivatives derivatives
    fmi3GetEventIndicators event_indicators
    fmi3GetContinuousStates continuous_states
    fmi3GetNominalsOfContinuousStates nominals
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3DoStep(
    c: *mut c_void,
    from: f64,
    size: f64,
    promise: bool,
    event_needed: *mut bool,
    terminate: *mut bool,
    early: *mut bool,
    last: *mut f64,
) -> c_int {
    // SAFETY: null or a handle of this library, on which no call is under way.
    let callback = unsafe { c.cast::<Handle>().as_ref() }
        .filter(|handle| handle.instance.can.intermediate)
        .and_then(|handle| handle.callback);
    let step = DoStepCall { c, arguments: (from, size, promise), event_needed, terminate, early, last };
    let status = step.piece("fmi3DoStep", |instance| {
        // SAFETY: the importer's places for results, or null, which is refused.
        unsafe {
            (*place(event_needed)?, *place(terminate)?, *place(early)?) = (false, false, false);
            *place(last)? = instance.last_time();
        }
        instance.begin_step(from, size, promise)?;
        if callback.is_none() { step.finish(instance) } else { Ok(()) }
    });
    match callback {
        Some(callback) if status == 0 => step.step_with_callback(IntermediateCallback {
            callback,
            return_requested: false,
            return_at: 0.0,
        }),
        _ => status,
    }
}

/// One call of `fmi3DoStep`, in pieces: the importer's callback calls functions of this instance, so no borrow may
/// live meanwhile.
#[derive(Clone, Copy)]
struct DoStepCall {
    c: *mut c_void,
    /// From when, how long, and whether the importer promised not to return.
    arguments: (f64, f64, bool),
    event_needed: *mut bool,
    terminate: *mut bool,
    early: *mut bool,
    last: *mut f64,
}

/// The importer's callback and its last results.
struct IntermediateCallback {
    callback: Callback,
    return_requested: bool,
    return_at: f64,
}

impl IntermediateCallback {
    /// # Safety
    /// No borrow of the instance lives while the importer is called, which may call it back.
    unsafe fn update(&mut self, at: f64, [ask, show, finished, may_return]: [bool; 4]) {
        let Callback { update, environment } = self.callback;
        // SAFETY: the importer gave this function and environment for exactly these calls.
        unsafe {
            update(
                environment,
                at,
                ask,
                show,
                finished,
                may_return,
                &mut self.return_requested,
                &mut self.return_at,
            );
        }
    }
}

impl DoStepCall {
    fn piece(self, name: &str, run: impl FnOnce(&mut ExportedInstance) -> CallResult) -> c_int {
        let shown = |instance: &ExportedInstance| {
            let StepEnd { event, early, terminate } = instance.end();
            let words = [(event, ", event"), (early, ", early"), (terminate, ", terminate")];
            let end: String = words.into_iter().filter_map(|(said, word)| said.then_some(word)).collect();
            let (from, size, promise) = self.arguments;
            format!("{from:?}, {size:?}, {promise}{end}")
        };
        // SAFETY: the importer keeps to the header of the standard, and no other piece is under way.
        unsafe { call(self.c, Version::Three, name, run, shown) }
    }

    /// The instance between two pieces.
    ///
    /// # Safety
    /// The handle is not null, and no other borrow of the instance lives.
    unsafe fn instance<'a>(self) -> &'a mut ExportedInstance {
        // SAFETY: by the contract above.
        unsafe { &mut (*self.c.cast::<Handle>()).instance }
    }

    fn finish(self, instance: &mut ExportedInstance) -> CallResult {
        let (outcome, end) = (instance.finish_step(), instance.end());
        // SAFETY: places for results are checked before they are written to.
        unsafe {
            *place(self.last)? = instance.last_time();
            (*place(self.event_needed)?, *place(self.terminate)?, *place(self.early)?) =
                (end.event, end.terminate, end.early);
        }
        outcome.map(drop)
    }

    /// The step with the importer's callback: solver steps, the end, and a last intermediate update.
    fn step_with_callback(self, mut talk: IntermediateCallback) -> c_int {
        let status = self.run_solver_steps(&mut talk);
        if status > 1 {
            return status;
        }
        let status = self.piece("fmi3DoStep, end", |instance| self.finish(instance));
        if status > 1 {
            return status;
        }
        let (looked, at) = self.piece_with_time("fmi3DoStep, look", ExportedInstance::show_end);
        if looked != 0 {
            return looked;
        }
        // SAFETY: no piece is under way.
        unsafe {
            talk.update(at, [false, true, true, false]);
            self.instance().leave_intermediate();
        }
        status
    }

    /// A piece that returns the time of the next intermediate update.
    fn piece_with_time(
        self,
        name: &str,
        look: fn(&mut ExportedInstance) -> Result<f64, Refusal>,
    ) -> (c_int, f64) {
        let mut at = 0.0;
        let status = self.piece(name, |instance| {
            at = look(instance)?;
            Ok(())
        });
        (status, at)
    }

    /// Requests inputs, once or before every step of the solver, with an intermediate update after each.
    fn run_solver_steps(self, talk: &mut IntermediateCallback) -> c_int {
        // SAFETY: no piece is under way, here and below.
        let instance = unsafe { self.instance() };
        let ((walks, may_return), stretches) = (instance.shows_solver_steps(), instance.stretches());
        let mut asked = false;
        loop {
            if stretches {
                let (planned, at) =
                    self.piece_with_time("fmi3DoStep, next step", ExportedInstance::plan_piece);
                if planned > 1 {
                    return planned;
                }
                // SAFETY: as above.
                unsafe {
                    talk.update(at, [false, true, false, false]);
                    self.instance().leave_intermediate();
                }
            }
            if stretches || !asked {
                for sample in 0..SAMPLES {
                    // SAFETY: as above.
                    unsafe {
                        let at = self.instance().request_inputs(sample);
                        talk.update(at, [true, false, false, false]);
                        self.instance().take_inputs(sample);
                    }
                }
                asked = true;
            }
            if !walks {
                return 0;
            }
            let (mut at, mut walked) = (0.0, SolverStep::Through);
            let status = self.piece("fmi3DoStep, inner step", |instance| {
                walked = instance.solver_step()?;
                if walked == SolverStep::On {
                    at = instance.show_end()?;
                }
                Ok(())
            });
            if status > 1 {
                return status;
            }
            match walked {
                SolverStep::Through => return 0,
                SolverStep::Back => continue,
                SolverStep::On => {}
            }
            // SAFETY: as above.
            unsafe {
                talk.update(at, [false, true, true, may_return]);
                self.instance().leave_intermediate();
                if talk.return_requested && may_return {
                    self.instance().return_early();
                    return 0;
                }
            }
        }
    }
}
