use cosimo_core::Segment;

use crate::common::{advance, open, outputs, reference};

#[test]
fn the_reference_comes_to_rest_at_the_divided_voltage() {
    let rows = reference("rc-rl", &[], &[0.0, 10.0]);
    assert_eq!(rows[0], [0.0, 0.0, 0.0]);
    let current = 10.0 / 1.5;
    assert!((rows[1][1] - current).abs() < 1e-12 && (rows[1][0] - 0.5 * current).abs() < 1e-12);
}

#[test]
fn small_steps_approach_the_reference() {
    let expected = &reference("rc-rl", &[], &[0.02])[0];
    let mut errors = vec![];
    for steps in [1000, 2000] {
        let (mut rc, mut rl) = (open("rc-rl/rc", &[]), open("rc-rl/rl", &[]));
        let (mut v, mut i) = (0.0, 0.0);
        for _ in 0..steps {
            let size = 0.02 / f64::from(steps);
            advance(&mut *rc, size, &[Segment::constant(i)]);
            advance(&mut *rl, size, &[Segment::constant(v)]);
            (v, i) = (outputs(&mut *rc)[0], outputs(&mut *rl)[0]);
        }
        errors.push((v - expected[0]).abs() + (i - expected[1]).abs());
    }
    let order = (errors[0] / errors[1]).log2();
    assert!((order - 1.0).abs() < 0.05, "order {order}, errors {errors:?}");
}
