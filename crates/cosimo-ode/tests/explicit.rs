//! The explicit methods: orders, tolerances, what they cost, and that they notice stiffness.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod common;

use common::{about, fixed, near, order, oscillator, prothero_robinson, run, settings, started};
use cosimo_ode::StepOutcome;

const METHODS: [(&str, [f64; 3]); 2] =
    [("dormand-prince", [5.0, 5.0, 4.0]), ("bogacki-shampine", [3.0, 3.0, 3.0])];

/// The largest errors of the oscillator over one turn in so many equal steps: at the ends of the steps, of the dense output
/// between, and of its derivative.
fn errors(name: &str, steps: usize) -> [f64; 3] {
    let turn = std::f64::consts::TAU;
    let mut integrator = started(name, &fixed(turn / steps as f64), 0.0, &[1.0, 0.0]);
    let mut system = oscillator();
    let mut errors = [0.0_f64; 3];
    let (mut x, mut dx) = ([0.0; 2], [0.0; 2]);
    loop {
        let outcome = integrator.step(&mut system, turn).unwrap();
        let (start, end) = integrator.span();
        errors[0] = errors[0].max((integrator.state()[0] - end.cos()).abs());
        for share in [0.2, 0.4, 0.6, 0.8] {
            let t = start + share * (end - start);
            integrator.at(t, &mut x);
            integrator.slope_at(t, &mut dx);
            errors[1] = errors[1].max((x[0] - t.cos()).abs());
            errors[2] = errors[2].max((dx[0] + t.sin()).abs());
        }
        if outcome == StepOutcome::Reached {
            assert_eq!(integrator.counters().accepted, steps as u64);
            assert_eq!(end, turn);
            return errors;
        }
    }
}

#[test]
fn steps_and_dense_output_have_their_orders() {
    for (name, orders) in METHODS {
        let (coarse, fine) = (errors(name, 40), errors(name, 160));
        let found = [0, 1, 2].map(|kind| order(coarse[kind], fine[kind], 4.0));
        println!("{name}: orders {found:.2?}");
        // An interpolant of order p makes a local error of order p + 1, which is what shows between the ends unless their
        // own errors are larger. Its derivative has one order less.
        for (found, order) in found.into_iter().zip(orders) {
            near(found, order, 0.1);
        }
    }
}

#[test]
fn a_polynomial_within_the_order_is_exact_everywhere() {
    for (name, degree) in [("dormand-prince", 4), ("bogacki-shampine", 3)] {
        let mut system =
            common::Of(|t: f64, _: &[f64], dx: &mut [f64]| dx[0] = f64::from(degree) * t.powi(degree - 1));
        let mut integrator = started(name, &fixed(0.5), 0.0, &[0.0]);
        let mut x = [0.0];
        while integrator.time() < 3.0 {
            integrator.step(&mut system, 3.0).unwrap();
            let (start, end) = integrator.span();
            for share in [0.0, 0.3, 0.7, 1.0] {
                let t = start + share * (end - start);
                integrator.at(t, &mut x);
                near(x[0], t.powi(degree), 1e-12 * end.powi(degree));
                integrator.slope_at(t, &mut x);
                near(x[0], f64::from(degree) * t.powi(degree - 1), 1e-10);
            }
        }
    }
}

#[test]
fn errors_follow_the_tolerance() {
    for (name, evaluations) in
        [("dormand-prince", [308, 758, 1880]), ("bogacki-shampine", [725, 3356, 15566])]
    {
        let mut before = f64::INFINITY;
        for (tolerance, evaluations) in [1e-5, 1e-7, 1e-9].into_iter().zip(evaluations) {
            let mut integrator = started(name, &settings(tolerance, tolerance), 0.0, &[1.0, 0.0]);
            run(&mut integrator, &mut oscillator(), 20.0);
            let error = (integrator.state()[0] - 20f64.cos()).abs();
            println!("{name} {tolerance:e}: error {error:e}, {:?}", integrator.counters());
            assert!(error < 50.0 * tolerance && error > 0.01 * tolerance);
            assert!(error < 0.05 * before);
            before = error;
            about(integrator.counters().evaluations, evaluations);
            assert!(!integrator.stiff());
        }
    }
}

#[test]
fn stiffness_is_noticed() {
    for (name, _) in METHODS {
        let mut integrator = started(name, &settings(1e-4, 1e-6), 0.0, &[0.0]);
        run(&mut integrator, &mut prothero_robinson(1e3), 2.0);
        near(integrator.state()[0], 2f64.sin(), 1e-3);
        assert!(integrator.stiff(), "{name}");
        println!("{name}: {:?}", integrator.counters());
    }
}

#[test]
fn a_few_steps_at_the_border_of_stability_are_not_stiffness() {
    for (name, _) in METHODS {
        let mut integrator = started(name, &settings(1e-4, 1e-6), 0.0, &[0.0]);
        for _ in 0..10 {
            // About ten steps at the border, and many that are nowhere near it.
            for (stiffness, span) in [(1e3, 0.03), (1.0, 10.0)] {
                integrator.renew();
                let limit = integrator.time() + span;
                run(&mut integrator, &mut prothero_robinson(stiffness), limit);
            }
        }
        assert!(!integrator.stiff(), "{name}: {:?}", integrator.counters());
    }
}
