//! FMI 3.0 calls that pass through the record. Each does what its namesake does, on the instance behind the
//! proxy.

use std::ffi::{c_char, c_int};

use crate::calls::{Proxy, equations, list, record, states, texts};
use crate::ffi3::{Functions, Instance, Reference, State, Status};

/// `fmi3Error`: asked for a function that is not there, which the table below rules out.
const ERROR: Status = 3;

/// Puts the record, if there is one, between us and a new instance.
pub(crate) fn wrap(functions: Functions, pointer: Instance, name: &str) -> (Functions, Instance) {
    let Some(record) = record() else { return (functions, pointer) };
    let table = Functions {
        instantiate: functions.instantiate,
        free_instance,
        enter_initialization,
        exit_initialization,
        terminate,
        get_float64,
        set_float64,
        do_step: functions.do_step.map(|_| do_step as _),
        instantiate_exchange: functions.instantiate_exchange,
        enter_event_mode: functions.enter_event_mode.map(|_| enter_event_mode as _),
        enter_step_mode: functions.enter_step_mode.map(|_| enter_step_mode as _),
        get_clock: functions.get_clock.map(|_| get_clock as _),
        set_clock: functions.set_clock.map(|_| set_clock as _),
        get_interval: functions.get_interval.map(|_| get_interval as _),
        get_shift: functions.get_shift.map(|_| get_shift as _),
        enter_continuous_time: functions.enter_continuous_time.map(|_| enter_continuous_time as _),
        completed_step: functions.completed_step.map(|_| completed_step as _),
        set_time: functions.set_time.map(|_| set_time as _),
        set_continuous_states: functions.set_continuous_states.map(|_| set_continuous_states as _),
        get_derivatives: functions.get_derivatives.map(|_| get_derivatives as _),
        get_event_indicators: functions.get_event_indicators.map(|_| get_event_indicators as _),
        get_continuous_states: functions.get_continuous_states.map(|_| get_continuous_states as _),
        get_nominals: functions.get_nominals.map(|_| get_nominals as _),
        update_discrete_states: functions.update_discrete_states.map(|_| update_discrete_states as _),
        get_float32: functions.get_float32.map(|_| get_float32 as _),
        set_float32: functions.set_float32.map(|_| set_float32 as _),
        get_int8: functions.get_int8.map(|_| get_int8 as _),
        set_int8: functions.set_int8.map(|_| set_int8 as _),
        get_uint8: functions.get_uint8.map(|_| get_uint8 as _),
        set_uint8: functions.set_uint8.map(|_| set_uint8 as _),
        get_int16: functions.get_int16.map(|_| get_int16 as _),
        set_int16: functions.set_int16.map(|_| set_int16 as _),
        get_uint16: functions.get_uint16.map(|_| get_uint16 as _),
        set_uint16: functions.set_uint16.map(|_| set_uint16 as _),
        get_int32: functions.get_int32.map(|_| get_int32 as _),
        set_int32: functions.set_int32.map(|_| set_int32 as _),
        get_uint32: functions.get_uint32.map(|_| get_uint32 as _),
        set_uint32: functions.set_uint32.map(|_| set_uint32 as _),
        get_int64: functions.get_int64.map(|_| get_int64 as _),
        set_int64: functions.set_int64.map(|_| set_int64 as _),
        get_uint64: functions.get_uint64.map(|_| get_uint64 as _),
        set_uint64: functions.set_uint64.map(|_| set_uint64 as _),
        get_boolean: functions.get_boolean.map(|_| get_boolean as _),
        set_boolean: functions.set_boolean.map(|_| set_boolean as _),
        set_string: functions.set_string.map(|_| set_string as _),
        get_string: functions.get_string.map(|_| get_string as _),
        get_binary: functions.get_binary.map(|_| get_binary as _),
        set_binary: functions.set_binary.map(|_| set_binary as _),
        set_debug_logging: functions.set_debug_logging.map(|_| set_debug_logging as _),
        get_state: functions.get_state.map(|_| get_state as _),
        set_state: functions.set_state.map(|_| set_state as _),
        free_state: functions.free_state.map(|_| free_state as _),
        serialized_size: functions.serialized_size.map(|_| serialized_size as _),
        serialize: functions.serialize.map(|_| serialize as _),
        deserialize: functions.deserialize.map(|_| deserialize as _),
        directional_derivative: functions.directional_derivative.map(|_| directional_derivative as _),
    };
    (table, Proxy::address(functions, pointer, name, record))
}

/// # Safety
/// Only ever called with addresses that `wrap` gave out.
unsafe fn at<'a>(instance: Instance) -> &'a Proxy<Functions> {
    // SAFETY: as promised.
    unsafe { Proxy::at(instance) }
}

unsafe extern "C" fn free_instance(instance: Instance) {
    // SAFETY: from `wrap`; this is the last call with this address.
    unsafe {
        let p = at(instance);
        let free = || (p.functions.free_instance)(p.pointer);
        p.record.call(&p.name, "fmi3FreeInstance", "", free, |()| "done".into());
        Proxy::<Functions>::free(instance);
    }
}

unsafe extern "C" fn enter_initialization(
    i: Instance,
    tolerance_defined: bool,
    tolerance: f64,
    start: f64,
    stop_defined: bool,
    stop: f64,
) -> Status {
    // SAFETY: from `wrap`.
    let p = unsafe { at(i) };
    let arguments = format!("{tolerance_defined}, {tolerance:?}, {start:?}, {stop_defined}, {stop:?}");
    // SAFETY: the instance is alive.
    p.status("fmi3EnterInitializationMode", &arguments, || unsafe {
        (p.functions.enter_initialization)(p.pointer, tolerance_defined, tolerance, start, stop_defined, stop)
    })
}

macro_rules! plain {
    ($($function:ident = $name:literal;)*) => {$(
        unsafe extern "C" fn $function(i: Instance) -> Status {
            // SAFETY: from `wrap`.
            let p = unsafe { at(i) };
            // SAFETY: the instance is alive.
            p.status($name, "", || unsafe { (p.functions.$function)(p.pointer) })
        }
    )*};
}
plain! {
    exit_initialization = "fmi3ExitInitializationMode";
    terminate = "fmi3Terminate";
}

/// Values of one type; `$some` turns a table's field into an option, whether it is one or not.
macro_rules! values {
    ($($get:ident, $set:ident: $type:ty, $get_name:literal, $set_name:literal, $some:expr;)*) => {$(
        unsafe extern "C" fn $get(
            i: Instance, references: *const Reference, n: usize, values: *mut $type, m: usize,
        ) -> Status {
            // SAFETY: from `wrap`; so many references and values, the latter written before they are read.
            unsafe {
                let p = at(i);
                let call = || $some(p.functions.$get).map_or(ERROR, |f| f(p.pointer, references, n, values, m));
                p.answer($get_name, &list(references, n), call, || list(values, m))
            }
        }

        unsafe extern "C" fn $set(
            i: Instance, references: *const Reference, n: usize, values: *const $type, m: usize,
        ) -> Status {
            // SAFETY: from `wrap`; so many references and values.
            unsafe {
                let p = at(i);
                let arguments = format!("{}, {}", list(references, n), list(values, m));
                let call = || $some(p.functions.$set).map_or(ERROR, |f| f(p.pointer, references, n, values, m));
                p.status($set_name, &arguments, call)
            }
        }
    )*};
}
values! {
    get_float64, set_float64: f64, "fmi3GetFloat64", "fmi3SetFloat64", Some;
    get_float32, set_float32: f32, "fmi3GetFloat32", "fmi3SetFloat32", std::convert::identity;
    get_int8, set_int8: i8, "fmi3GetInt8", "fmi3SetInt8", std::convert::identity;
    get_uint8, set_uint8: u8, "fmi3GetUInt8", "fmi3SetUInt8", std::convert::identity;
    get_int16, set_int16: i16, "fmi3GetInt16", "fmi3SetInt16", std::convert::identity;
    get_uint16, set_uint16: u16, "fmi3GetUInt16", "fmi3SetUInt16", std::convert::identity;
    get_int32, set_int32: i32, "fmi3GetInt32", "fmi3SetInt32", std::convert::identity;
    get_uint32, set_uint32: u32, "fmi3GetUInt32", "fmi3SetUInt32", std::convert::identity;
    get_int64, set_int64: i64, "fmi3GetInt64", "fmi3SetInt64", std::convert::identity;
    get_uint64, set_uint64: u64, "fmi3GetUInt64", "fmi3SetUInt64", std::convert::identity;
    get_boolean, set_boolean: u8, "fmi3GetBoolean", "fmi3SetBoolean", std::convert::identity;
}

unsafe extern "C" fn set_string(
    i: Instance,
    references: *const Reference,
    n: usize,
    values: *const *const c_char,
    m: usize,
) -> Status {
    // SAFETY: from `wrap`; so many references and texts.
    unsafe {
        let p = at(i);
        let arguments = format!("{}, {}", list(references, n), texts(values, m));
        let call = || p.functions.set_string.map_or(ERROR, |f| f(p.pointer, references, n, values, m));
        p.status("fmi3SetString", &arguments, call)
    }
}

unsafe extern "C" fn get_string(
    i: Instance,
    references: *const Reference,
    n: usize,
    values: *mut *const c_char,
    m: usize,
) -> Status {
    // SAFETY: from `wrap`; room for so many texts, written before they are read.
    unsafe {
        let p = at(i);
        let call = || p.functions.get_string.map_or(ERROR, |f| f(p.pointer, references, n, values, m));
        p.answer("fmi3GetString", &list(references, n), call, || texts(values, m))
    }
}

unsafe extern "C" fn get_binary(
    i: Instance,
    references: *const Reference,
    n: usize,
    sizes: *mut usize,
    values: *mut *const u8,
    m: usize,
) -> Status {
    // SAFETY: from `wrap`; room for so many.
    unsafe {
        let p = at(i);
        let call = || p.functions.get_binary.map_or(ERROR, |f| f(p.pointer, references, n, sizes, values, m));
        p.answer("fmi3GetBinary", &list(references, n), call, || format!("{} bytes", list(sizes, m)))
    }
}

unsafe extern "C" fn set_binary(
    i: Instance,
    references: *const Reference,
    n: usize,
    sizes: *const usize,
    values: *const *const u8,
    m: usize,
) -> Status {
    // SAFETY: from `wrap`; so many of each.
    unsafe {
        let p = at(i);
        let arguments = format!("{}, {} bytes", list(references, n), list(sizes, m));
        let call = || p.functions.set_binary.map_or(ERROR, |f| f(p.pointer, references, n, sizes, values, m));
        p.status("fmi3SetBinary", &arguments, call)
    }
}

unsafe extern "C" fn set_debug_logging(
    i: Instance,
    on: bool,
    n: usize,
    names: *const *const c_char,
) -> Status {
    // SAFETY: from `wrap`; so many texts.
    unsafe {
        let p = at(i);
        let arguments = format!("{on}, {}", texts(names, n));
        let call = || p.functions.set_debug_logging.map_or(ERROR, |f| f(p.pointer, on, n, names));
        p.status("fmi3SetDebugLogging", &arguments, call)
    }
}

unsafe extern "C" fn do_step(
    i: Instance,
    from: f64,
    size: f64,
    never_back: bool,
    event: *mut u8,
    terminate: *mut u8,
    early: *mut u8,
    until: *mut f64,
) -> Status {
    // SAFETY: from `wrap`; the results are the caller's.
    unsafe {
        let p = at(i);
        let arguments = format!("{from:?}, {size:?}, {never_back}");
        let function = p.functions.do_step;
        let call = || {
            function.map_or(ERROR, |f| f(p.pointer, from, size, never_back, event, terminate, early, until))
        };
        p.answer("fmi3DoStep", &arguments, call, || {
            format!("event {}, terminate {}, early {}, at {:?}", *event, *terminate, *early, *until)
        })
    }
}

states!(
    u8,
    "fmi3GetFMUState",
    "fmi3SetFMUState",
    "fmi3FreeFMUState",
    "fmi3SerializedFMUStateSize",
    "fmi3SerializeFMUState",
    "fmi3DeserializeFMUState"
);

unsafe extern "C" fn directional_derivative(
    i: Instance,
    of: *const Reference,
    rows: usize,
    by: *const Reference,
    columns: usize,
    seed: *const f64,
    seeds: usize,
    values: *mut f64,
    n: usize,
) -> Status {
    // SAFETY: from `wrap`; so many of each.
    unsafe {
        let p = at(i);
        let arguments = format!("{}, {}, {}", list(of, rows), list(by, columns), list(seed, seeds));
        let function = p.functions.directional_derivative;
        let call = || function.map_or(ERROR, |f| f(p.pointer, of, rows, by, columns, seed, seeds, values, n));
        p.answer("fmi3GetDirectionalDerivative", &arguments, call, || list(values, n))
    }
}

unsafe extern "C" fn enter_step_mode(i: Instance) -> Status {
    // SAFETY: from `wrap`.
    let p = unsafe { at(i) };
    // SAFETY: the instance is alive.
    let call = || p.functions.enter_step_mode.map_or(ERROR, |f| unsafe { f(p.pointer) });
    p.status("fmi3EnterStepMode", "", call)
}

unsafe extern "C" fn get_clock(
    i: Instance,
    references: *const Reference,
    n: usize,
    values: *mut u8,
) -> Status {
    // SAFETY: from `wrap`; so many references and values, the latter written before they are read.
    unsafe {
        let p = at(i);
        let call = || p.functions.get_clock.map_or(ERROR, |f| f(p.pointer, references, n, values));
        p.answer("fmi3GetClock", &list(references, n), call, || list(values, n))
    }
}

unsafe extern "C" fn set_clock(
    i: Instance,
    references: *const Reference,
    n: usize,
    values: *const u8,
) -> Status {
    // SAFETY: from `wrap`; so many references and values.
    unsafe {
        let p = at(i);
        let arguments = format!("{}, {}", list(references, n), list(values, n));
        let call = || p.functions.set_clock.map_or(ERROR, |f| f(p.pointer, references, n, values));
        p.status("fmi3SetClock", &arguments, call)
    }
}

unsafe extern "C" fn get_interval(
    i: Instance,
    references: *const Reference,
    n: usize,
    intervals: *mut f64,
    told: *mut c_int,
) -> Status {
    // SAFETY: from `wrap`; so many of each.
    unsafe {
        let p = at(i);
        let call =
            || p.functions.get_interval.map_or(ERROR, |f| f(p.pointer, references, n, intervals, told));
        p.answer("fmi3GetIntervalDecimal", &list(references, n), call, || {
            format!("{}, {}", list(intervals, n), list(told, n))
        })
    }
}

unsafe extern "C" fn get_shift(
    i: Instance,
    references: *const Reference,
    n: usize,
    shifts: *mut f64,
) -> Status {
    // SAFETY: from `wrap`; so many of each.
    unsafe {
        let p = at(i);
        let call = || p.functions.get_shift.map_or(ERROR, |f| f(p.pointer, references, n, shifts));
        p.answer("fmi3GetShiftDecimal", &list(references, n), call, || list(shifts, n))
    }
}

equations!("fmi3", bool, u8, "GetContinuousStateDerivatives");

unsafe extern "C" fn update_discrete_states(
    i: Instance,
    again: *mut u8,
    terminate: *mut u8,
    nominals: *mut u8,
    states: *mut u8,
    defined: *mut u8,
    time: *mut f64,
) -> Status {
    // SAFETY: from `wrap`; the answers are the caller's.
    unsafe {
        let p = at(i);
        let function = p.functions.update_discrete_states;
        let call =
            || function.map_or(ERROR, |f| f(p.pointer, again, terminate, nominals, states, defined, time));
        p.answer("fmi3UpdateDiscreteStates", "", call, || {
            let next = if *defined == 0 { String::new() } else { format!(", next event at {:?}", *time) };
            format!(
                "again {}, terminate {}, nominals {}, states {}{next}",
                *again, *terminate, *nominals, *states
            )
        })
    }
}
