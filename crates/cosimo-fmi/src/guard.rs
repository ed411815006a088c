//! What foreign code must leave as it found it: the rounding mode of the processor and the working folder.
//!
//! Around steps only the processor's mode is checked, which costs a few nanoseconds; asking for the folder is
//! a call of the operating system and would cost more than a small unit's step.

use std::path::PathBuf;

/// Rounding, flush-to-zero and exception masks; not the sticky flags that every operation sets.
#[cfg(target_arch = "x86_64")]
const CONTROL: u32 = 0xffc0;

#[cfg(target_arch = "x86_64")]
fn processor_mode() -> u32 {
    let mut mode = 0u32;
    // SAFETY: stores the control register of the floating-point unit, which every x86_64 has, to a local.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut mode, options(nostack, preserves_flags)) };
    mode & CONTROL
}

#[cfg(target_arch = "x86_64")]
fn set_processor_mode(mode: u32) {
    // SAFETY: loads the register with a value it had before.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, preserves_flags, readonly)) };
}

#[cfg(not(target_arch = "x86_64"))]
fn processor_mode() -> u32 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn set_processor_mode(_mode: u32) {}

/// Runs foreign code and puts the processor's mode back.
#[inline]
pub(crate) fn around_step<T>(call: impl FnOnce() -> T) -> T {
    let mode = processor_mode();
    let result = call();
    if processor_mode() != mode {
        set_processor_mode(mode);
    }
    result
}

/// As [`around_step`], and puts the working folder back.
pub(crate) fn around<T>(call: impl FnOnce() -> T) -> T {
    let folder: Option<PathBuf> = std::env::current_dir().ok();
    let result = around_step(call);
    if let Some(folder) = folder
        && std::env::current_dir().ok().as_ref() != Some(&folder)
    {
        // If it is gone by now, there is nothing to go back to.
        let _ = std::env::set_current_dir(folder);
    }
    result
}
