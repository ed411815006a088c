//! Several recorders in the place of one: every row goes to each, in their order.

use cosimo_core::recorder::{Columns, RecordError, Recorder};

#[derive(Default)]
pub struct Tee(pub Vec<Box<dyn Recorder>>);

impl std::fmt::Debug for Tee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tee({} recorders)", self.0.len())
    }
}

impl Recorder for Tee {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError> {
        self.0.iter_mut().try_for_each(|recorder| recorder.begin(columns))
    }

    fn row(&mut self, values: &[f64]) -> Result<(), RecordError> {
        self.0.iter_mut().try_for_each(|recorder| recorder.row(values))
    }

    /// Finishes all of them, whatever happens to one; the first failure is told.
    fn finish(&mut self) -> Result<(), RecordError> {
        let results: Vec<_> = self.0.iter_mut().map(|recorder| recorder.finish()).collect();
        results.into_iter().collect()
    }

    /// That of the first one: the others keep nothing that outlives the process.
    fn bookmark(&mut self) -> Result<Vec<u8>, RecordError> {
        self.0.first_mut().map_or(Ok(Vec::new()), |recorder| recorder.bookmark())
    }

    fn resume(&mut self, columns: &Columns, bookmark: &[u8]) -> Result<(), RecordError> {
        let mut recorders = self.0.iter_mut();
        if let Some(first) = recorders.next() {
            first.resume(columns, bookmark)?;
        }
        recorders.try_for_each(|recorder| recorder.resume(columns, &[]))
    }
}
