//! What is wrong with a system, and where. Checking returns all problems at once.

use std::ops::Range;

/// Bytes in the source text; empty where a system was not read from text.
pub type Span = Range<usize>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

/// What was wanted and found, where, and what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub severity: Severity,
    /// Stable, for scripts: `plan/needs-rollback`.
    pub code: &'static str,
    pub message: String,
    /// Empty where there is no place to point at.
    pub span: Span,
    /// What stands at the place.
    pub label: String,
    pub hint: Option<String>,
    pub about: Option<Box<Subject>>,
}

/// Whose fault it is, as far as it is one part's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub component: String,
    pub port: Option<String>,
}

impl Problem {
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

    pub fn warning(code: &'static str, message: impl Into<String>, span: Span) -> Problem {
        Problem { severity: Severity::Warning, ..Problem::error(code, message, span) }
    }

    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Problem {
        self.label = label.into();
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn about(mut self, component: &str) -> Problem {
        self.about = Some(Box::new(Subject { component: component.into(), port: None }));
        self
    }

    #[must_use]
    pub fn about_port(mut self, component: &str, port: &str) -> Problem {
        self.about = Some(Box::new(Subject { component: component.into(), port: Some(port.into()) }));
        self
    }
}

/// All errors for where there is one line only, each with its code behind it.
pub fn in_one_line(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    errors.map(|problem| format!("{} [{}]", problem.message, problem.code)).collect::<Vec<_>>().join("; ")
}
