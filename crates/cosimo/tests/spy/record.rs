//! Reads what the spies wrote, and finds what the standard forbids.

use std::collections::{BTreeMap, BTreeSet};

/// What may differ from run to run without being a mistake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    /// The methods read outputs after new inputs without a step between, which FMI 2.0 forbids by the letter.
    pub(crate) get_after_set: bool,
    /// Several threads: while one instance fails for good, others are in the middle of their calls. That no later
    /// ones follow shows on one thread.
    pub(crate) overlap: bool,
}

/// Every mistake of an importer that the record shows. `file_of` tells which unit an instance belongs to.
pub(crate) fn violations(record: &str, allowed: Allowed, file_of: impl Fn(&str) -> String) -> Vec<String> {
    let mut found = Vec::new();
    let mut alive = BTreeMap::new();
    let mut corrupt = BTreeSet::new();
    for line in record.lines() {
        let (instance, call) = line.split_once(' ').unwrap();
        let (function, outcome) = call.split_once('(').unwrap_or((call, ""));
        let outcome = outcome.rsplit_once(") ").map_or("", |(_, outcome)| outcome);
        let mut wrong = |why: &str| found.push(format!("{why}: {line}"));
        if let Some(words) = call.strip_prefix("warning: ") {
            if !(words.starts_with("outputs are read after inputs") && allowed.get_after_set) {
                wrong("noted");
            }
            continue;
        }
        if outcome.starts_with("error: ") && !outcome.starts_with("error: told to") {
            wrong("refused");
        }
        let file = file_of(instance);
        if corrupt.contains(&file) && !allowed.overlap {
            wrong("after a fatal error of the same unit");
        }
        if function.contains("Instantiate") {
            if alive.insert(instance.to_owned(), line).is_some() {
                wrong("before the one before it was freed");
            }
        } else if function.contains("Free") && function.ends_with("Instance") {
            if alive.remove(instance).is_none() {
                wrong("freed without being there");
            }
        } else if !alive.contains_key(instance) {
            wrong("called without being there");
        }
        if outcome.starts_with("fatal: ") {
            corrupt.insert(file);
        }
    }
    for (instance, line) in alive {
        if !corrupt.contains(&file_of(&instance)) {
            found.push(format!("never freed: {line}"));
        }
    }
    found
}

/// With numbers of nine digits, so that another machine's last bit does not show.
pub(crate) fn rounded(record: &str) -> String {
    let mut out = String::new();
    let mut number = String::new();
    for character in record.chars().chain(['\n']) {
        if character.is_ascii_digit() || ".-+e".contains(character) {
            number.push(character);
            continue;
        }
        match number.parse::<f64>() {
            Ok(value) if number.contains('.') => {
                out += &format!("{:?}", format!("{value:.8e}").parse::<f64>().unwrap());
            }
            _ => out += &number,
        }
        number.clear();
        out.push(character);
    }
    out.pop();
    out
}

#[test]
fn every_kind_of_mistake_is_found() {
    let strict = Allowed { get_after_set: false, overlap: false };
    let check = |record: &str| violations(record, strict, |instance| instance[..1].to_owned());
    let whole = "a1 fmi2Instantiate(a1) ok\na1 fmi2DoStep(0.0, 0.1, 0) error: told to fail\na1 fmi2FreeInstance() ok\n";
    assert_eq!(check(whole), Vec::<String>::new());
    for (record, found) in [
        ("a1 fmi2DoStep(0.0, 0.1, 0) ok", "called without being there"),
        ("a1 fmi2Instantiate(a1) ok", "never freed"),
        ("a1 fmi2FreeInstance() ok", "freed without being there"),
        ("a1 warning: 1 states were never freed", "noted"),
    ] {
        let all = check(record);
        assert!(all.len() == 1 && all[0].starts_with(found), "{all:?}");
    }
    let refused = whole.replace("told to fail", "it must not be called in step mode");
    assert_eq!(check(&refused).len(), 1);
    let fatal = "a1 fmi3InstantiateCoSimulation() ok\na2 fmi3InstantiateCoSimulation() ok\n\
                 a1 fmi3DoStep() fatal: told to\n";
    assert_eq!(check(fatal), Vec::<String>::new());
    assert_eq!(check(&format!("{fatal}a2 fmi3FreeInstance() ok")).len(), 1);
    assert_eq!(rounded("a fmi2DoStep(0.30000000000000004, 1e-5, 0) -1.0"), "a fmi2DoStep(0.3, 1e-5, 0) -1.0");
}
