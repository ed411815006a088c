//! Random numbers that are the same on every machine: SplitMix64 (Steele, Lea & Flood 2014).

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// All 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// At least 0 and below 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform between two limits.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Its logarithm is uniform between those of two limits.
    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        // Powers by multiplication: the mathematics of the machine must not decide about a system. 2^(k/4096) is exact enough.
        let steps = (self.share() * 4096.0).floor();
        let mut value = low;
        let mut factor = high / low;
        let mut part = 2048.0;
        let mut left = steps;
        while part >= 1.0 {
            factor = factor.sqrt();
            if left >= part {
                value *= factor;
                left -= part;
            }
            part /= 2.0;
        }
        value
    }

    /// A whole number, both limits included.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        low + (self.bits() % (high - low + 1) as u64) as usize
    }

    /// With a probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// 1 or -1.
    pub fn sign(&mut self) -> f64 {
        if self.chance(0.5) { 1.0 } else { -1.0 }
    }

    /// One of several.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.whole(0, of.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_logarithms_are_uniform() {
        let mut random = Random::new(1);
        let (mut mean, mut logarithms) = (0.0, 0.0);
        for _ in 0..10_000 {
            mean += random.share() / 1e4;
            let value = random.log_between(1e-3, 1e3);
            assert!((1e-3..1e3).contains(&value));
            logarithms += cosimo_core::math::log10(value) / 1e4;
        }
        assert!((mean - 0.5).abs() < 0.02 && logarithms.abs() < 0.1, "{mean} {logarithms}");
        assert_eq!(Random::new(7).bits(), Random::new(7).bits());
    }
}
