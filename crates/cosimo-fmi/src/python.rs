//! FMUs that are written in Python and bring no Python: pythonfmu and its like.
//!
//! Their library calls functions of CPython that must be loaded globally by another library. Here it is found,
//! loaded and started, once per process and never ended: an FMU that starts Python itself would also end it under
//! the others, and take Ctrl-C for itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::elf::Elf;
use crate::platform;
use crate::problem::FileProblem;

/// A Python that can be loaded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Python {
    library: PathBuf,
    /// Its program, from which it knows where its modules are, a virtual environment's too.
    program: Option<PathBuf>,
}

const CHOICE: &str = "COSIMO_LIBPYTHON";

/// Prints the program, the version, and every file that may be its shared library.
const QUESTION: &str = "
import os, sys, sysconfig
get = lambda name: sysconfig.get_config_var(name) or ''
version = sysconfig.get_python_version()
print(sys.executable)
print(version)
folders = [get('LIBDIR'), os.path.join(get('LIBDIR'), get('MULTIARCH')), os.path.join(sys.base_prefix, 'lib')]
names = [get('INSTSONAME'), get('LDLIBRARY'), f'libpython{version}.so.1.0', f'libpython{version}.so']
for folder in dict.fromkeys(folders):
    for name in dict.fromkeys(names):
        if '.so' in name:
            print(os.path.join(folder, name))
";

/// Whether a library of an FMU leaves Python to others.
fn is_python(elf: &Elf) -> bool {
    elf.calls_python || needed(elf).is_some()
}

/// The library of Python that an FMU names, as in `libpython3.11.so.1.0`.
fn needed(elf: &Elf) -> Option<&str> {
    elf.needed.iter().map(String::as_str).find(|name| is_libpython(name))
}

/// Whether this is how CPython names its shared library.
pub(crate) fn is_libpython(name: &str) -> bool {
    name.starts_with("libpython") && name.contains(".so")
}

/// The version that a library's name tells, as in `3.11`. The plain `libpython3.so` fits all.
fn version(name: &str) -> Option<&str> {
    let version = name.strip_prefix("libpython")?.split(".so").next()?;
    version.contains('.').then_some(version)
}

/// The Python for an FMU; `None` if it needs none.
pub(crate) fn find(elf: &Elf) -> Result<Option<Python>, FileProblem> {
    if !is_python(elf) {
        return Ok(None);
    }
    let named = needed(elf).filter(|name| version(name).is_some());
    let found = match std::env::var_os(CHOICE).filter(|chosen| !chosen.is_empty()) {
        Some(chosen) => chosen_library(PathBuf::from(chosen))?,
        // One that the loader would find by itself, though not where all can see it.
        None => match named.and_then(platform::find_library) {
            Some(library) => chosen_library(library)?,
            None => ask_once(named.and_then(version))?,
        },
    };
    let name = found.library.file_name().unwrap_or_default().to_string_lossy();
    match (named.and_then(version), version(&name)) {
        (Some(wanted), Some(present)) if wanted != present => {
            let path = found.library.display();
            Err(FileProblem::new(format!("the FMU requires Python {wanted}, got Python {present}: {path}"))
                .hint(remedy(wanted)))
        }
        _ => Ok(Some(found)),
    }
}

fn remedy(version: &str) -> String {
    format!("install libpython{version}, or set {CHOICE}=/path/to/libpython{version}.so.1.0")
}

fn chosen_library(library: PathBuf) -> Result<Python, FileProblem> {
    let shown = library.display();
    if !library.is_file() {
        return Err(FileProblem::new(format!(
            "the FMU requires Python, but {CHOICE} names {shown}, which is not a file"
        ))
        .hint(
            "set it to the shared library of Python, as in /usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
        ));
    }
    // Beside `lib` or above a `lib/x86_64-linux-gnu`; without a program Python knows where it was installed.
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    let program = version(&name).map(|version| format!("bin/python{version}")).and_then(|program| {
        let above = library.ancestors().skip(2).take(2);
        above.map(|folder| folder.join(&program)).find(|program| program.is_file())
    });
    Ok(Python { library, program })
}

/// The Python on the path. It is slow to answer, and its answer does not change.
fn ask_once(wanted: Option<&str>) -> Result<Python, FileProblem> {
    static ANSWER: Mutex<Option<Python>> = Mutex::new(None);
    let mut answer = ANSWER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(python) = &*answer {
        return Ok(python.clone());
    }
    Ok(answer.insert(ask("python3", wanted)?).clone())
}

/// Asks a Python for its own library.
fn ask(program: &str, wanted: Option<&str>) -> Result<Python, FileProblem> {
    let unknown = |reason: String| {
        FileProblem::new(format!("the FMU requires Python, which cannot be loaded: {reason}"))
            .hint(remedy(wanted.unwrap_or("3.11")))
    };
    let output = std::process::Command::new(program)
        .args(["-c", QUESTION])
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| unknown(format!("`{program}` cannot be started: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let (Some(path), Some(version), true) = (lines.next(), lines.next(), output.status.success()) else {
        return Err(unknown(format!("`{program}` does not report its location")));
    };
    let candidates: Vec<&str> = lines.collect();
    match candidates.iter().map(PathBuf::from).find(|candidate| candidate.is_file()) {
        Some(library) => Ok(Python { library, program: Some(path.into()) }),
        None => {
            let problem = FileProblem::new(format!(
                "the FMU requires Python, but {path} (Python {version}) has no shared library; searched for {}",
                candidates.join(", ")
            ));
            Err(problem.hint(remedy(wanted.unwrap_or(version))))
        }
    }
}

/// Before an FMU's library is loaded: starts Python if the FMU needs it. `library` lies in the FMU's folder.
pub(crate) fn provide(elf: &Elf, library: &Path) -> Result<(), FileProblem> {
    let Some(python) = find(elf)? else { return Ok(()) };
    start(&python, needed(elf))?;
    // fmu/binaries/platform/library.so
    library.ancestors().nth(3).map_or(Ok(()), claim_module)
}

/// Python keeps one module per name. Of two FMUs with different modules of one name, the second would silently run
/// the first one's code.
fn claim_module(fmu: &Path) -> Result<(), FileProblem> {
    static CLAIMED: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let resources = fmu.join("resources");
    // Where pythonfmu says which module the FMU is; others do as they like.
    let Ok(text) = std::fs::read_to_string(resources.join("slavemodule.txt")) else { return Ok(()) };
    let name = text.lines().next().unwrap_or_default().trim();
    let Ok(code) = std::fs::read(resources.join(format!("{name}.py"))) else { return Ok(()) };
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    if claimed.get(name).is_some_and(|earlier| *earlier != code) {
        return Err(FileProblem::new(format!(
            "the FMU's Python module `{name}` has the same name as a different module of another FMU; \
             one Python can hold only one of them"
        ))
        .hint(format!("rename one {name}.py and build its FMU again")));
    }
    claimed.insert(name.to_owned(), code);
    Ok(())
}

#[cfg(unix)]
fn start(python: &Python, needed: Option<&str>) -> Result<(), FileProblem> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

    static STARTED: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    let path = &python.library;
    if let Some(earlier) = &*started {
        return same_version(earlier, path);
    }
    let failed = |error: libloading::Error| {
        FileProblem::new(format!("the FMU requires Python, but {} cannot be loaded: {error}", path.display()))
            .hint(format!("name another Python in {CHOICE}"))
    };
    // Global, because an FMU and the modules of Python look for its functions without saying where.
    // SAFETY: loading runs the initialisers of CPython, which wait for nothing and start nothing.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map_err(failed)?;
    // The plain name is a library of its own, which only leads to the one with a version.
    if let Some(plain) = needed.filter(|name| version(name).is_none()) {
        // SAFETY: as above.
        let plain = unsafe { Library::open(Some(path.with_file_name(plain)), RTLD_NOW | RTLD_GLOBAL) };
        std::mem::forget(plain.map_err(failed)?);
    }
    // SAFETY: this is CPython, which no other thread of this process can be starting: the lock is held.
    unsafe { initialize(&library, python.program.as_deref()) }.map_err(failed)?;
    std::mem::forget(library);
    *started = Some(path.clone());
    Ok(())
}

/// One process holds one Python: the functions of a second one would be taken for those of the first.
#[cfg(unix)]
fn same_version(earlier: &Path, wanted: &Path) -> Result<(), FileProblem> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (present, other) = (name(earlier), name(wanted));
    match (version(&present), version(&other)) {
        (Some(present), Some(other)) if present != other => Err(FileProblem::new(format!(
            "the FMU requires Python {other}, another FMU Python {present}; one process can load only one"
        ))
        .hint("build both FMUs for the same Python version")),
        _ => Ok(()),
    }
}

/// Starts Python unless this process is one, and leaves its lock free.
///
/// # Safety
/// The library is CPython, is never unloaded, and no other thread is starting it.
#[cfg(unix)]
unsafe fn initialize(
    library: &libloading::os::unix::Library,
    program: Option<&Path>,
) -> Result<(), libloading::Error> {
    use std::ffi::{c_char, c_int, c_void};

    /// Python is never ended, so its buffers would never be flushed.
    const NO_BUFFERS: &std::ffi::CStr = c"import sys
for stream in (sys.stdout, sys.stderr):
    stream and stream.reconfigure(line_buffering=True)
";
    // SAFETY: names and types of CPython's interface for embedding. The program's name must stay, hence the leak.
    // Without handlers of signals, because Ctrl-C is ours; the lock is given away, so that any thread can take it.
    unsafe {
        let is_running = library.get::<unsafe extern "C" fn() -> c_int>("Py_IsInitialized")?;
        let start = library.get::<unsafe extern "C" fn(c_int)>("Py_InitializeEx")?;
        let run = library.get::<unsafe extern "C" fn(*const c_char) -> c_int>("PyRun_SimpleString")?;
        let release = library.get::<unsafe extern "C" fn() -> *mut c_void>("PyEval_SaveThread")?;
        if is_running() != 0 {
            return Ok(());
        }
        // Newer ones find their modules without being told.
        let name = library.get::<unsafe extern "C" fn(*const u32)>("Py_SetProgramName");
        if let (Ok(set_name), Some(program)) = (name, program) {
            let wide: Vec<u32> =
                program.to_string_lossy().chars().map(u32::from).chain(std::iter::once(0)).collect();
            set_name(wide.leak().as_ptr());
        }
        start(0);
        run(NO_BUFFERS.as_ptr());
        release();
    }
    Ok(())
}

#[cfg(not(unix))]
fn start(_python: &Python, _needed: Option<&str>) -> Result<(), FileProblem> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fmu(needed: &[&str], calls_python: bool) -> Elf {
        let needed = needed.iter().map(|name| (*name).to_owned()).collect();
        Elf { bits: 64, machine: 62, needed, calls_python, ..Elf::default() }
    }

    #[test]
    fn only_fmus_that_call_python_ask_for_it() {
        assert_eq!(find(&fmu(&["libc.so.6", "libm.so.6"], false)), Ok(None));
        assert!(is_python(&fmu(&["libc.so.6"], true)));
        assert!(is_python(&fmu(&["libc.so.6", "libpython3.9.so.1.0"], false)));
        assert_eq!(version("libpython3.9.so.1.0"), Some("3.9"));
        assert_eq!(version("libpython3.so"), None);
        let problem = find(&fmu(&["libpython1.4.so.1.0"], false)).unwrap_err().to_string();
        assert!(problem.contains("Python 1.4") || problem.contains("libpython1.4"), "{problem}");
    }

    #[cfg(unix)]
    #[test]
    fn a_second_version_is_refused() {
        let path = |name: &str| PathBuf::from("/usr/lib").join(name);
        assert!(same_version(&path("libpython3.11.so.1.0"), &path("libpython3.11.so")).is_ok());
        assert!(same_version(&path("libpython3.11.so.1.0"), &path("libpython3.so")).is_ok());
        let problem = same_version(&path("libpython3.11.so.1.0"), &path("libpython3.9.so.1.0")).unwrap_err();
        assert!(problem.message.contains("Python 3.9, another FMU Python 3.11"), "{problem}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let problem = chosen_library("/nowhere/libpython3.11.so".into()).unwrap_err().to_string();
        assert!(problem.contains("COSIMO_LIBPYTHON names /nowhere/libpython3.11.so"), "{problem}");
        let problem = ask("no-python-here", Some("3.9")).unwrap_err().to_string();
        assert!(problem.contains("`no-python-here` cannot be started"), "{problem}");
        assert!(problem.contains("set COSIMO_LIBPYTHON=/path/to/libpython3.9.so.1.0"), "{problem}");
        let problem = ask("true", None).unwrap_err().to_string();
        assert!(problem.contains("`true` does not report its location"), "{problem}");
    }
}
