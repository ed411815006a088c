//! Samples of outputs before the start, from a table with a time column and one column per output.

use std::path::Path;

use cosimo_core::{End, Time};
use cosimo_system::{Problem, Span};

use crate::resolve::Ports;

/// Rows of all outputs at instants before the start; NaN where the table has no such column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    pub times: Vec<Time>,
    pub values: Vec<Vec<f64>>,
}

/// Reads comma-separated text: `time`, then `component.port` columns.
pub fn read(
    text: &str,
    file: &Path,
    span: &Span,
    start: f64,
    outputs: usize,
    connected: &[bool],
    ports: &Ports<'_>,
) -> Result<History, Vec<Problem>> {
    let problem = |message: String| {
        Problem::error("plan/history", format!("{}: {message}", file.display()), span.clone())
    };
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else {
        return Err(vec![problem("the file is empty; a header with `time` is wanted".into())]);
    };
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut problems = Vec::new();
    if names[0] != "time" {
        problems.push(problem(format!("the first column must be `time`, found `{}`", names[0])));
    }
    let mut columns = vec![None; names.len()];
    for (column, name) in names.iter().enumerate().skip(1) {
        match ports.find(name, span) {
            Ok(End::Output(output)) => columns[column] = Some(output),
            Ok(End::Input(_)) => {} // a result file may be used as it is; inputs follow from outputs
            Err(_) => {
                if let Ok(output) = ports.output(name, span) {
                    columns[column] = Some(output);
                }
            }
        }
    }
    let mut history = History::default();
    for (line, row) in lines {
        let cells: Vec<Option<f64>> = row.split(',').map(|cell| cell.trim().parse().ok()).collect();
        let Some(time) = cells[0].and_then(Time::new) else {
            problems.push(problem(format!("line {}: the time is not a number", line + 1)));
            continue;
        };
        if time.seconds() >= start {
            continue; // the start itself comes from the simulators
        }
        if history.times.last().is_some_and(|last| *last >= time) {
            problems.push(problem(format!("line {}: times must ascend", line + 1)));
        }
        let mut values = vec![f64::NAN; outputs];
        for (column, cell) in cells.iter().enumerate() {
            if let (Some(output), Some(value)) = (columns.get(column).copied().flatten(), cell) {
                values[output] = *value;
            }
        }
        for output in (0..outputs).filter(|&output| connected[output]) {
            if !values[output].is_finite() {
                let path = ports.path(End::Output(output));
                problems.push(problem(format!("line {}: `{path}` has no finite value", line + 1)));
            }
        }
        history.times.push(time);
        history.values.push(values);
    }
    if history.times.is_empty() && problems.is_empty() {
        problems.push(problem(format!("no row lies before the start at {start} s")));
    }
    if problems.is_empty() { Ok(history) } else { Err(problems) }
}
