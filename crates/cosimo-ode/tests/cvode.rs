//! CVODE of SUNDIALS: the problems of `bdf` against the same solutions, and what is its own: where it is rewound it starts
//! anew, which is as good and gives the same bits every time.
//!
//!     cargo test -p cosimo-ode --features cvode
#![cfg(feature = "cvode")]
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod common;

use common::{
    ROBERTSON, Random, Robertson, VanDerPol, about, near, oscillator, prothero_robinson, relaxes, run,
    settings, started,
};
use cosimo_ode::{
    Absolute, Cause, EvaluationFault, IntegrationFailure, Integrator, OdeSystem, Settings, StepOutcome,
};

#[test]
fn van_der_pol_relaxes_on_time() {
    for (tolerance, zeros, end, evaluations) in [(1e-6, 0.05, 1e-4, 2063), (1e-8, 1e-3, 2e-6, 3847)] {
        relaxes("cvode", tolerance, zeros, end, evaluations);
    }
}

#[test]
fn robertson_is_followed_over_twelve_decades() {
    let absolute = Absolute::Each(vec![1e-10, 1e-16, 1e-8]);
    let settings = Settings { relative: 1e-6, absolute, ..Settings::default() };
    let mut integrator = started("cvode", &settings, 0.0, &[1.0, 0.0, 0.0]);
    for (decade, wanted) in ROBERTSON.iter().enumerate() {
        run(&mut integrator, &mut Robertson, 0.4 * 10f64.powi(decade as i32));
        let x = integrator.state();
        println!("{:e}: {:.1e} {:.1e}", integrator.time(), x[0] / wanted[0] - 1.0, x[1] / wanted[1] - 1.0);
        near(x[0], wanted[0], 5e-5 * wanted[0] + 3e-10);
        near(x[1], wanted[1], 5e-5 * wanted[1] + 3e-16);
        near(x[0] + x[1] + x[2], 1.0, 1e-9);
    }
    println!("{:?}", integrator.counters());
    about(integrator.counters().evaluations, 1545);
}

/// The state of a run, as bits, at every step.
fn course(mut integrator: Integrator, system: &mut dyn OdeSystem, end: f64) -> Vec<u64> {
    let mut bits = Vec::new();
    loop {
        let outcome = integrator.step(system, end).unwrap();
        bits.push(integrator.time().to_bits());
        bits.extend(integrator.state().iter().map(|x| x.to_bits()));
        if outcome == StepOutcome::Reached {
            return bits;
        }
    }
}

#[test]
fn a_place_is_left_the_same_way_every_time_and_as_by_a_start_there() {
    let settings = settings(1e-6, 1e-8);
    let mut integrator = started("cvode", &settings, 0.0, &[2.0, 0.0]);
    let mut system = VanDerPol(100.0);
    run(&mut integrator, &mut system, 70.0);
    assert!(!integrator.rewinds_exactly());
    let (saved, mut frozen) = (integrator.clone(), Vec::new());
    integrator.serialize(&mut frozen);
    // Away, by a hundred steps, and back: whatever CVODE has in its memory then has no part in what follows.
    for _ in 0..100 {
        integrator.step(&mut system, 200.0).unwrap();
    }
    let mut thawed = integrator.clone();
    thawed.deserialize(&frozen).unwrap();
    integrator.copy_from(&saved);
    assert_eq!((integrator.time(), integrator.state()), (saved.time(), saved.state()));
    let mut away = integrator.clone();
    run(&mut away, &mut VanDerPol(3.0), 90.0);
    away.copy_from(&saved);
    let wanted = course(saved, &mut system, 200.0);
    for other in [integrator, thawed, away] {
        assert_eq!(course(other, &mut system, 200.0), wanted);
    }
    let begun = started("cvode", &settings, 0.0, &[2.0, 0.0]);
    let straight = course(begun, &mut system, 200.0);
    assert_ne!(straight, wanted);
    near(f64::from_bits(straight[straight.len() - 2]), f64::from_bits(wanted[wanted.len() - 2]), 1e-4);
}

/// Takes a step with more on the stack than at other depths.
#[inline(never)]
fn at_depth(depth: usize, step: &mut dyn FnMut()) {
    let room = std::hint::black_box([depth; 512]);
    if depth == 0 {
        step()
    } else {
        at_depth(depth - 1, step)
    }
    std::hint::black_box(room);
}

/// CVODE keeps the address of its user data from the first step on.
#[test]
fn steps_may_be_taken_from_anywhere_on_the_stack() {
    let settings = settings(1e-6, 1e-8);
    let mut system = VanDerPol(100.0);
    let mut straight = started("cvode", &settings, 0.0, &[2.0, 0.0]);
    let mut elsewhere = started("cvode", &settings, 0.0, &[2.0, 0.0]);
    for step in 0..500 {
        straight.step(&mut system, 200.0).unwrap();
        at_depth(step % 7, &mut || {
            elsewhere.step(&mut system, 200.0).unwrap();
        });
        assert_eq!((straight.time(), straight.state()), (elsewhere.time(), elsewhere.state()), "step {step}");
    }
}

#[test]
fn dense_output_survives_copies() {
    let mut integrator = started("cvode", &settings(1e-8, 1e-8), 0.0, &[1.0, 0.0]);
    while integrator.time() < 1.0 {
        integrator.step(&mut oscillator(), 5.0).unwrap();
    }
    let (start, end) = integrator.span();
    let mut copy = started("cvode", &settings(1e-8, 1e-8), 0.0, &[1.0, 0.0]);
    copy.copy_from(&integrator);
    for share in [0.0, 0.2, 0.7, 1.0] {
        let t = start + share * (end - start);
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        integrator.at(t, &mut a);
        copy.at(t, &mut b);
        assert_eq!(a, b);
        near(a[0], t.cos(), 1e-6);
        integrator.slope_at(t, &mut a);
        copy.slope_at(t, &mut b);
        assert_eq!(a, b);
        near(a[0], -t.sin(), 1e-4);
    }
}

#[test]
fn equal_calls_give_equal_bits_rewinding_included() {
    let once = || {
        let mut random = Random(5);
        let mut system = prothero_robinson(1e3);
        let mut integrator = started("cvode", &settings(1e-6, 1e-6), 0.0, &[0.3]);
        let mut saved = integrator.clone();
        let mut bits = Vec::new();
        for _ in 0..2000 {
            match random.below(12) {
                0 => saved.copy_from(&integrator),
                1 => integrator.copy_from(&saved),
                2 => integrator.renew(),
                3 => integrator.invalidate_jacobian(),
                4 => integrator.set_largest(if random.next() < 0.5 { 0.05 } else { f64::INFINITY }),
                _ => {
                    let limit = integrator.time() + 10f64.powf(3.0 * random.next() - 3.0);
                    integrator.step(&mut system, limit).unwrap();
                    let (start, end) = integrator.span();
                    assert!(end <= limit && end > start);
                    near(integrator.state()[0], end.sin(), if end > 0.1 { 1e-4 } else { 1.0 });
                }
            }
            bits.push(integrator.state()[0].to_bits());
        }
        bits
    };
    assert_eq!(once(), once());
}

#[test]
fn the_largest_step_holds_at_once() {
    let mut integrator = started("cvode", &settings(1e-4, 1e-4), 0.0, &[1.0, 0.0]);
    for _ in 0..40 {
        integrator.step(&mut oscillator(), 1e3).unwrap();
    }
    let (start, end) = integrator.span();
    assert!(end - start > 0.05, "{}", end - start);
    integrator.set_largest(0.01);
    for _ in 0..20 {
        integrator.step(&mut oscillator(), 1e3).unwrap();
        let (start, end) = integrator.span();
        assert!(end - start < 0.01 * (1.0 + 1e-9), "{}", end - start);
    }
}

/// The oscillator with its Jacobian, which fails when it is told to.
struct Known {
    jacobians: u64,
    fatal: bool,
}

impl OdeSystem for Known {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        oscillator().derivatives(t, x, dx)
    }

    fn jacobian(&mut self, _t: f64, _x: &[f64], out: &mut [f64]) -> Result<bool, EvaluationFault> {
        self.jacobians += 1;
        if self.fatal {
            return Err(EvaluationFault::Fatal("no derivatives today".into()));
        }
        out.copy_from_slice(&[0.0, 1.0, -1.0, 0.0]);
        Ok(true)
    }
}

#[test]
fn a_jacobian_that_is_known_is_used_row_by_row() {
    let tight = settings(1e-8, 1e-8);
    let mut known = Known { jacobians: 0, fatal: false };
    let mut integrator = started("cvode", &tight, 0.0, &[1.0, 0.0]);
    run(&mut integrator, &mut known, 10.0);
    near(integrator.state()[0], 10f64.cos(), 1e-5);
    let counters = integrator.counters();
    assert_eq!(counters.jacobians, known.jacobians);
    let mut other = started("cvode", &tight, 0.0, &[1.0, 0.0]);
    run(&mut other, &mut oscillator(), 10.0);
    // Turned round, or not asked at all, it would converge more slowly or take more evaluations.
    assert!(counters.evaluations < other.counters().evaluations, "{counters:?} {:?}", other.counters());
    assert_eq!(counters.newton_failures, 0);

    let mut integrator = started("cvode", &tight, 0.0, &[1.0, 0.0]);
    let failure = integrator.step(&mut Known { jacobians: 0, fatal: true }, 1.0).unwrap_err();
    assert_eq!(failure, IntegrationFailure::Fatal { time: 0.0, message: "no derivatives today".into() });
}

#[test]
fn a_panic_of_the_system_comes_through() {
    let mut integrator = started("cvode", &Settings::default(), 0.0, &[1.0]);
    let mut system = common::Of(|t: f64, _: &[f64], dx: &mut [f64]| {
        assert!(t < 0.5, "beyond the table");
        dx[0] = 1.0;
    });
    let stepped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        while integrator.step(&mut system, 2.0).unwrap() != StepOutcome::Reached {}
    }));
    assert_eq!(stepped.unwrap_err().downcast_ref(), Some(&"beyond the table"));
}

#[test]
fn tolerances_below_rounding_are_told() {
    let mut integrator = started("cvode", &settings(0.0, 1e-30), 0.0, &[1.0, 0.0]);
    let failure = integrator.step(&mut oscillator(), 1.0).unwrap_err();
    assert!(matches!(failure, IntegrationFailure::Stalled { cause: Cause::Error { .. }, .. }), "{failure}");
}
