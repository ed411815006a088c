//! The R-test: the F-test with filters instead of sums.

use cosimo_core::interface::Needs;
use cosimo_core::line::Stamp;
use cosimo_core::method::Steadiness;
use cosimo_core::registry::{MethodEntry, Range, Spec};

use super::f_test::USUAL;
use super::{TOLERANCE, WINDOW, noise};

pub(crate) const ENTRY: MethodEntry<dyn Steadiness> = MethodEntry {
    name: "r-test",
    summary: "variance about a filtered value against variance from sample to sample, both filtered",
    source: "Cao & Rhinehart 1995; Braun, Hällqvist & Fritzson 2023 (TLM), Eqs. (5) to (7), differences of the raw data",
    order: "",
    options: &[
        WINDOW,
        TOLERANCE,
        Spec::count("samples", 50, 1, "in a window, from which the noise is chosen"),
        Spec::number("lambda1", 0.1, Range::Unit, "", "filter of the value"),
        Spec::number("lambda2", 0.05, Range::Unit, "", "filter of the variance about it"),
        Spec::number("lambda3", 0.05, Range::Unit, "", "filter of the variance from sample to sample"),
        Spec::number("critical", 2.5, Range::Positive, "", "the ratio up to which the end is steady"),
    ],
    needs: |_| Needs::NOTHING,
    build: |options| {
        let tolerance = options.optional(TOLERANCE.name).unwrap_or(USUAL);
        Box::new(RTest {
            window: options.number(WINDOW.name),
            // So that it and a sliding window of that tolerance agree on ramps.
            noise: 7.9 * tolerance / options.number("samples"),
            lambda: ["lambda1", "lambda2", "lambda3"].map(|name| options.number(name)),
            critical: options.number("critical"),
        })
    },
};

struct RTest {
    window: f64,
    noise: f64,
    lambda: [f64; 3],
    critical: f64,
}

/// Filtered value, variance about it, variance from sample to sample, last sample.
const MEMORY: usize = 4;

impl Steadiness for RTest {
    fn memory(&self) -> usize {
        MEMORY
    }

    /// Starts with the values of noise alone: zeros would divide by zero.
    fn start(&self, first: &Stamp, memory: &mut [f64]) {
        let twice = 2.0 * self.noise * self.noise;
        memory.copy_from_slice(&[first.flow, twice / (2.0 - self.lambda[0]), twice, first.flow]);
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn steady(&self, _past: &[Stamp], new: &Stamp, memory: &mut [f64]) -> bool {
        let [l1, l2, l3] = self.lambda;
        let y = new.flow + self.noise * noise::at(new.t);
        let filter = |old: f64, new: f64, part: f64| part * new + (1.0 - part) * old;
        let (about, step) = (y - memory[0], y - memory[3]);
        memory[1] = filter(memory[1], about * about, l2);
        memory[0] = filter(memory[0], y, l1);
        memory[2] = filter(memory[2], step * step, l3);
        memory[3] = y;
        (2.0 - l1) * memory[1] < self.critical * memory[2]
    }
}
