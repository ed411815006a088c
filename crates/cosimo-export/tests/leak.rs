//! Many instances one after the other leave nothing behind. Alone in its process, so that what it counts is its own.
//! Resident memory shows large losses; valgrind, where it is installed, shows every lost byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[path = "fmu/load.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod load;

use std::process::Command;
use std::ptr::null_mut;

use cosimo_export::{Design, InterfaceType, Version};
use load::Fmu;

/// Lives of one instance after the other, with everything that allocates: states saved, serialised and left behind,
/// partial derivatives, a refused call, events.
fn lives(version: Version, kind: InterfaceType) -> impl FnMut() {
    let source =
        if kind == InterfaceType::ModelExchange { "native:bouncing-ball" } else { "native:oscillator/mass" };
    let mut fmu = Fmu::of(&Design::new(source, version).kind(kind));
    move || {
        fmu.begin_anew();
        fmu.start();
        if kind == InterfaceType::ModelExchange {
            fmu.settle();
            assert_eq!((fmu.set_time(0.1), fmu.set_states(&[-1.0, -1.0])), (0, 0));
            assert!(fmu.derivatives(2).is_ok() && fmu.indicators(1).is_ok());
            assert_eq!(fmu.derivative("der(height)", "velocity"), Ok(1.0));
            assert_eq!(fmu.enter_event(), 0);
            assert!(fmu.settle().states_changed);
        } else {
            fmu.step(0.0, 0.1);
        }
        let (mut state, mut read, mut left) = (null_mut(), null_mut(), null_mut());
        assert_eq!((fmu.get_state(&mut state), fmu.get_state(&mut left)), (0, 0));
        assert_eq!(fmu.deserialize(&fmu.serialize(state), &mut read), 0);
        assert_eq!((fmu.set_state(read), fmu.free_state(&mut read), fmu.free_state(&mut state)), (0, 0, 0));
        assert_eq!(fmu.exit(), 3);
        fmu.environment.log.clear();
        assert_eq!(fmu.terminate(), 0);
    }
}

fn all() -> Vec<Box<dyn FnMut()>> {
    let kinds = [InterfaceType::CoSimulation, InterfaceType::ModelExchange];
    let cases = Version::ALL.into_iter().flat_map(|version| kinds.map(|kind| (version, kind)));
    cases.map(|(version, kind)| Box::new(lives(version, kind)) as Box<dyn FnMut()>).collect()
}

/// Set in the process that valgrind watches.
const WATCHED: &str = "COSIMO_WATCHED";

#[test]
#[cfg(target_os = "linux")]
fn thousands_of_instances_leave_nothing_behind() {
    if std::env::var(WATCHED).is_ok() {
        return;
    }
    let memory = || -> usize {
        let text = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let handles = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    for mut life in all() {
        (0..500).for_each(|_| life());
        let before = (handles(), memory());
        (0..5000).for_each(|_| life());
        let after = (handles(), memory());
        assert_eq!(after.0, before.0);
        // 1 kB lost per instance would be 5 MB.
        assert!(after.1 < before.1 + 2048, "{before:?} {after:?}");
    }
}

#[test]
fn valgrind_finds_no_lost_byte() {
    if std::env::var(WATCHED).is_ok() {
        all().iter_mut().for_each(|life| (0..20).for_each(|_| life()));
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
