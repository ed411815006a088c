//! `cargo xtask python`: a Python with the packages that the tests use, in target/python, made once.
//!
//! Foreign FMUs are made with it and foreign tools run in it. Without a network there is none: then the tests that
//! need it say so and pass, and `cargo xtask test` names the step as skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{TaskResult, command, no_arguments};

const REQUIREMENTS: &str = "xtask/python-requirements.txt";

/// Prints the version, and the shared library of the interpreter if there is one.
const LIBRARY: &str = "
import os, sysconfig
print(sysconfig.get_python_version())
path = os.path.join(sysconfig.get_config_var('LIBDIR') or '', sysconfig.get_config_var('INSTSONAME') or '')
print(path if '.so' in path and os.path.exists(path) else '')
";

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    no_arguments(arguments)?;
    for (name, value) in environment(root)? {
        println!("{name}={}", value.display());
    }
    Ok(())
}

/// Makes it if it is not there, and returns the environment variables for tests.
pub(crate) fn environment(root: &Path) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let folder = command::target(root)?.join("python");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let wanted = std::fs::read_to_string(root.join(REQUIREMENTS))
        .map_err(|error| format!("{REQUIREMENTS} cannot be read: {error}"))?;
    // The stamp is the list itself: it is written last, and any change of the list makes all anew.
    let stamp = folder.join("requirements.txt");
    let made = std::fs::read_to_string(&stamp).is_ok_and(|made| made == wanted);
    if !(made && command::works(with(&python, &["-c", "pass"]))) {
        println!("making {} with the packages of {REQUIREMENTS}", folder.display());
        let _ = std::fs::remove_dir_all(&folder);
        let mut venv = with(Path::new("python3"), &["-m", "venv"]);
        venv.arg(&folder);
        command::show(venv)?;
        let mut install = with(&python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        install.arg("--requirement").arg(root.join(REQUIREMENTS));
        command::show(install)?;
        std::fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    let library = library(&python)?;
    Ok(vec![("COSIMO_PYTHON", python), ("COSIMO_LIBPYTHON", library)])
}

/// The interpreter as a library, for units that bring Python code but no Python; installed where that is possible.
fn library(python: &Path) -> Result<PathBuf, String> {
    if let Some(chosen) = std::env::var_os("COSIMO_LIBPYTHON") {
        return Ok(chosen.into());
    }
    let look = || -> Result<(String, Option<PathBuf>), String> {
        let printed = command::capture(with(python, &["-c", LIBRARY]))?;
        let mut lines = printed.lines();
        let version = lines.next().unwrap_or_default().to_owned();
        Ok((version, lines.next().filter(|path| !path.is_empty()).map(PathBuf::from)))
    };
    let (version, found) = look()?;
    if let Some(found) = found {
        return Ok(found);
    }
    let package = format!("libpython{version}");
    println!("{package} is missing; asking apt-get for it");
    // Fails silently without root rights, and where there is no apt-get.
    command::install(&[&package]);
    look()?.1.ok_or_else(|| format!("Python {version} has no shared library here; install {package}"))
}

fn with(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}
