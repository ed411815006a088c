//! Tight integration of smooth equations, between instants that are met exactly: Dormand and Prince 1980, order 5(4).

const RELATIVE: f64 = 1e-12;

const STAGES: [&[f64]; 6] = [
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
const ERROR: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];

/// The solution of x' = slope(x) at increasing instants, from the first of them on.
pub fn integrate(slope: impl Fn(&[f64], &mut [f64]), start: &[f64], instants: &[f64]) -> Vec<Vec<f64>> {
    let mut x = start.to_vec();
    let mut now = instants.first().copied().unwrap_or(0.0);
    let mut step = 1e-4;
    let mut rows = Vec::with_capacity(instants.len());
    let mut stages = vec![vec![0.0; x.len()]; 7];
    for &instant in instants {
        while instant - now > 1e-14 * instant.abs() {
            let size = f64::min(step, instant - now);
            slope(&x, &mut stages[0]);
            let mut next = x.clone();
            for (place, factors) in STAGES.iter().enumerate() {
                for (at, value) in next.iter_mut().enumerate() {
                    let sum: f64 =
                        factors.iter().zip(&stages).map(|(factor, stage)| factor * stage[at]).sum();
                    *value = x[at] + size * sum;
                }
                slope(&next, &mut stages[place + 1]);
            }
            let error = (0..x.len()).map(|at| {
                let sum: f64 = ERROR.iter().zip(&stages).map(|(factor, stage)| factor * stage[at]).sum();
                (size * sum).abs() / (RELATIVE * (1e-3 + next[at].abs()))
            });
            let error = error.fold(0.0, f64::max);
            if error <= 1.0 {
                (x, now) = (next, now + size);
            }
            // The fifth root of two bounds, by the step that is right in most cases.
            let factor = if error <= 1e-3 {
                2.0
            } else if error <= 0.3 {
                1.1
            } else if error <= 1.0 {
                0.95
            } else {
                0.6
            };
            if error > 1.0 || size == step {
                step = size * factor;
            }
        }
        rows.push(x.clone());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_followed_for_ten_turns() {
        let instants: Vec<f64> = (0..=100).map(|k| 0.2 * f64::from(k) * std::f64::consts::PI).collect();
        let rows = integrate(|x, dx| (dx[0], dx[1]) = (x[1], -x[0]), &[0.0, 1.0], &instants);
        for (instant, row) in instants.iter().zip(rows) {
            assert!((row[0] - cosimo_core::math::sin(*instant)).abs() < 1e-9, "{instant}");
        }
    }
}
