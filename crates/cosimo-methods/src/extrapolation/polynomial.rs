//! Polynomials through samples at any instants, as segments from the window's start.

use cosimo_core::{Sample, Segment, Trace, Window};

/// How many of the newest samples may be used: two at one instant are a jump, and samples before it must not be.
pub(super) fn since_jump(known: &Trace<'_>, most: usize) -> usize {
    let count = known.len().min(most);
    (1..count).find(|&k| known.back(k).t == known.back(k - 1).t).unwrap_or(count)
}

/// The parabola through three samples, newest first. Newton's divided differences: Lagrange's polynomial,
/// with less rounding.
pub(super) fn parabola(new: Sample, mid: Sample, old: Sample, window: Window) -> Segment {
    let first = (new.y - mid.y) / (new.t - mid.t);
    let second = (first - (mid.y - old.y) / (mid.t - old.t)) / (new.t - old.t);
    let (a, b) = (window.from.seconds() - new.t, window.from.seconds() - mid.t);
    Segment([new.y + a * (first + second * b), first + second * (a + b), second, 0.0])
}

pub(super) fn line(new: Sample, old: Sample, window: Window) -> Segment {
    let slope = (new.y - old.y) / (new.t - old.t);
    Segment::line(new.y + slope * (window.from.seconds() - new.t), slope)
}

/// The polynomial of the given degree, 0 to 2, through the newest samples; of a lower one while there are
/// fewer since the start or the last jump.
pub(super) fn of_degree(degree: usize, known: Trace<'_>, window: Window) -> Segment {
    match since_jump(&known, degree + 1) {
        0 => Segment::ZERO,
        1 => Segment::constant(known.newest()),
        2 => line(known.back(0), known.back(1), window),
        _ => parabola(known.back(0), known.back(1), known.back(2), window),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use cosimo_core::math;
    use cosimo_core::{Time, Traces};

    pub(crate) fn window(from: f64, to: f64) -> Window {
        Window { from: Time::new(from).unwrap(), to: Time::new(to).unwrap(), size: to - from }
    }

    /// One output with samples of a function and, if wanted, its slope.
    pub(crate) fn sampled(times: &[f64], y: impl Fn(f64) -> f64, slope: impl Fn(f64) -> f64) -> Traces {
        let mut traces = Traces::new(1);
        for &t in times {
            traces.open(Time::new(t).unwrap());
            traces.put(0, &[y(t)], &[slope(t)]);
            traces.commit();
        }
        traces
    }

    #[test]
    fn each_degree_is_exact_on_its_polynomials_over_uneven_steps() {
        let times = [0.0, 0.1, 0.4, 0.5];
        for degree in 0..=2 {
            let curve =
                |t: f64| (0..=degree).map(|k| (2.0 - k as f64 * 1.5) * math::powi(t, k as i32)).sum::<f64>();
            let traces = sampled(&times, curve, |_| f64::NAN);
            // Ahead of the samples, and between them.
            for from in [0.5, 0.4] {
                let segment = of_degree(degree, traces.trace(0), window(from, from + 0.3));
                for s in [0.0, 0.1, 0.3] {
                    assert!((segment.at(s) - curve(from + s)).abs() < 1e-14, "degree {degree}");
                }
            }
        }
    }

    #[test]
    fn lagrange_weights_at_the_end_of_an_equal_step_are_3_minus_3_1() {
        for (k, weight) in [3.0, -3.0, 1.0].into_iter().enumerate() {
            let at = [0.2, 0.1, 0.0][k];
            let traces = sampled(&[0.0, 0.1, 0.2], |t| f64::from(u8::from(t == at)), |_| f64::NAN);
            let segment = of_degree(2, traces.trace(0), window(0.2, 0.3));
            assert!((segment.at(0.1) - weight).abs() < 1e-12, "{} {weight}", segment.at(0.1));
        }
    }

    #[test]
    fn the_degree_ramps_up_at_the_start_and_after_a_jump() {
        let square = |t: f64| t * t;
        let after = |times: &[f64]| {
            let traces = sampled(times, square, |_| f64::NAN);
            let last = *times.last().unwrap();
            of_degree(2, traces.trace(0), window(last, last + 1.0)).0.map(|c| c != 0.0)
        };
        assert_eq!(after(&[1.0]), [true, false, false, false]);
        assert_eq!(after(&[1.0, 2.0]), [true, true, false, false]);
        assert_eq!(after(&[1.0, 2.0, 3.0]), [true, true, true, false]);
        assert_eq!(after(&[1.0, 2.0, 3.0, 3.0]), [true, false, false, false]);
        assert_eq!(after(&[1.0, 2.0, 2.0, 3.0]), [true, true, false, false]);
        assert_eq!(after(&[1.0, 1.0, 2.0, 3.0, 4.0]), [true, true, true, false]);
    }
}
