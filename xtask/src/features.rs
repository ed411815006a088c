//! `cargo xtask features`: the library without any feature, and with each alone, compiles without warnings.

use std::path::Path;

use crate::{TaskResult, command, no_arguments};

/// All but `cvode`, which needs more than cargo and has a task of its own. The command only passes them on.
const CHOICES: [(&str, &str); 12] = [
    ("cosimo", ""),
    ("cosimo", "export"),
    ("cosimo", "fmi"),
    ("cosimo", "fmi-check"),
    ("cosimo", "osp"),
    ("cosimo", "parquet"),
    ("cosimo", "plot"),
    ("cosimo", "png"),
    ("cosimo", "report"),
    ("cosimo", "ssp"),
    ("cosimo", "zstd"),
    ("cosimo-cli", ""),
];

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    no_arguments(arguments)?;
    for (package, feature) in CHOICES {
        let chosen = ["--package", package, "--no-default-features", "--features", feature];
        println!("{package}, {}", if feature.is_empty() { "no feature" } else { feature });
        let clippy = [&["clippy", "--quiet"], &chosen[..], &["--", "-D", "warnings"]].concat();
        command::show(command::cargo(root, &clippy))?;
    }
    Ok(())
}
