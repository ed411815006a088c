//! The coupling defect of a connection: what was assumed about an input for the end of each step, against what became
//! known there. It needs no power bond, and points at the connection that a better extrapolation would help most.

use cosimo_core::PowerVariable;
use cosimo_engine::{Layout, Run};
use schemars::JsonSchema;
use serde::Serialize;

/// The coupling defect of one connected input over a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CouplingDefect {
    /// The driving outputs and the input, as `a.y -> b.u`.
    pub connection: String,
    /// Unit of the input; empty where unknown.
    pub unit: String,
    /// The largest distance of what was assumed from what became known.
    pub largest: f64,
    /// The same relative to the peak of the signal.
    pub relative: f64,
    /// When, in seconds.
    pub at: f64,
    /// The integral of the distance over time, relative to that of the signal's modulus.
    pub mean: f64,
}

/// Running sums of all connected inputs.
#[derive(Debug, Clone)]
pub(crate) struct Defects {
    inputs: Vec<InputDefect>,
    time: f64,
}

#[derive(Debug, Clone)]
struct InputDefect {
    input: usize,
    /// Of the outputs that drive it.
    outputs: Vec<usize>,
    name: String,
    unit: String,
    largest: f64,
    at: f64,
    sum: f64,
    peak: f64,
    signal: f64,
}

impl Defects {
    /// Of a run at its start. With transmission lines there are no common steps with assumptions.
    pub(crate) fn of(layout: &Layout, lines: bool) -> Defects {
        let (topology, ports) = (&layout.topology, layout.ports());
        let connected = |input: &usize| !lines && !topology.couplings.terms(*input).is_empty();
        let input = |input: usize| {
            let end = PowerVariable::Input(input);
            let outputs: Vec<usize> =
                topology.couplings.terms(input).iter().map(|term| term.output).collect();
            let from: Vec<String> =
                outputs.iter().map(|output| ports.path(PowerVariable::Output(*output))).collect();
            InputDefect {
                input,
                outputs,
                name: format!("{} -> {}", from.join(" + "), ports.path(end)),
                unit: ports.port(end).unit.as_ref().map_or(String::new(), |unit| unit.text.clone()),
                largest: 0.0,
                at: f64::NAN,
                sum: 0.0,
                peak: 0.0,
                signal: 0.0,
            }
        };
        Defects { inputs: (0..topology.shape.inputs).filter(connected).map(input).collect(), time: f64::NAN }
    }

    /// The end of a step. What an event changes at that instant could not be assumed.
    pub(crate) fn look(&mut self, run: &Run, jumps: bool) {
        let time = run.time().seconds();
        let size = time - std::mem::replace(&mut self.time, time);
        if size.is_nan() {
            return; // at the start
        }
        let (couplings, outputs) = (&run.layout().topology.couplings, run.outputs());
        for defect in &mut self.inputs {
            if jumps && defect.outputs.iter().any(|output| run.jumped(*output)) {
                continue;
            }
            let known = couplings.value(defect.input, outputs);
            let apart = (run.assumed_input(defect.input) - known).abs();
            defect.sum += apart * size;
            defect.signal += known.abs() * size;
            defect.peak = defect.peak.max(known.abs());
            if apart > defect.largest {
                (defect.largest, defect.at) = (apart, time);
            }
        }
    }

    /// The largest first.
    pub(crate) fn list(&self) -> Vec<CouplingDefect> {
        let share = |part: f64, whole: f64| if part == 0.0 { 0.0 } else { part / whole };
        let defect = |found: &InputDefect| CouplingDefect {
            connection: found.name.clone(),
            unit: found.unit.clone(),
            largest: found.largest,
            relative: share(found.largest, found.peak),
            at: found.at,
            mean: share(found.sum, found.signal),
        };
        let mut all: Vec<CouplingDefect> = self.inputs.iter().map(defect).collect();
        all.sort_by(|a, b| b.mean.total_cmp(&a.mean).then(a.connection.cmp(&b.connection)));
        all
    }
}
