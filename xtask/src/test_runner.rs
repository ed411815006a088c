//! All unit and integration tests: by cargo-nextest where it is installed, each in a process of its own, and by cargo
//! otherwise. Everything that fails is shown, then the ten slowest.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::WORKSPACE;
use crate::{TaskResult, command};

const SLOWEST: usize = 10;

/// How many tests nextest runs at a time.
const THREADS: &str = "NEXTEST_TEST_THREADS";

/// With `fast`, the tests that `.config/nextest.toml` lists as slow are left out; without nextest, all but unit tests.
pub(crate) fn run(root: &Path, environment: &[(&str, PathBuf)], fast: bool) -> TaskResult {
    let nextest = command::works(command::cargo(root, &["nextest", "--version"]));
    let arguments: &[&str] = match (nextest, fast) {
        (true, false) => &["nextest", "run", "--no-fail-fast"],
        (true, true) => &["nextest", "run", "--no-fail-fast", "--profile", "fast"],
        (false, false) => &["test", "--no-fail-fast", "--lib", "--bins", "--tests"],
        (false, true) => &["test", "--no-fail-fast", "--lib"],
    };
    if !nextest {
        println!("cargo-nextest is not installed; `cargo test` takes longer and times programs, not tests");
    }
    let mut cargo = command::cargo(root, &[arguments, WORKSPACE].concat());
    cargo.envs(environment.iter().map(|(name, value)| (name, value)));
    if std::env::var_os(THREADS).is_none() {
        // One more than cores: tests of threads wait for each other much of the time.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        cargo.env(THREADS, (cores + 1).to_string());
    }
    let mut times = Vec::new();
    let outcome = watched(cargo, |line| times.extend(duration(line)));
    times.sort_by(|one, two| two.1.total_cmp(&one.1));
    if !times.is_empty() {
        println!("the slowest of {}:", times.len());
        for (name, seconds) in times.iter().take(SLOWEST) {
            println!("{seconds:>8.1} s  {name}");
        }
    }
    outcome
}

/// Runs it with its output shown, and every line of it looked at.
fn watched(mut command: Command, mut look: impl FnMut(&str)) -> TaskResult {
    let (reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let copy = writer.try_clone().map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).stdout(writer).stderr(copy);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    // The command holds the writing ends, and lines would not end before it does.
    drop(command);
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.map_err(|error| error.to_string())?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        look(&line);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("tests failed: {status}")) }
}

/// A test and how long it took, from a line of nextest; or a program of tests, from one of cargo.
fn duration(line: &str) -> Option<(String, f64)> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("test result: ") {
        let seconds = rest.rsplit_once("finished in ")?.1.strip_suffix('s')?.parse().ok()?;
        return Some((rest.split(';').next()?.to_owned(), seconds));
    }
    let (status, rest) = line.split_once(" [")?;
    if !["PASS", "FAIL", "LEAK"].contains(&status) {
        return None;
    }
    let (seconds, name) = rest.split_once("s]")?;
    let name = name.trim().trim_start_matches(|c: char| "(/)".contains(c) || c.is_ascii_digit() || c == ' ');
    Some((name.to_owned(), seconds.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_from_both_runners() {
        let line = "        PASS [   0.127s] (  12/1079) cosimo::engine energy::a_bond_carries";
        assert_eq!(duration(line), Some(("cosimo::engine energy::a_bond_carries".into(), 0.127)));
        let line =
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 3.25s";
        assert_eq!(duration(line), Some(("ok. 12 passed".into(), 3.25)));
        assert_eq!(duration("        SLOW [> 60.000s] cosimo::engine lines::all"), None);
        assert_eq!(duration("   Compiling cosimo v0.1.0"), None);
    }
}
