//! `cargo xtask browser`: reports of the real command in a real browser, Debian's Chromium driven by playwright-core.
//!
//! Both are fetched where they are missing and can be; where they cannot, `set_up` says why.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Outcome, command, no_arguments};

const CHROMIUM: &str = "/usr/bin/chromium";
const FOLDER: &str = "crates/cosimo-report/browser";
/// What playwright-core asks for.
const NODE_IS_NEW: &str = "process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    no_arguments(arguments)?;
    set_up(root)?;
    test(root)
}

/// Everything the test needs, or what is missing.
pub(crate) fn set_up(root: &Path) -> Outcome {
    let call = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(root.join(FOLDER));
        command
    };
    if !command::works(call("node", &["-e", NODE_IS_NEW])) {
        return Err("Node.js 20 or newer is not installed".into());
    }
    if !Path::new(CHROMIUM).exists() {
        if !is_root() {
            return Err(format!("{CHROMIUM} is not there, and only root can install it"));
        }
        println!("{CHROMIUM} is missing; asking apt-get for it");
        if !command::install(&["chromium"]) {
            return Err(format!("{CHROMIUM} is not there, and apt-get could not install it"));
        }
    }
    // `npm ci` begins by removing what is there, which would be a pity without a network.
    let there = || command::works(call("npm", &["ls"]));
    let fetch = || command::works(call("npm", &["ci", "--no-audit", "--no-fund"]));
    let ready = there() || (fetch() && there());
    if !ready {
        return Err("playwright-core is not installed, and npm could not fetch it".into());
    }
    Ok(())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

pub(crate) fn test(root: &Path) -> Outcome {
    let build = ["build", "--package", "cosimo-cli", "--message-format", "json-render-diagnostics"];
    let messages = command::capture(command::cargo(root, &build))?;
    let cosimo = executable(&messages).ok_or("cargo built no `cosimo`")?;
    // The executable lies in the profile's part of the target folder.
    let target = cosimo.parent().and_then(Path::parent).unwrap_or(root);
    let mut node = Command::new("node");
    node.arg("test.mjs").arg(&cosimo).arg(CHROMIUM).arg(target.join("browser"));
    node.current_dir(root.join(FOLDER));
    command::show(node)
}

/// The command among what cargo says it has built.
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
{"reason":"build-finished","success":true}
"#;
        assert_eq!(executable(messages), Some(PathBuf::from("/t/debug/cosimo")));
        assert_eq!(executable("{}"), None);
    }
}
