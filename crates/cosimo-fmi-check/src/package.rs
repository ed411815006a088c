//! The entries of an archive, and the contents of those that rules read. Nothing is unpacked to disk, and sizes stated in
//! the archive are not trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use cosimo_fmi::description::{FILE, TERMINALS};
use cosimo_fmi::elf::{self, Elf};
use cosimo_pack::archive::{ArchiveLimits, inside, other_than_zip, regular};
use cosimo_pack::problem::FileProblem;
use cosimo_pack::text::{LARGEST, decode};

pub(crate) const BUILD: &str = "sources/buildDescription.xml";
/// Larger libraries are not read.
const LARGEST_LIBRARY: u64 = 1 << 30;

#[derive(Debug, Default)]
pub(crate) struct Package {
    /// The file name.
    pub(crate) name: String,
    /// A single description without an archive.
    pub(crate) bare: bool,
    /// Why the archive cannot be read.
    pub(crate) broken: Option<String>,
    /// If a size limit is exceeded: the size and the limit.
    pub(crate) excess: Option<(String, String)>,
    pub(crate) entries: Vec<PackageEntry>,
    /// Of all entries.
    names: BTreeSet<String>,
    /// Names that occur more than once with identical spelling.
    pub(crate) repeated: Vec<RepeatedName>,
    pub(crate) description: Option<XmlFile>,
    pub(crate) terminals: Option<XmlFile>,
    pub(crate) build: Option<XmlFile>,
    pub(crate) libraries: Vec<Library>,
}

/// A name that occurs more than once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RepeatedName {
    pub(crate) name: String,
    pub(crate) count: usize,
    /// All have the same checksum and size.
    pub(crate) same: bool,
}

#[derive(Debug)]
pub(crate) struct PackageEntry {
    /// With forward slashes.
    pub(crate) name: String,
    /// As in the archive.
    pub(crate) written: String,
    pub(crate) folder: bool,
    /// A link or a device.
    pub(crate) special: bool,
    pub(crate) leads_out: bool,
    pub(crate) encrypted: bool,
    /// The compression method, if it is not one of the two allowed.
    pub(crate) method: Option<String>,
    /// Why its bytes cannot be read.
    pub(crate) damage: Option<String>,
}

/// A file of XML.
#[derive(Debug)]
pub(crate) struct XmlFile {
    pub(crate) entry: &'static str,
    pub(crate) content: Result<String, String>,
    /// The encoding, if it is wrong.
    pub(crate) encoding: Option<String>,
}

/// A shared library directly in a platform folder of `binaries`.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) entry: String,
    pub(crate) platform: String,
    /// The name without its ending.
    pub(crate) stem: String,
    pub(crate) ending: String,
    pub(crate) size: u64,
    pub(crate) format: Format,
    pub(crate) elf: Option<Elf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Elf,
    Windows,
    Mac,
    Other,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Elf => "a library for Linux",
            Format::Windows => "a library for Windows",
            Format::Mac => "a library for macOS",
            Format::Other => "not a library",
        }
    }

    fn of(bytes: &[u8]) -> Format {
        match bytes {
            [0x7f, b'E', b'L', b'F', ..] => Format::Elf,
            [b'M', b'Z', ..] => Format::Windows,
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => Format::Mac,
            _ => Format::Other,
        }
    }
}

impl Package {
    /// `Err` if the file itself cannot be read; defects inside are reported by the rules.
    pub(crate) fn open(file: &Path, limits: &ArchiveLimits) -> io::Result<Package> {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        regular(file)?;
        let mut source = File::open(file)?;
        if source.metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        let mut package = Package { name, ..Package::default() };
        if is_xml(&mut source)? {
            package.bare = true;
            let mut bytes = Vec::new();
            source.take(LARGEST + 1).read_to_end(&mut bytes)?;
            package.description = Some(XmlFile::new(FILE, Ok(bytes)));
            return Ok(package);
        }
        match other_than_zip(&mut source) {
            Some(found) if found == "empty" => package.broken = Some("an empty file".into()),
            Some(found) => package.broken = Some(found),
            None => {
                let repeated = repeated(&mut source).unwrap_or_default();
                match zip::ZipArchive::new(BufReader::new(source)) {
                    Err(error) => package.broken = Some(error.to_string()),
                    Ok(mut archive) => {
                        package.repeated = repeated;
                        package.read(&mut archive, limits);
                    }
                }
            }
        }
        Ok(package)
    }

    /// A single description, as text.
    pub(crate) fn of_description(text: &str) -> Package {
        let description = Some(XmlFile::new(FILE, Ok(text.as_bytes().to_vec())));
        Package { name: FILE.into(), bare: true, description, ..Package::default() }
    }

    fn read(&mut self, archive: &mut zip::ZipArchive<BufReader<File>>, limits: &ArchiveLimits) {
        if archive.len() > limits.entries {
            self.excess = Some((format!("{} entries", archive.len()), format!("at most {}", limits.entries)));
            return;
        }
        let mut left = limits.total;
        for index in 0..archive.len() {
            let mut entry = match PackageEntry::of(archive, index) {
                Ok(entry) => entry,
                Err(error) => {
                    self.broken = Some(error);
                    return;
                }
            };
            if !entry.folder && !entry.encrypted && entry.method.is_none() {
                match self.content(archive, index, &entry.name, &mut left, limits) {
                    Ok(()) => {}
                    Err(Damage::Excess(found, wanted)) => {
                        self.excess = Some((found, wanted));
                        return;
                    }
                    Err(Damage::Broken(error)) => entry.damage = Some(error),
                }
            }
            self.names.insert(entry.name.clone());
            self.entries.push(entry);
        }
    }

    /// Reads an entry to its end and keeps the contents of XML files and libraries.
    fn content(
        &mut self,
        archive: &mut zip::ZipArchive<BufReader<File>>,
        index: usize,
        name: &str,
        left: &mut u64,
        limits: &ArchiveLimits,
    ) -> Result<(), Damage> {
        let mut entry = archive.by_index(index).map_err(|error| Damage::Broken(error.to_string()))?;
        let allowed = entry.compressed_size().saturating_mul(limits.ratio).max(limits.ratio_from);
        let library = library_parts(name);
        let text = [FILE, TERMINALS, BUILD].into_iter().find(|file| *file == name);
        let most = if library.is_some() { LARGEST_LIBRARY } else { LARGEST };
        let mut kept = Vec::new();
        let (mut size, mut buffer) = (0, vec![0; 1 << 16]);
        loop {
            let count = match entry.read(&mut buffer) {
                Ok(count) => count,
                Err(error) => {
                    let damage = error.to_string();
                    if let Some(file) = text {
                        self.put(XmlFile::new(file, Err(damage.clone())));
                    }
                    return Err(Damage::Broken(damage));
                }
            };
            if count == 0 {
                break;
            }
            size += count as u64;
            if size > allowed {
                let found = format!("`{name}` unpacks to more than {} times its size", limits.ratio);
                return Err(Damage::Excess(found, format!("at most {} times", limits.ratio)));
            }
            *left = left.checked_sub(count as u64).ok_or_else(|| {
                let most = limits.total;
                Damage::Excess(format!("more than {most} bytes unpacked"), format!("at most {most}"))
            })?;
            if (text.is_some() || library.is_some()) && size <= most {
                kept.extend_from_slice(&buffer[..count]);
            }
        }
        if let Some(file) = text {
            let whole = if size > most { Err(too_large(size)) } else { Ok(kept) };
            self.put(XmlFile::new(file, whole));
        } else if let Some((platform, stem, ending)) = library {
            let elf = elf::read(&kept);
            let (entry, format) = (name.to_owned(), Format::of(&kept));
            self.libraries.push(Library { entry, platform, stem, ending, size, format, elf });
        }
        Ok(())
    }

    fn put(&mut self, text: XmlFile) {
        let place = match text.entry {
            FILE => &mut self.description,
            TERMINALS => &mut self.terminals,
            _ => &mut self.build,
        };
        *place = Some(text);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Files below a folder; its name ends in a slash.
    pub(crate) fn below<'p>(&'p self, folder: &'p str) -> impl Iterator<Item = &'p PackageEntry> {
        self.entries.iter().filter(move |entry| !entry.folder && entry.name.starts_with(folder))
    }
}

/// Names that occur more than once in the central directory. The zip library keeps only the last of each, so the directory
/// is read here. `None` if it cannot be read; the file position is restored.
fn repeated(source: &mut File) -> Option<Vec<RepeatedName>> {
    let list = list(source);
    source.rewind().ok()?;
    let list = list?;
    let number = |at: usize, width: usize| -> Option<u64> {
        let bytes = list.get(at..at.checked_add(width)?)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    // By name: count, whether all are the same, and checksum and size of the first.
    let mut seen = BTreeMap::<&[u8], (usize, bool, (u64, u64))>::new();
    let mut at = 0;
    while list[at..].starts_with(b"PK\x01\x02") {
        let content = (number(at + 16, 4)?, number(at + 24, 4)?);
        let length = number(at + 28, 2)? as usize;
        let name = list.get(at + 46..at + 46 + length)?;
        seen.entry(name)
            .and_modify(|(count, same, first)| (*count, *same) = (*count + 1, *same && *first == content))
            .or_insert((1, true, content));
        at = at + 46 + length + (number(at + 30, 2)? + number(at + 32, 2)?) as usize;
        if at > list.len() {
            return None;
        }
    }
    let again = seen.into_iter().filter(|(_, (count, ..))| *count > 1);
    let repeated = again.map(|(name, (count, same, _))| RepeatedName {
        name: String::from_utf8_lossy(name).into_owned(),
        count,
        same,
    });
    Some(repeated.collect())
}

/// The central directory at the end of an archive; `None` if there is none or it is too large.
fn list(source: &mut File) -> Option<Vec<u8>> {
    const END: &[u8] = b"PK\x05\x06";
    const LONGEST_END: u64 = 22 + 65535;
    const LONGEST: u64 = 1 << 26;
    let length = source.metadata().ok()?.len();
    source.seek(SeekFrom::Start(length.saturating_sub(LONGEST_END))).ok()?;
    let mut tail = Vec::new();
    source.read_to_end(&mut tail).ok()?;
    let at = tail.windows(END.len()).rposition(|window| window == END)?;
    let number = |at: usize| Some(u64::from(u32::from_le_bytes(tail.get(at..at + 4)?.try_into().ok()?)));
    let size = number(at + 12)?;
    // Located from its end, not by the offset in the archive: other data may precede the archive.
    let end = length - (tail.len() - at) as u64;
    source.seek(SeekFrom::Start(end.checked_sub(size).filter(|_| size <= LONGEST)?)).ok()?;
    let mut list = Vec::new();
    source.take(size).read_to_end(&mut list).ok()?;
    Some(list)
}

enum Damage {
    Broken(String),
    Excess(String, String),
}

fn too_large(size: u64) -> String {
    format!("it has {size} bytes, at most {LARGEST} are allowed")
}

impl PackageEntry {
    fn of(archive: &mut zip::ZipArchive<BufReader<File>>, index: usize) -> Result<PackageEntry, String> {
        let entry = archive.by_index_raw(index).map_err(|error| error.to_string())?;
        let written = entry.name().map_err(|error| error.to_string())?.into_owned();
        let name = written.replace('\\', "/");
        let method = match entry.compression() {
            zip::CompressionMethod::Stored | zip::CompressionMethod::Deflated => None,
            other => Some(other.to_string()),
        };
        Ok(PackageEntry {
            folder: name.ends_with('/'),
            special: entry
                .unix_mode()
                .is_some_and(|mode| !matches!(mode & 0o170000, 0 | 0o100000 | 0o040000)),
            leads_out: inside(&written).is_none(),
            encrypted: entry.encrypted(),
            method,
            damage: None,
            name: name.strip_prefix("./").map(str::to_owned).unwrap_or(name),
            written,
        })
    }
}

impl XmlFile {
    fn new(entry: &'static str, bytes: Result<Vec<u8>, String>) -> XmlFile {
        let mut encoding = None;
        let content = bytes.and_then(|bytes| {
            if bytes.len() as u64 > LARGEST {
                return Err(too_large(bytes.len() as u64));
            }
            encoding = wrong_encoding(&bytes);
            let decoded = decode(bytes, entry).map_err(|problem: FileProblem| problem.message)?;
            Ok(decoded.0)
        });
        XmlFile { entry, content, encoding }
    }
}

/// The standard requires UTF-8, declared in the first line.
fn wrong_encoding(bytes: &[u8]) -> Option<String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Some("UTF-16".into());
    }
    if let Err(error) = std::str::from_utf8(bytes) {
        return Some(format!("byte {} is not UTF-8", error.valid_up_to()));
    }
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
    let declared = head
        .trim_start_matches('\u{feff}')
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split("?>").next())
        .and_then(|declaration| declaration.split("encoding").nth(1))
        .map(|value| value.trim_start_matches([' ', '=', '"', '\'']))
        .and_then(|value| value.split(['"', '\'']).next());
    match declared {
        Some(name) if name.eq_ignore_ascii_case("utf-8") => None,
        Some(name) => Some(format!("\"{name}\" in the first line")),
        None => Some("no encoding in the first line".into()),
    }
}

/// Whether the file starts like XML, in any encoding. The file position is restored.
fn is_xml(source: &mut File) -> io::Result<bool> {
    let mut first = Vec::new();
    source.take(64).read_to_end(&mut first)?;
    source.rewind()?;
    let rest = match first.as_slice() {
        [0xef, 0xbb, 0xbf, rest @ ..] | [0xff, 0xfe, rest @ ..] => rest,
        [0xfe, 0xff, 0, rest @ ..] => rest,
        all => all,
    };
    Ok(rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'<'))
}

/// Platform, name and ending of a shared library directly in a platform folder.
fn library_parts(name: &str) -> Option<(String, String, String)> {
    let (platform, file) = name.strip_prefix("binaries/")?.split_once('/')?;
    let (stem, ending) = file.rsplit_once('.')?;
    let shared = matches!(ending, "so" | "dll" | "dylib");
    (shared && !file.contains('/')).then(|| (platform.to_owned(), stem.to_owned(), ending.to_owned()))
}
