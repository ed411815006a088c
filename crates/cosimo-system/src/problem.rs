//! Errors and warnings about a system, with their places. Checks return all problems at once.

use std::ops::Range;

/// Bytes in the source text; empty where a system was not read from text.
pub type Span = Range<usize>;

/// Whether a problem prevents the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The system cannot be run.
    Error,
    /// The system can be run, but probably not as intended.
    Warning,
}

/// What was expected and what was found, where, and what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Error or warning.
    pub severity: Severity,
    /// Stable, for scripts: `plan/needs-rollback`.
    pub code: &'static str,
    /// One sentence: what was expected and what was found.
    pub message: String,
    /// Empty if there is no place in a file.
    pub span: Span,
    /// Short text for the marked place.
    pub label: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The component or port concerned.
    pub about: Option<Box<Subject>>,
}

/// The component that a problem concerns, where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Name of the component.
    pub component: String,
    /// Name of the port, without the component.
    pub port: Option<String>,
}

impl Problem {
    /// An error without label and hint.
    pub fn error(code: &'static str, message: impl Into<String>, span: Span) -> Problem {
        Problem {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            label: String::new(),
            hint: None,
            about: None,
        }
    }

    /// A warning without label and hint.
    pub fn warning(code: &'static str, message: impl Into<String>, span: Span) -> Problem {
        Problem { severity: Severity::Warning, ..Problem::error(code, message, span) }
    }

    /// Sets the text for the marked place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Problem {
        self.label = label.into();
        self
    }

    /// Sets what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the component concerned.
    #[must_use]
    pub fn about(mut self, component: &str) -> Problem {
        self.about = Some(Box::new(Subject { component: component.into(), port: None }));
        self
    }

    /// Sets the component and port concerned.
    #[must_use]
    pub fn about_port(mut self, component: &str, port: &str) -> Problem {
        self.about = Some(Box::new(Subject { component: component.into(), port: Some(port.into()) }));
        self
    }
}

/// All errors in one line, each followed by its code.
pub fn in_one_line(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    errors.map(|problem| format!("{} [{}]", problem.message, problem.code)).collect::<Vec<_>>().join("; ")
}
