//! A certificate: what a run came to as JSON, for gates and archives. What it ran, by which methods, step sizes in brief, the
//! energy defect of every bond, residuals of algebraic loops, remarks, and the hashes of all that went in.
//!
//! Everything that differs between two runs of the same inputs lies in one object, `machine`. A certificate speaks of the
//! energy defect and never of an error bound: residual energy does not bound the state error.

mod gate;
mod schema;
mod sealed;
mod steps;

pub use gate::{Check, Limits, NoCertificate, gate};
pub use schema::schema;
pub use sealed::{results, sealed, unchanged};
pub use steps::Steps;

use cosimo_core::entry::{Listed, Options};
use cosimo_core::{End, Registry, Value};
use cosimo_engine::rows::side_letter;
use cosimo_engine::{BondSummary, BondTotals, Counters, Layout, LoopResidual, Run, Summary, Verdict};
use cosimo_fmi::{Message, MessageKind};
use cosimo_system::{Choice, EndRule, IslandDecl, Problem, Severity, System};
use serde_json::{Map, Value as Json, json};

use crate::error::Error;

/// What a file must call itself to be one.
pub const KIND: &str = "cosimo-certificate";
/// Changes whenever something that was there is missing or means something else.
pub const VERSION: u64 = 1;

/// A file that went into a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    pub file: String,
    pub sha256: String,
}

/// How a run ended.
#[derive(Debug)]
pub enum Ending<'a> {
    Finished,
    Interrupted,
    Failed(&'a Error),
}

/// A certificate in the making.
#[derive(Debug)]
pub struct Certificate {
    /// What is known before the run.
    plan: Map<String, Json>,
    bonds: Vec<String>,
    span: (f64, f64),
    steps: Steps,
    /// Where this process took over a run that was begun by another.
    resumed: Option<f64>,
}

impl Certificate {
    pub fn new(system: &System, layout: &Layout, registry: &Registry, sources: &[Source]) -> Certificate {
        let mut plan = Map::new();
        plan.insert("components".into(), components(system, layout));
        plan.insert("methods".into(), methods(system, layout, registry));
        plan.insert("connections".into(), connections(system, layout, registry));
        let sources: Vec<Json> =
            sources.iter().map(|Source { file, sha256 }| json!({ "file": file, "sha256": sha256 })).collect();
        plan.insert("inputs".into(), sources.into());
        // Parameters and methods of the command line go in, too: they are part of the system as it was run.
        let text = cosimo_system::write::to_toml(system);
        plan.insert("system_sha256".into(), cosimo_report::sha256(text.as_bytes()).into());
        Certificate {
            plan,
            bonds: layout.bonds.iter().map(|bond| bond.name.clone()).collect(),
            span: (system.experiment.start, system.experiment.stop),
            steps: Steps::default(),
            resumed: None,
        }
    }

    /// The run goes on from an earlier one: step sizes and residuals of loops are those from now on.
    pub fn resume(&mut self, from: f64) {
        self.resumed = Some(from);
    }

    /// To be called after every step.
    pub fn look(&mut self, run: &Run) {
        self.steps.look(run.time().seconds(), run.sizes().0, run.indicator(), run.counters().rejected);
    }

    /// Of a run that has not begun, or of which nobody knows how it ended.
    pub fn unfinished(&self, reason: &str, remarks: &[Problem], machine: Json) -> Json {
        let bond = |name: &String| BondSummary {
            name: name.clone(),
            totals: BondTotals::default(),
            share: 0.0,
            power_error: 0.0,
        };
        let summary = Summary {
            coupled: true,
            time: self.resumed.unwrap_or(self.span.0),
            finished: false,
            ended: None,
            counters: Counters::default(),
            mean_step: 0.0,
            worst_indicator: 0.0,
            bonds: self.bonds.iter().map(bond).collect(),
            verdict: Verdict::Unmeasured,
            own_steps: Vec::new(),
            net: None,
            learned: Vec::new(),
            events: Vec::new(),
            more_events: 0,
            tampered: Vec::new(),
        };
        let outcome = json!({ "complete": false, "word": "unfinished", "reason": reason });
        let mut all = self.all(&summary, outcome, &[], remarks, machine);
        all["verdict"]["words"] = format!("nothing was measured: {reason}").into();
        for bond in all["bonds"].as_array_mut().into_iter().flatten() {
            bond["words"] = format!("energy defect not measured: {reason}").into();
        }
        all
    }

    /// After the run, however it ended.
    pub fn finished(&self, run: &Run, ending: &Ending<'_>, machine: Json) -> Json {
        let summary = run.summary();
        let outcome = match ending {
            Ending::Finished => json!({ "complete": true, "word": "finished", "reason": null }),
            Ending::Interrupted => json!({
                "complete": false,
                "word": "interrupted",
                "reason": format!("interrupted at t = {} s", summary.time),
            }),
            Ending::Failed(error) => {
                json!({ "complete": false, "word": "failed", "reason": error.to_string() })
            }
        };
        self.all(&summary, outcome, &run.loop_residuals(), run.remarks(), machine)
    }

    fn all(
        &self,
        summary: &Summary,
        outcome: Json,
        loops: &[LoopResidual],
        remarks: &[Problem],
        machine: Json,
    ) -> Json {
        let Counters { steps, rejected, evaluations, .. } = summary.counters;
        let (smallest, largest) = self.steps.sizes();
        let mut all = Map::new();
        let mut put = |name: &str, value: Json| all.insert(name.into(), value);
        put("certificate", KIND.into());
        put("version", VERSION.into());
        put("outcome", outcome);
        put(
            "experiment",
            json!({
                "start": self.span.0, "stop": self.span.1, "reached": summary.time, "resumed_at": self.resumed,
            }),
        );
        put("verdict", json!({ "word": summary.verdict.word(), "words": summary.words() }));
        put("bonds", summary.bonds.iter().map(|bond| self::bond(bond, summary)).collect());
        put(
            "steps",
            json!({
                "count": steps,
                "rejected": rejected,
                "size": { "smallest": smallest, "mean": finite(summary.mean_step), "largest": largest },
                "worst_indicator": finite(summary.worst_indicator),
                "evaluations": evaluations,
                "reasons": reasons(&summary.counters),
                "own": summary.own_steps.iter().map(|own| json!({
                    "component": own.name, "size": own.size, "count": own.steps,
                })).collect::<Vec<_>>(),
                "history": self.steps.digest(),
            }),
        );
        put("loops", loops.iter().map(residual).collect());
        put(
            "remarks",
            remarks.iter().filter(|remark| remark.severity == Severity::Remark).map(said).collect(),
        );
        put("messages", cosimo_fmi::messages().iter().map(message).collect());
        put(
            "scenario",
            json!({
                "events": summary.events.iter().map(|(time, action)| json!({ "time": time, "action": action }))
                    .collect::<Vec<_>>(),
                "more_events": summary.more_events,
            }),
        );
        all.extend(self.plan.clone());
        all.insert("versions".into(), json!({ "cosimo": env!("CARGO_PKG_VERSION") }));
        all.insert("machine".into(), machine);
        Json::Object(all)
    }
}

/// JSON has neither infinities nor NaN.
fn finite(value: f64) -> Json {
    if value.is_finite() { value.into() } else { Json::Null }
}

fn bond(bond: &BondSummary, summary: &Summary) -> Json {
    let BondSummary { name, totals, share, power_error } = bond;
    json!({
        "name": name,
        "transmitted_energy": finite(totals.transmitted),
        "exchanged_energy": finite(totals.exchanged),
        "residual_energy": finite(totals.residual),
        "residual_energy_absolute": finite(totals.residual_absolute),
        // Of a bond that carried nothing there is no share.
        "energy_defect": if bond.verdict() == Verdict::Unmeasured { Json::Null } else { finite(*share) },
        "mean_power_error": finite(*power_error),
        "verdict": bond.verdict().word(),
        "words": bond.words(),
        "changed_by_scenario": summary.tampered.contains(name),
    })
}

fn reasons(counters: &Counters) -> Json {
    json!({
        "above_tolerance": counters.above_one,
        "at_minimum": counters.at_minimum,
        "at_maximum": counters.at_maximum,
        "growth_limited": counters.growth_limited,
        "shrink_limited": counters.shrink_limited,
        "events": counters.events,
    })
}

fn residual(found: &LoopResidual) -> Json {
    json!({
        "loop": found.path,
        "input": found.input,
        "at_start": found.start.map(finite),
        "worst_later": found.later.map(finite),
        "relative": finite(found.relative()),
    })
}

fn said(remark: &Problem) -> Json {
    json!({ "code": remark.code, "message": remark.message, "hint": remark.hint })
}

/// What an FMU logged, or returned without failing.
pub fn message(message: &Message) -> Json {
    let Message { component, kind, count, first } = message;
    let (category, function) = match kind {
        MessageKind::Logged { category, .. } => (Some(category), None),
        MessageKind::Returned { function } => (None, Some(*function)),
    };
    json!({
        "component": component,
        "status": kind.status_word(),
        "category": category,
        "function": function,
        "count": count,
        "first": category.map(|_| first),
    })
}

fn components(system: &System, layout: &Layout) -> Json {
    let facts = |name: &String| {
        let index = layout.names.iter().position(|known| known == name);
        let facts = index.map_or(&[][..], |index| &layout.interfaces[index].facts);
        facts.iter().map(|(word, value)| (word.clone(), value.as_str().into())).collect::<Map<_, _>>()
    };
    let component = |component: &cosimo_system::Component| {
        let mut interfaces = layout.interfaces.iter().zip(&layout.names);
        let joined = interfaces.find(|(interface, _)| interface.members.contains(&component.name));
        json!({
            "name": component.name,
            "source": component.source,
            "integrated_in": joined.map(|(_, group)| group),
            "own_step": component.step.as_ref().map(|(size, _)| size),
            "facts": facts(&component.name),
        })
    };
    system.components.iter().map(component).collect()
}

fn methods(system: &System, layout: &Layout, registry: &Registry) -> Json {
    let axes = registry.axes();
    let recipe = &system.recipe;
    let choice = |axis: &str, choice: &Choice| method(axis, choice, &axes);
    let control = &layout.control;
    let island = |island: &IslandDecl| {
        let recipe = &island.recipe;
        json!({
            "name": island.name,
            "components": island.components.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            "partition": choice("partition", &recipe.partition),
            "iteration": choice("iteration", &recipe.iteration),
            "fit": choice("input", &recipe.input.default),
            "correction": choice("correction", &recipe.correction.default),
            "estimate": choice("estimate", &recipe.estimate),
            "law": choice("law", &recipe.law),
        })
    };
    json!({
        "partition": choice("partition", &recipe.partition),
        "iteration": choice("iteration", &recipe.iteration),
        "estimate": choice("estimate", &recipe.estimate),
        "law": choice("law", &recipe.law),
        "step": {
            "controlled": control.adaptive,
            "first": finite(control.first(layout.first_size)),
            "min": finite(control.min),
            "max": finite(control.max),
            "shrink": control.shrink,
            "grow": control.grow,
            "rejects": control.reject == cosimo_system::Reject::AboveOne,
        },
        "islands": system.islands.iter().map(island).collect::<Vec<_>>(),
        "end": if system.experiment.end == EndRule::Exact { "exact" } else { "after" },
        "stages": layout.stages.iter().map(|stage| {
            stage.members.iter().map(|member| layout.names[*member].as_str()).collect::<Vec<_>>()
        }).collect::<Vec<_>>(),
        "bonds": layout.bonds.iter().map(|bond| json!({
            "name": bond.name,
            "sides": bond.sides.iter().enumerate().map(|(k, side)| json!({
                "side": side_letter(k).to_string(),
                "effort": layout.ports().path(side.effort),
                "flow": layout.ports().path(side.flow),
                "enters": side.sign > 0.0,
            })).collect::<Vec<_>>(),
            "tolerance": bond.tolerance,
            "energy_scale": bond.energy_scale,
        })).collect::<Vec<_>>(),
    })
}

/// A method by its name, with all of its options, the defaults included.
fn method(axis: &str, choice: &Choice, axes: &[(&str, Vec<Listed>)]) -> Json {
    let entries = axes.iter().find(|(known, _)| *known == axis).map_or(&[][..], |(_, entries)| entries);
    let given: Vec<(String, Value)> =
        choice.options.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
    let options = entries
        .iter()
        .find(|entry| entry.name == choice.name)
        .and_then(|entry| Options::resolve(entry.name, entry.options, &given).ok())
        .map(|resolved| resolved.values().iter().map(|(name, v)| ((*name).to_string(), value(v))).collect())
        .unwrap_or_else(Map::new);
    json!({ "name": choice.name, "options": options })
}

fn value(value: &Value) -> Json {
    match value {
        Value::Number(number) if number.is_finite() => (*number).into(),
        Value::Number(number) => number.to_string().into(),
        Value::Flag(flag) => (*flag).into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(list) => list.iter().map(self::value).collect(),
        Value::Table(table) => {
            Json::Object(table.iter().map(|(name, v)| (name.clone(), self::value(v))).collect())
        }
    }
}

/// Every input that somebody drives, and how it is made.
fn connections(system: &System, layout: &Layout, registry: &Registry) -> Json {
    let (axes, ports, recipe) = (registry.axes(), layout.ports(), &system.recipe);
    let connection = |input: usize| {
        let path = ports.path(End::Input(input));
        let terms = layout.couplings.terms(input).iter();
        json!({
            "input": path,
            "from": terms.map(|term| json!({
                "output": ports.path(End::Output(term.output)), "gain": term.gain,
            })).collect::<Vec<_>>(),
            "offset": layout.couplings.constant(input),
            "fit": in_force("input", layout.fit_names[input], recipe.input.of(&path), &axes),
            "correction": in_force("correction", layout.correction_names[input], recipe.correction.of(&path), &axes),
            "exchange": if layout.fresh[input] { "fresh" } else { "stale" },
        })
    };
    let driven = (0..layout.shape.inputs).filter(|input| !layout.couplings.terms(*input).is_empty());
    driven.map(connection).collect()
}

/// The plan may have chosen another method than was asked for, which then has its usual options.
fn in_force(axis: &str, name: &str, asked: &Choice, axes: &[(&str, Vec<Listed>)]) -> Json {
    if asked.name == name { method(axis, asked, axes) } else { method(axis, &Choice::named(name), axes) }
}
