//! Slopes of errors over the step, and correlations.

use cosimo_analysis::correlation::pearson;
use cosimo_analysis::order::slope;

#[test]
fn lines_correlate_fully_and_a_square_about_its_middle_not_at_all() {
    let x: Vec<f64> = (-10..=10).map(f64::from).collect();
    let of = |f: fn(f64) -> f64| x.iter().map(|x| f(*x)).collect::<Vec<_>>();
    assert!((pearson(&x, &of(|x| 3.0 * x + 1.0)) - 1.0).abs() < 1e-14);
    assert!((pearson(&x, &of(|x| 1.0 - x)) + 1.0).abs() < 1e-14);
    assert!(pearson(&x, &of(|x| x * x)).abs() < 1e-14);
    assert!(pearson(&x, &of(|_| 1.0)).is_nan());
}

#[test]
fn a_power_has_its_exponent() {
    let sizes = [0.1, 0.05, 0.025];
    let found = slope(&sizes, &sizes.map(|size: f64| 7.0 * size.powf(2.5)));
    assert!((found - 2.5).abs() < 1e-12);
    assert!(slope(&sizes, &[1.0, 0.0, 1.0]).is_nan());
}
