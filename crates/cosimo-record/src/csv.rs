//! Comma-separated values: a header of names, then one row per communication point. Numbers are written so
//! that they read back to the same bits. Units are not in the file; `Columns` has them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use cosimo_core::recorder::{Columns, RecordError, Recorder};

#[derive(Debug)]
pub struct Csv {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Csv {
    /// Creates the file at once: a run that cannot write its result should not start.
    pub fn create(path: &Path) -> Result<Csv, RecordError> {
        let file = File::create(path).map_err(|cause| failed(path, cause))?;
        Ok(Csv { path: path.to_owned(), file: BufWriter::with_capacity(1 << 16, file) })
    }
}

fn failed(path: &Path, cause: std::io::Error) -> RecordError {
    RecordError { what: format!("`{}`", path.display()), cause }
}

impl Recorder for Csv {
    fn begin(&mut self, columns: &Columns) -> Result<(), RecordError> {
        writeln!(self.file, "{}", columns.names.join(",")).map_err(|cause| failed(&self.path, cause))
    }

    fn row(&mut self, values: &[f64]) -> Result<(), RecordError> {
        write_row(&mut self.file, values).map_err(|cause| failed(&self.path, cause))
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(|cause| failed(&self.path, cause))
    }
}

/// A whole table at once, the time first.
pub fn write_table(
    csv: &mut Csv,
    names: &[String],
    times: &[f64],
    rows: &[Vec<f64>],
) -> Result<(), RecordError> {
    let mut columns = Columns::default();
    columns.names.push("time".into());
    columns.names.extend_from_slice(names);
    csv.begin(&columns)?;
    for (time, row) in times.iter().zip(rows) {
        let mut values = vec![*time];
        values.extend(row);
        csv.row(&values)?;
    }
    csv.finish()
}

/// The shortest decimal that reads back to the same bits; 1e-7 rather than 0.0000001.
fn write_row(file: &mut impl Write, values: &[f64]) -> std::io::Result<()> {
    for (k, value) in values.iter().enumerate() {
        if k > 0 {
            file.write_all(b",")?;
        }
        if *value == 0.0 || (1e-4..1e15).contains(&value.abs()) {
            write!(file, "{value}")?;
        } else {
            write!(file, "{value:e}")?;
        }
    }
    file.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_reads_back_to_the_same_bits() {
        let values = [0.0, -0.0, 0.1, 1.0 / 3.0, 1e-300, -2.5e17, f64::MAX, 4.0, 5e-324];
        let mut text = Vec::new();
        write_row(&mut text, &values).unwrap();
        let text = String::from_utf8(text).unwrap();
        let back: Vec<f64> = text.trim_end().split(',').map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(back.map_bits(), values.to_vec().map_bits());
    }

    trait Bits {
        fn map_bits(self) -> Vec<u64>;
    }

    impl Bits for Vec<f64> {
        fn map_bits(self) -> Vec<u64> {
            self.into_iter().map(f64::to_bits).collect()
        }
    }
}
