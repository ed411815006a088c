//! FMI 1.0 calls that pass through the call log. Each does what its namesake does, on the instance behind the proxy.

use std::ffi::{c_char, c_int};

use crate::calls::{Proxy, list, record, texts};
use crate::fmi1::ffi::{Bool, Component, Functions, Reference, Status};
use crate::log::status_word;

/// `fmiError`: asked for a function that is not there, which the table below rules out.
const ERROR: Status = 3;

/// Puts the call log, if there is one, between us and a new instance.
pub(crate) fn wrap(functions: Functions, pointer: Component, name: &str) -> (Functions, Component) {
    let Some(record) = record() else { return (functions, pointer) };
    let table = Functions {
        instantiate: functions.instantiate,
        initialize,
        terminate,
        free_instance,
        do_step,
        get_real: functions.get_real.map(|_| get_real as _),
        set_real: functions.set_real.map(|_| set_real as _),
        get_integer: functions.get_integer.map(|_| get_integer as _),
        set_integer: functions.set_integer.map(|_| set_integer as _),
        get_boolean: functions.get_boolean.map(|_| get_boolean as _),
        set_boolean: functions.set_boolean.map(|_| set_boolean as _),
        get_string: functions.get_string.map(|_| get_string as _),
        set_string: functions.set_string.map(|_| set_string as _),
        set_real_input_derivatives: functions
            .set_real_input_derivatives
            .map(|_| set_real_input_derivatives as _),
        get_status: functions.get_status.map(|_| get_status as _),
        get_real_status: functions.get_real_status.map(|_| get_real_status as _),
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
        let call = || (p.functions.free_instance)(p.pointer);
        p.record.call(&p.name, "fmiFreeSlaveInstance", "", call, |()| "done".into());
        Proxy::<Functions>::free(component);
    }
}

unsafe extern "C" fn initialize(c: Component, start: f64, stop_defined: Bool, stop: f64) -> Status {
    // SAFETY: from `wrap`.
    let p = unsafe { at(c) };
    let arguments = format!("{start:?}, {stop_defined}, {stop:?}");
    // SAFETY: the instance is alive.
    let call = || unsafe { (p.functions.initialize)(p.pointer, start, stop_defined, stop) };
    p.status("fmiInitializeSlave", &arguments, call)
}

unsafe extern "C" fn terminate(c: Component) -> Status {
    // SAFETY: from `wrap`.
    let p = unsafe { at(c) };
    // SAFETY: the instance is alive.
    p.status("fmiTerminateSlave", "", || unsafe { (p.functions.terminate)(p.pointer) })
}

unsafe extern "C" fn do_step(c: Component, from: f64, size: f64, new_step: Bool) -> Status {
    // SAFETY: from `wrap`.
    let p = unsafe { at(c) };
    let arguments = format!("{from:?}, {size:?}, {new_step}");
    // SAFETY: the instance is alive.
    p.status("fmiDoStep", &arguments, || unsafe { (p.functions.do_step)(p.pointer, from, size, new_step) })
}

macro_rules! values {
    ($($get:ident, $set:ident, $type:ty, $get_name:literal, $set_name:literal, $shown:ident;)*) => {$(
        unsafe extern "C" fn $get(c: Component, references: *const Reference, n: usize, values: *mut $type) -> Status {
            // SAFETY: from `wrap`; so many references and values, the latter written before they are read.
            unsafe {
                let p = at(c);
                let call = || p.functions.$get.map_or(ERROR, |f| f(p.pointer, references, n, values));
                p.answer($get_name, &list(references, n), call, || $shown(values, n))
            }
        }

        unsafe extern "C" fn $set(c: Component, references: *const Reference, n: usize, values: *const $type) -> Status {
            // SAFETY: from `wrap`; so many references and values.
            unsafe {
                let p = at(c);
                let arguments = format!("{}, {}", list(references, n), $shown(values, n));
                let call = || p.functions.$set.map_or(ERROR, |f| f(p.pointer, references, n, values));
                p.status($set_name, &arguments, call)
            }
        }
    )*};
}
values! {
    get_real, set_real, f64, "fmiGetReal", "fmiSetReal", list;
    get_integer, set_integer, c_int, "fmiGetInteger", "fmiSetInteger", list;
    get_boolean, set_boolean, Bool, "fmiGetBoolean", "fmiSetBoolean", list;
    get_string, set_string, *const c_char, "fmiGetString", "fmiSetString", texts;
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
        p.status("fmiSetRealInputDerivatives", &arguments, call)
    }
}

unsafe extern "C" fn get_status(c: Component, kind: c_int, value: *mut Status) -> Status {
    // SAFETY: from `wrap`; the value is the caller's.
    unsafe {
        let p = at(c);
        let call = || p.functions.get_status.map_or(ERROR, |f| f(p.pointer, kind, value));
        p.answer("fmiGetStatus", &kind.to_string(), call, || status_word(*value).into())
    }
}

unsafe extern "C" fn get_real_status(c: Component, kind: c_int, value: *mut f64) -> Status {
    // SAFETY: from `wrap`; the value is the caller's.
    unsafe {
        let p = at(c);
        let call = || p.functions.get_real_status.map_or(ERROR, |f| f(p.pointer, kind, value));
        p.answer("fmiGetRealStatus", &kind.to_string(), call, || format!("{:?}", *value))
    }
}
