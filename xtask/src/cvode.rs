//! `cargo xtask cvode [--fmus]`: the tests of the integrator `cvode`, which no usual build has.
//!
//! SUNDIALS is built from source by cmake and its interface read by libclang: half a minute on two cores, and one or two for
//! the crates that do it. Both are fetched where they are missing and can be; where they cannot, `set_up` says why.

use std::path::Path;
use std::process::Command;

use crate::{TaskResult, command};

const INTEGRATOR: &[&str] = &["test", "--package", "cosimo-ode", "--features", "cvode"];
/// Through the engine, on real FMUs. The crates that read libclang change the features of others, so that most
/// dependencies of Cosimo are built once more: too long for every day.
const FMUS: &[&str] =
    &["test", "--workspace", "--features", "cosimo-cli/cvode", "--test", "fmi", "--", "exchange::"];

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    let fmus = match arguments {
        [] => false,
        [only] if only == "--fmus" => true,
        other => return Err(format!("`{}` is not understood; known is `--fmus`", other.join(" "))),
    };
    set_up(root)?;
    test(root)?;
    if fmus { command::show(command::cargo(root, FMUS)) } else { Ok(()) }
}

/// Everything the build needs, or what is missing.
pub(crate) fn set_up(_: &Path) -> TaskResult {
    let missing = || {
        let mut cmake = Command::new("cmake");
        cmake.arg("--version");
        let cmake = (!command::works(cmake)).then_some("cmake");
        [cmake, (!has_libclang()).then_some("libclang")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" and ")
    };
    let before = missing();
    if before.is_empty() {
        return Ok(());
    }
    println!("{before}: not there; asking apt-get");
    // Fails silently without root rights, and where there is no apt-get.
    command::install(&["cmake", "libclang-dev"]);
    match missing() {
        after if after.is_empty() => Ok(()),
        after => Err(format!("{after}: not there, and apt-get could not install it")),
    }
}

/// Where the crate clang-sys looks first: what a variable says, and LLVM's own folders.
fn has_libclang() -> bool {
    let holds = |folder: &Path| {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.into_iter().any(|file| {
            // `libclang.so` or `libclang-14.so`, not `libclang-cpp.so`.
            let name = file.file_name().to_string_lossy().into_owned();
            name.starts_with("libclang.so")
                || name
                    .strip_prefix("libclang-")
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    if let Some(folder) = std::env::var_os("LIBCLANG_PATH") {
        return holds(Path::new(&folder));
    }
    let installed = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut folders = installed.filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"));
    folders.any(|folder| holds(&folder.path().join("lib")))
}

pub(crate) fn test(root: &Path) -> TaskResult {
    command::show(command::cargo(root, INTEGRATOR))
}
