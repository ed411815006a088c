//! Writing: a description with its files, as an archive or in a folder. A structure that was read and not
//! changed is written unchanged, so that annotations, geometry, order and layout are kept.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cosimo_core::Registry;
use cosimo_pack::archive::{OURS, inside};
use cosimo_system::{Document, Problem, WriteError, WriteResult};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::load::DEFAULT;
use crate::tree::Rest;
use crate::write;

pub(crate) fn write(
    document: &Document,
    path: &Path,
    registry: &Registry,
) -> Result<WriteResult, WriteError> {
    let rest = document.rest.as_ref().and_then(|rest| rest.downcast_ref::<Rest>());
    let kept = rest.filter(|rest| rest.system == document.system);
    let (text, files, warnings) = match kept {
        Some(rest) => {
            let files =
                kept_files(rest).map_err(|cause| WriteError::Failed { file: rest.folder.clone(), cause })?;
            let text = document.files.main().map(|file| file.text.clone());
            (text.unwrap_or_default(), files, Vec::new())
        }
        None => {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let written = write::ssd(&document.system, &stem, registry).map_err(WriteError::Problems)?;
            (written.text, written.resources, written.warnings)
        }
    };
    let mut written = Vec::new();
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ssd")) {
        beside(path, &text, &files, &mut written)?;
    } else {
        archive(path, &text, &files)?;
    }
    written.push(path.to_owned());
    Ok(WriteResult { files: written, warnings })
}

/// Everything but the description itself: of an archive all files, else those that the description names.
fn kept_files(rest: &Rest) -> io::Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    if rest.archive {
        below(&rest.folder, Path::new(""), &mut files)?;
    } else {
        files.extend(rest.members.iter().cloned());
    }
    // A selected variant replaces the default.
    let ours = |file: &PathBuf| file.to_string_lossy().starts_with(OURS);
    let description = |file: &&PathBuf| **file == *rest.member || **file == *DEFAULT || ours(file);
    let named = |file: &PathBuf| (rest.folder.join(file), file.to_string_lossy().replace('\\', "/"));
    Ok(files.iter().filter(|file| !description(file)).map(named).collect())
}

fn below(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(root.join(folder))?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            below(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn beside(
    path: &Path,
    text: &str,
    files: &[(PathBuf, String)],
    written: &mut Vec<PathBuf>,
) -> Result<(), WriteError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    for (from, name) in files {
        let to = folder.join(name);
        let failed = |cause| WriteError::Failed { file: to.clone(), cause };
        if let Some(parent) = to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        cosimo_system::format::copy_beside(from, &to, written)?;
    }
    fs::write(path, text).map_err(|cause| WriteError::Failed { file: path.to_owned(), cause })
}

/// Created by one rename, so that a failure keeps the previous file.
fn archive(path: &Path, text: &str, files: &[(PathBuf, String)]) -> Result<(), WriteError> {
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    let written = pack(&draft, path, text, files).and_then(|()| {
        fs::rename(&draft, path).map_err(|cause| WriteError::Failed { file: path.to_owned(), cause })
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// `path` is used in messages.
fn pack(draft: &Path, path: &Path, text: &str, files: &[(PathBuf, String)]) -> Result<(), WriteError> {
    let failed = |cause: io::Error| WriteError::Failed { file: path.to_owned(), cause };
    let zipped = |error: zip::result::ZipError| failed(io::Error::other(error));
    let mut zip = ZipWriter::new(io::BufWriter::new(File::create(draft).map_err(failed)?));
    let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    // FMUs are archives already.
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file(DEFAULT, deflated).map_err(zipped)?;
    zip.write_all(text.as_bytes()).map_err(failed)?;
    for (from, name) in files {
        if inside(name).is_none() {
            let message = format!("`{name}` is outside the folder of the description and cannot be packed");
            let problem = Problem::error("ssp/uri", message, 0..0);
            return Err(WriteError::Problems(vec![problem.hint("move the file into that folder")]));
        }
        let unreadable = |cause| WriteError::Failed { file: from.clone(), cause };
        let packed = [".fmu", ".ssp", ".parquet"].iter().any(|ending| name.to_lowercase().ends_with(ending));
        zip.start_file(name.as_str(), if packed { stored } else { deflated }).map_err(zipped)?;
        let mut file = File::open(from).map_err(unreadable)?;
        io::copy(&mut file, &mut zip).map_err(unreadable)?;
    }
    zip.finish().and_then(|mut file| file.flush().map_err(Into::into)).map_err(zipped)
}
