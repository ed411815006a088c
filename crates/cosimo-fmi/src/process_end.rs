//! What is said and saved when something ends the process: a signal from outside, a crash, or an FMU that calls `exit`.
//!
//! Handlers do what is allowed in them: they store to atomics, sleep, and write to the standard error output. Rows are
//! written by a thread that was there before. A process that an FMU forked is not ours, and is left alone.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// How the rows of results are brought to their files. Both functions are called from signal handlers; there is nothing
/// to do if it is done from the start.
#[derive(Debug, Clone, Copy)]
pub struct Rescue {
    pub ask: fn(),
    pub is_done: fn() -> bool,
}

static RESCUE: OnceLock<Rescue> = OnceLock::new();
/// The number of the signal that asked to end, or 0.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The process ends by its own will.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// A signal has asked to end.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The number of that signal.
pub fn interruption() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// From here on `exit` is our own.
pub(crate) fn leaves() {
    LEAVING.store(true, Ordering::SeqCst);
}

#[cfg(unix)]
pub use unix::{watch_interrupts, watch_process};

// Systems without signals end a process without asking it.
#[cfg(not(unix))]
pub fn watch_process(rescue: Rescue) {
    let _ = RESCUE.set(rescue);
}

#[cfg(not(unix))]
pub fn watch_interrupts() {}

#[cfg(unix)]
mod unix {
    use std::ffi::{c_int, c_void};
    use std::mem::MaybeUninit;
    use std::ptr::null_mut;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

    use super::{INTERRUPTED, LEAVING, RESCUE, Rescue, SIGNAL};
    use crate::site::{self, Call};
    use crate::{library, trial};

    /// Signals that end a run early, as Ctrl-C does.
    const INTERRUPTS: [c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGXCPU];

    /// Signals of a crash.
    const CRASHES: [(c_int, &str); 6] = [
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGXFSZ, "SIGXFSZ"),
    ];

    /// How long rows are waited for.
    const PATIENCE: u32 = 2000;
    const MILLISECOND: i64 = 1_000_000;

    /// The process that handlers speak for.
    static PROCESS: AtomicI32 = AtomicI32::new(0);
    /// A crash is being told of.
    static CRASHED: AtomicBool = AtomicBool::new(false);
    /// What was done about a crash before.
    static BEFORE: OnceLock<[libc::sigaction; 6]> = OnceLock::new();

    /// From now on a signal from outside is noted: it ends the run, not the process. Those that were ignored from the
    /// start, as under `nohup`, stay so.
    pub fn watch_interrupts() {
        for signal in INTERRUPTS {
            if present(signal).sa_sigaction != libc::SIG_IGN {
                handle(signal, interrupted as extern "C" fn(c_int) as usize, libc::SA_RESTART);
            }
        }
    }

    /// Tells of crashes and of FMUs that end the process, from now on. Once per process.
    pub fn watch_process(rescue: Rescue) {
        if RESCUE.set(rescue).is_err() {
            return;
        }
        // SAFETY: has no conditions.
        PROCESS.store(unsafe { libc::getpid() }, Ordering::SeqCst);
        give_stack();
        if BEFORE.set(CRASHES.map(|(signal, _)| present(signal))).is_ok() {
            let handler = crashed as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
            for (signal, _) in CRASHES {
                handle(signal, handler, libc::SA_SIGINFO | libc::SA_ONSTACK);
            }
        }
        // SAFETY: a function without arguments that stays where it is. If there is no room for it, an FMU that ends the
        // process does so without a word, as it would have done.
        unsafe { libc::atexit(exited) };
    }

    /// What is done about a signal.
    fn present(signal: c_int) -> libc::sigaction {
        let mut action = MaybeUninit::zeroed();
        // SAFETY: asks only; zeros are a valid action should it fail.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
            action.assume_init()
        }
    }

    fn handle(signal: c_int, handler: usize, flags: c_int) {
        // SAFETY: zeros are a valid action; the handler has the form that the flags say and stays where it is.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = handler;
            action.sa_flags = flags;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, null_mut());
        }
    }

    /// Handlers of a crash need a stack, where there may be none left. Rust gives each of its threads one; should it not,
    /// this one gets it here.
    fn give_stack() {
        const SIZE: usize = 1 << 16;
        // SAFETY: asks for the present one; zeros are a valid answer.
        unsafe {
            let mut stack: libc::stack_t = MaybeUninit::zeroed().assume_init();
            libc::sigaltstack(std::ptr::null(), &raw mut stack);
            if stack.ss_flags & libc::SS_DISABLE == 0 && stack.ss_size >= SIZE / 4 {
                return;
            }
            stack.ss_sp = Box::leak(vec![0u8; SIZE].into_boxed_slice()).as_mut_ptr().cast();
            stack.ss_size = SIZE;
            stack.ss_flags = 0;
            libc::sigaltstack(&raw const stack, null_mut());
        }
    }

    fn is_ours() -> bool {
        // SAFETY: has no conditions.
        unsafe { libc::getpid() == PROCESS.load(Ordering::SeqCst) }
    }

    /// Waits until all rows are in their files, for a while.
    fn rescue() {
        let Some(Rescue { ask, is_done }) = RESCUE.get() else { return };
        ask();
        let pause = libc::timespec { tv_sec: 0, tv_nsec: MILLISECOND };
        for _ in 0..PATIENCE {
            if is_done() {
                return;
            }
            // SAFETY: reads a local.
            unsafe { libc::nanosleep(&raw const pause, null_mut()) };
        }
    }

    fn end(code: c_int) -> ! {
        // SAFETY: ends the process and runs nothing in it.
        unsafe { libc::_exit(code) }
    }

    /// The first one is noted, and says what is waited for. The second one leaves, with all rows.
    extern "C" fn interrupted(signal: c_int) {
        if !is_ours() {
            // A trial is ended by its parent. A process that an FMU has made knows nothing of us.
            if !trial::is_inside() {
                handle(signal, libc::SIG_DFL, 0);
                // SAFETY: sending a signal to oneself has no conditions.
                unsafe { libc::raise(signal) };
            }
            return;
        }
        if SIGNAL.swap(signal, Ordering::SeqCst) != 0 {
            rescue();
            end(128 + signal);
        }
        INTERRUPTED.store(true, Ordering::SeqCst);
        if let Some(call) = site::present(true) {
            let mut line = StackLine::default();
            line.put(b"\nwaiting for ");
            line.put_call(&call);
            line.put(b" to return; send the signal again to end the run without waiting\n");
            line.write();
        }
    }

    extern "C" fn crashed(signal: c_int, about: *mut libc::siginfo_t, _context: *mut c_void) {
        if signal == libc::SIGXFSZ && site::present(false).is_none() {
            return; // a file of our own: writing to it fails, and that is told
        }
        let place = CRASHES.iter().position(|(known, _)| *known == signal);
        if is_ours() && !CRASHED.swap(true, Ordering::SeqCst) {
            let mut line = StackLine::default();
            let name = place.map_or("a signal", |place| CRASHES[place].1);
            match site::present(false) {
                Some(call) => {
                    line.put(b"\nerror: ");
                    line.put_call(&call);
                    line.put(b" crashed: ");
                }
                None if library::is_foreign() => line.put(
                    b"\nerror: the process crashed outside of an FMI call, perhaps in a thread of an FMU: ",
                ),
                None => line.put(b"\nerror: Cosimo crashed, which is a bug in Cosimo: "),
            }
            line.put(name.as_bytes());
            line.put_rows();
            line.write();
            rescue();
        }
        // SAFETY: the system hands over a valid description, or none.
        let sent = unsafe { about.as_ref() }.is_none_or(|about| about.si_code <= 0);
        match place.zip(BEFORE.get()) {
            // The instruction is repeated, and what was done before is done now.
            Some((place, before)) if !sent && signal != libc::SIGXFSZ => {
                // SAFETY: an action that the system gave us.
                unsafe { libc::sigaction(signal, &raw const before[place], null_mut()) };
            }
            // Nothing would be repeated: the signal comes again when this returns.
            _ => {
                handle(signal, libc::SIG_DFL, 0);
                // SAFETY: sending a signal to oneself has no conditions.
                unsafe { libc::raise(signal) };
            }
        }
    }

    /// `exit` was called. Handlers of FMUs have run by now: they were registered later.
    extern "C" fn exited() {
        if LEAVING.load(Ordering::SeqCst) || !library::is_foreign() || !is_ours() {
            return;
        }
        let mut line = StackLine::default();
        line.put(b"\nerror: ");
        match site::present(true) {
            Some(call) => line.put_call(&call),
            None => line.put(b"an FMU, outside of FMI calls,"),
        }
        line.put(b" ended the process by `exit`");
        line.put_rows();
        line.write();
        rescue();
        end(1);
    }

    /// A line that needs no memory of the heap.
    struct StackLine {
        bytes: [u8; 400],
        length: usize,
    }

    impl Default for StackLine {
        fn default() -> StackLine {
            StackLine { bytes: [0; 400], length: 0 }
        }
    }

    impl StackLine {
        fn put(&mut self, bytes: &[u8]) {
            for (cell, byte) in self.bytes[self.length..].iter_mut().zip(bytes) {
                // Names come from files: nothing of theirs may steer a terminal.
                *cell = if byte.is_ascii_control() && *byte != b'\n' { b'?' } else { *byte };
                self.length += 1;
            }
        }

        /// What becomes of results, if there are any.
        fn put_rows(&mut self) {
            let written = RESCUE.get().is_some_and(|rescue| !(rescue.is_done)());
            self.put(if written { b"; all rows so far are in the results\n" } else { b"\n" });
        }

        /// `name` in fmi2DoStep at t = 1.5 s
        fn put_call(&mut self, call: &Call) {
            self.put(b"`");
            self.put(call.instance());
            self.put(b"` in ");
            self.put(call.function.as_bytes());
            if let Some(time) = call.time {
                self.put(b" at t = ");
                self.put_number(time);
                self.put(b" s");
            }
        }

        /// With six digits behind the point, without what the formatting of numbers may allocate.
        fn put_number(&mut self, number: f64) {
            if number < 0.0 {
                self.put(b"-");
            }
            let scaled = (number.abs() * 1e6).round();
            if scaled >= 1e18 {
                return self.put(b"more than 1e12");
            }
            let mut rest = scaled as u64;
            let mut digits = [b'0'; 20];
            let mut first = digits.len();
            while rest > 0 || first > digits.len() - 7 {
                first -= 1;
                digits[first] = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            let (whole, part) = digits[first..].split_at(digits.len() - first - 6);
            self.put(whole);
            let length = part.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
            if length > 0 {
                self.put(b".");
                self.put(&part[..length]);
            }
        }

        /// A failure to write cannot be reported anywhere.
        fn write(&self) {
            // Who was interrupted must not notice that a call of the system failed meanwhile.
            let errno = Errno::keep();
            // SAFETY: so many bytes of our own.
            unsafe { libc::write(libc::STDERR_FILENO, self.bytes.as_ptr().cast(), self.length) };
            errno.put_back();
        }
    }

    /// What the last call of the system came to, on this thread.
    struct Errno(c_int);

    impl Errno {
        fn place() -> *mut c_int {
            // SAFETY: have no conditions.
            #[cfg(target_os = "linux")]
            return unsafe { libc::__errno_location() };
            #[cfg(not(target_os = "linux"))]
            return unsafe { libc::__error() };
        }

        fn keep() -> Errno {
            // SAFETY: a number of this thread.
            Errno(unsafe { *Errno::place() })
        }

        fn put_back(self) {
            // SAFETY: a number of this thread.
            unsafe { *Errno::place() = self.0 };
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn numbers_are_written_without_memory() {
            for (number, wanted) in [
                (0.0, "0"),
                (1.5, "1.5"),
                (-0.25, "-0.25"),
                (0.000001, "0.000001"),
                (0.0000001, "0"),
                (123456.789, "123456.789"),
                (0.3 - 0.1, "0.2"),
                (1e13, "more than 1e12"),
                (7.0, "7"),
            ] {
                let mut line = StackLine::default();
                line.put_number(number);
                assert_eq!(std::str::from_utf8(&line.bytes[..line.length]), Ok(wanted), "{number}");
            }
        }

        #[test]
        fn a_line_is_cut_and_steers_no_terminal() {
            let mut line = StackLine::default();
            line.put(b"\x1b[31m");
            line.put(&[b'x'; 1000]);
            assert_eq!((line.length, &line.bytes[..4]), (400, b"?[31".as_slice()));
        }
    }
}
