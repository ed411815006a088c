//! Faults that safe Rust cannot cause.

#![allow(unsafe_code, reason = "causing faults is the purpose")]

use std::ffi::{CStr, c_char, c_int};
use std::time::Duration;

use cosimo_export::equipment::{Callbacks2, ImporterLog};

#[cfg_attr(unix, link(name = "m"))]
unsafe extern "C" {
    fn fesetround(mode: c_int) -> c_int;
    fn atexit(handler: extern "C" fn()) -> c_int;
    fn raise(signal: c_int) -> c_int;
    fn printf(format: *const c_char, ...) -> c_int;
    #[cfg(unix)]
    fn fork() -> c_int;
}

/// Prints by C's stdout, which has a buffer of its own.
pub(crate) fn print_by_c(text: &CStr) {
    // SAFETY: one text for one place in the format, and both end.
    unsafe { printf(c"%s".as_ptr(), text.as_ptr()) };
}

/// Sends a signal to the process.
pub(crate) fn send(signal: c_int) {
    // SAFETY: has no conditions.
    unsafe { raise(signal) };
}

/// A child process that ends at once, by `exit`.
pub(crate) fn fork_and_exit() {
    // SAFETY: that the child is a copy of whatever the importer is doing is intended.
    #[cfg(unix)]
    if unsafe { fork() } == 0 {
        std::process::exit(0);
    }
}

extern "C" fn abort() {
    std::process::abort();
}

/// Leaves a handler behind that does not survive the end of the process, as some interpreters do.
pub(crate) fn abort_at_exit() {
    // SAFETY: the handler is a function of this library, which is never unloaded.
    unsafe { atexit(abort) };
}

/// `FE_UPWARD`, by architecture.
#[cfg(target_arch = "x86_64")]
const UPWARDS: c_int = 0x800;
#[cfg(not(target_arch = "x86_64"))]
const UPWARDS: c_int = 0x40_0000;

/// Leaves the rounding mode of this thread changed.
pub(crate) fn round_upwards() {
    // SAFETY: it writes a control register and nothing else. That later arithmetic rounds otherwise is intended.
    unsafe { fesetround(UPWARDS) };
}

/// Does not return.
pub(crate) fn segfault() {
    // SAFETY: none; a write to address zero is intended.
    unsafe { std::ptr::null_mut::<u8>().wrapping_add(8).write_volatile(1) };
}

/// Calls the importer's logger for two seconds, from a thread that nothing ends. That it may be called later than the
/// standard allows is what this is there to test.
pub(crate) fn log_later(log: ImporterLog) {
    let log: Box<dyn Fn() + Send> = match log {
        ImporterLog::None => return,
        ImporterLog::Two(callbacks) => {
            // As foreign FMUs do it: the importer's own struct is read again for every message.
            let kept = callbacks.expose_provenance();
            Box::new(move || {
                let callbacks = std::ptr::with_exposed_provenance::<Callbacks2>(kept);
                // SAFETY: the standard wants the struct to live as long as the instance.
                unsafe {
                    if let Some(logger) = callbacks.as_ref().and_then(|callbacks| callbacks.logger) {
                        let (name, text) = (c"late".as_ptr(), c"message from a thread".as_ptr());
                        logger((*callbacks).environment, name, 0, c"logAll".as_ptr(), c"%s".as_ptr(), text);
                    }
                }
            })
        }
        ImporterLog::Three(logger, environment) => {
            let kept = environment.expose_provenance();
            Box::new(move || {
                let environment = std::ptr::with_exposed_provenance_mut(kept);
                // SAFETY: the importer gave this function and environment.
                unsafe { logger(environment, 0, c"logAll".as_ptr(), c"message from a thread".as_ptr()) };
            })
        }
    };
    std::thread::spawn(move || {
        for _ in 0..1000 {
            log();
            std::thread::sleep(Duration::from_millis(2));
        }
    });
}
