//! Signals that end a run early, such as Ctrl-C: rows, report and checkpoint are written, then the process exits with
//! 128 plus the number of the signal. A second signal exits at once, in case a simulator hangs; all rows are written.

use std::sync::atomic::AtomicBool;

/// Whether a signal requested the end, and which one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interruption {
    pub(crate) requested: &'static AtomicBool,
}

impl Interruption {
    /// Handles signals from now on, for the rest of the process.
    pub(crate) fn watch() -> Interruption {
        cosimo::fmi::watch_interrupts();
        Interruption { requested: &cosimo::fmi::INTERRUPTED }
    }

    /// The exit code of the process.
    pub(crate) fn exit_code(self) -> u8 {
        128 + cosimo::fmi::interruption().and_then(|signal| u8::try_from(signal).ok()).unwrap_or(0)
    }
}
