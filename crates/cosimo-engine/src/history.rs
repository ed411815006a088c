//! Output samples before the start, from a table with a time column and one column per output.

use std::path::Path;

use cosimo_core::recorder::Table;
use cosimo_core::{PowerVariable, Time};
use cosimo_system::{Problem, Span};

use crate::plan::Ports;

/// Samples of all outputs before the start; NaN where the table has no column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// Ascending.
    pub times: Vec<Time>,
    /// Per time: one value per output.
    pub values: Vec<Vec<f64>>,
}

/// Reads the outputs from a table: `time`, then `component.port` columns.
pub(crate) fn of_table(
    table: &Table,
    file: &Path,
    span: &Span,
    start: f64,
    connected: &[bool],
    ports: &Ports<'_>,
) -> Result<History, Vec<Problem>> {
    let problem = |message: String| {
        Problem::error("plan/history", format!("{}: {message}", file.display()), span.clone())
    };
    let names = &table.columns.names;
    let mut problems = Vec::new();
    if let Some(first) = names.first().filter(|first| *first != "time") {
        problems.push(problem(format!("the first column must be `time`, got `{first}`")));
    }
    // A result file may be used as it is: inputs follow from outputs.
    let output = |name| {
        if let Ok(PowerVariable::Output(output)) = ports.find(name, span) { Some(output) } else { None }
    };
    let columns = names.iter().skip(1).map(|name| output(name));
    let columns: Vec<Option<usize>> = std::iter::once(None).chain(columns).collect();
    let mut history = History::default();
    for row in 0..table.rows() {
        let Some(time) = Time::new(table.values[0][row]) else {
            problems.push(problem(format!("row {}: the time is not a number", row + 1)));
            continue;
        };
        if time.seconds() >= start {
            continue; // the start itself comes from the simulators
        }
        if history.times.last().is_some_and(|last| *last >= time) {
            problems.push(problem(format!("row {}: times must ascend", row + 1)));
        }
        let mut values = vec![f64::NAN; connected.len()];
        for (output, column) in columns.iter().zip(&table.values) {
            if let Some(output) = output {
                values[*output] = column[row];
            }
        }
        for output in (0..connected.len()).filter(|&output| connected[output]) {
            if !values[output].is_finite() {
                let path = ports.path(PowerVariable::Output(output));
                problems.push(problem(format!("row {}: `{path}` has no finite value", row + 1)));
            }
        }
        history.times.push(time);
        history.values.push(values);
    }
    if history.times.is_empty() && problems.is_empty() {
        problems.push(problem(format!("no row is before the start at {start} s")));
    }
    if problems.is_empty() { Ok(history) } else { Err(problems) }
}
