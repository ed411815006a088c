//! Where results go, one row per communication point, and what they are as a whole: a table.

/// Names and units of the columns, the time first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Columns {
    pub names: Vec<String>,
    /// Empty where unknown.
    pub units: Vec<String>,
}

/// Columns of numbers, all of one length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub columns: Columns,
    /// Column by column.
    pub values: Vec<Vec<f64>>,
}

impl Table {
    /// One column by name.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let at = self.columns.names.iter().position(|known| known == name)?;
        Some(&self.values[at])
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    /// One row, in the order of the columns.
    pub fn row(&self, row: usize) -> Vec<f64> {
        self.values.iter().map(|column| column[row]).collect()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write {what}: {cause}")]
pub struct RecordError {
    pub what: String,
    pub cause: std::io::Error,
}

pub trait Recorder: Send {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError>;

    /// One row, in the order of the columns.
    fn row(&mut self, values: &[f64]) -> Result<(), RecordError>;

    /// Makes everything so far readable by others; called on success, failure and interruption alike.
    fn finish(&mut self) -> Result<(), RecordError>;
}
