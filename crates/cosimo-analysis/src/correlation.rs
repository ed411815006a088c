//! Whether two measures of a run rise and fall together.

/// Pearson's coefficient, from -1 to 1; NaN where one of them never changes.
pub fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let (mut both, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        both += (a - ma) * (b - mb);
        aa += (a - ma) * (a - ma);
        bb += (b - mb) * (b - mb);
    }
    both / (aa * bb).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_correlate_fully_and_a_square_about_its_middle_not_at_all() {
        let x: Vec<f64> = (-10..=10).map(f64::from).collect();
        let of = |f: fn(f64) -> f64| x.iter().map(|x| f(*x)).collect::<Vec<_>>();
        assert!((pearson(&x, &of(|x| 3.0 * x + 1.0)) - 1.0).abs() < 1e-14);
        assert!((pearson(&x, &of(|x| 1.0 - x)) + 1.0).abs() < 1e-14);
        assert!(pearson(&x, &of(|x| x * x)).abs() < 1e-14);
        assert!(pearson(&x, &of(|_| 1.0)).is_nan());
    }
}
