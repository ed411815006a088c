//! Formats of system files by file extension: how each is read and, where supported, written.

use std::any::Any;
use std::path::{Path, PathBuf};

use cosimo_core::Registry;

use crate::files::Files;
use crate::problem::{Problem, Severity};
use crate::system::System;

/// Writes a document to a path.
pub type Write = fn(&Document, &Path, &Registry) -> Result<WriteResult, WriteError>;

/// The outcome of writing a document.
#[derive(Debug)]
pub struct WriteResult {
    /// All files that were written, the system itself last.
    pub files: Vec<PathBuf>,
    /// What the format cannot express.
    pub warnings: Vec<Problem>,
}

/// A file format of systems, an entry of the registry.
#[derive(Debug)]
pub struct SystemFormat {
    /// Identifier, as `toml` or `ssp`.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// File extensions without the dot, the preferred one first.
    pub endings: &'static [&'static str],
    /// Reads a file; problems of its content are part of the document.
    pub read: fn(&Path, &ReadOptions, &Registry) -> Result<Document, ReadError>,
    /// `None` where the format can only be read.
    pub write: Option<Write>,
}

/// Which part of a file to read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    /// The name of one system in a package with several.
    pub variant: Option<String>,
}

/// A system with the file that it came from.
#[derive(Debug)]
pub struct Document {
    /// As much as could be read; complete if no problem is an error.
    pub system: System,
    /// Errors and warnings of the content.
    pub problems: Vec<Problem>,
    /// The texts that spans refer to.
    pub files: Files,
    /// Format-specific data that `System` cannot hold, to be written again by the same format.
    pub rest: Option<Box<dyn Any + Send + Sync>>,
}

impl Document {
    /// Whether any problem is an error.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }
}

/// A file that could not be opened or decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadError {
    /// What failed, with the path.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The file exists, but its content is invalid.
    pub malformed: bool,
}

/// Why nothing was written.
#[derive(Debug)]
pub enum WriteError {
    /// The format cannot express this system.
    Problems(Vec<Problem>),
    /// An I/O operation failed.
    Failed {
        /// The file that was read or written.
        file: PathBuf,
        /// The error of the operating system.
        cause: std::io::Error,
    },
}

/// Copies a file of a system unless an identical one exists. A different file is never overwritten.
pub fn copy_beside(from: &Path, to: &Path, written: &mut Vec<PathBuf>) -> Result<(), WriteError> {
    if from.canonicalize().ok().zip(to.canonicalize().ok()).is_some_and(|(from, to)| from == to) {
        return Ok(());
    }
    let failed = |cause| WriteError::Failed { file: from.to_owned(), cause };
    let content = std::fs::read(from).map_err(failed)?;
    if std::fs::read(to).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let unwritten = |cause| WriteError::Failed { file: to.to_owned(), cause };
    let mut file = std::fs::File::create_new(to).map_err(unwritten)?;
    std::io::Write::write_all(&mut file, &content).map_err(unwritten)?;
    written.push(to.to_owned());
    Ok(())
}

/// The format of a file, by its extension.
pub fn of_file(formats: &[&'static SystemFormat], file: &Path) -> Option<&'static SystemFormat> {
    let ending = file.extension()?;
    let has = |format: &&&'static SystemFormat| {
        format.endings.iter().any(|known| ending.eq_ignore_ascii_case(known))
    };
    formats.iter().find(has).copied()
}
