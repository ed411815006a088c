//! Whatever happened to a run on the way, rejected attempts, steps that were taken back, checkpoints, other
//! threads, it is where a run is that only ever took the accepted steps: nothing of it stays in the memory of a
//! method or of a simulator.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::cell::Cell;

use crate::common::{DUAL_MASS, DualMass, Made, bits, combinations, start};
use cosimo::core::StepError;
use cosimo::engine::{Checkpoint, Run, RunError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const CASES: u32 = 400;

#[derive(Debug, Clone)]
enum Action {
    /// A step of this size, if it is not rejected.
    Step(f64),
    /// Steps of these sizes, and back to where it was.
    Detour(Vec<f64>),
    /// On in another run on so many threads, from the bytes of a checkpoint.
    Move(usize),
}

fn action() -> impl Strategy<Value = Action> {
    let size = || 2e-3..0.15f64;
    prop_oneof![
        6 => size().prop_map(Action::Step),
        2 => vec(size(), 1..4).prop_map(Action::Detour),
        1 => (1..3usize).prop_map(Action::Move),
    ]
}

/// Native or one kind of unit, a combination of methods, and what happens.
fn case(combinations: usize) -> impl Strategy<Value = (usize, usize, Vec<Action>)> {
    (0..=Made::UNITS.len(), 0..combinations, vec(action(), 5..30))
}

/// Whether the step came about: iterations need not settle at a size that is not controlled.
fn attempt(run: &mut Run, size: f64) -> bool {
    run.set_next_size(size);
    match run.step() {
        Ok(()) => true,
        Err(RunError::Step(StepError::NotSettled { .. })) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn detours_leave_no_trace() {
    let combinations = combinations();
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let rejected = Cell::new(0);
    let outcome =
        TestRunner::new_with_rng(config, rng).run(&case(combinations.len()), |(kind, method, actions)| {
            let method = &combinations[method];
            let made = if kind == 0 || !Made::UNITS[kind - 1].fits(method) {
                Made::Native
            } else {
                Made::UNITS[kind - 1]
            };
            let text = |method: &str| DualMass { stop: 1000.0, method, made, ..DUAL_MASS }.text();
            let mut run = start(&text(method), 1);
            let mut straight = start(&text(&method.replace("above-one", "never")), 1);
            for action in actions {
                match action {
                    Action::Step(size) => {
                        if !attempt(&mut run, size) {
                            break;
                        }
                        prop_assert!(attempt(&mut straight, run.sizes().0));
                    }
                    Action::Detour(sizes) => {
                        let before = run.save().unwrap();
                        for size in sizes {
                            if !attempt(&mut run, size) {
                                break;
                            }
                        }
                        run.load(&before).unwrap();
                    }
                    Action::Move(threads) => {
                        let bytes = run.save().unwrap().bytes().to_vec();
                        run = start(&text(method), threads);
                        run.load(&Checkpoint::from_bytes(bytes).unwrap()).unwrap();
                    }
                }
                prop_assert_eq!(bits(&run), bits(&straight), "{:?}, {}", made, method);
            }
            rejected.set(rejected.get() + run.counters().rejected);
            Ok(())
        });
    outcome.unwrap();
    assert!(rejected.get() > 500, "only {} attempts were rejected", rejected.get());
}
