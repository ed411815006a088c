//! Files of the disk, apart from what only looks like one.

use std::path::Path;
use std::{fs, io};

/// Refuses what never ends or never begins when it is read: a device, a pipe, a socket. A folder is left to who opens it.
pub fn regular(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    if found.is_file() || found.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device or a pipe, expected a regular file"))
}
