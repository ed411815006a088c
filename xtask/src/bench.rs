//! `cargo xtask bench`: the benchmarks of all crates.

use std::path::Path;

use crate::{TaskResult, command, no_arguments};

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    no_arguments(arguments)?;
    command::show(command::cargo(root, &["bench", "--workspace", "--profile", "dist"]))
}
