//! Regular files, as opposed to devices and pipes.

use std::path::Path;
use std::{fs, io};

/// Rejects devices, pipes and sockets, which may block or never end. Folders pass: opening them fails with its own error.
pub fn check_regular_file(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    if found.is_file() || found.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a regular file, got a device or a pipe"))
}
