//! The transcendental functions of Cosimo; the methods of `f64` of the same names are forbidden by `clippy.toml`.

#![allow(clippy::disallowed_methods, reason = "the only place that calls them")]

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),+) -> $value:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name($($argument: f64),+) -> $value {
            f64::$name($($argument),+)
        }
    )*};
}

functions! {
    /// Sine of an angle in radians.
    sin(x) -> f64;
    /// Cosine of an angle in radians.
    cos(x) -> f64;
    /// Sine and cosine of an angle in radians: the bits of [`sin`] and [`cos`].
    sin_cos(x) -> (f64, f64);
    /// Tangent of an angle in radians.
    tan(x) -> f64;
    /// Inverse sine, from -pi/2 to pi/2.
    asin(x) -> f64;
    /// Inverse cosine, from 0 to pi.
    acos(x) -> f64;
    /// Inverse tangent, from -pi/2 to pi/2.
    atan(x) -> f64;
    /// Angle of the point (x, y), from -pi to pi.
    atan2(y, x) -> f64;
    /// Hyperbolic sine.
    sinh(x) -> f64;
    /// Hyperbolic cosine.
    cosh(x) -> f64;
    /// Hyperbolic tangent.
    tanh(x) -> f64;
    /// Inverse hyperbolic sine.
    asinh(x) -> f64;
    /// Inverse hyperbolic cosine.
    acosh(x) -> f64;
    /// Inverse hyperbolic tangent.
    atanh(x) -> f64;
    /// e to the power of x.
    exp(x) -> f64;
    /// 2 to the power of x.
    exp2(x) -> f64;
    /// e to the power of x, minus 1; precise near 0.
    exp_m1(x) -> f64;
    /// Natural logarithm.
    ln(x) -> f64;
    /// Natural logarithm of 1 + x; precise near 0.
    ln_1p(x) -> f64;
    /// Logarithm to the base 2.
    log2(x) -> f64;
    /// Logarithm to the base 10.
    log10(x) -> f64;
    /// x to the power of y.
    powf(x, y) -> f64;
    /// Square root of x^2 + y^2, without overflow in between.
    hypot(x, y) -> f64;
    /// Cube root.
    cbrt(x) -> f64;
}

/// x to the power of n: by squaring, the lowest bit of n first, and the reciprocal at the end where n is negative.
#[inline]
#[must_use]
pub fn powi(x: f64, n: i32) -> f64 {
    let (mut power, mut square, mut left) = (1.0, x, n.unsigned_abs());
    loop {
        if left % 2 == 1 {
            power *= square;
        }
        left /= 2;
        if left == 0 {
            break;
        }
        square *= square;
    }
    if n < 0 { 1.0 / power } else { power }
}
