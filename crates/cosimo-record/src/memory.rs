//! Results in memory, for tests, plots and tables. The table is shared with whoever asked for it.

use std::sync::{Arc, Mutex, PoisonError};

use cosimo_core::recorder::{Columns, RecordError, Recorder};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub columns: Columns,
    pub rows: Vec<Vec<f64>>,
}

impl Table {
    /// One column by name.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let at = self.columns.names.iter().position(|known| known == name)?;
        Some(self.rows.iter().map(|row| row[at]).collect())
    }
}

#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Table>>);

impl Memory {
    /// What was recorded so far.
    pub fn table(&self) -> Table {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Recorder for Memory {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Table { columns: columns.clone(), rows: Vec::new() };
        Ok(())
    }

    fn row(&mut self, values: &[f64]) -> Result<(), RecordError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).rows.push(values.to_vec());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        Ok(())
    }
}
