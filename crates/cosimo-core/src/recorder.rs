//! Where results go. One row per communication point.

/// Names and units of the columns, the time first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Columns {
    pub names: Vec<String>,
    /// Empty where unknown.
    pub units: Vec<String>,
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
