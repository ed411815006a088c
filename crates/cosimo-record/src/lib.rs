//! Result files: one format per file, with an entry for the registry, and what all of them share. A file can be
//! played back as a simulator.

mod arrow;
mod bookmark;
pub mod compare;
mod csv;
mod files;
#[allow(unsafe_code)] // memory that a file shares with the process
mod journal;
mod limits;
mod mat;
mod memory;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(any(test, not(feature = "parquet")))]
mod parquet_missing;
mod playback;
mod recover;
mod tail;
mod tee;
#[cfg(feature = "parquet")]
mod zstd_pages;

pub use arrow::ARROW;
pub use cosimo_core::recorder::{Table, TableError};
pub use csv::CSV;
pub use files::{Files, RowCount, ask_for_all_rows, has_all_rows};
pub use mat::MAT;
pub use memory::MemoryRecorder;
#[cfg(feature = "parquet")]
pub use parquet::PARQUET;
#[cfg(not(feature = "parquet"))]
pub use parquet_missing::PARQUET;
pub use playback::Tables;
pub use recover::{Recovery, recover};
pub use tee::Tee;

use std::panic::catch_unwind;
use std::path::Path;

use cosimo_core::recorder::RecordError;
use cosimo_core::registry::{FormatEntry, Registry, format_of};

pub const FORMATS: &[&FormatEntry] = &[&CSV, &ARROW, &PARQUET, &MAT];

pub fn register(registry: &mut Registry) {
    registry.formats.extend(FORMATS);
    registry.add_source(Tables::new(FORMATS));
}

/// A whole file in one of the formats, by the ending of its name. Rows that a process left in the journal are put where
/// they belong.
pub fn read(path: &Path, formats: &[&'static FormatEntry]) -> Result<Table, TableError> {
    let format = format_of(formats, path)?;
    regular(path).map_err(|cause| TableError::Unreadable { file: path.into(), cause })?;
    recover::read(path, format)
}

/// Refuses what never ends or never begins when it is read: a device, a pipe, a socket. A folder is left to who opens it.
fn regular(path: &Path) -> std::io::Result<()> {
    let found = std::fs::metadata(path)?;
    if found.is_file() || found.is_dir() {
        return Ok(());
    }
    Err(std::io::Error::new(
        std::io::ErrorKind::InvalidInput,
        "expected a regular file, got a device or a pipe",
    ))
}

/// Some readers of others panic where a file contradicts itself; here that is a broken file like any other.
fn guarded(
    path: &Path,
    format: &'static str,
    read: fn(&Path) -> Result<Table, TableError>,
) -> Result<Table, TableError> {
    catch_unwind(|| read(path))
        .unwrap_or_else(|_| Err(TableError::broken(path, format, "it contradicts itself".into())))
}

/// A whole table at once, in the given format.
pub fn write(path: &Path, format: &FormatEntry, table: &Table) -> Result<(), RecordError> {
    let columns: Vec<&[f64]> = table.values.iter().map(Vec::as_slice).collect();
    (format.create)(path, &table.columns)?.append(&columns)
}
