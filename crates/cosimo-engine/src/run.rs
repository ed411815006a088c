//! A run: step, run until, save, load, and rows for whoever records.

use cosimo_core::error::StepError;
use cosimo_core::recorder::{Columns, RecordError, Recorder};
use cosimo_core::{End, Rehearsal, Time};
use cosimo_system::{Problem, RecordPoint};

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::control::Counters;
use crate::island::Island;
use crate::ledger::Ledger;
use crate::plan::{Layout, Plan};
use crate::summary::Summary;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Step(#[from] StepError),
    #[error(transparent)]
    Record(#[from] RecordError),
}

pub struct Run {
    island: Island,
    remarks: Vec<Problem>,
    recorder: Option<Box<dyn Recorder>>,
    row: Vec<f64>,
    /// Row places that do not depend on the instant.
    worst_indicator: f64,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Run({:?} at {})", self.island.layout, self.time())
    }
}

impl Run {
    /// Initialises all simulators on their threads; `threads` above the number of simulators are not used.
    pub fn new(plan: Plan, threads: usize) -> Result<Run, RunError> {
        let (layout, crew, mut remarks) = plan.into_parts(threads);
        let island = Island::new(layout, crew)?;
        let named = island.layout.names.iter().zip(&island.board.buffers.rehearsals);
        for (name, rehearsal) in named {
            if let Rehearsal::Doubtful(words) = rehearsal {
                let message = format!("component `{name}`: {words}");
                remarks.push(Problem::remark("run/doubtful-rollback", message, 0..0));
            }
        }
        Ok(Run { island, remarks, recorder: None, row: Vec::new(), worst_indicator: 0.0 })
    }

    /// Rows go here from now on, the present one first.
    pub fn record(&mut self, mut recorder: Box<dyn Recorder>) -> Result<(), RunError> {
        recorder.begin(&self.columns())?;
        self.recorder = Some(recorder);
        Ok(self.write_row()?)
    }

    /// One macro step, whatever its size. A failed run cannot be stepped further; rows so far are safe.
    pub fn step(&mut self) -> Result<(), RunError> {
        self.island.step()?;
        self.worst_indicator = self.worst_indicator.max(self.island.error);
        Ok(self.write_row()?)
    }

    /// Steps to the first communication point at or past `t`, or to the end of the run. Never changes the
    /// steps: however often it is called, the bits of the result are the same.
    pub fn run_until(&mut self, t: Time) -> Result<(), RunError> {
        while !self.finished() && self.time() < t {
            self.step()?;
        }
        Ok(())
    }

    /// Closes the result file. Also to be called after a failure or an interruption.
    pub fn finish(&mut self) -> Result<(), RecordError> {
        match &mut self.recorder {
            Some(recorder) => recorder.finish(),
            None => Ok(()),
        }
    }

    pub fn save(&mut self) -> Result<Checkpoint, CheckpointError> {
        Checkpoint::take(&mut self.island, self.worst_indicator)
    }

    /// Continues where the checkpoint was taken, bit for bit. The plan must be the same.
    pub fn load(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        self.worst_indicator = checkpoint.put(&mut self.island)?;
        Ok(())
    }

    pub fn time(&self) -> Time {
        self.island.clock.now()
    }

    pub fn finished(&self) -> bool {
        self.island.finished()
    }

    pub fn layout(&self) -> &Layout {
        &self.island.layout
    }

    pub fn counters(&self) -> Counters {
        self.island.counters
    }

    pub fn ledger(&self) -> &Ledger {
        &self.island.board.ledger
    }

    /// What trying out rollback showed, per component.
    pub fn rehearsals(&self) -> impl Iterator<Item = (&str, &Rehearsal)> {
        let names = self.island.layout.names.iter().map(String::as_str);
        names.zip(&self.island.board.buffers.rehearsals)
    }

    /// What the plan had to say, and the start of the run.
    pub fn remarks(&self) -> &[Problem] {
        &self.remarks
    }

    /// The size of the last step, and of the next one as the law wants it.
    pub fn sizes(&self) -> (f64, f64) {
        (self.island.window.size, self.island.size)
    }

    /// Overrides the size of the next step, for callers with a step law of their own.
    pub fn set_next_size(&mut self, size: f64) {
        self.island.size = size;
    }

    /// The indicator of the last step.
    pub fn indicator(&self) -> f64 {
        self.island.error
    }

    pub fn worst_indicator(&self) -> f64 {
        self.worst_indicator
    }

    pub fn threads(&self) -> usize {
        self.island.crew.threads()
    }

    /// An output as the others see it, by `component.port`.
    pub fn output(&self, path: &str) -> Option<f64> {
        let output = self.layout().ports().output(path, &(0..0)).ok()?;
        Some(self.island.board.traces.newest()[output])
    }

    /// All outputs as the others see them.
    pub fn outputs(&self) -> &[f64] {
        self.island.board.traces.newest()
    }

    /// For analysis: the island itself.
    pub fn island(&mut self) -> &mut Island {
        &mut self.island
    }

    pub fn summary(&self) -> Summary {
        Summary::of(self)
    }

    pub fn columns(&self) -> Columns {
        let layout = self.layout();
        let ports = layout.ports();
        let mut columns = Columns::default();
        let mut add = |name: String, unit: &str| {
            columns.names.push(name);
            columns.units.push(unit.into());
        };
        add("time".into(), "s");
        for block in &layout.blocks {
            let ends = block.outputs.clone().map(End::Output).chain(block.inputs.clone().map(End::Input));
            for end in ends {
                let mut name = ports.path(end);
                let twin = matches!(end, End::Input(_))
                    && block.outputs.clone().any(|output| ports.path(End::Output(output)) == name);
                if twin {
                    name.push_str(".in"); // a port name may stand for an input and an output
                }
                add(name, ports.port(end).unit.as_ref().map_or("", |unit| &unit.text));
            }
        }
        add("step.size".into(), "s");
        add("step.indicator".into(), "1");
        for bond in &layout.bonds {
            let name = &bond.name;
            for side in 0..bond.sides.len() {
                add(format!("bond.{name}.power_{}", side_letter(side)), "W");
            }
            add(format!("bond.{name}.transmitted_power"), "W");
            add(format!("bond.{name}.residual_power"), "W");
            add(format!("bond.{name}.transmitted_energy"), "J");
            add(format!("bond.{name}.residual_energy"), "J");
            add(format!("bond.{name}.local_error"), "J");
            add(format!("bond.{name}.indicator"), "1");
        }
        columns
    }

    fn write_row(&mut self) -> Result<(), RecordError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let (board, layout, window) = (&self.island.board, &self.island.layout, self.island.window);
        let row = &mut self.row;
        row.clear();
        row.push(self.island.clock.now().seconds());
        let after = layout.record == RecordPoint::AfterExchange;
        let outputs = if after { board.traces.newest() } else { &board.buffers.left };
        for block in &layout.blocks {
            row.extend(&outputs[block.outputs.clone()]);
            for input in block.inputs.clone() {
                row.push(if after {
                    layout.couplings.value(input, outputs)
                } else {
                    board.buffers.segments[input].at(window.size)
                });
            }
        }
        row.push(window.size);
        row.push(self.island.error);
        let ledger = &board.ledger;
        let mut side = 0;
        for (k, bond) in layout.bonds.iter().enumerate() {
            row.extend(&ledger.sides[side..side + bond.sides.len()]);
            side += bond.sides.len();
            let (power, totals) = (&ledger.powers[k], &ledger.totals[k]);
            row.extend([power.transmitted, power.residual, totals.transmitted, totals.residual]);
            // ECCO Eq. (13b): the mean of both sides' local errors in the transmitted energy.
            row.push(-0.5 * power.residual * window.size);
            row.push(ledger.indicators[k]);
        }
        recorder.row(row)
    }
}

/// a, b, c, ... as in the system file; junctions beyond z go on with numbers.
pub fn side_letter(side: usize) -> String {
    match u8::try_from(side) {
        Ok(index) if index < 26 => char::from(b'a' + index).to_string(),
        _ => side.to_string(),
    }
}
