//! How far the coupled run is from the monolithic reference, port by port, where the system declares one.

use cosimo_engine::{Layout, ReferenceDeviation};
use cosimo_system::System;

use crate::error::Error;
use crate::observer::{Moment, Observer, RunEnd};
use crate::reference;

/// Instants of the reference before a checkpoint.
const EARLIER: usize = 1000;

/// Follows the ports that have a counterpart in the reference.
#[derive(Debug, Default)]
pub struct Reference {
    outputs: Vec<usize>,
    times: Vec<f64>,
    values: Vec<f64>,
}

impl Reference {
    /// None where the system declares no reference.
    pub fn of(system: &System) -> Option<Reference> {
        system.reference.as_ref().map(|_| Reference::default())
    }
}

impl Observer for Reference {
    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        if at.is_start() {
            let ports = at.run().layout().ports();
            let declared = at.inputs().system.reference.iter().flat_map(|reference| &reference.ports);
            self.outputs = declared.filter_map(|(port, _, span)| ports.output(port, span).ok()).collect();
        } else if !self.outputs.is_empty() {
            self.times.push(at.time());
            self.values.extend(self.outputs.iter().map(|&output| at.run().outputs()[output]));
        }
        Ok(())
    }

    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        let Some((run, outcome)) = &mut end.started else { return Ok(()) };
        let (summary, system) = (&outcome.summary, &end.inputs.system);
        let mut limits = Vec::new();
        limits.extend(end.inputs.resumed.as_ref().map(|_| format!("from t = {} s on", outcome.from)));
        limits.extend((!summary.events.is_empty()).then(|| "which does not include the scenario".into()));
        outcome.reference_limits = limits.join(", ");
        let declared = system.reference.as_ref().map_or(0, |reference| reference.ports.len());
        if !summary.finished || self.outputs.is_empty() || declared != self.outputs.len() {
            return Ok(());
        }
        // Errors are relative to the largest value of the whole run, also of the part before a checkpoint.
        let (start, from) = (system.experiment.start, outcome.from);
        let mut times: Vec<f64> =
            (0..EARLIER).map(|k| start + k as f64 / EARLIER as f64 * (from - start)).collect();
        times.retain(|time| *time < from);
        let earlier = times.len();
        times.extend(&self.times);
        match reference::solve(system, &times, &end.inputs.registry) {
            Ok(solution) => outcome.reference = self.errors(&solution, earlier, run.layout()),
            Err(message) => end.warn(format!("no comparison with the monolithic reference: {message}")),
        }
        Ok(())
    }
}

impl Reference {
    /// The first `earlier` rows of the solution are of instants before those compared.
    fn errors(
        &self,
        solution: &reference::Solution,
        earlier: usize,
        layout: &Layout,
    ) -> Vec<ReferenceDeviation> {
        let unit = |output: usize| {
            let owner = layout.topology.owners[output];
            let port = &layout.topology.interfaces[owner].outputs
                [output - layout.topology.blocks[owner].outputs.start];
            port.unit.as_ref().map_or(String::new(), ToString::to_string)
        };
        let port = |(k, name): (usize, &String)| {
            let peak = |peak: f64, row: &Vec<f64>| peak.max(row[k].abs());
            let mut size = solution.rows.iter().fold(0.0, peak);
            let (mut error, mut at) = (0.0f64, 0.0);
            let rows = solution.rows[earlier..].iter().zip(self.values.chunks(self.outputs.len()));
            for ((row, values), time) in rows.zip(&self.times) {
                let distance = (values[k] - row[k]).abs();
                (error, at) = if distance > error { (distance, *time) } else { (error, at) };
                // A signal that should be zero is compared with what it became, not with rounding.
                size = size.max(values[k].abs());
            }
            ReferenceDeviation {
                name: name.clone(),
                unit: unit(self.outputs[k]),
                error,
                share: if error == 0.0 { 0.0 } else { error / size },
                at,
            }
        };
        solution.names.iter().enumerate().map(port).collect()
    }
}
