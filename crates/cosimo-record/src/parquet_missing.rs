//! Parquet where it is not built in: known by name, so that the message can say what is missing.

use std::io::{Error, ErrorKind};
use std::path::Path;

use cosimo_core::recorder::{RecordError, TableError};
use cosimo_core::registry::FormatEntry;

const MISSING: &str =
    "this build of Cosimo has no Parquet; build it with `--features parquet`, or use .arrow";

#[cfg_attr(
    feature = "parquet",
    allow(unreachable_pub, reason = "with Parquet built in, only the test below uses it")
)]
pub const PARQUET: FormatEntry = FormatEntry {
    name: "parquet",
    summary: "Parquet: not in this build (feature `parquet`)",
    endings: &["parquet"],
    text: false,
    create: |path, _| Err(unwritten(path)),
    resume: |path, _, _| Err(unwritten(path)),
    read: |path| Err(TableError::Unreadable { file: path.into(), cause: missing() }),
};

fn missing() -> Error {
    Error::new(ErrorKind::Unsupported, MISSING)
}

fn unwritten(path: &Path) -> RecordError {
    RecordError { file: path.into(), cause: missing() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_format_names_the_feature() {
        let path = Path::new("rows.parquet");
        let read = (PARQUET.read)(path).unwrap_err().to_string();
        assert_eq!(read, format!("cannot read `rows.parquet`: {MISSING}"));
        assert!(unwritten(path).to_string().contains("`--features parquet`"));
    }
}
