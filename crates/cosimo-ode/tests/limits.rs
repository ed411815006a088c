//! Limits are reached exactly and never passed, and a stair of them costs no more than it must.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod common;

use common::{about, near, oscillator, settings, started};
use cosimo_ode::{EvaluationFault, INTEGRATORS, OdeSystem, Settings, StepOutcome};

/// The oscillator, which refuses to look beyond a wall.
struct Walled {
    wall: f64,
}

impl OdeSystem for Walled {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        assert!(t <= self.wall, "evaluated at {t}, beyond {}", self.wall);
        oscillator().derivatives(t, x, dx)
    }
}

/// CVODE takes every limit for a change of its step size, which costs accuracy: 3e-4 where it has 7e-5 without limits.
fn accuracy(name: &str) -> f64 {
    if name == "cvode" { 1e-3 } else { 1e-4 }
}

#[test]
fn a_stair_of_limits_is_reached_to_the_bit() {
    for (entry, evaluations) in INTEGRATORS.iter().zip([1202, 605, 216, 219]) {
        let mut integrator = started(entry.name, &settings(1e-4, 1e-4), 0.0, &[1.0, 0.0]);
        for stair in 1..=200 {
            let wall = 0.05 * f64::from(stair);
            while integrator.step(&mut Walled { wall }, wall).unwrap() != StepOutcome::Reached {}
            assert_eq!(integrator.time(), wall);
            assert_eq!(integrator.step(&mut Walled { wall: -1.0 }, wall), Ok(StepOutcome::Reached));
        }
        near(integrator.state()[0], 10f64.cos(), 3e-3);
        println!("{}: {:?}", entry.name, integrator.counters());
        about(integrator.counters().evaluations, evaluations);
        // What was planned before limits cut it off is not forgotten, but by CVODE.
        assert!(integrator.planned() > 0.1 || entry.name == "cvode");
    }
}

#[test]
fn limits_anywhere_are_reached_to_the_bit() {
    let mut random = common::Random(3);
    for entry in INTEGRATORS {
        let mut integrator =
            started(entry.name, &settings(1e-6, 1e-6), 1e3, &[1e3_f64.cos(), -1e3_f64.sin()]);
        let mut wall = 1e3;
        while wall < 1010.0 {
            // From the next number on.
            wall = (wall + 0.5 * 10f64.powf(-16.0 * random.next())).max(wall.next_up());
            while integrator.step(&mut Walled { wall }, wall).unwrap() != StepOutcome::Reached {}
            assert_eq!(integrator.time(), wall);
        }
        println!("{}: {:?}", entry.name, integrator.counters());
        near(integrator.state()[0], wall.cos(), accuracy(entry.name));
    }
}

#[test]
fn a_limit_right_after_another_costs_a_step_and_not_the_size_of_the_next() {
    // As where an event in time and a communication point almost meet, once in a tenth of a second.
    for (entry, evaluations) in INTEGRATORS.iter().zip([6 + 6, 9 + 3, 7, 16]) {
        for apart in [1e-15, 1e-12, 1e-9, 1e-6, 1e-4] {
            let mut integrator = started(entry.name, &settings(1e-6, 1e-6), 0.0, &[1.0, 0.0]);
            for pair in 1..=200 {
                let limit = 0.1 * f64::from(pair);
                common::run(&mut integrator, &mut oscillator(), limit);
                common::run(&mut integrator, &mut oscillator(), (limit + apart).max(limit.next_up()));
            }
            let counters = integrator.counters();
            println!("{}, {apart:e} apart: {counters:?}", entry.name);
            assert!(counters.evaluations < 200 * (evaluations + 1), "{}: {apart:e}", entry.name);
            // What is next to nothing is not even a step to a method with a memory.
            assert!(entry.name != "bdf" || apart > 1e-10 || counters.evaluations < 300);
            near(integrator.state()[0], integrator.time().cos(), accuracy(entry.name));
        }
    }
}

#[test]
fn a_system_without_states_goes_to_its_limit_at_once() {
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &Settings::default(), 0.0, &[]);
        let mut nothing = common::Of(|_, _: &[f64], _: &mut [f64]| panic!("nobody needs to know"));
        assert_eq!(integrator.step(&mut nothing, 7.0), Ok(StepOutcome::Reached));
        assert_eq!(integrator.time(), 7.0);
    }
}

#[test]
fn before_the_first_step_the_dense_output_is_the_start() {
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &Settings::default(), 2.0, &[3.0]);
        let mut x = [0.0];
        integrator.at(5.0, &mut x);
        assert_eq!(x, [3.0]);
        integrator.slope_at(5.0, &mut x);
        assert_eq!(x, [0.0]);
        // And after a start anew, that of the new one.
        common::run(&mut integrator, &mut common::prothero_robinson(1.0), 4.0);
        integrator.restart(4.0, &[1.5]);
        integrator.at(3.9, &mut x);
        assert_eq!(x, [1.5]);
    }
}

#[test]
fn a_start_right_before_a_limit_begins_as_any_other() {
    for entry in INTEGRATORS {
        let evaluations = |windows: &[f64]| {
            let mut integrator = started(entry.name, &settings(1e-6, 1e-6), 0.0, &[1.0, 0.0]);
            for window in windows {
                common::run(&mut integrator, &mut oscillator(), *window);
            }
            integrator.counters().evaluations
        };
        let (plain, after) = (evaluations(&[1.0]), evaluations(&[1e-14, 1.0]));
        println!("{}: {plain}, {after}", entry.name);
        assert!(after <= plain + 15);
    }
}

#[test]
fn the_dense_output_of_the_smallest_step_is_its_ends() {
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &Settings::default(), 0.0, &[1.0, 0.0]);
        common::run(&mut integrator, &mut oscillator(), 1.0);
        let state = integrator.state().to_vec();
        integrator.restart(1.0, &[5.0, 0.0]);
        let end = 1.0 + 4.0 * f64::EPSILON;
        common::run(&mut integrator, &mut oscillator(), end);
        let mut x = [0.0; 2];
        integrator.at(1.0 + 2.0 * f64::EPSILON, &mut x);
        near(x[0], 5.0, 1e-14);
        assert_ne!(state, x);
    }
}

#[test]
fn the_dense_output_of_a_cut_step_lasts_until_the_next() {
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &settings(1e-8, 1e-8), 0.0, &[1.0, 0.0]);
        while integrator.time() < 1.0 {
            integrator.step(&mut oscillator(), 5.0).unwrap();
        }
        let (start, end) = integrator.span();
        let (cut, between) = (0.5 * (start + end), 0.7 * start + 0.3 * end);
        integrator.cut(cut);
        assert_eq!(integrator.span(), (start, cut));
        let (mut x, mut dx) = ([0.0; 2], [0.0; 2]);
        for t in [start, between, cut] {
            integrator.at(t, &mut x);
            integrator.slope_at(t, &mut dx);
            near(x[0], t.cos(), 1e-6);
            near(dx[0], -t.sin(), 1e-4);
        }
        assert_eq!(x, integrator.state());
        // A next step that fails leaves nothing between.
        let mut broken =
            common::Of(|t: f64, _: &[f64], dx: &mut [f64]| dx.fill(if t > cut { f64::NAN } else { 1.0 }));
        integrator.step(&mut broken, 5.0).unwrap_err();
        assert_eq!(integrator.span(), (cut, cut));
        integrator.at(between, &mut x);
        assert_eq!(x, integrator.state());
        common::run(&mut integrator, &mut oscillator(), 5.0);
        near(integrator.state()[0], 5f64.cos(), 1e-5);
    }
}

#[test]
fn after_a_renewal_the_new_derivatives_count() {
    for entry in INTEGRATORS {
        let mut integrator = started(entry.name, &settings(1e-8, 1e-8), 0.0, &[0.0]);
        // A constant input that changes at t = 1: what was known of the derivatives is wrong.
        for (limit, input) in [(1.0, 1.0), (2.0, 1.001)] {
            let mut system = common::Of(|_, _: &[f64], dx: &mut [f64]| dx[0] = input);
            integrator.renew();
            common::run(&mut integrator, &mut system, limit);
        }
        near(integrator.state()[0], 2.001, 1e-7);
    }
}
