//! Error bars of signals: companions beside the run, and after it the verdict.

use std::sync::atomic::{AtomicBool, Ordering};

use cosimo_analysis::error_bars::{
    Accuracy, AccuracyOptions, ErrorBars as Bars, RunCompanions, StepCallback,
};

use crate::error::Error;
use crate::observer::{Moment, Observer, RunEnd};
use crate::simulation::RepetitionWatch;

/// Why a run has no error bars.
pub(crate) const NONE: &str = "no error bars were requested";

/// Follows a run with companions.
pub(crate) struct ErrorBars<'o> {
    wanted: f64,
    bars: Bars,
    watch: RepetitionWatch<'o>,
    interrupted: &'o AtomicBool,
    /// The reason where there are none.
    companions: Result<Box<RunCompanions>, String>,
}

impl<'o> ErrorBars<'o> {
    /// `against`: why this run can have no companions.
    pub(crate) fn new(
        (bars, wanted): (Bars, f64),
        watch: RepetitionWatch<'o>,
        interrupted: &'o AtomicBool,
        against: Option<&str>,
    ) -> ErrorBars<'o> {
        let companions = Err(against.unwrap_or_default().to_owned());
        ErrorBars { wanted, bars, watch, interrupted, companions }
    }

    fn finish(&mut self, end: &RunEnd<'_>) -> Option<Accuracy> {
        let (_, outcome) = end.started.as_ref()?;
        let companions = std::mem::replace(&mut self.companions, Err(String::new()));
        let mut accuracy = match companions {
            _ if end.error.is_some() => Accuracy::unknown(self.wanted, "the run failed".into()),
            Err(reason) => Accuracy::unknown(self.wanted, reason),
            Ok(companions) => {
                let bars = if outcome.summary.finished { self.bars } else { Bars::Coarse };
                let (own, interrupted) = (&self.watch, self.interrupted);
                let watch = |which| -> StepCallback<'_> {
                    let mut callback = own(which);
                    Box::new(move |run| callback(run) && !interrupted.load(Ordering::Relaxed))
                };
                let options = AccuracyOptions { wanted: self.wanted, bars, watch: &watch };
                companions.finish(&end.inputs.registry, &options, outcome.wall_time)
            }
        };
        accuracy.explain(&outcome.summary);
        Some(accuracy)
    }
}

impl Observer for ErrorBars<'_> {
    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        match &mut self.companions {
            Ok(companions) => companions.look(at.run()),
            Err(reason) if at.is_start() && reason.is_empty() => {
                let inputs = at.inputs();
                self.companions =
                    RunCompanions::start(at.run(), &inputs.system, &inputs.registry).map(Box::new);
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        let begun = std::time::Instant::now();
        let accuracy = self.finish(end);
        if let (Some((_, outcome)), Some(accuracy)) = (&mut end.started, accuracy) {
            outcome.accuracy = accuracy;
            outcome.wall_time_of_error_bars = begun.elapsed();
        }
        Ok(())
    }
}
