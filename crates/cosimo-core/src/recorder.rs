//! Where results go, one row per communication point, and what they are as a whole: a table.

use std::path::{Path, PathBuf};

use crate::registry::UnknownFormat;

/// Names and units of the columns, the time first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Columns {
    pub names: Vec<String>,
    /// Empty where unknown.
    pub units: Vec<String>,
}

/// Columns of numbers, all of one length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub columns: Columns,
    /// Column by column.
    pub values: Vec<Vec<f64>>,
}

impl Table {
    /// One column by name.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let at = self.columns.names.iter().position(|known| known == name)?;
        Some(&self.values[at])
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    /// One row, in the order of the columns.
    pub fn row(&self, row: usize) -> Vec<f64> {
        self.values.iter().map(|column| column[row]).collect()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {cause}", file.display())]
pub struct RecordError {
    pub file: PathBuf,
    pub cause: std::io::Error,
}

pub trait Recorder: Send {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError>;

    /// One row, in the order of the columns.
    fn row(&mut self, values: &[f64]) -> Result<(), RecordError>;

    /// Makes everything so far readable by others; called on success, failure and interruption alike.
    fn finish(&mut self) -> Result<(), RecordError>;

    /// Makes the rows so far safe from a crash, and says where they end, for [`Recorder::resume`]. Empty where
    /// nothing outlives the process.
    fn bookmark(&mut self) -> Result<Vec<u8>, RecordError> {
        Ok(Vec::new())
    }

    /// As `begin`, in another process: goes on behind the bookmark, and forgets the rows that came after it. An
    /// empty bookmark is a beginning.
    fn resume(&mut self, columns: &Columns, _bookmark: &[u8]) -> Result<(), RecordError> {
        self.begin(columns)
    }
}

/// A result file that grows.
pub trait TableWriter: Send {
    /// Appends rows, given column by column. When it returns the file on disk is complete and readable by others,
    /// with the new rows or, if it failed, without them.
    fn append(&mut self, columns: &[&[f64]]) -> Result<(), RecordError>;

    /// Where its rows end, in the way its format wants to hear again. Fails if the file is no longer the one that was
    /// written.
    fn place(&mut self) -> Result<Vec<u8>, RecordError>;

    /// Brings the file to the disk.
    fn sync(&mut self) -> Result<(), RecordError>;

    /// Whether each call of `append` leaves something behind for ever, as an entry in a list of chunks: then few large
    /// ones are better.
    fn wants_large_chunks(&self) -> bool {
        false
    }
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error(transparent)]
    Unknown(#[from] UnknownFormat),
    #[error("cannot read `{}`: {cause}", file.display())]
    Unreadable { file: PathBuf, cause: std::io::Error },
    #[error("cannot read `{}` as {format}: {message}", file.display())]
    Broken { file: PathBuf, format: &'static str, message: String },
}

impl TableError {
    pub fn broken(file: &Path, format: &'static str, message: String) -> TableError {
        TableError::Broken { file: file.into(), format, message }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            TableError::Unknown(unknown) => unknown.hint(),
            TableError::Unreadable { .. } => "check the path and the rights".into(),
            TableError::Broken { format, .. } => {
                format!("it may be cut off or of another kind; a {format} table of numbers is expected")
            }
        }
    }
}
