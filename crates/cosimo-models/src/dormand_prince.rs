//! The embedded Runge-Kutta pair of order 5(4) by Dormand and Prince (1980), for reference solutions. It shares nothing with
//! the integrators of `cosimo-ode`, so that an error there cannot repeat itself in the reference.
//!
//! Autonomous systems only, and no dense output: values between grid points come from a cubic over a short span.

use cosimo_core::math;

/// Local error allowed per step, per state: `ABSOLUTE + RELATIVE * |x|`.
const RELATIVE: f64 = 1e-12;
const ABSOLUTE: f64 = 1e-14;

const STAGES: [&[f64]; 6] = [
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];

/// Fifth order minus fourth.
const ERROR: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];

/// A point of the solution with its derivative, which is the first stage of the next step.
#[derive(Debug, Clone, Copy)]
struct SolutionPoint<const N: usize> {
    x: [f64; N],
    dx: [f64; N],
}

/// The solution from `start` at t = 0, at increasing `instants`; those before 0 get the start. One sweep over
/// multiples of `grid`, with a cubic between the two points around each instant.
pub fn sweep<const N: usize>(
    f: impl Fn(&[f64; N]) -> [f64; N],
    start: [f64; N],
    grid: f64,
    least: f64,
    instants: &[f64],
) -> Vec<[f64; N]> {
    let mut step = grid;
    let mut before = SolutionPoint { x: start, dx: f(&start) };
    let mut after = across(&f, before, grid, least, &mut step);
    let mut interval = 0;
    let mut at = |t: &f64| {
        let position = t.max(0.0) / grid;
        while interval < position as u64 {
            before = after;
            after = across(&f, before, grid, least, &mut step);
            interval += 1;
        }
        between(&before, &after, grid, position - interval as f64)
    };
    instants.iter().map(&mut at).collect()
}

/// Cubic Hermite at `s` from 0 to 1.
fn between<const N: usize>(
    before: &SolutionPoint<N>,
    after: &SolutionPoint<N>,
    grid: f64,
    s: f64,
) -> [f64; N] {
    let r = 1.0 - s;
    std::array::from_fn(|i| {
        let bend = r * before.dx[i] - s * after.dx[i];
        let straight = r * r * (1.0 + 2.0 * s) * before.x[i] + s * s * (1.0 + 2.0 * r) * after.x[i];
        straight + grid * s * r * bend
    })
}

/// Moves a point over `span`. `step` is the size to try first, and on return the one to try next. A step of
/// `least` is accepted with any error: at a kink the estimate does not converge.
fn across<const N: usize>(
    f: impl Fn(&[f64; N]) -> [f64; N],
    mut point: SolutionPoint<N>,
    span: f64,
    least: f64,
    step: &mut f64,
) -> SolutionPoint<N> {
    let mut remaining = span;
    loop {
        let h = step.min(remaining);
        let (next, error) = attempt(&f, &point, h);
        let factor = (0.9 * math::powf(error, -0.2)).clamp(0.2, 5.0); // NaN stays NaN
        if error <= 1.0 || h <= least || error.is_nan() {
            point = next;
            remaining -= h;
            // A step cut off by the end of the span may only increase the proposed size.
            let proposed = if h < *step { step.max(h * factor) } else { h * factor };
            *step = proposed.clamp(least, span);
            if remaining <= 0.0 {
                return point;
            }
        } else {
            *step = (h * factor.min(0.9)).max(least);
        }
    }
}

fn attempt<const N: usize>(
    f: &impl Fn(&[f64; N]) -> [f64; N],
    point: &SolutionPoint<N>,
    h: f64,
) -> (SolutionPoint<N>, f64) {
    let mut k = [[0.0; N]; 7];
    k[0] = point.dx;
    let mut x = point.x;
    for (stage, weights) in STAGES.iter().enumerate() {
        for i in 0..N {
            let slope: f64 = weights.iter().zip(&k).map(|(weight, k)| weight * k[i]).sum();
            x[i] = point.x[i] + h * slope;
        }
        k[stage + 1] = f(&x);
    }
    let mut worst = 0.0f64;
    for i in 0..N {
        let error: f64 = h * ERROR.iter().zip(&k).map(|(weight, k)| weight * k[i]).sum::<f64>();
        let scaled = error.abs() / (ABSOLUTE + RELATIVE * point.x[i].abs().max(x[i].abs()));
        worst = if scaled.is_nan() { f64::NAN } else { worst.max(scaled) };
    }
    (SolutionPoint { x, dx: k[6] }, worst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_harmonic_keeps_its_tolerance() {
        let f = |x: &[f64; 2]| [x[1], -x[0]];
        let (mut point, mut step) = (SolutionPoint { x: [1.0, 0.0], dx: [0.0, -1.0] }, 0.1);
        for _ in 0..10 {
            point = across(f, point, 1.0, 1e-9, &mut step);
        }
        assert!((point.x[0] - math::cos(10.0)).abs() < 1e-11);
        assert!((point.x[1] + math::sin(10.0)).abs() < 1e-11);
    }

    #[test]
    fn a_kink_and_infinity_do_not_stall_it() {
        // x' = 1 + sqrt(|x|) through 0; y' = y^2 runs away.
        let (mut point, mut step) = (SolutionPoint { x: [-0.25], dx: [1.5] }, 0.1);
        for _ in 0..4 {
            point = across(|x| [1.0 + x[0].abs().sqrt()], point, 0.25, 1e-10, &mut step);
        }
        assert!(point.x[0].is_finite() && point.x[0] > 0.25);
        let (start, mut step) = (SolutionPoint { x: [1e200], dx: [f64::INFINITY] }, 0.1);
        assert!(!across(|x| [x[0] * x[0]], start, 1.0, 1e-10, &mut step).x[0].is_finite());
    }
}
