//! The F-test: the variance about the mean against that from sample to sample. For noise alone both are equal.

use cosimo_core::interface::Needs;
use cosimo_core::line::Stamp;
use cosimo_core::method::Steadiness;
use cosimo_core::registry::{MethodEntry, Range, Spec};

use super::{TOLERANCE, WINDOW, noise};

pub(crate) const ENTRY: MethodEntry<dyn Steadiness> = MethodEntry {
    name: "f-test",
    summary: "variance about the mean against variance from sample to sample, with white noise added to the flow",
    source: "Braun, Hällqvist & Fritzson 2023 (TLM), Eqs. (3) and (4) with the factor 1/2 that is missing in (4)",
    order: "",
    options: &[
        WINDOW,
        TOLERANCE,
        Spec::count("samples", 50, 3, "number of samples; not steady before there are so many"),
        Spec::number("critical", 2.0, Range::Positive, "", "the ratio up to which the end is steady"),
    ],
    needs: |_| Needs::NOTHING,
    build: |options| {
        Box::new(FTest {
            window: options.number(WINDOW.name),
            samples: options.count("samples"),
            // Noise as wide as the tolerance of a sliding window.
            noise: options.optional(TOLERANCE.name).unwrap_or(USUAL) / 4.0,
            critical: options.number("critical"),
        })
    },
};

/// Where no tolerance is given.
pub(super) const USUAL: f64 = 1e-2;

struct FTest {
    window: f64,
    samples: usize,
    noise: f64,
    critical: f64,
}

impl Steadiness for FTest {
    fn window(&self) -> f64 {
        self.window
    }

    fn steady(&self, past: &[Stamp], new: &Stamp, _memory: &mut [f64]) -> bool {
        let n = self.samples;
        if past.len() + 1 < n {
            return false;
        }
        let noisy = |stamp: &Stamp| stamp.flow + self.noise * noise::at(stamp.t);
        let samples = || past[past.len() + 1 - n..].iter().chain([new]).map(noisy);
        let mean = samples().sum::<f64>() / n as f64;
        let about: f64 = samples().map(|y| (y - mean) * (y - mean)).sum();
        let steps: f64 = samples().zip(samples().skip(1)).map(|(a, b)| (b - a) * (b - a)).sum();
        // (n - 1) cancels. Without the half, noise alone would give 1/2 instead of 1.
        about < self.critical * 0.5 * steps
    }
}
