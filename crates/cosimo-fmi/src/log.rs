//! The last words of a unit, kept for the moment when something fails.

use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use crate::calls;

const LINES: usize = 20;
const LONGEST: usize = 1000;

/// A unit may speak from a thread of its own, hence the lock.
#[derive(Debug)]
pub(crate) struct Log {
    instance: String,
    lines: Mutex<VecDeque<String>>,
}

impl Log {
    pub(crate) fn new(instance: &str) -> Log {
        Log { instance: instance.to_owned(), lines: Mutex::default() }
    }

    pub(crate) fn push(&self, status: c_int, category: &str, text: &str) {
        let text: String = text.trim_end().chars().take(LONGEST).collect();
        let word = status_word(status);
        let line = match category {
            "" => format!("{word}: {text}"),
            _ => format!("{word} ({category}): {text}"),
        };
        if let Some(record) = calls::record() {
            record.remark(&self.instance, &format!("says {line}"));
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// For the end of a message.
    pub(crate) fn tail(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.len() {
            0 => "; it said nothing about it".into(),
            _ => format!(
                "; its last words:{}",
                lines.iter().map(|line| format!("\n  {line}")).collect::<String>()
            ),
        }
    }
}

pub(crate) fn status_word(status: c_int) -> &'static str {
    match status {
        0 => "ok",
        1 => "warning",
        2 => "discard",
        3 => "error",
        4 => "fatal",
        5 => "pending",
        _ => "an unknown status",
    }
}

/// As in the shim.
pub(crate) const MARK: u64 = 0x6b6e_6973_6f6d_6973;

/// What the shim expects behind the environment of FMI 2.0.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Sink {
    /// By which the shim knows that a unit hands back what it was given.
    pub(crate) mark: u64,
    pub(crate) write: unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char),
    pub(crate) data: *mut c_void,
}

/// `data` must be a living `Log`; the texts are zero-terminated or null.
pub(crate) unsafe extern "C" fn write(
    data: *mut c_void,
    status: c_int,
    category: *const c_char,
    text: *const c_char,
) {
    // SAFETY: the caller hands back the `Log` that it was given, which outlives the instance, and C strings.
    unsafe {
        if let Some(log) = data.cast::<Log>().as_ref() {
            log.push(status, &lossy(category), &lossy(text));
        }
    }
}

unsafe fn lossy(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, and zero-terminated as the standard demands.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
