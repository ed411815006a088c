//! Rules about absence, which no compiler checks: words that must not occur in certain folders.
//!
//! A plain search over lines, on purpose: it knows just enough Rust to skip tests and, where a word is
//! harmless in prose, comments and strings. It relies on rustfmt's layout.

use std::path::{Path, PathBuf};

struct Rule<'a> {
    /// Relative to the workspace.
    folders: &'static [&'static str],
    words: &'a [&'a str],
    /// Files that may, relative to the workspace.
    except: &'static [&'static str],
    look: Look,
    why: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Look {
    /// Code outside tests, without comments and strings.
    Code,
    /// Tests too.
    CodeAndTests,
    /// Everything outside tests, in upper or lower case, words joined by `-`, `_` or nothing.
    Prose,
    /// Outside tests and comments, as a string of its own or between backticks.
    Name,
}

const METHODS: &str = "the engine uses traits, never a concrete method";

/// Methods whose name is a key of a system file, too.
const KEYS: &[&str] = &["hold"];

const RULES: &[Rule<'static>] = &[
    Rule {
        folders: &["crates/cosimo-engine/src"],
        words: &["nepce", "power-residual", "predictor-corrector"],
        except: &[],
        look: Look::Prose,
        why: METHODS,
    },
    Rule {
        folders: &["crates", "xtask"],
        words: &["unsafe"],
        except: &[
            "crates/cosimo-export/src/ffi/absent.rs",
            "crates/cosimo-export/src/ffi/fmi1.rs",
            "crates/cosimo-export/src/ffi/fmi2.rs",
            "crates/cosimo-export/src/ffi/fmi3.rs",
            "crates/cosimo-export/src/ffi/mod.rs",
            "crates/cosimo-export/src/ffi/tables.rs",
            "crates/cosimo-export/tests/fmu/load.rs",
            "crates/cosimo-fmi/src/call_log.rs",
            "crates/cosimo-fmi/src/equations.rs",
            "crates/cosimo-fmi/src/fmi1/ffi.rs",
            "crates/cosimo-fmi/src/fmi1/instance.rs",
            "crates/cosimo-fmi/src/fmi1/logger.rs",
            "crates/cosimo-fmi/src/fmi2/ffi.rs",
            "crates/cosimo-fmi/src/fmi2/instance.rs",
            "crates/cosimo-fmi/src/fmi3/ffi.rs",
            "crates/cosimo-fmi/src/fmi3/instance.rs",
            "crates/cosimo-fmi/src/functions.rs",
            "crates/cosimo-fmi/src/fp_environment.rs",
            "crates/cosimo-fmi/src/instance.rs",
            "crates/cosimo-fmi/src/library.rs",
            "crates/cosimo-fmi/src/log.rs",
            "crates/cosimo-fmi/src/printed.rs",
            "crates/cosimo-fmi/src/process_end.rs",
            "crates/cosimo-fmi/src/python.rs",
            "crates/cosimo-fmi/src/site.rs",
            "crates/cosimo-fmi/src/trial.rs",
            "crates/cosimo-record/src/journal.rs",
            "crates/cosimo-ode/src/sundials.rs",
            "crates/cosimo-test-fmus/src/harm.rs",
            "crates/cosimo-test-fmus/src/loaded.rs",
            // A counting allocator cannot be written without it.
            "crates/cosimo-ode/tests/allocation.rs",
            "crates/cosimo-engine/tests/allocation.rs",
        ],
        look: Look::CodeAndTests,
        why: "it stands where foreign functions are called, and nowhere else",
    },
    Rule {
        folders: &["crates/cosimo-core/src", "crates/cosimo-methods/src"],
        words: &["std::thread", "std::fs"],
        except: &[],
        look: Look::Code,
        why: "core and methods do no I/O and start no thread",
    },
    Rule {
        folders: &["crates/cosimo-core/src", "crates/cosimo-methods/src", "crates/cosimo-engine/src"],
        words: &["HashMap", "HashSet"],
        except: &[],
        look: Look::Code,
        why: "order is part of the result where numbers flow; use vectors or sorted maps",
    },
];

/// All places where a rule is broken.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut problems: Vec<String> = RULES.iter().flat_map(|rule| check_rule(root, rule)).collect();
    let names = method_names(root);
    // A list that was moved would forbid nothing for ever.
    if names.len() < 20 {
        problems.push(format!("only {} methods have a name in {REGISTERED}", names.len()));
    }
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    let folders = &["crates/cosimo-engine/src"];
    problems.extend(check_rule(
        root,
        &Rule { folders, words: &words, except: &[], look: Look::Name, why: METHODS },
    ));
    problems
}

/// Where methods are registered.
const REGISTERED: &str = "crates/cosimo-methods/src";

/// All names of entries, but for those that are keys as well.
fn method_names(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let _ = gather(&root.join(REGISTERED), &mut files); // without files there are no names, which is a problem
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let named = |line: &str| Some(line.trim().strip_prefix("name: \"")?.strip_suffix("\",")?.to_owned());
    let mut names: Vec<String> =
        texts.flat_map(|text| text.lines().filter_map(named).collect::<Vec<_>>()).collect();
    names.retain(|name| !KEYS.contains(&name.as_str()));
    names.sort();
    names.dedup();
    names
}

fn check_rule(root: &Path, rule: &Rule<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    for folder in rule.folders {
        let mut files = Vec::new();
        // A rule about a folder that was renamed would hold for ever.
        if let Err(error) = gather(&root.join(folder), &mut files) {
            problems.push(format!("{folder} cannot be searched for `{}`: {error}", rule.words.join("`, `")));
        }
        for file in files {
            let name = relative(root, &file);
            if rule.except.contains(&name.as_str()) || (rule.look != Look::CodeAndTests && is_test(&file)) {
                continue;
            }
            match std::fs::read_to_string(&file) {
                Err(error) => problems.push(format!("{name} cannot be read: {error}")),
                Ok(text) => {
                    for (line, word) in search(&text, rule) {
                        problems.push(format!("{name}:{line}: `{word}` must not occur here: {}", rule.why));
                    }
                }
            }
        }
    }
    problems
}

/// All Rust files below a folder, in a fixed order.
fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        entries.push(entry?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                gather(&path, files)?;
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// With `/` on every system.
fn relative(root: &Path, file: &Path) -> String {
    let parts = file.strip_prefix(root).unwrap_or(file).components();
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// `mod tests;` in a file of its own.
fn is_test(file: &Path) -> bool {
    file.file_stem().is_some_and(|name| name == "tests")
        || file.components().any(|part| part.as_os_str() == "tests")
}

/// Line numbers and forbidden words.
fn search<'a>(text: &str, rule: &Rule<'a>) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let mut test_item: Option<TestItem> = None;
    for (index, line) in text.lines().enumerate() {
        if rule.look != Look::CodeAndTests {
            if line.trim() == "#[cfg(test)]" {
                test_item = Some(TestItem { indent: line.len() - line.trim_start().len(), begun: false });
                continue;
            }
            if let Some(item) = &mut test_item {
                if item.ends_with(line) {
                    test_item = None;
                }
                continue;
            }
        }
        for word in rule.words {
            let hit = match rule.look {
                Look::Prose => {
                    // `power-residual`, `power_residual` and `PowerResidual` are one word.
                    let line = line.to_lowercase().replace(['-', '_'], "");
                    line.contains(&word.replace('-', ""))
                }
                Look::Name => {
                    let code = line.trim_start();
                    !code.starts_with("//")
                        && [format!("\"{word}\""), format!("`{word}`")].iter().any(|it| code.contains(it))
                }
                Look::Code | Look::CodeAndTests => occurs(&code_only(line), word),
            };
            if hit {
                found.push((index + 1, *word));
            }
        }
    }
    found
}

/// The item that follows `#[cfg(test)]`; rustfmt closes it at the column where it began.
struct TestItem {
    indent: usize,
    begun: bool,
}

impl TestItem {
    /// Whether this line is its last.
    fn ends_with(&mut self, line: &str) -> bool {
        let (indent, text) = (line.len() - line.trim_start().len(), line.trim());
        if !self.begun {
            // More attributes may stand between. An item of one line ends as it begins.
            self.begun = !text.starts_with("#[");
            return self.begun && (text.ends_with(';') || text.ends_with('}'));
        }
        indent == self.indent && matches!(text, "}" | "};" | ");" | ")")
    }
}

/// Whole words only: `unsafe_code` is not `unsafe`. A path is also found inside `use std::{..}`.
fn occurs(code: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |word: &str| {
        code.match_indices(word).any(|(at, _)| {
            !code[..at].chars().next_back().is_some_and(part_of_name)
                && !code[at + word.len()..].chars().next().is_some_and(part_of_name)
        })
    };
    let in_braces = |(module, item): (&str, &str)| code.contains(&format!("{module}::{{")) && whole(item);
    whole(word) || word.split_once("::").is_some_and(in_braces)
}

/// A line without its comment and without the insides of its strings.
fn code_only(line: &str) -> String {
    let mut code = String::new();
    let mut in_string = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if in_string => {
                chars.next();
            }
            '"' => in_string = !in_string,
            _ if in_string => {}
            '/' if chars.peek() == Some(&'/') => break,
            // The only character literals that matter here would open a string.
            '\'' if matches!(chars.peek(), Some('"' | '\\')) => {
                chars.next();
                chars.by_ref().take_while(|c| *c != '\'').for_each(drop);
            }
            c => code.push(c),
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(words: &'static [&'static str], look: Look) -> Rule<'static> {
        Rule { folders: &[], words, except: &[], look, why: "" }
    }

    #[test]
    fn words_are_found_whole_and_in_code_only() {
        let rule = rule(&["unsafe"], Look::CodeAndTests);
        let text = "#![deny(unsafe_code)]\n// unsafe\nlet a = \"unsafe \\\" unsafe\";\nlet q = '\"'; unsafe { a() }\n";
        assert_eq!(search(text, &rule), [(4, "unsafe")]);
    }

    #[test]
    fn paths_are_found_in_groups_too() {
        let rule = rule(&["std::thread", "std::fs"], Look::Code);
        let text = "use std::fs::File;\nuse std::{fmt, thread};\nuse std::{fmt, path};\nlet thread = 1;\n";
        assert_eq!(search(text, &rule), [(1, "std::fs"), (2, "std::thread")]);
    }

    #[test]
    fn method_names_are_found_in_any_spelling_but_not_in_tests() {
        let rule = rule(&["power-residual"], Look::Prose);
        let text = "\
// the power-residual
use x::PowerResidual;
#[cfg(test)]
use y::power_residual;
let name = \"power_residual\";
#[cfg(test)]
#[allow(dead_code)]
mod tests {
    fn power_residual() {
    }
}
fn power_residual() {}
";
        let lines: Vec<usize> = search(text, &rule).iter().map(|found| found.0).collect();
        assert_eq!(lines, [1, 2, 5, 12]);
    }

    #[test]
    fn names_are_found_where_they_are_quoted() {
        let rule = rule(&["none"], Look::Name);
        let text = "\
// \"none\"
if name == \"none\" {
hint(\"choose `none`\");
let none = \"none of them\";
#[cfg(test)]
const NAME: &str = \"none\";
";
        let lines: Vec<usize> = search(text, &rule).iter().map(|found| found.0).collect();
        assert_eq!(lines, [2, 3]);
    }

    #[test]
    fn a_missing_folder_is_a_problem() {
        let rule = Rule { folders: &["no/such/folder"], ..rule(&["a"], Look::Code) };
        assert_eq!(check_rule(Path::new("."), &rule).len(), 1);
    }
}
