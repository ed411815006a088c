//! Loops without states: Newton's iteration with damping.

#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

use cosimo_ode::{Equations, Newton, NewtonError, Solution};

fn solve(start: &[f64], g: fn(&[f64], &mut [f64])) -> Result<(Vec<f64>, Solution), NewtonError<()>> {
    let mut u = start.to_vec();
    let solved = Newton::new(u.len()).solve(&mut u, |u, value| {
        g(u, value);
        Ok(())
    })?;
    Ok((u, solved))
}

#[test]
fn a_linear_loop_that_diverges_by_substitution_is_solved_to_rounding() {
    // u0 = 3 u1 + 1, u1 = -2 u0 + 2: u0 = 1, u1 = 0; substitution grows six-fold in each round.
    let (u, solved) = solve(&[0.0, 0.0], |u, g| {
        g[0] = 3.0 * u[1] + 1.0;
        g[1] = -2.0 * u[0] + 2.0;
    })
    .unwrap();
    assert!((u[0] - 1.0).abs() < 1e-14 && u[1].abs() < 1e-14, "{u:?}");
    assert!(solved.iterations <= 3, "{solved:?}");
}

#[test]
fn a_nonlinear_loop_needs_damping_far_from_its_solution() {
    // atan(u) = 0 is where undamped Newton diverges from |u| > 1.39.
    let (u, _) = solve(&[20.0], |u, g| g[0] = u[0] - u[0].atan()).unwrap();
    assert!(u[0].abs() < 1e-9, "{u:?}");
    // The cosine's fixed point.
    let (u, _) = solve(&[1.0], |u, g| g[0] = u[0].cos()).unwrap();
    assert!((u[0] - 0.739_085_133_215_160_6).abs() < 1e-15, "{u:?}");
}

/// A diode behind a resistor, told the current: 200 decades of e away, and not near enough before it is there.
#[test]
fn an_exponential_is_climbed_down() {
    let (u, solved) =
        solve(&[0.0], |u, g| g[0] = 1e-12 * (((5.0 - 1000.0 * u[0]) / 0.025).exp() - 1.0)).unwrap();
    assert!((1e-12 * (((5.0 - 1000.0 * u[0]) / 0.025).exp() - 1.0) - u[0]).abs() < 1e-12, "{u:?} {solved:?}");
    let stuck =
        solve(&[0.0], |u, g| g[0] = 1e-12 * (((8.0 - 1000.0 * u[0]) / 0.025).exp() - 1.0)).unwrap_err();
    assert!(matches!(stuck, NewtonError::Stuck { .. }), "{stuck:?}");
}

#[test]
fn small_numbers_are_solved_as_exactly_as_large_ones() {
    for size in [1e-12, 1.0, 1e12] {
        let mut u = [0.0];
        let g = |u: &[f64], g: &mut [f64]| {
            g[0] = 2.0 * size - u[0];
            Ok::<(), ()>(())
        };
        Newton::new(1).solve(&mut u, g).unwrap();
        assert!((u[0] / size - 1.0).abs() < 1e-15, "{size}: {u:?}");
    }
}

#[test]
fn what_has_no_solution_is_said_to_have_none() {
    // u = u + 1, and u = u^2 + 1.
    assert!(matches!(solve(&[0.0], |u, g| g[0] = u[0] + 1.0), Err(NewtonError::Stuck { .. })));
    let stuck = solve(&[0.3], |u, g| g[0] = u[0] * u[0] + 1.0).unwrap_err();
    let NewtonError::Stuck { unknown: 0, residual, .. } = stuck else { panic!("{stuck:?}") };
    assert!((residual - 0.75).abs() < 1e-2, "the least that u - u^2 - 1 can be: {residual}");
    assert!(matches!(solve(&[0.0], |_, g| g[0] = f64::NAN), Err(NewtonError::Stuck { .. })));
}

/// u = cos(u), with a derivative as it is told.
struct Cosine(f64, u32);

impl Equations for Cosine {
    type Error = ();
    fn value(&mut self, u: &[f64], g: &mut [f64]) -> Result<(), ()> {
        (g[0], self.1) = (u[0].cos(), self.1 + 1);
        Ok(())
    }
    fn derivatives(&mut self, into: &mut [f64]) -> Result<bool, ()> {
        into[0] = self.0;
        Ok(true)
    }
}

#[test]
fn derivatives_save_questions_and_wrong_ones_do_no_harm() {
    let solution = 0.739_085_133_215_160_6_f64;
    for (slope, most) in [(-solution.sin(), 8), (1.0, 40), (f64::MAX, 40), (5.0, 60)] {
        let (mut cosine, mut u) = (Cosine(slope, 0), [1.0]);
        Newton::new(1).solve_equations(&mut u, &mut cosine).unwrap();
        assert!((u[0] - solution).abs() < 1e-9 && cosine.1 <= most, "{slope}: {u:?} {}", cosine.1);
    }
}

#[test]
fn a_loop_that_is_solved_already_costs_two_questions() {
    let (u, solved) = solve(&[2.0], |_, g| g[0] = 2.0).unwrap();
    assert_eq!((u[0], solved), (2.0, Solution { iterations: 0, evaluations: 2 }));
}
