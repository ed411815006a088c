//! The C functions of both versions, and all `unsafe` code of this crate.
//!
//! Every function goes through [`call`]: it checks the handle, catches panics, records the call, and logs what was
//! refused once no borrow of the instance is left, because an importer may do anything inside its logger.

#![allow(unsafe_code, reason = "C functions take raw pointers from the importer")]

#[macro_use]
mod tables;

mod absent;
mod fmi1;
mod fmi2;
mod fmi3;

pub use fmi2::Callbacks as Callbacks2;

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::design::{InterfaceType, Version};
use crate::equipment::ImporterLog;
use crate::instance::{Call, CallResult, ExportedInstance, ImporterAbilities, Mode, Refusal, Status};
use crate::state::InstanceState;

/// What an importer holds as `fmi2Component` or `fmi3Instance`.
struct Handle {
    instance: ExportedInstance,
    log: ImporterLogger,
    callback: Option<fmi3::Callback>,
}

/// The logger of FMI 2.0, with a format and its values at the end.
pub type Logger2 = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...);

pub type Logger3 = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char);

#[derive(Clone)]
enum ImporterLogger {
    None,
    Two { logger: Logger2, environment: *mut c_void, name: CString },
    Three { logger: Logger3, environment: *mut c_void },
}

impl ImporterLogger {
    fn environment(&mut self) -> Option<&mut *mut c_void> {
        match self {
            ImporterLogger::None => None,
            ImporterLogger::Two { environment, .. } | ImporterLogger::Three { environment, .. } => {
                Some(environment)
            }
        }
    }

    /// Only refusals and failures are logged, so `loggingOn` has nothing to switch off.
    fn write(&self, status: Status, message: &str) {
        let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
        let category = c"logStatusError".as_ptr();
        match self {
            ImporterLogger::None => {}
            // SAFETY: the importer gave this function and environment at instantiation for exactly these calls;
            // all texts end with zero and live until it returns, and `%s` takes the one text that follows.
            ImporterLogger::Two { logger, environment, name } => unsafe {
                logger(
                    *environment,
                    name.as_ptr(),
                    status as c_int,
                    category,
                    c"%s".as_ptr(),
                    message.as_ptr(),
                );
            },
            // SAFETY: as above.
            ImporterLogger::Three { logger, environment } => unsafe {
                logger(*environment, status as c_int, category, message.as_ptr());
            },
        }
    }
}

/// Runs one C function on an instance. `shown` are the arguments as the spy writes them, after the call.
///
/// # Safety
/// `handle` is null or was returned by an instantiate function of this library and not yet freed, and no other
/// call on it is under way.
unsafe fn call(
    handle: *mut c_void,
    version: Version,
    name: &str,
    run: impl FnOnce(&mut ExportedInstance) -> CallResult,
    shown: impl FnOnce(&ExportedInstance) -> String,
) -> c_int {
    if handle.is_null() {
        return Status::Error as c_int;
    }
    // SAFETY: by the contract above; the borrow ends before the logger is called.
    let Handle { instance, log, .. } = unsafe { &mut *handle.cast::<Handle>() };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        instance.equipment.before_call(name);
        if instance.version() != version {
            return Err(format!("this instance is for FMI {}", instance.version().text()).into());
        }
        let before = instance.mode;
        let refusal = || Err(format!("it must not be called {before}").into());
        match before {
            Mode::Freed => refusal(),
            // Also those that are harmless elsewhere; results that a refused call must write are written first.
            Mode::Dead => run(instance).and_then(|()| refusal()),
            _ => run(instance),
        }
    }));
    let outcome = outcome.unwrap_or_else(|panic| {
        instance.mode = Mode::Dead;
        Err(Refusal::new(Status::Fatal, panic_text(&*panic)))
    });
    if instance.equipment.records() {
        let outcome = match &outcome {
            Ok(()) => "ok".into(),
            Err(Refusal { status, message }) => format!("{}: {message}", status.word()),
        };
        let arguments = shown(instance);
        instance.equipment.record(name, &arguments, &outcome);
    }
    if let Some(message) = instance.equipment.message_after(name) {
        log.clone().write(Status::Ok, &message);
    }
    let Err(refusal) = outcome else { return Status::Ok as c_int };
    log.clone().write(refusal.status, &format!("{name}: {}", refusal.message));
    refusal.status as c_int
}

thread_local! {
    static WHERE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A panic is reported to the importer's logger, not to the standard error of the importer. This
/// library has a hook of its own: that of a program in Rust around it stays as it is.
fn panic_quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line()));
            WHERE.set(place.unwrap_or_default());
        }));
    });
}

/// Message and location of a panic.
fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("panicked at {}: {text}", WHERE.take())
}

/// Makes an instance, or logs why not.
fn instantiate(
    (version, kind, manners): (Version, InterfaceType, ImporterAbilities),
    name: &str,
    token: &str,
    resources: Result<PathBuf, String>,
    (mut log, given): (ImporterLogger, ImporterLog),
    mut callback: Option<fmi3::Callback>,
    (function, arguments): (&str, &str),
) -> *mut c_void {
    panic_quietly();
    let made = catch_unwind(AssertUnwindSafe(|| {
        ExportedInstance::new(&resources?, (version, kind, manners), name, token)
    }));
    let made = made.unwrap_or_else(|panic| Err(panic_text(&*panic)));
    match made {
        Ok(mut instance) => {
            let equipment = &mut instance.equipment;
            let environments =
                [log.environment(), callback.as_mut().map(|callback| &mut callback.environment)];
            for environment in environments.into_iter().flatten() {
                *environment = equipment.environment(*environment);
            }
            equipment.before_call(function);
            equipment.record(function, arguments, "ok");
            equipment.instantiated(given);
            Box::into_raw(Box::new(Handle { instance, log, callback })).cast()
        }
        Err(message) => {
            log.write(Status::Error, &format!("{function}: {message}"));
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// As for [`call`]; the handle is dead afterwards.
unsafe fn free(handle: *mut c_void, name: &str) {
    if handle.is_null() {
        return;
    }
    // SAFETY: by the contract above.
    let Handle { instance, log, .. } = unsafe { &mut *handle.cast::<Handle>() };
    instance.equipment.before_call(name);
    let forbidden = instance.allow(Call::Free).err();
    let states = instance.states.take();
    let outcome = forbidden.map_or("ok".into(), |refusal| format!("error: {}", refusal.message));
    instance.equipment.record(name, "", &outcome);
    if !states.is_empty() {
        instance.equipment.warning(&format!("{} states were never freed", states.len()));
    }
    for state in states {
        // SAFETY: the list holds exactly the states that were returned and not freed, and none may be used once the
        // instance is gone.
        drop(unsafe { Box::from_raw(state as *mut InstanceState) });
    }
    if instance.equipment.records() {
        (instance.mode, *log) = (Mode::Freed, ImporterLogger::None);
        return;
    }
    // SAFETY: it came out of `Box::into_raw` in `instantiate`, and the importer gives it up here.
    let handle = unsafe { Box::from_raw(handle.cast::<Handle>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
}

/// An array of the importer.
///
/// # Safety
/// `from` points to `count` values that do not change while the slice is used, or is null.
unsafe fn list<'a, T>(from: *const T, count: usize) -> Result<&'a [T], Refusal> {
    match (from.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err("an array is null".into()),
        // SAFETY: by the contract above.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(from, count) }),
    }
}

/// # Safety
/// As for [`list`], and there is no other access to the values.
unsafe fn list_mut<'a, T>(from: *mut T, count: usize) -> Result<&'a mut [T], Refusal> {
    match (from.is_null(), count) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err("an array is null".into()),
        // SAFETY: by the contract above.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(from, count) }),
    }
}

/// One value of the importer to write to.
///
/// # Safety
/// As for [`list_mut`].
unsafe fn place<'a, T>(at: *mut T) -> Result<&'a mut T, Refusal> {
    // SAFETY: by the contract above.
    unsafe { at.as_mut() }.ok_or_else(|| "a pointer is null".into())
}

/// A text of the importer.
///
/// # Safety
/// `from` is null or a text that ends with zero.
unsafe fn text<'a>(from: *const c_char) -> Option<&'a CStr> {
    // SAFETY: by the contract above.
    (!from.is_null()).then(|| unsafe { CStr::from_ptr(from) })
}

/// Texts of the importer, copied.
///
/// # Safety
/// As for [`text`].
unsafe fn texts(from: &[*const c_char]) -> Result<Vec<CString>, Refusal> {
    // SAFETY: by the contract above.
    let copy = |from: &*const c_char| unsafe { text(*from) }.map(CStr::to_owned);
    from.iter().map(copy).collect::<Option<_>>().ok_or_else(|| "a text is null".into())
}

/// Texts of an instance, which lives as long as the importer may read them.
fn get_texts(instance: &ExportedInstance, references: &[u32], values: &mut [*const c_char]) -> CallResult {
    for (reference, value) in references.iter().zip(values) {
        *value = instance.get_text(*reference)?.as_ptr();
    }
    Ok(())
}

/// As people read it.
///
/// # Safety
/// As for [`text`].
unsafe fn readable(from: *const c_char) -> String {
    // SAFETY: by the contract above.
    unsafe { text(from) }.map_or(String::new(), |text| text.to_string_lossy().into_owned())
}

/// An array for the spy.
///
/// # Safety
/// As for [`list`].
unsafe fn show<T: std::fmt::Debug>(from: *const T, count: usize) -> String {
    // SAFETY: by the contract above.
    unsafe { list(from, count) }.map_or("null".into(), |values| format!("{values:?}"))
}

/// `fmi2GetFMUstate` and `fmi3GetFMUState`: a new state, or an old one overwritten.
///
/// # Safety
/// `at` is null or points to null or to a state of this instance.
unsafe fn get_state(instance: &mut ExportedInstance, at: *mut *mut c_void) -> CallResult {
    // SAFETY: by the contract above.
    let at = unsafe { place(at) }?;
    if at.is_null() {
        if let Some(state) = instance.save(None)? {
            keep(instance, at, state);
        }
        return Ok(());
    }
    // SAFETY: by the contract above, and checked.
    let state = unsafe { known(instance, *at) }?;
    instance.save(Some(state)).map(drop)
}

/// Gives a state to the importer.
fn keep(instance: &mut ExportedInstance, at: &mut *mut c_void, state: InstanceState) {
    *at = Box::into_raw(Box::new(state)).cast();
    instance.states.add(*at as usize);
}

/// # Safety
/// There is no other reference to the state. That it belongs to this instance is checked.
unsafe fn known<'a>(
    instance: &mut ExportedInstance,
    state: *mut c_void,
) -> Result<&'a mut InstanceState, Refusal> {
    instance.states.touch(state as usize)?;
    // SAFETY: known addresses came out of `Box::into_raw` in `keep` and are alive.
    Ok(unsafe { &mut *state.cast::<InstanceState>() })
}

/// # Safety
/// `at` is null or points to a state without other references.
unsafe fn free_state(instance: &mut ExportedInstance, at: *mut *mut c_void) -> CallResult {
    // SAFETY: by the contract above.
    let at = unsafe { place(at) }?;
    if at.is_null() {
        return Ok(());
    }
    instance.states.remove(*at as usize)?;
    // SAFETY: it was known, so it came out of `Box::into_raw` in `keep` and was alive until now.
    drop(unsafe { Box::from_raw(at.cast::<InstanceState>()) });
    *at = std::ptr::null_mut();
    Ok(())
}

/// # Safety
/// `into` has room for `size` bytes.
unsafe fn serialize(
    instance: &mut ExportedInstance,
    state: *mut c_void,
    into: *mut u8,
    size: usize,
) -> CallResult {
    // SAFETY: by the contract above.
    let (state, into) = unsafe { (known(instance, state)?, list_mut(into, size)?) };
    if into.len() < state.size() {
        return Err(format!("{} bytes are too few for {}", into.len(), state.size()).into());
    }
    let mut bytes = Vec::with_capacity(state.size());
    state.write(instance.identity(), &mut bytes);
    into[..bytes.len()].copy_from_slice(&bytes);
    Ok(())
}

/// # Safety
/// `from` are `size` bytes; `at` is null or points to null or to a state of this instance.
unsafe fn deserialize(
    instance: &mut ExportedInstance,
    from: *const u8,
    size: usize,
    at: *mut *mut c_void,
) -> CallResult {
    // SAFETY: by the contract above.
    let (from, at) = unsafe { (list(from, size)?, place(at)?) };
    let state = instance.deserialize(from)?;
    if at.is_null() {
        keep(instance, at, state);
    } else {
        // SAFETY: checked inside.
        *unsafe { known(instance, *at) }? = state;
    }
    Ok(())
}

/// A name as the standard has it: those of FMI 1.0 are exported with the model identifier before them.
fn standard_name(name: &'static str) -> &'static str {
    name.strip_prefix("cosimo_").unwrap_or(name)
}

/// What FMI 1.0 and 2.0 ask an FMU about the last step.
const LAST_SUCCESSFUL_TIME: c_int = 2;

/// The standard's answer to a status that an FMU has not.
fn no_status(kind: c_int) -> CallResult {
    Err(Refusal::new(Status::Discard, format!("there is no status {kind} of this type")))
}

/// The resources of an FMI 2.0 FMU come as a URI.
fn from_uri(uri: &str) -> Result<PathBuf, String> {
    let path = uri.strip_prefix("file:").ok_or_else(|| format!("`{uri}` is not a file URI"))?;
    let path = match path.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or(rest, |at| &rest[at..]),
        None => path,
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (first, code.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    let path = String::from_utf8(bytes).map_err(|_| format!("`{uri}` is not UTF-8"))?;
    // `/C:/folder` on Windows.
    let drive = path.strip_prefix('/').filter(|rest| rest.get(1..2) == Some(":"));
    Ok(Path::new(drive.unwrap_or(&path)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_in_all_spellings() {
        for (uri, path) in [
            ("file:///tmp/a/resources", "/tmp/a/resources"),
            ("file:/tmp/a/resources/", "/tmp/a/resources/"),
            ("file://localhost/tmp/a%20b%25", "/tmp/a b%"),
            ("file:///C:/a", "C:/a"),
            ("file:///tmp/%zz%2", "/tmp/%zz%2"),
        ] {
            assert_eq!(from_uri(uri), Ok(PathBuf::from(path)), "{uri}");
        }
        assert!(from_uri("/tmp/a").is_err());
    }
}
