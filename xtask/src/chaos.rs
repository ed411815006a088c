//! `cargo xtask chaos [--kills N] [--levels N] [--seed N]`: kills runs at random instants and fills disks to random levels,
//! and looks whether rows are lost. The test command takes a few of each.

use std::path::Path;

use crate::{TaskResult, command};

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    let mut variables =
        [("--kills", "COSIMO_KILLS", 200), ("--levels", "COSIMO_LEVELS", 50), ("--seed", "COSIMO_SEED", 7)];
    for pair in arguments.chunks(2) {
        let known =
            variables.iter_mut().find(|(option, ..)| pair.first().is_some_and(|given| given == option));
        match known.zip(pair.get(1).and_then(|number| number.parse().ok())) {
            Some(((_, _, value), number)) => *value = number,
            None => {
                return Err(format!(
                    "`{}` is unknown; expected --kills N, --levels N and --seed N",
                    pair.join(" ")
                ));
            }
        }
    }
    let tests = ["--test", "cli", "--", "a_killed_run_leaves", "a_full_disk_is_a", "--nocapture"];
    let mut cargo = command::cargo(root, &[&["test"], command::WORKSPACE, &tests].concat());
    for (_, variable, value) in variables {
        cargo.env(variable, value.to_string());
    }
    command::show(cargo)
}
