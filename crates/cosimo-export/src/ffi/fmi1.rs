//! The functions of FMI 1.0 for co-simulation, in the order of the standard's header.
//!
//! Their names begin with the model identifier. One library serves all models, so that all have the same one.

#![allow(non_snake_case, reason = "the names are the standard's")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use super::{
    Handle, Log, Logger2, call, free, from_uri, instantiate, list, list_mut, place, readable, show, texts,
};
use crate::design::{Kind, Version};
use crate::instance::{Manners, Refusal, Status};

/// A name as the standard has it, without the model identifier.
fn plain(name: &'static str) -> &'static str {
    name.strip_prefix("cosimo_").unwrap_or(name)
}

/// One function with a handle as first argument: what it does, and how the spy shows its arguments.
macro_rules! exported {
    ($(fn $name:ident($($argument:ident: $type:ty),*) |$instance:ident| $body:expr, $shown:expr;)*) => {$(
        #[allow(unused_variables, reason = "not every call shows something of the instance")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut c_void $(, $argument: $type)*) -> c_int {
            // SAFETY: the importer keeps to the header of the standard: handles come from this library, arrays
            // have the length that comes with them, and calls on one handle do not overlap.
            unsafe { call(c, Version::One, plain(stringify!($name)), |$instance| $body, |$instance| $shown) }
        }
    )*};
}

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
        Some(logger) => Log::Two {
            logger,
            // There is no instance yet.
            environment: std::ptr::null_mut(),
            name: CString::new(name.as_str()).unwrap_or_default(),
        },
        None => Log::None,
    };
    let arguments = format!("{name}, {mime_type}, {timeout:?}, {visible}, {interactive}, {logging}");
    let folder = match mime_type.as_str() {
        "application/x-fmu-sharedlibrary" => from_uri(&location).map(|folder| folder.join("resources")),
        other => Err(format!("`{other}` is no kind of this slave")),
    };
    let handle = instantiate(
        (Version::One, Kind::CoSimulation, Manners::default()),
        &name,
        &guid,
        folder,
        log,
        None,
        ("fmiInstantiateSlave", &arguments),
    );
    // SAFETY: null, or made by this library a moment ago and known to nothing else yet.
    if let Some(Handle { log: Log::Two { environment, .. }, .. }) =
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

exported! {
    fn cosimo_fmiSetDebugLogging(on: c_char) |_instance| Ok(()), format!("{on}");
    fn cosimo_fmiInitializeSlave(start: f64, stops: c_char, stop: f64)
        |instance| {
            instance.set_up(start, (stops != 0).then_some(stop))?;
            instance.enter_initialization()?;
            instance.exit_initialization()
        },
        format!("{start:?}, {stops}, {stop:?}");
    fn cosimo_fmiTerminateSlave() |instance| instance.terminate(), String::new();
    fn cosimo_fmiResetSlave() |instance| instance.reset(), String::new();

    fn cosimo_fmiGetReal(references: *const c_uint, count: usize, values: *mut f64)
        |instance| instance.get_reals(list(references, count)?, list_mut(values, count)?),
        format!("{}, {}", show(references, count), show(values, count));
    fn cosimo_fmiGetInteger(references: *const c_uint, count: usize, values: *mut c_int)
        |instance| instance.get_integers(list(references, count)?, list_mut(values, count)?),
        format!("{}, {}", show(references, count), show(values, count));
    fn cosimo_fmiGetBoolean(references: *const c_uint, count: usize, values: *mut c_char)
        |instance| {
            instance.get_booleans(list(references, count)?, list_mut(values, count)?, |value| (value != 0.0) as c_char)
        },
        format!("{}, {}", show(references, count), show(values, count));
    fn cosimo_fmiGetString(references: *const c_uint, count: usize, values: *mut *const c_char)
        |instance| {
            for (reference, value) in list(references, count)?.iter().zip(list_mut(values, count)?) {
                *value = instance.get_text(*reference)?.as_ptr();
            }
            Ok(())
        },
        show(references, count);
    fn cosimo_fmiSetReal(references: *const c_uint, count: usize, values: *const f64)
        |instance| instance.set_reals(list(references, count)?, list(values, count)?),
        format!("{}, {}", show(references, count), show(values, count));
    fn cosimo_fmiSetInteger(references: *const c_uint, count: usize, values: *const c_int)
        |instance| instance.set_integers(list(references, count)?, list(values, count)?),
        format!("{}, {}", show(references, count), show(values, count));
    fn cosimo_fmiSetBoolean(references: *const c_uint, count: usize, values: *const c_char)
        |instance| {
            let values: Vec<bool> = list(values, count)?.iter().map(|value| *value != 0).collect();
            instance.set_plain(list(references, count)?, &values)
        },
        format!("{}, {}", show(references, count), show(values, count));
    fn cosimo_fmiSetString(references: *const c_uint, count: usize, values: *const *const c_char)
        |instance| instance.set_texts(list(references, count)?, texts(list(values, count)?)?),
        show(references, count);

    fn cosimo_fmiSetRealInputDerivatives(
        references: *const c_uint, count: usize, orders: *const c_int, values: *const f64
    )
        |instance| {
            instance.set_input_derivatives(list(references, count)?, list(orders, count)?, list(values, count)?)
        },
        format!("{}, {}, {}", show(references, count), show(orders, count), show(values, count));
    fn cosimo_fmiGetRealOutputDerivatives(
        references: *const c_uint, count: usize, orders: *const c_int, values: *mut f64
    )
        |instance| {
            instance.output_derivatives(list(references, count)?, list(orders, count)?, list_mut(values, count)?)
        },
        format!("{}, {}, {}", show(references, count), show(orders, count), show(values, count));
    fn cosimo_fmiCancelStep() |_instance| Err("no step is ever pending".into()), String::new();
    fn cosimo_fmiDoStep(from: f64, size: f64, new_step: c_char)
        |instance| {
            if new_step == 0 {
                return Err("this slave cannot repeat a step".into());
            }
            instance.begin_step(from, size, true)?;
            instance.finish_step().map(drop)
        },
        format!("{from:?}, {size:?}, {new_step}");

    fn cosimo_fmiGetStatus(kind: c_int, _value: *mut c_int) |_instance| untold(kind), format!("{kind}");
    fn cosimo_fmiGetRealStatus(kind: c_int, value: *mut f64)
        |instance| match kind {
            LAST_SUCCESSFUL_TIME => {
                *place(value)? = instance.last_time();
                Ok(())
            }
            _ => untold(kind),
        },
        format!("{kind}");
    fn cosimo_fmiGetIntegerStatus(kind: c_int, _value: *mut c_int) |_instance| untold(kind), format!("{kind}");
    fn cosimo_fmiGetBooleanStatus(kind: c_int, _value: *mut c_char) |_instance| untold(kind), format!("{kind}");
    fn cosimo_fmiGetStringStatus(kind: c_int, _value: *mut *const c_char) |_instance| untold(kind), format!("{kind}");
}

const LAST_SUCCESSFUL_TIME: c_int = 2;

/// The standard's answer to a status that a slave does not have.
fn untold(kind: c_int) -> Result<(), Refusal> {
    Err(Refusal::new(Status::Discard, format!("there is no status {kind} of this kind")))
}
