//! The C interface of FMI 2.0. Names and types follow the standard.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cosimo_core::SimulatorError;

use crate::call_log::{count, list, raw_text, texts};
use crate::functions::functions;

pub(crate) type State = *mut c_void;
pub(crate) type References = *const c_uint;
pub(crate) type Status = c_int;
pub(crate) type Bool = c_int;

pub(crate) const MODEL_EXCHANGE: c_int = 0;
pub(crate) const CO_SIMULATION: c_int = 1;
/// `fmi2StatusKind`: where a discarded step ended.
pub(crate) const LAST_SUCCESSFUL_TIME: c_int = 2;
/// `fmi2StatusKind`: whether a discarded step means the end.
pub(crate) const TERMINATED: c_int = 3;

/// Typed as the shim declares it; the standard's `...` has no spelling for a definition in stable Rust.
pub(crate) type Logger =
    unsafe extern "C" fn(*mut c_void, *const c_char, Status, *const c_char, *const c_char, ...);

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Callbacks {
    pub(crate) logger: Logger,
    pub(crate) allocate: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    pub(crate) free: unsafe extern "C" fn(*mut c_void),
    /// Null: no step is asynchronous.
    pub(crate) step_finished: *const c_void,
    pub(crate) environment: *mut c_void,
}

// SAFETY: the shim and the C library define these with these types.
unsafe extern "C" {
    pub(crate) fn cosimo_fmi2_logger(
        environment: *mut c_void,
        instance: *const c_char,
        status: Status,
        category: *const c_char,
        message: *const c_char,
        ...
    );
    pub(crate) fn cosimo_fmi2_hand_on(
        find: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void,
        write: unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char),
    );
    pub(crate) fn calloc(count: usize, size: usize) -> *mut c_void;
    pub(crate) fn free(memory: *mut c_void);
}

/// `fmi2EventInfo`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventInfo {
    pub(crate) again: Bool,
    pub(crate) terminate: Bool,
    pub(crate) nominals_changed: Bool,
    pub(crate) states_changed: Bool,
    pub(crate) time_defined: Bool,
    pub(crate) time: f64,
}

functions! {
    "fmi2";
    make {
        instantiate = "Instantiate": fn(
            *const c_char, c_int, *const c_char, *const c_char, *const Callbacks, Bool, Bool,
        );
    }
    needed {
        free_instance = "FreeInstance"() last;
        setup_experiment = "SetupExperiment"(
            tolerance_defined: Bool, tolerance: f64, start: f64, stop_defined: Bool, stop: f64,
        ) [tolerance_defined, tolerance, start, stop_defined, stop];
        enter_initialization = "EnterInitializationMode"();
        exit_initialization = "ExitInitializationMode"();
        terminate = "Terminate"();
        get_real = "GetReal"(of: References, n: usize, values: *mut f64) [list(of, n)] => [list(values, n)];
        set_real = "SetReal"(of: References, n: usize, values: *const f64) [list(of, n), list(values, n)];
    }
    make optional {}
    optional {
        do_step = "DoStep"(from: f64, size: f64, never_back: Bool) [from, size, never_back];
        enter_event_mode = "EnterEventMode"();
        new_discrete_states = "NewDiscreteStates"(info: *mut EventInfo) => [*info];
        enter_continuous_time = "EnterContinuousTimeMode"();
        completed_step = "CompletedIntegratorStep"(never_back: Bool, event: *mut Bool, terminate: *mut Bool)
            [never_back] => [raw_text(format!("event {}, terminate {}", *event, *terminate))];
        set_time = "SetTime"(t: f64) [t];
        set_continuous_states = "SetContinuousStates"(x: *const f64, n: usize) [list(x, n)];
        get_derivatives = "GetDerivatives"(dx: *mut f64, n: usize) => [list(dx, n)];
        get_event_indicators = "GetEventIndicators"(z: *mut f64, n: usize) => [list(z, n)];
        get_continuous_states = "GetContinuousStates"(x: *mut f64, n: usize) => [list(x, n)];
        get_nominals = "GetNominalsOfContinuousStates"(x: *mut f64, n: usize) => [list(x, n)];
        get_integer = "GetInteger"(of: References, n: usize, values: *mut c_int)
            [list(of, n)] => [list(values, n)];
        set_integer = "SetInteger"(of: References, n: usize, values: *const c_int)
            [list(of, n), list(values, n)];
        get_boolean = "GetBoolean"(of: References, n: usize, values: *mut Bool)
            [list(of, n)] => [list(values, n)];
        set_boolean = "SetBoolean"(of: References, n: usize, values: *const Bool)
            [list(of, n), list(values, n)];
        set_string = "SetString"(of: References, n: usize, values: *const *const c_char)
            [list(of, n), texts(values, n)];
        get_string = "GetString"(of: References, n: usize, values: *mut *const c_char)
            [list(of, n)] => [texts(values, n)];
        set_debug_logging = "SetDebugLogging"(on: Bool, n: usize, names: *const *const c_char)
            [on, texts(names, n)];
        set_real_input_derivatives = "SetRealInputDerivatives"(
            of: References, n: usize, orders: *const c_int, values: *const f64,
        ) [list(of, n), list(orders, n), list(values, n)];
        get_real_status = "GetRealStatus"(kind: c_int, value: *mut f64) [kind] => [*value];
        get_boolean_status = "GetBooleanStatus"(kind: c_int, value: *mut Bool) [kind] => [*value];
        get_state = "GetFMUstate"(state: *mut State) [*state] => [*state];
        set_state = "SetFMUstate"(state: State) [state];
        free_state = "FreeFMUstate"(state: *mut State) [*state];
        serialized_size = "SerializedFMUstateSize"(state: State, size: *mut usize) [state] => [*size];
        serialize = "SerializeFMUstate"(state: State, bytes: *mut c_char, size: usize) [state, count(size)];
        deserialize = "DeSerializeFMUstate"(bytes: *const c_char, size: usize, state: *mut State)
            [count(size)] => [*state];
        directional_derivative = "GetDirectionalDerivative"(
            of: References, rows: usize, by: References, columns: usize,
            seed: *const f64, values: *mut f64,
        ) [list(of, rows), list(by, columns), list(seed, columns)] => [list(values, rows)];
    }
}
