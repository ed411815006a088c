//! Rows on their way into a result file. They wait in a second file beside it, which the process has in its memory: what
//! is stored there belongs to the operating system at once, so that a crash, a kill or an FMU that ends the process
//! loses no row. The next reader of the result file puts them where they belong, see `recover`.
//!
//! A journal begins with sixteen words of eight bytes (see [`word`]), then come the rows, column by column in a ring,
//! then the names and units of the columns. Behind those stand two places that say how far the result file is whole.
//! They take turns: one holds while the other one is written, and a single word says which.
//!
//! The journal is locked as long as its run lives, so it also keeps a second run from writing the same file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cosimo_core::recorder::{Columns, RecordError};
use cosimo_core::ring;
use memmap2::{MmapOptions, MmapRaw};

use crate::bookmark::piece;
use crate::limits::RowBudget;

const MAGIC: u64 = u64::from_le_bytes(*b"cosimoJ1");

/// What the first words of a journal are.
mod word {
    pub(super) const MAGIC: usize = 0;
    pub(super) const COLUMNS: usize = 1;
    /// From one column to the next, in rows.
    pub(super) const STRIDE: usize = 2;
    /// Rows so far, counted from the beginning of the result file.
    pub(super) const HEAD: usize = 3;
    /// How often a place was given; its last bit says which of the two holds.
    pub(super) const TURN: usize = 4;
    /// Bytes of names and units.
    pub(super) const TEXT: usize = 5;
    /// Of each place: rows of the result file, where it stands in the journal, and its length.
    pub(super) const PLACES: [usize; 2] = [8, 11];
    pub(super) const COUNT: usize = 16;
}

/// Rows that wait: written by one thread, read by another one.
pub(crate) struct SharedRing {
    memory: JournalMemory,
    columns: usize,
    stride: usize,
}

enum JournalMemory {
    /// Of the journal.
    Shared(MmapRaw),
    /// Where a file cannot be shared with the memory: what waits is lost with the process.
    Own(Box<[AtomicU64]>),
}

impl SharedRing {
    fn words(&self) -> &[AtomicU64] {
        match &self.memory {
            // SAFETY: pages are aligned and stay where they are as long as `self`. Other processes may change what is in
            // them, as other threads may: hence atomics, for which every value is valid.
            JournalMemory::Shared(pages) => unsafe {
                std::slice::from_raw_parts(pages.as_ptr().cast::<AtomicU64>(), pages.len() / size_of::<u64>())
            },
            JournalMemory::Own(words) => words,
        }
    }

    /// How many rows can wait.
    pub(crate) fn room(&self) -> u64 {
        self.stride as u64
    }

    pub(crate) fn doubles(&self) -> usize {
        self.stride * self.columns
    }

    /// Rows that were ever put in.
    pub(crate) fn head(&self) -> u64 {
        self.words()[word::HEAD].load(Ordering::Acquire)
    }

    fn rows(&self) -> ring::Ring<'_> {
        ring::Ring { words: &self.words()[word::COUNT..], columns: self.columns, stride: self.stride }
    }

    /// Puts in row number `head`; there must be room for it.
    #[inline]
    pub(crate) fn put(&self, head: u64, row: &[f64]) {
        self.rows().put(head, row);
        self.words()[word::HEAD].store(head + 1, Ordering::Release);
    }

    /// Rows of a range that wait, column by column.
    pub(crate) fn copy(&self, rows: std::ops::Range<u64>, into: &mut Vec<Vec<f64>>) {
        into.resize_with(self.columns, Vec::new);
        for (column, values) in into.iter_mut().enumerate() {
            self.rows().copy_column(column, rows.clone(), values);
        }
    }
}

impl std::fmt::Debug for SharedRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ring({} columns, {} rows)", self.columns, self.stride)
    }
}

/// The file with the ring.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    /// None where rows wait in the memory of the process.
    file: Option<File>,
    ring: Arc<SharedRing>,
    columns: Columns,
    /// Where places begin.
    places: u64,
}

/// Where the journal of a result file is. A link has that of the file that it leads to.
pub(crate) fn path_of(result: &Path) -> PathBuf {
    let mut path = result.canonicalize().unwrap_or_else(|_| result.to_owned()).into_os_string();
    path.push(".journal");
    path.into()
}

/// Only one run may write a file. The lock is that of the journal, and holds until the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: Option<File>,
}

impl Lock {
    pub(crate) fn take(result: &Path) -> Result<Lock, RecordError> {
        let path = path_of(result);
        // A device has no rows that could be lost.
        if result.metadata().is_ok_and(|found| !found.is_file()) {
            return Ok(Lock { path, file: None });
        }
        let failed = |cause| RecordError { file: result.into(), cause };
        loop {
            let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
            let file = open.map_err(failed)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(failed(io::Error::other(OTHER_RUN))),
                // Some file systems have no locks.
                Err(TryLockError::Error(_)) | Ok(()) => {}
            }
            // The one who held it may have removed it in the meantime.
            if is_at(&file, &path).map_err(failed)? {
                return Ok(Lock { path, file: Some(file) });
            }
        }
    }
}

pub(crate) const OTHER_RUN: &str = "another run writes it at the moment";

/// Whether an open file is the one that a path leads to.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let there = match path.metadata() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
        there => there?,
    };
    let here = file.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Ok((here.dev(), here.ino()) == (there.dev(), there.ino()))
    }
    #[cfg(not(unix))]
    Ok(here.created().ok() == there.created().ok())
}

impl Journal {
    /// `rows` are in the result file already, which is whole at `place`.
    pub(crate) fn new(
        lock: Lock,
        columns: &Columns,
        doubles: usize,
        rows: u64,
        place: &[u8],
    ) -> Result<Journal, RecordError> {
        let Lock { path, file } = lock;
        let made = match file {
            Some(file) => Journal::in_file(&path, file, columns, doubles, rows..rows, None, place),
            None => Ok(Journal::in_memory(&path, columns, doubles, rows)),
        };
        made.map_err(|cause| RecordError { file: path, cause })
    }

    fn in_memory(path: &Path, columns: &Columns, doubles: usize, rows: u64) -> Journal {
        let (count, stride) = (columns.names.len(), stride(columns.names.len(), doubles));
        let words: Box<[AtomicU64]> = (0..word::COUNT + stride * count).map(|_| AtomicU64::new(0)).collect();
        words[word::HEAD].store(rows, Ordering::Release);
        let ring = Arc::new(SharedRing { memory: JournalMemory::Own(words), columns: count, stride });
        Journal { path: path.into(), file: None, ring, columns: columns.clone(), places: 0 }
    }

    /// With rows that wait in another ring.
    fn in_file(
        path: &Path,
        mut file: File,
        columns: &Columns,
        doubles: usize,
        rows: std::ops::Range<u64>,
        waiting: Option<&SharedRing>,
        place: &[u8],
    ) -> io::Result<Journal> {
        let (count, stride) = (columns.names.len(), stride(columns.names.len(), doubles));
        let text = encoded(columns);
        file.set_len(0)?;
        file.rewind()?;
        // Not by making the file longer: its pages must exist, or a full disk would show as a crash later on.
        let zeros = vec![0; 1 << 16];
        let mut rest = (word::COUNT + stride * count) * size_of::<u64>();
        let map_length = rest;
        while rest > 0 {
            let piece = rest.min(zeros.len());
            file.write_all(&zeros[..piece])?;
            rest -= piece;
        }
        file.write_all(&text)?;
        let Ok(pages) = MmapOptions::new().len(map_length).map_raw(&file) else {
            // Such a file system leaves nothing to be recovered. The lock holds all the same.
            return Ok(Journal {
                file: Some(file),
                ..Journal::in_memory(path, columns, doubles, rows.start)
            });
        };
        let ring = SharedRing { memory: JournalMemory::Shared(pages), columns: count, stride };
        let words = ring.words();
        words[word::COLUMNS].store(count as u64, Ordering::Relaxed);
        words[word::STRIDE].store(stride as u64, Ordering::Relaxed);
        words[word::TEXT].store(text.len() as u64, Ordering::Relaxed);
        words[word::HEAD].store(rows.start, Ordering::Relaxed);
        if let Some(waiting) = waiting {
            let mut values = Vec::new();
            for column in 0..count {
                waiting.rows().copy_column(column, rows.clone(), &mut values);
                ring.rows().put_column(column, rows.start, &values);
            }
            words[word::HEAD].store(rows.end, Ordering::Relaxed);
        }
        let places = (map_length + text.len()) as u64;
        let ring = Arc::new(ring);
        let mut journal =
            Journal { path: path.into(), file: Some(file), ring, columns: columns.clone(), places };
        journal.commit(rows.start, place)?;
        // From here on it is one.
        journal.ring.words()[word::MAGIC].store(MAGIC, Ordering::Release);
        Ok(journal)
    }

    pub(crate) fn ring(&self) -> &Arc<SharedRing> {
        &self.ring
    }

    /// The result file is whole, with so many rows.
    pub(crate) fn commit(&mut self, rows: u64, place: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if matches!(self.ring.memory, JournalMemory::Own(_)) {
            return Ok(());
        }
        let words = self.ring.words();
        let turn = words[word::TURN].load(Ordering::Relaxed);
        let [holds, next] = [turn, turn + 1].map(|turn| word::PLACES[(turn % 2) as usize]);
        let [start, length] = [1, 2].map(|more| words[holds + more].load(Ordering::Relaxed));
        // Before the one that holds, if there is room, else behind it.
        let needed = place.len() as u64;
        let at = if start >= self.places + needed || turn == 0 { self.places } else { start + length };
        file.seek(SeekFrom::Start(at))?;
        file.write_all(place)?;
        for (more, value) in [rows, at, needed].into_iter().enumerate() {
            words[next + more].store(value, Ordering::Relaxed);
        }
        words[word::TURN].store(turn + 1, Ordering::Release);
        Ok(())
    }

    /// The same with more room for rows. Nothing may be put in or committed meanwhile.
    pub(crate) fn grown(&self, doubles: usize, tail: u64, place: &[u8]) -> io::Result<Journal> {
        if self.file.is_none() || matches!(self.ring.memory, JournalMemory::Own(_)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut draft = self.path.clone().into_os_string();
        draft.push(".new");
        let draft = PathBuf::from(draft);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&draft)?;
        let _ = file.try_lock(); // no other process knows it, and some file systems have no locks
        let rows = tail..self.ring.head();
        let made = Journal::in_file(&self.path, file, &self.columns, doubles, rows, Some(&self.ring), place);
        let made = made.and_then(|journal| std::fs::rename(&draft, &self.path).map(|()| journal));
        if made.is_err() {
            let _ = std::fs::remove_file(&draft); // half of it is of no use
        }
        made
    }

    /// Nothing waits any more.
    pub(crate) fn remove(&self) {
        if let Some(file) = &self.file
            && is_at(file, &self.path).unwrap_or(false)
        {
            // If it stays, the next reader finds nothing to do in it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// From one column to the next, for a ring of about so many numbers.
fn stride(columns: usize, doubles: usize) -> usize {
    // An odd number of cache lines, or neighbouring columns would fight for the same places of the cache.
    let lines = doubles / columns.max(1) / 8;
    (lines | 1) * 8
}

fn encoded(columns: &Columns) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in columns.names.iter().chain(&columns.units) {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

fn decoded(mut bytes: &[u8], count: usize) -> Option<Columns> {
    let mut text = || {
        let (text, rest) = piece(bytes)?;
        bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    };
    let names = (0..count).map(|_| text()).collect::<Option<Vec<_>>>()?;
    let units = (0..count).map(|_| text()).collect::<Option<Vec<_>>>()?;
    Some(Columns { names, units })
}

/// What a process left in its journal.
#[derive(Debug, PartialEq)]
pub(crate) struct JournalRows {
    pub(crate) columns: Columns,
    /// Where the result file is whole, and its rows there.
    pub(crate) place: Vec<u8>,
    pub(crate) rows: u64,
    /// Rows that belong behind them, column by column.
    pub(crate) waiting: Vec<Vec<f64>>,
}

impl JournalRows {
    /// `None` where it is no journal, or one whose process did not come to the first row.
    pub(crate) fn read(bytes: &[u8]) -> Option<JournalRows> {
        let word = |at: usize| bytes.get(at * 8..)?.first_chunk().map(|word| u64::from_le_bytes(*word));
        let count = |at: usize| usize::try_from(word(at)?).ok();
        if word(word::MAGIC)? != MAGIC {
            return None;
        }
        let (columns, stride, head) = (count(word::COLUMNS)?, count(word::STRIDE)?, word(word::HEAD)?);
        let place = word::PLACES[(word(word::TURN)? % 2) as usize];
        let [rows, at, length] = [word(place)?, word(place + 1)?, word(place + 2)?];
        let waiting = head.checked_sub(rows).filter(|waiting| *waiting <= stride as u64)?;
        RowBudget::for_columns(columns).ok()?.take(waiting).ok()?;
        let ring = word::COUNT.checked_add(columns.checked_mul(stride)?)?.checked_mul(8)?;
        let text = bytes.get(ring..ring.checked_add(count(word::TEXT)?)?)?;
        let at = usize::try_from(at).ok()?;
        let place = bytes.get(at..at.checked_add(usize::try_from(length).ok()?)?)?;
        let cell = |column: usize, row: u64| {
            let at = word::COUNT + column * stride + (row % stride as u64) as usize;
            word(at).map_or(f64::NAN, f64::from_bits)
        };
        let column = |column: usize| (rows..head).map(|row| cell(column, row)).collect();
        Some(JournalRows {
            columns: decoded(text, columns)?,
            place: place.to_vec(),
            rows,
            waiting: (0..columns).map(column).collect(),
        })
    }

    pub(crate) fn waiting_rows(&self) -> usize {
        self.waiting.first().map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        Columns { names: vec!["time".into(), "x".into()], units: vec!["s".into(), String::new()] }
    }

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("cosimo-journal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    fn left(path: &Path) -> Option<JournalRows> {
        JournalRows::read(&std::fs::read(path_of(path)).unwrap())
    }

    /// Rows are in the file as soon as they are put, over many turns of the ring, and so are places of any length.
    #[test]
    fn what_is_put_is_in_the_file() {
        let path = scratch("ring.csv");
        let lock = Lock::take(&path).unwrap();
        assert_eq!(left(&path), None);
        let mut journal = Journal::new(lock, &columns(), 64, 5, b"five").unwrap();
        let room = journal.ring().room();
        let (mut head, mut tail) = (5, 5);
        for turn in 0..100u64 {
            for _ in 0..(turn * 7) % (room - (head - tail) + 1) {
                journal.ring().put(head, &[head as f64, -(head as f64)]);
                head += 1;
            }
            let found = left(&path).unwrap();
            let wanted: Vec<f64> = (tail..head).map(|row| row as f64).collect();
            assert_eq!((found.rows, &found.waiting[0]), (tail, &wanted));
            assert_eq!(found.waiting[1], wanted.iter().map(|x| -x).collect::<Vec<_>>());
            assert_eq!(found.columns, columns());
            tail = head - turn % 3 % (head - tail + 1);
            let place = vec![turn as u8; (turn as usize * 37) % 500];
            journal.commit(tail, &place).unwrap();
            assert_eq!(left(&path).unwrap().place, place);
            if turn % 30 == 29 {
                journal = journal.grown(journal.ring().doubles() * 2, tail, &place).unwrap();
                assert_eq!(left(&path).unwrap().place, place);
            }
        }
        journal.remove();
        assert!(!path_of(&path).exists());
    }

    #[test]
    fn a_file_has_one_writer() {
        let path = scratch("locked.csv");
        let first = Lock::take(&path).unwrap();
        assert_eq!(Lock::take(&path).unwrap_err().cause.to_string(), OTHER_RUN);
        drop(first);
        Lock::take(&path).unwrap();
    }

    /// Whatever stands in a journal, reading it is no panic.
    #[test]
    fn damage_is_no_panic() {
        let path = scratch("damaged.csv");
        let journal = Journal::new(Lock::take(&path).unwrap(), &columns(), 64, 0, b"here").unwrap();
        (0..10u64).for_each(|row| journal.ring().put(row, &[row as f64, 0.0]));
        let whole = std::fs::read(path_of(&path)).unwrap();
        assert_eq!(JournalRows::read(&whole).unwrap().waiting_rows(), 10);
        for length in 0..whole.len() {
            JournalRows::read(&whole[..length]);
        }
        for at in 0..128 {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                JournalRows::read(&changed);
            }
        }
    }
}
