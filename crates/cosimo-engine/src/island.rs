//! Simulators that share a macro step: window, bookmark, attempt, error check, commit.
//!
//! Nothing between bookmark and commit is visible outside, so rollback is local. A system without delayed lines is one
//! island.

use cosimo_core::clock::{Limit, StallDetector};
use cosimo_core::error::StepError;
use cosimo_core::{Clock, PowerVariable, Segment, Setup, Slot, Time, Window};
use cosimo_system::EndRule;

use crate::attempt::{Attempt, resting};
use crate::board::Board;
use crate::divergence::GrowthWatch;
use crate::instant::{Instant, InstantFailure, InstantSolver};
use crate::plan::Layout;
use crate::rate_schedule::OwnStepLimits;
use crate::simulator_pool::{Buffers, SimulatorPool, SimulatorSelection, Task, earlier};

/// The largest number of event iterations, beyond the depth of feed-through.
pub(crate) const ROUNDS: usize = 100;

/// Simulators with a common clock and method.
pub struct Island {
    /// Topology, methods and limits.
    pub layout: Layout,
    /// All buffers.
    pub board: Board,
    pub(crate) pool: SimulatorPool,
    pub(crate) clock: Clock,
    /// The next step size by the controller, within the limits.
    pub(crate) size: f64,
    /// The window that was committed last.
    pub(crate) window: Window,
    pub(crate) error: f64,
    /// The next scenario action, which no window crosses.
    pub(crate) next_action: Option<Time>,
    pub(crate) growth: GrowthWatch,
    crawl: StallDetector,
}

impl std::fmt::Debug for Island {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Island({:?} at {})", self.layout, self.clock.now())
    }
}

impl Island {
    /// At the start, before anything is initialised.
    pub(crate) fn new(layout: Layout, crew: SimulatorPool) -> Island {
        let start = layout.limits.start;
        let board = Board::new(&layout);
        Island {
            size: layout.limits.control.first(layout.limits.first_size),
            clock: Clock::starting_at(start),
            window: Window { from: start, to: start, size: 0.0 },
            error: 0.0,
            next_action: None,
            growth: GrowthWatch::new(&layout),
            crawl: StallDetector::between(start.seconds(), layout.limits.stop.seconds()),
            layout,
            board,
            pool: crew,
        }
    }

    /// Initialises simulators, loads the history, and computes consistent outputs at the start.
    pub(crate) fn initialize(&mut self) -> Result<(), StepError> {
        let at = self.layout.limits.start;
        let stop = (self.layout.limits.end == EndRule::Exact).then_some(self.layout.limits.stop);
        let rewinds = self.layout.limits.relies_on_rollback || self.layout.limits.caller_rewinds;
        self.run_at_rest(Task::Enter(Setup {
            start: at,
            stop,
            stop_at_events: self.layout.limits.stop_at_events,
            rewinds,
        }))?;
        for sample in 0..self.layout.limits.history.times.len() {
            let history = &self.layout.limits.history;
            self.board.traces.open(history.times[sample]);
            self.board.traces.put(0, &history.values[sample], &[]);
            self.board.traces.commit();
        }
        // Strings and binaries pass through at most as many simulators as there are.
        for _ in 0..=self.layout.topology.blocks.len().min(self.layout.topology.byte_connections.len()) {
            self.run_at_rest(Task::Give(SimulatorSelection::All))?;
            if !self.board.send(|_| true) {
                break;
            }
            self.run_at_rest(Task::Take(SimulatorSelection::All))?;
        }
        self.board.traces.open(at);
        self.board.traces.put(0, &vec![0.0; self.layout.topology.shape.outputs], &[]);
        self.set_inputs_at(Instant::Start, |settling| {
            settling.begin()?;
            settling.in_order()?;
            // Once more, so that inputs and outputs of all simulators are consistent.
            settling.all(true)?;
            // Derivatives of outputs without feed-through depend on inputs and are right only now; dependent ones follow.
            if settling.layout.topology.shape.slopes { settling.in_order() } else { Ok(()) }
        })?;
        self.board.traces.commit();
        if self.layout.topology.eventful {
            // The first iteration leaves initialisation, with its events; the second reads their results.
            self.iterate_events(at)?;
            self.iterate_events(at)?;
        }
        if let Some(rehearsed) = self.layout.limits.rollback_checks.take() {
            self.board.buffers.rollback_checks = rehearsed;
        } else if self.layout.limits.relies_on_rollback {
            self.run_at_rest(Task::Rehearse(self.next_window()))?;
        }
        Ok(())
    }

    /// Exits initialisation mode where that has not happened. Outputs of some FMUs are right only afterwards; those with
    /// direct feed-through exit later, so that they still respond to changes.
    pub(crate) fn exit_initialisation(&mut self) -> Result<(), StepError> {
        let sources = self.exit_of(false)?;
        if sources {
            self.set_inputs_at(Instant::Start, |settling| settling.in_order())?;
        }
        if self.exit_of(true)? || sources {
            self.iterate_events(self.clock.now())?;
        }
        self.growth.begin(self.board.traces.newest());
        Ok(())
    }

    /// Returns whether outputs changed.
    fn exit_of(&mut self, direct: bool) -> Result<bool, StepError> {
        let Board { traces, buffers, .. } = &mut self.board;
        buffers.outputs.copy_from_slice(traces.newest());
        self.run_at_rest(Task::ExitInitialisation { direct })?;
        let Board { traces, buffers, .. } = &mut self.board;
        let differs = |(now, before): (&f64, &f64)| now.to_bits() != before.to_bits();
        let changed = buffers.outputs.iter().zip(traces.newest()).any(differs);
        traces.level_mut(0).copy_from_slice(&buffers.outputs);
        Ok(changed)
    }

    /// Reads local variables for the present row, if any are recorded.
    pub(crate) fn read_locals(&mut self) -> Result<(), StepError> {
        if self.layout.rows.has_locals() { self.run_at_rest(Task::ReadLocals) } else { Ok(()) }
    }

    /// Works on all simulators at the present instant.
    pub(crate) fn set_inputs_at(
        &mut self,
        instant: Instant,
        work: impl FnOnce(&mut InstantSolver<'_>) -> Result<(), InstantFailure>,
    ) -> Result<(), StepError> {
        let at = self.clock.now();
        let Island { layout, board, pool: crew, .. } = self;
        let mut settling = InstantSolver { layout, board, simulators: crew, at, instant };
        work(&mut settling)
            .map_err(|trouble| settling.error(trouble, |blamed| resting(settling.layout, blamed, at)))
    }

    /// Whether an event is due. Outputs are still those before the event.
    pub(crate) fn due(&self) -> bool {
        self.board.event
    }

    /// Event iteration at the present instant: outputs jump and are exchanged until nothing changes. Extrapolations do not
    /// look back across a jump.
    pub(crate) fn handle_events(&mut self) -> Result<(), StepError> {
        // The record shows inputs and outputs of the step, so both are saved and restored.
        self.board.offsets.copy_from_slice(&self.board.buffers.segments);
        self.board.step_outputs.copy_from_slice(&self.board.buffers.outputs);
        self.board.buffers.outputs.copy_from_slice(self.board.traces.newest());
        self.iterate_events(self.clock.now())?;
        self.board.rates.jump();
        self.board.buffers.segments.copy_from_slice(&self.board.offsets);
        self.board.buffers.outputs.copy_from_slice(&self.board.step_outputs);
        self.board.event = false;
        self.board.buffers.due.fill(false);
        Ok(())
    }

    fn iterate_events(&mut self, at: Time) -> Result<(), StepError> {
        let Island { layout, board, pool: crew, window, .. } = self;
        for (unknown, applied) in board.unknowns.iter_mut().zip(&board.buffers.segments) {
            *unknown = Segment::constant(applied.at(window.size));
        }
        for round in 0.. {
            let mut settling = InstantSolver { layout, board, simulators: crew, at, instant: Instant::Jump };
            settling.set_all_inputs();
            let outcome = settling
                .simulators
                .run(
                    Task::Settle { at, who: SimulatorSelection::EventsOrDirect, lenient: false },
                    &mut settling.board.buffers,
                )
                .map_err(|blamed| resting(layout, blamed, at))?;
            // Loops of simulators with events are not solved: their unknowns stay as applied.
            for (place, found) in layout.topology.order.loops.iter().enumerate() {
                if layout.topology.throughout(found, |can| can.direct_response && !can.events) {
                    settling
                        .solve(place)
                        .map_err(|trouble| settling.error(trouble, |blamed| resting(layout, blamed, at)))?;
                }
            }
            let (left, newest) = (&board.buffers.outputs, board.traces.newest());
            let moved = left.iter().zip(newest).position(|(now, before)| now.to_bits() != before.to_bits());
            let slopes: &[f64] = if layout.topology.shape.slopes { &board.buffers.slopes } else { &[] };
            let due = &board.buffers.due;
            board.traces.jump(&board.buffers.outputs, slopes, |output| due[layout.topology.owners[output]]);
            board.ended = board.ended.or(outcome.ended);
            let announced = board.next_event.filter(|event| *event > at);
            board.next_event = earlier(announced, outcome.next_event.filter(|event| *event > at));
            let mut sent = None;
            if !layout.topology.byte_connections.is_empty() {
                let mut pass = |task: Task, buffers: &mut Buffers| {
                    crew.run(task, buffers).map_err(|blamed| resting(layout, blamed, at))
                };
                pass(Task::Give(SimulatorSelection::EventsOrDirect), &mut board.buffers)?;
                sent = board.unpublished_output();
                if sent.is_some() {
                    board.send(|_| true);
                    pass(Task::Take(SimulatorSelection::EventsOrDirect), &mut board.buffers)?;
                }
            }
            let last = round == ROUNDS + layout.topology.order.depth;
            match (moved, sent) {
                (None, None) if round >= layout.topology.order.depth => break,
                (Some(output), _) if last => {
                    return Err(StepError::Restless {
                        output: layout.ports().path(PowerVariable::Output(output)),
                        at,
                    });
                }
                (None, Some(wire)) if last => {
                    let (from, port) = layout.topology.byte_connections[wire].from;
                    let (name, port) = (
                        &layout.topology.names[from],
                        &layout.topology.interfaces[from].byte_outputs[port].name,
                    );
                    return Err(StepError::Restless { output: format!("{name}.{port}"), at });
                }
                _ => {}
            }
        }
        for (held, segment) in board.held.iter_mut().zip(&board.buffers.segments) {
            *held = segment.at(0.0);
        }
        Ok(())
    }

    /// Whether the stop time is reached.
    pub fn finished(&self) -> bool {
        self.clock.reached(self.layout.limits.stop)
    }

    /// One macro step.
    pub fn step(&mut self) -> Result<(), StepError> {
        let mut limits = self.limits();
        let mut limit = self.limit(limits);
        loop {
            let window = self.clock.window(self.size, limit);
            let error = match self.attempt(window, limits) {
                Ok(error) => error,
                Err(StepError::StoppedEarly { at, .. }) if self.layout.limits.rewinds && at > window.from => {
                    self.rewind(window)?;
                    self.board.counters.events += 1;
                    limit = limit.and(at);
                    limits.known = limits.known.and(at);
                    continue;
                }
                Err(error) => {
                    let again = self.layout.limits.rewinds
                        && self.layout.limits.control.adaptive
                        && error.discarded();
                    match self.layout.limits.control.smaller(window.size) {
                        Some(smaller) if again => {
                            self.rewind(window)?;
                            self.board.counters.rejected += 1;
                            self.size = smaller;
                            continue;
                        }
                        _ => return Err(error),
                    }
                }
            };
            let order = self.layout.methods.estimate.order(&self.layout.topology.shape);
            let factor = self.layout.methods.controller.factor(&self.board.controller, error, order);
            if let Some(smaller) =
                self.layout.limits.control.retry(error, factor, window.size, &mut self.board.counters)
            {
                self.rewind(window)?;
                self.size = smaller;
                continue;
            }
            return self.close(window, error, factor);
        }
    }

    /// The window of the next step, if it is not shortened inside.
    pub(crate) fn next_window(&self) -> Window {
        self.clock.window(self.size, self.limit(self.limits()))
    }

    /// Commits a step, unless the run stalls.
    pub(crate) fn close(&mut self, window: Window, error: f64, factor: f64) -> Result<(), StepError> {
        self.commit(window, error, factor);
        if self.crawl.is_stalled(window.size) {
            let shortest = self.crawl.shortest();
            return Err(StepError::Stuck { steps: StallDetector::MOST, shortest, window });
        }
        if self.growth.is_due() {
            return self.growth.observe(&self.layout, &self.board.traces, self.board.counters.steps, window);
        }
        Ok(())
    }

    /// The error of a step, as divergence where that is its cause.
    pub(crate) fn explain(&mut self, error: StepError) -> StepError {
        self.board.traces.discard();
        let Island { growth, layout, board, window, .. } = self;
        growth.explain(error, layout, &board.traces, board.counters.steps, *window)
    }

    /// All outputs at the present communication point.
    pub fn outputs(&self) -> &[f64] {
        self.board.traces.newest()
    }

    /// A simulator asks to end the simulation at `at`, inside a step. If it is the only one, that instant becomes a
    /// communication point; others cannot be stepped there and stay at the last one. Returns whether there is a new point.
    pub(crate) fn end_at(&mut self, at: Time) -> Result<bool, StepError> {
        self.board.traces.discard();
        let from = self.clock.now();
        if self.layout.topology.blocks.len() != 1 || at <= from {
            return Ok(false);
        }
        self.run_at_rest(Task::Read)?;
        self.board.traces.open(at);
        let slopes: &[f64] = if self.layout.topology.shape.slopes { &self.board.buffers.slopes } else { &[] };
        self.board.traces.put(0, &self.board.buffers.outputs, slopes);
        self.board.traces.commit();
        self.window = Window { from, to: at, size: at.seconds() - from.seconds() };
        self.clock.accept(self.window);
        self.board.counters.steps += 1;
        Ok(true)
    }

    /// Steps the window and returns its error indicator; 1 is the tolerance.
    fn attempt(&mut self, window: Window, limits: OwnStepLimits) -> Result<f64, StepError> {
        if self.layout.limits.rewinds {
            self.run(Task::Save(Slot::Attempt), window)?;
            self.board.set_bookmark();
        }
        let Island { layout, board, pool: crew, .. } = self;
        let mut attempt = Attempt {
            layout,
            board,
            simulators: crew,
            window,
            companions: false,
            whole: window.size,
            limits,
        };
        let error = layout.methods.estimate.attempt(&mut attempt, window)?;
        if error.is_finite() {
            Ok(error)
        } else {
            Err(StepError::BadIndicator { estimate: self.layout.methods.estimate_name, value: error, window })
        }
    }

    fn rewind(&mut self, window: Window) -> Result<(), StepError> {
        self.board.rewind();
        self.run(Task::Restore(Slot::Attempt), window)
    }

    fn run(&mut self, task: Task, window: Window) -> Result<(), StepError> {
        self.pool.step(task, &mut self.board.buffers, &self.layout, window).map(|_| ())
    }

    fn commit(&mut self, window: Window, error: f64, factor: f64) {
        self.layout.methods.controller.learn(error, &mut self.board.controller);
        if !self.layout.topology.bonds.is_empty() {
            for bond in 0..self.layout.topology.bonds.len() {
                let part =
                    self.layout.methods.estimate.bond_measure(&self.board.record(&self.layout, window), bond);
                self.board.ledger.indicators[bond] = part;
            }
        }
        self.board.traces.commit();
        self.clock.accept(window);
        self.board.counters.steps += 1;
        self.window = window;
        self.error = error;
        let next = self.layout.limits.control.next(window.size, factor, &mut self.board.counters);
        // Shortened by an event or the end, not by the controller: the size is kept.
        let cut = window.size < self.size && (error <= 1.0 || !self.layout.limits.control.adaptive);
        self.size = if cut { next.max(self.size) } else { next };
    }

    /// Known instants that end steps: events, scenario actions and the stop time.
    #[inline]
    fn limits(&self) -> OwnStepLimits {
        let end = (self.layout.limits.end == EndRule::Exact).then_some(self.layout.limits.stop);
        let ahead = |at: &Time| self.layout.limits.variable_steps && *at > self.clock.now();
        let events = earlier(self.board.next_event.filter(ahead), self.next_action.filter(ahead));
        let limit = |at: Option<Time>| at.map_or(Limit::None, Limit::At);
        OwnStepLimits { known: limit(earlier(events, end)), end: limit(end) }
    }

    /// The limit of the next window: also the ends of longer steps of multi-rate components.
    fn limit(&self, limits: OwnStepLimits) -> Limit {
        let own = self.board.rates.next_end(self.clock.now());
        own.map_or(limits.known, |end| limits.known.and(end))
    }

    pub(crate) fn run_at_rest(&mut self, task: Task) -> Result<(), StepError> {
        let done = self.pool.run(task, &mut self.board.buffers).map(|_| ());
        done.map_err(|blamed| resting(&self.layout, blamed, self.clock.now()))
    }

    /// The number of cells, the discrete state that a macro step maps: states, the samples of connected outputs that
    /// extrapolations need, and the memory of corrections.
    pub fn cells(&self) -> usize {
        let samples = self.layout.topology.driving.len() + self.layout.topology.sloped.len();
        self.layout.topology.states + self.layout.methods.history_depth() * samples + self.board.memory.len()
    }

    /// How many of the first cells are states of simulators.
    pub fn state_cells(&self) -> usize {
        self.layout.topology.states
    }

    /// One step of the given size from the given cells. The island is restored afterwards.
    pub fn map(&mut self, size: f64, from: Option<&[f64]>, to: &mut [f64]) -> Result<(), StepError> {
        self.step_response(size, from, to)
    }

    /// Steps of the given size from the given cells; `to` gets the cells after each step and determines their number. The
    /// island is restored afterwards.
    pub fn step_response(
        &mut self,
        size: f64,
        from: Option<&[f64]>,
        to: &mut [f64],
    ) -> Result<(), StepError> {
        self.run_at_rest(Task::Save(Slot::Probe))?;
        let traces = self.board.traces.clone();
        let memory = self.board.memory.clone();
        let held = self.board.held.clone();
        let (matrices, model_age) = (self.board.buffers.matrices.clone(), self.board.model_age);
        let ledger = self.board.ledger.clone();
        let paces = self.board.rates.clone();
        let next_event = self.board.next_event;
        let clock = self.clock;
        let result = self.steps_from(size, from, to);
        self.clock = clock;
        self.board.traces = traces;
        self.board.memory = memory;
        self.board.held = held;
        (self.board.buffers.matrices, self.board.model_age) = (matrices, model_age);
        self.board.ledger = ledger;
        self.board.rates = paces;
        self.board.next_event = next_event;
        self.run_at_rest(Task::Restore(Slot::Probe))?;
        result
    }

    /// The outputs after each of some windows, one after the other, while every input is held at a value of its own instead
    /// of what it is connected to: the answer of each simulator by itself, without methods and long steps. `to` gets all
    /// outputs after each window. With `back`, the island is restored afterwards, which needs rollback; else it is used up.
    pub fn held_response(
        &mut self,
        held: &[f64],
        sizes: &[f64],
        back: bool,
        to: &mut [f64],
    ) -> Result<(), StepError> {
        if back {
            self.run_at_rest(Task::Save(Slot::Probe))?;
        }
        let (segments, outputs) = (self.board.buffers.segments.clone(), self.board.buffers.outputs.clone());
        let clock = self.clock;
        let result = self.advance_held(held, sizes, to);
        self.clock = clock;
        self.board.buffers.segments.copy_from_slice(&segments);
        self.board.buffers.outputs.copy_from_slice(&outputs);
        if back {
            self.run_at_rest(Task::Restore(Slot::Probe))?;
        }
        result
    }

    /// What one sweep of an iteration makes of assumed outputs at the end of a window, values and then slopes. The island is
    /// restored afterwards.
    pub fn sweep_response(&mut self, size: f64, assumed: &[f64], found: &mut [f64]) -> Result<(), StepError> {
        self.run_at_rest(Task::Save(Slot::Probe))?;
        let board = (self.board.traces.clone(), self.board.rates.clone(), self.board.next_event);
        let (segments, outputs) = (self.board.buffers.segments.clone(), self.board.buffers.outputs.clone());
        self.board.traces.space(size);
        let window = self.clock.window(size, Limit::None);
        let limits = OwnStepLimits { known: Limit::None, end: Limit::None };
        let Island { layout, board: own, pool: crew, .. } = self;
        let mut attempt = Attempt {
            layout,
            board: own,
            simulators: crew,
            window,
            companions: false,
            whole: window.size,
            limits,
        };
        let result = attempt.one_sweep(window, assumed, found);
        (self.board.traces, self.board.rates, self.board.next_event) = board;
        self.board.buffers.segments.copy_from_slice(&segments);
        self.board.buffers.outputs.copy_from_slice(&outputs);
        self.run_at_rest(Task::Restore(Slot::Probe))?;
        result
    }

    fn advance_held(&mut self, held: &[f64], sizes: &[f64], to: &mut [f64]) -> Result<(), StepError> {
        for (segment, value) in self.board.buffers.segments.iter_mut().zip(held) {
            *segment = Segment::constant(*value);
        }
        let width = self.layout.topology.shape.outputs;
        for (&size, after) in sizes.iter().zip(to.chunks_exact_mut(width.max(1))) {
            let window = self.clock.window(size, Limit::None);
            for stage in 0..self.layout.methods.stages.len() {
                self.run(Task::Advance { window, stage }, window)?;
            }
            after.copy_from_slice(&self.board.buffers.outputs);
            self.clock.accept(window);
        }
        Ok(())
    }

    fn steps_from(&mut self, size: f64, from: Option<&[f64]>, to: &mut [f64]) -> Result<(), StepError> {
        if let Some(cells) = from {
            self.write_cells(cells)?;
        }
        // A map of equal steps: past samples have the distance of the step size.
        self.board.traces.space(size);
        let cells = self.cells();
        for (step, after) in to.chunks_exact_mut(cells.max(1)).enumerate() {
            if step > 0 {
                self.board.traces.commit();
            }
            let unlimited = OwnStepLimits { known: Limit::None, end: Limit::None };
            // Longer steps of multi-rate components end with a window, as in a run.
            let window = self.clock.window(size, self.limit(unlimited));
            self.attempt(window, unlimited)?;
            self.read_cells(after)?;
            self.clock.accept(window);
        }
        Ok(())
    }

    /// Reads the present cells.
    pub fn read_cells(&mut self, cells: &mut [f64]) -> Result<(), StepError> {
        self.run_at_rest(Task::GetStates)?;
        let (states, rest) = cells.split_at_mut(self.layout.topology.states);
        states.copy_from_slice(&self.board.buffers.states);
        let mut rest = rest.iter_mut();
        for level in 0..self.layout.methods.history_depth() {
            for (&output, cell) in self.layout.topology.driving.iter().zip(&mut rest) {
                *cell = self.board.traces.level(level)[output];
            }
            for (&output, cell) in self.layout.topology.sloped.iter().zip(&mut rest) {
                *cell = self.board.traces.slopes(level)[output];
            }
        }
        for (cell, memory) in rest.zip(&self.board.memory) {
            *cell = *memory;
        }
        Ok(())
    }

    fn write_cells(&mut self, cells: &[f64]) -> Result<(), StepError> {
        let (states, rest) = cells.split_at(self.layout.topology.states);
        self.board.buffers.states.copy_from_slice(states);
        let mut rest = rest.iter();
        for level in 0..self.layout.methods.history_depth() {
            for (&output, cell) in self.layout.topology.driving.iter().zip(&mut rest) {
                self.board.traces.level_mut(level)[output] = *cell;
            }
            for (&output, cell) in self.layout.topology.sloped.iter().zip(&mut rest) {
                self.board.traces.slopes_mut(level)[output] = *cell;
            }
        }
        for (memory, cell) in self.board.memory.iter_mut().zip(rest) {
            *memory = *cell;
        }
        self.run_at_rest(Task::SetStates)
    }
}
