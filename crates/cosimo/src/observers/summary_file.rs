//! The summary of a run as JSON, for programs.

use std::path::PathBuf;

use cosimo_core::method::IdentificationStatus;
use cosimo_engine::lines::{EndTotals, IslandTotals, LineNetworkTotals, LineTotals};
use cosimo_engine::{BondSummary, Counters, EndRequest, OwnSteps, Run, RunError, Summary};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::certificate::{EnergyBalance, FmuMessage, ScenarioEvent, SizeReasons, VERDICTS};
use crate::draft_file;
use crate::error::Error;
use crate::fmu_messages::fmu_messages;
use crate::json_schema::{AccuracyObject, objects, part};
use crate::observer::{Moment, Observer, RunEnd, When};
use crate::observers::RealTimeStatistics;
use crate::outcome::Outcome;
use crate::simulation::RunInputs;

/// Writes the summary of a run as JSON.
#[derive(Debug)]
pub struct SummaryFile(PathBuf);

impl SummaryFile {
    /// Writes to this file.
    pub fn new(file: impl Into<PathBuf>) -> SummaryFile {
        SummaryFile(file.into())
    }
}

impl Observer for SummaryFile {
    fn when(&self) -> When {
        When::StartOnly
    }

    fn files(&self, _inputs: &RunInputs) -> Vec<(&'static str, PathBuf)> {
        vec![("--summary-json", self.0.clone())]
    }

    fn step(&mut self, _at: &mut Moment<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        let Some((run, outcome)) = &end.started else { return Ok(()) };
        let summary = RunSummary::new(end, run, outcome, &outcome.summary, &outcome.summary.counters);
        let text = serde_json::to_string_pretty(&summary).map_err(std::io::Error::from);
        let written = text.and_then(|text| draft_file::replace(&self.0, format!("{text}\n").as_bytes()));
        written.map_err(|cause| Error::cannot_write(&self.0, &cause))
    }
}

objects! {
    /// the summary of a run
    #[schemars(extend("additionalProperties" = part::<LearnedModels>()))]
    pub struct RunSummary(end: &RunEnd<'_>, run: &Run, outcome: &Outcome, summary: &Summary, counters: &Counters) {
        /// as on the command line
        file: String = end.inputs.what.join(" "),
        /// simulated time that was reached, in seconds
        time: f64 = summary.time,
        finished: bool = summary.finished,
        /// accepted steps
        steps: u64 = counters.steps,
        /// rejected attempts
        rejected: u64 = counters.rejected,
        /// seconds
        mean_step: f64 = summary.mean_step,
        /// the largest indicator of an accepted step; 1 is just within tolerance
        worst_indicator: f64 = summary.worst_indicator,
        reasons: SizeReasons = SizeReasons::new(counters),
        /// right-hand sides evaluated inside simulators
        evaluations: u64 = counters.evaluations,
        bonds: Vec<BondSummary> = summary.bonds.clone(),
        /// whether the recorded signals are accurate
        #[schemars(extend("enum" = VERDICTS))]
        verdict: &'static str = outcome.accuracy.verdict.word(),
        /// the verdict for people
        words: String = outcome.accuracy.words.clone(),
        /// what the verdict rests on
        accuracy: AccuracyObject = AccuracyObject(outcome.accuracy.clone()),
        energy: EnergyBalance = EnergyBalance::new(summary),
        /// of computing
        wall_seconds: f64 =
            end.inputs.resumed.as_ref().map_or(0.0, |from| from.computing) + outcome.wall_time.as_secs_f64(),
        /// what error bars took after the run
        wall_seconds_of_error_bars: f64 = outcome.wall_time_of_error_bars.as_secs_f64(),
        error: Option<FailureSummary> = end.error.map(FailureSummary::from),
        /// where it went on from a checkpoint, in seconds
        #[serde(skip_serializing_if = "Option::is_none")]
        resumed_at: Option<f64> = end.inputs.resumed.as_ref().map(|_| outcome.from),
        /// where there are lines
        #[serde(skip_serializing_if = "Option::is_none")]
        net: Option<NetSummary> = summary.net.as_ref().map(NetSummary::new),
        #[serde(skip_serializing_if = "Vec::is_empty")]
        own_steps: Vec<OwnSteps> = summary.own_steps.clone(),
        /// the component that ended the run before its stop time
        #[serde(skip_serializing_if = "Option::is_none")]
        ended_by: Option<EndSummary> = summary.ended.as_ref().map(EndSummary::new),
        #[serde(skip_serializing_if = "Option::is_none")]
        scenario: Option<ScenarioSummary> = run.scenario().map(|_| ScenarioSummary::new(summary)),
        #[serde(skip_serializing_if = "Option::is_none")]
        linear_models: Option<LinearModels> =
            Some(LinearModels::new(counters)).filter(|models| models.renewed > 0),
        /// corrections that find out how simulators answer, by name
        #[serde(flatten)]
        #[schemars(skip)]
        learned: Map<String, Value> = learned(&summary.learned),
        #[serde(skip_serializing_if = "Option::is_none")]
        real_time: Option<RealTimeStatistics> = outcome.real_time.clone(),
        /// what FMUs logged and returned, by kind
        #[serde(skip_serializing_if = "Vec::is_empty")]
        messages: Vec<FmuMessage> = fmu_messages().into_iter().map(|(message, _)| message).collect(),
    }

    pub struct FailureSummary {
        pub code: &'static str,
        pub message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hint: Option<String>,
    }

    pub struct EndSummary(ended: &EndRequest) {
        component: String = ended.component.clone(),
        /// seconds
        time: f64 = ended.at.seconds(),
        /// by which it asked
        function: &'static str = ended.function,
    }

    pub struct ScenarioSummary(summary: &Summary) {
        /// what it did; of endless ones the first
        events: Vec<ScenarioEvent> = summary.events.iter().map(ScenarioEvent::new).collect(),
        more_events: u64 = summary.more_events,
        /// bonds whose signals it changed
        tampered_bonds: Vec<String> = summary.tampered.clone(),
    }

    pub struct LinearModels(counters: &Counters) {
        /// how often
        renewed: u64 = counters.linearised,
        /// how many steps old they were at most
        oldest: u64 = counters.oldest_model,
    }

    pub struct LearnedModels(learned: &IdentificationStatus) {
        /// how many simulators could have one
        wanted: u64 = learned.wanted,
        /// how many have one at present
        in_use: u64 = learned.now,
        /// when the first came into use, in seconds
        first_at: Option<f64> = learned.first,
        /// since when there are some without a break, in seconds
        since: Option<f64> = learned.since,
        /// for how many steps there were any
        steps: u64 = learned.windows,
        /// how often they changed
        changed: u64 = learned.renewed,
        /// how many steps ago they did so last
        age: u64 = learned.age,
        /// how often one had to be given up
        given_up: u64 = learned.closed,
        /// how many outputs were predicted by models that had not seen them
        predictions: u64 = learned.predictions,
        /// the largest error of these predictions, relative to the output's usual change per step
        prediction_error: Option<f64> = (learned.predictions > 0).then_some(learned.prediction_error),
    }

    pub struct NetSummary(net: &LineNetworkTotals) {
        islands: Vec<IslandSummary> = net.islands.iter().map(IslandSummary::new).collect(),
        lines: Vec<LineSummary> = net.lines.iter().map(LineSummary::new).collect(),
        /// reads of what was not published yet; there are none
        extrapolations: u64 = net.beyond,
    }

    pub struct IslandSummary(island: &IslandTotals) {
        name: String = island.name.clone(),
        steps: u64 = island.steps,
        taken_back: u64 = island.taken_back,
        evaluations: u64 = island.evaluations,
    }

    /// energies in joules
    pub struct LineSummary(line: &LineTotals) {
        name: String = line.name.clone(),
        a: LineEnd = LineEnd::new(&line.ends[0]),
        b: LineEnd = LineEnd::new(&line.ends[1]),
        energy_entered: f64 = line.entered,
        energy_stored: f64 = line.stored,
        energy_defect: f64 = line.defect(),
    }

    pub struct LineEnd(end: &EndTotals) {
        /// seconds
        mean_delay: f64 = end.delay,
        /// share of the time for which it stood still
        still_share: f64 = end.still,
        /// of its delay
        largest_factor: f64 = end.stats.largest,
        grown: u64 = end.stats.grown,
        shrunk: u64 = end.stats.shrunk,
        /// steps that were taken back because it moved
        taken_back: u64 = end.stats.taken_back,
        /// joules into the line
        energy: f64 = end.stats.energy,
        /// steps stayed shorter than the shortest delay
        control_gave_up: bool = end.stats.useless,
        /// the FMU stretched the line itself
        controlled_by_unit: bool = end.owned,
    }
}

impl From<&Error> for FailureSummary {
    fn from(error: &Error) -> FailureSummary {
        match error.run_error() {
            Some(RunError::Step(step)) => {
                FailureSummary { code: step.code(), message: step.to_string(), hint: Some(step.hint()) }
            }
            _ => FailureSummary { code: "record", message: error.to_string(), hint: None },
        }
    }
}

fn learned(all: &[(&str, IdentificationStatus)]) -> Map<String, Value> {
    all.iter().map(|(name, learned)| ((*name).into(), json!(LearnedModels::new(learned)))).collect()
}
