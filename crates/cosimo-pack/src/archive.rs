//! A zip archive from somewhere: checked before a byte is written, then unpacked once per content into a private
//! cache folder.
//!
//! A folder appears by one rename, so that no process ever sees half an archive. Nothing is trusted that the
//! archive says about itself: sizes are counted again while unpacking.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use crate::hash::sha256_of;
use crate::manifest::{self, FolderState};
use crate::problem::FileProblem;
use crate::store::{self, MOST};

/// What an archive is meant to be: what messages call it, and what proves it.
#[derive(Debug, PartialEq)]
pub struct ArchiveKind {
    /// With its article: `an FMU`.
    pub title: &'static str,
    /// For short: `unit`.
    pub noun: &'static str,
    /// The folder of the cache.
    pub folder: &'static str,
    /// The file at the top, and the hint where it is missing.
    pub proof: &'static str,
    pub proof_hint: &'static str,
}

/// What an archive may cost. The defaults hold everything that is not an attack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArchiveLimits {
    pub entries: usize,
    /// Bytes of all files together.
    pub total: u64,
    /// How many times larger a file may become by unpacking, if it becomes larger than `ratio_from` bytes.
    pub ratio: u64,
    pub ratio_from: u64,
}

impl Default for ArchiveLimits {
    fn default() -> ArchiveLimits {
        ArchiveLimits { entries: 100_000, total: 4 << 30, ratio: 1000, ratio_from: 10_000_000 }
    }
}

/// Where unpacked archives are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Cache {
    pub kind: &'static ArchiveKind,
    pub folder: PathBuf,
    pub limits: ArchiveLimits,
    /// Bytes of all archives that are kept; of the others, those go that were not used for the longest time.
    pub most: u64,
}

/// An archive on disk.
#[derive(Debug, Clone)]
pub struct UnpackedArchive {
    pub folder: PathBuf,
    /// SHA-256 of the file.
    pub hash: String,
    /// What was wrong with the copy that was there before.
    renewed: Option<String>,
    /// Open as long as it is used.
    in_use: Option<Arc<File>>,
}

impl UnpackedArchive {
    /// The folder, in use until the process ends.
    pub fn keep(self) -> PathBuf {
        static KEPT: Mutex<BTreeMap<PathBuf, Arc<File>>> = Mutex::new(BTreeMap::new());
        if let Some(in_use) = self.in_use {
            let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert(self.folder.clone(), in_use);
        }
        self.folder
    }

    /// What was odd about the archive although it could be unpacked.
    pub fn warnings(&self) -> impl Iterator<Item = FileProblem> {
        let renewed = self.renewed.as_ref().map(|file| {
            let words =
                format!("its unpacked copy in the cache had changed (`{file}`) and was unpacked again");
            FileProblem::new(words).hint("earlier runs may have used other content than this file")
        });
        renewed.into_iter().chain(fs::read_to_string(self.folder.join(REPEATED)).ok().map(FileProblem::new))
    }
}

/// Names of files of ours at the top of unpacked archives begin so.
pub const OURS: &str = ".cosimo-";
/// A file of ours in every unpacked archive; its age is the last use.
pub const MARKER: &str = ".cosimo-last-use";
/// A file of ours in unpacked archives that had entries twice: which ones.
const REPEATED: &str = ".cosimo-repeated";

/// Folders that had changed, and where: an archive may be opened several times before anyone asks about it.
static RENEWED: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

fn renewed() -> MutexGuard<'static, BTreeMap<PathBuf, String>> {
    RENEWED.lock().unwrap_or_else(PoisonError::into_inner)
}

static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// For programs that keep their caches elsewhere; the first call counts, and only before the first archive.
pub fn use_cache(folder: &Path) {
    let _ = CHOSEN.set(folder.to_owned());
}

impl Cache {
    pub fn at(kind: &'static ArchiveKind, folder: &Path) -> Cache {
        Cache { kind, folder: folder.to_owned(), limits: ArchiveLimits::default(), most: MOST }
    }

    /// For FMUs `$XDG_CACHE_HOME/cosimo/fmu`, `~/.cache/cosimo/fmu`, or a folder for temporary files: where the others cannot be
    /// used, or have a name that some FMUs cannot handle.
    pub fn standard(kind: &'static ArchiveKind) -> Cache {
        if let Some(folder) = CHOSEN.get() {
            return Cache::at(kind, folder);
        }
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        if let Some(base) = base.filter(|base| plain(base)) {
            let cache = Cache::at(kind, &base.join("cosimo").join(kind.folder));
            if make_private(&cache.folder).is_ok() {
                return cache;
            }
        }
        let user = std::env::var("USER").unwrap_or_default();
        let user: String = user.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        Cache::at(kind, &std::env::temp_dir().join(format!("cosimo-{user}")).join(kind.folder))
    }

    /// Unpacks the archive unless that was done before.
    pub fn unpack(&self, file: &Path) -> Result<UnpackedArchive, FileProblem> {
        let shown = file.display();
        let noun = self.kind.noun;
        let unreadable = |error: io::Error| {
            FileProblem::new(format!("{shown} cannot be read: {error}"))
                .hint("the path is relative to the folder of the system file")
        };
        regular(file).map_err(unreadable)?;
        let mut source = File::open(file).map_err(unreadable)?;
        if source.metadata().map_err(unreadable)?.is_dir() {
            return Err(FileProblem::new(format!("{shown} is a folder, expected a zip archive"))
                .hint(format!("zip the contents of the folder, so that {} is at the top", self.kind.proof)));
        }
        let hash = sha256_of(&mut source).map_err(unreadable)?;
        let folder = self.folder.join(&hash);
        if folder.is_dir() {
            touch(&folder);
            let in_use = store::lock(&folder).map(Arc::new);
            match manifest::check(&folder) {
                FolderState::Whole => {
                    let renewed = renewed().get(&folder).cloned();
                    return Ok(UnpackedArchive { folder, hash, renewed, in_use });
                }
                FolderState::Unknown => {}
                FolderState::Changed(file) => {
                    renewed().insert(folder.clone(), file);
                }
            }
            // Out of the way, and not from under processes that have its files open.
            store::remove(&folder);
        }
        let unwritable = |error: io::Error| {
            FileProblem::new(format!("{} cannot be used to unpack {shown}: {error}", self.folder.display()))
                .hint(format!(
                    "set XDG_CACHE_HOME to a folder that only you can write to, with room for the {noun}"
                ))
        };
        make_private(&self.folder).map_err(unwritable)?;
        self.sweep();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!(".draft-{}-{number}-{hash}", std::process::id()));
        let result = (|| {
            fs::create_dir(&draft).map_err(unwritable)?;
            source.rewind().map_err(unreadable)?;
            self.extract(source, &draft, file)?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            manifest::seal(&draft, &name).map_err(unwritable)?;
            touch(&draft);
            let renamed = match fs::rename(&draft, &folder) {
                // Another process was faster; its folder is the same.
                Err(_) if folder.is_dir() => Ok(()),
                other => other.and_then(|()| manifest::sync(&self.folder)).map_err(unwritable),
            };
            renamed.map(|()| store::lock(&folder).map(Arc::new))
        })();
        let _ = fs::remove_dir_all(&draft);
        let renewed = renewed().get(&folder).cloned();
        let unpacked = result.map(|in_use| UnpackedArchive { folder, hash, renewed, in_use });
        self.shrink(self.most);
        unpacked
    }

    fn extract(&self, mut source: File, into: &Path, file: &Path) -> Result<(), FileProblem> {
        let shown = file.display();
        if let Some(found) = other_than_zip(&mut source) {
            return Err(FileProblem::new(format!("{shown} is {found}, expected a zip archive")).hint(
                format!(
                    "{} is a zip archive; is the download complete, and is it the right file?",
                    self.kind.title
                ),
            ));
        }
        let entries = listed(&mut source);
        let repeated = repeated(&mut source);
        let mut archive =
            zip::ZipArchive::new(io::BufReader::new(source)).map_err(|error| broken(file, &error))?;
        let mut twice = None;
        // The reader keeps the last entry of a name; other programs may see the first. Where both are the same to the bit
        // that does not matter.
        if entries.is_some_and(|entries| entries != archive.len()) {
            let (same, different) = repeated.unwrap_or_default();
            if !different.is_empty() || same.is_empty() {
                let names =
                    if different.is_empty() { String::new() } else { format!(": {}", quoted(&different)) };
                return Err(FileProblem::new(format!(
                    "{shown} has several entries of one name with different contents{names}"
                ))
                .hint(format!("it is not known which of them is meant; zip the {} again", self.kind.noun)));
            }
            twice = Some(format!("the archive has entries twice, with the same contents: {}", quoted(&same)));
        }
        if archive.len() > self.limits.entries {
            let (found, most) = (archive.len(), self.limits.entries);
            return Err(self.attack(format!("{shown} has {found} entries, at most {most} are allowed")));
        }
        // What the list says of itself is believed only where it is bad: nothing is written for that.
        let mut listed = 0u64;
        for index in 0..archive.len() {
            if let Ok(entry) = archive.by_index_raw(index) {
                listed = listed.saturating_add(entry.size());
            }
        }
        if listed > self.limits.total {
            return Err(self.too_large(file));
        }
        let mut total = 0;
        let mut buffer = vec![0; 1 << 16];
        for index in 0..archive.len() {
            let entry = archive.by_index(index).map_err(|error| match error {
                zip::result::ZipError::UnsupportedArchive(reason) => {
                    FileProblem::new(format!("{shown} is packed in a way that Cosimo cannot read: {reason}"))
                        .hint(format!(
                            "zip the {} again with the usual method, which is called deflate",
                            self.kind.noun
                        ))
                }
                other => broken(file, &other),
            })?;
            self.extract_entry(entry, into, file, &mut total, &mut buffer)?;
        }
        let ArchiveKind { title, proof, proof_hint, .. } = self.kind;
        if !into.join(proof).is_file() {
            return Err(FileProblem::new(format!("{shown} has no {proof} at its top, so it is not {title}"))
                .hint(*proof_hint));
        }
        if let Some(words) = twice {
            let noted = fs::write(into.join(REPEATED), words);
            noted.map_err(|error| {
                FileProblem::new(format!("{} cannot be written: {error}", into.display()))
            })?;
        }
        Ok(())
    }

    /// Writes one entry, and adds its size to the total.
    fn extract_entry<R: Read>(
        &self,
        mut entry: zip::read::ZipFile<'_, R>,
        into: &Path,
        file: &Path,
        total: &mut u64,
        buffer: &mut [u8],
    ) -> Result<(), FileProblem> {
        let (shown, noun, limits) = (file.display(), self.kind.noun, self.limits);
        let name = entry.name().map_err(|error| broken(file, &error))?.into_owned();
        let Some(inside) = inside(&name) else {
            return Err(FileProblem::new(format!(
                "{shown} has an entry `{name}`, which is outside the {noun}"
            ))
            .hint("nothing was unpacked; do not trust this file"));
        };
        if entry.unix_mode().is_some_and(|mode| !matches!(mode & 0o170000, 0 | 0o100000 | 0o040000)) {
            return Err(FileProblem::new(format!(
                "{shown} has an entry `{name}`, which is a link or a device; expected files and folders"
            ))
            .hint(format!("zip the {noun} again with the files themselves instead of links")));
        }
        let target = into.join(inside);
        let failed = |error: io::Error| {
            FileProblem::new(format!(
                "`{name}` of {shown} cannot be unpacked to {}: {error}",
                target.display()
            ))
            .hint("is there room in the cache, and is the archive complete?")
        };
        if name.ends_with(['/', '\\']) {
            return fs::create_dir_all(&target).map_err(failed);
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut unpacked = File::create_new(&target).map_err(failed)?;
        let allowed = entry.compressed_size().saturating_mul(limits.ratio).max(limits.ratio_from);
        let mut written = 0;
        loop {
            let count = entry.read(buffer).map_err(|error| broken(file, &error))?;
            if count == 0 {
                return Ok(());
            }
            written += count as u64;
            *total += count as u64;
            if written > allowed {
                return Err(self.attack(format!(
                    "`{name}` of {shown} unpacks to more than {} times its size, at most {} is allowed beyond {} bytes",
                    limits.ratio, limits.ratio, limits.ratio_from
                )));
            }
            if *total > limits.total {
                return Err(self.too_large(file));
            }
            unpacked.write_all(&buffer[..count]).map_err(failed)?;
        }
    }

    fn attack(&self, message: String) -> FileProblem {
        FileProblem::new(message).hint(format!("no {} needs that; do not trust this file", self.kind.noun))
    }

    fn too_large(&self, file: &Path) -> FileProblem {
        let (shown, most) = (file.display(), self.limits.total);
        self.attack(format!("{shown} unpacks to more than {most} bytes, which is the limit"))
    }
}

fn broken(file: &Path, error: &dyn std::fmt::Display) -> FileProblem {
    FileProblem::new(format!("{} is not a complete zip archive: {error}", file.display()))
        .hint("the file is truncated or damaged; download or export it again")
}

/// Whether FMUs will find a folder of this name. They get the URI of their resources; many decode only spaces in it,
/// and some end the process if they find nothing.
fn plain(folder: &Path) -> bool {
    let odd = |c: char| !c.is_ascii() || c.is_ascii_control() || "%#?[]".contains(c);
    folder.to_str().is_some_and(|folder| !folder.contains(odd))
}

/// Refuses what never ends or never begins when it is read: a device, a pipe, a socket. A folder is left to who opens it.
pub fn regular(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    if found.is_file() || found.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a regular file, got a device or a pipe"))
}

/// What the file is if it cannot be a zip archive. The stream is afterwards where it was.
pub fn other_than_zip(source: &mut File) -> Option<String> {
    let mut first = Vec::new();
    let read = source.take(8).read_to_end(&mut first);
    source.rewind().ok()?;
    match read.ok()? {
        0 => Some("empty".into()),
        _ if first.starts_with(b"PK") => None,
        _ => Some(format!("something that begins with {:?}", String::from_utf8_lossy(&first))),
    }
}

/// How many entries the archive says it has; `None` where it is broken, or too large to say so in this place.
pub fn listed(source: &mut File) -> Option<usize> {
    let found = last_record(source);
    source.rewind().ok()?;
    let (record, _) = found?;
    let count = number16(&record, 10)?;
    (count != u16::MAX).then_some(usize::from(count))
}

/// The record at the end of an archive that says where its list of entries is, with its place.
fn last_record(source: &mut File) -> Option<(Vec<u8>, u64)> {
    const LONGEST: u64 = 22 + 65535;
    let start = source.metadata().ok()?.len().saturating_sub(LONGEST);
    source.seek(io::SeekFrom::Start(start)).ok()?;
    let mut tail = Vec::new();
    source.read_to_end(&mut tail).ok()?;
    let at = tail.windows(4).rposition(|window| window == b"PK\x05\x06")?;
    Some((tail.split_off(at), start + at as u64))
}

/// Names that several entries have: those whose entries are the same to the bit, and the others. `None` where the list
/// of entries cannot be read.
fn repeated(source: &mut File) -> Option<(Vec<String>, Vec<String>)> {
    // Entries may claim to share their bytes, and then there would be no end of comparing.
    let mut most = 4 * source.metadata().ok()?.len();
    let found = entries(source).and_then(|entries| {
        let mut first: BTreeMap<&str, &ArchiveEntry> = BTreeMap::new();
        let (mut same, mut different) = (Vec::new(), Vec::new());
        for entry in &entries {
            let Some(known) = first.get(entry.name.as_str()) else {
                first.insert(&entry.name, entry);
                continue;
            };
            most = most.checked_sub(u64::from(known.packed_size) + u64::from(entry.packed_size))?;
            let equal = known.about == entry.about && known.packed(source)? == entry.packed(source)?;
            let list = if equal { &mut same } else { &mut different };
            if !list.contains(&entry.name) {
                list.push(entry.name.clone());
            }
        }
        same.retain(|name| !different.contains(name));
        Some((same, different))
    });
    source.rewind().ok()?;
    found
}

/// An entry as the list at the end of an archive has it.
struct ArchiveEntry {
    name: String,
    /// Method, checksum, and size.
    about: (u16, u32, u32),
    packed_size: u32,
    offset: u64,
}

impl ArchiveEntry {
    /// The bytes in the archive; equal ones unpack to equal files.
    fn packed(&self, source: &mut File) -> Option<Vec<u8>> {
        let mut head = [0; 30];
        source.seek(io::SeekFrom::Start(self.offset)).ok()?;
        source.read_exact(&mut head).ok()?;
        let behind = i64::from(number16(&head, 26)?) + i64::from(number16(&head, 28)?);
        source.seek(io::SeekFrom::Current(behind)).ok()?;
        let mut bytes = Vec::new();
        let read = source.take(self.packed_size.into()).read_to_end(&mut bytes).ok()?;
        (head.starts_with(b"PK\x03\x04") && read == self.packed_size as usize).then_some(bytes)
    }
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// All entries, those of the same name too.
fn entries(source: &mut File) -> Option<Vec<ArchiveEntry>> {
    let (record, at) = last_record(source)?;
    let (count, size, offset) = (number16(&record, 10)?, number32(&record, 12)?, number32(&record, 16)?);
    // What stands before the archive shifts all places.
    let shift = at.checked_sub(u64::from(size) + u64::from(offset))?;
    source.seek(io::SeekFrom::Start(u64::from(offset) + shift)).ok()?;
    let mut list = Vec::new();
    source.take(size.into()).read_to_end(&mut list).ok()?;
    let (mut found, mut at) = (Vec::new(), 0);
    for _ in 0..count {
        let head = list.get(at..).filter(|head| head.starts_with(b"PK\x01\x02"))?;
        let [name, extra, comment] = [28, 30, 32].map(|place| number16(head, place).map(usize::from));
        let (name, behind) = (name?, extra? + comment?);
        found.push(ArchiveEntry {
            name: String::from_utf8_lossy(head.get(46..46 + name)?).into_owned(),
            about: (number16(head, 10)?, number32(head, 16)?, number32(head, 24)?),
            packed_size: number32(head, 20)?,
            offset: u64::from(number32(head, 42)?) + shift,
        });
        at += 46 + name + behind;
    }
    Some(found)
}

/// At most five names.
fn quoted(names: &[String]) -> String {
    let mut list: Vec<String> = names.iter().take(5).map(|name| format!("`{name}`")).collect();
    if names.len() > list.len() {
        list.push(format!("and {} more", names.len() - list.len()));
    }
    list.join(", ")
}

/// Relative, without `..`, and the same on every system: a backslash separates too.
pub fn inside(name: &str) -> Option<PathBuf> {
    let name = name.replace('\\', "/");
    // A colon is a drive in the second place, and a part of any name elsewhere, except on Windows.
    let drive = name.as_bytes().get(1) == Some(&b':') || cfg!(windows) && name.contains(':');
    if name.is_empty() || name.contains('\0') || drive {
        return None;
    }
    let path = Path::new(&name);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    path.components()
        .all(plain)
        .then(|| path.components().filter(|part| *part != Component::CurDir).collect())
}

/// Marks an archive as used now.
fn touch(folder: &Path) {
    // A cache on a read-only disk still serves; its age does not matter then.
    let _ = File::create(folder.join(MARKER)).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Makes a folder that only this user can write to, or refuses one that others can: a library is loaded from
/// there.
#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = fs::symlink_metadata(folder)?;
    let own = fs::metadata("/proc/self").map_or(found.uid(), |process| process.uid());
    if !found.is_dir() || found.mode() & 0o022 != 0 || found.uid() != own {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users can write to it"));
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_units_trip_over_are_known() {
        assert!(plain(Path::new("/home/a b@c.d/.cache")));
        for folder in ["/home/jürgen/.cache", "/tmp/50%/x", "/a#b"] {
            assert!(!plain(Path::new(folder)), "{folder}");
        }
    }
}
