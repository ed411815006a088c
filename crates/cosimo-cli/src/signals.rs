//! Signals that end a run early, as Ctrl-C does: rows, report and checkpoint are written before the process leaves with
//! 128 and the number of the signal. The same signal once more leaves at once, where a simulator may be stuck, with all
//! rows.

use std::sync::atomic::AtomicBool;

/// Whether a signal has asked to end, and which one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interruption {
    pub(crate) asked: &'static AtomicBool,
}

impl Interruption {
    /// Listens from now on, for the rest of the process.
    pub(crate) fn watch() -> Interruption {
        cosimo::fmi::watch_interrupts();
        Interruption { asked: &cosimo::fmi::INTERRUPTED }
    }

    /// What the process ends with.
    pub(crate) fn exit_code(self) -> u8 {
        128 + cosimo::fmi::interruption().and_then(|signal| u8::try_from(signal).ok()).unwrap_or(0)
    }
}
