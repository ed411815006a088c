//! A certificate: what a run came to as JSON, for gates and archives. What it ran, by which methods, step sizes in brief, the
//! energy defect of every bond, residuals of algebraic loops, remarks, and the hashes of all that went in.
//!
//! Everything that differs between two runs of the same inputs lies in one object, `machine`. A certificate speaks of the
//! energy defect and never of an error bound: residual energy does not bound the state error.

mod data;
mod gate;
mod sealed;
mod steps;

pub use data::*;
pub use gate::{Check, Limits, NoCertificate, gate};
pub use sealed::{results, sealed, unchanged};
pub use steps::Steps;

use cosimo_core::entry::{Listed, Options};
use cosimo_core::{End, Registry, Value};
use cosimo_engine::{BondSummary, BondTotals, Counters, Layout, LoopResidual, Run, Summary, Verdict};
use cosimo_system::{Choice, Problem, Severity, System};
use serde_json::{Map, Value as Json};

use crate::error::Error;
use crate::fmu_messages::fmu_messages;

/// What a file must call itself to be one.
pub const KIND: &str = "cosimo-certificate";
/// Changes whenever something that was there is missing or means something else.
pub const VERSION: u64 = 1;

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
    components: Vec<Component>,
    methods: Methods,
    connections: Vec<Connection>,
    inputs: Vec<Source>,
    system_sha256: String,
    bonds: Vec<String>,
    span: (f64, f64),
    steps: Steps,
    /// Where this process took over a run that was begun by another.
    resumed: Option<f64>,
}

impl Certificate {
    pub fn new(system: &System, layout: &Layout, registry: &Registry, sources: &[Source]) -> Certificate {
        // Parameters and methods of the command line go in, too: they are part of the system as it was run.
        let text = cosimo_system::write::to_toml(system);
        Certificate {
            components: components(system, layout),
            methods: Methods::new(system, layout, &registry.axes()),
            connections: connections(system, layout, registry),
            inputs: sources.to_vec(),
            system_sha256: cosimo_pack::hash::sha256(text.as_bytes()),
            bonds: layout.topology.bonds.iter().map(|bond| bond.name.clone()).collect(),
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
    pub fn unfinished(&self, reason: &str, remarks: &[Problem], machine: Machine) -> CertificateData {
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
        let outcome = Outcome { complete: false, word: "unfinished", reason: Some(reason.into()) };
        let mut all = self.all(&summary, outcome, &[], remarks, machine);
        all.verdict.words = format!("nothing was measured: {reason}");
        for bond in &mut all.bonds {
            bond.words = format!("energy defect not measured: {reason}");
        }
        all
    }

    /// After the run, however it ended.
    pub fn finished(&self, run: &Run, ending: &Ending<'_>, machine: Machine) -> CertificateData {
        let summary = run.summary();
        let (word, reason) = match ending {
            Ending::Finished => ("finished", None),
            Ending::Interrupted => ("interrupted", Some(format!("interrupted at t = {} s", summary.time))),
            Ending::Failed(error) => ("failed", Some(error.to_string())),
        };
        let outcome = Outcome { complete: reason.is_none(), word, reason };
        self.all(&summary, outcome, &run.loop_residuals(), run.remarks(), machine)
    }

    fn all(
        &self,
        summary: &Summary,
        outcome: Outcome,
        loops: &[LoopResidual],
        remarks: &[Problem],
        machine: Machine,
    ) -> CertificateData {
        let remarks = remarks.iter().filter(|remark| remark.severity == Severity::Remark);
        CertificateData {
            certificate: KIND,
            version: VERSION,
            outcome,
            experiment: Experiment {
                start: self.span.0,
                stop: self.span.1,
                reached: summary.time,
                resumed_at: self.resumed,
            },
            verdict: RunVerdict { word: summary.verdict.word(), words: summary.words() },
            bonds: summary.bonds.iter().map(|bond| Bond::new(bond, summary)).collect(),
            steps: StepSummary::new(summary, &summary.counters, &self.steps),
            loops: loops.iter().map(Loop::new).collect(),
            remarks: remarks.map(Remark::new).collect(),
            messages: fmu_messages().into_iter().map(|(message, _)| message).collect(),
            scenario: Scenario::new(summary),
            components: self.components.clone(),
            methods: self.methods.clone(),
            connections: self.connections.clone(),
            inputs: self.inputs.clone(),
            system_sha256: self.system_sha256.clone(),
            versions: Versions { cosimo: env!("CARGO_PKG_VERSION") },
            machine,
        }
    }
}

/// JSON has neither infinities nor NaN.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn components(system: &System, layout: &Layout) -> Vec<Component> {
    let facts = |name: &String| {
        let index = layout.topology.names.iter().position(|known| known == name);
        let facts = index.map_or(&[][..], |index| &layout.topology.interfaces[index].facts);
        facts.iter().map(|(word, value)| (word.clone(), value.as_str().into())).collect::<Map<_, _>>()
    };
    let component = |component: &cosimo_system::Component| {
        let mut interfaces = layout.topology.interfaces.iter().zip(&layout.topology.names);
        let joined = interfaces.find(|(interface, _)| interface.members.contains(&component.name));
        Component {
            name: component.name.clone(),
            source: component.source.clone(),
            integrated_in: joined.map(|(_, group)| group.clone()),
            own_step: component.step.as_ref().map(|(size, _)| *size),
            facts: facts(&component.name),
        }
    };
    system.components.iter().map(component).collect()
}

/// Who steps together, one stage after the other.
fn stages(layout: &Layout) -> Vec<Vec<String>> {
    let names =
        |members: &[usize]| members.iter().map(|member| layout.topology.names[*member].clone()).collect();
    layout.methods.stages.iter().map(|stage| names(&stage.members)).collect()
}

/// All methods, axis by axis.
type Axes = [(&'static str, Vec<Listed>)];

/// A method by its name, with all of its options, the defaults included.
fn method(axis: &str, choice: &Choice, axes: &Axes) -> Method {
    let entries = axes.iter().find(|(known, _)| *known == axis).map_or(&[][..], |(_, entries)| entries);
    let given: Vec<(String, Value)> =
        choice.options.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
    let options = entries
        .iter()
        .find(|entry| entry.name == choice.name)
        .and_then(|entry| Options::resolve(entry.name, entry.options, &given).ok())
        .map(|resolved| resolved.values().iter().map(|(name, v)| ((*name).to_string(), value(v))).collect())
        .unwrap_or_else(Map::new);
    Method { name: choice.name.clone(), options }
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
fn connections(system: &System, layout: &Layout, registry: &Registry) -> Vec<Connection> {
    let (axes, ports, recipe) = (registry.axes(), layout.ports(), &system.recipe);
    let connection = |input: usize| {
        let path = ports.path(End::Input(input));
        let terms = layout.topology.couplings.terms(input).iter();
        let (fit, correction) = (layout.methods.fit_names[input], layout.methods.correction_names[input]);
        Connection {
            from: terms.map(|term| Summand::new(term, layout)).collect(),
            offset: layout.topology.couplings.constant(input),
            fit: in_force("input", fit, recipe.input.of(&path), &axes),
            correction: in_force("correction", correction, recipe.correction.of(&path), &axes),
            exchange: if layout.methods.fresh[input] { "fresh" } else { "stale" },
            input: path,
        }
    };
    let driven =
        (0..layout.topology.shape.inputs).filter(|input| !layout.topology.couplings.terms(*input).is_empty());
    driven.map(connection).collect()
}

/// The plan may have chosen another method than was asked for, which then has its usual options.
fn in_force(axis: &str, name: &str, asked: &Choice, axes: &Axes) -> Method {
    if asked.name == name { method(axis, asked, axes) } else { method(axis, &Choice::named(name), axes) }
}
