//! `system.toml` as an entry of the list of system formats.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use cosimo_core::Registry;

use crate::files::Files;
use crate::format::{Document, ReadError, ReadOptions, SystemFormat, WriteError, WriteResult};
use crate::problem::Problem;
use crate::{sources, write};

/// Largest size of a system file.
const MAX_BYTES: u64 = 64 << 20;

/// The format `system.toml`.
pub const TOML: SystemFormat = SystemFormat {
    name: "toml",
    summary: "system file of Cosimo",
    endings: &["toml"],
    read,
    write: Some(write),
};

fn read(file: &Path, asked: &ReadOptions, registry: &Registry) -> Result<Document, ReadError> {
    let path = file.display().to_string();
    let mut text = String::new();
    let opened = crate::check_regular_file(file).and_then(|()| File::open(file));
    let opened = opened.and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    opened.map_err(|cause| ReadError {
        message: format!("cannot read `{path}`: {cause}"),
        hint: None,
        malformed: false,
    })?;
    if text.len() as u64 > MAX_BYTES {
        return Err(ReadError {
            message: format!("`{path}` is larger than {} MB", MAX_BYTES >> 20),
            hint: Some(
                "is it the right file? a system with a thousand components needs less than one MB".into(),
            ),
            malformed: true,
        });
    }
    let folder = file.parent().map_or_else(PathBuf::new, Path::to_owned);
    let (system, mut problems) = super::read(&text, &folder, registry);
    if let Some(variant) = &asked.variant {
        let message =
            format!("a system file has no variants, got `{variant}`; only SSP packages have variants");
        problems.push(Problem::error("system/variant", message, 0..0));
    }
    Ok(Document { system, problems, files: Files::one(path, text), rest: None })
}

/// Files from an archive are copied to `resources/`; other files stay where they are and get relative paths.
fn write(document: &Document, path: &Path, _: &Registry) -> Result<WriteResult, WriteError> {
    let mut system = document.system.clone();
    let here = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    let (mut taken, mut files) = (std::collections::BTreeMap::new(), Vec::new());
    let folder = system.folder.clone();
    let mut place = |file: &str| -> Result<String, WriteError> {
        let from = folder.join(file);
        let failed = |cause| WriteError::Failed { file: from.clone(), cause };
        if document.rest.is_none() {
            let whole = from.canonicalize().map_err(failed)?;
            let here = if here.as_os_str().is_empty() { Path::new(".") } else { &here };
            return Ok(relative_path(&here.canonicalize().map_err(failed)?, &whole)
                .to_string_lossy()
                .into_owned());
        }
        let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut number = 1;
        let to = loop {
            let prefix = if number == 1 { String::new() } else { format!("{number}-") };
            let to = format!("resources/{prefix}{name}");
            if taken.entry(to.clone()).or_insert_with(|| from.clone()) == &from {
                break to;
            }
            number += 1;
        };
        std::fs::create_dir_all(here.join("resources")).map_err(failed)?;
        crate::format::copy_beside(&from, &here.join(&to), &mut files)?;
        Ok(to)
    };
    for component in &mut system.components {
        if let Some(file) = sources::file(&component.source) {
            component.source = place(file)?;
        }
    }
    if let Some((history, _)) = &mut system.experiment.history {
        *history = place(&history.to_string_lossy())?.into();
    }
    let failed = |cause| WriteError::Failed { file: path.to_owned(), cause };
    std::fs::write(path, write::to_toml(&system)).map_err(failed)?;
    files.push(path.to_owned());
    Ok(WriteResult { files, warnings: Vec::new() })
}

/// The relative path from a folder to a file, both canonical.
fn relative_path(folder: &Path, file: &Path) -> PathBuf {
    let shared = folder.components().zip(file.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| std::path::Component::ParentDir);
    up.chain(file.components().skip(shared)).collect()
}
