//! FMI 2.0 calls that pass through the record. Each does what its namesake does, on the instance behind the
//! proxy.

use std::ffi::{c_char, c_int, c_void};

use crate::calls::{Proxy, equations, list, record, states, texts};
use crate::ffi2::{Bool, Component, EventInfo, Functions, Reference, State, Status};

/// `fmi2Error`: asked for a function that is not there, which the table below rules out.
const ERROR: Status = 3;

/// Puts the record, if there is one, between us and a new instance.
pub(crate) fn wrap(functions: Functions, pointer: Component, name: &str) -> (Functions, Component) {
    let Some(record) = record() else { return (functions, pointer) };
    let table = Functions {
        instantiate: functions.instantiate,
        free_instance,
        setup_experiment,
        enter_initialization,
        exit_initialization,
        terminate,
        get_real,
        set_real,
        do_step: functions.do_step.map(|_| do_step as _),
        enter_event_mode: functions.enter_event_mode.map(|_| enter_event_mode as _),
        enter_continuous_time: functions.enter_continuous_time.map(|_| enter_continuous_time as _),
        completed_step: functions.completed_step.map(|_| completed_step as _),
        set_time: functions.set_time.map(|_| set_time as _),
        set_continuous_states: functions.set_continuous_states.map(|_| set_continuous_states as _),
        get_derivatives: functions.get_derivatives.map(|_| get_derivatives as _),
        get_event_indicators: functions.get_event_indicators.map(|_| get_event_indicators as _),
        get_continuous_states: functions.get_continuous_states.map(|_| get_continuous_states as _),
        get_nominals: functions.get_nominals.map(|_| get_nominals as _),
        new_discrete_states: functions.new_discrete_states.map(|_| new_discrete_states as _),
        get_integer: functions.get_integer.map(|_| get_integer as _),
        set_integer: functions.set_integer.map(|_| set_integer as _),
        get_boolean: functions.get_boolean.map(|_| get_boolean as _),
        set_boolean: functions.set_boolean.map(|_| set_boolean as _),
        set_string: functions.set_string.map(|_| set_string as _),
        get_string: functions.get_string.map(|_| get_string as _),
        set_debug_logging: functions.set_debug_logging.map(|_| set_debug_logging as _),
        set_real_input_derivatives: functions
            .set_real_input_derivatives
            .map(|_| set_real_input_derivatives as _),
        get_boolean_status: functions.get_boolean_status.map(|_| get_boolean_status as _),
        get_real_status: functions.get_real_status.map(|_| get_real_status as _),
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
unsafe fn at<'a>(component: Component) -> &'a Proxy<Functions> {
    // SAFETY: as promised.
    unsafe { Proxy::at(component) }
}

unsafe extern "C" fn free_instance(component: Component) {
    // SAFETY: from `wrap`; this is the last call with this address.
    unsafe {
        let p = at(component);
        p.record.call(
            &p.name,
            "fmi2FreeInstance",
            "",
            || (p.functions.free_instance)(p.pointer),
            |()| "done".into(),
        );
        Proxy::<Functions>::free(component);
    }
}

unsafe extern "C" fn setup_experiment(
    component: Component,
    tolerance_defined: Bool,
    tolerance: f64,
    start: f64,
    stop_defined: Bool,
    stop: f64,
) -> Status {
    // SAFETY: from `wrap`.
    let p = unsafe { at(component) };
    let arguments = format!("{tolerance_defined}, {tolerance:?}, {start:?}, {stop_defined}, {stop:?}");
    // SAFETY: the instance is alive.
    p.status("fmi2SetupExperiment", &arguments, || unsafe {
        (p.functions.setup_experiment)(p.pointer, tolerance_defined, tolerance, start, stop_defined, stop)
    })
}

macro_rules! plain {
    ($($function:ident = $name:literal;)*) => {$(
        unsafe extern "C" fn $function(component: Component) -> Status {
            // SAFETY: from `wrap`.
            let p = unsafe { at(component) };
            // SAFETY: the instance is alive.
            p.status($name, "", || unsafe { (p.functions.$function)(p.pointer) })
        }
    )*};
}
plain! {
    enter_initialization = "fmi2EnterInitializationMode";
    exit_initialization = "fmi2ExitInitializationMode";
    terminate = "fmi2Terminate";
}

unsafe extern "C" fn get_real(
    c: Component,
    references: *const Reference,
    n: usize,
    values: *mut f64,
) -> Status {
    // SAFETY: from `wrap`; so many references and values, the latter written by the call before they are read.
    unsafe {
        let p = at(c);
        let call = || (p.functions.get_real)(p.pointer, references, n, values);
        p.answer("fmi2GetReal", &list(references, n), call, || list(values, n))
    }
}

unsafe extern "C" fn set_real(
    c: Component,
    references: *const Reference,
    n: usize,
    values: *const f64,
) -> Status {
    // SAFETY: from `wrap`; so many references and values.
    unsafe {
        let p = at(c);
        let arguments = format!("{}, {}", list(references, n), list(values, n));
        p.status("fmi2SetReal", &arguments, || (p.functions.set_real)(p.pointer, references, n, values))
    }
}

macro_rules! whole {
    ($($get:ident, $set:ident, $get_name:literal, $set_name:literal;)*) => {$(
        unsafe extern "C" fn $get(c: Component, references: *const Reference, n: usize, values: *mut c_int) -> Status {
            // SAFETY: from `wrap`; so many references and values, the latter written before they are read.
            unsafe {
                let p = at(c);
                let call = || p.functions.$get.map_or(ERROR, |f| f(p.pointer, references, n, values));
                p.answer($get_name, &list(references, n), call, || list(values, n))
            }
        }

        unsafe extern "C" fn $set(c: Component, references: *const Reference, n: usize, values: *const c_int) -> Status {
            // SAFETY: from `wrap`; so many references and values.
            unsafe {
                let p = at(c);
                let arguments = format!("{}, {}", list(references, n), list(values, n));
                let call = || p.functions.$set.map_or(ERROR, |f| f(p.pointer, references, n, values));
                p.status($set_name, &arguments, call)
            }
        }
    )*};
}
whole! {
    get_integer, set_integer, "fmi2GetInteger", "fmi2SetInteger";
    get_boolean, set_boolean, "fmi2GetBoolean", "fmi2SetBoolean";
}

unsafe extern "C" fn set_string(
    c: Component,
    references: *const Reference,
    n: usize,
    values: *const *const c_char,
) -> Status {
    // SAFETY: from `wrap`; so many references and texts.
    unsafe {
        let p = at(c);
        let arguments = format!("{}, {}", list(references, n), texts(values, n));
        let call = || p.functions.set_string.map_or(ERROR, |f| f(p.pointer, references, n, values));
        p.status("fmi2SetString", &arguments, call)
    }
}

unsafe extern "C" fn get_string(
    c: Component,
    references: *const Reference,
    n: usize,
    values: *mut *const c_char,
) -> Status {
    // SAFETY: from `wrap`; room for so many texts, written before they are read.
    unsafe {
        let p = at(c);
        let call = || p.functions.get_string.map_or(ERROR, |f| f(p.pointer, references, n, values));
        p.answer("fmi2GetString", &list(references, n), call, || texts(values, n))
    }
}

unsafe extern "C" fn set_debug_logging(
    c: Component,
    on: Bool,
    n: usize,
    names: *const *const c_char,
) -> Status {
    // SAFETY: from `wrap`; so many texts.
    unsafe {
        let p = at(c);
        let arguments = format!("{on}, {}", texts(names, n));
        let call = || p.functions.set_debug_logging.map_or(ERROR, |f| f(p.pointer, on, n, names));
        p.status("fmi2SetDebugLogging", &arguments, call)
    }
}

unsafe extern "C" fn set_real_input_derivatives(
    c: Component,
    references: *const Reference,
    n: usize,
    orders: *const c_int,
    values: *const f64,
) -> Status {
    // SAFETY: from `wrap`; so many of each.
    unsafe {
        let p = at(c);
        let arguments = format!("{}, {}, {}", list(references, n), list(orders, n), list(values, n));
        let function = p.functions.set_real_input_derivatives;
        let call = || function.map_or(ERROR, |f| f(p.pointer, references, n, orders, values));
        p.status("fmi2SetRealInputDerivatives", &arguments, call)
    }
}

unsafe extern "C" fn do_step(c: Component, from: f64, size: f64, never_back: Bool) -> Status {
    // SAFETY: from `wrap`.
    let p = unsafe { at(c) };
    let arguments = format!("{from:?}, {size:?}, {never_back}");
    // SAFETY: the instance is alive.
    let call = || unsafe { p.functions.do_step.map_or(ERROR, |f| f(p.pointer, from, size, never_back)) };
    p.status("fmi2DoStep", &arguments, call)
}

unsafe extern "C" fn get_real_status(c: Component, kind: c_int, value: *mut f64) -> Status {
    // SAFETY: from `wrap`; the value is the caller's.
    unsafe {
        let p = at(c);
        let call = || p.functions.get_real_status.map_or(ERROR, |f| f(p.pointer, kind, value));
        p.answer("fmi2GetRealStatus", &kind.to_string(), call, || format!("{:?}", *value))
    }
}

unsafe extern "C" fn get_boolean_status(c: Component, kind: c_int, value: *mut Bool) -> Status {
    // SAFETY: from `wrap`; the value is the caller's.
    unsafe {
        let p = at(c);
        let call = || p.functions.get_boolean_status.map_or(ERROR, |f| f(p.pointer, kind, value));
        p.answer("fmi2GetBooleanStatus", &kind.to_string(), call, || (*value).to_string())
    }
}

states!(
    c_char,
    "fmi2GetFMUstate",
    "fmi2SetFMUstate",
    "fmi2FreeFMUstate",
    "fmi2SerializedFMUstateSize",
    "fmi2SerializeFMUstate",
    "fmi2DeSerializeFMUstate"
);

unsafe extern "C" fn directional_derivative(
    c: *mut c_void,
    of: *const Reference,
    rows: usize,
    by: *const Reference,
    columns: usize,
    seed: *const f64,
    values: *mut f64,
) -> Status {
    // SAFETY: from `wrap`; so many of each.
    unsafe {
        let p = at(c);
        let arguments = format!("{}, {}, {}", list(of, rows), list(by, columns), list(seed, columns));
        let function = p.functions.directional_derivative;
        let call = || function.map_or(ERROR, |f| f(p.pointer, of, rows, by, columns, seed, values));
        p.answer("fmi2GetDirectionalDerivative", &arguments, call, || list(values, rows))
    }
}

equations!("fmi2", Bool, Bool, "GetDerivatives");

unsafe extern "C" fn new_discrete_states(c: Component, info: *mut EventInfo) -> Status {
    // SAFETY: from `wrap`; the answer is the caller's.
    unsafe {
        let p = at(c);
        let call = || p.functions.new_discrete_states.map_or(ERROR, |f| f(p.pointer, info));
        p.answer("fmi2NewDiscreteStates", "", call, || format!("{:?}", *info))
    }
}
