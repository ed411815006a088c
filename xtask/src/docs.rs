//! `cargo xtask docs [--update]`: every code block of the documents is true.
//!
//! Blocks are fenced and have a language; an HTML comment before a block says what is special about it:
//!
//! | block | what happens |
//! |---|---|
//! | `sh` | run by a shell in a scratch folder with a copy of `examples`; every command must succeed |
//! | `sh` after `<!-- exit: 1 -->` | the same, and the last command must end with that code |
//! | `sh` after `<!-- not run: reason -->` | not run; counted and listed |
//! | `text`, `json` directly after an `sh` block that was run | compared with what it printed; see [`matches`] |
//! | `text` after `<!-- illustration -->` | left alone |
//! | `rust`, `toml`, ... after `<!-- in: path -->` | must stand in that file, which is compiled or run elsewhere |
//! | `toml` | must be a system without problems: `cosimo check` |
//! | any after `<!-- file: name -->` | written to the scratch folder; a later `sh` block must use it |
//! | `layers` | left to `cargo xtask check-layers` |
//!
//! Also checked: links to files of the repository, and names of tasks of `cargo xtask`. `--update` writes what commands
//! print now into blocks that have no `...`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{TASKS, TaskResult, command};

/// Where documents lie, relative to the workspace: files, and folders with all below them.
const PLACES: &[&str] = &["", "docs", "examples", ".github"];

/// What cargo does for a command of the documents. The programs are those of the tests, so that nothing is built twice.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
    "run --release -- "*) shift 3; exec cosimo "$@" ;;
    "xtask fmus "*) shift 2; exec "$DOCS_WRITE_FMUS" "$DOCS_LIBRARY" "$DOCS_TEST_LIBRARY" "$@" ;;
    *) echo "cargo $*: not known to cargo xtask docs; mark the block with <!-- not run: reason -->"; exit 64 ;;
esac
"#;

pub(crate) fn run(root: &Path, arguments: &[String]) -> TaskResult {
    let update = match arguments {
        [] => false,
        [only] if only == "--update" => true,
        other => return Err(format!("`{}` is not understood; known is `--update`", other.join(" "))),
    };
    let mut files = Vec::new();
    for place in PLACES {
        gather(root, Path::new(place), &mut files)?;
    }
    files.sort();
    let programs = Programs::build(root)?;
    let mut counts = Counts::default();
    let mut problems = Vec::new();
    for file in &files {
        let path = root.join(file);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        let document = Document { root, file, text: &text, programs: &programs };
        let updated = document.check(update, &mut counts, &mut problems)?;
        if let Some(updated) = updated.filter(|updated| *updated != text) {
            std::fs::write(&path, updated).map_err(|error| format!("{file}: {error}"))?;
            println!("{file} updated");
        }
    }
    for reason in &counts.not_run {
        println!("not run: {reason}");
    }
    println!(
        "{} documents: {} blocks run, {} outputs compared, {} blocks equal to a file, {} systems checked, {} not run, {} illustrations",
        files.len(),
        counts.run,
        counts.compared,
        counts.equal,
        counts.systems,
        counts.not_run.len(),
        counts.illustrations
    );
    if problems.is_empty() {
        return Ok(());
    }
    for problem in &problems {
        eprintln!("{problem}");
    }
    Err(format!("{} in documents", problems.len()))
}

#[derive(Default)]
struct Counts {
    run: usize,
    compared: usize,
    equal: usize,
    systems: usize,
    illustrations: usize,
    /// Place and reason of each.
    not_run: Vec<String>,
}

/// Markdown files of a folder; those of `docs` and `examples` with all below. Crates have their own.
fn gather(root: &Path, folder: &Path, files: &mut Vec<String>) -> TaskResult {
    let entries = match std::fs::read_dir(root.join(folder)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("{}: {error}", folder.display())),
    };
    for entry in entries {
        let entry = entry.map_err(|error| error.to_string())?;
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            if folder != Path::new("") {
                gather(root, &path, files)?;
            }
        } else if path.extension().is_some_and(|ending| ending == "md") {
            files.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

/// What commands in documents need.
struct Programs {
    cosimo: PathBuf,
    write_fmus: PathBuf,
    library: PathBuf,
    test_library: PathBuf,
    /// The scratch folders.
    scratch: PathBuf,
}

impl Programs {
    fn build(root: &Path) -> Result<Programs, String> {
        let cosimo = command::cosimo(root)?;
        let example = [&["build"], command::WORKSPACE, &["--example", "write_fmus"]].concat();
        command::show(command::cargo(root, &example))?;
        let target = command::target(root)?;
        let built = target.join("debug");
        let library = |name: &str| {
            let name = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
            built.join("deps").join(name)
        };
        Ok(Programs {
            cosimo,
            write_fmus: built.join("examples/write_fmus"),
            library: library("cosimo_export"),
            test_library: library("cosimo_test_fmus"),
            scratch: target.join("tmp/docs"),
        })
    }

    /// An empty folder with the examples, and a folder of programs beside it.
    fn scratch(&self, root: &Path, document: &str) -> Result<Scratch, String> {
        let base = self.scratch.join(document.replace(['/', '.'], "-"));
        let failed = |error: std::io::Error| format!("{}: {error}", base.display());
        match std::fs::remove_dir_all(&base) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let scratch = Scratch { work: base.join("work"), bin: base.join("bin"), cache: base.join("cache") };
        std::fs::create_dir_all(&scratch.bin).map_err(failed)?;
        copy(&root.join("examples"), &scratch.work.join("examples")).map_err(failed)?;
        let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", self.cosimo.display());
        for (name, text) in [("cargo", CARGO), ("cosimo", script.as_str())] {
            let path = scratch.bin.join(name);
            std::fs::write(&path, text).and_then(|()| make_executable(&path)).map_err(failed)?;
        }
        Ok(scratch)
    }

    /// What a script prints to both outputs, and its exit code.
    fn run(&self, scratch: &Scratch, script: &str) -> Result<(String, Option<i32>), String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("sh")
            .args(["-e", "-c", &format!("exec 2>&1\n{script}")])
            .current_dir(&scratch.work)
            .env("PATH", format!("{}:{path}", scratch.bin.display()))
            .env("DOCS_WRITE_FMUS", &self.write_fmus)
            .env("DOCS_LIBRARY", &self.library)
            .env("DOCS_TEST_LIBRARY", &self.test_library)
            .env("XDG_CACHE_HOME", &scratch.cache)
            .env_remove("COLUMNS")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("sh could not be started: {error}"))?;
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code()))
    }
}

struct Scratch {
    work: PathBuf,
    bin: PathBuf,
    cache: PathBuf,
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// A fenced block.
#[derive(Debug, PartialEq)]
struct Block {
    /// The line of the opening fence, from 1.
    line: usize,
    language: String,
    /// Of the HTML comment before it, `key: value`; empty where there is none.
    marker: (String, String),
    lines: Vec<String>,
}

/// The blocks of a document, or what is wrong with their form.
fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut marker = (String::new(), String::new());
    let mut open: Option<Block> = None;
    let (mut previous_blank, mut in_list) = (true, false);
    for (index, line) in text.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        if let Some(block) = &mut open {
            if fence == Some("") {
                blocks.extend(open.take());
            } else {
                block.lines.push(line.into());
            }
            continue;
        }
        if let Some(language) = fence {
            if language.is_empty() {
                return Err(format!("{}: a block without a language", index + 1));
            }
            let marker = std::mem::take(&mut marker);
            open = Some(Block { line: index + 1, language: language.into(), marker, lines: Vec::new() });
            previous_blank = false;
            continue;
        }
        let comment = line.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
        if let Some(comment) = comment {
            let (key, value) = comment.split_once(':').unwrap_or((comment, ""));
            marker = (key.trim().into(), value.trim().into());
        } else if !line.trim().is_empty() {
            marker = (String::new(), String::new());
            if line.starts_with("    ") && previous_blank && !in_list {
                return Err(format!("{}: an indented block; fence it and give it a language", index + 1));
            }
            let item = line.trim_start().split(' ').next().unwrap_or_default();
            let numbered = item.strip_suffix('.').is_some_and(|n| n.parse::<u32>().is_ok());
            in_list = ["-", "*"].contains(&item) || numbered || in_list && line.starts_with(' ');
        }
        previous_blank = line.trim().is_empty();
    }
    match open {
        None => Ok(blocks),
        Some(block) => Err(format!("{}: a block that does not end", block.line)),
    }
}

struct Document<'a> {
    root: &'a Path,
    /// Relative to the workspace.
    file: &'a str,
    text: &'a str,
    programs: &'a Programs,
}

impl Document<'_> {
    /// Adds what is wrong to `problems`; returns the document with present outputs where it is to be updated.
    fn check(
        &self,
        update: bool,
        counts: &mut Counts,
        problems: &mut Vec<String>,
    ) -> Result<Option<String>, String> {
        problems.extend(self.broken_links());
        problems.extend(self.unknown_tasks());
        let blocks = match blocks(self.text) {
            Ok(blocks) => blocks,
            Err(problem) => {
                problems.push(format!("{}:{problem}", self.file));
                return Ok(None);
            }
        };
        if blocks.is_empty() {
            return Ok(None);
        }
        let scratch = self.programs.scratch(self.root, self.file)?;
        let mut lines: Vec<String> = self.text.lines().map(String::from).collect();
        let mut shift = 0isize;
        // What the block before this one printed, if it was run.
        let mut printed: Option<String> = None;
        for (index, block) in blocks.iter().enumerate() {
            let before = printed.take();
            let at = format!("{}:{}", self.file, block.line);
            let (key, value) = (block.marker.0.as_str(), block.marker.1.as_str());
            let text: String = block.lines.iter().map(|line| format!("{line}\n")).collect();
            match (block.language.as_str(), key) {
                ("layers", _) => {}
                (_, "not run") if value.is_empty() => problems.push(format!("{at}: no reason is given")),
                (_, "not run") => counts.not_run.push(format!("{at}: {value}")),
                ("text", "illustration") => counts.illustrations += 1,
                ("sh", "" | "exit") => {
                    counts.run += 1;
                    let wanted = if key == "exit" { value.parse().ok() } else { Some(0) };
                    let (output, code) = self.programs.run(&scratch, &text)?;
                    if code != wanted {
                        problems
                            .push(format!("{at}: exit code {code:?}, expected {wanted:?}\n{text}{output}"));
                    }
                    printed = Some(output);
                }
                (_, "in") => {
                    counts.equal += 1;
                    let file = std::fs::read_to_string(self.root.join(value)).unwrap_or_default();
                    if !stands_in(&block.lines, &file) {
                        problems.push(format!("{at}: this block is not in {value}"));
                    }
                }
                (_, "file") => {
                    let path = scratch.work.join(value);
                    std::fs::write(&path, &text).map_err(|error| format!("{at}: {value}: {error}"))?;
                    let uses = |later: &Block| {
                        later.language == "sh" && later.lines.iter().any(|line| line.contains(value))
                    };
                    if !blocks[index + 1..].iter().any(uses) {
                        problems.push(format!("{at}: no later block uses {value}"));
                    }
                }
                ("toml", "") => {
                    counts.systems += 1;
                    let path = scratch.work.join("block.toml");
                    std::fs::write(&path, &text).map_err(|error| format!("{at}: {error}"))?;
                    let check = "cosimo check --no-forecast block.toml";
                    let (output, code) = self.programs.run(&scratch, check)?;
                    if code != Some(0) {
                        problems.push(format!("{at}: this system has problems\n{output}"));
                    }
                }
                ("text" | "json", "") => match before {
                    None => problems.push(format!(
                        "{at}: not the output of a block that is run; mark it with <!-- illustration -->"
                    )),
                    Some(output) => {
                        counts.compared += 1;
                        if matches(&block.lines, &output) {
                        } else if update && !block.lines.iter().any(|line| line.contains("...")) {
                            let from = (block.line as isize + shift) as usize;
                            let new: Vec<String> = output.trim_end().lines().map(String::from).collect();
                            shift += new.len() as isize - block.lines.len() as isize;
                            lines.splice(from..from + block.lines.len(), new);
                        } else {
                            problems.push(format!("{at}: the output is now\n{output}"));
                        }
                    }
                },
                (language, "") => problems.push(format!("{at}: a block of `{language}` needs a marker")),
                (language, key) => problems.push(format!("{at}: `{key}` does not apply to `{language}`")),
            }
        }
        Ok(update.then(|| lines.join("\n") + "\n"))
    }

    /// Links into the repository that lead nowhere.
    fn broken_links(&self) -> Vec<String> {
        let folder = Path::new(self.file).parent().unwrap_or(Path::new(""));
        let mut problems = Vec::new();
        for (index, line) in prose(self.text) {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let path = link.split('#').next().unwrap_or_default();
                let outside = link.contains("://") || link.starts_with("mailto:") || path.is_empty();
                if !outside && !self.root.join(folder).join(path).exists() {
                    problems.push(format!("{}:{}: `{link}` leads nowhere", self.file, index + 1));
                }
            }
        }
        problems
    }

    /// `cargo xtask name`, in a block or not, where there is no such task.
    fn unknown_tasks(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, line) in self.text.lines().enumerate() {
            for rest in line.split("cargo xtask ").skip(1) {
                let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
                let name = &rest[..end];
                if !name.is_empty() && !TASKS.iter().any(|task| task.name == name) {
                    problems.push(format!("{}:{}: there is no task `{name}`", self.file, index + 1));
                }
            }
        }
        problems
    }
}

/// Lines outside of blocks, numbered from 0.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// Whether lines follow each other in a file, all indented by the same amount more.
fn stands_in(lines: &[String], file: &str) -> bool {
    let file: Vec<&str> = file.lines().collect();
    let Some(first) = lines.first() else { return false };
    file.windows(lines.len()).any(|window| {
        let Some(indent) = window[0].strip_suffix(first.as_str()).filter(|indent| indent.trim().is_empty())
        else {
            return false;
        };
        let equal = |(line, found): (&String, &&str)| {
            line.is_empty() && found.is_empty() || found.strip_prefix(indent) == Some(line)
        };
        lines.iter().zip(window).all(equal)
    })
}

/// Whether an output is as written: a line `...` stands for any number of lines, `...` inside a line for any text. White space at
/// the ends of lines and of the whole does not count.
fn matches(expected: &[String], output: &str) -> bool {
    let expected: Vec<&str> = expected.iter().map(|line| line.trim_end()).collect();
    let output: Vec<&str> = output.trim_end().lines().map(str::trim_end).collect();
    all_match(
        &expected,
        &output,
        |expected| expected.trim() == "...",
        |expected, found| {
            let pieces: Vec<&str> = expected.split("...").collect();
            let [first, middle @ .., last] = pieces.as_slice() else { return expected == found };
            let Some(mut rest) = found.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
                return false;
            };
            middle.iter().all(|piece| match rest.split_once(piece) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            })
        },
    )
}

/// Compares lists in which some expected items stand for any number of found ones.
fn all_match(
    expected: &[&str],
    found: &[&str],
    is_gap: impl Fn(&str) -> bool + Copy,
    same: impl Fn(&str, &str) -> bool + Copy,
) -> bool {
    match (expected, found) {
        ([], rest) => rest.is_empty(),
        ([gap, others @ ..], _) if is_gap(gap) => {
            (0..=found.len()).any(|skipped| all_match(others, &found[skipped..], is_gap, same))
        }
        ([one, others @ ..], [line, rest @ ..]) => same(one, line) && all_match(others, rest, is_gap, same),
        (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(String::from).collect()
    }

    #[test]
    fn blocks_have_a_language_and_the_marker_before_them() {
        let text = "a\n\n<!-- not run: installs -->\n```sh\napt\n```\n\nwords\n\n```text\nb\n```\n";
        let blocks = blocks(text).unwrap();
        assert_eq!(blocks[0].marker, ("not run".into(), "installs".into()));
        assert_eq!((blocks[0].line, blocks[0].language.as_str()), (4, "sh"));
        assert_eq!((&blocks[1].marker.0[..], &blocks[1].lines[..]), ("", &lines("b")[..]));
    }

    #[test]
    fn a_marker_holds_for_the_next_block_only() {
        let blocks = blocks("<!-- in: a.rs -->\nwords\n\n```rust\n```\n").unwrap();
        assert_eq!(blocks[0].marker.0, "");
    }

    #[test]
    fn blocks_that_cannot_be_checked_are_refused() {
        assert!(blocks("```\nls\n```\n").unwrap_err().contains("without a language"));
        assert!(blocks("words\n\n    ls\n").unwrap_err().contains("indented"));
        assert!(blocks("```sh\nls\n").unwrap_err().contains("does not end"));
        assert!(blocks("1. item\n\n    more of it\n").unwrap().is_empty());
    }

    #[test]
    fn outputs_match_exactly_but_for_gaps() {
        assert!(matches(&lines("a\n...\nd"), "a\nb\nc\nd\n"));
        assert!(matches(&lines("took ... s, 3 steps"), "took 0.1 s, 3 steps"));
        assert!(!matches(&lines("took ... s, 3 steps"), "took 0.1 s, 4 steps"));
        assert!(!matches(&lines("a\nb"), "a\nb\nc\n"));
        assert!(!matches(&lines("1.0"), "1.00\n"));
    }

    #[test]
    fn a_part_of_a_file_may_be_indented_there() {
        let file = "fn main() {\n    let a = 1;\n\n    if a > 0 {\n        b();\n    }\n}\n";
        assert!(stands_in(&lines("let a = 1;\n\nif a > 0 {\n    b();\n}"), file));
        assert!(!stands_in(&lines("let a = 1;\nif a > 0 {"), file));
        assert!(!stands_in(&lines("let a = 2;"), file));
    }

    #[test]
    fn links_in_blocks_are_no_links() {
        let kept: Vec<_> = prose("a\n```sh\nb\n```\nc").map(|(_, line)| line).collect();
        assert_eq!(kept, ["a", "c"]);
    }
}
