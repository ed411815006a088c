//! System structures of the Open Simulation Platform: what they mean, and what is said about broken ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

mod broken;
mod functions;
#[path = "../../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;
mod strangers;
mod systems;

use std::path::Path;

use cosimo::core::{PowerVariable, Registry};
use cosimo::engine::{Run, plan};
use cosimo::system::{Problem, Severity, System};

use scratch::fresh as folder;

fn read(text: &str, folder: &Path, registry: &Registry) -> (System, Vec<Problem>) {
    cosimo_osp::read(text, "OspSystemStructure.xml", folder, registry)
}

/// A system without errors; what warnings it has.
fn good(text: &str, folder: &Path, registry: &Registry) -> (System, Vec<&'static str>) {
    let (system, problems) = read(text, folder, registry);
    let errors: Vec<&Problem> =
        problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    (system, problems.iter().map(|problem| problem.code).collect())
}

fn start(system: &System, registry: &Registry) -> Run {
    let plan = plan(system, registry).unwrap_or_else(|problems| panic!("{problems:#?}"));
    Run::new(plan, 1).unwrap()
}

/// What an input should be, by the outputs of the moment.
fn input(run: &Run, path: &str) -> f64 {
    let layout = run.layout();
    let Ok(PowerVariable::Input(input)) = layout.ports().find(path, &(0..0)) else {
        panic!("no input {path}")
    };
    layout.topology.couplings.value(input, run.outputs())
}
