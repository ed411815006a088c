//! The catalogue of messages against the sources: no code without a page, no page without a code, and examples that
//! give the code they stand for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::common::{complaint, cosimo, folder, root};

/// Every code with its page.
pub(crate) fn pages() -> BTreeMap<String, String> {
    let output = cosimo(&root(), &["explain-error", "--json"]);
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = all.as_array().unwrap();
    let text = |page: &Value, key: &str| page[key].as_str().unwrap().to_owned();
    let pages: BTreeMap<String, String> =
        all.iter().map(|page| (text(page, "code"), text(page, "text"))).collect();
    assert_eq!(pages.len(), all.len(), "a code has two pages");
    pages
}

/// Literals that look like a code: of a family that has pages, or said where a problem is made.
fn codes(folder: &Path, families: &BTreeSet<&str>, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            codes(&entry, families, found);
            continue;
        }
        if entry.extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(entry).unwrap();
        let parts: Vec<&str> = text.split('"').collect();
        for pair in parts.windows(2) {
            let Some((family, name)) = pair[1].split_once('/') else { continue };
            let word =
                |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let said =
                ["error(", "warning(", "hinted("].iter().any(|call| pair[0].trim_end().ends_with(call));
            if word(family) && word(name) && (families.contains(family) || said) {
                found.insert(pair[1].to_owned());
            }
        }
    }
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let pages = pages();
    let families = pages.keys().filter_map(|code| code.split('/').next()).collect();
    let mut found = BTreeSet::new();
    for krate in std::fs::read_dir(root().join("crates")).unwrap() {
        codes(&krate.unwrap().path().join("src"), &families, &mut found);
    }
    let missing: Vec<&String> = found.iter().filter(|code| !pages.contains_key(*code)).collect();
    assert!(missing.is_empty(), "no page in crates/cosimo/messages for {missing:?}");
    let gone: Vec<&String> = pages.keys().filter(|code| !found.contains(*code)).collect();
    assert!(gone.is_empty(), "no source uses {gone:?}");
}

#[test]
fn pages_are_short_and_say_what_to_do() {
    for (code, text) in pages() {
        let lines = text.lines().count();
        assert!((2..=10).contains(&lines), "{code} has {lines} lines");
        assert!(text.contains("\nTo do: "), "{code} does not say what to do");
    }
}

/// The words of a command line, with quotes of either kind around those that have spaces or stars.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        match letter {
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            _ if quote == Some(letter) => quote = None,
            ' ' if quote.is_none() => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

#[test]
fn examples_give_the_code_of_their_page() {
    let mut run = 0;
    for (code, text) in pages() {
        for line in text.lines().filter_map(|line| line.strip_prefix("    cosimo ")) {
            let words = words(line);
            let output = cosimo(&root(), &words.iter().map(String::as_str).collect::<Vec<_>>());
            let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            let wanted = [format!("error[{code}]"), format!("warning[{code}]")];
            assert!(wanted.iter().any(|words| said.contains(words)), "{code}: `cosimo {line}` says\n{said}");
            run += 1;
        }
    }
    assert!(run >= 10, "only {run} pages have a command as an example");
}

#[test]
fn a_page_the_list_and_what_is_no_code() {
    let folder = folder("catalogue");
    let shown = |args: &[&str]| {
        let output = cosimo(&folder, args);
        assert!(output.status.success(), "{}", complaint(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let page = shown(&["explain-error", "plan/driven-twice"]);
    assert_eq!(page, shown(&["explain-error", "error[plan/driven-twice]:"]), "as copied from a message");
    assert_snapshot!("explain-error", page);
    assert_snapshot!("explain-error-rule", shown(&["explain-error", "archive/zip"]));
    assert_snapshot!("explain-error-json", shown(&["explain-error", "check/long-step", "--json"]));
    assert_snapshot!("explain-error-list", shown(&["explain-error"]));
    for (name, code) in [("misspelt", "plan/drivn-twice"), ("half", "driven-twice"), ("foreign", "E0412")] {
        assert_snapshot!(
            format!("explain-error-{name}"),
            complaint(&cosimo(&folder, &["explain-error", code]))
        );
    }
}
