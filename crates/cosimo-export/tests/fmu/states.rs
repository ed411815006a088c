//! States: saved, brought back, turned into bytes and read by another instance.

use std::ffi::c_void;
use std::ptr::null_mut;

use cosimo_export::{Variant, Version, sources};

use crate::load::Fmu;

const SIZE: f64 = 1e-3;

/// Steps from `first` on and returns all that can be seen, as bits.
fn run(fmu: &Fmu, first: usize, steps: usize) -> Vec<u64> {
    let names: Vec<String> = fmu.names().map(String::from).collect();
    let mut seen = Vec::new();
    for step in first..first + steps {
        fmu.step(step as f64 * SIZE, SIZE);
        seen.extend(names.iter().filter_map(|name| fmu.try_get(name).ok()).map(f64::to_bits));
    }
    seen
}

fn prepared(source: &str, version: Version) -> Fmu {
    let fmu = Fmu::plain(source, version, Variant::Plain);
    fmu.start();
    run(&fmu, 0, 5);
    fmu
}

#[test]
fn a_restored_state_goes_on_with_the_same_bits_and_uses_its_memory_again() {
    for source in sources() {
        for version in Version::ALL {
            let fmu = prepared(&source, version);
            let mut state = null_mut();
            assert_eq!(fmu.get_state(&mut state), 0);
            let first = run(&fmu, 5, 10);
            for _ in 0..3 {
                assert_eq!(fmu.set_state(state), 0);
                assert_eq!(run(&fmu, 5, 10), first, "{source}");
            }
            let address = state;
            assert_eq!(fmu.get_state(&mut state), 0);
            assert_eq!(state, address);
            let later = run(&fmu, 15, 3);
            assert_eq!(fmu.set_state(state), 0);
            assert_eq!(run(&fmu, 15, 3), later, "{source}");
            assert_eq!(fmu.free_state(&mut state), 0);
            assert!(state.is_null());
            assert_eq!(fmu.free_state(&mut state), 0);
        }
    }
}

#[test]
fn bytes_carry_state_and_parameters_into_another_instance() {
    for version in Version::ALL {
        let source = "native:quarter-car/wheel-strut";
        let fmu = Fmu::plain(source, version, Variant::Plain);
        fmu.set("p", 0.5);
        assert_eq!(fmu.set_count("micro_steps", 64), 0);
        fmu.start();
        fmu.set("v", 0.3);
        run(&fmu, 0, 5);
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 0);
        let bytes = fmu.serialize(state);
        let wanted = run(&fmu, 5, 10);

        let other = Fmu::plain(source, version, Variant::Plain);
        let mut read = null_mut();
        assert_eq!(other.deserialize(&bytes, &mut read), 0, "{}", other.last_log());
        assert_eq!(other.set_state(read), 0, "{}", other.last_log());
        assert_eq!(other.get("p"), 0.5);
        assert_eq!(run(&other, 5, 10), wanted);
        assert_eq!(other.deserialize(&bytes[..40], &mut read), 3);
        assert_eq!(other.deserialize(b"nonsense", &mut read), 3);

        let foreign = Fmu::plain("native:quarter-car/wheel", version, Variant::Plain);
        let mut read = null_mut();
        assert_eq!(foreign.deserialize(&bytes, &mut read), 3);
        assert!(foreign.last_log().ends_with("the state belongs to another FMU"), "{}", foreign.last_log());
        assert!(read.is_null());
    }
}

#[test]
fn states_of_others_and_freed_ones_are_refused() {
    for version in Version::ALL {
        let (one, two) = (prepared("native:rc-rl/rc", version), prepared("native:rc-rl/rc", version));
        let mut state = null_mut();
        assert_eq!(one.get_state(&mut state), 0);
        assert_eq!(two.set_state(state), 3);
        let kept: *mut c_void = state;
        assert_eq!(one.free_state(&mut state), 0);
        assert_eq!(one.set_state(kept), 3);
        assert_eq!(one.set_state(null_mut()), 3);
        assert!(
            one.last_log().ends_with("does not belong to this instance, or was freed"),
            "{}",
            one.last_log()
        );
    }
}

#[test]
fn without_rollback_there_are_no_states() {
    for version in Version::ALL {
        let fmu = Fmu::plain("native:dual-mass/left", version, Variant::NoRollback);
        fmu.start();
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 3);
        assert!(
            state.is_null() && fmu.last_log().ends_with("does not support saving its state"),
            "{}",
            fmu.last_log()
        );
    }
}

#[test]
fn a_promise_not_to_go_back_binds() {
    for version in Version::ALL {
        let fmu = prepared("native:rc-rl/rc", version);
        let mut state = null_mut();
        assert_eq!(fmu.get_state(&mut state), 0);
        assert_eq!(fmu.try_step(5e-3, SIZE, true), 0);
        assert_eq!(fmu.set_state(state), 0, "the promise is about what lies before the step");
        assert_eq!(fmu.try_step(5e-3, SIZE, true), 0);
        assert_eq!(fmu.try_step(6e-3, SIZE, true), 0);
        assert_eq!(fmu.set_state(state), 3);
        assert!(fmu.last_log().contains("noSetFMUStatePriorToCurrentPoint"), "{}", fmu.last_log());
    }
}
