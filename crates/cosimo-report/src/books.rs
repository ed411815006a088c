//! The books of a run for its report, whatever is recorded: step sizes, indicators and the energies of all bonds after
//! every step, in bounded memory.

use cosimo_core::recorder::{Columns, Recorder};
use cosimo_engine::Run;

use crate::curves::{Curves, Recording, Room, Thinning, in_memory};

#[derive(Debug)]
pub struct Books {
    recording: Recording,
    recorder: Thinning,
    row: Vec<f64>,
}

impl Default for Books {
    fn default() -> Books {
        let recording = Recording::new(Room::BOOKS);
        Books { recorder: recording.recorder(), recording, row: Vec::new() }
    }
}

impl Books {
    /// To be called before the first step: all memory is taken now.
    pub fn begin(&mut self, run: &Run) {
        let mut columns = Columns {
            names: vec!["time".into(), "step.size".into(), "step.indicator".into()],
            units: vec!["s".into(), "s".into(), "1".into()],
        };
        for bond in &run.layout().bonds {
            for what in ["transmitted_energy", "residual_energy"] {
                columns.names.push(format!("bond.{}.{what}", bond.name));
                columns.units.push("J".into());
            }
        }
        self.row.reserve_exact(columns.names.len());
        in_memory(self.recorder.begin(&columns));
        self.look(run);
    }

    /// To be called after every step.
    pub fn look(&mut self, run: &Run) {
        self.row.clear();
        self.row.extend([run.time().seconds(), run.sizes().0, run.indicator()]);
        self.row.extend(run.ledger().totals.iter().flat_map(|totals| [totals.transmitted, totals.residual]));
        in_memory(self.recorder.row(&self.row));
    }

    pub fn curves(&mut self) -> Curves {
        in_memory(self.recorder.finish());
        self.recording.curves()
    }
}
