//! Files that are no tables: a clear problem each, and never a panic.

use cosimo_core::recorder::{Table, TableError};
use cosimo_record::{FORMATS, read, write};

use crate::{columns, folder};

fn told(name: &str, bytes: &[u8]) -> String {
    let folder = folder(&format!("broken-{name}"));
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    let error = read(&path, FORMATS).unwrap_err();
    assert!(matches!(error, TableError::Broken { .. }), "{error:?}");
    error.to_string().replace(&path.display().to_string(), name)
}

#[test]
fn cells_lines_and_headers() {
    assert_eq!(
        told("cell.csv", b"time,a.x\n0,1\n0.1,one\n"),
        "cannot read `cell.csv` as CSV: line 3, column `a.x`: a number is expected, got `one`"
    );
    assert_eq!(
        told("short.csv", b"time,a.x\n0,1\n0.1\n"),
        "cannot read `short.csv` as CSV: line 3 has 1 cells, the header has 2"
    );
    assert_eq!(
        told("empty.csv", b""),
        "cannot read `empty.csv` as CSV: it is empty; a header with the names of the columns is expected"
    );
    assert_eq!(
        told("binary.csv", b"time,a\n0,\xff\n"),
        "cannot read `binary.csv` as CSV: line 2 is not UTF-8 text"
    );
    for name in ["text.arrow", "text.parquet"] {
        let message = told(name, b"time,a.x\n0,1\n0,1\n0,1\n0,1\n");
        assert!(message.starts_with(&format!("cannot read `{name}` as ")), "{message}");
    }
}

#[test]
fn what_others_write_is_read() {
    let path = folder("others").join("table.csv");
    std::fs::write(&path, "time, a.x ,\"b\"\r\n 0,1e3,\r\n0.5, -2.5E-1,nan\r\n").unwrap();
    let table = read(&path, FORMATS).unwrap();
    assert_eq!(table.columns.names, ["time", "a.x", "b"]);
    assert_eq!(table.column("a.x").unwrap(), [1e3, -0.25]);
    assert!(table.column("b").unwrap().iter().all(|value| value.is_nan()));
}

#[test]
fn files_that_are_not_there() {
    let folder = folder("absent");
    for format in FORMATS {
        let error = read(&folder.join(format!("none.{}", format.endings[0])), FORMATS).unwrap_err();
        assert!(matches!(error, TableError::Unreadable { .. }), "{error:?}");
    }
    assert!(matches!(read(&folder.join("none.xyz"), FORMATS).unwrap_err(), TableError::Unknown(_)));
}

/// Cut off anywhere, or with any byte changed: a problem or a table, and no panic.
#[test]
fn damaged_files_do_not_panic() {
    let folder = folder("damaged");
    for format in FORMATS.iter().filter(|format| !format.text) {
        let path = folder.join(format!("whole.{}", format.endings[0]));
        let values = (0..3).map(|k| (0..50).map(|n| f64::from(n * k).cos()).collect()).collect();
        write(&path, format, &Table { columns: columns(&["time", "a", "b"]), values }).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let damaged = folder.join(format!("damaged.{}", format.endings[0]));
        for length in 0..whole.len() {
            std::fs::write(&damaged, &whole[..length]).unwrap();
            assert!(read(&damaged, FORMATS).is_err(), "{} cut to {length} of {}", format.name, whole.len());
        }
        for at in 0..whole.len() {
            for change in [0x01, 0x80] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                std::fs::write(&damaged, &bytes).unwrap();
                let _ = read(&damaged, FORMATS);
            }
        }
    }
}

/// What a file claims is compared with what is possible, before memory is asked for.
#[test]
fn files_that_claim_to_be_enormous() {
    let folder = folder("enormous");
    let values = (0..2).map(|k| (0..50).map(|n| f64::from(n * k).cos()).collect()).collect();
    let table = Table { columns: columns(&["time", "a"]), values };
    for format in FORMATS.iter().filter(|format| !format.text) {
        let path = folder.join(format!("claim.{}", format.endings[0]));
        write(&path, format, &table).unwrap();
        let whole = std::fs::read(&path).unwrap();
        // Wherever a number of rows could be, there is now a very large one: 8 bytes, or the same as a varint.
        let mut told = 0;
        for (from, to) in [
            (50i64.to_le_bytes().to_vec(), (1i64 << 60).to_le_bytes().to_vec()),
            (vec![100], vec![0x80 | 100, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]),
        ] {
            for at in (0..whole.len()).filter(|at| whole[*at..].starts_with(&from)) {
                let grown = [&whole[..at], &to, &whole[at + from.len()..]].concat();
                let mut bytes = grown.clone();
                if format.name == "parquet" {
                    // The length of the footer is before the last four bytes.
                    let end = bytes.len() - 8;
                    let length =
                        i32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap());
                    let longer = length + (grown.len() - whole.len()) as i32;
                    bytes[end..end + 4].copy_from_slice(&longer.to_le_bytes());
                }
                std::fs::write(&path, &bytes).unwrap();
                if let Err(error) = read(&path, FORMATS) {
                    told += usize::from(error.to_string().contains("which is the limit for 2 columns"));
                }
            }
        }
        // A matrix is as large as it says, or the file is cut off.
        assert!(told > 0 || format.name == "mat", "{}", format.name);
    }
}

/// A compressed part begins with the size that it unpacks to.
#[test]
fn a_compressed_part_that_claims_four_gigabytes() {
    let path = folder("compressed").join("claim.arrow");
    let schema = std::sync::Arc::new(arrow_schema::Schema::new(vec![arrow_schema::Field::new(
        "time",
        arrow_schema::DataType::Float64,
        false,
    )]));
    let options = arrow_ipc::writer::IpcWriteOptions::default()
        .try_with_compression(Some(arrow_ipc::CompressionType::LZ4_FRAME))
        .unwrap();
    let column = std::sync::Arc::new(arrow_array::Float64Array::from(vec![0.0; 1000]));
    let batch = arrow_array::RecordBatch::try_new(schema.clone(), vec![column]).unwrap();
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    writer.write(&batch).unwrap();
    let whole = writer.into_inner().unwrap();
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(read(&path, FORMATS).unwrap().rows(), 1000);
    for claimed in [4i64 << 30, 1 << 62] {
        let mut bytes = whole.clone();
        let at = whole.windows(8).position(|window| window == 8000i64.to_le_bytes()).unwrap();
        bytes[at..at + 8].copy_from_slice(&claimed.to_le_bytes());
        assert_eq!(
            told("claim.arrow", &bytes),
            format!(
                "cannot read `claim.arrow` as Arrow: Ipc error: a part of 1000 rows claims to hold {claimed} bytes, at \
                 most 9024 are possible"
            )
        );
    }
}

/// The file has holes and takes no room on the disk; a reader that gathers the row would take a gigabyte of memory.
#[test]
fn a_row_without_end() {
    let folder = folder("endless");
    for (name, beginning) in
        [("header.csv", ""), ("row.csv", "time,a\n0,1\n"), ("quoted.csv", "time,a\n0,\"1\n")]
    {
        let path = folder.join(name);
        std::fs::write(&path, beginning).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
        let message = read(&path, FORMATS).unwrap_err().to_string();
        assert!(message.ends_with("a row is longer than 67108864 bytes, which is the limit"), "{message}");
    }
}
