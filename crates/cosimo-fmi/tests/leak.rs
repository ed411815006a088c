//! Many instances one after the other leave nothing behind. Alone in its process, so that what it counts is its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[allow(dead_code)]
#[path = "fmi/common.rs"]
mod common;

use std::fs;

use common::{advance, enter, folder, open, unit};
use cosimo::core::{Segment, Slot};

fn memory() -> usize {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn thousands_of_instances_leave_nothing_behind() {
    for version in [2, 3] {
        let folder = folder(&format!("leak{version}"));
        unit(&folder, version, "mass", &[], &[]);
        let mut mass = open(&folder, "mass.fmu", &[]).unwrap();
        let mut life = || {
            enter(&mut *mass);
            mass.save(Slot::Attempt).unwrap();
            advance(&mut *mass, 0.0, 0.1, &[Segment::constant(1.0)]).unwrap();
            mass.restore(Slot::Attempt).unwrap();
            let mut bytes = Vec::new();
            mass.freeze(&mut bytes).unwrap();
        };
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
