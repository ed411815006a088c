//! Results in memory, for tests, plots and tables. The table is shared with the caller.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosimo_core::recorder::{Columns, RecordError, Recorder, Table};

#[derive(Debug, Clone, Default)]
pub struct MemoryRecorder(Arc<Mutex<Table>>);

impl MemoryRecorder {
    /// What was recorded so far.
    pub fn table(&self) -> Table {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for MemoryRecorder {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError> {
        *self.lock() = Table { columns: columns.clone(), values: vec![Vec::new(); columns.names.len()] };
        Ok(())
    }

    fn row(&mut self, values: &[f64]) -> Result<(), RecordError> {
        for (column, value) in self.lock().values.iter_mut().zip(values) {
            column.push(*value);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        Ok(())
    }
}
