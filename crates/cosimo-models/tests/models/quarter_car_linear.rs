use cosimo_core::{Segment, Value};

use crate::common::{advance, open, outputs};

/// The same equations as those solved in micro steps.
#[test]
fn linear_models_move_as_the_stepped_ones() {
    let fine = [("solver", Value::Text("rk4".into())), ("micro_steps", Value::Number(200.0))];
    for (exact, other) in [
        ("quarter-car/linear-wheel-strut", "quarter-car/wheel-strut"),
        ("quarter-car/linear-chassis-strut", "quarter-car/chassis-strut"),
        ("quarter-car/linear-wheel", "quarter-car/wheel"),
        ("quarter-car/linear-chassis", "quarter-car/chassis"),
    ] {
        let mut exact = open(exact, &[]);
        let mut other = open(other, &fine);
        for step in 0..5 {
            let input = [Segment([0.3, -1.0, f64::from(step), 2.0])];
            advance(&mut *exact, 0.02, &input);
            advance(&mut *other, 0.02, &input);
            for (a, b) in outputs(&mut *exact).iter().zip(outputs(&mut *other)) {
                assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} {b}");
            }
        }
    }
}
