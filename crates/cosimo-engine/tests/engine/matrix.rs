//! Every combination of the methods in the registry on one system: it can be planned and stays finite. Of every
//! eleventh of them more is asked: the same bits on any number of threads, no trace of rejected steps, and going
//! on from a checkpoint as if it had never stopped. A new method is under test as soon as it is in the registry.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{DUAL_MASS, DualMass, Made, bits, combinations, sample, side_by_side, start, system};
use cosimo::engine::{Checkpoint, Run, plan};
use cosimo::system::Severity;

const STEPS: usize = 60;
/// Where every single combination has its turn.
const SHORT: usize = 12;

fn text(method: &str) -> String {
    made(Made::Native, method)
}

fn made(made: Made, method: &str) -> String {
    DualMass { stop: 1000.0, method, made, ..DUAL_MASS }.text()
}

/// All that a run shows after each of its steps.
fn steps(run: &mut Run, count: usize) -> Vec<Vec<u64>> {
    (0..count)
        .map(|_| {
            run.step().unwrap();
            bits(run)
        })
        .collect()
}

/// Steps that were tried again on the way.
fn stays_finite(text: &str, method: &str) -> u64 {
    let mut run = start(text, 1);
    let mut sizes = Vec::new();
    for step in 0..SHORT {
        run.step().unwrap_or_else(|error| panic!("step {step}: {error} in\n{method}"));
        let numbers = bits(&run).into_iter().map(f64::from_bits);
        // A bond has no part in the indicator of an estimate that looks at none; that alone may be NaN.
        let odd = numbers.filter(|number| !number.is_finite()).count();
        let silent = run.ledger().indicators.iter().filter(|part| part.is_nan()).count();
        assert_eq!(odd, silent, "step {step} in\n{method}");
        sizes.push(run.sizes().0);
    }
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let varies = !method.contains("controller = \"fixed\"");
    // A method may be driven to a limit at once and stay there.
    let limited = varies && (sizes == [2e-3] || sizes == [0.15]);
    assert!(limited || (sizes.len() > 1) == varies, "{sizes:?} in\n{method}");
    run.counters().rejected
}

#[test]
fn every_combination_is_planned_and_stays_finite() {
    let rejected: u64 = combinations().iter().map(|method| stays_finite(&text(method), method)).sum();
    assert!(rejected > 1000, "only {rejected} steps were tried again");
}

/// Units for co-simulation offer no slopes; all else that native models can do they can do too.
#[test]
fn combinations_of_units_are_planned_and_stay_finite_or_lack_slopes() {
    let registry = cosimo::registry();
    let mut rejected = 0;
    // No axis has a multiple of thirteen entries, and there are five kinds: every pair of neighbours comes up.
    for (method, kind) in combinations().iter().step_by(13).zip(Made::UNITS.iter().cycle()) {
        let text = made(*kind, method);
        if !kind.fits(method) {
            let problems = plan(&system(&text, &registry), &registry).unwrap_err();
            let errors: Vec<_> =
                problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
            assert!(
                !errors.is_empty() && errors.iter().all(|problem| problem.code == "plan/needs-slopes"),
                "{method}"
            );
        } else {
            rejected += stays_finite(&text, method);
        }
    }
    assert!(rejected > 100, "only {rejected} steps were tried again");
}

/// As many threads as there are units, fewer, and more.
#[test]
fn units_have_the_same_bits_on_any_number_of_threads() {
    let combinations = sample();
    let mut found = 0;
    for (method, kind) in combinations.iter().zip(Made::UNITS.iter().cycle()).step_by(13) {
        if !kind.fits(method) {
            continue;
        }
        let text = made(*kind, method);
        let mut one = start(&text, 1);
        let wanted = steps(&mut one, SHORT);
        for threads in [2, 8] {
            let mut run = start(&text, threads);
            assert_eq!(steps(&mut run, SHORT), wanted, "{threads} threads, {kind:?}, {method}");
            assert_eq!(run.counters(), one.counters(), "{method}");
        }
        found += 1;
    }
    assert!(found > 100, "only {found} combinations");
}

#[test]
fn combinations_have_the_same_bits_on_one_thread_and_two() {
    // Methods do not see threads, and handing over takes its time.
    for method in sample().into_iter().step_by(7) {
        let text = text(&method);
        let (mut one, mut two) = (start(&text, 1), start(&text, 2));
        assert_eq!((one.threads(), two.threads()), (1, 2));
        assert_eq!(steps(&mut one, STEPS), steps(&mut two, STEPS), "{method}");
        assert_eq!(one.counters(), two.counters(), "{method}");
    }
}

#[test]
fn many_simulators_have_the_same_bits_on_any_number_of_threads() {
    // One estimate and law is enough here: neither sees a thread.
    let chosen = |method: &&String| {
        method.contains("power-residual")
            && method.contains("controller = \"pi\"")
            && method.contains("reject = \"above-one\"")
    };
    let combinations = sample();
    let mut found = 0;
    for method in combinations.iter().filter(chosen) {
        let text = side_by_side(4, method);
        let wanted = steps(&mut start(&text, 1), 20);
        for threads in [2, 3, 8] {
            let mut run = start(&text, threads);
            assert!(run.threads() > 1 && run.threads() <= threads);
            assert_eq!(steps(&mut run, 20), wanted, "{threads} threads, {method}");
        }
        found += 1;
    }
    assert!(found >= 40, "only {found} combinations");
}

/// A run that is told the accepted sizes, and so never tries another, must not be told apart.
#[test]
fn a_rejected_attempt_leaves_no_trace() {
    let mut rejected = 0;
    for method in sample() {
        if !method.contains("above-one") || method.contains("controller = \"fixed\"") {
            continue;
        }
        let mut tries = start(&text(&method), 1);
        let mut told = start(&text(&method.replace("above-one", "never")), 1);
        for step in 0..STEPS {
            tries.step().unwrap();
            told.set_next_size(tries.sizes().0);
            told.step().unwrap();
            assert_eq!(bits(&tries), bits(&told), "step {step} in\n{method}");
        }
        rejected += tries.counters().rejected;
        assert_eq!(told.counters().rejected, 0);
    }
    assert!(rejected > 500, "only {rejected} steps were tried again");
}

#[test]
fn combinations_go_on_from_a_checkpoint_bit_for_bit() {
    for method in sample() {
        let text = text(&method);
        let mut whole = start(&text, 1);
        steps(&mut whole, STEPS / 2);
        let at = bits(&whole);
        let saved = whole.save().unwrap();
        let wanted = steps(&mut whole, STEPS / 2);

        let copy = Checkpoint::from_bytes(saved.bytes().to_vec()).unwrap();
        for checkpoint in [&saved, &copy] {
            let mut fresh = start(&text, 1);
            fresh.load(checkpoint).unwrap();
            assert_eq!(bits(&fresh), at, "{method}");
            assert_eq!(steps(&mut fresh, STEPS / 2), wanted, "{method}");
            assert_eq!(fresh.counters(), whole.counters(), "{method}");
        }
        // A run that has been elsewhere comes back too.
        whole.load(&saved).unwrap();
        assert_eq!(steps(&mut whole, STEPS / 2), wanted, "{method}");
    }
}

#[test]
fn a_checkpoint_goes_on_with_another_number_of_threads() {
    let combinations = sample();
    for method in combinations.iter().step_by(17) {
        let text = side_by_side(4, method);
        let mut one = start(&text, 1);
        steps(&mut one, 10);
        let saved = one.save().unwrap();
        let mut eight = start(&text, 8);
        eight.load(&saved).unwrap();
        assert_eq!(steps(&mut one, 10), steps(&mut eight, 10), "{method}");
    }
}

/// A ring of eight that offers neither slopes nor bonds nor states.
fn ring(method: &str) -> String {
    let mut text = String::from("[experiment]\nstop = 1000\n");
    for k in 0..8 {
        text += &format!(
            "[component.r{k}]\nsource = \"native:ring/rotor\"\nparameters = {{ angle = 0.0{k}1 }}\n"
        );
    }
    for k in 0..8 {
        let next = (k + 1) % 8;
        for port in ["a", "b"] {
            text += &format!("[[connection]]\nfrom = \"r{k}.{port}\"\nto = \"r{next}.{port}\"\n");
        }
    }
    format!("{text}[method]\n{method}\n")
}

/// What a method needs and the ring has not.
fn missing(method: &str) -> Vec<&'static str> {
    let mut codes = Vec::new();
    if !Made::UNITS[0].fits(method) {
        codes.push("plan/needs-slopes");
    }
    if method.contains("power-residual") || method.contains("power-and-outputs") {
        codes.push("plan/needs-bond");
    }
    codes
}

#[test]
fn what_is_refused_is_refused_for_what_is_missing() {
    let registry = cosimo::registry();
    for method in sample() {
        let refused = match plan(&system(&ring(&method), &registry), &registry) {
            Ok(_) => Vec::new(),
            Err(problems) => {
                let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
                let mut codes: Vec<&str> = errors.map(|problem| problem.code).collect();
                codes.sort_unstable();
                codes.dedup();
                codes.reverse();
                codes
            }
        };
        assert_eq!(refused, missing(&method), "{method}");
    }
}

#[test]
fn a_ring_has_the_same_bits_on_any_number_of_threads() {
    let combinations = sample();
    // What goes round this ring neither grows nor shrinks, so sweeps never settle.
    let settles = |method: &&String| missing(method).is_empty() && !method.contains("waveform");
    let possible: Vec<&String> = combinations.iter().filter(settles).collect();
    assert!(possible.len() > 500);
    for method in possible.iter().step_by(5) {
        let text = ring(method);
        let wanted = steps(&mut start(&text, 1), 20);
        for threads in [2, 8] {
            assert_eq!(steps(&mut start(&text, threads), 20), wanted, "{threads} threads, {method}");
        }
    }
}
