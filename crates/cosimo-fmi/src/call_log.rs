//! The log of all calls into FMUs, with arguments, results and times.
//!
//! Written as the calls happen: when an FMU takes the process down, the last line names the call that did it.
//! Without a log there is no overhead: the functions of `logged` are between Cosimo and an FMU only if one was requested.
//! A trial in a child process has a log without a file, so that its parent can report the call in which it crashed.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Debug};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use cosimo_core::companion;

use crate::log::status_word;
use crate::site::Site;
use crate::trial::BlackBox;

/// Longer lists are cut.
const MOST: usize = 64;

static RECORD: OnceLock<Record> = OnceLock::new();

#[derive(Debug)]
pub(crate) struct Record {
    begun: Instant,
    /// If there is a file.
    page: Option<Mutex<CallLogFile>>,
    /// If this is a trial in a child process.
    watched: OnceLock<TrialCalls>,
}

#[derive(Debug)]
struct CallLogFile {
    file: File,
    /// Calls so far.
    count: u64,
    /// The call whose line has no end yet.
    open: Option<u64>,
}

/// Calls as passed to the parent of a trial.
#[derive(Debug)]
struct TrialCalls {
    black_box: &'static BlackBox,
    /// By name of the instance.
    counts: Mutex<BTreeMap<String, Counts>>,
}

/// What an instance has done so far.
#[derive(Debug, Default)]
struct Counts {
    steps: u64,
    restores: u64,
    /// Steps since the last save or restore, and which of the two it was.
    since: u64,
    restored: bool,
}

impl Counts {
    /// Counts a call; returns its number for calls where it helps in messages.
    fn count(&mut self, function: &str) -> String {
        match function.get("fmiN".len()..).unwrap_or_default() {
            "Instantiate" | "InstantiateCoSimulation" | "InstantiateModelExchange" => {
                *self = Counts::default()
            }
            "DoStep" => {
                (self.steps, self.since) = (self.steps + 1, self.since + 1);
                return format!(" (step {})", self.steps);
            }
            "GetFMUstate" | "GetFMUState" => (self.since, self.restored) = (0, false),
            "SetFMUstate" | "SetFMUState" => {
                self.restores += 1;
                let after = if self.restored { "the last restore" } else { "the save" };
                let steps = match self.since {
                    0 => String::new(),
                    1 => format!(", 1 step after {after}"),
                    steps => format!(", {steps} steps after {after}"),
                };
                (self.since, self.restored) = (0, true);
                return format!(" (restore {}{steps})", self.restores);
            }
            _ => {}
        }
        String::new()
    }
}

/// Records all calls into FMUs that are instantiated from now on. Once per process.
pub fn record_calls(file: &Path) -> std::io::Result<()> {
    let page = CallLogFile { file: File::create(file)?, count: 0, open: None };
    RECORD
        .set(Record { begun: Instant::now(), page: Some(Mutex::new(page)), watched: OnceLock::new() })
        .map_err(|_| std::io::Error::new(std::io::ErrorKind::AlreadyExists, "calls are recorded already"))
}

/// Passes the current call to the parent of this process.
#[cfg(unix)]
pub(crate) fn watch(black_box: &'static BlackBox) {
    let none = || Record { begun: Instant::now(), page: None, watched: OnceLock::new() };
    let record = RECORD.get_or_init(none);
    let _ = record.watched.set(TrialCalls { black_box, counts: Mutex::default() });
}

/// Not for instances of companions: the log is that of the run.
pub(crate) fn record() -> Option<&'static Record> {
    RECORD.get().filter(|_| !companion::is_companion())
}

impl Record {
    /// Runs a call between the two halves of its line.
    pub(crate) fn call<T>(
        &self,
        instance: &str,
        function: &str,
        arguments: &str,
        call: impl FnOnce() -> T,
        result: impl FnOnce(&T) -> String,
    ) -> T {
        let watched = self.watched.get();
        if let Some(TrialCalls { black_box, counts }) = watched {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            let which = match counts.get_mut(instance) {
                Some(known) => known.count(function),
                None => counts.entry(instance.to_owned()).or_default().count(function),
            };
            black_box.enter(instance, &format!("{function}{which}"));
        }
        let Some(page) = &self.page else {
            let value = call();
            watched.iter().for_each(|watched| watched.black_box.leave());
            return value;
        };
        let number = self.begin(page, Instant::now(), instance, &format!("{function}({arguments})"));
        let begun = Instant::now();
        let value = call();
        let micros = begun.elapsed().as_secs_f64() * 1e6;
        watched.iter().for_each(|watched| watched.black_box.leave());
        Record::end(page, number, instance, function, &format!(" = {}  {micros:.1} us", result(&value)));
        value
    }

    /// A log message of an FMU, or a note about it.
    pub(crate) fn comment(&self, instance: &str, text: &str) {
        let Some(page) = &self.page else { return };
        let number = self.begin(page, Instant::now(), instance, text);
        Record::end(page, number, instance, "", "");
    }

    /// A record that cannot be written must not stop the run: failures to write are passed over.
    fn begin(&self, page: &Mutex<CallLogFile>, at: Instant, instance: &str, text: &str) -> u64 {
        let seconds = at.duration_since(self.begun).as_secs_f64();
        let mut page = page.lock().unwrap_or_else(PoisonError::into_inner);
        page.count += 1;
        let number = page.count;
        let line_end = if page.open.is_some() { " ...\n" } else { "" };
        let line = format!("{line_end}{number} {seconds:.6} s {instance}: {text}");
        let _ = page.file.write_all(line.as_bytes());
        page.open = Some(number);
        number
    }

    fn end(page: &Mutex<CallLogFile>, number: u64, instance: &str, function: &str, text: &str) {
        let mut page = page.lock().unwrap_or_else(PoisonError::into_inner);
        let line = if page.open == Some(number) {
            page.open = None;
            format!("{text}\n")
        } else {
            // Something came in between: a call inside the call, or another thread.
            let line_end = if page.open.take().is_some() { " ...\n" } else { "" };
            format!("{line_end}{number} ... {instance}: {function}{text}\n")
        };
        let _ = page.file.write_all(line.as_bytes());
    }
}

/// The one call that has no instance yet.
pub(crate) fn instantiate(
    name: &str,
    function: &'static str,
    token: &CStr,
    resources: &CStr,
    call: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    let site = Site::take(name, vec![(1, function)]);
    site.enter(1);
    let pointer = match record() {
        None => call(),
        Some(record) => {
            let arguments = format!("{name:?}, {token:?}, {resources:?}");
            record.call(name, function, &arguments, call, |pointer| {
                if pointer.is_null() { "null" } else { "ok" }.into()
            })
        }
    };
    site.give_back();
    pointer
}

/// An instance behind the record. Calls take its address in place of the FMU's own.
#[derive(Debug)]
pub(crate) struct Proxy<F> {
    pub(crate) functions: F,
    pub(crate) pointer: *mut c_void,
    pub(crate) name: String,
    pub(crate) record: &'static Record,
}

impl<F> Proxy<F> {
    /// Stays at its address until [`Proxy::free`].
    pub(crate) fn address(
        functions: F,
        pointer: *mut c_void,
        name: &str,
        record: &'static Record,
    ) -> *mut c_void {
        Box::into_raw(Box::new(Proxy { functions, pointer, name: name.to_owned(), record })).cast()
    }

    /// # Safety
    /// `address` comes from [`Proxy::address`] with the same functions and is not freed.
    pub(crate) unsafe fn at<'a>(address: *mut c_void) -> &'a Proxy<F> {
        // SAFETY: as promised.
        unsafe { &*address.cast_const().cast() }
    }

    /// # Safety
    /// As [`Proxy::at`], and the address is not used again.
    pub(crate) unsafe fn free(address: *mut c_void) {
        // SAFETY: as promised.
        drop(unsafe { Box::from_raw(address.cast::<Proxy<F>>()) });
    }

    /// `results` are those that the function leaves behind pointers.
    pub(crate) fn answer(
        &self,
        function: &str,
        arguments: &str,
        call: impl FnOnce() -> c_int,
        results: impl FnOnce() -> String,
    ) -> c_int {
        self.record.call(&self.name, function, arguments, call, |status| match results() {
            text if text.is_empty() => status_word(*status).to_owned(),
            text => format!("{} {text}", status_word(*status)),
        })
    }
}

/// Words that are shown as they are, among values.
pub(crate) struct RawText(String);

impl Debug for RawText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn raw_text(words: impl Into<String>) -> RawText {
    RawText(words.into())
}

/// A number of bytes, or several of them.
pub(crate) fn count(bytes: impl Debug) -> RawText {
    RawText(format!("{bytes:?} bytes"))
}

pub(crate) fn joined(parts: &[&dyn Debug]) -> String {
    parts.iter().map(|part| format!("{part:?}")).collect::<Vec<_>>().join(", ")
}

/// # Safety
/// Behind the pointer are so many values.
pub(crate) unsafe fn list<T: Debug>(values: *const T, count: usize) -> RawText {
    if values.is_null() || count == 0 {
        return raw_text("[]");
    }
    // SAFETY: as promised; not null.
    let values = unsafe { std::slice::from_raw_parts(values, count) };
    match values.get(..MOST) {
        Some(shown) if count > MOST => RawText(format!("{shown:?} of {count}")),
        _ => RawText(format!("{values:?}")),
    }
}

/// # Safety
/// Behind the pointer are so many zero-terminated texts.
pub(crate) unsafe fn texts(values: *const *const c_char, count: usize) -> RawText {
    if values.is_null() {
        return raw_text("[]");
    }
    // SAFETY: as promised; not null.
    let shown = unsafe { std::slice::from_raw_parts(values, count) };
    let texts: Vec<_> = shown
        .iter()
        .filter(|text| !text.is_null())
        // SAFETY: as promised; not null.
        .map(|text| unsafe { CStr::from_ptr(*text) }.to_string_lossy())
        .collect();
    RawText(format!("{texts:?}"))
}
