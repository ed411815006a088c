//! Where the rows of a growing file end. Rows are never changed once they are written, so whatever comes behind the
//! bookmark can be cut off, be it whole or torn. The last bytes before it are kept to notice another file in its place.

use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Result, Seek, SeekFrom};
use std::path::Path;

use crate::journal;

/// Bytes that are compared: some rows of any format.
const COMPARED: u64 = 1024;

/// What stands between `start` and `end` does not change any more; `more` is what the format wants to hear again.
pub(crate) fn take(file: &mut File, start: u64, end: u64, more: &[u8]) -> Result<Vec<u8>> {
    let last = last_bytes(file, end, (end - start).min(COMPARED))?;
    let mut bookmark = end.to_le_bytes().to_vec();
    bookmark.extend((last.len() as u64).to_le_bytes());
    bookmark.extend(last);
    bookmark.extend(more);
    Ok(bookmark)
}

/// Fails if an open file is no longer at its path, or no longer as long as it was written.
pub(crate) fn check(file: &File, path: &Path, end: u64) -> Result<()> {
    if !journal::is_at(file, path)? {
        let what = if path.exists() { "replaced" } else { "removed" };
        return Err(Error::other(format!("it was {what} by something else while the run wrote it")));
    }
    let length = file.metadata()?.len();
    // A device has no length.
    if length < end && file.metadata()?.is_file() {
        return Err(Error::other(format!(
            "it was cut off by something else while the run wrote it: {end} bytes were written, {length} are left"
        )));
    }
    Ok(())
}

/// The file without what was written after the bookmark, where its data ends, and what the format wanted to hear.
pub(crate) fn resume(path: &Path, bookmark: &[u8]) -> Result<(File, u64, Vec<u8>)> {
    let (end, last, more) = split(bookmark).ok_or_else(|| Error::other("the bookmark is damaged"))?;
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    if length < end {
        return Err(Error::other(format!(
            "it has {length} bytes, and had at least {end} when the checkpoint was made"
        )));
    }
    if last_bytes(&mut file, end, last.len() as u64)? != last {
        return Err(Error::other("its rows are not those of the run that made the checkpoint"));
    }
    file.set_len(end)?;
    Ok((file, end, more.to_vec()))
}

fn split(bookmark: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (end, rest) = bookmark.split_first_chunk()?;
    let (last, more) = piece(rest)?;
    Some((u64::from_le_bytes(*end), last, more))
}

/// Bytes behind their length, and what follows them.
pub(crate) fn piece(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

fn last_bytes(file: &mut File, end: u64, count: u64) -> Result<Vec<u8>> {
    file.seek(SeekFrom::Start(end.saturating_sub(count)))?;
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}
