//! A run's result files. Rows go into a journal per file, which no end of the process can take away; a thread moves them
//! from there into the files, where they are at most some two seconds late, also while a simulator computes for hours.
//! After each chunk the files on disk are complete.

use std::io::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cosimo_core::recorder::{Columns, RecordError, Recorder, TableWriter};
use cosimo_core::registry::{FormatEntry, UnknownFormat, format_of};

use crate::journal::{Journal, Lock, SharedRing};

/// Numbers that a journal has room for: 256 KiB to begin with, half of which makes a chunk.
const FIRST: usize = 1 << 15;

/// The same for formats that want large chunks: they grow up to 8 MiB while there is little to write, and later to a
/// share of what is written, because each chunk costs an entry per column in a list that is written again with every
/// chunk.
const LARGE: usize = 1 << 20;
const LARGEST: usize = 1 << 22;
const SHARE: u64 = 8;

/// Rows wait at most this long; in formats that want large chunks also this part of the run so far, when they are late
/// in the file but not in the journal.
const WAIT: Duration = Duration::from_secs(1);
const WAIT_SHARE: u32 = 20;

/// How often the thread looks.
const TICK: Duration = Duration::from_millis(50);

pub struct Files {
    /// As they were given, where they are whatever becomes of the working folder, and their formats.
    files: Vec<(PathBuf, PathBuf, &'static FormatEntry)>,
    counts: Vec<RowCount>,
    outputs: Vec<Output>,
    scribe: Option<WriterThread>,
}

/// Rows that are safely in a file, as far as the run has come.
#[derive(Debug, Clone, Default)]
pub struct RowCount(Arc<AtomicU64>);

impl RowCount {
    pub fn rows(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Files({:?})", self.files)
    }
}

impl Files {
    /// Chooses formats by the endings of the names; the files are created when the columns are known.
    pub fn new(files: &[PathBuf], formats: &[&'static FormatEntry]) -> Result<Files, Vec<UnknownFormat>> {
        let (mut chosen, mut problems) = (Vec::new(), Vec::new());
        for file in files {
            match format_of(formats, file) {
                Ok(format) => {
                    let whole = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                    chosen.push((file.clone(), whole, format));
                }
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let counts = chosen.iter().map(|_| RowCount::default()).collect();
        Ok(Files { files: chosen, counts, outputs: Vec::new(), scribe: None })
    }

    /// How many rows are in each file, in the order of the files.
    pub fn counts(&self) -> Vec<RowCount> {
        self.counts.clone()
    }

    fn open(&mut self, columns: &Columns, mut bookmarks: &[u8]) -> Result<(), RecordError> {
        self.close();
        // All locks first: a file that another run writes must not be touched.
        let locks =
            self.files.iter().map(|(shown, file, _)| Lock::take(file).map_err(|error| named(error, shown)));
        let locks = locks.collect::<Result<Vec<_>, _>>()?;
        for (((shown, file, format), count), lock) in self.files.iter().zip(&self.counts).zip(locks) {
            let opened = match next(&mut bookmarks) {
                Some((rows, place)) => (format.resume)(file, columns, place).map(|writer| (writer, rows)),
                // Files that have no bookmark, behind those that have one, are created.
                None => (format.create)(file, columns).map(|writer| (writer, 0)),
            };
            let output = opened
                .and_then(|(writer, rows)| Output::new(lock, shown, writer, columns, rows, count.clone()));
            self.outputs.push(output.map_err(|error| named(error, shown))?);
        }
        self.scribe =
            WriterThread::start(self.outputs.iter().map(|output| Arc::clone(&output.drain)).collect());
        Ok(())
    }

    /// Ends the thread. What waits then is written by hand.
    fn close(&mut self) {
        self.scribe = None;
        for output in self.outputs.drain(..) {
            output.drain.close();
        }
    }

    #[cold]
    fn wake(&mut self) {
        for output in &mut self.outputs {
            output.make_room();
        }
        if let Some(thread) = self.scribe.as_ref().and_then(|scribe| scribe.thread.as_ref()) {
            thread.thread().unpark();
        }
    }

    #[cold]
    fn failure(&self) -> RecordError {
        let failures = self.outputs.iter().filter_map(|output| output.drain.lock().failure());
        failures.into_iter().next().unwrap_or_else(|| RecordError {
            file: PathBuf::new(),
            cause: Error::other("a result file failed"),
        })
    }

    /// Writes to every file, whatever happens to the others.
    fn flush(&self, sync: bool) -> Result<(), RecordError> {
        for output in &self.outputs {
            output.drain.flush(sync);
        }
        if self.outputs.iter().any(|output| output.drain.failed.load(Ordering::Acquire)) {
            return Err(self.failure());
        }
        Ok(())
    }
}

impl Recorder for Files {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError> {
        self.open(columns, &[])
    }

    fn row(&mut self, values: &[f64]) -> Result<(), RecordError> {
        let (mut wake, mut failed) = (false, false);
        for output in &mut self.outputs {
            wake |= output.put(values);
            failed |= output.drain.failed.load(Ordering::Relaxed);
        }
        if wake {
            self.wake();
        }
        if failed { Err(self.failure()) } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        self.flush(false)
    }

    /// One bookmark per file, each behind its length and the rows so far.
    fn bookmark(&mut self) -> Result<Vec<u8>, RecordError> {
        self.flush(true)?;
        let mut bookmarks = Vec::new();
        for output in &self.outputs {
            let state = output.drain.lock();
            bookmarks.extend((state.place.len() as u64).to_le_bytes());
            bookmarks.extend(state.tail.to_le_bytes());
            bookmarks.extend(&state.place);
        }
        Ok(bookmarks)
    }

    fn resume(&mut self, columns: &Columns, bookmarks: &[u8]) -> Result<(), RecordError> {
        self.open(columns, bookmarks)
    }
}

/// An error under the name that people know.
fn named(error: RecordError, file: &Path) -> RecordError {
    RecordError { file: file.into(), ..error }
}

fn next<'a>(bookmarks: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let (length, rest) = bookmarks.split_first_chunk()?;
    let (rows, rest) = rest.split_first_chunk()?;
    let (bookmark, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *bookmarks = rest;
    Some((u64::from_le_bytes(*rows), bookmark))
}

impl Drop for Files {
    /// Who forgets to finish finds all rows too, but is not told of failures.
    fn drop(&mut self) {
        self.close();
    }
}

/// One file, as the thread that simulates sees it.
struct Output {
    ring: Arc<SharedRing>,
    drain: Arc<Drain>,
    head: u64,
    /// Rows that were in the file when it was last looked at.
    tail: u64,
    /// The row at which the other thread is to be woken.
    wake_at: u64,
}

impl Output {
    fn new(
        lock: Lock,
        file: &Path,
        mut writer: Box<dyn TableWriter>,
        columns: &Columns,
        rows: u64,
        count: RowCount,
    ) -> Result<Output, RecordError> {
        let place = writer.place()?;
        let large = writer.wants_large_chunks();
        let journal = Journal::new(lock, columns, FIRST, rows, &place)?;
        let ring = Arc::clone(journal.ring());
        count.0.store(rows, Ordering::Release);
        let now = Instant::now();
        let state = FileState {
            path: file.into(),
            writer,
            journal,
            place,
            tail: rows,
            failure: None,
            columns: Vec::new(),
            large,
            begun: now,
            written: now,
        };
        let drain = Arc::new(Drain { state: Mutex::new(state), count, failed: AtomicBool::new(false) });
        let wake_at = rows + ring.room() / 2;
        Ok(Output { ring, drain, head: rows, tail: rows, wake_at })
    }

    /// Whether the other thread should have a look.
    #[inline]
    fn put(&mut self, row: &[f64]) -> bool {
        if self.head - self.tail == self.ring.room() && !self.has_room() {
            return false; // the file has failed, which ends the run
        }
        self.ring.put(self.head, row);
        self.head += 1;
        self.head >= self.wake_at
    }

    /// The other thread is late: its work is done here.
    #[cold]
    fn has_room(&mut self) -> bool {
        self.tail = self.drain.count.rows();
        if self.head - self.tail == self.ring.room() {
            self.drain.flush(false);
            self.tail = self.drain.count.rows();
        }
        self.head - self.tail < self.ring.room()
    }

    /// Half of the room is taken. Where large chunks are wanted it is made larger.
    fn make_room(&mut self) {
        if self.head < self.wake_at {
            return;
        }
        let mut state = self.drain.lock();
        let wanted = match state.large {
            true => ((state.tail as usize).saturating_mul(state.columns_count()) / SHARE as usize)
                .clamp(LARGE, LARGEST),
            false => FIRST,
        };
        if self.ring.doubles() < wanted
            && let Ok(journal) =
                state.journal.grown((2 * self.ring.doubles()).min(wanted * 2), state.tail, &state.place)
        {
            self.ring = Arc::clone(journal.ring());
            state.journal = journal;
        }
        self.tail = state.tail;
        // As soon as half of the room is taken again, or at once if it still is.
        self.wake_at = (self.tail + self.ring.room() / 2).max(self.head + self.ring.room() / 8);
    }
}

/// One file, as both threads see it: what waits is written by the one that comes first.
struct Drain {
    state: Mutex<FileState>,
    count: RowCount,
    failed: AtomicBool,
}

struct FileState {
    /// As it was given.
    path: PathBuf,
    writer: Box<dyn TableWriter>,
    journal: Journal,
    /// Where the file is whole, and its rows there.
    place: Vec<u8>,
    tail: u64,
    /// After it nothing is written any more: what waits is in the journal.
    failure: Option<RecordError>,
    /// Rows on their way.
    columns: Vec<Vec<f64>>,
    large: bool,
    begun: Instant,
    written: Instant,
}

impl FileState {
    fn columns_count(&self) -> usize {
        self.columns.len().max(1)
    }

    /// The failure, again.
    fn failure(&self) -> Option<RecordError> {
        let RecordError { cause, .. } = self.failure.as_ref()?;
        let cause = match cause.raw_os_error() {
            Some(code) => Error::from_raw_os_error(code),
            None => Error::new(cause.kind(), cause.to_string()),
        };
        Some(RecordError { file: self.path.clone(), cause })
    }

    fn waiting(&self) -> u64 {
        self.journal.ring().head() - self.tail
    }

    fn is_due(&self) -> bool {
        let (room, waiting) = (self.journal.ring().room(), self.waiting());
        let wait = if self.large { WAIT.max(self.begun.elapsed() / WAIT_SHARE) } else { WAIT };
        waiting > 0 && (2 * waiting >= room || self.written.elapsed() >= wait)
    }

    fn write(&mut self, sync: bool) -> Result<(), RecordError> {
        let head = self.journal.ring().head();
        if head > self.tail {
            self.journal.ring().copy(self.tail..head, &mut self.columns);
            let columns: Vec<&[f64]> = self.columns.iter().map(Vec::as_slice).collect();
            self.writer.append(&columns)?;
        }
        if sync {
            self.writer.sync()?;
        }
        // Also where nothing waits: the file may have been removed.
        self.place = self.writer.place()?;
        self.tail = head;
        let committed = self.journal.commit(head, &self.place);
        committed.map_err(|cause| RecordError { file: self.path.clone(), cause })?;
        self.written = Instant::now();
        Ok(())
    }
}

impl Drain {
    fn lock(&self) -> MutexGuard<'_, FileState> {
        // A panic of an encoder is no reason to keep the other rows back.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush(&self, sync: bool) {
        let mut state = self.lock();
        if state.failure.is_some() {
            return;
        }
        match state.write(sync) {
            Ok(()) => self.count.0.store(state.tail, Ordering::Release),
            Err(error) => {
                state.failure = Some(error);
                self.failed.store(true, Ordering::Release);
            }
        }
    }

    /// After the last row. A journal whose rows did not reach the file stays.
    fn close(&self) {
        self.flush(false);
        let state = self.lock();
        if state.failure.is_none() {
            state.journal.remove();
        }
    }
}

/// The thread that writes.
struct WriterThread {
    /// Until it is joined.
    thread: Option<JoinHandle<()>>,
    ended: Arc<AtomicBool>,
}

/// A request for all rows in the files, now; and threads that have not answered.
static ASKED: AtomicBool = AtomicBool::new(false);
static AWAITED: AtomicU32 = AtomicU32::new(0);

/// Asks for all rows of this process to be written, where it is about to end. May be called from a signal handler.
pub fn ask_for_all_rows() {
    ASKED.store(true, Ordering::SeqCst);
}

/// Whether that was done. May be called from a signal handler.
pub fn has_all_rows() -> bool {
    AWAITED.load(Ordering::SeqCst) == 0
}

impl WriterThread {
    /// None where the system has no more threads: rows are written when the journal is full, then.
    fn start(drains: Vec<Arc<Drain>>) -> Option<WriterThread> {
        let ended = Arc::new(AtomicBool::new(false));
        let is_ended = Arc::clone(&ended);
        AWAITED.fetch_add(1, Ordering::SeqCst);
        let work = move || {
            let mut answered = false;
            while !is_ended.load(Ordering::Acquire) {
                std::thread::park_timeout(TICK);
                let asked = ASKED.load(Ordering::SeqCst) && !answered;
                for drain in &drains {
                    let due = asked || drain.lock().is_due();
                    if due {
                        drain.flush(false);
                    }
                }
                if asked {
                    answered = true;
                    AWAITED.fetch_sub(1, Ordering::SeqCst);
                }
            }
            if !answered {
                AWAITED.fetch_sub(1, Ordering::SeqCst);
            }
        };
        let thread = std::thread::Builder::new().name("results".into()).spawn(work);
        match thread {
            Ok(thread) => Some(WriterThread { thread: Some(thread), ended }),
            Err(_) => {
                AWAITED.fetch_sub(1, Ordering::SeqCst);
                None
            }
        }
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // If it panicked, what it left is written by hand.
            let _ = thread.join();
        }
    }
}
