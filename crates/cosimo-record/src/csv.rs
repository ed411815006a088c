//! Comma-separated values, RFC 4180: a header of names, then one line per row. Numbers are written so that they
//! read back to the same bits. Units are not in the file. Read are also tables with `;` or tabs between the cells, as
//! spreadsheets write them where the comma is the decimal sign.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use cosimo_core::recorder::{Columns, RecordError, Table, TableError, TableWriter};
use cosimo_core::registry::FormatEntry;

use crate::limits::{LONGEST_ROW, RowBudget};
use crate::tail::Tail;

pub const CSV: FormatEntry = FormatEntry {
    name: "csv",
    summary: "comma-separated values",
    endings: &["csv"],
    text: true,
    create: |path, columns| Ok(Box::new(Csv::create(path, columns)?)),
    resume: |path, _, bookmark| {
        let (tail, _) = Tail::resume(path, bookmark)?;
        Ok(Box::new(Csv { tail, text: Vec::with_capacity(PIECE + PIECE / 4) }))
    },
    read,
};

/// Lines are put into the file when about this many bytes of them are together.
const PIECE: usize = 1 << 20;

#[derive(Debug)]
struct Csv {
    tail: Tail,
    text: Vec<u8>,
}

impl Csv {
    fn create(path: &Path, columns: &Columns) -> Result<Csv, RecordError> {
        let mut csv = Csv { tail: Tail::create(path)?, text: Vec::with_capacity(PIECE + PIECE / 4) };
        let mut header = csv::Writer::from_writer(&mut csv.text);
        let written = header.write_record(&columns.names).and_then(|()| Ok(header.flush()?));
        drop(header);
        written.map_err(|cause| csv.tail.failed(cause))?;
        csv.put()?;
        Ok(csv)
    }

    /// Whole lines only.
    fn put(&mut self) -> Result<(), RecordError> {
        let put = self.tail.put(&self.text, 0);
        self.text.clear();
        put
    }
}

impl TableWriter for Csv {
    fn append(&mut self, columns: &[&[f64]]) -> Result<(), RecordError> {
        for row in 0..columns.first().map_or(0, |column| column.len()) {
            for column in columns {
                write_number(&mut self.text, column[row]);
                self.text.push(b',');
            }
            if let Some(last) = self.text.last_mut() {
                *last = b'\n';
            }
            if self.text.len() >= PIECE {
                self.put()?;
            }
        }
        self.put()
    }

    fn place(&mut self) -> Result<Vec<u8>, RecordError> {
        self.tail.place()
    }

    fn sync(&mut self) -> Result<(), RecordError> {
        self.tail.sync()
    }
}

/// The shortest decimal that reads back to the same bits; 1e-7 rather than 0.0000001, 4 rather than 4.0.
fn write_number(text: &mut Vec<u8>, number: f64) {
    let mut buffer = zmij::Buffer::new();
    let digits = buffer.format(number);
    text.extend_from_slice(digits.strip_suffix(".0").unwrap_or(digits).as_bytes());
}

/// A file that ends with an error where a row does not end in time; the reader would gather it in memory.
struct BoundedRows<'a> {
    file: File,
    /// Since the last row; the reader of a row resets it.
    handed_out: &'a Cell<usize>,
}

impl Read for BoundedRows<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.handed_out.get() > LONGEST_ROW {
            let message = format!("a row is longer than {LONGEST_ROW} bytes, which is the limit");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        let count = self.file.read(into)?;
        self.handed_out.set(self.handed_out.get() + count);
        Ok(count)
    }
}

/// What stands between the cells: that which leaves the word `time` in front of the header, else the comma.
fn delimiter(header: &[u8]) -> u8 {
    let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header).trim_ascii();
    let time_before = |delimiter: u8| {
        let first = header.split(|byte| *byte == delimiter).next().unwrap_or_default().trim_ascii();
        let quoted = first.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        first.len() < header.len() && quoted.unwrap_or(first).eq_ignore_ascii_case(b"time")
    };
    b",;\t".iter().copied().find(|delimiter| time_before(*delimiter)).unwrap_or(b',')
}

/// A number; where commas do not part cells, one may be the decimal sign.
fn number(cell: &str, delimiter: u8) -> Option<f64> {
    let plain = cell.parse().ok();
    if plain.is_some() || delimiter == b',' { plain } else { cell.replacen(',', ".", 1).parse().ok() }
}

fn read(path: &Path) -> Result<Table, TableError> {
    let broken = |message: String| TableError::broken(path, "CSV", message);
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::FileTooLarge => broken(cause.to_string()),
        csv::ErrorKind::Io(cause) => TableError::Unreadable { file: path.into(), cause },
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.map_or(0, |pos| pos.line());
            broken(format!("line {line} has {len} cells, the header has {expected_len}"))
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            broken(format!("line {} is not UTF-8 text", pos.map_or(0, |pos| pos.line())))
        }
        other => broken(format!("{other:?}")),
    };
    let unreadable = |cause| TableError::Unreadable { file: path.into(), cause };
    let mut file = File::open(path).map_err(unreadable)?;
    let mut header = Vec::new();
    let first = BufReader::new(&mut file).take(LONGEST_ROW as u64).read_until(b'\n', &mut header);
    first.and_then(|_| file.rewind()).map_err(unreadable)?;
    let delimiter = delimiter(&header);
    let handed_out = Cell::new(0);
    let rows = BoundedRows { file, handed_out: &handed_out };
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(rows);
    let names: Vec<String> = reader.headers().map_err(failed)?.iter().map(str::to_owned).collect();
    if names.is_empty() {
        return Err(broken("it is empty; a header with the names of the columns is expected".into()));
    }
    let mut values = vec![Vec::new(); names.len()];
    let mut cells = csv::StringRecord::new();
    let mut room = RowBudget::for_columns(names.len()).map_err(broken)?;
    handed_out.set(0);
    while reader.read_record(&mut cells).map_err(failed)? {
        handed_out.set(0);
        room.take(1).map_err(broken)?;
        for ((cell, name), column) in cells.iter().zip(&names).zip(&mut values) {
            // Others leave a cell empty where there is no number.
            let number = if cell.is_empty() { Some(f64::NAN) } else { number(cell, delimiter) };
            column.push(number.ok_or_else(|| {
                let line = cells.position().map_or(0, |pos| pos.line());
                broken(format!("line {line}, column `{name}`: a number is expected, got `{cell}`"))
            })?);
        }
    }
    let units = vec![String::new(); names.len()];
    Ok(Table { columns: Columns { names, units }, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_parted_by_what_stands_behind_the_time() {
        for (header, wanted) in [
            ("time,u\n", b','),
            ("time;u\r\n", b';'),
            ("\"Time\";\"q[1,2]\"\n", b';'),
            ("\u{feff}time ;u\n", b';'),
            ("time\tu", b'\t'),
            ("time\n", b','),
            ("t;u\n", b','),
            ("time,a;b\n", b','),
        ] {
            assert_eq!(delimiter(header.as_bytes()), wanted, "{header:?}");
        }
        assert_eq!(
            (number("0,5", b';'), number("1.5", b';'), number("0,5", b',')),
            (Some(0.5), Some(1.5), None)
        );
    }
}
