//! Harm that safe Rust cannot do, for the saboteur.

use std::ffi::{CStr, c_char, c_int};

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
pub(crate) fn print_by_c(words: &CStr) {
    // SAFETY: one text for one place in the format, and both end.
    unsafe { printf(c"%s".as_ptr(), words.as_ptr()) };
}

/// Sends a signal to the process.
pub(crate) fn send(signal: c_int) {
    // SAFETY: has no conditions.
    unsafe { raise(signal) };
}

/// A child process that ends at once, by `exit`.
pub(crate) fn fork_and_exit() {
    // SAFETY: that the child is a copy of whatever the importer is doing is the wish.
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
    // SAFETY: it writes a control register and nothing else. That later arithmetic rounds otherwise is the wish.
    unsafe { fesetround(UPWARDS) };
}

/// Does not return.
pub(crate) fn segfault() {
    // SAFETY: none; a write to address zero is the wish.
    unsafe { std::ptr::null_mut::<u8>().wrapping_add(8).write_volatile(1) };
}
