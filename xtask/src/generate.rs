//! `cargo xtask generate`: files that follow from the registry, or from structs, are written from them, never by hand.
//! With `--check` nothing is written; a stale file is a failure.

use std::path::Path;
use std::process::Command;

use crate::{TaskResult, command};

/// Files, and the arguments that make `cosimo` print them.
const FILES: [(&str, &[&str]); 7] = [
    ("cosimo.schema.json", &["schema"]),
    ("certificate.schema.json", &["schema", "certificate"]),
    ("schemas/check.schema.json", &["schema", "check"]),
    ("schemas/compare.schema.json", &["schema", "compare"]),
    ("schemas/info.schema.json", &["schema", "info"]),
    ("schemas/summary.schema.json", &["schema", "summary"]),
    ("schemas/verify.schema.json", &["schema", "verify"]),
];

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    let check = match arguments {
        [] => false,
        [only] if only == "--check" => true,
        other => return Err(format!("`{}` is not understood; known is `--check`", other.join(" "))),
    };
    let cosimo = command::cosimo(root)?;
    FILES.iter().try_for_each(|(file, printed_by)| generate(root, &cosimo, file, printed_by, check))
}

fn generate(root: &Path, cosimo: &Path, file: &str, printed_by: &[&str], check: bool) -> TaskResult {
    let mut schema = Command::new(cosimo);
    schema.args(printed_by).current_dir(root);
    let schema = command::capture(schema)?;
    // An empty or half-written file would be accepted by every later check.
    if let Err(error) = serde_json::from_str::<serde_json::Value>(&schema) {
        return Err(format!("`cosimo {}` printed something that is not JSON: {error}", printed_by.join(" ")));
    }
    let path = root.join(file);
    let present = std::fs::read_to_string(&path).ok();
    if present.as_deref().is_some_and(|present| same_lines(present, &schema)) {
        println!("{file} is up to date");
        return Ok(());
    }
    if check {
        let state = if present.is_some() { "is out of date" } else { "is missing" };
        return Err(format!("{file} {state}\nhint: run `cargo xtask generate`"));
    }
    std::fs::write(&path, &schema).map_err(|error| format!("{file} could not be written: {error}"))?;
    println!("{file} written");
    Ok(())
}

/// Git may check files out with other line ends.
fn same_lines(a: &str, b: &str) -> bool {
    a.lines().eq(b.lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_do_not_count_but_lines_do() {
        assert!(same_lines("{\r\n}\r\n", "{\n}\n"));
        assert!(!same_lines("{\n}\n", "{\n\n}\n"));
    }
}
