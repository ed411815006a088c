//! One error for everything between a system and its outcome. It holds all problems at once, each with a code, a place
//! and a remedy where there are any.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use cosimo_engine::{ChangeError, RunError};
use cosimo_system::problem::in_one_line;
use cosimo_system::{Files, Problem};

/// Where a failure belongs; a command turns it into its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The system or what was asked for is wrong; nothing was run.
    Input,
    /// A file cannot be read or written.
    File,
    /// The run started and failed.
    Run,
}

/// Everything that went wrong. `{error}` is one line, `{error:#}` has a line per problem with its place and its remedy.
#[derive(Clone)]
pub struct Error(Arc<Details>);

struct Details {
    kind: ErrorKind,
    problems: Vec<Problem>,
    files: Files,
    cause: Option<RunError>,
}

impl Error {
    /// Problems of a system, with the texts that their places are in.
    pub fn input(problems: Vec<Problem>, files: Files) -> Error {
        Error::of(ErrorKind::Input, problems, files)
    }

    pub(crate) fn of(kind: ErrorKind, problems: Vec<Problem>, files: Files) -> Error {
        Error(Arc::new(Details { kind, problems, files, cause: None }))
    }

    /// One failure without a code, with its remedy.
    pub fn new(kind: ErrorKind, message: impl Into<String>, remedy: Option<String>) -> Error {
        let problem = Problem { hint: remedy, ..Problem::error("", message, 0..0) };
        Error::of(kind, vec![problem], Files::default())
    }

    /// A file that cannot be written.
    pub fn unwritable(message: impl Into<String>, file: &Path) -> Error {
        Error::new(ErrorKind::File, message, Some(place_remedy(file)))
    }

    /// The same, with its cause.
    pub fn cannot_write(file: &Path, cause: &std::io::Error) -> Error {
        Error::unwritable(format!("cannot write `{}`: {cause}", file.display()), file)
    }

    /// What failed: input, file or run.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Stable, for programs: `plan/unknown-port`, as for `cosimo explain-error`; that of the first problem that has one.
    pub fn code(&self) -> Option<&'static str> {
        self.0.problems.iter().map(|problem| problem.code).find(|code| !code.is_empty())
    }

    /// All problems; [`Error::place`] finds where they are.
    pub fn problems(&self) -> &[Problem] {
        &self.0.problems
    }

    /// The texts that the places of problems are in.
    pub fn files(&self) -> &Files {
        &self.0.files
    }

    /// The failure of the run itself, where it is one.
    pub fn run_error(&self) -> Option<&RunError> {
        self.0.cause.as_ref()
    }

    /// File and line of a problem, where it has a place.
    pub fn place(&self, problem: &Problem) -> Option<(&str, usize)> {
        let (file, span) = self.0.files.find(&problem.span)?;
        Some((&file.name, file.text[..span.start].matches('\n').count() + 1))
    }
}

impl From<RunError> for Error {
    fn from(cause: RunError) -> Error {
        let (kind, problem) = match &cause {
            RunError::Step(step) => {
                let problem = Problem::error(step.code(), step.to_string(), 0..0).hint(step.hint());
                (ErrorKind::Run, problem)
            }
            RunError::Record(record) => {
                let problem = Problem::error("", record.to_string(), 0..0);
                (ErrorKind::File, problem.hint(place_remedy(&record.file)))
            }
        };
        let (problems, files) = (vec![problem], Files::default());
        Error(Arc::new(Details { kind, problems, files, cause: Some(cause) }))
    }
}

/// What to do where a file cannot be written.
fn place_remedy(file: &Path) -> String {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.exists() => format!("the folder `{}` does not exist", folder.display()),
        _ if file.is_dir() => "this is a folder; give the name of a file".into(),
        _ => "choose another place, or check rights and space".into(),
    }
}

impl From<ChangeError> for Error {
    fn from(error: ChangeError) -> Error {
        match error {
            ChangeError::Refused(problem) => Error::input(vec![*problem], Files::default()),
            ChangeError::Run(error) => error.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return match (&self.0.cause, self.code()) {
                (Some(cause), _) => write!(f, "{cause}"),
                (None, Some(_)) => f.write_str(&in_one_line(&self.0.problems)),
                (None, None) => f.write_str(self.0.problems.first().map_or("", |problem| &problem.message)),
            };
        }
        for (k, problem) in self.0.problems.iter().enumerate() {
            let line = if k == 0 { "" } else { "\n" };
            let place = self.place(problem).map_or(String::new(), |(file, line)| format!("{file}:{line}: "));
            let code = if problem.code.is_empty() { String::new() } else { format!(" [{}]", problem.code) };
            write!(f, "{line}{place}{}{code}", problem.message)?;
            if let Some(remedy) = &problem.hint {
                write!(f, "\n  help: {remedy}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| cause as _)
    }
}

/// A problem in one line, with its remedy.
pub fn with_remedy(problem: &Problem) -> String {
    let remedy = problem.hint.as_ref().map_or(String::new(), |remedy| format!(" ({remedy})"));
    format!("{}{remedy}", problem.message)
}
