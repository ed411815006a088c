//! The C interface of FMI 1.0 for co-simulation. Names and types follow the standard.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cosimo_core::SimulatorError;

use crate::call_log::{list, raw_text, texts};
use crate::functions::functions;
use crate::log::status_word;

pub(crate) type FmiComponent = *mut c_void;
pub(crate) type References = *const c_uint;
pub(crate) type Status = c_int;
/// `fmiBoolean`: one byte, unlike FMI 2.0.
pub(crate) type Bool = c_char;

/// `fmiStatus`: the step is still under way.
pub(crate) const PENDING: Status = 5;
/// `fmiStatusKind`: the outcome of a step that was pending.
pub(crate) const DO_STEP_STATUS: c_int = 0;
/// `fmiStatusKind`: where a discarded step ended.
pub(crate) const LAST_SUCCESSFUL_TIME: c_int = 2;

/// For a slave that is its own simulator, in a shared library.
pub(crate) const MIME_TYPE: &std::ffi::CStr = c"application/x-fmu-sharedlibrary";

/// Typed as the shim declares it; the standard's `...` has no spelling for a definition in stable Rust.
pub(crate) type Logger =
    unsafe extern "C" fn(FmiComponent, *const c_char, Status, *const c_char, *const c_char, ...);

/// Handed over by value.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Callbacks {
    pub(crate) logger: Logger,
    pub(crate) allocate: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    pub(crate) free: unsafe extern "C" fn(*mut c_void),
    /// Null: the status of a pending step is asked for.
    pub(crate) step_finished: *const c_void,
}

// SAFETY: the shim defines it with this type.
unsafe extern "C" {
    pub(crate) fn cosimo_fmi1_logger(
        component: FmiComponent,
        instance: *const c_char,
        status: Status,
        category: *const c_char,
        message: *const c_char,
        ...
    );
}

functions! {
    "fmi";
    make {
        instantiate = "InstantiateSlave": fn(
            *const c_char, *const c_char, *const c_char, *const c_char, f64, Bool, Bool, Callbacks, Bool,
        );
    }
    needed {
        initialize = "InitializeSlave"(start: f64, stop_defined: Bool, stop: f64) [start, stop_defined, stop];
        terminate = "TerminateSlave"();
        free_instance = "FreeSlaveInstance"() last;
        do_step = "DoStep"(from: f64, size: f64, new_step: Bool) [from, size, new_step];
    }
    make optional {}
    optional {
        get_real = "GetReal"(of: References, n: usize, values: *mut f64) [list(of, n)] => [list(values, n)];
        set_real = "SetReal"(of: References, n: usize, values: *const f64) [list(of, n), list(values, n)];
        get_integer = "GetInteger"(of: References, n: usize, values: *mut c_int)
            [list(of, n)] => [list(values, n)];
        set_integer = "SetInteger"(of: References, n: usize, values: *const c_int)
            [list(of, n), list(values, n)];
        get_boolean = "GetBoolean"(of: References, n: usize, values: *mut Bool)
            [list(of, n)] => [list(values, n)];
        set_boolean = "SetBoolean"(of: References, n: usize, values: *const Bool)
            [list(of, n), list(values, n)];
        get_string = "GetString"(of: References, n: usize, values: *mut *const c_char)
            [list(of, n)] => [texts(values, n)];
        set_string = "SetString"(of: References, n: usize, values: *const *const c_char)
            [list(of, n), texts(values, n)];
        set_real_input_derivatives = "SetRealInputDerivatives"(
            of: References, n: usize, orders: *const c_int, values: *const f64,
        ) [list(of, n), list(orders, n), list(values, n)];
        get_status = "GetStatus"(kind: c_int, value: *mut Status) [kind] => [raw_text(status_word(*value))];
        get_real_status = "GetRealStatus"(kind: c_int, value: *mut f64) [kind] => [*value];
    }
}
