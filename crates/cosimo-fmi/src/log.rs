//! The last log messages of an FMU, kept for error messages.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosimo_core::companion;

use crate::call_log;
use crate::messages::{MessageKind, count};

const LINES: usize = 20;
const LONGEST: usize = 1000;

/// An FMU may log from a thread of its own, hence the lock.
#[derive(Debug)]
pub(crate) struct MessageLog {
    instance: String,
    /// Its messages are not those of the run.
    companion: bool,
    lines: Mutex<VecDeque<String>>,
}

impl MessageLog {
    pub(crate) fn new(instance: &str) -> MessageLog {
        let companion = companion::is_companion();
        MessageLog { instance: instance.to_owned(), companion, lines: Mutex::default() }
    }

    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    pub(crate) fn push(&self, status: c_int, category: &str, text: &str) {
        let text: String = text.trim_end().chars().take(LONGEST).collect();
        self.count(MessageKind::Logged { status, category: category.to_owned() }, &text);
        let word = status_word(status);
        let line = match category {
            "" => format!("{word}: {text}"),
            _ => format!("{word} ({category}): {text}"),
        };
        if let Some(record) = call_log::record().filter(|_| !self.companion) {
            record.comment(&self.instance, &format!("says {line}"));
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// A function returned `warning`.
    #[cold]
    pub(crate) fn warned(&self, function: &'static str) {
        self.count(MessageKind::Returned { function }, "");
    }

    fn count(&self, kind: MessageKind, text: &str) {
        if !self.companion {
            count(&self.instance, kind, text);
        }
    }

    /// For the end of a message.
    pub(crate) fn tail(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.len() {
            0 => "; it logged no message".into(),
            _ => format!(
                "; last log messages:{}",
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

/// The logs of all instances by what their FMU was given as environment; `None` once an instance is freed. What an FMU
/// hands back is looked up here and never followed: FMUs exist that hand back a number of their own, and that log from
/// a thread after they were freed.
static LOGS: Mutex<BTreeMap<usize, Option<Arc<MessageLog>>>> = Mutex::new(BTreeMap::new());

fn logs() -> MutexGuard<'static, BTreeMap<usize, Option<Arc<MessageLog>>>> {
    LOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As long as this lives, messages that come with an environment reach a log.
#[derive(Debug)]
pub(crate) struct LogRegistration(usize);

impl LogRegistration {
    /// The environment must never be given out a second time, so that a message which comes too late reaches no other
    /// instance.
    pub(crate) fn new(environment: *const c_void, log: &Arc<MessageLog>) -> LogRegistration {
        let key = environment.addr();
        logs().insert(key, Some(log.clone()));
        LogRegistration(key)
    }
}

impl Drop for LogRegistration {
    fn drop(&mut self) {
        logs().insert(self.0, None);
    }
}

/// The log of a living instance. An environment that was never given out leaves the name of the instance, where only
/// one has it.
///
/// # Safety
/// `name` is null or, unless the environment is one of an instance that was freed, a text that ends.
unsafe fn find(environment: *const c_void, name: *const c_char) -> Option<Arc<MessageLog>> {
    let logs = logs();
    if let Some(known) = logs.get(&environment.addr()) {
        return known.clone();
    }
    if name.is_null() {
        return None;
    }
    // SAFETY: as promised.
    let name = unsafe { lossy(name) };
    let mut named = logs.values().flatten().filter(|log| log.instance == name);
    let found = named.next().cloned();
    found.filter(|_| named.next().is_none())
}

/// For the shim of FMI 2.0: a log to write to, or null.
pub(crate) unsafe extern "C" fn find2(environment: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: from the logger, with what the FMU hands to it.
    let found = unsafe { find(environment, name) };
    found.map_or(std::ptr::null_mut(), |log| Arc::into_raw(log).cast_mut().cast())
}

/// For the shim of FMI 2.0: `found` comes from [`find2`] and is used up; the texts are zero-terminated or null.
pub(crate) unsafe extern "C" fn write2(
    found: *mut c_void,
    status: c_int,
    category: *const c_char,
    text: *const c_char,
) {
    // SAFETY: the shim hands back what it was given, once, and C strings.
    unsafe {
        Arc::from_raw(found.cast_const().cast::<MessageLog>()).push(status, &lossy(category), &lossy(text))
    }
}

/// The logger of FMI 3.0.
pub(crate) unsafe extern "C" fn write3(
    environment: *mut c_void,
    status: c_int,
    category: *const c_char,
    text: *const c_char,
) {
    // SAFETY: a null name, and C strings; those of an instance that was freed are not looked at.
    unsafe {
        if let Some(log) = find(environment, std::ptr::null()) {
            log.push(status, &lossy(category), &lossy(text));
        }
    }
}

/// # Safety
/// The pointer is null or leads to a text that ends.
pub(crate) unsafe fn lossy(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as promised; not null.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
