//! Running cargo, the same one that runs us, and what it builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// All packages, with every feature that cargo alone can build. Fewer packages or other features would build a part of the
/// dependencies once more.
pub(crate) const WORKSPACE: &[&str] = &["--workspace", "--features", "cosimo-cli/png"];

/// Cargo with the given arguments, in the workspace's folder.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root);
    command
}

/// Runs it with its output shown.
pub(crate) fn show(mut command: Command) -> Result<(), String> {
    let status = command.status().map_err(|error| could_not_start(&command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", spelled(&command))) }
}

/// Runs it and returns what it printed; its errors are shown.
pub(crate) fn capture(mut command: Command) -> Result<String, String> {
    command.stderr(Stdio::inherit());
    let output = command.output().map_err(|error| could_not_start(&command, &error))?;
    if !output.status.success() {
        return Err(format!("{}: {}", spelled(&command), output.status));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("{}: printed something that is not UTF-8", spelled(&command)))
}

/// Whether it runs and succeeds, without a word.
pub(crate) fn works(mut command: Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Debian packages, installed as root only.
pub(crate) fn install(packages: &[&str]) -> bool {
    let apt_get = |arguments: &[&str]| {
        let mut apt_get = Command::new("apt-get");
        apt_get.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        works(apt_get)
    };
    let install = || apt_get(&[&["install", "--yes"], packages].concat());
    // A fresh machine may have no list of packages yet.
    install() || (apt_get(&["update"]) && install())
}

fn could_not_start(command: &Command, error: &std::io::Error) -> String {
    format!("{} could not be started: {error}", spelled(command))
}

/// As a person would type it.
fn spelled(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The folder of whatever cargo builds.
pub(crate) fn target(root: &Path) -> Result<PathBuf, String> {
    let metadata = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let metadata: Value = serde_json::from_str(&capture(cargo(root, &metadata))?)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let folder = metadata["target_directory"].as_str().map(PathBuf::from);
    folder.ok_or_else(|| "cargo names no target folder".into())
}

/// Builds the `cosimo` command and returns its path: the one that the tests of the command line run. Built by itself it
/// would have dependencies with other features than `cargo test --workspace`, and a tenth of them, the slowest, be built twice.
pub(crate) fn cosimo(root: &Path) -> Result<PathBuf, String> {
    let build = ["--no-run", "--test", "cli", "--message-format", "json-render-diagnostics"];
    executable(&capture(cargo(root, &[&["test"], WORKSPACE, &build].concat()))?)
        .ok_or_else(|| "cargo built no `cosimo`".into())
}

/// The command among the artifacts that cargo lists.
fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let named = message["target"]["name"].as_str()? == "cosimo";
        message["executable"].as_str().filter(|_| named).map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_found_among_the_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"cosimo"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"cosimo"},"executable":"/t/debug/cosimo"}
{"reason":"compiler-artifact","target":{"name":"cli"},"executable":"/t/debug/deps/cli-1"}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(executable(messages), Some(PathBuf::from("/t/debug/cosimo")));
        assert_eq!(executable("{}"), None);
    }
}
