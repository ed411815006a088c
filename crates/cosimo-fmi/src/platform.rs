//! Which binary of an FMU is for this machine, what others are there, and why one cannot load.
//! All platforms are in one table.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::description::{Description, Fmi, FmuUse, InterfaceInfo};
use crate::elf::{self, Elf};
use crate::problem::FileProblem;
use crate::python;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Platform {
    /// Folder below `binaries` in FMI 1.0 and 2.0; empty where the standard names none.
    pub fmi2: &'static str,
    pub fmi3: &'static str,
    /// As Rust spells them.
    pub os: &'static str,
    pub arch: &'static str,
    pub ending: &'static str,
}

const fn platform(
    fmi2: &'static str,
    fmi3: &'static str,
    os: &'static str,
    arch: &'static str,
    ending: &'static str,
) -> Platform {
    Platform { fmi2, fmi3, os, arch, ending }
}

/// FMI 2.0 names Intel only; tools use the names of FMI 3.0 there for the rest.
pub const PLATFORMS: &[Platform] = &[
    platform("linux64", "x86_64-linux", "linux", "x86_64", "so"),
    platform("linux32", "x86-linux", "linux", "x86", "so"),
    platform("aarch64-linux", "aarch64-linux", "linux", "aarch64", "so"),
    platform("aarch32-linux", "aarch32-linux", "linux", "arm", "so"),
    platform("riscv64-linux", "riscv64-linux", "linux", "riscv64", "so"),
    platform("win64", "x86_64-windows", "windows", "x86_64", "dll"),
    platform("win32", "x86-windows", "windows", "x86", "dll"),
    platform("aarch64-windows", "aarch64-windows", "windows", "aarch64", "dll"),
    platform("darwin64", "x86_64-darwin", "macos", "x86_64", "dylib"),
    platform("darwin32", "x86-darwin", "macos", "x86", "dylib"),
    platform("aarch64-darwin", "aarch64-darwin", "macos", "aarch64", "dylib"),
];

impl Platform {
    pub fn folder(&self, fmi: Fmi) -> &'static str {
        match fmi {
            Fmi::One | Fmi::Two => self.fmi2,
            Fmi::Three => self.fmi3,
        }
    }

    /// The one this program was built for.
    pub fn here() -> Option<&'static Platform> {
        PLATFORMS
            .iter()
            .find(|platform| platform.os == std::env::consts::OS && platform.arch == std::env::consts::ARCH)
    }
}

/// Folders below `binaries` that hold a file, sorted. Some tools pack empty ones for platforms they could serve.
pub fn present(folder: &Path) -> Vec<String> {
    let inside = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = inside(&folder.join("binaries"))
        .filter(|entry| inside(&entry.path()).any(|file| file.path().is_file()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The library for this machine; one identifier per use.
pub fn binary(folder: &Path, description: &Description, usage: FmuUse) -> Result<PathBuf, FileProblem> {
    let Some(here) = Platform::here() else {
        return Err(FileProblem::new(format!(
            "FMI names no platform for {} on {}",
            std::env::consts::ARCH,
            std::env::consts::OS
        )));
    };
    let Some(InterfaceInfo { identifier, .. }) = description.offer(usage) else {
        return Err(FileProblem::new(format!("the FMU does not support {}", usage.name())));
    };
    if identifier.is_empty() || identifier.contains(['/', '\\', '\0']) {
        return Err(FileProblem::new(format!(
            "the model identifier `{identifier}` is not the name of a file"
        )));
    }
    let wanted = here.folder(description.fmi);
    // Some tools use the names of the other version.
    for name in [wanted, here.fmi2, here.fmi3] {
        let path = folder.join("binaries").join(name).join(format!("{identifier}.{}", here.ending));
        if path.is_file() {
            return Ok(path);
        }
    }
    let there = present(folder);
    if there.iter().any(|name| name == wanted) {
        return Err(FileProblem::new(format!(
            "{identifier}.{} (as `modelIdentifier`) is missing in binaries/{wanted}",
            here.ending
        ))
        .hint("description and binary do not match; re-export the FMU"));
    }
    let (found, hint) = if there.is_empty() && folder.join("sources").is_dir() {
        ("it has source code only".into(), "compile its sources, or ask for an FMU with binaries")
    } else if there.is_empty() {
        ("it has no binary at all".into(), "re-export it with binaries")
    } else {
        let list: Vec<String> = there.iter().map(|name| known_as(name)).collect();
        (format!("it has {}", list.join(", ")), "export it for this platform, or run Cosimo on one of these")
    };
    Err(FileProblem::new(format!(
        "the FMU has no binary for this platform: expected binaries/{wanted}, {found}"
    ))
    .hint(hint))
}

/// A folder's name, with its meaning where the name hides it.
fn known_as(name: &str) -> String {
    match PLATFORMS.iter().find(|platform| platform.fmi2 == name || platform.fmi3 == name) {
        Some(platform) if platform.fmi3 != name => format!("{name} ({})", platform.fmi3),
        _ => name.to_owned(),
    }
}

/// What must be right before a library is given to the loader. What the file tells of itself, where that can be read.
pub(crate) fn check_binary(path: &Path) -> Result<Option<Elf>, FileProblem> {
    if std::env::consts::OS != "linux" {
        return Ok(None);
    }
    let bytes = std::fs::read(path)
        .map_err(|error| FileProblem::new(format!("{} cannot be read: {error}", path.display())))?;
    let name = file_name(path);
    let Some(elf) = elf::read(&bytes) else {
        let found = if bytes.starts_with(b"MZ") { "it is one for Windows" } else { "it is not an ELF file" };
        return Err(FileProblem::new(format!("{name} is not a shared library for Linux ({found})"))
            .hint("the FMU was packed wrongly; re-export it"));
    };
    let (wanted, _) = elf::machine(std::env::consts::ARCH).unwrap_or((elf.machine, elf.bits));
    if elf.machine != wanted || elf.bits != usize::BITS {
        return Err(FileProblem::new(format!(
            "{name} is compiled for {}, {} bits; this machine is {}, {} bits",
            elf::machine_name(elf.machine),
            elf.bits,
            elf::machine_name(wanted),
            usize::BITS
        ))
        .hint("export the FMU for this platform, or use a Cosimo built for that of the FMU"));
    }
    let length = bytes.len() as u64;
    if elf.length.is_none_or(|needed| needed > length) {
        let wanted = elf.length.map_or("more".into(), |needed| format!("at least {needed}"));
        return Err(FileProblem::new(format!("{name} is truncated: expected {wanted} bytes, got {length}"))
            .hint("the FMU is damaged; download or re-export it"));
    }
    Ok(Some(elf))
}

/// Libraries that it needs and that are nowhere.
pub(crate) fn missing_needs(path: &Path) -> Option<FileProblem> {
    let missing = needs(path).missing;
    if missing.is_empty() {
        return None;
    }
    let name = file_name(path);
    let list = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Some(
        FileProblem::new(format!(
            "{name} cannot be loaded: it needs {list}, which this machine does not have"
        ))
        .hint("install it, or add its folder to LD_LIBRARY_PATH"),
    )
}

/// Why the loader refused, in words: its own, and what the file itself tells.
pub(crate) fn explain_refusal(path: &Path, said: &str) -> FileProblem {
    missing_needs(path).unwrap_or_else(|| {
        let problem = FileProblem::new(format!("{} cannot be loaded: {said}", file_name(path)));
        if said.contains("_Py") || said.contains("undefined symbol: Py") {
            problem.hint("the FMU was built for another Python version: set COSIMO_LIBPYTHON to its library")
        } else if said.contains("undefined symbol") {
            problem.hint("the FMU was not linked with a library that it uses; report this to its vendor")
        } else {
            problem
        }
    })
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// What a library needs beyond itself.
#[derive(Debug, Default)]
struct Needs {
    /// Nowhere to be found.
    missing: BTreeSet<String>,
    /// Beside the library, where the loader does not look; each after those that it needs itself.
    beside: Vec<PathBuf>,
    seen: BTreeSet<PathBuf>,
}

/// Libraries that were packed beside one that needs them, in the order in which to load them.
pub(crate) fn beside(path: &Path) -> Vec<PathBuf> {
    needs(path).beside
}

fn needs(path: &Path) -> Needs {
    let mut needs = Needs::default();
    if std::env::consts::OS == "linux" {
        look_for_needs(path, &mut needs);
    }
    needs
}

fn look_for_needs(path: &Path, needs: &mut Needs) {
    // A chain of a few hundred libraries is a big program; a thousand is a circle that was missed.
    if needs.seen.len() > 1000 || !needs.seen.insert(path.to_owned()) {
        return;
    }
    let Some(elf) = std::fs::read(path).ok().and_then(|bytes| elf::read(&bytes)) else { return };
    let home = path.parent().unwrap_or(Path::new("/"));
    let mut folders: Vec<PathBuf> = elf
        .search
        .iter()
        .map(|folder| {
            PathBuf::from(folder.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", &home.to_string_lossy()))
        })
        .collect();
    folders.extend(loader_folders());
    // The Python of an FMU is looked for in more places, and what is said about it there is better.
    let fmu = needs.seen.len() == 1;
    for name in elf.needed.iter().filter(|name| !(fmu && python::is_libpython(name))) {
        if name.contains('/') {
            if !Path::new(name).is_file() {
                needs.missing.insert(name.clone());
            }
            continue;
        }
        let neighbour = home.join(name);
        match folders.iter().map(|folder| folder.join(name)).find(|candidate| candidate.is_file()) {
            Some(found) => look_for_needs(&found, needs),
            None if neighbour.is_file() => {
                look_for_needs(&neighbour, needs);
                if !needs.beside.contains(&neighbour) {
                    needs.beside.push(neighbour);
                }
            }
            None => {
                needs.missing.insert(name.clone());
            }
        }
    }
}

/// A library by its name, where the loader looks by itself.
pub(crate) fn find_library(name: &str) -> Option<PathBuf> {
    loader_folders().into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Where the loader looks by itself, as far as text files say.
fn loader_folders() -> Vec<PathBuf> {
    let arch = std::env::consts::ARCH;
    let mut folders: Vec<PathBuf> =
        std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths).collect();
    folders
        .extend([format!("/lib/{arch}-linux-gnu"), format!("/usr/lib/{arch}-linux-gnu")].map(PathBuf::from));
    folders.extend(["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"].map(PathBuf::from));
    let extra = std::fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten();
    for file in extra.map(|entry| entry.path()).chain([PathBuf::from("/etc/ld.so.conf")]) {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        folders.extend(text.lines().map(str::trim).filter(|line| line.starts_with('/')).map(PathBuf::from));
    }
    folders
}
