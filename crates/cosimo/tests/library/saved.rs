//! Runs in files: whatever happens to the file, it is the run or a message; and a resumed run writes what it would have.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::{Path, PathBuf};

use crate::common::{DUAL_MASS, DualMass, Made, run_to_the_end, start};
use cosimo::checkpoint_file::{CheckpointFile, CheckpointFileError, CheckpointOrigin, Input};
use cosimo::core::recorder::Table;
use cosimo::engine::Run;
use cosimo::export::{Variant, Version};
use cosimo::record::{FORMATS, Files, read};
use proptest::prelude::*;

const FIXED: &str = "input = \"linear\"\nstep = { size = 0.01 }";
const ECCO: &str = "correction = { nepce = { gain = 0.5 } }\n\
     step = { estimate = { power-residual = { tolerance = 2e-3, energy_scale = 1.0 } }, controller = \"pi\", \
     size = 0.02, min = 2e-3, max = 0.15 }";

fn folder(name: &str) -> PathBuf {
    let folder = crate::common::folder().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn saved(run: &mut Run) -> CheckpointFile {
    let bookmark = run.bookmark().unwrap();
    let origin = CheckpointOrigin {
        words: vec!["run".into(), "ä b".into()],
        folder: "..".into(),
        stop: Some(0.1 + 0.2),
        inputs: vec![
            Input { file: "a".into(), sha256: "b".into(), text: None },
            Input { file: "ß".into(), sha256: "c".into(), text: Some("stop = 1\n".into()) },
        ],
        results: vec!["c".into()],
    };
    let (time, checkpoint) = (run.time().seconds(), run.save().unwrap());
    CheckpointFile { origin, time, computing: 1.0 / 3.0, checkpoint, bookmark }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    FORMATS.iter().map(|format| folder.join(format!("rows.{}", format.endings[0]))).collect()
}

fn recorder(folder: &Path) -> Box<Files> {
    Box::new(Files::new(&files(folder), FORMATS).unwrap())
}

fn tables(folder: &Path) -> Vec<Table> {
    files(folder).iter().map(|file| read(file, FORMATS).unwrap()).collect()
}

/// Tables of an uninterrupted run; of one that was left after `steps` and went on `more` for nothing; and whether files
/// without a choice of chunks are the same to the last byte.
fn interrupted(name: &str, text: &str, steps: usize, more: usize, threads: usize) {
    let (whole, parts) = (folder(&format!("{name}-whole")), folder(&format!("{name}-parts")));
    let mut run = start(text, 1);
    run.record(recorder(&whole)).unwrap();
    run_to_the_end(&mut run);
    run.finish().unwrap();

    let file = parts.join("run.checkpoint");
    let mut run = start(text, 1);
    run.record(recorder(&parts)).unwrap();
    for _ in 0..steps {
        run.step().unwrap();
    }
    let kept = saved(&mut run);
    kept.write(&file).unwrap();
    for _ in 0..more {
        if !run.finished() {
            run.step().unwrap();
        }
    }
    drop(run);

    let back = CheckpointFile::read(&file).unwrap();
    assert_eq!(back, kept);
    let mut run = start(text, threads);
    run.load(&back.checkpoint).unwrap();
    run.resume(recorder(&parts), &back.bookmark).unwrap();
    run_to_the_end(&mut run);
    run.finish().unwrap();
    for (found, wanted) in tables(&parts).iter().zip(tables(&whole)) {
        assert_eq!(found.columns, wanted.columns);
        let bits = |table: &Table| -> Vec<Vec<u64>> {
            table.values.iter().map(|column| column.iter().map(|value| value.to_bits()).collect()).collect()
        };
        assert_eq!(bits(found), bits(&wanted), "{name}");
    }
    for ending in ["csv", "mat"] {
        let bytes = |folder: &Path| std::fs::read(folder.join(format!("rows.{ending}"))).unwrap();
        assert!(bytes(&parts) == bytes(&whole), "{name}.{ending}");
    }
}

#[test]
fn native_models_and_units_go_on_in_all_formats() {
    for (k, made) in [
        Made::Native,
        Made::Unit(Version::Two, Variant::Plain),
        Made::Unit(Version::Two, Variant::Interpolates),
        Made::Unit(Version::Three, Variant::Plain),
        Made::Equations(Version::Two),
        Made::Equations(Version::Three),
    ]
    .into_iter()
    .enumerate()
    {
        for (method, name) in [(FIXED, "fixed"), (ECCO, "ecco")] {
            let text = DualMass { stop: 1.5, method, made, ..DUAL_MASS }.text();
            interrupted(&format!("made-{k}-{name}"), &text, 9, 3, 1 + k % 2);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    /// Any place, with rows at every point and every now and then.
    #[test]
    fn a_run_can_be_left_anywhere(steps in 0usize..90, more in 0usize..40, ecco: bool, every: bool, threads in 1usize..3) {
        let method = if ecco { ECCO } else { FIXED };
        let mut text = DualMass { stop: 1.0, method, ..DUAL_MASS }.text();
        if every {
            text = text.replace("[method]", "[results]\nevery = 0.037\n[method]");
        }
        let possible = { let mut run = start(&text, 1); run_to_the_end(&mut run); run.counters().steps as usize };
        interrupted("anywhere", &text, steps.min(possible), more, threads);
    }
}

#[test]
fn no_damaged_file_is_taken_for_a_run() {
    let folder = folder("damaged");
    let mut run = start(&DualMass { stop: 1.0, method: ECCO, ..DUAL_MASS }.text(), 1);
    run.step().unwrap();
    let path = folder.join("run.checkpoint");
    saved(&mut run).write(&path).unwrap();
    assert!(!cosimo::draft_file::draft(&path).exists());
    let bytes = std::fs::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        let other = folder.join("other.checkpoint");
        std::fs::write(&other, bytes).unwrap();
        CheckpointFile::read(&other).unwrap_err()
    };
    for place in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[place] ^= 1 << (place % 8);
        read(&broken);
    }
    for length in (0..bytes.len()).step_by(7) {
        read(&bytes[..length]);
    }
    assert!(matches!(read(b"time,a.x\n0,1\n"), CheckpointFileError::Foreign { .. }));
    assert!(matches!(read(&[]), CheckpointFileError::Foreign { .. }));
    let mut newer = bytes.clone();
    newer[18] = 9;
    assert!(matches!(read(&newer), CheckpointFileError::OtherVersion { found: 9, .. }));
    let missing = CheckpointFile::read(&folder.join("none")).unwrap_err();
    assert!(matches!(missing, CheckpointFileError::Unreadable { .. }));
    // Nor is the engine's own part, with its own checksum.
    let inner = run.save().unwrap();
    for place in 0..inner.bytes().len() {
        let mut broken = inner.bytes().to_vec();
        broken[place] ^= 1 << (place % 8);
        cosimo::engine::Checkpoint::from_bytes(broken).unwrap_err();
    }
}

#[test]
fn another_file_in_the_place_of_a_result_is_left_alone() {
    let text = DualMass { stop: 1.0, method: FIXED, ..DUAL_MASS }.text();
    let folder = folder("replaced");
    let mut run = start(&text, 1);
    run.record(recorder(&folder)).unwrap();
    for _ in 0..20 {
        run.step().unwrap();
    }
    let kept = saved(&mut run);
    drop(run);
    for (place, file) in files(&folder).iter().enumerate() {
        let good = std::fs::read(file).unwrap();
        let resume = || {
            let mut run = start(&text, 1);
            run.load(&kept.checkpoint).unwrap();
            run.resume(recorder(&folder), &kept.bookmark).map_err(|error| error.to_string())
        };
        let mut other = good.clone();
        other.reverse();
        for (bad, words) in [(other, "rows are not those"), (good[..9].to_vec(), "bytes, and had")] {
            std::fs::write(file, &bad).unwrap();
            let told = resume().unwrap_err();
            assert!(told.contains(words) && told.contains("rows."), "{place}: {told}");
            assert_eq!(std::fs::read(file).unwrap(), bad);
        }
        std::fs::remove_file(file).unwrap();
        resume().unwrap_err();
        std::fs::write(file, &good).unwrap();
        resume().unwrap();
        std::fs::write(file, &good).unwrap();
    }
}
