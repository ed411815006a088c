//! A run's result files. Rows are collected column by column and written in chunks; after each chunk the files on
//! disk are complete, so that a crash costs at most the rows since the last one.

use std::io::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cosimo_core::entry::{FormatEntry, UnknownFormat, format_of};
use cosimo_core::recorder::{Columns, RecordError, Recorder, TableWriter};

/// What is collected before it is written, in doubles: 8 MiB to begin with. Later chunks are a share of what is
/// written already, because each chunk costs an entry per column in a footer that is written again with every chunk.
const FIRST: usize = 1 << 20;
const LARGEST: usize = 1 << 22;
const SHARE: usize = 8;

/// Rows wait at most this long, or this part of the run so far: a slow simulation must not lose much, and a long
/// one must not fall into thousands of chunks.
const WAIT: Duration = Duration::from_secs(2);
const WAIT_SHARE: u32 = 20;

/// Reading the clock costs as much as a small row, so it is read at every so many rows only, as long as they come
/// faster than this.
const LOOK: u32 = 16;
const FAST: Duration = Duration::from_millis(1);

pub struct Files {
    files: Vec<(PathBuf, &'static FormatEntry)>,
    /// None where writing failed: that file is left as it is.
    writers: Vec<Option<Box<dyn TableWriter>>>,
    /// The first one of those failures. Every later call fails with it: whoever meets it first may have to go on for a
    /// while, and rows must never be lost without a word.
    failure: Option<RecordError>,
    chunk: Chunk,
    timer: Timer,
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
                Ok(format) => chosen.push((file.clone(), format)),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Files {
            files: chosen,
            writers: Vec::new(),
            failure: None,
            chunk: Chunk::default(),
            timer: Timer::start(),
        })
    }

    /// To every file, whatever happens to the others.
    fn write(&mut self) -> Result<(), RecordError> {
        let columns = self.chunk.columns();
        for place in &mut self.writers {
            if let Some(writer) = place
                && let Err(error) = writer.append(&columns)
            {
                *place = None;
                self.failure.get_or_insert(error);
            }
        }
        self.chunk.written();
        self.timer.written();
        self.checked()
    }

    /// The first failure, again.
    fn checked(&self) -> Result<(), RecordError> {
        let Some(RecordError { file, cause }) = &self.failure else { return Ok(()) };
        let cause = match cause.raw_os_error() {
            Some(code) => Error::from_raw_os_error(code),
            None => Error::new(cause.kind(), cause.to_string()),
        };
        Err(RecordError { file: file.clone(), cause })
    }
}

impl Recorder for Files {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError> {
        self.chunk = Chunk::new(columns.names.len());
        self.timer = Timer::start();
        self.writers.clear();
        for (file, format) in &self.files {
            self.writers.push(Some((format.create)(file, columns)?));
        }
        Ok(())
    }

    fn row(&mut self, values: &[f64]) -> Result<(), RecordError> {
        self.chunk.push(values);
        if self.chunk.full() || self.timer.due() { self.write() } else { self.checked() }
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if self.chunk.rows == 0 { self.checked() } else { self.write() }
    }

    /// One bookmark per file, each behind its length.
    fn bookmark(&mut self) -> Result<Vec<u8>, RecordError> {
        self.finish()?;
        let mut bookmarks = Vec::new();
        for writer in self.writers.iter_mut().flatten() {
            match writer.bookmark() {
                Ok(bookmark) => {
                    bookmarks.extend((bookmark.len() as u64).to_le_bytes());
                    bookmarks.extend(bookmark);
                }
                // What did not reach the disk is lost as well.
                Err(error) => {
                    self.failure.get_or_insert(error);
                }
            }
        }
        self.checked().map(|()| bookmarks)
    }

    /// Files that have no bookmark, behind those that have one, are created.
    fn resume(&mut self, columns: &Columns, mut bookmarks: &[u8]) -> Result<(), RecordError> {
        self.chunk = Chunk::new(columns.names.len());
        self.timer = Timer::start();
        self.writers.clear();
        for (file, format) in &self.files {
            let writer = match next(&mut bookmarks) {
                Some(bookmark) => (format.resume)(file, columns, bookmark)?,
                None => (format.create)(file, columns)?,
            };
            self.writers.push(Some(writer));
        }
        Ok(())
    }
}

fn next<'a>(bookmarks: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bookmarks.split_first_chunk()?;
    let (bookmark, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *bookmarks = rest;
    Some(bookmark)
}

impl Drop for Files {
    /// Whoever forgets to finish finds all rows too, but is not told of failures.
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

/// Rows that wait, column by column in one block of memory.
#[derive(Debug, Default)]
struct Chunk {
    columns: usize,
    /// From one column to the next.
    stride: usize,
    values: Vec<f64>,
    rows: usize,
    rows_written: usize,
}

impl Chunk {
    fn new(columns: usize) -> Chunk {
        let mut chunk = Chunk { columns, ..Chunk::default() };
        chunk.resize(FIRST);
        chunk
    }

    /// Only while no row waits.
    fn resize(&mut self, doubles: usize) {
        // An odd number of cache lines, or neighbouring columns would fight for the same places of the cache.
        let lines = doubles / self.columns.max(1) / 8;
        self.stride = (lines | 1) * 8;
        self.values = vec![0.0; self.stride * self.columns];
    }

    fn push(&mut self, row: &[f64]) {
        for (column, value) in row.iter().enumerate() {
            self.values[column * self.stride + self.rows] = *value;
        }
        self.rows += 1;
    }

    fn full(&self) -> bool {
        self.rows == self.stride
    }

    fn columns(&self) -> Vec<&[f64]> {
        (0..self.columns).map(|column| &self.values[column * self.stride..][..self.rows]).collect()
    }

    fn written(&mut self) {
        self.rows_written += self.rows;
        self.rows = 0;
        let wanted = (self.rows_written * self.columns / SHARE).min(LARGEST);
        if wanted > self.stride * self.columns {
            self.resize(wanted);
        }
    }
}

/// When waiting rows have waited long enough.
#[derive(Debug)]
struct Timer {
    begun: Instant,
    written: Instant,
    looked: Instant,
    /// Rows until the clock is read again.
    rest: u32,
}

impl Timer {
    fn start() -> Timer {
        let now = Instant::now();
        Timer { begun: now, written: now, looked: now, rest: 1 }
    }

    fn due(&mut self) -> bool {
        self.rest -= 1;
        if self.rest > 0 {
            return false;
        }
        let now = Instant::now();
        self.rest = if now - self.looked < FAST { LOOK } else { 1 };
        self.looked = now;
        now - self.written > WAIT.max((now - self.begun) / WAIT_SHARE)
    }

    fn written(&mut self) {
        self.written = Instant::now();
    }
}
