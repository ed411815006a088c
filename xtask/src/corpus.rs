//! `cargo xtask corpus [--seed N] [--count N] [--class NAME] [--only SEED] [--save DIR] [--list KIND]`: random systems with a known
//! truth, natively and as FMUs, against the error bars of their runs. Fails where these are not good enough, and names
//! the systems, each of which can be made again by its class and seed.

use std::path::Path;

use crate::{TaskResult, command};

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    // The shared library of the FMUs is built by name: as a dependency it would not lie beside the program.
    command::show(command::cargo(
        root,
        &["build", "--quiet", "--package", "cosimo-corpus", "--package", "cosimo-export"],
    ))?;
    let mut corpus = command::cargo(root, &["run", "--quiet", "--package", "cosimo-corpus", "--"]);
    corpus.args(arguments);
    command::show(corpus)
}
