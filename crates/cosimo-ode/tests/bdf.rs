//! The stiff method: standard problems against independent solutions, what they cost, and what limits cost.
#![allow(clippy::unwrap_used)] // helpers of tests are tests
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod common;

use common::{
    Of, ROBERTSON, Random, Robertson, about, near, oscillator, prothero_robinson, relaxes, run, settings,
    started,
};
use cosimo_ode::{Absolute, Counters, EvaluationFault, OdeSystem, Pattern, Settings, StepOutcome};

#[test]
fn van_der_pol_relaxes_on_time() {
    // The cycle lives on a fold: a local error of 1e-6 moves the jump by 1e-5 of the period, in every code.
    for (tolerance, zeros, end, evaluations) in [(1e-6, 0.05, 1e-4, 2130), (1e-8, 5e-4, 1e-6, 4110)] {
        relaxes("bdf", tolerance, zeros, end, evaluations);
    }
}

#[test]
fn robertson_is_followed_over_twelve_decades() {
    let absolute = Absolute::Each(vec![1e-10, 1e-16, 1e-8]);
    let mut integrator =
        started("bdf", &Settings { relative: 1e-6, absolute, ..Settings::default() }, 0.0, &[1.0, 0.0, 0.0]);
    for (decade, wanted) in ROBERTSON.iter().enumerate() {
        run(&mut integrator, &mut Robertson, 0.4 * 10f64.powi(decade as i32));
        let x = integrator.state();
        println!("{:e}: {:.1e} {:.1e}", integrator.time(), x[0] / wanted[0] - 1.0, x[1] / wanted[1] - 1.0);
        // Relative where the relative tolerance rules, and within the absolute ones below.
        near(x[0], wanted[0], 2e-5 * wanted[0] + 3e-10);
        near(x[1], wanted[1], 2e-5 * wanted[1] + 3e-16);
        near(x[0] + x[1] + x[2], 1.0, 1e-9);
    }
    println!("{:?}", integrator.counters());
    about(integrator.counters().evaluations, 1260);
}

#[test]
fn errors_follow_the_tolerance() {
    let mut before = f64::INFINITY;
    for (tolerance, evaluations) in [(1e-4, 120), (1e-6, 205), (1e-8, 400), (1e-10, 800)] {
        let mut integrator = started("bdf", &settings(tolerance, tolerance), 0.0, &[1.0, 0.0]);
        run(&mut integrator, &mut oscillator(), 20.0);
        let error = (integrator.state()[0] - 20f64.cos()).abs();
        println!("{tolerance:e}: error {error:e}, {:?}", integrator.counters());
        assert!(error < 500.0 * tolerance && error < 0.1 * before);
        before = error;
        about(integrator.counters().evaluations, evaluations);
    }
    for stiffness in [1e2, 1e4, 1e6, 1e8] {
        let mut integrator = started("bdf", &settings(1e-6, 1e-6), 0.0, &[0.5]);
        run(&mut integrator, &mut prothero_robinson(stiffness), 10.0);
        println!("{stiffness:e}: {:?}", integrator.counters());
        near(integrator.state()[0], 10f64.sin(), 1e-6);
        // Stiffness costs nothing but the transient.
        assert!(integrator.counters().evaluations < 400);
    }
}

#[test]
fn a_constant_and_a_line_are_exact() {
    let mut integrator = started("bdf", &settings(1e-6, 1e-6), 0.0, &[3.0, 1.0]);
    let mut system = Of(|_, _: &[f64], dx: &mut [f64]| dx.copy_from_slice(&[0.0, 2.0]));
    run(&mut integrator, &mut system, 1000.0);
    assert_eq!(integrator.state()[0], 3.0);
    near(integrator.state()[1], 2001.0, 1e-9);
    assert!(integrator.counters().accepted < 30, "{:?}", integrator.counters());
}

#[test]
fn the_order_keeps_to_its_limit() {
    for limit in 1..=5 {
        let mut integrator =
            started("bdf", &Settings { order: limit, ..settings(1e-7, 1e-7) }, 0.0, &[1.0, 0.0]);
        let mut highest = 0;
        while integrator.step(&mut oscillator(), 5.0).unwrap() != StepOutcome::Reached {
            highest = highest.max(integrator.order());
        }
        assert_eq!(highest, limit);
        near(integrator.state()[0], 5f64.cos(), 1e-3);
    }
}

/// An input that is followed at once, and an oscillator behind it.
struct Driven<'a>(&'a dyn Fn(f64) -> f64);

impl OdeSystem for Driven<'_> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        dx[0] = -1000.0 * (x[0] - (self.0)(t));
        dx[1] = x[2];
        dx[2] = -4.0 * x[1] - 0.5 * x[2] + x[0];
        Ok(())
    }
}

#[derive(PartialEq, Clone, Copy)]
enum Input {
    Smooth,
    Polygon,
    PolygonWithRestart,
}

/// 30 s in windows of about the given size, the input being sin t or lines through it. Counters, and the mean order.
fn windows(size: f64, jitter: f64, tolerance: f64, input: Input) -> (u64, Counters, f64) {
    let mut random = Random(5);
    let mut integrator = started("bdf", &settings(tolerance, tolerance), 0.0, &[0.0; 3]);
    let (mut count, mut orders, mut begin) = (0, 0, 0.0);
    while begin < 30.0 {
        count += 1;
        let end: f64 = match jitter {
            0.0 => size * count as f64,
            _ => begin + size * (1.0 + jitter * (random.next() - 0.5)),
        };
        let slope = (end.sin() - begin.sin()) / (end - begin);
        let line = |t: f64| begin.sin() + slope * (t - begin);
        let mut system = Driven(if input == Input::Smooth { &f64::sin } else { &line });
        if input == Input::PolygonWithRestart {
            let x = integrator.state().to_vec();
            integrator.restart(begin, &x);
        } else {
            integrator.renew();
        }
        loop {
            orders += integrator.order();
            if integrator.step(&mut system, end).unwrap() == StepOutcome::Reached {
                break;
            }
        }
        begin = end;
    }
    let counters = integrator.counters();
    let order = orders as f64 / counters.accepted as f64;
    println!(
        "{size} ± {jitter} at {tolerance:e}: {:.2} evaluations a window, mean order {order:.2}, {counters:?}",
        counters.evaluations as f64 / count as f64
    );
    (count, counters, order)
}

#[test]
fn limits_cost_one_evaluation_and_no_order() {
    // Windows smaller than the steps would be: one step each, one evaluation each, and the matrix is kept.
    for (size, tolerance) in [(0.01, 1e-4), (0.03, 1e-4), (0.01, 1e-6), (0.03, 1e-6)] {
        let (count, counters, order) = windows(size, 0.0, tolerance, Input::Smooth);
        assert!(counters.evaluations * 100 < count * 115 && counters.factorisations < 40);
        assert!(order > 4.5 && counters.rejected == 0);
    }
    // Windows larger than the steps: hardly more steps than without limits.
    let (_, free, _) = windows(30.0, 0.0, 1e-6, Input::Smooth);
    for size in [0.3, 1.0] {
        let (_, counters, order) = windows(size, 0.0, 1e-6, Input::Smooth);
        assert!(counters.evaluations * 100 < free.evaluations * 125 && order > 4.0);
    }
    // Windows of any size: every step needs its own matrix, and one iteration more to be sure of it.
    let (count, counters, order) = windows(0.1, 1.0, 1e-4, Input::Smooth);
    assert!(counters.evaluations * 10 < count * 25 && order > 3.0);
}

#[test]
fn an_input_of_lines_needs_no_restart() {
    // Kinks below the tolerance are not felt.
    let (count, counters, order) = windows(0.01, 0.0, 1e-4, Input::Polygon);
    assert!(counters.evaluations * 100 < count * 115 && order > 4.5);
    let (_, restarted, _) = windows(0.01, 0.0, 1e-4, Input::PolygonWithRestart);
    assert!(restarted.evaluations > 5 * counters.evaluations);
    // Kinks above it are boundary layers that have to be resolved, with a restart or without one.
    for (size, tolerance) in [(0.1, 1e-4), (0.1, 1e-6), (1.0, 1e-6)] {
        let (_, counters, _) = windows(size, 0.0, tolerance, Input::Polygon);
        let (_, restarted, _) = windows(size, 0.0, tolerance, Input::PolygonWithRestart);
        assert!(counters.evaluations * 100 < restarted.evaluations * 115);
    }
}

#[test]
fn jumps_without_an_event_are_overcome() {
    let square = |t: f64| if (0.7 * t).floor() % 2.0 == 0.0 { 1.0 } else { -1.0 };
    let mut integrator = started("bdf", &settings(1e-6, 1e-6), 0.0, &[0.0; 3]);
    run(&mut integrator, &mut Driven(&square), 20.0);
    println!("{:?}", integrator.counters());
    about(integrator.counters().evaluations, 3220);
    // From jump to jump the input is a constant, which another method follows at leisure.
    let mut reference = started("dormand-prince", &settings(1e-9, 1e-9), 0.0, &[0.0; 3]);
    for jump in 0..14 {
        let x = reference.state().to_vec();
        let value = if jump % 2 == 0 { 1.0 } else { -1.0 };
        reference.restart(reference.time(), &x);
        run(&mut reference, &mut Driven(&|_| value), (f64::from(jump + 1) / 0.7).min(20.0));
    }
    assert_eq!(reference.time(), 20.0);
    for (found, wanted) in integrator.state().iter().zip(reference.state()) {
        near(*found, *wanted, 1e-4);
    }
}

/// Heat in a rod with one warm end: a Jacobian of three diagonals.
struct Rod {
    offers_jacobian: bool,
}

const CELLS: usize = 20;

impl OdeSystem for Rod {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        for i in 0..CELLS {
            let left = if i == 0 { (3.0 * t).sin() } else { x[i - 1] };
            let right = if i + 1 == CELLS { 0.0 } else { x[i + 1] };
            dx[i] = 400.0 * (left - 2.0 * x[i] + right) + x[i] * (1.0 - x[i]);
        }
        Ok(())
    }

    fn jacobian(&mut self, _t: f64, x: &[f64], out: &mut [f64]) -> Result<bool, EvaluationFault> {
        // Nonsense, unless it is said to be the Jacobian.
        out.fill(if self.offers_jacobian { 0.0 } else { f64::NAN });
        for i in 0..CELLS {
            out[i * CELLS + i] = -800.0 + 1.0 - 2.0 * x[i];
            if i > 0 {
                out[i * CELLS + i - 1] = 400.0;
                out[(i - 1) * CELLS + i] = 400.0;
            }
        }
        Ok(self.offers_jacobian)
    }
}

#[test]
fn jacobians_come_from_the_system_from_a_pattern_or_from_all_differences() {
    let places = (0..CELLS).flat_map(|i| (i.saturating_sub(1)..=i + 1).map(move |j| (j, i)));
    let pattern = Pattern::new(CELLS, places);
    assert_eq!(pattern.evaluations(), 3);
    let counters = |pattern: Option<Pattern>, offers_jacobian: bool| {
        let settings = Settings { pattern, ..settings(1e-6, 1e-8) };
        let mut integrator = started("bdf", &settings, 0.0, &[0.0; CELLS]);
        let mut system = Rod { offers_jacobian };
        run(&mut integrator, &mut system, 1.0);
        integrator.invalidate_jacobian();
        run(&mut integrator, &mut system, 2.0);
        println!("{:?}, x = {}", integrator.counters(), integrator.state()[CELLS / 2]);
        (integrator.counters(), integrator.state()[CELLS / 2])
    };
    let (offered, exact) = counters(None, true);
    let (coloured, close) = counters(Some(pattern), false);
    let (full, closest) = counters(None, false);
    // The same steps, but for what a Jacobian costs.
    assert_eq!((offered.jacobians, coloured.jacobians, full.jacobians), (2, 2, 2));
    assert_eq!((offered.accepted, offered.accepted), (coloured.accepted, full.accepted));
    assert_eq!(coloured.evaluations - offered.evaluations, 6);
    assert_eq!(full.evaluations - offered.evaluations, 2 * CELLS as u64);
    near(close, exact, 1e-9);
    assert_eq!(close.to_bits(), closest.to_bits());
}

/// Goes to 1, and has no answer above it; counts how often it is asked there.
struct Bounded {
    rate: f64,
    refused: u32,
}

impl OdeSystem for Bounded {
    fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        if x[0] > 1.0 {
            self.refused += 1;
            return Err(EvaluationFault::Retry("above 1".into()));
        }
        dx[0] = self.rate * (1.0 - x[0]);
        Ok(())
    }
}

#[test]
fn a_jacobian_is_taken_where_the_system_has_answers() {
    // Away from the border: increments go where the solution goes.
    let settings = Settings { first: Some(1e-10), ..settings(1e-6, 1e-8) };
    let mut integrator = started("bdf", &settings, 0.0, &[1.0 - 1e-9]);
    let mut system = Bounded { rate: -1.0, refused: 0 };
    run(&mut integrator, &mut system, 1.0);
    near(integrator.state()[0], 1.0, 1e-8);
    assert_eq!(system.refused, 0);
    // Towards it: on the other side there is an answer.
    let mut integrator = started("bdf", &settings, 0.0, &[1.0 - 1e-9]);
    let mut system = Bounded { rate: 1.0, refused: 0 };
    integrator.step(&mut system, 1.0).unwrap();
    assert_eq!((system.refused, integrator.counters().rejected), (1, 0));
}

#[test]
fn columns_share_an_evaluation_if_they_share_no_row() {
    // An arrow: the first state is in all rows, the others in the first and their own.
    let arrow = Pattern::new(4, (0..4).flat_map(|i| [(i, 0), (0, i), (i, i)]));
    assert_eq!(arrow.evaluations(), 4);
    // Without its shaft, and with a place outside the square that counts for nothing.
    let diagonal = Pattern::new(4, (0..4).map(|i| (i, i)).chain([(7, 0)]));
    assert_eq!(diagonal.evaluations(), 1);
    assert_eq!(Pattern::new(4, []).evaluations(), 0);
}
