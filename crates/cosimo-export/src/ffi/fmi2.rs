//! The functions of FMI 2.0, in the order of the standard's header.

#![allow(non_snake_case, reason = "the names are the standard's")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use super::{
    Log, Logger2, call, deserialize, free, free_state, from_uri, get_state, instantiate, known, list,
    list_mut, log_later, place, quirk_of, readable, serialize, show, texts,
};
use crate::design::{Kind, Version};
use crate::instance::{Manners, Refusal, Status, Update};
use crate::quirk::Quirk;

/// One function with a handle as first argument: what it does, and how the spy shows its arguments.
macro_rules! exported {
    ($(fn $name:ident($($argument:ident: $type:ty),*) |$instance:ident| $body:expr, $shown:expr;)*) => {$(
        #[allow(unused_variables, reason = "not every call shows something of the instance")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut c_void $(, $argument: $type)*) -> c_int {
            // SAFETY: the importer keeps to the header of the standard: handles come from this library, arrays
            // have the length that comes with them, and calls on one handle do not overlap.
            unsafe { call(c, Version::Two, stringify!($name), |$instance| $body, |$instance| $shown) }
        }
    )*};
}

/// Callbacks of the importer; memory functions and `stepFinished` are not used.
#[repr(C)]
struct Callbacks {
    logger: Option<Logger2>,
    allocate_memory: *const c_void,
    free_memory: *const c_void,
    step_finished: *const c_void,
    environment: *mut c_void,
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetTypesPlatform() -> *const c_char {
    c"default".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetVersion() -> *const c_char {
    c"2.0".as_ptr()
}

const MODEL_EXCHANGE: c_int = 0;
const CO_SIMULATION: c_int = 1;

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2Instantiate(
    name: *const c_char,
    kind: c_int,
    guid: *const c_char,
    resources: *const c_char,
    callbacks: *const Callbacks,
    visible: c_int,
    logging: c_int,
) -> *mut c_void {
    let kept = callbacks;
    // SAFETY: texts end with zero or are null, and the callbacks are those of the standard's header or null.
    let (name, guid, uri, callbacks) =
        unsafe { (readable(name), readable(guid), readable(resources), callbacks.as_ref()) };
    let log = match callbacks {
        Some(Callbacks { logger: Some(logger), environment, .. }) => Log::Two {
            logger: *logger,
            environment: *environment,
            name: CString::new(name.as_str()).unwrap_or_default(),
        },
        _ => Log::None,
    };
    let arguments = format!("{name}, {kind}, {visible}, {logging}");
    let (folder, kind) = match kind {
        MODEL_EXCHANGE => (from_uri(&uri), Kind::ModelExchange),
        CO_SIMULATION => (from_uri(&uri), Kind::CoSimulation),
        _ => (Err(format!("there is no type {kind} of FMUs")), Kind::CoSimulation),
    };
    let made = instantiate(
        (Version::Two, kind, Manners::default()),
        &name,
        &guid,
        folder,
        log,
        None,
        ("fmi2Instantiate", &arguments),
    );
    // SAFETY: null, or made just now.
    if unsafe { quirk_of(made) } == Some(Quirk::LateLog) {
        // As foreign FMUs do it: the importer's own struct is read again for every message.
        let kept = kept.expose_provenance();
        log_later(move || {
            let callbacks = std::ptr::with_exposed_provenance::<Callbacks>(kept);
            // SAFETY: the standard wants the struct to live as long as the instance; that it lives longer is what
            // this FMU is there to test.
            unsafe {
                if let Some(logger) = (*callbacks).logger {
                    let (name, text) = (c"late".as_ptr(), c"a thread speaks".as_ptr());
                    logger((*callbacks).environment, name, 0, c"logAll".as_ptr(), c"%s".as_ptr(), text);
                }
            }
        });
    }
    made
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2FreeInstance(c: *mut c_void) {
    // SAFETY: the importer gives up a handle of this library, and uses it no more.
    unsafe { free(c, "fmi2FreeInstance") }
}

exported! {
    fn fmi2SetDebugLogging(on: c_int, count: usize, categories: *const *const c_char)
        |_instance| list(categories, count).map(drop),
        format!("{on}, {count} categories");
    fn fmi2SetupExperiment(relative: c_int, tolerance: f64, start: f64, stops: c_int, stop: f64)
        |instance| instance.set_up(start, (stops != 0).then_some(stop)),
        format!("{relative}, {tolerance:?}, {start:?}, {stops}, {stop:?}");
    fn fmi2EnterInitializationMode() |instance| instance.enter_initialization(), String::new();
    fn fmi2ExitInitializationMode() |instance| instance.exit_initialization(), String::new();
    fn fmi2Terminate() |instance| instance.terminate(), String::new();
    fn fmi2Reset() |instance| instance.reset(), String::new();

    fn fmi2GetReal(references: *const c_uint, count: usize, values: *mut f64)
        |instance| instance.get_reals(list(references, count)?, list_mut(values, count)?),
        format!("{}, {}", show(references, count), show(values, count));
    fn fmi2GetInteger(references: *const c_uint, count: usize, values: *mut c_int)
        |instance| instance.get_integers(list(references, count)?, list_mut(values, count)?),
        format!("{}, {}", show(references, count), show(values, count));
    fn fmi2GetBoolean(references: *const c_uint, count: usize, values: *mut c_int)
        |instance| {
            instance.get_booleans(list(references, count)?, list_mut(values, count)?, |value| c_int::from(value != 0.0))
        },
        format!("{}, {}", show(references, count), show(values, count));
    fn fmi2GetString(references: *const c_uint, count: usize, values: *mut *const c_char)
        |instance| {
            for (reference, value) in list(references, count)?.iter().zip(list_mut(values, count)?) {
                *value = instance.get_text(*reference)?.as_ptr();
            }
            Ok(())
        },
        show(references, count);
    fn fmi2SetReal(references: *const c_uint, count: usize, values: *const f64)
        |instance| instance.set_reals(list(references, count)?, list(values, count)?),
        format!("{}, {}", show(references, count), show(values, count));
    fn fmi2SetInteger(references: *const c_uint, count: usize, values: *const c_int)
        |instance| instance.set_integers(list(references, count)?, list(values, count)?),
        format!("{}, {}", show(references, count), show(values, count));
    fn fmi2SetBoolean(references: *const c_uint, count: usize, values: *const c_int)
        |instance| {
            let values: Vec<bool> = list(values, count)?.iter().map(|value| *value != 0).collect();
            instance.set_plain(list(references, count)?, &values)
        },
        format!("{}, {}", show(references, count), show(values, count));
    fn fmi2SetString(references: *const c_uint, count: usize, values: *const *const c_char)
        |instance| {
            instance.set_texts(list(references, count)?, texts(list(values, count)?)?)
        },
        show(references, count);

    fn fmi2GetFMUstate(state: *mut *mut c_void) |instance| get_state(instance, state), format!("state {}", instance.states.last);
    fn fmi2SetFMUstate(state: *mut c_void)
        |instance| {
            let state = known(instance, state)?;
            instance.restore(state)
        },
        format!("state {}", instance.states.last);
    fn fmi2FreeFMUstate(state: *mut *mut c_void) |instance| free_state(instance, state), format!("state {}", instance.states.last);
    fn fmi2SerializedFMUstateSize(state: *mut c_void, size: *mut usize)
        |instance| {
            *place(size)? = known(instance, state)?.size();
            Ok(())
        },
        format!("state {}", instance.states.last);
    fn fmi2SerializeFMUstate(state: *mut c_void, bytes: *mut u8, size: usize)
        |instance| serialize(instance, state, bytes, size),
        format!("state {}, {size} bytes", instance.states.last);
    fn fmi2DeSerializeFMUstate(bytes: *const u8, size: usize, state: *mut *mut c_void)
        |instance| deserialize(instance, bytes, size, state),
        format!("{size} bytes, state {}", instance.states.last);

    fn fmi2GetDirectionalDerivative(
        unknowns: *const c_uint, rows: usize, knowns: *const c_uint, columns: usize, seed: *const f64, into: *mut f64
    )
        |instance| instance.tangent(
            list(unknowns, rows)?, list(knowns, columns)?, list(seed, columns)?, list_mut(into, rows)?, false
        ),
        format!("{}, {}, {}, {}", show(unknowns, rows), show(knowns, columns), show(seed, columns), show(into, rows));

    fn fmi2EnterEventMode() |instance| instance.enter_event(), String::new();
    fn fmi2NewDiscreteStates(info: *mut EventInfo)
        |instance| {
            *place(info)? = EventInfo::of(instance.update_discrete()?);
            Ok(())
        },
        EventInfo::show(list(info, 1).ok());
    fn fmi2EnterContinuousTimeMode() |instance| instance.enter_continuous(), String::new();
    fn fmi2CompletedIntegratorStep(promise: c_int, event: *mut c_int, terminate: *mut c_int)
        |instance| {
            let (wanted, ended) = instance.completed_step(promise != 0)?;
            (*place(event)?, *place(terminate)?) = (c_int::from(wanted), c_int::from(ended));
            Ok(())
        },
        format!("{promise}, {}, {}", show(event, 1), show(terminate, 1));
    fn fmi2SetTime(time: f64) |instance| instance.set_time(time), format!("{time:?}");
    fn fmi2SetContinuousStates(values: *const f64, count: usize)
        |instance| instance.set_continuous_states(list(values, count)?),
        show(values, count);
    fn fmi2GetDerivatives(values: *mut f64, count: usize)
        |instance| instance.derivatives(list_mut(values, count)?),
        show(values, count);
    fn fmi2GetEventIndicators(values: *mut f64, count: usize)
        |instance| instance.event_indicators(list_mut(values, count)?),
        show(values, count);
    fn fmi2GetContinuousStates(values: *mut f64, count: usize)
        |instance| instance.continuous_states(list_mut(values, count)?),
        show(values, count);
    fn fmi2GetNominalsOfContinuousStates(values: *mut f64, count: usize)
        |instance| instance.nominals(list_mut(values, count)?),
        show(values, count);

    fn fmi2SetRealInputDerivatives(references: *const c_uint, count: usize, orders: *const c_int, values: *const f64)
        |instance| {
            instance.set_input_derivatives(list(references, count)?, list(orders, count)?, list(values, count)?)
        },
        format!("{}, {}, {}", show(references, count), show(orders, count), show(values, count));
    fn fmi2GetRealOutputDerivatives(references: *const c_uint, count: usize, orders: *const c_int, values: *mut f64)
        |instance| {
            instance.output_derivatives(list(references, count)?, list(orders, count)?, list_mut(values, count)?)
        },
        format!("{}, {}, {}", show(references, count), show(orders, count), show(values, count));
    fn fmi2DoStep(from: f64, size: f64, promise: c_int)
        |instance| {
            instance.begin_step(from, size, promise != 0)?;
            instance.finish_step().map(drop)
        },
        format!("{from:?}, {size:?}, {promise}");
    fn fmi2CancelStep() |_instance| Err("no step is ever pending".into()), String::new();

    fn fmi2GetStatus(kind: c_int, _value: *mut c_int) |_instance| untold(kind), format!("{kind}");
    fn fmi2GetRealStatus(kind: c_int, value: *mut f64)
        |instance| match kind {
            LAST_SUCCESSFUL_TIME => {
                *place(value)? = instance.last_time();
                Ok(())
            }
            _ => untold(kind),
        },
        format!("{kind}");
    fn fmi2GetIntegerStatus(kind: c_int, _value: *mut c_int) |_instance| untold(kind), format!("{kind}");
    fn fmi2GetBooleanStatus(kind: c_int, value: *mut c_int)
        |instance| match kind {
            TERMINATED => {
                *place(value)? = c_int::from(instance.end().terminate);
                Ok(())
            }
            _ => untold(kind),
        },
        format!("{kind}");
    fn fmi2GetStringStatus(kind: c_int, _value: *mut *const c_char) |_instance| untold(kind), format!("{kind}");
}

/// What an event update says.
#[repr(C)]
struct EventInfo {
    new_discrete_states_needed: c_int,
    terminate_simulation: c_int,
    nominals_of_continuous_states_changed: c_int,
    values_of_continuous_states_changed: c_int,
    next_event_time_defined: c_int,
    next_event_time: f64,
}

impl EventInfo {
    fn of(update: Update) -> EventInfo {
        EventInfo {
            new_discrete_states_needed: c_int::from(update.needed),
            terminate_simulation: c_int::from(update.terminate),
            // No model here has others later.
            nominals_of_continuous_states_changed: 0,
            values_of_continuous_states_changed: c_int::from(update.states_changed),
            next_event_time_defined: c_int::from(update.next.is_some()),
            next_event_time: update.next.unwrap_or(0.0),
        }
    }

    /// As the spy shows the same call of FMI 3.0.
    fn show(info: Option<&[EventInfo]>) -> String {
        let Some([info]) = info else { return "null".into() };
        let flags = [
            info.new_discrete_states_needed,
            info.terminate_simulation,
            info.nominals_of_continuous_states_changed,
            info.values_of_continuous_states_changed,
            info.next_event_time_defined,
        ];
        flags.map(|flag| format!("[{flag}]")).join(", ") + &format!(", [{:?}]", info.next_event_time)
    }
}

const LAST_SUCCESSFUL_TIME: c_int = 2;
const TERMINATED: c_int = 3;

/// The standard's answer to a status that an FMU has not.
fn untold(kind: c_int) -> Result<(), Refusal> {
    Err(Refusal::new(Status::Discard, format!("there is no status {kind} of this kind")))
}
