//! The cache as a whole: what is in it, and how it is kept small. An archive in use is locked, and never removed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::archive::{Cache, MARKER};
use crate::manifest;

/// Bytes that a cache holds at most, unless more are in use.
pub const MOST: u64 = 2_000_000_000;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// An unpacked archive.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheEntry {
    /// The file that it was unpacked from first.
    pub name: String,
    /// SHA-256 of that file.
    pub hash: String,
    pub folder: PathBuf,
    pub bytes: u64,
    pub used: SystemTime,
    pub in_use: bool,
}

impl Cache {
    /// All that it holds, the one used last first.
    pub fn kept(&self) -> Vec<CacheEntry> {
        let kept = |entry: fs::DirEntry| {
            let (folder, hash) = (entry.path(), entry.file_name().into_string().ok()?);
            if hash.starts_with('.') || !folder.is_dir() {
                return None;
            }
            let (bytes, name) = manifest::head(&folder).unwrap_or_else(|| (size(&folder), String::new()));
            let used = fs::metadata(folder.join(MARKER)).and_then(|marker| marker.modified());
            let used = used.unwrap_or(SystemTime::UNIX_EPOCH);
            Some(CacheEntry { name, hash, bytes, used, in_use: is_locked(&folder), folder })
        };
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut all: Vec<CacheEntry> = entries.filter_map(kept).collect();
        all.sort_by(|a, b| (b.used, &a.hash).cmp(&(a.used, &b.hash)));
        all
    }

    /// Removes archives until no more than so many bytes are left, those first that were not used for the longest time. What
    /// is in use stays. Answers what was removed.
    pub fn shrink(&self, most: u64) -> Vec<CacheEntry> {
        let all = self.kept();
        let mut total: u64 = all.iter().map(|kept| kept.bytes).sum();
        let mut removed = Vec::new();
        for kept in all.into_iter().rev() {
            if total <= most {
                break;
            }
            if !kept.in_use && remove(&kept.folder) {
                total -= kept.bytes;
                removed.push(kept);
            }
        }
        removed
    }

    /// What processes that ended early left behind: drafts after a day, private copies at once. Failures do not matter here.
    pub fn sweep(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let old = || {
                let modified = entry.metadata().and_then(|about| about.modified()).ok();
                modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > DAY)
            };
            if (name.starts_with(".draft-") && old()) || (name.starts_with(PRIVATE) && !is_locked(&path)) {
                remove(&path);
            }
        }
    }
}

/// Names of copies of libraries begin so, beside the original, for FMUs that allow one instance per process. Nothing else
/// loads them.
pub const COPY: &str = ".copy-";
/// Names of private copies begin so; they are locked while they are used.
pub const PRIVATE: &str = ".run-";

/// Marks a folder as in use for as long as the file is open, in this process and its children.
pub fn lock(folder: &Path) -> Option<File> {
    let marker = File::open(folder.join(MARKER)).ok()?;
    marker.try_lock_shared().ok()?;
    Some(marker)
}

fn is_locked(folder: &Path) -> bool {
    File::open(folder.join(MARKER)).is_ok_and(|marker| marker.try_lock().is_err())
}

/// Under another name first, so that a half-written one is never found.
pub(crate) fn remove(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let aside = folder.with_file_name(format!(".draft-{}-gone-{name}", std::process::id()));
    fs::rename(folder, &aside).is_ok() && fs::remove_dir_all(&aside).is_ok()
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size(&entry.path()),
        _ => entry.metadata().map_or(0, |about| about.len()),
    };
    entries.map(of).sum()
}
