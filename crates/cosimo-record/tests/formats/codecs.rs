//! Parquet of other programs, whatever they compress with. The files were written by pyarrow: 400 rows in two groups,
//! dictionaries, missing values, pages of both versions.

use std::path::Path;

use cosimo_record::{FORMATS, read};

#[test]
fn every_usual_codec_is_read() {
    for file in ["zstd-v1", "zstd-v2", "gzip-v1", "lz4-v2", "snappy-v1"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{file}.parquet"));
        let table = read(&path, FORMATS).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(table.columns.names, ["time", "y", "step", "holes", "count"], "{file}");
        assert_eq!(table.rows(), 400, "{file}");
        for row in 0..400 {
            let found: Vec<f64> = table.values.iter().map(|column| column[row]).collect();
            let time = 0.25 * row as f64;
            assert_eq!(found[0], time, "{file}");
            assert!((found[1] - time.sin()).abs() < 1e-15, "{file}");
            assert_eq!(found[2], (row / 50) as f64, "{file}");
            assert!(if row % 7 == 0 { found[3].is_nan() } else { found[3] == row as f64 }, "{file}");
            assert_eq!(found[4], row as f64, "{file}");
        }
    }
}

/// A byte changed anywhere gives a table or a message, never a panic or memory without end.
#[test]
fn broken_pages_are_a_message() {
    let folder = crate::folder("codecs");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/zstd-v2.parquet");
    let whole = std::fs::read(fixture).unwrap();
    let mut refused = 0;
    for at in (4..whole.len()).step_by(11) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x5a;
        let path = folder.join("broken.parquet");
        std::fs::write(&path, bytes).unwrap();
        refused += usize::from(read(&path, FORMATS).is_err());
    }
    assert!(refused > 100, "{refused} of {} were refused", whole.len() / 11);
}
