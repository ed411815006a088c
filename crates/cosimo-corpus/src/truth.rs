//! What is true of a system, independent of the engine.

/// The true outputs of a system.
pub trait Truth: Send + Sync {
    /// Of outputs, `component.port`.
    fn names(&self) -> Vec<String>;

    /// All outputs at increasing instants, the start first; after an event where there is one.
    fn rows(&self, instants: &[f64]) -> Result<Rows, String>;
}

/// True values.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Per instant, in the order of the names.
    pub values: Vec<Vec<f64>>,
    pub events: Vec<Event>,
}

/// Outputs jump.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub time: f64,
    /// Its instant is a result, and may be wrong by a step; of others it is known in advance.
    pub found: bool,
    pub before: Vec<f64>,
    pub after: Vec<f64>,
}
