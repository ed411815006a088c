//! The papers' tables, run through the engine with the methods of the public registry.

pub mod ecco_nepce;
pub mod figures;
pub mod fmu;
pub mod pre_step;
mod setup;
pub mod thesis;
mod thesis_figures;
pub mod tlm;

use cosimo_core::Registry;
use cosimo_plot::Figure;
use setup::Changes;

/// Tables that are reproduced by one command.
#[derive(Debug)]
pub struct Study {
    /// The tables that rows belong to, and a row of them.
    pub tables: fn() -> Vec<&'static str>,
    pub example: &'static str,
    /// All cells, as they are written.
    cells: &'static str,
    /// Measures all cells of one row.
    pub measure: fn(&str, &[Cell], &Changes, &Registry) -> RowResult,
    /// Figures with their file names.
    pub draw: fn(&Changes, &Registry) -> FigureRows,
    /// Some of its rows have a tolerance.
    pub tolerances: bool,
    /// It can run FMUs instead of native models.
    pub fmus: bool,
}

pub const ECCO_NEPCE: Study = Study {
    tables: ecco_nepce::tables,
    example: "003/III/constant",
    cells: include_str!("ecco-nepce.json"),
    measure: ecco_nepce::measure,
    draw: figures::draw,
    tolerances: true,
    fmus: true,
};

pub const PRE_STEP: Study = Study {
    tables: pre_step::tables,
    example: "B2/STIFF/ZOH",
    cells: include_str!("pre-step.json"),
    measure: pre_step::measure,
    draw: pre_step::draw,
    tolerances: false,
    fmus: false,
};

pub const THESIS: Study = Study {
    tables: thesis::tables,
    example: "A2/SET1/stale",
    cells: include_str!("thesis.json"),
    measure: thesis::measure,
    draw: thesis_figures::draw,
    tolerances: false,
    fmus: false,
};

pub const TLM: Study = Study {
    tables: tlm::tables,
    example: "spring/kappa8",
    cells: include_str!("tlm.json"),
    measure: tlm::measure,
    draw: tlm::draw,
    tolerances: false,
    fmus: false,
};

/// A row by its id, with its cells.
pub type Row = (String, Vec<Cell>);

/// One number per cell.
pub type RowResult = Result<Vec<f64>, ReproduceError>;

/// Figures with their file names.
pub type FigureRows = Result<Vec<(String, Figure)>, String>;

/// One number of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// `paper/table/row/quantity`.
    pub id: String,
    /// As the paper prints it.
    pub printed: String,
    /// Computed independently of Cosimo, with the papers' parameters.
    pub reference: f64,
    pub accepted: Tolerance,
    /// The median over the rounding of the printed tolerance: single runs of this row are chaotic.
    pub median: bool,
}

/// How near the reference a measured value must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    Relative(f64),
    Absolute(f64),
    Range(f64, f64),
}

impl Cell {
    /// The last part of the id.
    fn quantity(&self) -> &str {
        self.id.rsplit_once('/').map_or(&self.id, |(_, quantity)| quantity)
    }

    pub fn agrees(&self, measured: f64) -> bool {
        match self.accepted {
            Tolerance::Relative(tolerance) => {
                (measured - self.reference).abs() <= tolerance * self.reference.abs()
            }
            Tolerance::Absolute(tolerance) => (measured - self.reference).abs() <= tolerance,
            Tolerance::Range(low, high) => (low..=high).contains(&measured),
        }
    }
}

/// Cells from JSON: an id, the reference, its tolerance, and the printed value, if any.
fn cells(text: &str) -> Vec<Cell> {
    let parsed: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
    let cell = |value: &serde_json::Value| Cell {
        id: text(&value["id"]),
        printed: text(&value["printed"]),
        reference: number(&value["value"]),
        accepted: match (value["rel_tol"].as_f64(), value["abs_tol"].as_f64()) {
            (Some(tolerance), _) => Tolerance::Relative(tolerance),
            (None, Some(tolerance)) => Tolerance::Absolute(tolerance),
            (None, None) => Tolerance::Range(number(&value["range"][0]), number(&value["range"][1])),
        },
        median: value["median_over_tolerance_band"].as_bool().unwrap_or(false),
    };
    parsed.as_array().map(|cells| cells.iter().map(cell).collect()).unwrap_or_default()
}

impl Study {
    pub fn cells(&self) -> Vec<Cell> {
        cells(self.cells)
    }

    /// The rows, each with its cells, whose ids begin with `prefix` at a boundary; all for an empty one.
    pub fn rows(&self, prefix: &str) -> Result<Vec<Row>, ReproduceError> {
        let mut rows: Vec<Row> = Vec::new();
        for cell in self.cells() {
            let inside = cell.id == prefix
                || prefix.is_empty()
                || cell
                    .id
                    .strip_prefix(prefix.trim_end_matches('/'))
                    .is_some_and(|rest| rest.starts_with('/'));
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
}

/// A failure of one row of a table.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    #[error("row `{row}`: {message}")]
    Row { row: String, message: String },
    #[error("no row begins with `{0}`")]
    NoSuchRow(String),
}
