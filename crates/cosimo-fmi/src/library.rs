//! An FMU's shared library: loaded once per file, shared by all instances, never unloaded.
//!
//! Never, because FMUs start threads and leave thread-local destructors behind, and unmapping their code
//! under these ends the process. An FMU that allows one instance per process gets a copy of the library per
//! instance.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cosimo_pack::store::COPY;
use libloading::Library;

use crate::platform::{beside, check_binary, explain_refusal};
use crate::problem::FileProblem;
use crate::{printed, python, workspace};

static LOADED: Mutex<BTreeMap<PathBuf, &'static Library>> = Mutex::new(BTreeMap::new());

/// Code of others is part of this process.
static FOREIGN: AtomicBool = AtomicBool::new(false);

/// Loads the library, or says why it cannot be.
pub(crate) fn load(path: &Path) -> Result<&'static Library, FileProblem> {
    // Nothing inside can leave the map half changed.
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = loaded.get(path) {
        return Ok(library);
    }
    FOREIGN.store(true, Ordering::Relaxed);
    printed::begin();
    if let Some(elf) = check_binary(path)? {
        python::provide(&elf, path)?;
    }
    let library = open(path).map_err(|error| explain_refusal(path, &said(&error)))?;
    let library: &'static Library = Box::leak(Box::new(library));
    loaded.insert(path.to_owned(), library);
    Ok(library)
}

/// Whether a library of an FMU was loaded.
pub(crate) fn is_foreign() -> bool {
    FOREIGN.load(Ordering::Relaxed)
}

/// Everything that waits to be written, by Rust and by the C libraries of FMUs.
pub(crate) fn flush() {
    // Output that cannot be written is lost either way.
    let _ = std::io::stdout().flush();
    let _ = std::io::stderr().flush();
    #[cfg(unix)]
    // SAFETY: a null pointer means all open streams.
    unsafe {
        libc::fflush(std::ptr::null_mut());
    }
}

/// Ends the process. Where the code of FMUs was loaded, its exit handlers do not run: those of Python with numpy, for
/// one, end a good run by corrupting the heap. What was to be written is written before.
pub fn leave(code: u8) -> ! {
    crate::process_end::leaves();
    workspace::remove();
    flush();
    printed::end();
    if is_foreign() {
        end(code);
    }
    std::process::exit(i32::from(code))
}

#[cfg(unix)]
fn end(code: u8) {
    // SAFETY: ends the process and runs nothing in it. Rust's own buffers are flushed, files are closed by the system.
    unsafe { libc::_exit(i32::from(code)) }
}

#[cfg(windows)]
fn end(code: u8) {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetCurrentProcess() -> *mut std::ffi::c_void;
        fn TerminateProcess(process: *mut std::ffi::c_void, code: u32) -> i32;
    }
    // SAFETY: ends this process and runs nothing in it, the detach routines of libraries included.
    unsafe { TerminateProcess(GetCurrentProcess(), u32::from(code)) };
}

#[cfg(not(any(unix, windows)))]
fn end(_code: u8) {}

/// The copy that companions on this thread share. FMUs exist whose instances share variables without saying so: those of
/// companions must not change what the run computes.
pub(crate) fn load_for_companions(path: &Path) -> Result<&'static Library, FileProblem> {
    thread_local! {
        static COPIES: RefCell<BTreeMap<PathBuf, &'static Library>> = const { RefCell::new(BTreeMap::new()) };
    }
    if let Some(known) = COPIES.with_borrow(|copies| copies.get(path).copied()) {
        return Ok(known);
    }
    let copy = load_copy(path)?;
    COPIES.with_borrow_mut(|copies| copies.insert(path.to_owned(), copy));
    Ok(copy)
}

/// Loads a copy that shares no variable with the others.
pub(crate) fn load_copy(path: &Path) -> Result<&'static Library, FileProblem> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Beside the original, so that what it needs is found in the same places.
    let copy = path.with_file_name(format!("{COPY}{}-{number}-{name}", std::process::id()));
    std::fs::copy(path, &copy).map_err(|error| {
        FileProblem::new(format!(
            "a second instance needs a copy of {name}, which cannot be written: {error}"
        ))
    })?;
    let library = open(&copy).map_err(|error| explain_refusal(path, &said(&error)));
    // The loader has its pages mapped already; where a system forbids this, the cache is cleaned one day.
    let _ = std::fs::remove_file(&copy);
    Ok(Box::leak(Box::new(library?)))
}

/// Opens a library. One that finds what it needs only beside itself has it loaded first: the loader does not look
/// there, but takes what is loaded already under the name that is needed.
fn open(path: &Path) -> Result<Library, libloading::Error> {
    let refused = match open_alone(path) {
        Ok(library) => return Ok(library),
        Err(error) => error,
    };
    let neighbours = beside(path);
    if neighbours.is_empty() {
        return Err(refused);
    }
    for neighbour in neighbours {
        std::mem::forget(open_alone(&neighbour)?);
    }
    open_alone(path)
}

/// All addresses now rather than at the first call: a missing one is a message, not the end of the process.
#[cfg(unix)]
fn open_alone(path: &Path) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: loading runs the FMU's initialisers; that foreign code runs here is what the user asked for.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
}

#[cfg(not(unix))]
fn open_alone(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: loading runs the FMU's initialisers; that foreign code runs here is what the user asked for.
    unsafe { Library::new(path) }
}

/// The loader's own sentence.
fn said(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    source.unwrap_or_else(|| error.to_string())
}

/// Looks for functions, and lists those that are missing, all at once.
pub(crate) struct FunctionSearch<'a> {
    pub(crate) library: &'static Library,
    /// FMI 1.0 puts it before each name; empty in other versions.
    pub(crate) identifier: &'a str,
    pub(crate) missing: Vec<String>,
}

impl FunctionSearch<'_> {
    /// A function by its name in the standard. `F` must be its type: nothing can check that.
    pub(crate) fn function<F: Copy>(&mut self, name: &str, needed: bool) -> Option<F> {
        let full = match self.identifier {
            "" => name.to_owned(),
            identifier => format!("{identifier}_{name}"),
        };
        // Some libraries of FMI 1.0 leave the identifier out.
        // SAFETY: `F` is a function pointer as the standard declares it for this name; the library is never unloaded, so
        // the address stays good.
        let found = unsafe { self.library.get::<F>(&full).or_else(|_| self.library.get(name)) };
        if needed && found.is_err() {
            self.missing.push(full);
        }
        found.ok().map(|symbol| *symbol)
    }
}

/// A library without some functions of the standard.
pub(crate) fn missing_functions(path: &Path, missing: &[String]) -> FileProblem {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let list = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    FileProblem::new(format!(
        "{name} does not export the function{} {list}",
        if missing.len() == 1 { "" } else { "s" }
    ))
    .hint("binary and description of the FMU do not match; report this to its vendor")
}
