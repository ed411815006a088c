//! One step against two of half the size: Richardson. Expensive, three steps for one, but it covers the error of
//! everything that depends on the step size. The better result is used.

use cosimo_core::interface::Needs;
use cosimo_core::math;
use cosimo_core::method::{Estimate, Sizes, StepRecord, Trial};
use cosimo_core::registry::MethodEntry;
use cosimo_core::{StepError, Time, Window};

use super::{Scale, TOLERANCE, WEIGHT};

pub(crate) struct Richardson(Scale);

impl Estimate for Richardson {
    /// The local error of states falls with degree + 2, that of outputs with direct feed-through with degree + 1
    /// (Wu 2018, Sec. 4.2).
    fn order(&self, shape: &Sizes) -> u32 {
        shape.degree + if shape.feedthrough_depth > 0 { 1 } else { 2 }
    }

    fn attempt(&self, trial: &mut dyn Trial, window: Window) -> Result<f64, StepError> {
        trial.advance(window)?;
        trial.stash_outputs();
        trial.rewind()?;
        let size = 0.5 * window.size;
        let middle = Time::new(window.from.seconds() + size).unwrap_or(window.to);
        trial.advance(Window { from: window.from, to: middle, size })?;
        trial.advance(Window { from: middle, to: window.to, size })?;
        Ok(self.measure(&trial.record()))
    }

    fn measure(&self, record: &StepRecord<'_>) -> f64 {
        // Two half steps have 2^(1 - order) of the error of the whole step, so the difference is this part of it.
        let rest = 1.0 - math::powi(0.5, self.order(&record.shape) as i32 - 1);
        self.0.against_stashed(record) / rest.max(0.5)
    }
}

pub(crate) const ENTRY: MethodEntry<dyn Estimate> = MethodEntry {
    name: "richardson",
    summary: "one step against two half steps, whose result is used; three steps for one",
    source: "Richardson extrapolation; step doubling as in Schierz, Arnold & Clauß 2012",
    order: "degree + 1 with feedthrough, else degree + 2",
    options: &[TOLERANCE, WEIGHT],
    needs: |_| Needs { rollback: true, variable_step: true, ..Needs::NOTHING },
    build: |options| Box::new(Richardson(Scale::new(options))),
};
