//! Many instances one after the other leave nothing behind. Alone in its process, so that what it counts is its own.
//! Resident memory shows large losses; valgrind, where it is installed, shows every lost byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[allow(dead_code)]
#[path = "fmi/common.rs"]
mod common;
#[path = "../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;

use std::fs;
use std::process::Command;

use common::{advance, build_fmu, enter, folder, open, outputs};
use cosimo::core::{Segment, Slot};
use cosimo_export::{Design, Version, built_library, write};

fn memory() -> usize {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Lives of one instance after the other, with everything that allocates: saved, restored and serialised states.
fn lives(version: u32) -> impl FnMut() {
    let folder = folder(&format!("leak{version}"));
    build_fmu(&folder, version, "mass", &[], &[]);
    let mut mass = open(&folder, "mass.fmu", &[]).unwrap();
    move || {
        enter(&mut *mass);
        mass.rollback().unwrap().save(Slot::Attempt).unwrap();
        advance(&mut *mass, 0.0, 0.1, &[Segment::constant(1.0)]).unwrap();
        mass.rollback().unwrap().restore(Slot::Attempt).unwrap();
        mass.rollback().unwrap().save(Slot::Window).unwrap();
        let mut bytes = Vec::new();
        mass.serialize_state().unwrap().serialize(&mut bytes).unwrap();
        advance(&mut *mass, 0.0, 0.1, &[Segment::constant(1.0)]).unwrap();
        mass.serialize_state().unwrap().deserialize(&bytes).unwrap();
        outputs(&mut *mass);
    }
}

/// The same of an FMU for model exchange, through a bounce.
fn bouncing_lives(version: Version) -> impl FnMut() {
    let folder = folder(&format!("leak-exchange{version:?}"));
    let design = Design::exchange("native:bouncing-ball", version);
    write(&design, &built_library().unwrap(), &folder.join("ball.fmu")).unwrap();
    let mut ball = open(&folder, "ball.fmu", &[]).unwrap();
    move || {
        enter(&mut *ball);
        ball.rollback().unwrap().save(Slot::Attempt).unwrap();
        advance(&mut *ball, 0.0, 0.6, &[]).unwrap();
        ball.rollback().unwrap().restore(Slot::Attempt).unwrap();
        let mut bytes = Vec::new();
        ball.serialize_state().unwrap().serialize(&mut bytes).unwrap();
        advance(&mut *ball, 0.0, 0.6, &[]).unwrap();
        ball.serialize_state().unwrap().deserialize(&bytes).unwrap();
        outputs(&mut *ball);
    }
}

fn all() -> Vec<Box<dyn FnMut()>> {
    vec![
        Box::new(lives(2)),
        Box::new(lives(3)),
        Box::new(bouncing_lives(Version::Two)),
        Box::new(bouncing_lives(Version::Three)),
    ]
}

#[test]
fn thousands_of_instances_leave_nothing_behind() {
    if std::env::var(WATCHED).is_ok() {
        return;
    }
    for mut life in all() {
        (0..1000).for_each(|_| life());
        let handles = || fs::read_dir("/proc/self/fd").unwrap().count();
        let before = (handles(), memory());
        (0..20_000).for_each(|_| life());
        let after = (handles(), memory());
        assert_eq!(after.0, before.0);
        // 1 kB lost per instance would be 20 MB. What a logger that is called too late still looks at stays: some 300
        // bytes of callbacks and the name of the instance.
        assert!(after.1 < before.1 + 8192, "{before:?} {after:?}");
    }
}

/// Set in the process that valgrind watches.
const WATCHED: &str = "COSIMO_WATCHED";

#[test]
fn valgrind_finds_no_lost_byte() {
    if std::env::var(WATCHED).is_ok() {
        all().iter_mut().for_each(|life| (0..50).for_each(|_| life()));
        return;
    }
    let watched = Command::new("valgrind")
        .args(["--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=99", "-q"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "valgrind_finds_no_lost_byte", "--test-threads=1"])
        .env(WATCHED, "yes")
        .output();
    match watched {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stdout));
        }
        Err(error) => {
            eprintln!("skipped: valgrind cannot be run ({error}); Debian has it in the package `valgrind`")
        }
    }
}
