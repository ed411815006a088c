//! One window: corrections, a sweep over all stages, and the update of method memories. An estimate runs it (`Trial`), an
//! iteration repeats it (`Passes`).

use cosimo_core::error::StepError;
use cosimo_core::method::{Passes, Sizes, StepRecord, Trial};
use cosimo_core::{PowerVariable, Segment, Slot, Time, Window};

use crate::board::{Board, known};
use crate::instant::{Instant, InstantSolver};
use crate::plan::Layout;
use crate::rate_schedule::OwnStepLimits;
use crate::simulator_pool::{
    Buffers, Fault, FaultOf, SimulatorPool, SimulatorSelection, Task, TaskOutcome, earlier,
};

pub(crate) struct Attempt<'a> {
    pub layout: &'a Layout,
    pub board: &'a mut Board,
    pub simulators: &'a mut SimulatorPool,
    /// The last window.
    pub window: Window,
    /// Inputs are extrapolated by the companions of their methods.
    pub companions: bool,
    /// The size of the attempted step, of which a window may be a part; and the limits of multi-rate steps.
    pub whole: f64,
    pub limits: OwnStepLimits,
}

impl Trial for Attempt<'_> {
    fn advance(&mut self, window: Window) -> Result<(), StepError> {
        self.window = window;
        self.refresh_jacobian(window)?;
        self.refresh_models(window)?;
        self.begin_long_steps(window)?;
        self.correct(window);
        // Moved out and back, not copied: the board is borrowed meanwhile.
        let mut scratch = std::mem::take(&mut self.board.sweeps);
        let swept = self.layout.methods.iteration.run(self, window, &mut scratch);
        self.board.sweeps = scratch;
        swept?;
        self.account(window);
        self.exchange(window)?;
        self.learn(window);
        Ok(())
    }

    fn advance_companion(&mut self, window: Window) -> Result<(), StepError> {
        self.companions = true;
        let result = self.advance(window);
        self.companions = false;
        result
    }

    fn stash_outputs(&mut self) {
        let Board { stashed: kept, traces, .. } = &mut *self.board;
        kept.copy_from_slice(traces.newest());
    }

    fn rewind(&mut self) -> Result<(), StepError> {
        self.board.rewind();
        self.run(Task::Restore(Slot::Attempt), self.window)
    }

    fn record(&self) -> StepRecord<'_> {
        self.board.record(self.layout, self.window)
    }
}

impl Passes for Attempt<'_> {
    fn sweep(&mut self, window: Window) -> Result<(), StepError> {
        self.board.traces.open(window.to);
        self.pass(window)
    }

    fn mark(&mut self, window: Window) -> Result<(), StepError> {
        self.board.marked_event = self.board.next_event;
        self.run(Task::Save(Slot::Window), window)
    }

    fn again(&mut self, window: Window, ends: &[f64]) -> Result<(), StepError> {
        self.run(Task::Restore(Slot::Window), window)?;
        let (values, slopes) = ends.split_at(self.layout.topology.shape.outputs);
        self.board.traces.put(0, values, slopes);
        self.board.next_event = self.board.marked_event;
        self.pass(window)
    }

    fn ends(&self, into: &mut [f64]) {
        let (values, slopes) = into.split_at_mut(self.layout.topology.shape.outputs);
        values.copy_from_slice(&self.board.buffers.outputs);
        if !slopes.is_empty() {
            slopes.copy_from_slice(&self.board.buffers.slopes);
        }
    }

    fn connected(&self) -> &[bool] {
        &self.layout.topology.connected
    }

    fn shape(&self) -> Sizes {
        self.layout.topology.shape
    }

    fn unsettled(&self, window: Window, changes: &[f64], worst: usize) -> StepError {
        let output = self.layout.ports().path(PowerVariable::Output(worst));
        StepError::NotSettled { output, changes: changes.to_vec(), window }
    }
}

impl Attempt<'_> {
    fn run(&mut self, task: Task, window: Window) -> Result<(), StepError> {
        self.simulators.step(task, &mut self.board.buffers, self.layout, window).map(|_| ())
    }

    /// One repetition of an iteration from assumed ends.
    pub(crate) fn one_sweep(
        &mut self,
        window: Window,
        assumed: &[f64],
        found: &mut [f64],
    ) -> Result<(), StepError> {
        self.begin_long_steps(window)?;
        self.mark(window)?;
        self.sweep(window)?;
        self.again(window, assumed)?;
        self.ends(found);
        Ok(())
    }

    /// Steps every stage once, with inputs from the present traces.
    fn pass(&mut self, window: Window) -> Result<(), StepError> {
        let (layout, board) = (self.layout, &mut *self.board);
        let fits = if self.companions { &layout.methods.companions } else { &layout.methods.fits };
        if std::mem::take(&mut board.event) {
            board.buffers.due.fill(false); // of a sweep or an attempt before
        }
        board.ended = None;
        for (index, stage) in layout.methods.stages.iter().enumerate() {
            for run in &stage.fits {
                fits[run.fit].extrapolate_all(
                    &board.traces,
                    &layout.topology.couplings,
                    &run.inputs,
                    window,
                    &mut board.buffers.segments,
                );
            }
            if !layout.methods.corrections.is_empty() {
                for run in &stage.inputs {
                    let segments = &mut board.buffers.segments[run.clone()];
                    let offsets = board.offsets[run.clone()].iter().zip(&board.replaced[run.clone()]);
                    for (segment, (offset, whole)) in segments.iter_mut().zip(offsets) {
                        *segment = if *whole { *offset } else { *segment + *offset };
                    }
                }
            }
            if !layout.methods.rates.is_empty() {
                board.rates.continue_inputs(layout, index, window, &mut board.buffers.segments);
            }
            if !layout.topology.byte_connections.is_empty() {
                self.simulators.step(
                    Task::Take(SimulatorSelection::Stage(index)),
                    &mut board.buffers,
                    layout,
                    window,
                )?;
            }
            let task = Task::Advance { window, stage: index };
            let outcome = self.simulators.step(task, &mut board.buffers, layout, window)?;
            board.counters.evaluations += outcome.evaluations;
            board.event |= outcome.event;
            board.ended = board.ended.or(outcome.ended);
            let announced = board.next_event.filter(|event| *event > window.to);
            board.next_event = earlier(announced, outcome.next_event);
            if !layout.topology.byte_connections.is_empty() {
                self.simulators.step(
                    Task::Give(SimulatorSelection::Stage(index)),
                    &mut board.buffers,
                    layout,
                    window,
                )?;
                board.send(|wire| {
                    layout.methods.stage_of[layout.topology.byte_connections[wire].from.0] == index
                });
            }
            for outputs in &stage.outputs {
                let slopes =
                    if layout.topology.shape.slopes { &board.buffers.slopes[outputs.clone()] } else { &[] };
                board.traces.put(outputs.start, &board.buffers.outputs[outputs.clone()], slopes);
            }
        }
        Ok(())
    }

    /// Derivatives at the window's start, before new inputs are set.
    fn refresh_jacobian(&mut self, window: Window) -> Result<(), StepError> {
        if self.layout.methods.sources.interface.is_none() {
            return Ok(());
        }
        let board = &mut *self.board;
        for (segment, held) in board.buffers.segments.iter_mut().zip(&board.held) {
            *segment = Segment::constant(*held);
        }
        self.run(Task::Jacobian { at: window.from }, window)
    }

    /// Linear models around the present states, with inputs exchanged without error.
    fn refresh_models(&mut self, window: Window) -> Result<(), StepError> {
        let Some(models) = &self.layout.methods.models else { return Ok(()) };
        let board = &mut *self.board;
        for (input, segment) in board.buffers.segments.iter_mut().enumerate() {
            *segment = Segment::constant(self.layout.topology.couplings.value(input, board.traces.newest()));
        }
        let age =
            board.model_age.map(|age| age + 1).filter(|age| models.every.is_none_or(|every| *age < every));
        let task = Task::Linearise { matrices: age.is_none() };
        self.simulators.step(task, &mut board.buffers, self.layout, window)?;
        board.model_age = Some(age.unwrap_or(0));
        board.counters.linearised += u64::from(age.is_none());
        board.counters.oldest_model = board.counters.oldest_model.max(age.unwrap_or(0));
        Ok(())
    }

    /// Starts multi-rate steps that are longer than the window.
    fn begin_long_steps(&mut self, window: Window) -> Result<(), StepError> {
        if self.layout.methods.rates.is_empty() {
            return Ok(());
        }
        let Board { rates: paces, buffers, .. } = &mut *self.board;
        if paces.begin(self.layout, window, self.whole, self.limits, &mut buffers.long_steps) {
            self.run(Task::Lead, window)?;
        }
        Ok(())
    }

    fn correct(&mut self, window: Window) {
        if self.layout.methods.corrections.is_empty() {
            return;
        }
        let Board { traces, buffers, offsets, replaced: whole, memory, scratch, rates: paces, .. } =
            &mut *self.board;
        offsets.fill(Segment::ZERO);
        whole.fill(false);
        let mut mask = std::mem::take(&mut paces.mask);
        for planned in &self.layout.methods.corrections {
            let (memory, scratch) = (&memory[planned.memory.clone()], &mut scratch[planned.scratch.clone()]);
            let mut ask = |corrected: &[bool], window: Window| {
                let known = known(self.layout, traces, buffers, corrected, paces.own());
                planned.correction.offsets(&known, memory, window, offsets, whole, scratch);
            };
            if mask.is_empty() {
                ask(&planned.inputs, window);
                continue;
            }
            // Simulators with longer steps are corrected separately, when their step begins.
            for (masked, (corrected, own)) in mask.iter_mut().zip(planned.inputs.iter().zip(paces.own())) {
                *masked = *corrected && own.is_none();
            }
            ask(&mask, window);
            for (inputs, own) in paces.beginning(self.layout) {
                mask.fill(false);
                mask[inputs.clone()].copy_from_slice(&planned.inputs[inputs]);
                ask(&mask, own);
            }
        }
        paces.mask = mask;
        for &input in &self.board.overridden {
            self.board.offsets[input] = Segment::ZERO;
            self.board.replaced[input] = false;
        }
    }

    /// Energies of the window, from the outputs after the step.
    fn account(&mut self, window: Window) {
        let Board { ledger, buffers, .. } = &mut *self.board;
        let layout = self.layout;
        ledger.add(
            &layout.topology.bonds,
            &layout.topology.couplings,
            &buffers.segments,
            &buffers.outputs,
            window.size,
        );
    }

    /// Sets fresh inputs and reads outputs again, so that changes pass through all direct feed-throughs at this instant.
    fn exchange(&mut self, window: Window) -> Result<(), StepError> {
        let (layout, board) = (self.layout, &mut *self.board);
        if layout.methods.sources.interface.is_some() || !layout.topology.renewal.steps.is_empty() {
            for (held, segment) in board.held.iter_mut().zip(&board.buffers.segments) {
                *held = segment.at(window.size);
            }
        }
        if layout.topology.renewal.steps.is_empty() {
            return Ok(());
        }
        // The record shows inputs and outputs of the step, so both are saved and restored.
        board.offsets.copy_from_slice(&board.buffers.segments);
        board.step_outputs.copy_from_slice(&board.buffers.outputs);
        let (at, instant) = (window.to, Instant::Exchange(window.size));
        let mut settling = InstantSolver { layout, board, simulators: self.simulators, at, instant };
        settling.begin_from(window.size);
        let settled = settling.in_order();
        settled.map_err(|trouble| settling.error(trouble, |blamed| stepping(layout, blamed, window)))?;
        let board = &mut *self.board;
        board.buffers.segments.copy_from_slice(&board.offsets);
        board.buffers.outputs.copy_from_slice(&board.step_outputs);
        Ok(())
    }

    fn learn(&mut self, window: Window) {
        let layout = self.layout;
        if layout.methods.corrections.is_empty() {
            return;
        }
        // Moved out and back, not copied: the record borrows the board.
        let mut memory = std::mem::take(&mut self.board.memory);
        let mut scratch = std::mem::take(&mut self.board.scratch);
        let record = self.board.record(layout, window);
        for planned in &layout.methods.corrections {
            let Board { traces, buffers, rates: paces, .. } = &*self.board;
            let known = known(layout, traces, buffers, &planned.inputs, paces.own());
            let (memory, scratch) =
                (&mut memory[planned.memory.clone()], &mut scratch[planned.scratch.clone()]);
            planned.correction.learn(&known, &record, memory, scratch);
        }
        self.board.memory = memory;
        self.board.scratch = scratch;
    }
}

impl SimulatorPool {
    /// [`SimulatorPool::run`] in a window.
    #[inline]
    pub(crate) fn step(
        &mut self,
        task: Task,
        buffers: &mut Buffers,
        layout: &Layout,
        window: Window,
    ) -> Result<TaskOutcome, StepError> {
        self.run(task, buffers).map_err(|blamed| stepping(layout, blamed, window))
    }
}

/// The error with simulator and window.
pub(crate) fn stepping(layout: &Layout, (index, fault): FaultOf, window: Window) -> StepError {
    let simulator = layout.topology.names[index].clone();
    match fault {
        Fault::Failed(cause) => match cause.ends() {
            Some(function) => StepError::Ended { simulator, at: window.from, function },
            None => StepError::Failed { simulator, window, cause },
        },
        Fault::Ended { at, function } => StepError::Ended { simulator, at, function },
        Fault::Panicked(message) => StepError::Panicked { simulator, window, message },
        Fault::NotFinite { output, value } => {
            let output = layout.topology.interfaces[index].outputs[output].name.clone();
            StepError::NotFinite { simulator, output, value, window }
        }
        Fault::Stopped(at) => StepError::StoppedEarly { simulator, at, window },
    }
}

/// As [`stepping`], for calls without a step.
pub(crate) fn resting(layout: &Layout, blamed: FaultOf, at: Time) -> StepError {
    match blamed {
        (index, Fault::Failed(cause)) if cause.ends().is_none() => {
            StepError::FailedAt { simulator: layout.topology.names[index].clone(), at, cause }
        }
        other => stepping(layout, other, Window { from: at, to: at, size: 0.0 }),
    }
}
