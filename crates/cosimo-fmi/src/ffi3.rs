//! The C interface of FMI 3.0, as far as units need it that are not scheduled. Names and types follow the
//! standard.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::library::functions;

pub(crate) type Instance = *mut c_void;
pub(crate) type State = *mut c_void;
pub(crate) type Reference = c_uint;
pub(crate) type Status = c_int;

pub(crate) type Logger = unsafe extern "C" fn(*mut c_void, Status, *const c_char, *const c_char);
/// Flags that come from a unit are read as numbers: it may leave more than 0 and 1 there.
pub(crate) type IntermediateUpdate =
    unsafe extern "C" fn(*mut c_void, f64, u8, u8, u8, u8, *mut u8, *mut f64);

/// References, how many, values, how many: one variable may have many values.
pub(crate) type Get<T> = unsafe extern "C" fn(Instance, *const Reference, usize, *mut T, usize) -> Status;
pub(crate) type Set<T> = unsafe extern "C" fn(Instance, *const Reference, usize, *const T, usize) -> Status;

functions! {
    /// Functions of one unit.
    Functions, "fmi3" {
        free_instance = "FreeInstance": fn(Instance);
        enter_initialization = "EnterInitializationMode": fn(Instance, bool, f64, f64, bool, f64) -> Status;
        exit_initialization = "ExitInitializationMode": fn(Instance) -> Status;
        terminate = "Terminate": fn(Instance) -> Status;
        get_float64 = "GetFloat64": fn(Instance, *const Reference, usize, *mut f64, usize) -> Status;
        set_float64 = "SetFloat64": fn(Instance, *const Reference, usize, *const f64, usize) -> Status;
    } optional {
        instantiate = "InstantiateCoSimulation": fn(
            *const c_char, *const c_char, *const c_char, bool, bool, bool, bool, *const Reference, usize,
            *mut c_void, Option<Logger>, Option<IntermediateUpdate>,
        ) -> Instance;
        instantiate_exchange = "InstantiateModelExchange": fn(
            *const c_char, *const c_char, *const c_char, bool, bool, *mut c_void, Option<Logger>,
        ) -> Instance;
        do_step = "DoStep": fn(
            Instance, f64, f64, bool, *mut u8, *mut u8, *mut u8, *mut f64,
        ) -> Status;
        enter_event_mode = "EnterEventMode": fn(Instance) -> Status;
        update_discrete_states = "UpdateDiscreteStates": fn(
            Instance, *mut u8, *mut u8, *mut u8, *mut u8, *mut u8, *mut f64,
        ) -> Status;
        enter_step_mode = "EnterStepMode": fn(Instance) -> Status;
        get_clock = "GetClock": fn(Instance, *const Reference, usize, *mut u8) -> Status;
        set_clock = "SetClock": fn(Instance, *const Reference, usize, *const u8) -> Status;
        get_interval = "GetIntervalDecimal": fn(
            Instance, *const Reference, usize, *mut f64, *mut c_int,
        ) -> Status;
        get_shift = "GetShiftDecimal": fn(Instance, *const Reference, usize, *mut f64) -> Status;
        enter_continuous_time = "EnterContinuousTimeMode": fn(Instance) -> Status;
        completed_step = "CompletedIntegratorStep": fn(Instance, bool, *mut u8, *mut u8) -> Status;
        set_time = "SetTime": fn(Instance, f64) -> Status;
        set_continuous_states = "SetContinuousStates": fn(Instance, *const f64, usize) -> Status;
        get_derivatives = "GetContinuousStateDerivatives": fn(Instance, *mut f64, usize) -> Status;
        get_event_indicators = "GetEventIndicators": fn(Instance, *mut f64, usize) -> Status;
        get_continuous_states = "GetContinuousStates": fn(Instance, *mut f64, usize) -> Status;
        get_nominals = "GetNominalsOfContinuousStates": fn(Instance, *mut f64, usize) -> Status;
        get_float32 = "GetFloat32": fn(Instance, *const Reference, usize, *mut f32, usize) -> Status;
        set_float32 = "SetFloat32": fn(Instance, *const Reference, usize, *const f32, usize) -> Status;
        get_int8 = "GetInt8": fn(Instance, *const Reference, usize, *mut i8, usize) -> Status;
        set_int8 = "SetInt8": fn(Instance, *const Reference, usize, *const i8, usize) -> Status;
        get_uint8 = "GetUInt8": fn(Instance, *const Reference, usize, *mut u8, usize) -> Status;
        set_uint8 = "SetUInt8": fn(Instance, *const Reference, usize, *const u8, usize) -> Status;
        get_int16 = "GetInt16": fn(Instance, *const Reference, usize, *mut i16, usize) -> Status;
        set_int16 = "SetInt16": fn(Instance, *const Reference, usize, *const i16, usize) -> Status;
        get_uint16 = "GetUInt16": fn(Instance, *const Reference, usize, *mut u16, usize) -> Status;
        set_uint16 = "SetUInt16": fn(Instance, *const Reference, usize, *const u16, usize) -> Status;
        get_int32 = "GetInt32": fn(Instance, *const Reference, usize, *mut i32, usize) -> Status;
        set_int32 = "SetInt32": fn(Instance, *const Reference, usize, *const i32, usize) -> Status;
        get_uint32 = "GetUInt32": fn(Instance, *const Reference, usize, *mut u32, usize) -> Status;
        set_uint32 = "SetUInt32": fn(Instance, *const Reference, usize, *const u32, usize) -> Status;
        get_int64 = "GetInt64": fn(Instance, *const Reference, usize, *mut i64, usize) -> Status;
        set_int64 = "SetInt64": fn(Instance, *const Reference, usize, *const i64, usize) -> Status;
        get_uint64 = "GetUInt64": fn(Instance, *const Reference, usize, *mut u64, usize) -> Status;
        set_uint64 = "SetUInt64": fn(Instance, *const Reference, usize, *const u64, usize) -> Status;
        get_boolean = "GetBoolean": fn(Instance, *const Reference, usize, *mut u8, usize) -> Status;
        set_boolean = "SetBoolean": fn(Instance, *const Reference, usize, *const u8, usize) -> Status;
        set_string = "SetString": fn(
            Instance, *const Reference, usize, *const *const c_char, usize,
        ) -> Status;
        get_string = "GetString": fn(
            Instance, *const Reference, usize, *mut *const c_char, usize,
        ) -> Status;
        get_binary = "GetBinary": fn(
            Instance, *const Reference, usize, *mut usize, *mut *const u8, usize,
        ) -> Status;
        set_binary = "SetBinary": fn(
            Instance, *const Reference, usize, *const usize, *const *const u8, usize,
        ) -> Status;
        set_debug_logging = "SetDebugLogging": fn(Instance, bool, usize, *const *const c_char) -> Status;
        get_state = "GetFMUState": fn(Instance, *mut State) -> Status;
        set_state = "SetFMUState": fn(Instance, State) -> Status;
        free_state = "FreeFMUState": fn(Instance, *mut State) -> Status;
        serialized_size = "SerializedFMUStateSize": fn(Instance, State, *mut usize) -> Status;
        serialize = "SerializeFMUState": fn(Instance, State, *mut u8, usize) -> Status;
        deserialize = "DeserializeFMUState": fn(Instance, *const u8, usize, *mut State) -> Status;
        directional_derivative = "GetDirectionalDerivative": fn(
            Instance, *const Reference, usize, *const Reference, usize, *const f64, usize, *mut f64, usize,
        ) -> Status;
    }
}
