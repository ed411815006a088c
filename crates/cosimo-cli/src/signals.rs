//! Signals that end a run early, as Ctrl-C does: rows, report and checkpoint are written before the process leaves with
//! 128 and the number of the signal. The same signal once more leaves at once, where a simulator may be stuck.
//!
//! Handlers set flags and do nothing else, so there is no thread for them: FMUs are tried in child processes only while
//! there is a single thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

#[cfg(unix)]
const ENDING: &[i32] = &[SIGINT, SIGTERM, signal_hook::consts::SIGHUP, signal_hook::consts::SIGXCPU];
#[cfg(not(unix))]
const ENDING: &[i32] = &[SIGINT, SIGTERM];

/// Whether a signal has asked to end, and which one.
#[derive(Debug, Clone)]
pub(crate) struct Interruption {
    pub(crate) asked: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interruption {
    /// Listens from now on, for the rest of the process.
    pub(crate) fn watch() -> Interruption {
        let asked = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(AtomicUsize::new(SIGINT as usize));
        for &number in ENDING.iter().filter(|number| !is_ignored(**number)) {
            // In this order: the first one only takes note, and the next one finds the note.
            let set =
                flag::register_conditional_shutdown(number, i32::from(code(number)), Arc::clone(&asked))
                    .and_then(|_| flag::register_usize(number, Arc::clone(&signal), number as usize))
                    .and_then(|_| flag::register(number, Arc::clone(&asked)));
            if let Err(cause) = set {
                eprintln!("remark: signal {number} will lose unwritten rows: {cause}");
            }
        }
        Interruption { asked, signal }
    }

    /// What the process ends with.
    pub(crate) fn exit_code(&self) -> u8 {
        code(i32::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or(SIGINT))
    }
}

fn code(signal: i32) -> u8 {
    128 + u8::try_from(signal).unwrap_or(0)
}

/// Whether whoever started the process has it ignore a signal, as `nohup` does. Systems that do not say so do not ignore it.
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
