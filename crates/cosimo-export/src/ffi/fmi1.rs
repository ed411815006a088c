//! The functions of FMI 1.0 for co-simulation.
//!
//! Their names begin with the model identifier. One library serves all models, so that all have the same one.

#![allow(non_snake_case, reason = "the names are the standard's")]

use std::ffi::{CString, c_char, c_int, c_void};

use super::{
    Handle, ImporterLogger, Logger2, free, from_uri, instantiate, list, list_mut, place, readable, show,
};
use crate::design::{InterfaceType, Version};
use crate::equipment::ImporterLog;
use crate::instance::ImporterAbilities;

/// Callbacks of the importer; memory functions and `stepFinished` are not used. The logger has the type of FMI 2.0,
/// but is given the instance in place of an environment.
#[repr(C)]
struct Callbacks {
    logger: Option<Logger2>,
    allocate_memory: *const c_void,
    free_memory: *const c_void,
    step_finished: *const c_void,
}

#[unsafe(no_mangle)]
extern "C" fn cosimo_fmiGetTypesPlatform() -> *const c_char {
    c"standard32".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn cosimo_fmiGetVersion() -> *const c_char {
    c"1.0".as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cosimo_fmiInstantiateSlave(
    name: *const c_char,
    guid: *const c_char,
    location: *const c_char,
    mime_type: *const c_char,
    timeout: f64,
    visible: c_char,
    interactive: c_char,
    functions: Callbacks,
    logging: c_char,
) -> *mut c_void {
    // SAFETY: texts end with zero or are null.
    let (name, guid, location, mime_type) =
        unsafe { (readable(name), readable(guid), readable(location), readable(mime_type)) };
    let log = match functions.logger {
        Some(logger) => ImporterLogger::Two {
            logger,
            // There is no instance yet.
            environment: std::ptr::null_mut(),
            name: CString::new(name.as_str()).unwrap_or_default(),
        },
        None => ImporterLogger::None,
    };
    let arguments = format!("{name}, {mime_type}, {timeout:?}, {visible}, {interactive}, {logging}");
    let folder = match mime_type.as_str() {
        "application/x-fmu-sharedlibrary" => from_uri(&location).map(|folder| folder.join("resources")),
        other => Err(format!("`{other}` is not a MIME type of this slave")),
    };
    let handle = instantiate(
        (Version::One, InterfaceType::CoSimulation, ImporterAbilities::default()),
        &name,
        &guid,
        folder,
        (log, ImporterLog::None),
        None,
        ("fmiInstantiateSlave", &arguments),
    );
    // SAFETY: null, or made by this library a moment ago and known to nothing else yet.
    if let Some(Handle { log: ImporterLogger::Two { environment, .. }, .. }) =
        unsafe { handle.cast::<Handle>().as_mut() }
    {
        *environment = handle;
    }
    handle
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cosimo_fmiFreeSlaveInstance(c: *mut c_void) {
    // SAFETY: the importer gives up a handle of this library, and uses it no more.
    unsafe { free(c, "fmiFreeSlaveInstance") }
}

exported! { One:
    fn cosimo_fmiSetDebugLogging(on: c_char) |_instance| Ok(()), format!("{on}");
    fn cosimo_fmiInitializeSlave(start: f64, stops: c_char, stop: f64)
        |instance| {
            instance.set_up(start, (stops != 0).then_some(stop))?;
            instance.enter_initialization()?;
            instance.exit_initialization()
        },
        format!("{start:?}, {stops}, {stop:?}");
    fn cosimo_fmiDoStep(from: f64, size: f64, new_step: c_char)
        |instance| {
            if new_step == 0 {
                return Err("this slave cannot repeat a step".into());
            }
            instance.begin_step(from, size, true)?;
            instance.finish_step().map(drop)
        },
        format!("{from:?}, {size:?}, {new_step}");
}

modes! { One:
    cosimo_fmiTerminateSlave terminate
    cosimo_fmiResetSlave reset
}

values! { One:
    cosimo_fmiGetReal get_reals cosimo_fmiSetReal set_reals f64;
    cosimo_fmiGetInteger get_integers cosimo_fmiSetInteger set_integers c_int;
    cosimo_fmiGetBoolean get_booleans cosimo_fmiSetBoolean set_booleans c_char;
}

texts! { One: cosimo_fmiGetString cosimo_fmiSetString }

slopes_and_status! { One:
    cosimo_fmiSetRealInputDerivatives
    cosimo_fmiGetRealOutputDerivatives
    cosimo_fmiCancelStep
    cosimo_fmiGetRealStatus
    cosimo_fmiGetStatus c_int;
    cosimo_fmiGetIntegerStatus c_int;
    cosimo_fmiGetBooleanStatus c_char;
    cosimo_fmiGetStringStatus *const c_char;
}
