//! What foreign code must leave as it found it: the rounding mode of the processor and the working folder.
//!
//! Around steps only the processor's mode is looked after, and by a few sums: asking the processor takes some twenty
//! cycles, asking for the folder is a call of the operating system, and each would cost more than a small FMU's step.

use std::hint::black_box;
use std::path::PathBuf;

/// Rounding, flush-to-zero and exception masks; not the sticky flags that every operation sets.
#[cfg(target_arch = "x86_64")]
const CONTROL: u32 = 0xffc0;

/// Round to nearest, small numbers kept, no traps: what a process begins with and what Rust relies on.
#[cfg(target_arch = "x86_64")]
const PLAIN: u32 = 0x1f80;

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
const PLAIN: u32 = 0;

#[cfg(not(target_arch = "x86_64"))]
fn processor_mode() -> u32 {
    PLAIN
}

#[cfg(not(target_arch = "x86_64"))]
fn set_processor_mode(_mode: u32) {}

/// The mode of a thread before foreign code comes to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundingMode(u32);

impl RoundingMode {
    pub(crate) fn of_this_thread() -> RoundingMode {
        RoundingMode(processor_mode())
    }

    /// Runs foreign code and puts the processor's mode back if numbers come out differently afterwards. Traps alone
    /// would not show; an FMU that wants them asks for them when it is initialised, see [`around`].
    #[inline]
    pub(crate) fn around_step<T>(self, call: impl FnOnce() -> T) -> T {
        let result = call();
        if self.0 != PLAIN || !counts_plainly() {
            self.restore();
        }
        result
    }

    #[cold]
    fn restore(self) {
        if processor_mode() != self.0 {
            set_processor_mode(self.0);
        }
    }
}

/// Whether sums are rounded to nearest, and numbers below the smallest normal one are kept.
#[inline]
fn counts_plainly() -> bool {
    const NUMBERS: &[f64; 4] = &[1.0, f64::EPSILON / 16.0, 1.5 * f64::MIN_POSITIVE, f64::MIN_POSITIVE];
    let [one, little, more, least] = *black_box(NUMBERS);
    // Upwards shows in the first, downwards and towards zero in the second, either way of flushing in the third.
    (one + little == one) & (one - little == one) & (more - least != 0.0)
}

/// Runs foreign code and puts the processor's mode and the working folder back.
pub(crate) fn around<T>(call: impl FnOnce() -> T) -> T {
    let folder: Option<PathBuf> = std::env::current_dir().ok();
    let home = RoundingMode::of_this_thread();
    let result = call();
    home.restore();
    if let Some(folder) = folder
        && std::env::current_dir().ok().as_ref() != Some(&folder)
    {
        // If it is gone by now, there is nothing to go back to.
        let _ = std::env::set_current_dir(folder);
    }
    result
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_count_differently_shows_and_is_put_back() {
        let home = RoundingMode::of_this_thread();
        assert_eq!(home.0, PLAIN);
        assert!(counts_plainly());
        let (rounding, keep_no_small_results, read_no_small_ones) = (0x2000, 0x8000, 0x0040);
        let ways = [rounding, 2 * rounding, 3 * rounding, keep_no_small_results, read_no_small_ones];
        for way in ways {
            let shown = home.around_step(|| {
                set_processor_mode(PLAIN | way);
                black_box(!counts_plainly()) // counted here and now, not when the answer is wanted
            });
            assert!(shown, "{way:#x} does not show");
            assert_eq!(processor_mode(), PLAIN, "{way:#x} is not put back");
        }
        // Where the thread itself counts differently, that is what must come back.
        set_processor_mode(PLAIN | rounding);
        let home = RoundingMode::of_this_thread();
        home.around_step(|| set_processor_mode(PLAIN));
        assert_eq!(processor_mode(), PLAIN | rounding);
        set_processor_mode(PLAIN);
    }
}
