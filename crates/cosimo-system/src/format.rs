//! Formats of system files, by the endings of their names: how each is read and, where it can be, written.

use std::any::Any;
use std::path::{Path, PathBuf};

use cosimo_core::Registry;

use crate::files::Files;
use crate::problem::{Problem, Severity};
use crate::system::System;

pub type Write = fn(&Document, &Path, &Registry) -> Result<WriteResult, WriteError>;

/// What became of a document.
#[derive(Debug)]
pub struct WriteResult {
    /// All files that were written, the system itself last.
    pub files: Vec<PathBuf>,
    /// What the format could not say.
    pub warnings: Vec<Problem>,
}

#[derive(Debug)]
pub struct SystemFormat {
    pub name: &'static str,
    pub summary: &'static str,
    /// Without the dot, the usual one first.
    pub endings: &'static [&'static str],
    pub read: fn(&Path, &ReadOptions, &Registry) -> Result<Document, ReadError>,
    pub write: Option<Write>,
}

/// What to read of a file that holds several systems.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    pub variant: Option<String>,
}

/// A system with the file that it came from.
#[derive(Debug)]
pub struct Document {
    /// As much as could be understood; complete where no problem is an error.
    pub system: System,
    pub problems: Vec<Problem>,
    pub files: Files,
    /// What the format would write again and a system has no place for; only the format itself knows what it is.
    pub rest: Option<Box<dyn Any + Send + Sync>>,
}

impl Document {
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }
}

/// A file that could not even be read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadError {
    pub message: String,
    pub hint: Option<String>,
    /// The file was there, and is not what it should be.
    pub malformed: bool,
}

/// Why nothing was written.
#[derive(Debug)]
pub enum WriteError {
    /// The system cannot be said in this format.
    Problems(Vec<Problem>),
    Failed {
        file: PathBuf,
        cause: std::io::Error,
    },
}

/// Puts a copy of a file that a system needs at its place, unless it is there. Another one is never overwritten.
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

/// The format that claims a file, by the ending of its name.
pub fn of_file(formats: &[&'static SystemFormat], file: &Path) -> Option<&'static SystemFormat> {
    let ending = file.extension()?;
    let has = |format: &&&'static SystemFormat| {
        format.endings.iter().any(|known| ending.eq_ignore_ascii_case(known))
    };
    formats.iter().find(has).copied()
}
