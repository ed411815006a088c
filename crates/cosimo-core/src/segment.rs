//! An input over one window, extrapolated or interpolated: a cubic in seconds since the window's start.

use std::ops::{Add, AddAssign, Mul};

/// Coefficients of 1, s, s^2 and s^3.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Segment(pub [f64; 4]);

impl Segment {
    /// The sum of nothing.
    pub const ZERO: Segment = Segment([0.0; 4]);

    /// A zero-order hold.
    #[inline]
    pub const fn constant(value: f64) -> Segment {
        Segment([value, 0.0, 0.0, 0.0])
    }

    /// A first-order hold.
    #[inline]
    pub const fn line(value: f64, slope: f64) -> Segment {
        Segment([value, slope, 0.0, 0.0])
    }

    /// The value at the window's start.
    #[inline]
    pub fn start(&self) -> f64 {
        self.0[0]
    }

    /// The value `s` seconds after the window's start.
    #[inline]
    pub fn at(&self, s: f64) -> f64 {
        let [a, b, c, d] = self.0;
        a + s * (b + s * (c + s * d))
    }

    /// The slope `s` seconds after the window's start.
    #[inline]
    pub fn slope(&self, s: f64) -> f64 {
        let [_, b, c, d] = self.0;
        b + s * (2.0 * c + s * 3.0 * d)
    }

    /// The same cubic, counted from `s` seconds after the window's start on.
    #[inline]
    #[must_use]
    pub fn after(&self, s: f64) -> Segment {
        let [_, _, c, d] = self.0;
        Segment([self.at(s), self.slope(s), c + 3.0 * d * s, d])
    }

    /// The integral over the first `s` seconds.
    #[inline]
    pub fn integral(&self, s: f64) -> f64 {
        let [a, b, c, d] = self.0;
        s * (a + s * (b / 2.0 + s * (c / 3.0 + s * d / 4.0)))
    }

    /// The mean over the first `s` seconds.
    #[inline]
    pub fn mean(&self, s: f64) -> f64 {
        let [a, b, c, d] = self.0;
        a + s * (b / 2.0 + s * (c / 3.0 + s * d / 4.0))
    }
}

impl Add for Segment {
    type Output = Segment;
    #[inline]
    fn add(self, other: Segment) -> Segment {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Segment([a + e, b + f, c + g, d + h])
    }
}

impl AddAssign for Segment {
    #[inline]
    fn add_assign(&mut self, other: Segment) {
        *self = *self + other;
    }
}

impl Mul<f64> for Segment {
    type Output = Segment;
    #[inline]
    fn mul(self, factor: f64) -> Segment {
        Segment(self.0.map(|coefficient| coefficient * factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_slope_integral_and_mean_belong_to_the_same_cubic() {
        let cubic = Segment([1.0, -2.0, 0.5, 3.0]);
        let (s, d) = (0.7, 1e-6);
        assert!((cubic.slope(s) - (cubic.at(s + d) - cubic.at(s - d)) / (2.0 * d)).abs() < 1e-8);
        assert!((cubic.at(s) - (cubic.integral(s + d) - cubic.integral(s - d)) / (2.0 * d)).abs() < 1e-8);
        assert!((cubic.mean(s) * s - cubic.integral(s)).abs() < 1e-15);
    }

    #[test]
    fn a_shifted_segment_is_the_same_cubic() {
        let cubic = Segment([1.0, -2.0, 0.5, 3.0]);
        assert_eq!(cubic.after(0.0), cubic);
        for s in [0.0, 0.3, -0.7] {
            assert!((cubic.after(0.4).at(s) - cubic.at(0.4 + s)).abs() < 1e-15);
        }
    }
}
