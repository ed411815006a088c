//! What is wrong with a file, or worth knowing about it: what, where in which file, and what to do.

use std::fmt;

/// A position in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FilePosition {
    pub line: u32,
    pub column: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FileProblem {
    /// The file inside the archive, if it is one file's fault.
    pub file: Option<String>,
    pub place: Option<FilePosition>,
    pub message: String,
    pub hint: Option<String>,
}

impl FileProblem {
    pub fn new(message: impl Into<String>) -> FileProblem {
        FileProblem { file: None, place: None, message: message.into(), hint: None }
    }

    pub fn at(mut self, file: &str, place: FilePosition) -> FileProblem {
        (self.file, self.place) = (Some(file.to_owned()), Some(place));
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> FileProblem {
        self.hint = Some(hint.into());
        self
    }

    /// The message with its place, without the hint.
    pub fn sentence(&self) -> String {
        match (&self.file, self.place) {
            (Some(file), Some(place)) => format!("{file}:{}:{}: {}", place.line, place.column, self.message),
            (Some(file), None) => format!("{file}: {}", self.message),
            _ => self.message.clone(),
        }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence())?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
