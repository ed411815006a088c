//! Files that a run writes: none of them may be one that it reads, and no two of them may be one.

use std::path::{Path, PathBuf};

use crate::{exit, paths, report};

/// `written` are options with their files. All that is wrong is told at once, before any file is touched.
pub(crate) fn check(written: &[(&str, PathBuf)], read: &[PathBuf]) -> Result<(), u8> {
    let mut outcome = Ok(());
    let mut tell = |message: String| {
        report::error(&message, Some("each file that is written must have a name of its own"));
        outcome = Err(exit::BAD_INPUT);
    };
    let read: Vec<(&PathBuf, PathBuf)> = read.iter().map(|file| (file, paths::place(file))).collect();
    let mut before: Vec<(&str, &Path, PathBuf)> = Vec::new();
    for (option, file) in written {
        let place = paths::place(file);
        if let Some((input, _)) = read.iter().find(|(_, known)| *known == place) {
            tell(format!(
                "`{option} {}` would be written over `{}`, which the run reads",
                file.display(),
                input.display()
            ));
        }
        if let Some((other, ..)) = before.iter().find(|(_, _, known)| *known == place) {
            tell(match other == option {
                true => format!("`{option} {}` is given twice", file.display()),
                false => format!("`{other}` and `{option}` would both write `{}`", file.display()),
            });
        }
        before.push((option, file, place));
    }
    outcome
}
