//! Rows that a process left in the journal of a result file, put where they belong.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cosimo_core::recorder::{Table, TableError};
use cosimo_core::registry::{FormatEntry, format_of};

use crate::journal::{self, JournalRows};

/// What was done about a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// There is none: the run that wrote the file came to its end.
    Whole,
    /// The file has so many rows, of which some were in the journal.
    Rows { rows: u64, recovered: u64 },
    /// A run writes the file at the moment.
    Growing,
}

/// Makes a result file whole after its process was ended from outside, or crashed.
pub fn recover(path: &Path, formats: &[&'static FormatEntry]) -> Result<Recovery, TableError> {
    recover_as(path, format_of(formats, path)?)
}

fn recover_as(path: &Path, format: &FormatEntry) -> Result<Recovery, TableError> {
    let unreadable = |cause| TableError::Unreadable { file: path.into(), cause };
    let journal = journal::path_of(path);
    let file = match OpenOptions::new().read(true).write(true).open(&journal) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            // A file that is not there has no rows.
            return path.metadata().map(|_| Recovery::Whole).map_err(unreadable);
        }
        file => file.map_err(unreadable)?,
    };
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(Recovery::Growing);
    }
    if !journal::is_at(&file, &journal).map_err(unreadable)? {
        return Ok(Recovery::Whole); // another process was faster
    }
    let done = match left(&file).map_err(unreadable)? {
        Some(left) => put_back(path, format, &left)?,
        None => Recovery::Whole,
    };
    std::fs::remove_file(&journal).map_err(unreadable)?;
    Ok(done)
}

fn left(mut file: &File) -> io::Result<Option<JournalRows>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(JournalRows::read(&bytes))
}

/// What follows the place where the file was whole is cut off, and written again.
fn put_back(path: &Path, format: &FormatEntry, left: &JournalRows) -> Result<Recovery, TableError> {
    let unreadable = |error: cosimo_core::recorder::RecordError| TableError::Unreadable {
        file: path.into(),
        cause: error.cause,
    };
    let mut writer = (format.resume)(path, &left.columns, &left.place).map_err(unreadable)?;
    let recovered = left.waiting_rows() as u64;
    if recovered > 0 {
        let columns: Vec<&[f64]> = left.waiting.iter().map(Vec::as_slice).collect();
        writer.append(&columns).map_err(unreadable)?;
    }
    writer.sync().map_err(unreadable)?;
    Ok(Recovery::Rows { rows: left.rows + recovered, recovered })
}

/// A table with the rows of its journal.
pub(crate) fn read(path: &Path, format: &FormatEntry) -> Result<Table, TableError> {
    if journal::path_of(path).exists() && recover_as(path, format).is_err() {
        // It may be that nothing can be written here; or it is not the file that the journal is about.
        if let Some(table) = read_copy(path, format) {
            return Ok(table);
        }
    }
    (format.read)(path)
}

/// The table as it would be if it could be recovered where it is.
fn read_copy(path: &Path, format: &FormatEntry) -> Option<Table> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let left = left(&File::open(journal::path_of(path)).ok()?).ok()??;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("cosimo-{}-{number}.{}", std::process::id(), format.endings[0]);
    let copy: PathBuf = std::env::temp_dir().join(name);
    let table = std::fs::copy(path, &copy)
        .ok()
        .and_then(|_| put_back(&copy, format, &left).ok())
        .and_then(|_| (format.read)(&copy).ok());
    let _ = std::fs::remove_file(&copy); // a folder for such files is cleaned one day
    table
}
