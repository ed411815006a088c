//! White noise for tests that compare variances: a signal without noise has none to compare. It is a function of the
//! instant, so that the same run has the same noise, with or without rollback.

use std::f64::consts::TAU;

use cosimo_core::math;

/// From a normal distribution of variance 1.
pub(super) fn at(t: f64) -> f64 {
    let (a, b) = (mixed(t.to_bits()), mixed(t.to_bits() ^ 0x5851_F42D_4C95_7F2D));
    // Above 0 and at most 1.
    let uniform = |bits: u64| ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64;
    // Box and Muller.
    (-2.0 * math::ln(uniform(a))).sqrt() * math::cos(TAU * uniform(b))
}

/// SplitMix64.
fn mixed(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
