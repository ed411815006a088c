//! The books of a run for its report, whatever is recorded: step sizes, indicators, the energies of all bonds and the delays
//! of all lines after every step, in bounded memory.

use cosimo_core::recorder::{Columns, Recorder};
use cosimo_engine::Run;

use crate::curves::{CurveBudget, Curves, Recording, ThinningRecorder, in_memory};

#[derive(Debug)]
pub struct StepCurves {
    recording: Recording,
    recorder: ThinningRecorder,
    row: Vec<f64>,
    /// Outputs that show a line, and what each is divided by.
    lines: Vec<(usize, f64)>,
}

impl Default for StepCurves {
    fn default() -> StepCurves {
        let recording = Recording::new(CurveBudget::BOOKS);
        StepCurves { recorder: recording.recorder(), recording, row: Vec::new(), lines: Vec::new() }
    }
}

impl StepCurves {
    /// To be called before the first step: all memory is taken now. Lines come with their shortest delays.
    pub fn begin(&mut self, run: &Run, lines: &[(&str, f64)]) {
        let mut columns = Columns {
            names: vec!["time".into(), "step.size".into(), "step.indicator".into()],
            units: vec!["s".into(), "s".into(), "1".into()],
        };
        for bond in &run.layout().topology.bonds {
            for what in ["transmitted_energy", "residual_energy"] {
                columns.names.push(format!("bond.{}.{what}", bond.name));
                columns.units.push("J".into());
            }
        }
        for (line, shortest) in lines {
            let layout = run.layout();
            let shown = format!("line.{line}");
            let Some(owner) = layout.topology.names.iter().position(|name| *name == shown) else { continue };
            let first = layout.topology.blocks[owner].outputs.start;
            for (at, port) in layout.topology.interfaces[owner].outputs.iter().enumerate() {
                // A delay as a multiple of the shortest, and whether a side stands still.
                let (name, by) = match port.name.split_once('_') {
                    Some(("delay", side)) => (format!("kappa_{side}"), *shortest),
                    _ => (port.name.clone(), 1.0),
                };
                columns.names.push(format!("{shown}.{name}"));
                columns.units.push("1".into());
                self.lines.push((first + at, by));
            }
        }
        self.row.reserve_exact(columns.names.len());
        in_memory(self.recorder.begin(&columns));
        self.observe(run);
    }

    /// To be called after every step.
    pub fn observe(&mut self, run: &Run) {
        self.row.clear();
        self.row.extend([run.time().seconds(), run.sizes().0, run.indicator()]);
        self.row.extend(run.ledger().totals.iter().flat_map(|totals| [totals.transmitted, totals.residual]));
        self.row.extend(self.lines.iter().map(|(output, by)| run.outputs()[*output] / by));
        in_memory(self.recorder.row(&self.row));
    }

    pub fn curves(&mut self) -> Curves {
        in_memory(self.recorder.finish());
        self.recording.curves()
    }
}
