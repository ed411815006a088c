//! I, PI and PID control of the step size in one formula.
//!
//! factor = safety * e_n^-(kI + kP + kD) * e_(n-1)^(kP + 2 kD) * e_(n-2)^-kD, gains divided by the order of
//! the error. Sources: Sadjina et al. 2017 (ECCO), Eq. (15); Söderlind 2003. The error of the step just
//! finished is the current one; errors before the first step count as 1.

use cosimo_core::math;
use cosimo_core::method::StepController;
use cosimo_core::registry::Options;

pub(crate) struct Soderlind {
    pub safety: f64,
    pub integral: f64,
    pub proportional: f64,
    pub derivative: f64,
}

impl Soderlind {
    pub(crate) fn boxed(options: &Options) -> Box<dyn StepController> {
        Box::new(Soderlind {
            safety: options.number("safety"),
            integral: options.number("integral"),
            proportional: options.optional("proportional").unwrap_or(0.0),
            derivative: options.optional("derivative").unwrap_or(0.0),
        })
    }
}

impl StepController for Soderlind {
    fn memory(&self) -> usize {
        2
    }

    fn start(&self, memory: &mut [f64]) {
        memory.fill(1.0);
    }

    fn factor(&self, memory: &[f64], error: f64, order: u32) -> f64 {
        if error == 0.0 {
            return f64::INFINITY; // the largest step, whatever the errors before
        }
        let order = f64::from(order);
        let (ki, kp, kd) = (self.integral / order, self.proportional / order, self.derivative / order);
        let mut factor = self.safety * math::powf(error, -ki - kp - kd);
        // 0^0 is 1, but an unused error must not reach the product at all: 0 to a negative power is infinite.
        if kp != 0.0 || kd != 0.0 {
            factor *= math::powf(memory[0], kp + 2.0 * kd);
        }
        if kd != 0.0 {
            factor *= math::powf(memory[1], -kd);
        }
        if factor.is_nan() { 0.0 } else { factor }
    }

    fn learn(&self, error: f64, memory: &mut [f64]) {
        memory[1] = memory[0];
        memory[0] = error;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PI: Soderlind = Soderlind { safety: 0.8, integral: 0.3, proportional: 0.4, derivative: 0.0 };

    #[test]
    fn has_the_exponents_of_both_papers() {
        let e = 0.3f64;
        // ECCO, order m + 2 = 2: kI = 0.15, kP = 0.2.
        let expected = 0.8 * math::powf(e, -0.35) * math::powf(0.7, 0.2);
        assert!((PI.factor(&[0.7, 1.0], e, 2) - expected).abs() < 1e-15);
        // Busch, order m + 1 = 1: exponents -0.7 and 0.4.
        let expected = 0.8 * math::powf(e, -0.7) * math::powf(0.7, 0.4);
        assert!((PI.factor(&[0.7, 1.0], e, 1) - expected).abs() < 1e-15);
        // NEPCE + ECCO: I alone.
        let i = Soderlind { proportional: 0.0, ..PI };
        assert!((i.factor(&[0.7, 1.0], e, 2) - 0.8 * math::powf(e, -0.15)).abs() < 1e-15);
    }

    #[test]
    fn a_perfect_step_asks_for_the_largest_and_a_perfect_past_for_the_smallest() {
        assert_eq!(PI.factor(&[0.0, 0.0], 0.0, 2), f64::INFINITY);
        assert_eq!(PI.factor(&[0.0, 1.0], 0.5, 2), 0.0);
        let pid = Soderlind { derivative: 0.1, ..PI };
        assert!(!pid.factor(&[0.0, 0.0], 0.5, 2).is_nan());
    }

    #[test]
    fn an_error_of_one_leaves_only_the_safety_factor() {
        let mut memory = [0.0; 2];
        PI.start(&mut memory);
        assert_eq!(PI.factor(&memory, 1.0, 2), 0.8);
    }
}
