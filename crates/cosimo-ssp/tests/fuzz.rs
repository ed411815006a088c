//! Random structures: valid ones, changed at random with their structure in mind, through the code that reads
//! them. Nothing may panic, hang or take memory without end, and every place must be one.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[path = "../../cosimo-pack/tests/common/fuzz.rs"]
mod fuzz;

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use cosimo::core::Registry;
use cosimo::ssp::SSP;
use cosimo::system::ReadOptions;
use fuzz::{Random, change_bytes, change_text};
use zip::write::SimpleFileOptions;

const MEMBERS: [(&str, &str); 4] = [
    ("SystemStructure.ssd", include_str!("fixtures/SystemStructure.ssd")),
    ("resources/values.ssv", include_str!("fixtures/resources/values.ssv")),
    ("resources/mapping.ssm", include_str!("fixtures/resources/mapping.ssm")),
    ("resources/bus.ssb", include_str!("fixtures/resources/bus.ssb")),
];

/// Texts side by side, or an archive; only the first are kept where they fail, with the others as they are.
enum Input {
    Texts([String; 4]),
    Archive(Vec<u8>),
}

impl fuzz::Input for Input {
    fn file(&self) -> (&'static str, &[u8]) {
        match self {
            Input::Texts(texts) => {
                let changed = texts.iter().zip(MEMBERS).find(|(text, (_, usual))| text != usual);
                let changed = changed.map_or(texts[0].as_bytes(), |(text, _)| text.as_bytes());
                ("xml", changed)
            }
            Input::Archive(bytes) => ("ssp", bytes),
        }
    }
}

fn input(seed: u64, number: u64) -> Input {
    let mut random = Random::new(seed, number);
    let mut texts = MEMBERS.map(|(_, text)| text.to_owned());
    // One file at a time, most often the description.
    let file = [0, 0, 0, 1, 2, 3][random.below(6)];
    let changes = 1 + random.below(4);
    (0..changes).for_each(|_| change_text(&mut random, &mut texts[file]));
    if random.below(4) > 0 {
        return Input::Texts(texts);
    }
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for ((name, _), text) in MEMBERS.iter().zip(&texts) {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    let mut bytes = writer.finish().unwrap().into_inner();
    (0..random.below(4)).for_each(|_| change_bytes(&mut random, &mut bytes));
    Input::Archive(bytes)
}

fn run(input: &Input, folder: &Path, registry: &Registry) {
    let path = match input {
        Input::Texts(texts) => {
            for ((name, _), text) in MEMBERS.iter().zip(texts) {
                fs::write(folder.join(name), text).unwrap();
            }
            folder.join(MEMBERS[0].0)
        }
        Input::Archive(bytes) => {
            fs::write(folder.join("a.ssp"), bytes).unwrap();
            folder.join("a.ssp")
        }
    };
    if let Ok(document) = (SSP.read)(&path, &ReadOptions::default(), registry) {
        for problem in &document.problems {
            if problem.span != (0..0) {
                let (file, span) = document.files.find(&problem.span).unwrap();
                assert!(file.text.get(span).is_some(), "a place inside of a letter: {problem:?}");
            }
        }
    }
    if matches!(input, Input::Archive(_)) {
        let _ = fs::remove_dir_all(cache());
    }
}

fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("ssp-fuzz-cache")
}

#[test]
fn no_input_panics_hangs_or_takes_memory_without_end() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ssp-fuzz");
    fs::create_dir_all(folder.join("resources")).unwrap();
    cosimo::fmi::use_cache(&cache());
    let registry = cosimo::registry();
    // What is not changed is right, or the hunt would only see its first line.
    let usual = Input::Texts(MEMBERS.map(|(_, text)| text.to_owned()));
    run(&usual, &folder, &registry);
    let document = (SSP.read)(&folder.join(MEMBERS[0].0), &ReadOptions::default(), &registry).unwrap();
    assert_eq!(document.problems, []);
    fuzz::hunt(input, move |input| run(input, &folder, &registry));
}
