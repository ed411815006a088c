//! What a run came to.

use std::path::PathBuf;
use std::time::Duration;

use cosimo_analysis::error_bars::Accuracy;
use cosimo_core::recorder::Table;
use cosimo_engine::{MonolithicReference, ReferenceDeviation, Summary};
use cosimo_system::Problem;

use crate::error::Error;
use crate::observers::RealTimeStatistics;

/// What a run came to, however it ended.
#[derive(Debug)]
pub struct Outcome {
    /// Steps, energies per bond, verdict.
    pub summary: Summary,
    /// Error bars of signals, and the verdict about them.
    pub accuracy: Accuracy,
    /// From the start in this process, without planning and without what error bars took after the run.
    pub wall_time: Duration,
    /// What error bars took after the run.
    pub wall_time_of_error_bars: Duration,
    /// Simulated time at which this process began.
    pub from: f64,
    /// Result files with their rows.
    pub results: Vec<(PathBuf, u64)>,
    /// All rows, where they are kept in memory.
    pub table: Option<Table>,
    /// Signal errors against the monolithic reference, where the system declares one and the run finished.
    pub reference: Vec<ReferenceDeviation>,
    /// What that comparison leaves out; may be empty.
    pub reference_limits: String,
    /// Lateness of a run in real time.
    pub real_time: Option<RealTimeStatistics>,
    /// The checkpoint that was written last, at the end of the run.
    pub checkpoint: Option<PathBuf>,
    /// Of the plan and of the run.
    pub warnings: Vec<Problem>,
    /// Why the run failed.
    pub failure: Option<Error>,
    /// What could not be written after it.
    pub unwritten: Vec<Error>,
}

impl Outcome {
    /// The outcome of a run that did not fail and left everything behind that was asked for; otherwise the first error.
    pub fn into_result(mut self) -> Result<Outcome, Error> {
        match self.failure.take().or_else(|| self.unwritten.pop()) {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// The comparison with the monolithic reference.
    pub fn compared(&self) -> MonolithicReference<'_> {
        MonolithicReference { about: &self.reference_limits, ports: &self.reference }
    }

    /// What limited the step sizes, as text; may be empty.
    pub fn step_reasons(&self) -> String {
        let reasons = self.summary.counters.reasons().into_iter().filter(|(_, count)| *count > 0);
        reasons.map(|(words, count)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
    }
}
