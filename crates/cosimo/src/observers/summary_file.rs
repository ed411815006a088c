//! The summary of a run as JSON, for programs.

use std::path::PathBuf;

use cosimo_engine::lines::{EndTotals, IsleTotals, LineTotals, NetTotals};
use cosimo_engine::{BondSummary, Counters, OwnSteps, Run, RunError, Summary};
use serde_json::{Value, json};

use crate::error::Error;
use crate::fmu_messages::fmu_messages;
use crate::observer::{End, Moment, Observer, When};
use crate::outcome::Outcome;
use crate::saved;
use crate::simulation::RunInputs;

/// Writes the summary of a run as JSON.
#[derive(Debug)]
pub struct SummaryFile(PathBuf);

impl SummaryFile {
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

    fn end(&mut self, end: &mut End<'_>) -> Result<(), Error> {
        let Some((run, outcome)) = &end.started else { return Ok(()) };
        let mut json = summary_json(end, run, outcome);
        let messages = fmu_messages();
        if !messages.is_empty() {
            json["messages"] = json!(messages.into_iter().map(|(message, _)| message).collect::<Vec<_>>());
        }
        saved::replace(&self.0, format!("{json:#}\n").as_bytes()).map_err(|cause| {
            Error::unwritable(format!("cannot write `{}`: {cause}", self.0.display()), &self.0)
        })
    }
}

fn summary_json(end: &End<'_>, run: &Run, outcome: &Outcome) -> Value {
    let summary = &outcome.summary;
    let mut json = basics(outcome, &end.inputs.what, end.error);
    if let Some(resumed) = &end.inputs.resumed {
        json["resumed_at"] = outcome.from.into();
        json["wall_seconds"] = (resumed.computing + outcome.wall_time.as_secs_f64()).into();
    }
    if let Some(net) = &summary.net {
        json["net"] = islands_json(net);
    }
    if !summary.own_steps.is_empty() {
        json["own_steps"] = own_steps(summary);
    }
    if let Some(ended) = &summary.ended {
        let (at, function) = (ended.at.seconds(), ended.function);
        json["ended_by"] = json!({ "component": ended.component, "time": at, "function": function });
    }
    if run.scenario().is_some() {
        json["scenario"] = scenario(summary);
    }
    let Counters { linearised, oldest_model, .. } = summary.counters;
    if linearised > 0 {
        json["linear_models"] = json!({ "renewed": linearised, "oldest": oldest_model });
    }
    for (name, learned) in &summary.learned {
        json[*name] = json!({
            "wanted": learned.wanted,
            "in_use": learned.now,
            "first_at": learned.first,
            "since": learned.since,
            "steps": learned.windows,
            "changed": learned.renewed,
            "age": learned.age,
            "given_up": learned.closed,
            "quality": learned.first.map(|_| learned.quality),
        });
    }
    if let Some(kept) = &outcome.real_time {
        json["real_time"] = json!({
            "factor": kept.factor,
            "lateness_p50": kept.lateness_p50,
            "lateness_p99": kept.lateness_p99,
            "lateness_max": kept.lateness_max,
            "late_steps": kept.late_steps,
            "late_share": kept.late_share,
        });
    }
    json
}

fn basics(outcome: &Outcome, what: &[String], error: Option<&Error>) -> Value {
    let summary = &outcome.summary;
    let c = &summary.counters;
    let bonds: Vec<Value> = summary
        .bonds
        .iter()
        .map(|BondSummary { name, totals, share, power_error }| {
            json!({
                "name": name,
                "transmitted_energy": totals.transmitted,
                "exchanged_energy": totals.exchanged,
                "residual_energy": totals.residual,
                "residual_energy_absolute": totals.residual_absolute,
                "defect_share": share,
                "mean_power_error": power_error,
            })
        })
        .collect();
    let error = error.map(|error| match error.run_error() {
        Some(RunError::Step(step)) => {
            json!({ "code": step.code(), "message": step.to_string(), "hint": step.hint() })
        }
        _ => json!({ "code": "record", "message": error.to_string() }),
    });
    json!({
        "file": what.join(" "),
        "time": summary.time,
        "finished": summary.finished,
        "steps": c.steps,
        "rejected": c.rejected,
        "mean_step": summary.mean_step,
        "worst_indicator": summary.worst_indicator,
        "reasons": {
            "above_tolerance": c.above_one,
            "at_minimum": c.at_minimum,
            "at_maximum": c.at_maximum,
            "growth_limited": c.growth_limited,
            "shrink_limited": c.shrink_limited,
            "events": c.events,
        },
        "evaluations": c.evaluations,
        "bonds": bonds,
        "verdict": summary.verdict.word(),
        "words": summary.words(),
        "wall_seconds": outcome.wall_time.as_secs_f64(),
        "error": error,
    })
}

fn own_steps(summary: &Summary) -> Value {
    let steps = |own: &OwnSteps| json!({ "component": own.name, "size": own.size, "steps": own.steps });
    summary.own_steps.iter().map(steps).collect()
}

fn scenario(summary: &Summary) -> Value {
    let event = |(time, name): &(f64, String)| json!({ "time": time, "action": name });
    json!({
        "events": summary.events.iter().map(event).collect::<Vec<_>>(),
        "more_events": summary.more_events,
        "tampered_bonds": summary.tampered,
    })
}
fn islands_json(net: &NetTotals) -> Value {
    let island = |island: &IsleTotals| {
        json!({
            "name": island.name, "steps": island.steps, "taken_back": island.taken_back,
            "evaluations": island.evaluations,
        })
    };
    let end = |end: &EndTotals| {
        json!({
            "mean_delay": end.delay, "still_share": end.still, "largest_factor": end.stats.largest,
            "grown": end.stats.grown, "shrunk": end.stats.shrunk, "taken_back": end.stats.taken_back,
            "energy": end.stats.energy, "control_gave_up": end.stats.useless, "controlled_by_unit": end.owned,
        })
    };
    let line = |line: &LineTotals| {
        json!({
            "name": line.name, "a": end(&line.ends[0]), "b": end(&line.ends[1]),
            "energy_entered": line.entered, "energy_stored": line.stored, "energy_defect": line.defect(),
        })
    };
    json!({
        "islands": net.islands.iter().map(island).collect::<Vec<_>>(),
        "lines": net.lines.iter().map(line).collect::<Vec<_>>(),
        "extrapolations": net.beyond,
    })
}
