//! Where an FMU finds its resources: a private copy per process, since FMUs exist that write there. What one run leaves behind
//! would be there in the next one, or under another that goes on at the same time.
//!
//! A copy is a folder like that of the cache, with links to all but the resources. It is removed when the process leaves;
//! what a process that crashed left behind, by the next one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cosimo_pack::archive::MARKER;
use cosimo_pack::store::{PRIVATE, lock};

use crate::archive::Cache;
use crate::problem::FileProblem;

const RESOURCES: &str = "resources";

/// Copies that are in use.
static MADE: Mutex<Vec<PrivateFolder>> = Mutex::new(Vec::new());

struct PrivateFolder {
    /// The process that made it: a child knows the copies of its parent, too.
    process: u32,
    /// The folder of the cache.
    from: PathBuf,
    copy: PathBuf,
    /// Only kept open.
    _lock: Option<File>,
}

/// The folder passed to an FMU, for one that was unpacked to the cache. Without resources there is nothing to copy.
pub(crate) fn of(unpacked: &Path) -> Result<PathBuf, FileProblem> {
    let empty = fs::read_dir(unpacked.join(RESOURCES)).map_or(true, |mut entries| entries.next().is_none());
    if empty {
        return Ok(unpacked.to_owned());
    }
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(known) = made.iter().find(|made| made.process == process && made.from == unpacked) {
        return Ok(known.copy.clone());
    }
    let Some(cache) = unpacked.parent() else { return Ok(unpacked.to_owned()) };
    Cache::at(&crate::fmu::FMU_ARCHIVE, cache).sweep();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let draft = cache.join(format!(".draft-{process}-run-{number}"));
    let copy = cache.join(format!("{PRIVATE}{process}-{number}"));
    let locked = fill(unpacked, &draft).and_then(|()| {
        let locked = lock(&draft);
        // With its lock, so that no other process removes it as left behind.
        fs::rename(&draft, &copy).map(|()| locked)
    });
    let locked = locked.map_err(|error| {
        let _ = fs::remove_dir_all(&draft);
        FileProblem::new(format!("its resources cannot be copied to {}: {error}", cache.display()))
            .hint("every run needs a private copy of the resources in the cache; free some disk space")
    })?;
    made.push(PrivateFolder { process, from: unpacked.to_owned(), copy: copy.clone(), _lock: locked });
    Ok(copy)
}

/// Removes the copies of this process. Failures do not matter here: the next process tries again.
pub(crate) fn remove() {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    made.retain(|made| {
        if made.process == process {
            let _ = fs::remove_dir_all(&made.copy);
        }
        made.process != process
    });
}

fn fill(unpacked: &Path, draft: &Path) -> io::Result<()> {
    fs::create_dir(draft)?;
    File::create(draft.join(MARKER))?;
    for entry in fs::read_dir(unpacked)? {
        let entry = entry?;
        let (from, name) = (entry.path(), entry.file_name());
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if name == RESOURCES { copy_all(&from, &draft.join(name)) } else { link(&from, &draft.join(name)) }?;
    }
    Ok(())
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    copy_all(from, to)
}

/// Files of the cache are read-only, those of a copy are not.
fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        fs::copy(from, to)?;
        return make_writable(to);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(unix)]
fn make_writable(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
#[allow(clippy::permissions_set_readonly_false, reason = "means what it says where there are no modes")]
fn make_writable(file: &Path) -> io::Result<()> {
    let mut rights = fs::metadata(file)?.permissions();
    rights.set_readonly(false);
    fs::set_permissions(file, rights)
}
