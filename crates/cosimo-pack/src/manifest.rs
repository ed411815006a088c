//! What an unpacked archive holds: a list of its files with their hashes, written when it is unpacked and compared when it is
//! used. What runs is then what the hash of the archive says, whatever happened to the cache since.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::archive::MARKER;
use crate::hash::{sha256_of, sha256_of_file};
use crate::store::COPY;

/// A file of ours in every unpacked archive.
const MANIFEST: &str = ".cosimo-manifest";
const HEAD: &str = "cosimo-manifest 1";

/// Lists all files, makes them read-only and has them on the disk before anyone can find the folder. Folders stay writable,
/// so that a cache can be removed by hand.
pub(crate) fn seal(folder: &Path, name: &str) -> io::Result<()> {
    let mut files = Vec::new();
    let mut bytes = 0;
    walk(folder, "", &mut |path, file| {
        let opened = File::open(path)?;
        let about = opened.metadata()?;
        bytes += about.len();
        let mut rights = about.permissions();
        rights.set_readonly(true);
        fs::set_permissions(path, rights)?;
        opened.sync_all()?;
        files.push((file.to_owned(), sha256_of(&mut &opened)?));
        Ok(())
    })?;
    let mut to = File::create(folder.join(MANIFEST))?;
    writeln!(to, "{HEAD} {bytes} {}", name.escape_debug())?;
    to.write_all(text(&mut files).as_bytes())?;
    to.sync_all()?;
    sync(folder)
}

/// Folders are files of their own on Unix, and cannot be opened elsewhere.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn text(files: &mut [(String, String)]) -> String {
    files.sort();
    files.iter().map(|(file, hash)| format!("{hash} {}\n", file.escape_debug())).collect()
}

/// Bytes and name of an unpacked archive, as its manifest has them.
pub(crate) fn head(folder: &Path) -> Option<(u64, String)> {
    let text = fs::read_to_string(folder.join(MANIFEST)).ok()?;
    let (bytes, name) = text.lines().next()?.strip_prefix(HEAD)?.trim_start().split_once(' ')?;
    Some((bytes.parse().ok()?, name.to_owned()))
}

/// Whether a folder is as it was unpacked. One without a manifest is of an earlier version.
pub(crate) enum FolderState {
    Whole,
    Unknown,
    /// The first file that is not as it was.
    Changed(String),
}

pub(crate) fn check(folder: &Path) -> FolderState {
    let Ok(known) = fs::read_to_string(folder.join(MANIFEST)) else { return FolderState::Unknown };
    let Some((_, known)) = known.split_once('\n').filter(|(head, _)| head.starts_with(HEAD)) else {
        return FolderState::Changed(MANIFEST.into());
    };
    let mut files = Vec::new();
    let walked = walk(folder, "", &mut |path, file| {
        files.push((file.to_owned(), sha256_of_file(path)?));
        Ok(())
    });
    if let Err(error) = walked {
        return FolderState::Changed(error.to_string());
    }
    let found = text(&mut files);
    if found == known {
        return FolderState::Whole;
    }
    let differs = |lines: &str, others: &str| {
        let others: std::collections::BTreeSet<&str> = others.lines().collect();
        let odd = lines.lines().find(|line| !others.contains(line))?;
        odd.split_once(' ').map(|(_, file)| file.to_owned())
    };
    FolderState::Changed(differs(&found, known).or_else(|| differs(known, &found)).unwrap_or_default())
}

/// All files below a folder that came out of the archive, with their names inside of it.
fn walk(folder: &Path, inside: &str, each: &mut dyn FnMut(&Path, &str) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = inside.is_empty() && [MANIFEST, MARKER].contains(&name.as_str());
        if ours || name.starts_with(COPY) {
            continue;
        }
        let (path, inside) =
            (entry.path(), if inside.is_empty() { name } else { format!("{inside}/{name}") });
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&path, &inside, each)?;
        } else if kind.is_file() {
            each(&path, &inside)?;
        } else {
            return Err(io::Error::other(inside));
        }
    }
    Ok(())
}
