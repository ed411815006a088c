//! What the user asks of an integrator: tolerances, step sizes, order.

use crate::jacobian::Pattern;

/// The highest order of `bdf`: beyond five, formulas with backward differences are hardly stable (Hairer & Wanner,
/// Solving Ordinary Differential Equations II, section V.1).
pub const HIGHEST_ORDER: usize = 5;

/// The error of one step is held below `absolute + relative |x|` in the root mean square over the states.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub relative: f64,
    pub absolute: Absolute,
    /// The first step after every start; chosen from the derivatives if not given.
    pub first: Option<f64>,
    /// Where smaller steps would be needed, the integrator fails. The rounding of time is a bound in any case. Only a
    /// step that ends at its limit may be smaller.
    pub least: f64,
    pub largest: f64,
    /// The highest order that `bdf` may use, 1 to 5; explicit methods have one order.
    pub order: usize,
    /// Which derivative depends on which state, for fewer evaluations in a Jacobian by differences.
    pub pattern: Option<Pattern>,
}

/// Absolute tolerances, all above 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Absolute {
    Same(f64),
    Each(Vec<f64>),
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            relative: 1e-6,
            absolute: Absolute::Same(1e-9),
            first: None,
            least: 0.0,
            largest: f64::INFINITY,
            order: HIGHEST_ORDER,
            pattern: None,
        }
    }
}

impl Settings {
    /// Everything that is wrong with them for the given number of states.
    pub(crate) fn problems(&self, states: usize) -> Vec<String> {
        let mut problems = Vec::new();
        let mut wanted = |holds: bool, text: String| {
            if !holds {
                problems.push(text);
            }
        };
        let positive = |number: f64| number > 0.0 && number.is_finite();
        wanted(
            self.relative >= 0.0 && self.relative.is_finite(),
            format!("the relative tolerance must be 0 or more, not {}", self.relative),
        );
        match &self.absolute {
            Absolute::Same(number) => {
                wanted(positive(*number), format!("the absolute tolerance must be above 0, not {number}"));
            }
            Absolute::Each(numbers) => {
                wanted(
                    numbers.len() == states,
                    format!("{} absolute tolerances are given for {states} states", numbers.len()),
                );
                for (state, number) in numbers.iter().enumerate() {
                    wanted(
                        positive(*number),
                        format!("the absolute tolerance of x[{state}] must be above 0, not {number}"),
                    );
                }
            }
        }
        if let Some(first) = self.first {
            wanted(positive(first), format!("the first step must be above 0, not {first}"));
        }
        wanted(
            self.least >= 0.0 && self.least.is_finite(),
            format!("the least step must be 0 or more, not {}", self.least),
        );
        wanted(self.largest > 0.0, format!("the largest step must be above 0, not {}", self.largest));
        wanted(
            self.largest.is_nan() || self.least.is_nan() || self.least <= self.largest,
            format!("the least step, {}, is above the largest, {}", self.least, self.largest),
        );
        wanted(
            (1..=HIGHEST_ORDER).contains(&self.order),
            format!("the highest order must be 1 to {HIGHEST_ORDER}, not {}", self.order),
        );
        if let Some(pattern) = &self.pattern {
            wanted(
                pattern.states() == states,
                format!("the pattern of the Jacobian has {} states, not {states}", pattern.states()),
            );
        }
        problems
    }

    /// One absolute tolerance per state.
    pub(crate) fn absolutes(&self, states: usize) -> Vec<f64> {
        match &self.absolute {
            Absolute::Same(number) => vec![*number; states],
            Absolute::Each(numbers) => numbers.clone(),
        }
    }
}

/// Why an integrator was not made: every reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Refusal(pub Vec<String>);
