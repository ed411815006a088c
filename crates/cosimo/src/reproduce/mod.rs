//! The papers' tables, run through the engine with the registry methods that everyone uses.

pub mod ecco_nepce;
pub mod figures;
pub mod fmu;

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
    Range(f64, f64),
}

impl Cell {
    pub fn agrees(&self, measured: f64) -> bool {
        match self.accepted {
            Accepted::Relative(tolerance) => {
                (measured - self.reference).abs() <= tolerance * self.reference.abs()
            }
            Accepted::Range(low, high) => (low..=high).contains(&measured),
        }
    }
}

/// A failure in the middle of a table, in words.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    #[error("row `{row}`: {message}")]
    Row { row: String, message: String },
    #[error("no row begins with `{0}`")]
    NoSuchRow(String),
}
