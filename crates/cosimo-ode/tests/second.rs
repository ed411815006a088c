//! Beside another implementation: the backward differentiation of the crate diffsol, on the same problems.
//!
//!     cargo test -p cosimo-ode --features diffsol --test second -- --nocapture
//!
//! Evaluations are compared with Jacobians included: ours take differences, theirs products with a vector.
#![cfg(feature = "diffsol")]
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod common;

use std::cell::{Cell, RefCell};

use common::{Of, Robertson, VanDerPol, near, run, started};
use cosimo_ode::{Absolute, OdeSystem, Roots, Settings, StepOutcome};
use diffsol::{NalgebraLU, NalgebraMat, OdeBuilder, OdeSolverMethod, OdeSolverStopReason, VectorCommon};

type M = NalgebraMat<f64>;

struct Problem<'a> {
    x: &'a [f64],
    relative: f64,
    absolute: &'a [f64],
    end: f64,
    /// Product of the Jacobian at a state with a vector.
    product: fn(&[f64], &[f64], &mut [f64]),
}

struct Solution {
    end: Vec<f64>,
    /// Where the first state is 0, if that is asked for.
    zeros: Vec<f64>,
    evaluations: u64,
}

fn ours(problem: &Problem<'_>, system: &mut dyn OdeSystem, with_zeros: bool) -> Solution {
    let absolute = Absolute::Each(problem.absolute.to_vec());
    let settings = Settings { relative: problem.relative, absolute, ..Settings::default() };
    let mut integrator = started("bdf", &settings, 0.0, problem.x);
    let mut zeros = Vec::new();
    if with_zeros {
        let mut roots = Roots::new(1, problem.x.len());
        roots.start(&mut integrator, system).unwrap();
        loop {
            let outcome = integrator.step(system, problem.end).unwrap();
            match roots.search(&mut integrator, system).unwrap() {
                Some(t) => zeros.push(t),
                None if outcome == StepOutcome::Reached => break,
                None => {}
            }
        }
    } else {
        run(&mut integrator, system, problem.end);
    }
    Solution { end: integrator.state().to_vec(), zeros, evaluations: integrator.counters().evaluations }
}

fn theirs(problem: &Problem<'_>, system: &mut dyn OdeSystem, with_zeros: bool) -> Solution {
    let evaluations = Cell::new(0);
    let system = RefCell::new(system);
    let rhs = |x: &[f64], _: &[f64], t: f64, dx: &mut [f64]| {
        evaluations.set(evaluations.get() + 1);
        system.borrow_mut().derivatives(t, x, dx).unwrap();
    };
    let product = |x: &[f64], _: &[f64], _: f64, v: &[f64], out: &mut [f64]| {
        evaluations.set(evaluations.get() + 1);
        (problem.product)(x, v, out);
    };
    let start = problem.x.to_vec();
    let states = start.len();
    let mut given = OdeBuilder::<M>::new()
        .rtol(problem.relative)
        .atol(problem.absolute.to_vec())
        .rhs_implicit(rhs, product)
        .init(move |_: &[f64], _: f64, x: &mut [f64]| x.copy_from_slice(&start), states)
        .root(
            move |x: &[f64], _: &[f64], _: f64, z: &mut [f64]| z[0] = if with_zeros { x[0] } else { 1.0 },
            1,
        )
        .build()
        .unwrap();
    // Per life of the solver, not per step: too few for a long run.
    given.ode_options.max_nonlinear_solver_failures = 10_000;
    let mut solver = given.bdf::<NalgebraLU<f64>>().unwrap();
    solver.set_stop_time(problem.end).unwrap();
    let mut zeros = Vec::new();
    loop {
        match solver.step().unwrap() {
            OdeSolverStopReason::InternalTimestep => {}
            OdeSolverStopReason::RootFound(t, _) => zeros.push(t),
            OdeSolverStopReason::TstopReached => break,
        }
    }
    let end = solver.state().y.inner().as_slice().to_vec();
    Solution { end, zeros, evaluations: evaluations.get() }
}

/// Both solutions agree within the tolerance, as errors add up, and ours was not much more work.
fn compare(name: &str, problem: &Problem<'_>, system: &mut dyn OdeSystem, slack: f64, with_zeros: bool) {
    let ours = ours(problem, system, with_zeros);
    let theirs = theirs(problem, system, with_zeros);
    println!("{name}: {} evaluations, diffsol {}", ours.evaluations, theirs.evaluations);
    for i in 0..problem.x.len() {
        let (a, b) = (ours.end[i], theirs.end[i]);
        near(a, b, slack * (problem.absolute[i] + problem.relative * a.abs().max(b.abs())));
    }
    assert_eq!(ours.zeros.len(), theirs.zeros.len());
    for (a, b) in ours.zeros.iter().zip(&theirs.zeros) {
        println!("  zero at {a}, diffsol {b}");
        near(*a, *b, slack * problem.relative * a);
    }
    assert!(ours.evaluations * 10 <= theirs.evaluations * 13, "{} {}", ours.evaluations, theirs.evaluations);
}

#[test]
fn van_der_pol() {
    for relative in [1e-4, 1e-6, 1e-8] {
        let problem = Problem {
            x: &[2.0, 0.0],
            relative,
            absolute: &[1e-2 * relative; 2],
            end: 2000.0,
            product: |x, v, out| {
                out[0] = v[1];
                out[1] = (-2000.0 * x[0] * x[1] - 1.0) * v[0] + 1000.0 * (1.0 - x[0] * x[0]) * v[1];
            },
        };
        compare(&format!("van der Pol {relative:e}"), &problem, &mut VanDerPol(1000.0), 100.0, true);
    }
}

#[test]
fn robertson() {
    for relative in [1e-4, 1e-6, 1e-8] {
        let problem = Problem {
            x: &[1.0, 0.0, 0.0],
            relative,
            absolute: &[1e-4 * relative, 1e-10 * relative, 1e-2 * relative],
            end: 4e5,
            product: |x, v, out| {
                out[0] = -0.04 * v[0] + 1e4 * (x[2] * v[1] + x[1] * v[2]);
                out[2] = 6e7 * x[1] * v[1];
                out[1] = -out[0] - out[2];
            },
        };
        compare(&format!("Robertson {relative:e}"), &problem, &mut Robertson, 100.0, false);
    }
}

#[test]
fn a_linear_system_with_rates_from_1_to_1e6() {
    fn product(_: &[f64], v: &[f64], out: &mut [f64]) {
        for i in 0..4 {
            let (left, right) = (v[i.max(1) - 1], v[(i + 1).min(3)]);
            out[i] = 100_f64.powi(i as i32) * (0.5 * (left + right) - 1.5 * v[i]);
        }
    }
    for relative in [1e-4, 1e-6, 1e-8] {
        let problem =
            Problem { x: &[1.0, -1.0, 1.0, -1.0], relative, absolute: &[relative; 4], end: 10.0, product };
        let mut system = Of(|t: f64, x: &[f64], dx: &mut [f64]| {
            product(x, x, dx);
            dx[0] += t.sin();
        });
        compare(&format!("linear {relative:e}"), &problem, &mut system, 100.0, false);
    }
}
