//! How large a table that is read may be. Files say how large they are before they are that large; what they say is
//! checked before memory is asked for.

use std::path::Path;

use cosimo_core::recorder::TableError;

/// Numbers in one table: 4 GB of memory.
const MOST_CELLS: u64 = 500_000_000;
const MOST_COLUMNS: usize = 1_000_000;
/// Bytes of a file that is read as a whole.
const LARGEST_FILE: u64 = 8 << 30;
/// Bytes of one row of text, its header included; 1 000 000 names of 60 letters.
pub(crate) const LONGEST_ROW: usize = 64 << 20;

/// A file that is read as a whole.
pub(crate) fn whole(path: &Path, format: &'static str) -> Result<Vec<u8>, TableError> {
    let unreadable = |cause| TableError::Unreadable { file: path.into(), cause };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > LARGEST_FILE {
        let message = format!("it has {size} bytes, at most {LARGEST_FILE} are allowed");
        return Err(TableError::broken(path, format, message));
    }
    std::fs::read(path).map_err(unreadable)
}

/// Rows that a table may still grow by.
#[derive(Debug)]
pub(crate) struct RowBudget {
    columns: usize,
    rows: u64,
}

impl RowBudget {
    pub(crate) fn for_columns(columns: usize) -> Result<RowBudget, String> {
        if columns > MOST_COLUMNS {
            return Err(format!("it has {columns} columns, at most {MOST_COLUMNS} are allowed"));
        }
        Ok(RowBudget { columns, rows: MOST_CELLS / columns.max(1) as u64 })
    }

    pub(crate) fn take(&mut self, rows: u64) -> Result<(), String> {
        self.rows = self.rows.checked_sub(rows).ok_or_else(|| {
            let most = MOST_CELLS / self.columns.max(1) as u64;
            format!("it has more than {most} rows, which is the limit for {} columns", self.columns)
        })?;
        Ok(())
    }
}
