//! How errors fall with the step size: the slope of log(error) over log(size), by least squares.

/// The slope; NaN where an error is no positive number, since then there is nothing to take a logarithm of.
pub fn slope(sizes: &[f64], errors: &[f64]) -> f64 {
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (x, y) = (logs(sizes), logs(errors));
    if y.iter().any(|log| !log.is_finite()) {
        return f64::NAN;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mx, my) = (mean(&x), mean(&y));
    let over: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
    over / x.iter().map(|x| (x - mx) * (x - mx)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_has_its_exponent() {
        let sizes = [0.1, 0.05, 0.025];
        let found = slope(&sizes, &sizes.map(|size: f64| 7.0 * size.powf(2.5)));
        assert!((found - 2.5).abs() < 1e-12);
        assert!(slope(&sizes, &[1.0, 0.0, 1.0]).is_nan());
    }
}
