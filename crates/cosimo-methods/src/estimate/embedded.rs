//! The same step with inputs of two extrapolation degrees: where they agree, the degree does not matter. Two steps for
//! one; the result with the chosen degree is used.

use cosimo_core::interface::Needs;
use cosimo_core::method::{Estimate, Sizes, StepRecord, Trial};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{StepError, Window};

use super::{Scale, TOLERANCE, WEIGHT};

pub(crate) struct EmbeddedExtrapolation(Scale);

impl Estimate for EmbeddedExtrapolation {
    /// Neighbouring degrees differ by the power of the higher one; integration of the input adds one.
    fn order(&self, shape: &Sizes) -> u32 {
        shape.degree.max(1) + u32::from(shape.feedthrough_depth == 0)
    }

    fn attempt(&self, trial: &mut dyn Trial, window: Window) -> Result<f64, StepError> {
        trial.advance_companion(window)?;
        trial.stash_outputs();
        trial.rewind()?;
        trial.advance(window)?;
        Ok(self.measure(&trial.record()))
    }

    fn measure(&self, record: &StepRecord<'_>) -> f64 {
        self.0.against_stashed(record)
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Estimate> = MethodEntry {
    name: "embedded",
    summary: "the step with inputs of two neighbouring extrapolation degrees; two steps for one",
    source: "embedded pairs, as of Runge-Kutta methods, for inputs",
    order: "degree with feedthrough, else degree + 1",
    options: &[TOLERANCE, WEIGHT],
    needs: |_| Needs { rollback: true, ..Needs::NOTHING },
    build: |options| Box::new(EmbeddedExtrapolation(Scale::new(options))),
};
