//! Trials in a child process: what dies there is explained by the parent, which goes on.
//!
//! The child is a fork, so it begins with everything that the parent has read, and costs about a millisecond. It is made
//! only while the parent has a single thread and has executed no FMU: threads do not survive a fork, and an FMU that lost
//! the ones it started would hang. Where that does not hold, and on systems without fork, a trial runs in place.
//!
//! Which call the child died in is known from a page of memory that both share. The child writes every call there before
//! it is made, through the same functions that record calls for `--log-fmi-calls`.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use cosimo_core::trial::{Crash, Isolation};

use crate::library;

/// For [`cosimo_core::trial::use_isolation`].
pub static CHILD_PROCESSES: ChildProcesses = ChildProcesses;

#[derive(Debug)]
pub struct ChildProcesses;

/// An instance was created in this process.
static EXECUTED: AtomicBool = AtomicBool::new(false);
/// This process is the child.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// To be called before an FMU runs.
pub(crate) fn executes() {
    EXECUTED.store(true, Ordering::Relaxed);
}

/// Whether this process is the child.
pub(crate) fn is_inside() -> bool {
    INSIDE.load(Ordering::Relaxed)
}

impl Isolation for ChildProcesses {
    fn isolate(&self, task: &mut dyn FnMut() -> Vec<u8>) -> Option<Result<Vec<u8>, Crash>> {
        // Without code of others there is nothing to be afraid of.
        let afraid = library::is_foreign() && !is_inside();
        if afraid && !EXECUTED.load(Ordering::Relaxed) && threads() == 1 { child::run(task) } else { None }
    }
}

/// Threads of this process; a system that does not say is believed to have one.
pub(crate) fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// Bytes for a call: the names of components and functions, and two numbers.
const ROOM: usize = 1000;

/// The shared page.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct BlackBox {
    /// The task has answered.
    finished: AtomicU32,
    /// A call is under way.
    called: AtomicU32,
    /// Bytes of the instance's name, and of all the text.
    name: AtomicU32,
    length: AtomicU32,
    text: [AtomicU8; ROOM],
}

impl BlackBox {
    /// A call of an instance begins.
    pub(crate) fn enter(&self, instance: &str, call: &str) {
        let text = instance.bytes().chain(call.bytes()).zip(&self.text);
        let length = text.map(|(byte, cell)| cell.store(byte, Ordering::Relaxed)).count();
        self.name.store(instance.len().min(length) as u32, Ordering::Relaxed);
        self.length.store(length as u32, Ordering::Relaxed);
        self.called.store(1, Ordering::Release);
    }

    pub(crate) fn leave(&self) {
        self.called.store(0, Ordering::Release);
    }

    /// The name of the instance and the call, if one was under way.
    fn last(&self) -> Option<(String, String)> {
        if self.called.load(Ordering::Acquire) == 0 {
            return None;
        }
        let length = self.length.load(Ordering::Relaxed) as usize;
        let bytes: Vec<u8> = self.text.iter().take(length).map(|cell| cell.load(Ordering::Relaxed)).collect();
        let (name, call) = bytes.split_at_checked(self.name.load(Ordering::Relaxed) as usize)?;
        Some((String::from_utf8_lossy(name).into_owned(), String::from_utf8_lossy(call).into_owned()))
    }
}

#[cfg(not(unix))]
mod child {
    use super::Crash;

    pub(super) fn run(_task: &mut dyn FnMut() -> Vec<u8>) -> Option<Result<Vec<u8>, Crash>> {
        None
    }
}

#[cfg(unix)]
mod child {
    use std::io::{PipeReader, PipeWriter, Read, Write};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::ptr::{null_mut, without_provenance_mut};
    use std::sync::atomic::Ordering;

    use super::{BlackBox, Crash, INSIDE};
    use crate::{call_log, library};

    /// What a panic ends a Rust program with.
    const PANICKED: u8 = 101;

    pub(super) fn run(task: &mut dyn FnMut() -> Vec<u8>) -> Option<Result<Vec<u8>, Crash>> {
        let (reader, writer) = std::io::pipe().ok()?;
        let shared = SharedMemory::new()?;
        // What waits to be written would be written twice.
        library::flush();
        // SAFETY: this process has one thread, so the child has all of it, and no lock is held by a thread that is gone.
        match unsafe { libc::fork() } {
            -1 => None,
            0 => {
                drop(reader);
                answer(task, writer, shared.0)
            }
            child => {
                drop(writer);
                Some(listen(child, reader, shared.0))
            }
        }
    }

    /// Memory that a child shares with its parent.
    struct SharedMemory(&'static BlackBox);

    impl SharedMemory {
        fn new() -> Option<SharedMemory> {
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANON);
            // SAFETY: new pages, as large as wanted, at a place that the system chooses.
            let page = unsafe { libc::mmap(null_mut(), size_of::<BlackBox>(), access, kind, -1, 0) };
            if page == without_provenance_mut(libc::MAP_FAILED as usize) {
                return None;
            }
            // SAFETY: pages are aligned and zeroed, which is a valid value of every field, and they are never unmapped
            // while this is used.
            Some(SharedMemory(unsafe { &*page.cast::<BlackBox>() }))
        }
    }

    impl Drop for SharedMemory {
        fn drop(&mut self) {
            let page = std::ptr::from_ref(self.0).cast_mut().cast();
            // SAFETY: mapped in `new` with this size; the parent has read it, the child leaves without coming here.
            unsafe { libc::munmap(page, size_of::<BlackBox>()) };
        }
    }

    /// The child: does the task, says what it came to, and leaves without the parent's exit handlers.
    fn answer(task: &mut dyn FnMut() -> Vec<u8>, mut writer: PipeWriter, shared: &'static BlackBox) -> ! {
        INSIDE.store(true, Ordering::Relaxed);
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: reads a local. If it is refused, the system may write a core file, as it would have done.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core) };
        call_log::watch(shared);
        let Ok(answer) = catch_unwind(AssertUnwindSafe(task)) else { library::leave(PANICKED) };
        // A parent that is gone wants no answer.
        let _ = writer.write_all(&answer);
        shared.finished.store(1, Ordering::Release);
        library::leave(0)
    }

    /// The parent: waits for the answer, or finds out what became of the child.
    fn listen(child: libc::pid_t, mut reader: PipeReader, shared: &BlackBox) -> Result<Vec<u8>, Crash> {
        let mut answer = Vec::new();
        let _ = reader.read_to_end(&mut answer); // cut off, it is not finished either
        let mut status = 0;
        // SAFETY: waits for a child of this process that nothing else waits for, and writes a local.
        while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1
            && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {}
        if libc::WIFEXITED(status) && shared.finished.load(Ordering::Acquire) == 1 {
            return Ok(answer);
        }
        let last = shared.last();
        if libc::WIFEXITED(status) && last.is_none() {
            // It left by itself, and has said why: a panic of ours, or output that is no longer read.
            library::leave(libc::WEXITSTATUS(status) as u8);
        }
        let how = match libc::WTERMSIG(status) {
            _ if libc::WIFEXITED(status) => "ended the process".to_owned(),
            libc::SIGKILL => "was killed by the system".to_owned(),
            libc::SIGSEGV => "crashed".to_owned(),
            libc::SIGABRT => "aborted".to_owned(),
            signal => format!("crashed (signal {signal})"),
        };
        Err(match last {
            Some((name, call)) => Crash { simulator: Some(name), what: format!("{how} in {call}") },
            None => Crash { simulator: None, what: format!("an FMU {how} outside of FMI calls") },
        })
    }
}
