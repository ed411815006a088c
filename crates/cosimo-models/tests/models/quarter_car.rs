use cosimo_core::{Segment, Value};
use nalgebra::{DMatrix, DVector};

use crate::common::{advance, open, outputs, parameters, reference, set_inputs};

/// Both halves as plain code: the arithmetic behind the published tables.
#[test]
fn euler_is_the_plain_loop_bit_for_bit() {
    for p in [1.0, 0.5] {
        let given = [("p", Value::Number(p)), ("dc", Value::Number(900.0))];
        let (mc, mw, kc, kw, dc, road) = (400.0, 40.0, 15000.0, 150000.0, 900.0, 0.1);
        let fd = |v: f64| if p == 1.0 { dc * v } else { dc * v.signum() * v.abs().sqrt() };
        let mut wheel = open("quarter-car/wheel-strut", &given);
        let mut chassis = open("quarter-car/chassis", &[]);
        let (mut zc, mut vc, mut zw, mut vw, mut zx) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let (mut u1, mut u2) = (0.0, 0.0);
        for step in 0..300 {
            let size = if step % 3 == 0 { 1e-3 } else { 7.3e-4 };
            let h = size / 10.0;
            advance(&mut *chassis, size, &[Segment::constant(u1)]);
            let reached = advance(&mut *wheel, size, &[Segment::constant(u2)]);
            assert_eq!(reached.evaluations, 10);
            for _ in 0..10 {
                (zc, vc) = (zc + h * vc, vc + h * (-u1 / mc));
                let force: f64 = kc * (zx - zw) + fd(u2 - vw);
                (zw, vw, zx) = (zw + h * vw, vw + h * ((-kw * (zw - road) + force) / mw), zx + h * u2);
            }
            let force = kc * (zx - zw) + fd(u2 - vw);
            assert_eq!(outputs(&mut *chassis), [vc, zc]);
            assert_eq!(outputs(&mut *wheel), [force, zw, vw]);
            (u1, u2) = (force, vc);
        }
        assert!(zw > 0.0 && vc != 0.0);
    }
}

#[test]
fn both_cuts_show_the_same_force_at_the_same_state() {
    for displacement in ["integrated", "communicated"] {
        let state = [("zc0", 0.03), ("vc0", 0.2), ("zw0", 0.08), ("vw0", -0.4)];
        let begin = |model: &str| {
            let mut given: Vec<_> = state
                .iter()
                .filter(|(name, _)| parameters(model).iter().any(|spec| spec.name == *name))
                .map(|(name, value)| (*name, Value::Number(*value)))
                .collect();
            given.push(("p", Value::Number(0.5)));
            given.push(("displacement", Value::Text(displacement.into())));
            open(model, &given)
        };
        let (mut one, mut two) = (begin("quarter-car/wheel-strut"), begin("quarter-car/chassis-strut"));
        let far = if displacement == "communicated" { 2 } else { 1 };
        set_inputs(&mut *one, &[Segment::constant(0.2), Segment::constant(0.03)][..far]);
        set_inputs(&mut *two, &[Segment::constant(-0.4), Segment::constant(0.08)][..far]);
        let force = 15000.0 * (0.03 - 0.08) + 1000.0 * 0.6f64.sqrt();
        assert!((outputs(&mut *one)[0] - force).abs() < 1e-9);
        assert_eq!(outputs(&mut *one)[0].to_bits(), outputs(&mut *two)[0].to_bits());
    }
}

#[test]
fn the_linear_reference_is_the_matrix_exponential() {
    let (mc, mw, kc, kw, dc) = (400.0, 40.0, 15000.0, 150000.0, 1000.0);
    #[rustfmt::skip]
    let a = DMatrix::from_row_slice(5, 5, &[
        0.0, 1.0, 0.0, 0.0, 0.0,
        -kc / mc, -dc / mc, kc / mc, dc / mc, 0.0,
        0.0, 0.0, 0.0, 1.0, 0.0,
        kc / mw, dc / mw, (-kc - kw) / mw, -dc / mw, kw * 0.1 / mw,
        0.0, 0.0, 0.0, 0.0, 0.0,
    ]);
    let start = DVector::from_column_slice(&[0.0, 0.0, 0.0, 0.0, 1.0]);
    let instants = [0.0, 1e-5, 0.001234567, 0.01, 0.0777, 0.5, 1.2345678, 2.0, 4.0];
    for (t, row) in instants.iter().zip(reference("quarter-car", &[], &instants)) {
        let exact = (&a * *t).exp() * &start;
        for i in 0..4 {
            assert!((row[i] - exact[i]).abs() < 1e-10, "t = {t}, column {i}: {} {}", row[i], exact[i]);
        }
        let force = kc * (exact[0] - exact[2]) + dc * (exact[1] - exact[3]);
        assert!((row[4] - force).abs() < 1e-6);
        assert!((row[5] - row[4] * row[1]).abs() < 1e-12 && (row[6] - row[4] * row[3]).abs() < 1e-12);
    }
}

#[test]
fn the_reference_with_a_root_damper_agrees_with_fine_rk4() {
    let f = |x: &DVector<f64>| {
        let rate = x[1] - x[3];
        let force = 15000.0 * (x[0] - x[2]) + 900.0 * rate.signum() * rate.abs().sqrt();
        DVector::from_column_slice(&[x[1], -force / 400.0, x[3], (-150000.0 * (x[2] - 0.1) + force) / 40.0])
    };
    let (mut x, h) = (DVector::zeros(4), 1e-6);
    for _ in 0..500_000 {
        let k1 = f(&x);
        let k2 = f(&(&x + &k1 * (h / 2.0)));
        let k3 = f(&(&x + &k2 * (h / 2.0)));
        let k4 = f(&(&x + &k3 * h));
        x += (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (h / 6.0);
    }
    let rows = reference("quarter-car", &[("dc", 900.0), ("p", 0.5)], &[0.1, 0.5]);
    for i in 0..4 {
        assert!((rows[1][i] - x[i]).abs() < 1e-8, "column {i}: {} {}", rows[1][i], x[i]);
    }
}

#[test]
fn small_steps_approach_the_reference_in_both_cuts() {
    let rows = reference("quarter-car", &[], &[0.2]);
    for (left, right) in [
        ("quarter-car/chassis", "quarter-car/wheel-strut"),
        ("quarter-car/chassis-strut", "quarter-car/wheel"),
    ] {
        let mut errors = vec![];
        for steps in [2000, 4000] {
            let (mut one, mut two) = (open(left, &[]), open(right, &[]));
            let (mut y1, mut y2) = (0.0, 0.0);
            for _ in 0..steps {
                let size = 0.2 / f64::from(steps);
                advance(&mut *one, size, &[Segment::constant(y2)]);
                advance(&mut *two, size, &[Segment::constant(y1)]);
                (y1, y2) = (outputs(&mut *one)[0], outputs(&mut *two)[0]);
            }
            errors.push((outputs(&mut *one)[1] - rows[0][0]).abs());
        }
        let order = (errors[0] / errors[1]).log2();
        assert!((order - 1.0).abs() < 0.1, "{left} order {order}, errors {errors:?}");
    }
}
