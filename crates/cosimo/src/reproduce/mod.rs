//! The papers' tables, run through the engine with the registry methods that everyone uses.

pub mod ecco_nepce;
pub mod figures;
pub mod fmu;
pub mod thesis;
mod thesis_figures;

/// One number of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// `paper/table/row/quantity`.
    pub id: String,
    /// As the paper prints it.
    pub printed: String,
    /// Computed independently of Cosimo, with the papers' parameters.
    pub reference: f64,
    pub accepted: Accepted,
    /// The median over the rounding of the printed tolerance: single runs of this row are chaotic.
    pub median: bool,
}

/// How near the reference a measured value must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Accepted {
    Relative(f64),
    Absolute(f64),
    Range(f64, f64),
}

impl Cell {
    pub fn agrees(&self, measured: f64) -> bool {
        match self.accepted {
            Accepted::Relative(tolerance) => {
                (measured - self.reference).abs() <= tolerance * self.reference.abs()
            }
            Accepted::Absolute(tolerance) => (measured - self.reference).abs() <= tolerance,
            Accepted::Range(low, high) => (low..=high).contains(&measured),
        }
    }
}

/// Cells as they are kept in a file, in the papers' order.
fn read(text: &str) -> Vec<Cell> {
    let parsed: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
    let cell = |value: &serde_json::Value| Cell {
        id: text(&value["id"]),
        printed: text(&value["printed"]),
        reference: number(&value["value"]),
        accepted: match (value["rel_tol"].as_f64(), value["abs_tol"].as_f64()) {
            (Some(tolerance), _) => Accepted::Relative(tolerance),
            (None, Some(tolerance)) => Accepted::Absolute(tolerance),
            (None, None) => Accepted::Range(number(&value["range"][0]), number(&value["range"][1])),
        },
        median: value["median_over_tolerance_band"].as_bool().unwrap_or(false),
    };
    parsed.as_array().map(|cells| cells.iter().map(cell).collect()).unwrap_or_default()
}

/// The rows, each with its cells, whose ids begin with `prefix` at a boundary; all for an empty one.
pub fn rows(cells: Vec<Cell>, prefix: &str) -> Result<Vec<(String, Vec<Cell>)>, ReproduceError> {
    let mut rows: Vec<(String, Vec<Cell>)> = Vec::new();
    for cell in cells {
        let inside = cell.id == prefix
            || prefix.is_empty()
            || cell.id.strip_prefix(prefix.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'));
        if !inside {
            continue;
        }
        let row = cell.id.rsplit_once('/').map_or("", |(row, _)| row).to_owned();
        match rows.last_mut() {
            Some((last, cells)) if *last == row => cells.push(cell),
            _ => rows.push((row, vec![cell])),
        }
    }
    if rows.is_empty() { Err(ReproduceError::NoSuchRow(prefix.into())) } else { Ok(rows) }
}

/// A failure in the middle of a table, in words.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    #[error("row `{row}`: {message}")]
    Row { row: String, message: String },
    #[error("no row begins with `{0}`")]
    NoSuchRow(String),
}
