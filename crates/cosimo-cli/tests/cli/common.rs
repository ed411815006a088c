//! The command as a person runs it, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) use crate::scratch::fresh as folder;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The quarter car of the papers with some text replaced, as `system.toml` in the folder.
pub(crate) fn system(folder: &Path, changes: &[(&str, &str)]) {
    let mut text =
        std::fs::read_to_string(root().join("crates/cosimo-papers/systems/quarter-car/system.toml")).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "the example no longer has `{from}`");
        text = text.replacen(from, to, 1);
    }
    std::fs::write(folder.join("system.toml"), text).unwrap();
}

pub(crate) fn cosimo(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cosimo")).args(args).current_dir(folder).output().unwrap()
}

/// What a person sees when it goes wrong: the exit code and everything on stderr.
pub(crate) fn complaint(output: &Output) -> String {
    format!("exit {}\n{}", output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr))
}
