//! The functions of FMI 3.0, in the order of the standard's header.

#![allow(non_snake_case, reason = "the names are the standard's")]

use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;

use super::{Handle, Instance, Refusal};
use super::{
    Log, Logger3, call, deserialize, free, free_state, get_state, instantiate, known, list, list_mut,
    log_later, place, quirk_of, readable, serialize, show, texts,
};
use crate::design::{Kind, Version};
use crate::instance::{End, Manners, SAMPLES, Walked};
use crate::quirk::Quirk;

/// One function with a handle as first argument: what it does, and how the spy shows its arguments.
macro_rules! exported {
    ($(fn $name:ident($($argument:ident: $type:ty),*) |$instance:ident| $body:expr, $shown:expr;)*) => {$(
        #[allow(unused_variables, reason = "not every call shows something of the instance")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut c_void $(, $argument: $type)*) -> c_int {
            // SAFETY: the importer keeps to the header of the standard: handles come from this library, arrays
            // have the length that comes with them, and calls on one handle do not overlap.
            unsafe { call(c, Version::Three, stringify!($name), |$instance| $body, |$instance| $shown) }
        }
    )*};
}

/// Environment, time, set requested, get allowed, step finished, may return early, wishes to, from when.
type IntermediateUpdate = unsafe extern "C" fn(*mut c_void, f64, bool, bool, bool, bool, *mut bool, *mut f64);

#[derive(Clone, Copy)]
pub(super) struct Callback {
    update: IntermediateUpdate,
    environment: *mut c_void,
}

impl Callback {
    /// With a small integer as the importer's environment.
    pub(super) fn misled(self) -> Callback {
        Callback { environment: super::SMALL, ..self }
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
    let log = logger.map_or(Log::None, |logger| Log::Three { logger, environment });
    let arguments = format!("{name}, {visible}, {logging}");
    let call = ("fmi3InstantiateModelExchange", arguments.as_str());
    let folder = Ok(PathBuf::from(resources));
    let kind = (Version::Three, Kind::ModelExchange, Manners::default());
    instantiate(kind, &name, &token, folder, log, None, call)
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
    let log = logger.map_or(Log::None, |logger| Log::Three { logger, environment });
    let callback = update.map(|update| Callback { update, environment });
    // SAFETY: an array with the length that comes with it.
    let required = unsafe { show(required, required_count) };
    let arguments = format!("{name}, {visible}, {logging}, {event_mode}, {early_return}, {required}");
    let call = ("fmi3InstantiateCoSimulation", arguments.as_str());
    let kind = (Version::Three, Kind::CoSimulation, Manners { event_mode, early_return });
    let made = instantiate(kind, &name, &token, Ok(PathBuf::from(resources)), log, callback, call);
    // SAFETY: null, or made just now.
    if let (Some(Quirk::LateLog), Some(logger)) = (unsafe { quirk_of(made) }, logger) {
        let kept = environment.expose_provenance();
        log_later(move || {
            let environment = std::ptr::with_exposed_provenance_mut(kept);
            // SAFETY: the importer gave this function and environment; that it may be called later than the standard
            // allows is what this FMU is there to test.
            unsafe { logger(environment, 0, c"logAll".as_ptr(), c"a thread speaks".as_ptr()) };
        });
    }
    made
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

exported! {
    fn fmi3SetDebugLogging(on: bool, count: usize, categories: *const *const c_char)
        |_instance| list(categories, count).map(drop),
        format!("{on}, {count} categories");
    fn fmi3EnterInitializationMode(relative: bool, tolerance: f64, start: f64, stops: bool, stop: f64)
        |instance| {
            instance.set_up(start, stops.then_some(stop))?;
            instance.enter_initialization()
        },
        format!("{relative}, {tolerance:?}, {start:?}, {stops}, {stop:?}");
    fn fmi3ExitInitializationMode() |instance| instance.exit_initialization(), String::new();
    fn fmi3EnterEventMode() |instance| instance.enter_event(), String::new();
    fn fmi3Terminate() |instance| instance.terminate(), String::new();
    fn fmi3Reset() |instance| instance.reset(), String::new();

    fn fmi3GetFloat64(references: *const u32, count: usize, values: *mut f64, room: usize)
        |instance| {
            as_many(count, room)?;
            instance.get_reals(list(references, count)?, list_mut(values, room)?)
        },
        format!("{}, {}", show(references, count), show(values, room));
    fn fmi3GetInt32(references: *const u32, count: usize, values: *mut i32, room: usize)
        |instance| {
            as_many(count, room)?;
            instance.get_integers(list(references, count)?, list_mut(values, room)?)
        },
        format!("{}, {}", show(references, count), show(values, room));
    fn fmi3GetInt64(references: *const u32, count: usize, values: *mut i64, room: usize)
        |instance| {
            as_many(count, room)?;
            instance.get_wide(list(references, count)?, list_mut(values, room)?)
        },
        format!("{}, {}", show(references, count), show(values, room));
    fn fmi3SetInt64(references: *const u32, count: usize, values: *const i64, room: usize)
        |instance| {
            as_many(count, room)?;
            instance.set_plain(list(references, count)?, list(values, room)?)
        },
        format!("{}, {}", show(references, count), show(values, room));
    fn fmi3SetBoolean(references: *const u32, count: usize, values: *const bool, room: usize)
        |instance| {
            as_many(count, room)?;
            let values: Vec<bool> = list(values.cast::<u8>(), room)?.iter().map(|value| *value != 0).collect();
            instance.set_plain(list(references, count)?, &values)
        },
        format!("{}, {}", show(references, count), show(values.cast::<u8>(), room));
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
    fn fmi3GetBoolean(references: *const u32, count: usize, values: *mut bool, room: usize)
        |instance| {
            as_many(count, room)?;
            // As bytes: nobody promises what stands there before the call.
            let values = list_mut(values.cast::<u8>(), room)?;
            instance.get_booleans(list(references, count)?, values, |value| u8::from(value != 0.0))
        },
        format!("{}, {}", show(references, count), show(values.cast::<u8>(), room));
    fn fmi3GetString(references: *const u32, count: usize, values: *mut *const c_char, room: usize)
        |instance| {
            as_many(count, room)?;
            for (reference, value) in list(references, count)?.iter().zip(list_mut(values, room)?) {
                *value = instance.get_text(*reference)?.as_ptr();
            }
            Ok(())
        },
        show(references, count);
    fn fmi3SetFloat64(references: *const u32, count: usize, values: *const f64, room: usize)
        |instance| {
            as_many(count, room)?;
            instance.set_reals(list(references, count)?, list(values, room)?)
        },
        format!("{}, {}", show(references, count), show(values, room));
    fn fmi3SetInt32(references: *const u32, count: usize, values: *const i32, room: usize)
        |instance| {
            as_many(count, room)?;
            instance.set_integers(list(references, count)?, list(values, room)?)
        },
        format!("{}, {}", show(references, count), show(values, room));
    fn fmi3SetString(references: *const u32, count: usize, values: *const *const c_char, room: usize)
        |instance| {
            as_many(count, room)?;
            instance.set_texts(list(references, count)?, texts(list(values, room)?)?)
        },
        show(references, count);

    fn fmi3GetFMUState(state: *mut *mut c_void) |instance| get_state(instance, state), format!("state {}", instance.states.last);
    fn fmi3SetFMUState(state: *mut c_void)
        |instance| {
            let state = known(instance, state)?;
            instance.restore(state)
        },
        format!("state {}", instance.states.last);
    fn fmi3FreeFMUState(state: *mut *mut c_void) |instance| free_state(instance, state), format!("state {}", instance.states.last);
    fn fmi3SerializedFMUStateSize(state: *mut c_void, size: *mut usize)
        |instance| {
            *place(size)? = known(instance, state)?.size();
            Ok(())
        },
        format!("state {}", instance.states.last);
    fn fmi3SerializeFMUState(state: *mut c_void, bytes: *mut u8, size: usize)
        |instance| serialize(instance, state, bytes, size),
        format!("state {}, {size} bytes", instance.states.last);
    fn fmi3DeserializeFMUState(bytes: *const u8, size: usize, state: *mut *mut c_void)
        |instance| deserialize(instance, bytes, size, state),
        format!("{size} bytes, state {}", instance.states.last);

    fn fmi3GetDirectionalDerivative(
        unknowns: *const u32, rows: usize, knowns: *const u32, columns: usize,
        seed: *const f64, seeds: usize, into: *mut f64, room: usize
    )
        |instance| {
            as_many(columns, seeds)?;
            as_many(rows, room)?;
            let (unknowns, knowns) = (list(unknowns, rows)?, list(knowns, columns)?);
            instance.tangent(unknowns, knowns, list(seed, seeds)?, list_mut(into, room)?, false)
        },
        format!("{}, {}, {}, {}", show(unknowns, rows), show(knowns, columns), show(seed, seeds), show(into, room));
    fn fmi3GetAdjointDerivative(
        unknowns: *const u32, rows: usize, knowns: *const u32, columns: usize,
        seed: *const f64, seeds: usize, into: *mut f64, room: usize
    )
        |instance| {
            as_many(rows, seeds)?;
            as_many(columns, room)?;
            let (unknowns, knowns) = (list(unknowns, rows)?, list(knowns, columns)?);
            instance.tangent(unknowns, knowns, list(seed, seeds)?, list_mut(into, room)?, true)
        },
        format!("{}, {}, {}, {}", show(unknowns, rows), show(knowns, columns), show(seed, seeds), show(into, room));

    fn fmi3GetClock(references: *const u32, count: usize, values: *mut bool)
        |instance| instance.get_clocks(list(references, count)?, list_mut(values.cast::<u8>(), count)?),
        format!("{}, {}", show(references, count), show(values.cast::<u8>(), count));
    fn fmi3SetClock(references: *const u32, count: usize, values: *const bool)
        |instance| instance.set_clocks(list(references, count)?, list(values.cast::<u8>(), count)?),
        format!("{}, {}", show(references, count), show(values.cast::<u8>(), count));
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
            // No model here has other nominals later.
            (*place(nominals)?, *place(values)?) = (false, update.states_changed);
            (*place(defined)?, *place(next)?) = (update.next.is_some(), update.next.unwrap_or(0.0));
            Ok(())
        },
        [needed, terminate, nominals, values, defined].map(|flag| show(flag.cast::<u8>(), 1)).join(", ") + ", " + &show(next, 1);
    fn fmi3EnterContinuousTimeMode() |instance| instance.enter_continuous(), String::new();
    fn fmi3EnterStepMode() |instance| instance.enter_step(), String::new();
    fn fmi3CompletedIntegratorStep(promise: bool, event: *mut bool, terminate: *mut bool)
        |instance| {
            (*place(event)?, *place(terminate)?) = instance.completed_step(promise)?;
            Ok(())
        },
        format!("{promise}, {}, {}", show(event.cast::<u8>(), 1), show(terminate.cast::<u8>(), 1));
    fn fmi3SetTime(time: f64) |instance| instance.set_time(time), format!("{time:?}");
    fn fmi3SetContinuousStates(values: *const f64, count: usize)
        |instance| instance.set_continuous_states(list(values, count)?),
        show(values, count);
    fn fmi3GetContinuousStateDerivatives(values: *mut f64, count: usize)
        |instance| instance.derivatives(list_mut(values, count)?),
        show(values, count);
    fn fmi3GetEventIndicators(values: *mut f64, count: usize)
        |instance| instance.event_indicators(list_mut(values, count)?),
        show(values, count);
    fn fmi3GetContinuousStates(values: *mut f64, count: usize)
        |instance| instance.continuous_states(list_mut(values, count)?),
        show(values, count);
    fn fmi3GetNominalsOfContinuousStates(values: *mut f64, count: usize)
        |instance| instance.nominals(list_mut(values, count)?),
        show(values, count);
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

/// Types that are only passed on.
macro_rules! plain {
    ($($get:ident $set:ident $type:ty)*) => {
        exported! {$(
            fn $get(references: *const u32, count: usize, values: *mut $type, room: usize)
                |instance| {
                    as_many(count, room)?;
                    instance.get_plain(list(references, count)?, list_mut(values, room)?)
                },
                format!("{}, {}", show(references, count), show(values, room));
            fn $set(references: *const u32, count: usize, values: *const $type, room: usize)
                |instance| {
                    as_many(count, room)?;
                    instance.set_plain(list(references, count)?, list(values, room)?)
                },
                format!("{}, {}", show(references, count), show(values, room));
        )*}
    };
}

plain! {
    fmi3GetFloat32 fmi3SetFloat32 f32
    fmi3GetInt8 fmi3SetInt8 i8
    fmi3GetUInt8 fmi3SetUInt8 u8
    fmi3GetInt16 fmi3SetInt16 i16
    fmi3GetUInt16 fmi3SetUInt16 u16
    fmi3GetUInt32 fmi3SetUInt32 u32
    fmi3GetUInt64 fmi3SetUInt64 u64
}

/// In pieces: the importer's callback calls functions of this instance, so none may be under way meanwhile.
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
    let shown = |instance: &Instance| {
        let End { event, early, terminate } = instance.end();
        let words = [(event, ", event"), (early, ", early"), (terminate, ", terminate")];
        let end: String = words.into_iter().filter_map(|(said, word)| said.then_some(word)).collect();
        format!("{from:?}, {size:?}, {promise}{end}")
    };
    let piece = |name: &str, run: &mut dyn FnMut(&mut Instance) -> Result<(), Refusal>| {
        // SAFETY: the importer keeps to the header of the standard, and no other piece is under way.
        unsafe { call(c, Version::Three, name, run, shown) }
    };
    // SAFETY: null or a handle of this library, on which no call is under way.
    let callback = unsafe { c.cast::<Handle>().as_ref() }
        .filter(|handle| handle.instance.can.intermediate)
        .and_then(|handle| handle.callback);
    let finish = |instance: &mut Instance| {
        let (outcome, end) = (instance.finish_step(), instance.end());
        // SAFETY: checked before it is called.
        unsafe {
            *place(last)? = instance.last_time();
            (*place(event_needed)?, *place(terminate)?, *place(early)?) =
                (end.event, end.terminate, end.early);
        }
        outcome.map(drop)
    };
    let status = piece("fmi3DoStep", &mut |instance| {
        // SAFETY: the importer's places for results, or null, which is refused.
        unsafe {
            (*place(event_needed)?, *place(terminate)?, *place(early)?) = (false, false, false);
            *place(last)? = instance.last_time();
        }
        instance.begin_step(from, size, promise)?;
        if callback.is_none() { finish(instance) } else { Ok(()) }
    });
    let Some(Callback { update, environment }) = callback.filter(|_| status == 0) else { return status };
    let (mut wishes, mut from_when) = (false, 0.0);
    // SAFETY: no call is under way.
    let ((walks, may_return), stretches) =
        unsafe { ((*c.cast::<Handle>()).instance.walks(), (*c.cast::<Handle>()).instance.stretches()) };
    let (mut on, mut asked) = (true, false);
    while on {
        if stretches {
            let mut at = 0.0;
            let planned = piece("fmi3DoStep, next step", &mut |instance| {
                at = instance.plan_piece()?;
                Ok(())
            });
            if planned > 1 {
                return planned;
            }
            // SAFETY: no borrow of the instance lives while the importer is called, which may call it back.
            unsafe {
                update(environment, at, false, true, false, false, &mut wishes, &mut from_when);
                (*c.cast::<Handle>()).instance.leave();
            }
        }
        if stretches || !asked {
            for sample in 0..SAMPLES {
                // SAFETY: as above.
                unsafe {
                    let at = (*c.cast::<Handle>()).instance.ask(sample);
                    update(environment, at, true, false, false, false, &mut wishes, &mut from_when);
                    (*c.cast::<Handle>()).instance.answer(sample);
                }
            }
            asked = true;
        }
        if !walks {
            break;
        }
        let (mut at, mut walked) = (0.0, Walked::Through);
        let status = piece("fmi3DoStep, inner step", &mut |instance| {
            walked = instance.walk()?;
            if walked == Walked::On {
                at = instance.look()?;
            }
            Ok(())
        });
        if status > 1 {
            return status;
        }
        match walked {
            Walked::Through => break,
            Walked::Back => continue,
            Walked::On => {}
        }
        // SAFETY: as above.
        unsafe {
            update(environment, at, false, true, true, may_return, &mut wishes, &mut from_when);
            let instance = &mut (*c.cast::<Handle>()).instance;
            instance.leave();
            if wishes && may_return {
                instance.return_early();
                on = false;
            }
        }
    }
    let status = piece("fmi3DoStep, end", &mut |instance| finish(instance));
    if status > 1 {
        return status;
    }
    let mut at = 0.0;
    let looked = piece("fmi3DoStep, look", &mut |instance| {
        at = instance.look()?;
        Ok(())
    });
    if looked != 0 {
        return looked;
    }
    // SAFETY: as above.
    unsafe {
        update(environment, at, false, true, true, false, &mut wishes, &mut from_when);
        (*c.cast::<Handle>()).instance.leave();
    }
    status
}
