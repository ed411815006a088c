//! Paths as seen from another folder.

use std::path::{Component, Path, PathBuf};

/// The way from a folder to a file or folder that exist, without names that they share.
pub fn relative(from: &Path, to: &Path) -> std::io::Result<PathBuf> {
    let here = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
    let (from, to) = (here(from).canonicalize()?, here(to).canonicalize()?);
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to.components().skip(shared)).collect();
    Ok(here(&way))
}

/// Whether two paths lead to one file, as far as both exist.
pub fn same(one: &Path, other: &Path) -> bool {
    let real = one.canonicalize().ok();
    one == other || (real.is_some() && other.canonicalize().ok() == real)
}

/// A file without links, also one that does not exist yet in a folder that does.
pub fn real(file: &Path) -> Option<PathBuf> {
    let beside = || Some(folder(file).canonicalize().ok()?.join(file.file_name()?));
    file.canonicalize().ok().or_else(beside)
}

/// The same, as far as that can be determined.
pub fn place(file: &Path) -> PathBuf {
    real(file).or_else(|| std::path::absolute(file).ok()).unwrap_or_else(|| file.to_owned())
}

/// The folder of a file, `.` where it is the present one.
pub fn folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
