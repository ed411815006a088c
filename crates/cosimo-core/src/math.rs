//! The transcendental functions of every number of a run: sine, exponential, powers, with the same bits on every machine.
//!
//! IEEE 754 prescribes the bits of +, -, *, /, the square root and fused multiply-add, but of none of these. The methods of
//! `f64` take them from the C library, which chooses by processor and version: without FMA, glibc rounds 7 of 10 000
//! powers and sines differently, and a step controller turns a last bit into another sequence of steps. So `clippy.toml` forbids
//! those methods, and numbers come from the crate `libm`: msun of FreeBSD in Rust, with errors below 1 ulp (tanh 2 ulp),
//! compiled into Cosimo and into the FMUs that it exports. Its version is exact in the manifest: another version may
//! round differently, and the tests below would notice.

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),+) -> $value:ty = $function:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[must_use]
        pub fn $name($($argument: f64),+) -> $value {
            libm::$function($($argument),+)
        }
    )*};
}

functions! {
    /// Sine of an angle in radians.
    sin(x) -> f64 = sin;
    /// Cosine of an angle in radians.
    cos(x) -> f64 = cos;
    /// Sine and cosine of an angle in radians: the bits of [`sin`] and [`cos`].
    sin_cos(x) -> (f64, f64) = sincos;
    /// Tangent of an angle in radians.
    tan(x) -> f64 = tan;
    /// Inverse sine, from -pi/2 to pi/2.
    asin(x) -> f64 = asin;
    /// Inverse cosine, from 0 to pi.
    acos(x) -> f64 = acos;
    /// Inverse tangent, from -pi/2 to pi/2.
    atan(x) -> f64 = atan;
    /// Angle of the point (x, y), from -pi to pi.
    atan2(y, x) -> f64 = atan2;
    /// Hyperbolic sine.
    sinh(x) -> f64 = sinh;
    /// Hyperbolic cosine.
    cosh(x) -> f64 = cosh;
    /// Hyperbolic tangent.
    tanh(x) -> f64 = tanh;
    /// Inverse hyperbolic sine.
    asinh(x) -> f64 = asinh;
    /// Inverse hyperbolic cosine.
    acosh(x) -> f64 = acosh;
    /// Inverse hyperbolic tangent.
    atanh(x) -> f64 = atanh;
    /// e to the power of x.
    exp(x) -> f64 = exp;
    /// 2 to the power of x.
    exp2(x) -> f64 = exp2;
    /// e to the power of x, minus 1; precise near 0.
    exp_m1(x) -> f64 = expm1;
    /// Natural logarithm.
    ln(x) -> f64 = log;
    /// Natural logarithm of 1 + x; precise near 0.
    ln_1p(x) -> f64 = log1p;
    /// Logarithm to the base 2.
    log2(x) -> f64 = log2;
    /// Logarithm to the base 10.
    log10(x) -> f64 = log10;
    /// x to the power of y.
    powf(x, y) -> f64 = pow;
    /// Square root of x^2 + y^2, without overflow in between.
    hypot(x, y) -> f64 = hypot;
    /// Cube root.
    cbrt(x) -> f64 = cbrt;
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

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "compared with the C library, within units of the last place")]
mod tests {
    use super::*;

    type Function = fn(f64) -> f64;

    /// Function, that of the C library, the range of arguments, and the bits of 4000 values, mixed into one number.
    const FUNCTIONS: &[(&str, Function, Function, [f64; 2], u64)] = &[
        ("sin", sin, f64::sin, [-30.0, 30.0], 0x6828_3503_8f9f_4e95),
        ("cos", cos, f64::cos, [-30.0, 30.0], 0xf4c7_af81_d0e9_ce4e),
        ("sin, large", sin, f64::sin, [1e5, 1e15], 0xfc7d_3a03_48d9_6280),
        ("tan", tan, f64::tan, [-30.0, 30.0], 0x7c80_c980_b192_38eb),
        ("asin", asin, f64::asin, [-1.0, 1.0], 0x50d5_71f5_6760_d629),
        ("acos", acos, f64::acos, [-1.0, 1.0], 0xf28e_a706_d894_db79),
        ("atan", atan, f64::atan, [-20.0, 20.0], 0xc08e_d9f6_219b_ef50),
        ("atan2", |x| atan2(x, -0.7), |x| x.atan2(-0.7), [-3.0, 3.0], 0x4b01_5a42_824c_205a),
        ("sinh", sinh, f64::sinh, [-20.0, 20.0], 0x70c1_e57f_99b4_ec16),
        ("cosh", cosh, f64::cosh, [-20.0, 20.0], 0x0072_95e3_cb0e_1b9f),
        ("tanh", tanh, f64::tanh, [-4.0, 4.0], 0x51ee_47ac_2955_70e9),
        ("asinh", asinh, f64::asinh, [-50.0, 50.0], 0xefe1_3ee2_6fab_2e94),
        ("acosh", acosh, f64::acosh, [1.0, 50.0], 0x02d9_7893_a9ee_bd89),
        ("atanh", atanh, f64::atanh, [0.0, 1.0], 0xd5df_5409_7c9e_b820),
        ("exp", exp, f64::exp, [-700.0, 700.0], 0x4cda_c32c_eb8d_fa6f),
        ("exp2", exp2, f64::exp2, [-1000.0, 1000.0], 0x31d0_acc1_4c0a_ed03),
        ("exp_m1", exp_m1, f64::exp_m1, [-3.0, 3.0], 0xae95_90f2_e373_03d9),
        ("ln", ln, f64::ln, [0.0, 50.0], 0xc2ba_14a6_2959_a3a2),
        ("ln_1p", ln_1p, f64::ln_1p, [-0.9, 3.0], 0x1965_ce0d_244e_06bf),
        ("log2", log2, f64::log2, [0.0, 50.0], 0x2d15_54d0_e8de_9599),
        ("log10", log10, f64::log10, [0.0, 50.0], 0x55fb_a73b_77f4_7782),
        ("powf, bases", |x| powf(x, -0.35), |x| x.powf(-0.35), [0.0, 50.0], 0xd987_d032_2d37_072c),
        ("powf, exponents", |y| powf(1.7, y), |y| 1.7f64.powf(y), [-300.0, 300.0], 0x4ba5_2769_5bce_d7f0),
        ("hypot", |x| hypot(x, 1.0), |x| x.hypot(1.0), [-8.0, 8.0], 0xad45_8877_17a8_f00b),
        ("cbrt", cbrt, f64::cbrt, [-50.0, 50.0], 0xddc5_fc4d_2cab_41b4),
        ("powi", |x| powi(x, -7), |x| x.powi(-7), [-4.0, 4.0], 0x5626_7d9c_09f9_6db8),
    ];

    /// Arguments inside the range, none of them at its ends.
    fn arguments([from, to]: [f64; 2]) -> impl Iterator<Item = f64> {
        (0..4000).map(move |k| from + (to - from) * (f64::from(k) + 0.37) / 4000.0)
    }

    /// Distance in units of the last place.
    fn ulps(a: f64, b: f64) -> i64 {
        if a == b { 0 } else { (a.to_bits() as i64).wrapping_sub(b.to_bits() as i64).saturating_abs() }
    }

    #[test]
    fn every_machine_computes_these_bits() {
        let bits = |function: Function, range| {
            arguments(range).fold(0u64, |mixed, x| mixed.rotate_left(5) ^ function(x).to_bits())
        };
        let moved: Vec<String> = FUNCTIONS
            .iter()
            .map(|(name, function, _, range, expected)| (name, bits(*function, *range), expected))
            .filter(|(_, got, expected)| got != *expected)
            .map(|(name, got, expected)| format!("{name}: expected 0x{expected:x}, got 0x{got:x}"))
            .collect();
        assert!(moved.is_empty(), "{moved:#?}");
    }

    #[test]
    fn the_c_library_is_two_units_of_the_last_place_away_at_most() {
        for (name, function, of_c, range, _) in FUNCTIONS {
            let far =
                arguments(*range).map(|x| (ulps(function(x), of_c(x)), x)).max_by_key(|(ulps, _)| *ulps);
            // Where a value is near 0, Rust's own formulas for asinh, acosh and atanh cancel.
            let most = if ["asinh", "acosh", "atanh"].contains(name) { 8 } else { 2 };
            assert!(far.is_some_and(|(ulps, _)| ulps <= most), "{name}: {far:?}");
        }
    }

    #[test]
    fn special_values_are_those_of_the_standard() {
        assert_eq!([exp(0.0), cos(0.0), powf(7.3, 0.0), powf(1.0, f64::NAN), powi(f64::NAN, 0)], [1.0; 5]);
        assert_eq!(
            [sin(-0.0).to_bits(), tanh(-0.0).to_bits(), cbrt(-0.0).to_bits()],
            [(-0.0f64).to_bits(); 3]
        );
        assert_eq!([exp(-f64::INFINITY), powf(0.0, 2.5), atan2(0.0, 1.0)], [0.0; 3]);
        assert_eq!(
            [exp(710.0), -ln(0.0), powf(0.0, -0.5), hypot(f64::INFINITY, f64::NAN)],
            [f64::INFINITY; 4]
        );
        for none in [ln(-1.0), powf(-8.0, 1.0 / 3.0), sin(f64::INFINITY), asin(1.5), exp(f64::NAN)] {
            assert!(none.is_nan());
        }
    }

    #[test]
    fn powers_that_a_double_holds_are_exact() {
        for n in 0..=22 {
            let power: f64 = (0..n).map(|_| 10.0).product();
            assert_eq!((powi(10.0, n), powf(10.0, f64::from(n)), log10(power)), (power, power, f64::from(n)));
        }
        for n in -1022..=1023 {
            let power = f64::from_bits(((n + 1023) as u64) << 52);
            assert_eq!([powi(2.0, n), powf(2.0, f64::from(n)), exp2(f64::from(n))], [power; 3]);
            assert_eq!(log2(power), f64::from(n));
        }
        assert_eq!(
            [powi(-3.0, 3), powi(-3.0, 2), powi(0.5, i32::MAX), powi(1.0, i32::MIN)],
            [-27.0, 9.0, 0.0, 1.0]
        );
    }

    #[test]
    fn sine_and_cosine_at_once_are_those_apart() {
        for x in arguments([-30.0, 30.0]).chain(arguments([-1e9, 1e9])) {
            assert_eq!(sin_cos(x), (sin(x), cos(x)), "{x}");
        }
    }
}
