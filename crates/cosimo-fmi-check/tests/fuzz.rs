//! Random FMUs: valid ones, changed at random with their structure in mind, through the code that reads
//! FMUs from outside. Nothing may panic, hang or take memory without end.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[path = "../../cosimo-pack/tests/common/fuzz.rs"]
mod fuzz;

#[path = "../../cosimo-fmi/tests/fmi/common.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod common;
#[path = "../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use cosimo_export::{Design, Version, model_description};
use cosimo_fmi::{Cache, Description, Fmu};
use cosimo_fmi_check::{Profile, validate, validate_description};
use fuzz::{Random, change_bytes, change_text};
use zip::write::SimpleFileOptions;

enum Input {
    Description(String),
    Archive(Vec<u8>),
}

struct Seeds {
    descriptions: Vec<String>,
    terminals: &'static str,
    build: &'static str,
    library: Vec<u8>,
}

impl Seeds {
    fn new(folder: &Path) -> Seeds {
        let exported = Version::ALL
            .map(|version| model_description(&Design::new("native:quarter-car/wheel", version)).unwrap());
        common::library("fmi2.c", &["-DMASS", "-DTOKEN=\"{mass}\""], &folder.join("mass.so"));
        let full =
            [include_str!("fixtures/full2.xml"), include_str!("fixtures/full3.xml")].map(str::to_owned);
        Seeds {
            descriptions: [exported.to_vec(), full.to_vec()].concat(),
            terminals: include_str!("fixtures/terminals3.xml"),
            build: include_str!("fixtures/build3.xml"),
            library: fs::read(folder.join("mass.so")).unwrap(),
        }
    }

    /// Follows from the seed and the number alone.
    fn input(&self, seed: u64, number: u64) -> Input {
        let mut random = Random::new(seed, number);
        let mut text = self.descriptions[random.below(self.descriptions.len())].clone();
        let changes = 1 + random.below(4);
        if random.below(3) > 0 {
            (0..changes).for_each(|_| change_text(&mut random, &mut text));
            return Input::Description(text);
        }
        let mut files = [text, self.terminals.to_owned(), self.build.to_owned()];
        let mut library = self.library.clone();
        for _ in 0..random.below(3) {
            match random.below(4) {
                3 => change_bytes(&mut random, &mut library),
                file => change_text(&mut random, &mut files[file]),
            }
        }
        let [description, terminals, build] = &files;
        let odd = ["resources/a", "a\\b", "/a", "C:/a", "a//b", "binaries/linux64/", "é", "", "a\0b"];
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in [
            ("modelDescription.xml", description.as_bytes()),
            ("terminalsAndIcons/terminalsAndIcons.xml", terminals.as_bytes()),
            ("sources/buildDescription.xml", build.as_bytes()),
            ("binaries/linux64/full.so", &library),
            (random.pick(&odd), b"odd"),
        ] {
            // A name that the writer refuses makes an archive without it.
            if writer.start_file(name, SimpleFileOptions::default()).is_ok() {
                writer.write_all(bytes).unwrap();
            }
        }
        let mut bytes = writer.finish().unwrap().into_inner();
        (0..random.below(4)).for_each(|_| change_bytes(&mut random, &mut bytes));
        Input::Archive(bytes)
    }
}

/// The real code, on one input. Whatever it answers is right.
fn run(input: &Input, folder: &Path) {
    match input {
        Input::Description(text) => {
            let _ = Description::parse(text);
            for profile in [Profile::Lenient, Profile::Strict] {
                let validation = validate_description(text, profile);
                for finding in &validation.findings {
                    if let Some((line, span)) = &finding.spot.source {
                        assert!(
                            line.get(span.clone()).is_some(),
                            "a place inside of a letter or line: {finding:?}"
                        );
                    }
                }
            }
        }
        Input::Archive(bytes) => {
            let file = folder.join("model.fmu");
            fs::write(&file, bytes).unwrap();
            let _ = validate(&file, Profile::Strict);
            let cache = folder.join("cache");
            if let Ok(fmu) = Fmu::open(&file, &Cache::at(&cosimo_fmi::FMU_ARCHIVE, &cache)) {
                let _ = fmu.obstacle();
            }
            let _ = fs::remove_dir_all(&cache);
        }
    }
}

impl fuzz::Input for Input {
    fn file(&self) -> (&'static str, &[u8]) {
        match self {
            Input::Description(text) => ("xml", text.as_bytes()),
            Input::Archive(bytes) => ("fmu", bytes),
        }
    }
}

#[test]
fn no_input_panics_hangs_or_takes_memory_without_end() {
    let folder = common::folder("fuzz");
    let seeds = Seeds::new(&folder);
    fuzz::hunt(move |seed, number| seeds.input(seed, number), move |input| run(input, &folder));
}
