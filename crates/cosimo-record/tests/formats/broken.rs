//! Files that are no tables: a clear problem each, and never a panic.

use cosimo_core::recorder::{Table, TableError};
use cosimo_record::{FORMATS, read, write};

use crate::{columns, folder};

fn told(name: &str, bytes: &[u8]) -> String {
    let folder = folder(&format!("broken-{name}"));
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    let error = read(&path).unwrap_err();
    assert!(matches!(error, TableError::Broken { .. }), "{error:?}");
    error.to_string().replace(&path.display().to_string(), name)
}

#[test]
fn cells_lines_and_headers() {
    assert_eq!(
        told("cell.csv", b"time,a.x\n0,1\n0.1,one\n"),
        "cannot read `cell.csv` as CSV: line 3, column `a.x`: a number is wanted, found `one`"
    );
    assert_eq!(
        told("short.csv", b"time,a.x\n0,1\n0.1\n"),
        "cannot read `short.csv` as CSV: line 3 has 1 cells, the header has 2"
    );
    assert_eq!(
        told("empty.csv", b""),
        "cannot read `empty.csv` as CSV: it is empty; a header with the names of the columns is wanted"
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
    let table = read(&path).unwrap();
    assert_eq!(table.columns.names, ["time", "a.x", "b"]);
    assert_eq!(table.column("a.x").unwrap(), [1e3, -0.25]);
    assert!(table.column("b").unwrap().iter().all(|value| value.is_nan()));
}

#[test]
fn files_that_are_not_there() {
    let folder = folder("absent");
    for format in FORMATS {
        let error = read(&folder.join(format!("none.{}", format.endings[0]))).unwrap_err();
        assert!(matches!(error, TableError::Unreadable { .. }), "{error:?}");
    }
    assert!(matches!(read(&folder.join("none.xyz")).unwrap_err(), TableError::Unknown(_)));
}

/// Cut off anywhere, or with any byte changed: a problem or a table, and no panic.
#[test]
fn damaged_files_do_not_panic() {
    let folder = folder("damaged");
    for format in FORMATS.iter().filter(|format| format.name != "csv") {
        let path = folder.join(format!("whole.{}", format.endings[0]));
        let values = (0..3).map(|k| (0..50).map(|n| f64::from(n * k).cos()).collect()).collect();
        write(&path, format, &Table { columns: columns(&["time", "a", "b"]), values }).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let damaged = folder.join(format!("damaged.{}", format.endings[0]));
        for length in 0..whole.len() {
            std::fs::write(&damaged, &whole[..length]).unwrap();
            assert!(read(&damaged).is_err(), "{} cut to {length} of {}", format.name, whole.len());
        }
        for at in 0..whole.len() {
            for change in [0x01, 0x80] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                std::fs::write(&damaged, &bytes).unwrap();
                let _ = read(&damaged);
            }
        }
    }
}
