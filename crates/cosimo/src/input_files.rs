//! Files that go into a run: the system, its scenario, FMUs, tables; and whether they are still what they were.

use std::path::{Path, PathBuf};

use cosimo_pack::hash::sha256;
use cosimo_system::{Files, Problem, check_regular_file, sources};

use crate::checkpoint_file::Input;
use crate::error::{Error, ErrorKind};
use crate::simulation::RunInputs;

/// Those of text that people write first, and how many of them there are.
fn texts_first(inputs: &RunInputs) -> (Vec<PathBuf>, usize) {
    let RunInputs { what, options, system, registry, .. } = inputs;
    let mut files: Vec<PathBuf> = Vec::new();
    if let [file] = what.as_slice()
        && !sources::is_source(file, registry)
    {
        files.push(file.into());
    }
    files.extend(options.scenario.clone());
    let written = files.len();
    for component in &system.components {
        files.extend(sources::file(&component.source).map(|file| system.folder.join(file)));
    }
    files.extend(system.experiment.history.iter().map(|(file, _)| system.folder.join(file)));
    files[written..].sort();
    files.dedup();
    (files, written)
}

/// Every file that goes into a run.
pub(crate) fn list(inputs: &RunInputs) -> Vec<PathBuf> {
    texts_first(inputs).0
}

/// Every file that goes into a run, as a checkpoint keeps it.
pub(crate) fn hashed(inputs: &RunInputs) -> Result<Vec<Input>, Error> {
    let (files, written) = texts_first(inputs);
    let input = |(place, file): (usize, &PathBuf)| {
        let unreadable = |cause| format!("cannot read `{}`: {cause}", file.display());
        let sha256 = hash(file).map_err(|cause| Error::new(ErrorKind::File, unreadable(cause), None))?;
        let text = if place < written { std::fs::read_to_string(file).ok() } else { None };
        Ok(Input { file: file.to_string_lossy().into_owned(), sha256, text })
    };
    files.iter().enumerate().map(input).collect()
}

/// Whether the input files of a checkpoint are unchanged; reports all that are not.
pub fn compare(inputs: &[Input]) -> Result<(), Error> {
    let (mut problems, mut kind) = (Vec::new(), ErrorKind::Input);
    for input in inputs {
        let file = &input.file;
        match hash(Path::new(file)) {
            Ok(now) if now == input.sha256 => {}
            Ok(_) => {
                let message =
                    format!("`{file}` has changed since the checkpoint was made{}", difference(input));
                let hint =
                    "a run goes on only with what it began with; bring the file back, or run from the start";
                problems.push(Problem::error("", message, 0..0).hint(hint));
                kind = ErrorKind::Input;
            }
            Err(cause) => {
                let message = format!("cannot read `{file}`, which the run began with: {cause}");
                let hint = "bring the file back, or run from the start";
                problems.push(Problem::error("", message, 0..0).hint(hint));
                kind = ErrorKind::File;
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::of(kind, problems, Files::default())) }
}

/// The first line that is not as it was, where that is known.
fn difference(input: &Input) -> String {
    let Some((before, now)) = input.text.as_ref().zip(std::fs::read_to_string(&input.file).ok()) else {
        return String::new();
    };
    let end = ["(end of the file)"];
    let lines = before.lines().chain(end).zip(now.lines().chain(end));
    match lines.enumerate().find(|(_, (before, now))| before != now) {
        Some((place, (before, now))) => {
            format!(": line {} was `{}` and is `{}`", place + 1, before.trim(), now.trim())
        }
        None => String::new(),
    }
}

/// Of a file, or of all files of an unpacked unit in the order of their names.
fn hash(path: &Path) -> std::io::Result<String> {
    if !path.is_dir() {
        return check_regular_file(path).and_then(|()| std::fs::read(path)).map(|bytes| sha256(&bytes));
    }
    let entries = std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<Result<Vec<PathBuf>, _>>()?;
    entries.sort();
    let mut all = String::new();
    for entry in entries {
        // By their names inside: where the folder lies is no part of it.
        all += &format!("{} {}\n", entry.file_name().unwrap_or_default().display(), hash(&entry)?);
    }
    Ok(sha256(all.as_bytes()))
}
