//! The C interface of FMI 3.0, as far as FMUs need it that are not scheduled. Names and types follow the
//! standard.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cosimo_core::SimulatorError;

use crate::call_log::{count, list, raw_text, texts};
use crate::functions::functions;

pub(crate) type Instance = *mut c_void;
pub(crate) type State = *mut c_void;
pub(crate) type References = *const c_uint;
pub(crate) type Status = c_int;

pub(crate) type Logger = unsafe extern "C" fn(*mut c_void, Status, *const c_char, *const c_char);
/// Flags that come from an FMU are read as numbers: it may leave more than 0 and 1 there.
pub(crate) type IntermediateUpdate =
    unsafe extern "C" fn(*mut c_void, f64, u8, u8, u8, u8, *mut u8, *mut f64);

/// References, how many, values, how many: one variable may have many values.
pub(crate) type Get<T> = unsafe extern "C" fn(Instance, References, usize, *mut T, usize) -> Status;
pub(crate) type Set<T> = unsafe extern "C" fn(Instance, References, usize, *const T, usize) -> Status;

functions! {
    "fmi3";
    make {}
    needed {
        free_instance = "FreeInstance"() last;
        enter_initialization = "EnterInitializationMode"(
            tolerance_defined: bool, tolerance: f64, start: f64, stop_defined: bool, stop: f64,
        ) [tolerance_defined, tolerance, start, stop_defined, stop];
        exit_initialization = "ExitInitializationMode"();
        terminate = "Terminate"();
        get_float64 = "GetFloat64"(of: References, n: usize, values: *mut f64, m: usize)
            [list(of, n)] => [list(values, m)];
        set_float64 = "SetFloat64"(of: References, n: usize, values: *const f64, m: usize)
            [list(of, n), list(values, m)];
    }
    make optional {
        instantiate = "InstantiateCoSimulation": fn(
            *const c_char, *const c_char, *const c_char, bool, bool, bool, bool, References, usize,
            *mut c_void, Option<Logger>, Option<IntermediateUpdate>,
        );
        instantiate_exchange = "InstantiateModelExchange": fn(
            *const c_char, *const c_char, *const c_char, bool, bool, *mut c_void, Option<Logger>,
        );
    }
    optional {
        do_step = "DoStep"(
            from: f64, size: f64, never_back: bool,
            event: *mut u8, terminate: *mut u8, early: *mut u8, until: *mut f64,
        ) [from, size, never_back] => [raw_text(format!(
            "event {}, terminate {}, early {}, at {:?}", *event, *terminate, *early, *until
        ))];
        enter_event_mode = "EnterEventMode"();
        update_discrete_states = "UpdateDiscreteStates"(
            again: *mut u8, terminate: *mut u8, nominals: *mut u8, states: *mut u8,
            defined: *mut u8, time: *mut f64,
        ) => [raw_text(format!(
            "again {}, terminate {}, nominals {}, states {}{}", *again, *terminate, *nominals, *states,
            if *defined == 0 { String::new() } else { format!(", next event at {:?}", *time) }
        ))];
        enter_step_mode = "EnterStepMode"();
        get_clock = "GetClock"(of: References, n: usize, values: *mut u8) [list(of, n)] => [list(values, n)];
        set_clock = "SetClock"(of: References, n: usize, values: *const u8) [list(of, n), list(values, n)];
        get_interval = "GetIntervalDecimal"(
            of: References, n: usize, intervals: *mut f64, told: *mut c_int,
        ) [list(of, n)] => [list(intervals, n), list(told, n)];
        get_shift = "GetShiftDecimal"(of: References, n: usize, shifts: *mut f64)
            [list(of, n)] => [list(shifts, n)];
        enter_continuous_time = "EnterContinuousTimeMode"();
        completed_step = "CompletedIntegratorStep"(never_back: bool, event: *mut u8, terminate: *mut u8)
            [never_back] => [raw_text(format!("event {}, terminate {}", *event, *terminate))];
        set_time = "SetTime"(t: f64) [t];
        set_continuous_states = "SetContinuousStates"(x: *const f64, n: usize) [list(x, n)];
        get_derivatives = "GetContinuousStateDerivatives"(dx: *mut f64, n: usize) => [list(dx, n)];
        get_event_indicators = "GetEventIndicators"(z: *mut f64, n: usize) => [list(z, n)];
        get_continuous_states = "GetContinuousStates"(x: *mut f64, n: usize) => [list(x, n)];
        get_nominals = "GetNominalsOfContinuousStates"(x: *mut f64, n: usize) => [list(x, n)];
        get_float32 = "GetFloat32"(of: References, n: usize, values: *mut f32, m: usize)
            [list(of, n)] => [list(values, m)];
        set_float32 = "SetFloat32"(of: References, n: usize, values: *const f32, m: usize)
            [list(of, n), list(values, m)];
        get_int8 = "GetInt8"(of: References, n: usize, values: *mut i8, m: usize)
            [list(of, n)] => [list(values, m)];
        set_int8 = "SetInt8"(of: References, n: usize, values: *const i8, m: usize)
            [list(of, n), list(values, m)];
        get_uint8 = "GetUInt8"(of: References, n: usize, values: *mut u8, m: usize)
            [list(of, n)] => [list(values, m)];
        set_uint8 = "SetUInt8"(of: References, n: usize, values: *const u8, m: usize)
            [list(of, n), list(values, m)];
        get_int16 = "GetInt16"(of: References, n: usize, values: *mut i16, m: usize)
            [list(of, n)] => [list(values, m)];
        set_int16 = "SetInt16"(of: References, n: usize, values: *const i16, m: usize)
            [list(of, n), list(values, m)];
        get_uint16 = "GetUInt16"(of: References, n: usize, values: *mut u16, m: usize)
            [list(of, n)] => [list(values, m)];
        set_uint16 = "SetUInt16"(of: References, n: usize, values: *const u16, m: usize)
            [list(of, n), list(values, m)];
        get_int32 = "GetInt32"(of: References, n: usize, values: *mut i32, m: usize)
            [list(of, n)] => [list(values, m)];
        set_int32 = "SetInt32"(of: References, n: usize, values: *const i32, m: usize)
            [list(of, n), list(values, m)];
        get_uint32 = "GetUInt32"(of: References, n: usize, values: *mut u32, m: usize)
            [list(of, n)] => [list(values, m)];
        set_uint32 = "SetUInt32"(of: References, n: usize, values: *const u32, m: usize)
            [list(of, n), list(values, m)];
        get_int64 = "GetInt64"(of: References, n: usize, values: *mut i64, m: usize)
            [list(of, n)] => [list(values, m)];
        set_int64 = "SetInt64"(of: References, n: usize, values: *const i64, m: usize)
            [list(of, n), list(values, m)];
        get_uint64 = "GetUInt64"(of: References, n: usize, values: *mut u64, m: usize)
            [list(of, n)] => [list(values, m)];
        set_uint64 = "SetUInt64"(of: References, n: usize, values: *const u64, m: usize)
            [list(of, n), list(values, m)];
        get_boolean = "GetBoolean"(of: References, n: usize, values: *mut u8, m: usize)
            [list(of, n)] => [list(values, m)];
        set_boolean = "SetBoolean"(of: References, n: usize, values: *const u8, m: usize)
            [list(of, n), list(values, m)];
        set_string = "SetString"(of: References, n: usize, values: *const *const c_char, m: usize)
            [list(of, n), texts(values, m)];
        get_string = "GetString"(of: References, n: usize, values: *mut *const c_char, m: usize)
            [list(of, n)] => [texts(values, m)];
        get_binary = "GetBinary"(
            of: References, n: usize, sizes: *mut usize, values: *mut *const u8, m: usize,
        ) [list(of, n)] => [count(list(sizes, m))];
        set_binary = "SetBinary"(
            of: References, n: usize, sizes: *const usize, values: *const *const u8, m: usize,
        ) [list(of, n), count(list(sizes, m))];
        set_debug_logging = "SetDebugLogging"(on: bool, n: usize, names: *const *const c_char)
            [on, texts(names, n)];
        get_state = "GetFMUState"(state: *mut State) [*state] => [*state];
        set_state = "SetFMUState"(state: State) [state];
        free_state = "FreeFMUState"(state: *mut State) [*state];
        serialized_size = "SerializedFMUStateSize"(state: State, size: *mut usize) [state] => [*size];
        serialize = "SerializeFMUState"(state: State, bytes: *mut u8, size: usize) [state, count(size)];
        deserialize = "DeserializeFMUState"(bytes: *const u8, size: usize, state: *mut State)
            [count(size)] => [*state];
        directional_derivative = "GetDirectionalDerivative"(
            of: References, rows: usize, by: References, columns: usize,
            seed: *const f64, seeds: usize, values: *mut f64, n: usize,
        ) [list(of, rows), list(by, columns), list(seed, seeds)] => [list(values, n)];
    }
}
