//! The functions of FMI 2.0.

#![allow(non_snake_case, reason = "the names are the standard's")]

use std::ffi::{CString, c_char, c_int, c_void};

use super::{
    ImporterLogger, Logger2, free, from_uri, instantiate, list, list_mut, no_status, place, readable, show,
};
use crate::design::{InterfaceType, Version};
use crate::equipment::ImporterLog;
use crate::instance::{DiscreteStatesUpdate, ImporterAbilities};

/// Callbacks of the importer; memory functions and `stepFinished` are not used.
#[repr(C)]
#[derive(Debug)]
pub struct Callbacks {
    pub logger: Option<Logger2>,
    allocate_memory: *const c_void,
    free_memory: *const c_void,
    step_finished: *const c_void,
    pub environment: *mut c_void,
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
    let given = ImporterLog::Two(callbacks);
    // SAFETY: texts end with zero or are null, and the callbacks are those of the standard's header or null.
    let (name, guid, uri, callbacks) =
        unsafe { (readable(name), readable(guid), readable(resources), callbacks.as_ref()) };
    let log = match callbacks {
        Some(Callbacks { logger: Some(logger), environment, .. }) => ImporterLogger::Two {
            logger: *logger,
            environment: *environment,
            name: CString::new(name.as_str()).unwrap_or_default(),
        },
        _ => ImporterLogger::None,
    };
    let arguments = format!("{name}, {kind}, {visible}, {logging}");
    let (folder, kind) = match kind {
        MODEL_EXCHANGE => (from_uri(&uri), InterfaceType::ModelExchange),
        CO_SIMULATION => (from_uri(&uri), InterfaceType::CoSimulation),
        _ => (Err(format!("there is no FMU type {kind}")), InterfaceType::CoSimulation),
    };
    instantiate(
        (Version::Two, kind, ImporterAbilities::default()),
        &name,
        &guid,
        folder,
        (log, given),
        None,
        ("fmi2Instantiate", &arguments),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2FreeInstance(c: *mut c_void) {
    // SAFETY: the importer gives up a handle of this library, and uses it no more.
    unsafe { free(c, "fmi2FreeInstance") }
}

exported! { Two:
    fn fmi2SetDebugLogging(on: c_int, count: usize, categories: *const *const c_char)
        |_instance| list(categories, count).map(drop),
        format!("{on}, {count} categories");
    fn fmi2SetupExperiment(relative: c_int, tolerance: f64, start: f64, stops: c_int, stop: f64)
        |instance| instance.set_up(start, (stops != 0).then_some(stop)),
        format!("{relative}, {tolerance:?}, {start:?}, {stops}, {stop:?}");

    fn fmi2GetDirectionalDerivative(
        unknowns: *const u32, rows: usize, knowns: *const u32, columns: usize, seed: *const f64, into: *mut f64
    )
        |instance| instance.tangent(
            list(unknowns, rows)?, list(knowns, columns)?, list(seed, columns)?, list_mut(into, rows)?, false
        ),
        format!("{}, {}, {}, {}", show(unknowns, rows), show(knowns, columns), show(seed, columns), show(into, rows));

    fn fmi2NewDiscreteStates(info: *mut EventInfo)
        |instance| {
            *place(info)? = EventInfo::of(instance.update_discrete()?);
            Ok(())
        },
        EventInfo::show(list(info, 1).ok());
    fn fmi2CompletedIntegratorStep(promise: c_int, event: *mut c_int, terminate: *mut c_int)
        |instance| {
            let (wanted, ended) = instance.completed_step(promise != 0)?;
            (*place(event)?, *place(terminate)?) = (c_int::from(wanted), c_int::from(ended));
            Ok(())
        },
        format!("{promise}, {}, {}", show(event, 1), show(terminate, 1));

    fn fmi2DoStep(from: f64, size: f64, promise: c_int)
        |instance| {
            instance.begin_step(from, size, promise != 0)?;
            instance.finish_step().map(drop)
        },
        format!("{from:?}, {size:?}, {promise}");
    fn fmi2GetBooleanStatus(kind: c_int, value: *mut c_int)
        |instance| {
            if kind != TERMINATED {
                return no_status(kind);
            }
            *place(value)? = c_int::from(instance.end().terminate);
            Ok(())
        },
        format!("{kind}");
}

modes! { Two:
    fmi2EnterInitializationMode enter_initialization
    fmi2ExitInitializationMode exit_initialization
    fmi2Terminate terminate
    fmi2Reset reset
    fmi2EnterEventMode enter_event
    fmi2EnterContinuousTimeMode enter_continuous
}

values! { Two:
    fmi2GetReal get_reals fmi2SetReal set_reals f64;
    fmi2GetInteger get_integers fmi2SetInteger set_integers c_int;
    fmi2GetBoolean get_booleans fmi2SetBoolean set_booleans c_int;
}

texts! { Two: fmi2GetString fmi2SetString }

states! { Two:
    fmi2GetFMUstate fmi2SetFMUstate fmi2FreeFMUstate
    fmi2SerializedFMUstateSize fmi2SerializeFMUstate fmi2DeSerializeFMUstate
}

equations! { Two:
    fmi2SetTime
    fmi2SetContinuousStates
    fmi2GetDerivatives derivatives
    fmi2GetEventIndicators event_indicators
    fmi2GetContinuousStates continuous_states
    fmi2GetNominalsOfContinuousStates nominals
}

slopes_and_status! { Two:
    fmi2SetRealInputDerivatives
    fmi2GetRealOutputDerivatives
    fmi2CancelStep
    fmi2GetRealStatus
    fmi2GetStatus c_int;
    fmi2GetIntegerStatus c_int;
    fmi2GetStringStatus *const c_char;
}

const TERMINATED: c_int = 3;

/// The result of an event update.
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
    fn of(update: DiscreteStatesUpdate) -> EventInfo {
        EventInfo {
            new_discrete_states_needed: c_int::from(update.needed),
            terminate_simulation: c_int::from(update.terminate),
            // Nominals never change here.
            nominals_of_continuous_states_changed: 0,
            values_of_continuous_states_changed: c_int::from(update.states_changed),
            next_event_time_defined: c_int::from(update.next.is_some()),
            next_event_time: update.next.unwrap_or(0.0),
        }
    }

    /// In the format of the FMI 3.0 call in the call log.
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
