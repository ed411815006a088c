//! Files that a run writes: none of them may be one that it reads, and no two of them may be one.

use std::path::{Path, PathBuf};

use cosimo_system::{Files, Problem};

use crate::error::Error;
use crate::paths;

/// `written` are options with their files. All problems are reported at once, before any file is touched.
pub(crate) fn check(written: &[(&str, PathBuf)], read: &[PathBuf]) -> Result<(), Error> {
    let mut problems = Vec::new();
    let mut refuse = |message: String| {
        let remedy = "each file that is written must have a name of its own";
        problems.push(Problem::error("", message, 0..0).hint(remedy));
    };
    let read: Vec<(&PathBuf, PathBuf)> = read.iter().map(|file| (file, paths::place(file))).collect();
    let mut before: Vec<(&str, &Path, PathBuf)> = Vec::new();
    for (option, file) in written {
        let place = paths::place(file);
        if let Some((input, _)) = read.iter().find(|(_, known)| *known == place) {
            refuse(format!(
                "`{option} {}` would be written over `{}`, which the run reads",
                file.display(),
                input.display()
            ));
        }
        if let Some((other, ..)) = before.iter().find(|(_, _, known)| *known == place) {
            refuse(match other == option {
                true => format!("`{option} {}` is given twice", file.display()),
                false => format!("`{other}` and `{option}` would both write `{}`", file.display()),
            });
        }
        before.push((option, file, place));
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::input(problems, Files::default())) }
}
