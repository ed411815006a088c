//! `cargo xtask fmus [DIR] [NAME...]`: every native model as FMUs of all versions, with variants, and the test FMUs; or only
//! those whose file name begins with one of the names.
//!
//! The shared libraries are built once and packed into each. The packing is a program of `cosimo-test-fmus`, so that
//! the other tasks need not wait for it to be compiled.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{TaskResult, command};

const BUILD: &[&str] = &[
    "build",
    "--profile",
    "dist",
    "--package",
    "cosimo-export",
    "--package",
    "cosimo-test-fmus",
    "--lib",
    "--message-format",
    "json-render-diagnostics",
];

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    if let Some(option) = arguments.iter().find(|argument| argument.starts_with('-')) {
        return Err(format!("`{option}` is unknown; expected a folder and the beginnings of names"));
    }
    let (folder, names) = match arguments {
        [] => (None, &[][..]),
        [folder, names @ ..] => (Some(PathBuf::from(folder)), names),
    };
    let messages = command::capture(command::cargo(root, BUILD))?;
    let built = |name: &str| {
        library(&messages, name).ok_or_else(|| format!("cargo built no shared library of {name}"))
    };
    let (library, test_library) = (built("cosimo_export")?, built("cosimo_test_fmus")?);
    // The library lies in the profile's part of the target folder.
    let target = library.parent().and_then(Path::parent).unwrap_or(root);
    let folder = folder.unwrap_or_else(|| target.join("fmus"));
    let folder = std::path::absolute(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut pack =
        command::cargo(root, &["run", "--profile", "dist", "--quiet", "--package", "cosimo-test-fmus"]);
    pack.args(["--example", "write_fmus", "--"]).args([&library, &test_library, &folder]).args(names);
    command::show(pack)
}

/// The file among the artifacts that cargo lists.
fn library(messages: &str, name: &str) -> Option<PathBuf> {
    messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let named = message["target"]["name"].as_str()? == name;
        let files = message["filenames"].as_array().filter(|_| named)?;
        let shared = |file: &&str| {
            Path::new(file)
                .extension()
                .is_some_and(|ending| ["so", "dll", "dylib"].iter().any(|e| ending == *e))
        };
        files.iter().filter_map(Value::as_str).find(shared).map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_among_the_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"zip"},"filenames":["/t/libzip.rlib"]}
{"reason":"compiler-artifact","target":{"name":"cosimo_export"},"filenames":["/t/libcosimo_export.rlib","/t/libcosimo_export.so"]}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(library(messages, "cosimo_export"), Some(PathBuf::from("/t/libcosimo_export.so")));
        assert_eq!((library(messages, "cosimo_test_fmus"), library("{}", "zip")), (None, None));
    }
}
