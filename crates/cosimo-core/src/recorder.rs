//! Output of results: recorders with one row per communication point, and whole tables.

use std::path::{Path, PathBuf};

use crate::registry::UnknownFormat;

/// Names and units of the columns, the time first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Columns {
    /// `time`, then `component.port`.
    pub names: Vec<String>,
    /// Empty where unknown.
    pub units: Vec<String>,
}

/// Columns of numbers, all of one length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Names and units.
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

/// A result file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {cause}", file.display())]
pub struct RecordError {
    /// The result file.
    pub file: PathBuf,
    /// What the operating system reports.
    pub cause: std::io::Error,
}

/// Receives the results of a run while it goes on.
///
/// ```
/// use cosimo_core::recorder::{Columns, RecordError, Recorder};
///
/// /// Keeps the last row.
/// struct Last(Vec<f64>);
///
/// impl Recorder for Last {
///     fn begin(&mut self, _: &Columns) -> Result<(), RecordError> {
///         Ok(())
///     }
///     fn row(&mut self, values: &[f64]) -> Result<(), RecordError> {
///         self.0 = values.to_vec();
///         Ok(())
///     }
///     fn finish(&mut self) -> Result<(), RecordError> {
///         Ok(())
///     }
/// }
/// # Last(Vec::new()).row(&[0.0, 1.0]).unwrap();
/// ```
pub trait Recorder: Send {
    /// Opens the result and writes its header.
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError>;

    /// One row, in the order of the columns.
    fn row(&mut self, values: &[f64]) -> Result<(), RecordError>;

    /// Makes all rows readable by other programs; called on success, failure and interruption alike.
    fn finish(&mut self) -> Result<(), RecordError>;

    /// Makes the rows so far safe from a crash, and returns where they end, for [`Recorder::resume`]. Empty where
    /// nothing outlives the process.
    fn bookmark(&mut self) -> Result<Vec<u8>, RecordError> {
        Ok(Vec::new())
    }

    /// As `begin`, in another process: continues at the bookmark and drops the rows after it. An empty bookmark is the
    /// same as `begin`.
    fn resume(&mut self, columns: &Columns, _bookmark: &[u8]) -> Result<(), RecordError> {
        self.begin(columns)
    }
}

/// A result file that rows are appended to; opened by a [`FormatEntry`](crate::registry::FormatEntry).
///
/// ```
/// use cosimo_core::recorder::{RecordError, TableWriter};
///
/// /// Counts rows and writes none.
/// struct Count(u64);
///
/// impl TableWriter for Count {
///     fn append(&mut self, columns: &[&[f64]]) -> Result<(), RecordError> {
///         self.0 += columns[0].len() as u64;
///         Ok(())
///     }
///     fn place(&mut self) -> Result<Vec<u8>, RecordError> {
///         Ok(self.0.to_le_bytes().to_vec())
///     }
///     fn sync(&mut self) -> Result<(), RecordError> {
///         Ok(())
///     }
/// }
/// # Count(0).append(&[&[0.0, 0.1]]).unwrap();
/// ```
pub trait TableWriter: Send {
    /// Appends rows, given column by column. When it returns the file is complete and readable by other programs, with
    /// the new rows or, if it failed, without them.
    fn append(&mut self, columns: &[&[f64]]) -> Result<(), RecordError>;

    /// A bookmark of where its rows end, in a form of its format. Fails if the file was replaced by another one.
    fn place(&mut self) -> Result<Vec<u8>, RecordError>;

    /// Brings the file to the disk.
    fn sync(&mut self) -> Result<(), RecordError>;

    /// Whether each call of `append` adds permanent overhead, such as an entry in a list of chunks: then few large ones
    /// are better.
    fn wants_large_chunks(&self) -> bool {
        false
    }
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "fields are explained by the messages")]
pub enum TableError {
    /// The ending of its name belongs to no format.
    #[error(transparent)]
    Unknown(#[from] UnknownFormat),
    /// The operating system refuses.
    #[error("cannot read `{}`: {cause}", file.display())]
    Unreadable { file: PathBuf, cause: std::io::Error },
    /// Its content is not what its ending promises.
    #[error("cannot read `{}` as {format}: {message}", file.display())]
    Broken { file: PathBuf, format: &'static str, message: String },
}

impl TableError {
    /// A file with other content than its format allows.
    pub fn broken(file: &Path, format: &'static str, message: String) -> TableError {
        TableError::Broken { file: file.into(), format, message }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            TableError::Unknown(unknown) => unknown.hint(),
            TableError::Unreadable { .. } => "check the path and the permissions".into(),
            TableError::Broken { format, .. } => {
                format!("it may be truncated or of another format; expected a {format} table of numbers")
            }
        }
    }
}
