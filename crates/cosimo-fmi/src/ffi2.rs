//! The C interface of FMI 2.0. Names and types follow the standard.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::library::functions;

pub(crate) type Component = *mut c_void;
pub(crate) type State = *mut c_void;
pub(crate) type Reference = c_uint;
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

/// What a unit says when it has updated its discrete states.
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
    /// Functions of one unit.
    Functions, "fmi2" {
        instantiate = "Instantiate": fn(
            *const c_char, c_int, *const c_char, *const c_char, *const Callbacks, Bool, Bool,
        ) -> Component;
        free_instance = "FreeInstance": fn(Component);
        setup_experiment = "SetupExperiment": fn(Component, Bool, f64, f64, Bool, f64) -> Status;
        enter_initialization = "EnterInitializationMode": fn(Component) -> Status;
        exit_initialization = "ExitInitializationMode": fn(Component) -> Status;
        terminate = "Terminate": fn(Component) -> Status;
        get_real = "GetReal": fn(Component, *const Reference, usize, *mut f64) -> Status;
        set_real = "SetReal": fn(Component, *const Reference, usize, *const f64) -> Status;
    } optional {
        do_step = "DoStep": fn(Component, f64, f64, Bool) -> Status;
        enter_event_mode = "EnterEventMode": fn(Component) -> Status;
        new_discrete_states = "NewDiscreteStates": fn(Component, *mut EventInfo) -> Status;
        enter_continuous_time = "EnterContinuousTimeMode": fn(Component) -> Status;
        completed_step = "CompletedIntegratorStep": fn(Component, Bool, *mut Bool, *mut Bool) -> Status;
        set_time = "SetTime": fn(Component, f64) -> Status;
        set_continuous_states = "SetContinuousStates": fn(Component, *const f64, usize) -> Status;
        get_derivatives = "GetDerivatives": fn(Component, *mut f64, usize) -> Status;
        get_event_indicators = "GetEventIndicators": fn(Component, *mut f64, usize) -> Status;
        get_continuous_states = "GetContinuousStates": fn(Component, *mut f64, usize) -> Status;
        get_nominals = "GetNominalsOfContinuousStates": fn(Component, *mut f64, usize) -> Status;
        get_integer = "GetInteger": fn(Component, *const Reference, usize, *mut c_int) -> Status;
        set_integer = "SetInteger": fn(Component, *const Reference, usize, *const c_int) -> Status;
        get_boolean = "GetBoolean": fn(Component, *const Reference, usize, *mut Bool) -> Status;
        set_boolean = "SetBoolean": fn(Component, *const Reference, usize, *const Bool) -> Status;
        set_string = "SetString": fn(Component, *const Reference, usize, *const *const c_char) -> Status;
        get_string = "GetString": fn(Component, *const Reference, usize, *mut *const c_char) -> Status;
        set_debug_logging = "SetDebugLogging": fn(Component, Bool, usize, *const *const c_char) -> Status;
        set_real_input_derivatives = "SetRealInputDerivatives": fn(
            Component, *const Reference, usize, *const c_int, *const f64,
        ) -> Status;
        get_real_status = "GetRealStatus": fn(Component, c_int, *mut f64) -> Status;
        get_boolean_status = "GetBooleanStatus": fn(Component, c_int, *mut Bool) -> Status;
        get_state = "GetFMUstate": fn(Component, *mut State) -> Status;
        set_state = "SetFMUstate": fn(Component, State) -> Status;
        free_state = "FreeFMUstate": fn(Component, *mut State) -> Status;
        serialized_size = "SerializedFMUstateSize": fn(Component, State, *mut usize) -> Status;
        serialize = "SerializeFMUstate": fn(Component, State, *mut c_char, usize) -> Status;
        deserialize = "DeSerializeFMUstate": fn(Component, *const c_char, usize, *mut State) -> Status;
        directional_derivative = "GetDirectionalDerivative": fn(
            Component, *const Reference, usize, *const Reference, usize, *const f64, *mut f64,
        ) -> Status;
    }
}
