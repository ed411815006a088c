//! Several recorders behind one.

use cosimo_core::recorder::{Columns, RecordError, Recorder};
use cosimo_record::{MemoryRecorder, Tee};

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
    let (one, two) = (MemoryRecorder::default(), MemoryRecorder::default());
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
