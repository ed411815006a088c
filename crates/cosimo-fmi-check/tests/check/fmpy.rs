//! FMPy's validator beside ours: whatever it finds in a broken description, we find something there, too.

use std::collections::BTreeMap;
use std::process::Command;

use cosimo_fmi_check::{Profile, validate_description};

use crate::common::folder;
use crate::corpus::{Base, DEFECTS, FULL2, FULL3};

/// A description with each attribute left out or made senseless, and each element left out or doubled.
fn changes(name: &str, text: &str, into: &mut BTreeMap<String, String>) {
    let replaced = |range: std::ops::Range<usize>, by: &str| {
        let mut changed = text.to_owned();
        changed.replace_range(range, by);
        changed
    };
    for (at, _) in text.match_indices("=\"").skip(2) {
        let begin = at + 2;
        let end = begin + text[begin..].find('"').unwrap();
        let start = text[..at].rfind([' ', '\n']).unwrap();
        into.insert(format!("{name} {at} without"), replaced(start..end + 1, ""));
        into.insert(format!("{name} {at} senseless"), replaced(begin..end, "?"));
    }
    for (at, _) in text.match_indices('<').skip(1).filter(|(at, _)| !text[*at..].starts_with("</")) {
        let tag = at + text[at..].find('>').unwrap() + 1;
        let word = text[at + 1..tag].split([' ', '>', '/']).next().unwrap();
        let close = format!("</{word}>");
        let end = if text[..tag].ends_with("/>") {
            tag
        } else {
            tag + text[tag..].find(&close).unwrap() + close.len()
        };
        let element = text[at..end].to_owned();
        if word != "fmiModelDescription" {
            into.insert(format!("{name} {at} gone"), replaced(at..end, ""));
            into.insert(format!("{name} {at} doubled"), replaced(at..end, &element.repeat(2)));
        }
    }
}

#[test]
fn what_fmpy_finds_we_find() {
    let Some(python) = std::env::var_os("COSIMO_PYTHON") else {
        println!("skipped: COSIMO_PYTHON is not set");
        return;
    };
    let folder = folder("validators");
    let mut texts = BTreeMap::new();
    for base in [Base::Full2, Base::Full3, Base::Wheel2, Base::Wheel3] {
        texts.insert(format!("valid {base:?}"), base.text());
    }
    for defect in DEFECTS {
        texts.insert(format!("defect {}", defect.name), defect.text());
    }
    changes("full2", FULL2, &mut texts);
    changes("full3", FULL3, &mut texts);
    let (asked, answered) = (folder.join("texts.json"), folder.join("said.json"));
    std::fs::write(&asked, serde_json::to_string(&texts).unwrap()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/fmpy_validate.py");
    let output = Command::new(python).arg(script).arg(&asked).arg(&answered).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: BTreeMap<String, Vec<String>> =
        serde_json::from_str(&std::fs::read_to_string(&answered).unwrap()).unwrap();
    let (mut missed, mut both, mut neither, mut ours_alone) = (Vec::new(), 0, 0, 0);
    for (name, text) in &texts {
        let ours = validate_description(text, Profile::Strict);
        match (ours.findings.first(), theirs[name].first()) {
            (Some(_), Some(_)) => both += 1,
            (None, None) => neither += 1,
            (None, Some(problem)) => missed.push(format!("{name}: {problem}")),
            (Some(finding), None) => {
                ours_alone += 1;
                if name.starts_with("defect") {
                    println!("only Cosimo: {name}: {}", finding.rule.id);
                }
            }
        }
    }
    println!(
        "{} descriptions: both find something in {both}, neither in {neither}, Cosimo alone in {ours_alone}, FMPy \
         alone in {}",
        texts.len(),
        missed.len()
    );
    assert!(missed.is_empty(), "only FMPy:\n{}", missed.join("\n"));
    for base in [Base::Full2, Base::Full3, Base::Wheel2, Base::Wheel3] {
        assert_eq!(theirs[&format!("valid {base:?}")], [""; 0], "{base:?}");
    }
}
