//! The record of a step: integrals of inputs as applied and as computed from outputs.

use crate::{time, window};
use cosimo_core::linear_model::LinearModels;
use cosimo_core::link::{Couplings, PortRanges, Term};
use cosimo_core::method::{CorrectionContext, Jacobian, OwnStep, Quadrature, Sizes, StepRecord};
use cosimo_core::trace::Traces;
use cosimo_core::{Segment, Window};

const SIZE: f64 = 0.5;

/// Two outputs over a window from 1 on: a cubic, and one without slopes. Input 0 is 2 a - b + 3.
struct StepData {
    traces: Traces,
    couplings: Couplings,
    applied: [Segment; 1],
    integrals: [f64; 2],
    window: Window,
}

fn cubic(t: f64) -> (f64, f64) {
    (1.0 + t * (2.0 + t * (3.0 + 4.0 * t)), 2.0 + t * (6.0 + 12.0 * t))
}

fn step_data(sloped: bool) -> StepData {
    let mut traces = Traces::new(2);
    for t in [1.0, 1.0 + SIZE] {
        traces.open(time(t));
        let (y, slope) = cubic(t);
        let slopes = [slope];
        traces.put(0, &[y], if sloped { &slopes } else { &[] });
        traces.put(1, &[10.0 * t], &[]);
        traces.commit();
    }
    let row = vec![Term { output: 0, gain: 2.0 }, Term { output: 1, gain: -1.0 }];
    StepData {
        traces,
        couplings: Couplings::new(&[row], vec![3.0]),
        applied: [Segment([1.0, 2.0, 3.0, 4.0])],
        integrals: [f64::NAN; 2],
        window: window(1.0, SIZE),
    }
}

impl StepData {
    fn record(&self) -> StepRecord<'_> {
        StepRecord {
            window: self.window,
            applied: &self.applied,
            outputs: &[],
            integrals: &self.integrals,
            stashed: &[],
            traces: &self.traces,
            couplings: &self.couplings,
            bonds: &[],
            powers: &[],
            tolerances: &[],
            weights: &[],
            connected: &[],
            shape: Sizes::default(),
        }
    }

    fn true_integral(&self, rule: Quadrature) -> f64 {
        self.record().true_integral(0, rule)
    }
}

/// Of 2 a - b + 3, from integrals of a and b.
fn of_row(a: f64, b: f64) -> f64 {
    3.0 * SIZE + 2.0 * a - b
}

#[test]
fn the_integral_of_an_output_follows_the_rule() {
    let (from, to) = (cubic(1.0).0, cubic(1.0 + SIZE).0);
    let exact = |t: f64| t + t * t + t * t * t + t * t * t * t;
    let line = (10.0 + 15.0) / 2.0 * SIZE;
    let sloped = step_data(true);
    assert_eq!(sloped.true_integral(Quadrature::End), of_row(to * SIZE, 15.0 * SIZE));
    assert_eq!(sloped.true_integral(Quadrature::Trapezoid), of_row((from + to) / 2.0 * SIZE, line));
    let best = sloped.true_integral(Quadrature::Best);
    assert!((best - of_row(exact(1.0 + SIZE) - exact(1.0), line)).abs() < 1e-13);
    let plain = step_data(false);
    assert_eq!(plain.true_integral(Quadrature::Best), plain.true_integral(Quadrature::Trapezoid));
    // The simulator's own integral has priority over any rule.
    let exact = StepData { integrals: [7.0, f64::NAN], ..step_data(true) };
    assert_eq!(exact.true_integral(Quadrature::Best), of_row(7.0, line));
    assert_eq!(exact.true_integral(Quadrature::Trapezoid), sloped.true_integral(Quadrature::Trapezoid));
}

#[test]
fn an_output_that_jumped_is_taken_at_the_end() {
    let mut jumped = step_data(true);
    jumped.traces.jump(&[2.0, 15.0], &[], |output| output == 0);
    let line = (10.0 + 15.0) / 2.0 * SIZE;
    assert_eq!(jumped.true_integral(Quadrature::Trapezoid), of_row(2.0 * SIZE, line));
}

#[test]
fn an_exact_extrapolation_has_no_error_by_either_rule() {
    let mut right = step_data(true);
    // 2 a - b + 3 as a cubic from the start of the window on.
    let [a, b, c, d] = [1.0, 2.0, 3.0, 4.0];
    let shifted = Segment([a, b, c, d]).after(1.0) * 2.0;
    right.applied = [shifted + Segment::line(3.0 - 10.0, -10.0)];
    for rule in [Quadrature::End, Quadrature::Best] {
        let error = right.true_integral(rule) - right.record().applied_integral(0, rule);
        assert!(error.abs() < 1e-13, "{rule:?}: {error}");
    }
    let plain = step_data(true);
    let ends = 1.0 + SIZE * (2.0 + SIZE * (3.0 + SIZE * 4.0));
    assert_eq!(plain.record().applied_integral(0, Quadrature::End), ends * SIZE);
    let integral = SIZE + SIZE.powi(2) + SIZE.powi(3) + SIZE.powi(4);
    assert_eq!(plain.record().applied_integral(0, Quadrature::Trapezoid), integral);
}

#[test]
fn rows_of_jacobians_are_found_by_output() {
    let blocks = [PortRanges { inputs: 0..1, outputs: 0..2 }, PortRanges { inputs: 1..4, outputs: 2..4 }];
    let values = [1.0, 2.0, 10.0, 11.0, 12.0, 20.0, 21.0, 22.0];
    let data = step_data(true);
    let own = [None, Some(OwnStep { size: 0.1, begins: true })];
    let known = CorrectionContext {
        traces: &data.traces,
        couplings: &data.couplings,
        blocks: &blocks,
        bonds: &[],
        corrected: &[],
        jacobian: Jacobian { values: &values, starts: &[0, 2], owners: &[0, 0, 1, 1] },
        models: LinearModels { present: &[], matrices: &[], places: &[] },
        own: &own,
        shape: Sizes::default(),
    };
    assert_eq!(known.jacobian_row(0), (0, &[1.0][..]));
    assert_eq!(known.jacobian_row(1), (0, &[2.0][..]));
    assert_eq!(known.jacobian_row(2), (1, &[10.0, 11.0, 12.0][..]));
    assert_eq!(known.jacobian_row(3), (1, &[20.0, 21.0, 22.0][..]));
    assert_eq!([0, 1, 2].map(|input| known.own(input).is_some()), [false, true, false]);
}

#[test]
fn ends_are_values_and_slopes_where_there_are_any() {
    let shape = Sizes { outputs: 3, ..Sizes::default() };
    assert_eq!((shape.ends(), Sizes { slopes: true, ..shape }.ends()), (3, 6));
}
