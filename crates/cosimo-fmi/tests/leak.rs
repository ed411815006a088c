//! Many instances one after the other leave nothing behind. Alone in its process, so that what it counts is its own.
//! Resident memory shows large losses; valgrind, where it is installed, shows every lost byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[allow(dead_code)]
#[path = "fmi/common.rs"]
mod common;

use std::fs;
use std::process::Command;

use common::{advance, enter, folder, open, outputs, unit};
use cosimo::core::{Segment, Slot};

fn memory() -> usize {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Lives of one instance after the other, with everything that allocates: saved, restored and serialised states.
fn lives(version: u32) -> impl FnMut() {
    let folder = folder(&format!("leak{version}"));
    unit(&folder, version, "mass", &[], &[]);
    let mut mass = open(&folder, "mass.fmu", &[]).unwrap();
    move || {
        enter(&mut *mass);
        mass.save(Slot::Attempt).unwrap();
        advance(&mut *mass, 0.0, 0.1, &[Segment::constant(1.0)]).unwrap();
        mass.restore(Slot::Attempt).unwrap();
        mass.save(Slot::Window).unwrap();
        let mut bytes = Vec::new();
        mass.freeze(&mut bytes).unwrap();
        advance(&mut *mass, 0.0, 0.1, &[Segment::constant(1.0)]).unwrap();
        mass.thaw(&bytes).unwrap();
        outputs(&mut *mass);
    }
}

#[test]
fn thousands_of_instances_leave_nothing_behind() {
    if std::env::var(WATCHED).is_ok() {
        return;
    }
    for version in [2, 3] {
        let mut life = lives(version);
        (0..1000).for_each(|_| life());
        let handles = || fs::read_dir("/proc/self/fd").unwrap().count();
        let before = (handles(), memory());
        (0..20_000).for_each(|_| life());
        let after = (handles(), memory());
        assert_eq!(after.0, before.0);
        // 1 kB lost per instance would be 20 MB.
        assert!(after.1 < before.1 + 4096, "{before:?} {after:?}");
    }
}

/// Set in the process that valgrind watches.
const WATCHED: &str = "COSIMO_WATCHED";

#[test]
fn valgrind_finds_no_lost_byte() {
    if std::env::var(WATCHED).is_ok() {
        for version in [2, 3] {
            let mut life = lives(version);
            (0..50).for_each(|_| life());
        }
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
