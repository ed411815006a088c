//! Everything that is wrong or odd about a system before it runs, and what the run would do. One mistake hides no other:
//! what can still be judged is judged.

use cosimo_analysis::forecast::{Forecast, NoForecast};
use cosimo_analysis::line_loops::LineLoops;
use cosimo_core::Registry;
use cosimo_engine::{Findings, check};
use cosimo_system::problem::Subject;
use cosimo_system::{Document, File, Files, Problem, Severity, Span};
use schemars::JsonSchema;
use serde::Serialize;

use crate::json_schema::objects;

/// Checks a document as far as it could be understood; `None` behind broken syntax, where it is not known what is missing,
/// only what is there, and where nothing is, so that there is no system.
pub fn findings(document: &Document, registry: &Registry) -> Option<Findings> {
    let syntax = document.problems.iter().any(|problem| problem.code == "system/syntax");
    let nothing = document.has_errors() && document.system.components.is_empty();
    (!syntax && !nothing).then(|| check(&document.system, registry, document.problems.clone()))
}

/// What the run would do, or why that is not known.
pub type MaybeForecast = Option<Result<Forecast, NoForecast>>;

objects! {
    /// what `cosimo check` found
    pub struct CheckReport(shown: &str, findings: &Findings, forecast: &MaybeForecast, files: &Files) {
        /// as on the command line
        file: String = shown.into(),
        problems: Vec<PlacedProblem> = findings.problems.iter().map(|it| PlacedProblem::of(it, files)).collect(),
        summary: CheckSummary = CheckSummary::new(findings),
        /// missing where none was wanted, or the system cannot be run
        #[serde(skip_serializing_if = "Option::is_none")]
        forecast: Option<ForecastReport> = forecast.as_ref().map(ForecastReport::from),
    }

    pub struct PlacedProblem(problem: &Problem, place: Option<(&str, usize, usize)>, about: Option<&Subject>) {
        code: &'static str = problem.code,
        severity: &'static str = if problem.severity == Severity::Error { "error" } else { "warning" },
        message: String = problem.message.clone(),
        hint: Option<String> = problem.hint.clone(),
        file: Option<String> = place.map(|(file, ..)| file.into()),
        /// from 1
        line: Option<usize> = place.map(|(_, line, _)| line),
        /// from 1, in characters
        column: Option<usize> = place.map(|(.., column)| column),
        component: Option<String> = about.map(|about| about.component.clone()),
        port: Option<String> = about.and_then(|about| about.port.clone()),
    }

    /// how much there is of what
    pub struct CheckSummary(findings: &Findings) {
        errors: usize = findings.count(Severity::Error),
        warnings: usize = findings.count(Severity::Warning),
        #[serde(flatten)]
        counts: Findings = findings.clone(),
    }
}

/// What the run would do, or why that is not known.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(missing_docs)] // doc comments of members become descriptions in the schema
pub enum ForecastReport {
    Known(Forecast),
    Lines { lines: LineLoops },
    Unknown { missing: String },
}

impl From<&Result<Forecast, NoForecast>> for ForecastReport {
    fn from(forecast: &Result<Forecast, NoForecast>) -> ForecastReport {
        match forecast {
            Ok(forecast) => ForecastReport::Known(forecast.clone()),
            Err(NoForecast::Lines(lines)) => ForecastReport::Lines { lines: lines.clone() },
            Err(reason) => ForecastReport::Unknown { missing: reason.to_string() },
        }
    }
}

impl PlacedProblem {
    fn of(problem: &Problem, files: &Files) -> PlacedProblem {
        let place = place(problem, files).map(|(file, span)| {
            let before = &file.text[..span.start];
            let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
            (file.name.as_str(), before.matches('\n').count() + 1, column)
        });
        PlacedProblem::new(problem, place, problem.about.as_deref())
    }
}

/// Where to point at. A parser that misses something points between two characters; the one before is shown.
pub fn place<'f>(problem: &Problem, files: &'f Files) -> Option<(&'f File, Span)> {
    let (file, span) = files.find(&problem.span)?;
    if !span.is_empty() {
        return Some((file, span));
    }
    let before = file.text[..span.start].char_indices().next_back().map_or(0, |(at, _)| at);
    Some((file, before..span.start))
}
