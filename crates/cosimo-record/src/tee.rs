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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Memory;

    /// Takes everything and cannot close.
    struct Stuck;

    impl Recorder for Stuck {
        fn begin(&mut self, _: &Columns) -> Result<(), RecordError> {
            Ok(())
        }

        fn row(&mut self, _: &[f64]) -> Result<(), RecordError> {
            Ok(())
        }

        fn finish(&mut self) -> Result<(), RecordError> {
            Err(RecordError { file: "stuck".into(), cause: std::io::ErrorKind::StorageFull.into() })
        }
    }

    /// Says whether it was closed.
    struct Closed(std::sync::Arc<std::sync::atomic::AtomicBool>);

    impl Recorder for Closed {
        fn begin(&mut self, _: &Columns) -> Result<(), RecordError> {
            Ok(())
        }

        fn row(&mut self, _: &[f64]) -> Result<(), RecordError> {
            Ok(())
        }

        fn finish(&mut self) -> Result<(), RecordError> {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn every_recorder_gets_every_row() {
        let (one, two) = (Memory::default(), Memory::default());
        let mut tee = Tee(vec![Box::new(one.clone()), Box::new(two.clone())]);
        let columns = Columns { names: vec!["time".into()], units: vec!["s".into()] };
        tee.begin(&columns).unwrap();
        tee.row(&[0.0]).unwrap();
        tee.row(&[0.5]).unwrap();
        tee.finish().unwrap();
        assert_eq!(one.table().values, [[0.0, 0.5]]);
        assert_eq!(one.table(), two.table());
    }

    #[test]
    fn one_that_fails_does_not_keep_others_from_closing() {
        let closed = std::sync::Arc::default();
        let mut tee = Tee(vec![Box::new(Stuck), Box::new(Closed(std::sync::Arc::clone(&closed)))]);
        let error = tee.finish().unwrap_err();
        assert_eq!(error.file, std::path::Path::new("stuck"));
        assert!(closed.load(std::sync::atomic::Ordering::Relaxed));
    }
}
