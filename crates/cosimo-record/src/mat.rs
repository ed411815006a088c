//! MATLAB level 4 as Dymola and OpenModelica write trajectories ("Atrajectory", version 1.1), so that their tools
//! open results of Cosimo, and Cosimo plays theirs back.
//!
//! A file is a list of matrices: a class, names, descriptions (a unit stands at their end, in brackets), where each
//! variable is, `data_1` for what never changes and `data_2` for what does. `data_2` comes last and grows: rows are
//! appended, then its size is set, so that a process that is killed leaves a whole file, at most with bytes behind it
//! that are not counted.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cosimo_core::recorder::{Columns, RecordError, Table, TableError, TableWriter};
use cosimo_core::registry::FormatEntry;

use crate::bookmark;
use crate::limits::{RowBudget, whole};

pub const MAT: FormatEntry = FormatEntry {
    name: "mat",
    summary: "MATLAB v4, as Dymola and OpenModelica write it",
    endings: &["mat"],
    text: false,
    create: |path, columns| Ok(Box::new(Mat::create(path, columns)?)),
    resume: |path, columns, bookmark| Ok(Box::new(Mat::resume(path, columns, bookmark)?)),
    read: |path| crate::guarded(path, "MATLAB v4", read),
};

/// Types of matrices: thousands are the order of bytes, tens the number, ones whether it is text.
const TEXT: i32 = 51;
const WHOLE: i32 = 20;
const DOUBLE: i32 = 0;
const UNSIGNED_BYTE: i32 = 50;

/// Variables stand as rows, instants as columns.
const TRANSPOSED: &str = "binTrans";

struct Mat {
    path: PathBuf,
    file: File,
    columns: usize,
    rows: u32,
    /// Where the last instant stands in `data_1`, and the number of columns of `data_2`.
    last: u64,
    count: u64,
    end: u64,
    bytes: Vec<u8>,
}

/// Everything before the rows.
struct MatHeader {
    bytes: Vec<u8>,
    /// As in [`Mat`].
    last: u64,
    count: u64,
}

impl MatHeader {
    fn of(columns: &Columns) -> MatHeader {
        let mut bytes = Vec::new();
        let class = ["Atrajectory", "1.1", "", TRANSPOSED];
        text(&mut bytes, "Aclass", &class, true);
        let names: Vec<&str> = columns.names.iter().map(String::as_str).collect();
        text(&mut bytes, "name", &names, false);
        let units: Vec<String> = columns
            .units
            .iter()
            .map(|unit| if unit.is_empty() { String::new() } else { format!("[{unit}]") })
            .collect();
        let units: Vec<&str> = units.iter().map(String::as_str).collect();
        text(&mut bytes, "description", &units, false);
        let count = columns.names.len();
        header(&mut bytes, WHOLE, 4, count, "dataInfo");
        for place in 0..count as i32 {
            // The abscissa is of no table; the rest of the second, interpolated linearly, not defined outside.
            for number in [if place == 0 { 0 } else { 2 }, place + 1, 0, -1] {
                bytes.extend(number.to_le_bytes());
            }
        }
        header(&mut bytes, DOUBLE, 1, 2, "data_1");
        let last = bytes.len() as u64 + 8;
        bytes.extend([0; 16]);
        let place = bytes.len() as u64 + 8;
        header(&mut bytes, DOUBLE, count, 0, "data_2");
        MatHeader { bytes, last, count: place }
    }
}

impl Mat {
    fn create(path: &Path, columns: &Columns) -> Result<Mat, RecordError> {
        let failed = |cause| RecordError { file: path.into(), cause };
        let MatHeader { bytes, last, count } = MatHeader::of(columns);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let mut file = file.map_err(failed)?;
        file.write_all(&bytes).map_err(failed)?;
        let (columns, end) = (columns.names.len(), bytes.len() as u64);
        Ok(Mat { path: path.into(), file, columns, rows: 0, last, count, end, bytes: Vec::new() })
    }

    fn resume(path: &Path, columns: &Columns, bookmark: &[u8]) -> Result<Mat, RecordError> {
        let failed = |cause| RecordError { file: path.into(), cause };
        let (file, end, rows) = bookmark::resume(path, bookmark).map_err(failed)?;
        let rows = rows.first_chunk().copied().map(u32::from_le_bytes);
        let rows = rows.ok_or_else(|| failed(std::io::Error::other("the bookmark is damaged")))?;
        let MatHeader { last, count, .. } = MatHeader::of(columns);
        let columns = columns.names.len();
        let mut mat = Mat { path: path.into(), file, columns, rows, last, count, end, bytes: Vec::new() };
        mat.forget_later_rows().map_err(failed)?;
        Ok(mat)
    }

    /// The number of rows and the last instant, as they were.
    fn forget_later_rows(&mut self) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(self.count))?;
        self.file.write_all(&self.rows.to_le_bytes())?;
        if self.rows > 0 {
            let mut instant = [0; 8];
            self.file.seek(SeekFrom::Start(self.end.saturating_sub(8 * self.columns as u64)))?;
            self.file.read_exact(&mut instant)?;
            self.file.seek(SeekFrom::Start(self.last))?;
            self.file.write_all(&instant)?;
        }
        Ok(())
    }

    fn put(&mut self, columns: &[&[f64]]) -> std::io::Result<()> {
        let rows = columns.first().map_or(0, |column| column.len());
        self.bytes.clear();
        for row in 0..rows {
            for column in columns {
                self.bytes.extend(column[row].to_le_bytes());
            }
        }
        let total = u32::try_from(rows).ok().and_then(|rows| self.rows.checked_add(rows));
        let Some(total) = total.filter(|total| i32::try_from(*total).is_ok()) else {
            return Err(std::io::Error::other("a MATLAB v4 file holds at most 2147483647 rows"));
        };
        bookmark::check(&self.file, &self.path, self.end)?;
        if let Err(cause) = self.write_rows() {
            // What is not counted would be read as a further matrix.
            let _ = self.file.set_len(self.end);
            return Err(cause);
        }
        let first_and_last = match columns.first() {
            Some([first, .., last]) if self.rows == 0 => [Some(*first), Some(*last)],
            Some([only]) if self.rows == 0 => [Some(*only), Some(*only)],
            Some([.., last]) => [None, Some(*last)],
            _ => [None, None],
        };
        for (number, at) in first_and_last.into_iter().zip([self.last - 8, self.last]) {
            if let Some(number) = number {
                self.file.seek(SeekFrom::Start(at))?;
                self.file.write_all(&number.to_le_bytes())?;
            }
        }
        self.file.seek(SeekFrom::Start(self.count))?;
        self.file.write_all(&total.to_le_bytes())?;
        self.rows = total;
        self.end += self.bytes.len() as u64;
        Ok(())
    }

    /// Other programs take what follows the counted rows for a further matrix, and fail where it is none. So it is one
    /// while the rows are written: their first bytes, which are the header of it, come last.
    fn write_rows(&mut self) -> std::io::Result<()> {
        let mut cover = Vec::new();
        header(&mut cover, UNSIGNED_BYTE, 0, 1, "unfinished");
        let covered = cover.len().min(self.bytes.len());
        let (first, rest) = self.bytes.split_at(covered);
        if !rest.is_empty() {
            cover.clear();
            header(&mut cover, UNSIGNED_BYTE, rest.len(), 1, "unfinished");
            // Its length before its content: the file ends where the matrix says.
            self.file.set_len(self.end + self.bytes.len() as u64)?;
            self.file.seek(SeekFrom::Start(self.end))?;
            self.file.write_all(&cover)?;
            self.file.write_all(rest)?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(first)
    }
}

impl TableWriter for Mat {
    fn append(&mut self, columns: &[&[f64]]) -> Result<(), RecordError> {
        debug_assert_eq!(columns.len(), self.columns);
        self.put(columns).map_err(|cause| RecordError { file: self.path.clone(), cause })
    }

    fn place(&mut self) -> Result<Vec<u8>, RecordError> {
        // Before the rows stand their number and the last instant.
        let start = self.end - 8 * self.columns as u64 * u64::from(self.rows);
        let place = bookmark::check(&self.file, &self.path, self.end)
            .and_then(|()| bookmark::take(&mut self.file, start, self.end, &self.rows.to_le_bytes()));
        place.map_err(|cause| RecordError { file: self.path.clone(), cause })
    }

    fn sync(&mut self) -> Result<(), RecordError> {
        self.file.sync_data().map_err(|cause| RecordError { file: self.path.clone(), cause })
    }
}

fn header(bytes: &mut Vec<u8>, kind: i32, rows: usize, columns: usize, name: &str) {
    for number in [kind, rows as i32, columns as i32, 0, name.len() as i32 + 1] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(name.as_bytes());
    bytes.push(0);
}

/// Texts as rows, or as columns; shorter ones are filled with blanks.
fn text(bytes: &mut Vec<u8>, name: &str, texts: &[&str], as_rows: bool) {
    let width = texts.iter().map(|text| text.len()).max().unwrap_or(0).max(1);
    let letter = |text: &str, place: usize| text.as_bytes().get(place).copied().unwrap_or(b' ');
    if as_rows {
        header(bytes, TEXT, texts.len(), width, name);
        for place in 0..width {
            bytes.extend(texts.iter().map(|text| letter(text, place)));
        }
    } else {
        header(bytes, TEXT, width, texts.len(), name);
        for text in texts {
            bytes.extend((0..width).map(|place| letter(text, place)));
        }
    }
}

/// A matrix of a file, column by column.
struct Matrix {
    name: String,
    rows: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn columns(&self) -> usize {
        self.values.len().checked_div(self.rows).unwrap_or(0)
    }

    fn turned(&self) -> Matrix {
        let (rows, columns) = (self.rows, self.columns());
        let values = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let values = values.map(|(row, column)| self.values[column * rows + row]).collect();
        Matrix { name: self.name.clone(), rows: columns, values }
    }

    /// Columns as texts.
    fn texts(&self) -> Vec<String> {
        let text = |letters: &[f64]| {
            let bytes: Vec<u8> = letters.iter().map(|letter| *letter as u8).collect();
            String::from_utf8_lossy(&bytes).trim_end_matches(['\0', ' ']).to_owned()
        };
        self.values.chunks_exact(self.rows.max(1)).map(text).collect()
    }
}

fn read(path: &Path) -> Result<Table, TableError> {
    table(&whole(path, "MATLAB v4")?).map_err(|message| TableError::broken(path, "MATLAB v4", message))
}

fn table(bytes: &[u8]) -> Result<Table, String> {
    if bytes.starts_with(b"MATLAB") || bytes.starts_with(b"\x89HDF") {
        return Err("it is of a later version of MATLAB; save it with `-v4`".into());
    }
    let mut matrices: Vec<Matrix> = Vec::new();
    let mut rest = bytes;
    // What stands behind the last matrix of a trajectory is not counted.
    while !rest.is_empty() && matrices.last().is_none_or(|matrix| matrix.name != "data_2") {
        matrices.push(matrix(&mut rest)?);
    }
    let find = |name: &str| {
        let found = matrices.iter().find(|matrix| matrix.name == name);
        found.ok_or_else(|| format!("there is no matrix `{name}`, so it is no trajectory"))
    };
    let class = find("Aclass")?.turned().texts();
    let transposed = match class.get(3).map(String::as_str) {
        Some(TRANSPOSED) => true,
        None | Some("binNormal" | "") => false,
        Some(other) => return Err(format!("it is a trajectory of the kind `{other}`")),
    };
    let turned = |name: &str| {
        find(name).map(|matrix| if transposed { matrix.turned() } else { matrix.turned().turned() })
    };
    // From here on variables are columns, as they are in `binNormal`.
    let names = if transposed { find("name")?.texts() } else { find("name")?.turned().texts() };
    let about = match find("description") {
        Ok(matrix) if transposed => matrix.texts(),
        Ok(matrix) => matrix.turned().texts(),
        Err(_) => vec![String::new(); names.len()],
    };
    let places = turned("dataInfo")?;
    let (constant, moving) = (turned("data_1").ok(), turned("data_2")?);
    if places.columns() < 2 || places.rows != names.len() {
        return Err(format!("`dataInfo` does not tell where each of {} variables is", names.len()));
    }
    let rows = moving.rows;
    RowBudget::for_columns(names.len())?.take(rows as u64)?;
    let mut table = Table::default();
    for (variable, name) in names.into_iter().enumerate() {
        let (data, column) = (places.values[variable], places.values[places.rows + variable]);
        let source = if data == 1.0 { constant.as_ref() } else { Some(&moving) };
        let place = (column.abs() as usize).checked_sub(1);
        let values = source
            .zip(place)
            .and_then(|(matrix, place)| matrix.values.get(place * matrix.rows..(place + 1) * matrix.rows));
        let values = values.ok_or_else(|| format!("`{name}` is said to be where nothing is"))?;
        // An alias may have the other sign. Not by a product, which would change what is no number.
        let signed = |value: f64| if column < 0.0 { -value } else { value };
        table.values.push(match data {
            1.0 => vec![signed(values.first().copied().unwrap_or(f64::NAN)); rows],
            _ => values.iter().map(|value| signed(*value)).collect(),
        });
        let unit = about.get(variable).and_then(|text| text.strip_suffix(']')?.rsplit_once('['));
        // Dymola writes what to display behind a bar.
        table.columns.units.push(unit.map_or("", |(_, unit)| unit.split('|').next().unwrap_or("")).into());
        table.columns.names.push(if variable == 0 && name == "Time" { "time".into() } else { name });
    }
    Ok(table)
}

/// The next matrix, and what comes behind it.
fn matrix(rest: &mut &[u8]) -> Result<Matrix, String> {
    let cut = || String::from("it ends in the middle of a matrix");
    let (head, behind) = rest.split_first_chunk::<20>().ok_or_else(cut)?;
    let number = |place: usize, big: bool| {
        let four = head[4 * place..].first_chunk().copied().unwrap_or_default();
        if big { i32::from_be_bytes(four) } else { i32::from_le_bytes(four) }
    };
    let big = !(0..100).contains(&number(0, false));
    let kind = number(0, big);
    if !matches!(kind / 1000, 0 | 1) || !matches!(kind % 1000 / 10, 0..=5) {
        return Err(format!("a matrix is of type {kind}, which MATLAB v4 does not have"));
    }
    let counts = [1, 2, 4].map(|place| usize::try_from(number(place, big)).map_err(|_| cut()));
    let [rows, columns, length] = counts;
    let (rows, columns, length) = (rows?, columns?, length?);
    let (name, behind) = behind.split_at_checked(length).ok_or_else(cut)?;
    let width = [8, 4, 4, 2, 2, 1][(kind % 100 / 10) as usize];
    let size = rows.checked_mul(columns).and_then(|count| count.checked_mul(width)).ok_or_else(cut)?;
    let (data, behind) = behind.split_at_checked(size).ok_or_else(cut)?;
    if number(3, big) != 0 {
        return Err("a matrix has imaginary numbers".into());
    }
    *rest = behind;
    let value = |bytes: &[u8]| {
        let mut eight = [0; 8];
        for (place, byte) in eight.iter_mut().zip(bytes) {
            *place = *byte;
        }
        if big {
            eight[..width].reverse();
        }
        let (four, two) = ([eight[0], eight[1], eight[2], eight[3]], [eight[0], eight[1]]);
        match kind % 100 / 10 {
            0 => f64::from_le_bytes(eight),
            1 => f64::from(f32::from_le_bytes(four)),
            2 => f64::from(i32::from_le_bytes(four)),
            3 => f64::from(i16::from_le_bytes(two)),
            4 => f64::from(u16::from_le_bytes(two)),
            _ => f64::from(eight[0]),
        }
    };
    let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
    Ok(Matrix { name, rows, values: data.chunks_exact(width).map(value).collect() })
}
