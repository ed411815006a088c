//! `cargo xtask browser`: reports of the real command in a real browser, Debian's Chromium driven by playwright-core.
//! `cargo xtask screenshot` takes the picture of one for the README.
//!
//! Both are fetched where they are missing and can be; where they cannot, `set_up` says why.

use std::path::Path;
use std::process::Command;

use crate::{TaskResult, command, no_arguments};

const CHROMIUM: &str = "/usr/bin/chromium";
const FOLDER: &str = "crates/cosimo-report/browser";
/// What playwright-core asks for.
const NODE_IS_NEW: &str = "process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)";

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    no_arguments(arguments)?;
    set_up(root)?;
    test(root)
}

pub(crate) fn screenshot(root: &Path, arguments: &[String]) -> TaskResult {
    no_arguments(arguments)?;
    set_up(root)?;
    let cosimo = command::cosimo(root)?;
    let mut node = Command::new("node");
    node.arg("screenshot.mjs").arg(cosimo).arg(CHROMIUM);
    node.arg(root.join("examples/quarter-car/system.toml")).arg(root.join("docs/report.png"));
    node.current_dir(root.join(FOLDER));
    command::show(node)
}

/// Everything the test needs, or what is missing.
pub(crate) fn set_up(root: &Path) -> TaskResult {
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

pub(crate) fn test(root: &Path) -> TaskResult {
    let cosimo = command::cosimo(root)?;
    // The executable lies in the profile's part of the target folder.
    let target = cosimo.parent().and_then(Path::parent).unwrap_or(root);
    let mut node = Command::new("node");
    node.arg("test.mjs").arg(&cosimo).arg(CHROMIUM).arg(target.join("browser"));
    node.current_dir(root.join(FOLDER));
    command::show(node)
}
