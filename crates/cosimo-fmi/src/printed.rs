//! What FMUs print. Their standard output is the command's own, where a line of an FMU would end up in the middle of JSON.
//!
//! Programs that ask for it get descriptor 1 replaced by a pipe before the first library is loaded, and print through a
//! duplicate that they made before. A child process reads the pipe and shows every line on stderr, marked as an FMU's: a
//! thread would keep trials from being made in child processes, and would die with the FMU that crashes. The child ends
//! when the last writer is gone.

use std::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);

/// For programs: what FMUs print goes to stderr from now on, whatever stdout is. The program must print to a duplicate of
/// its stdout, made before the first FMU is opened.
pub fn separate_output() {
    WANTED.store(true, Ordering::Relaxed);
}

/// To be called before the first code of an FMU is loaded.
pub(crate) fn begin() {
    if WANTED.swap(false, Ordering::Relaxed) {
        pipe::begin();
    }
}

/// To be called before the process ends: waits until all is shown.
pub(crate) fn end() {
    pipe::end();
}

#[cfg(not(unix))]
mod pipe {
    pub(super) fn begin() {}

    pub(super) fn end() {}
}

#[cfg(unix)]
mod pipe {
    use std::io::{PipeReader, Read, Write};
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicI32, Ordering};
    use std::time::Duration;

    use cosimo_core::printable;

    use crate::{library, trial};

    const STDOUT: i32 = 1;
    const STDERR: i32 = 2;
    /// The process that reads; 0 where there is none.
    static READER: AtomicI32 = AtomicI32::new(0);
    /// A line without an end is shown when it is so long.
    const LONGEST: usize = 10_000;
    /// Something that an FMU started may keep the pipe open after this process; the wait for it is at most this long.
    const PATIENCE: Duration = Duration::from_millis(500);

    unsafe extern "C" {
        /// In the shim: C's stdout is written line by line, as to a terminal, so that a crash loses no whole line.
        fn cosimo_fmi_print_by_lines();
    }

    pub(super) fn begin() {
        library::flush();
        // SAFETY: called before any code of an FMU, so nothing is using C's stdout.
        unsafe { cosimo_fmi_print_by_lines() };
        if trial::threads() != 1 || reader().is_none() {
            // SAFETY: both descriptors are open; Rust opens those that were closed at the start of a process.
            unsafe { libc::dup2(STDERR, STDOUT) };
        }
    }

    fn reader() -> Option<()> {
        let (reader, writer) = std::io::pipe().ok()?;
        // SAFETY: this process has one thread, so the child has all of it.
        match unsafe { libc::fork() } {
            -1 => None,
            0 => {
                drop(writer);
                show(reader)
            }
            child => {
                READER.store(child, Ordering::Relaxed);
                // SAFETY: both descriptors are open.
                unsafe { libc::dup2(writer.as_raw_fd(), STDOUT) };
                Some(())
            }
        }
    }

    /// The child.
    fn show(mut reader: PipeReader) -> ! {
        // Signals that end the command by the keyboard reach this process too, and there may still be lines to show.
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGXCPU, libc::SIGPIPE]
        {
            // SAFETY: no handler is installed.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        // A reader of the command's output waits until all its duplicates are closed, and a lock would stay.
        let keep = reader.as_raw_fd();
        for other in (0..1024).filter(|other| *other != STDERR && *other != keep) {
            // SAFETY: nothing in this process uses it from here on.
            unsafe { libc::close(other) };
        }
        let (mut line, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            let count = match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            for &byte in &chunk[..count] {
                if byte == b'\n' || line.len() == LONGEST {
                    say(&mut line);
                }
                if byte != b'\n' {
                    line.push(byte);
                }
            }
        }
        if !line.is_empty() {
            say(&mut line);
        }
        // SAFETY: ends the child and runs nothing of the parent's in it.
        unsafe { libc::_exit(0) }
    }

    fn say(line: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(line);
        let shown = format!("FMU output: {}\n", printable(text.trim_end_matches('\r')));
        // A closed stderr must not block the FMU.
        let _ = std::io::stderr().write_all(shown.as_bytes());
        line.clear();
    }

    pub(super) fn end() {
        let child = READER.swap(0, Ordering::Relaxed);
        if child == 0 {
            return;
        }
        // SAFETY: both descriptors are open. With this, the process gives up its end of the pipe.
        unsafe { libc::dup2(STDERR, STDOUT) };
        let pause = Duration::from_micros(200);
        let mut waited = Duration::ZERO;
        // SAFETY: asks for a child of this process; in a trial it is none, and there is nothing to wait for.
        while unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::WNOHANG) } == 0 && waited < PATIENCE {
            std::thread::sleep(pause);
            waited += pause;
        }
    }
}
