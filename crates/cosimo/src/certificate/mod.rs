//! A certificate: what a run came to as JSON, for gates and archives. The verdict about its signals with their error bars, what
//! it ran, by which methods, step sizes in brief, coupling defects, the energy defect of every bond, residuals of algebraic
//! loops, warnings, and the hashes of all that went in.
//!
//! Everything that differs between two runs of the same inputs lies in one object, `machine`. The energy defect is a
//! diagnosis and no error bound: residual energy does not bound the state error.

mod data;
mod gate;
mod seal;
mod steps;

pub use data::*;
pub use gate::{AccuracyCriterion, GateCheck, GateCriteria, NoCertificate, gate};
pub use seal::{results, unchanged, with_seal};
pub use steps::Steps;

use cosimo_analysis::error_bars::Accuracy;
use cosimo_core::registry::EntryListing;
use cosimo_core::{PowerVariable, Registry, Value};
use cosimo_engine::{BondSummary, BondTotals, Layout, LoopResidual, Run, Summary, Topology};
use cosimo_system::{Choice, MethodConfig, Problem, Severity, System};
use serde_json::{Map, Value as Json};

use crate::error::Error;
use crate::fmu_messages::fmu_messages;
use crate::json_schema::AccuracyObject;
use crate::plan_text::resolved;

/// What a file must call itself to be one.
pub const KIND: &str = "cosimo-certificate";
/// Changes whenever something that was there is missing or means something else.
pub const VERSION: u64 = 3;

/// How a run ended.
#[derive(Debug)]
pub enum RunEnding<'a> {
    /// The stop time was reached, or a component or scenario ended the run.
    Finished,
    /// Stopped by a signal or by the caller.
    Interrupted,
    /// Ended by an error.
    Failed(&'a Error),
}

/// A certificate under construction.
#[derive(Debug)]
pub struct Certificate {
    /// What is known before the run.
    known: CertificateData,
    bonds: Vec<String>,
    steps: Steps,
}

impl Certificate {
    /// A certificate of a run that has not started.
    pub fn new(system: &System, layout: &Layout, registry: &Registry, sources: &[Source]) -> Certificate {
        // Parameters and methods of the command line go in, too: they are part of the system as it was run.
        let text = cosimo_system::write::to_toml(system);
        let (axes, topology) = (registry.axes(), &layout.topology);
        let driven = (0..topology.shape.inputs).filter(|input| !topology.couplings.terms(*input).is_empty());
        let known = CertificateData {
            certificate: KIND,
            version: VERSION,
            experiment: Experiment {
                start: system.experiment.start,
                stop: system.experiment.stop,
                ..Experiment::default()
            },
            components: system.components.iter().map(|it| Component::new(it, topology)).collect(),
            methods: Methods::new(system, layout, &axes),
            connections: driven.map(|input| connection(input, &system.methods, layout, &axes)).collect(),
            inputs: sources.to_vec(),
            system_sha256: cosimo_pack::hash::sha256(text.as_bytes()),
            versions: Versions { cosimo: env!("CARGO_PKG_VERSION") },
            ..CertificateData::default()
        };
        let bonds = topology.bonds.iter().map(|bond| bond.name.clone()).collect();
        Certificate { known, bonds, steps: Steps::default() }
    }

    /// The run goes on from an earlier one: step sizes and residuals of loops are those from now on.
    pub fn resume(&mut self, from: f64) {
        self.known.experiment.resumed_at = Some(from);
    }

    /// To be called after every step.
    pub fn observe(&mut self, run: &Run) {
        self.steps.observe(run.time().seconds(), run.sizes().0, run.indicator(), run.counters().rejected);
    }

    /// Of a run that has not started, or that ended in an unknown way.
    pub fn unfinished(&self, reason: &str, warnings: &[Problem], machine: Machine) -> CertificateData {
        let bond = |name: &String| BondSummary::of(name, &BondTotals::default(), 0.0);
        let Experiment { start, resumed_at, .. } = self.known.experiment;
        let summary = Summary {
            coupled: true,
            time: resumed_at.unwrap_or(start),
            bonds: self.bonds.iter().map(bond).collect(),
            ..Summary::default()
        };
        let outcome = Outcome { complete: false, word: "unfinished", reason: Some(reason.into()) };
        let mut accuracy = Accuracy::unknown(f64::NAN, reason.into());
        accuracy.explain(&summary);
        let mut all = self.all((&summary, &accuracy), outcome, &[], warnings, machine);
        all.energy.words = format!("not measured: {reason}");
        for bond in &mut all.bonds {
            bond.words = format!("energy defect not measured: {reason}");
        }
        all
    }

    /// After the run, however it ended.
    pub fn finished(
        &self,
        run: &Run,
        accuracy: &Accuracy,
        ending: &RunEnding<'_>,
        machine: Machine,
    ) -> CertificateData {
        let summary = run.summary();
        let (word, reason) = match ending {
            RunEnding::Finished => ("finished", None),
            RunEnding::Interrupted => ("interrupted", Some(format!("interrupted at t = {} s", summary.time))),
            RunEnding::Failed(error) => ("failed", Some(error.to_string())),
        };
        let outcome = Outcome { complete: reason.is_none(), word, reason };
        self.all((&summary, accuracy), outcome, &run.loop_residuals(), run.warnings(), machine)
    }

    fn all(
        &self,
        (summary, accuracy): (&Summary, &Accuracy),
        outcome: Outcome,
        loops: &[LoopResidual],
        warnings: &[Problem],
        machine: Machine,
    ) -> CertificateData {
        let warnings = warnings.iter().filter(|warning| warning.severity == Severity::Warning);
        CertificateData {
            outcome,
            experiment: Experiment { reached: summary.time, ..self.known.experiment.clone() },
            verdict: RunVerdict::new(accuracy),
            accuracy: AccuracyObject(accuracy.clone()),
            energy: EnergyBalance::new(summary),
            bonds: summary.bonds.iter().map(|bond| Bond::new(bond, summary)).collect(),
            steps: StepSummary::new(summary, &summary.counters, &self.steps),
            loops: loops.iter().map(Loop::new).collect(),
            warnings: warnings.map(Warning::new).collect(),
            messages: fmu_messages().into_iter().map(|(message, _)| message).collect(),
            scenario: Scenario::new(summary),
            machine,
            ..self.known.clone()
        }
    }
}

/// JSON has neither infinities nor NaN.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// What is known of a component, be it alone or in a group.
fn facts(name: &String, topology: &Topology) -> Map<String, Json> {
    let mut known = topology.interfaces.iter().zip(&topology.names).filter(|(_, known)| *known == name);
    let facts = known.next().map_or(&[][..], |(interface, _)| &interface.facts);
    facts.iter().map(|(word, value)| (word.clone(), value.as_str().into())).collect()
}

/// The group that a component is integrated in.
fn group(name: &String, topology: &Topology) -> Option<String> {
    let mut groups = topology.interfaces.iter().zip(&topology.names);
    groups.find(|(interface, _)| interface.members.contains(name)).map(|(_, group)| group.clone())
}

/// The stages of a step and their members, in order.
fn stages(layout: &Layout) -> Vec<Vec<String>> {
    let names =
        |members: &[usize]| members.iter().map(|member| layout.topology.names[*member].clone()).collect();
    layout.methods.stages.iter().map(|stage| names(&stage.members)).collect()
}

/// All methods, axis by axis.
type Axes = [(&'static str, Vec<EntryListing>)];

/// A method by its name, with all of its options, the defaults included.
fn method(axis: &str, choice: &Choice, axes: &Axes) -> Method {
    let options = resolved(axis, choice, axes)
        .map(|resolved| resolved.values().iter().map(|(name, v)| ((*name).to_string(), value(v))).collect())
        .unwrap_or_default();
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

/// A connected input, and how it is computed.
fn connection(input: usize, recipe: &MethodConfig, layout: &Layout, axes: &Axes) -> Connection {
    let path = layout.ports().path(PowerVariable::Input(input));
    let (couplings, methods) = (&layout.topology.couplings, &layout.methods);
    let (fit, correction) = (methods.fit_names[input], methods.correction_names[input]);
    Connection {
        from: couplings.terms(input).iter().map(|term| Summand::new(term, layout)).collect(),
        offset: couplings.constant(input),
        fit: in_force("input", fit, recipe.input.of(&path), axes),
        correction: in_force("correction", correction, recipe.correction.of(&path), axes),
        exchange: if methods.fresh[input] { "fresh" } else { "stale" },
        input: path,
    }
}

/// The plan may have chosen another method than was asked for, which then has its usual options.
fn in_force(axis: &str, name: &str, asked: &Choice, axes: &Axes) -> Method {
    if asked.name == name { method(axis, asked, axes) } else { method(axis, &Choice::named(name), axes) }
}
