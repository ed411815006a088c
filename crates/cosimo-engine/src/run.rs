//! A run: step, run until, save, load, and the rows for a recorder.

use std::marker::PhantomData;
use std::time::Duration;

use cosimo_core::clock::OutputGrid;
use cosimo_core::error::StepError;
use cosimo_core::method::IdentificationStatus;
use cosimo_core::recorder::{Columns, RecordError, Recorder};
use cosimo_core::registry::suggest;
use cosimo_core::{Clock, PowerVariable, RollbackCheck, Time};
use cosimo_system::Problem;

use crate::checkpoint::{Checkpoint, CheckpointError, Progress};
use crate::divergence::GrowthWatch;
use crate::island::Island;
use crate::ledger::Ledger;
use crate::lines::{Islands, LineNetworkTotals};
use crate::plan::{Layout, Plan, island, rollback_check};
use crate::scenario::Scenario;
use crate::step_limits::Counters;
use crate::summary::{BondSummary, Summary};

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A simulator or a method failed in a step.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The result file could not be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl RunError {
    /// The code for `cosimo explain-error`; none for a file that cannot be written.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            RunError::Step(step) => Some(step.code()),
            RunError::Record(_) => None,
        }
    }

    /// The message followed by its code, for use inside another message.
    pub fn text_with_code(&self) -> String {
        self.code().map_or_else(|| self.to_string(), |code| format!("{self} [{code}]"))
    }
}

/// Why an input or a parameter was not set.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The run does not accept the change.
    #[error("{}", .0.message)]
    Refused(Box<Problem>),
    /// Setting the value or recording the jump failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<Problem> for ChangeError {
    fn from(problem: Problem) -> ChangeError {
        ChangeError::Refused(Box::new(problem))
    }
}

fn closed_to_changes() -> ChangeError {
    let message = "this run does not accept changes between steps";
    Problem::error("run/closed-to-changes", message, 0..0).hint("plan it with `Plan::open_to_changes`").into()
}

/// A component asked to end the simulation before its stop time, as FMUs may.
#[derive(Debug, Clone, PartialEq)]
pub struct EndRequest {
    /// The name of the component.
    pub component: String,
    /// When, in simulation time.
    pub at: Time,
    /// The FMI function that returned the request.
    pub function: &'static str,
}

/// Residuals of one unknown of an algebraic loop, in the physical unit of that input.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopResidual {
    /// The ports of the loop in signal order.
    pub path: String,
    /// The unknown input, as `component.port`.
    pub input: String,
    /// The residual at initialisation.
    pub start: Option<f64>,
    /// The largest residual after jumps, and at communication points where exchange is fresh.
    pub later: Option<f64>,
    /// The largest absolute value of the unknown.
    pub largest: f64,
}

impl LoopResidual {
    /// The largest residual relative to `largest`; infinite where that is zero.
    pub fn relative(&self) -> f64 {
        let worst = self.start.unwrap_or(0.0).max(self.later.unwrap_or(0.0));
        if worst == 0.0 { 0.0 } else { worst / self.largest }
    }
}

/// A plan in execution. Every simulator is called from one thread only, those of the coordinator from the thread that
/// made the run. So a run cannot be sent to another thread; make it there.
///
/// ```compile_fail,E0277
/// fn send<T: Send>() {}
/// send::<cosimo_engine::Run>();
/// ```
pub struct Run {
    /// The only island; with lines, the merged view of all islands.
    island: Island,
    islands: Option<Islands>,
    scenario: Option<Scenario>,
    warnings: Vec<Problem>,
    recorder: Option<Box<dyn Recorder>>,
    row: Vec<f64>,
    /// The row before a jump.
    before: Vec<f64>,
    /// When rows are due; `None`: at every communication point.
    beat: Option<OutputGrid>,
    /// The present communication point has no row yet.
    unwritten: bool,
    worst_indicator: f64,
    /// Per output: the largest modulus at any communication point; empty where nothing asks for it.
    peaks: Vec<f64>,
    ended: Option<EndRequest>,
    /// Makes the run `!Send`: simulators of the coordinator are pinned to its thread.
    pinned: PhantomData<*const ()>,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Run({:?} at {})", self.island.layout, self.time())
    }
}

impl Run {
    /// Initialises all simulators on their threads; `threads` above the number of simulators are not used.
    pub fn new(plan: Plan, threads: usize) -> Result<Run, RunError> {
        Run::begin(Run::check_rollback(plan)?, threads)
    }

    /// Tests rollback in another process, if the plan relies on it and trials are isolated; otherwise the run tests it
    /// when it begins. [`Run::new`] does this itself; programs that start runs on other threads call it before.
    pub fn check_rollback(plan: Plan) -> Result<Plan, RunError> {
        let wanted = plan.layout.limits.relies_on_rollback && plan.layout.limits.rollback_checks.is_none();
        if wanted { Ok(rollback_check::isolated(plan)?) } else { Ok(plan) }
    }

    pub(crate) fn begin(plan: Plan, threads: usize) -> Result<Run, RunError> {
        let Plan { layout, mut warnings, simulators, mut scenario, formed } = plan;
        let mut island = island(layout, simulators, threads);
        let islands = formed.map(|formed| Islands::start(formed, threads, &mut island)).transpose()?;
        island.initialize()?;
        let named = island.layout.topology.names.iter().zip(&island.board.buffers.rollback_checks);
        for (name, rehearsal) in named {
            if let RollbackCheck::Doubtful(words) = rehearsal {
                let message = format!("component `{name}`: {words}");
                warnings.push(Problem::warning("run/doubtful-rollback", message, 0..0));
            }
        }
        if let Some(scenario) = &mut scenario {
            scenario.begin(&mut island)?;
        }
        island.exit_initialisation()?;
        for (name, notices) in island.layout.topology.names.iter().zip(&island.board.buffers.notices) {
            warnings.extend(notices.iter().map(|(code, words)| {
                Problem::warning(code, format!("component `{name}`: {words}"), 0..0).about(name)
            }));
        }
        let ended = asked_to_end(&island);
        Ok(Run {
            island,
            islands,
            scenario,
            warnings,
            recorder: None,
            row: Vec::new(),
            before: Vec::new(),
            beat: None,
            unwritten: false,
            worst_indicator: 0.0,
            peaks: Vec::new(),
            ended,
            pinned: PhantomData,
        })
    }

    /// Records rows from now on, beginning with the present communication point.
    pub fn record(&mut self, mut recorder: Box<dyn Recorder>) -> Result<(), RunError> {
        recorder.begin(self.columns())?;
        self.recorder = Some(recorder);
        self.restart_output_grid();
        self.write_row()
    }

    /// One macro step. After an error the run cannot be stepped further; rows written so far are kept.
    pub fn step(&mut self) -> Result<(), RunError> {
        let unwritten = std::mem::take(&mut self.unwritten); // a failed step has no row to write
        let stepped = match &mut self.islands {
            None => self.island.step(),
            Some(islands) => islands.step(&mut self.island),
        };
        match stepped {
            Ok(()) => {}
            Err(StepError::Ended { simulator: component, at, function }) => {
                self.ended = Some(EndRequest { component, at, function });
                if self.island.end_at(at)? {
                    return self.write_row();
                }
                self.unwritten = unwritten;
                return Ok(());
            }
            Err(error) => return Err(self.island.explain(error).into()),
        }
        self.worst_indicator = self.worst_indicator.max(self.island.error);
        self.raise_peaks();
        self.ended = asked_to_end(&self.island);
        if self.ended.is_some() {
            return self.write_row();
        }
        if !self.island.due() {
            if let Some(scenario) = &mut self.scenario {
                scenario.act(&mut self.island)?;
            }
            return self.write_row();
        }
        self.write_row()?;
        self.island.handle_events()?;
        self.raise_peaks();
        self.ended = asked_to_end(&self.island);
        if let Some(scenario) = &mut self.scenario {
            scenario.act(&mut self.island)?;
        }
        self.write_jump()
    }

    /// Steps to the first communication point at or past `t`, or to the end of the run. Does not change step sizes:
    /// results are bit-identical however often it is called.
    pub fn run_until(&mut self, t: Time) -> Result<(), RunError> {
        while !self.finished() && self.time() < t {
            self.step()?;
        }
        Ok(())
    }

    /// Closes the result file, with a row for the last communication point. Call it after a failure or an interruption,
    /// too.
    pub fn finish(&mut self) -> Result<(), RecordError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let mut last = Ok(());
        if std::mem::take(&mut self.unwritten) {
            // A local variable that cannot be read now keeps its last value.
            let _ = self.island.read_locals();
            self.island.layout.rows.fill(&self.island, &mut self.row);
            last = recorder.row(&self.row);
        }
        last.and(recorder.finish())
    }

    /// The complete state of the run at the present communication point.
    pub fn save(&mut self) -> Result<Checkpoint, CheckpointError> {
        let (worst, unwritten) = (self.worst_indicator, self.unwritten);
        let rows_due = self.beat.map(|beat| beat.count());
        let mut progress = Progress { worst, rows_due, unwritten, peaks: self.peaks.clone() };
        Checkpoint::take(&mut self.island, self.islands.as_mut(), self.scenario.as_mut(), &mut progress)
    }

    /// Continues from the checkpoint, bit for bit. The plan must be the same; a run that has already passed the time of
    /// the checkpoint needs a plan that is [`Plan::rewinding`].
    pub fn load(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let progress = checkpoint.put(&mut self.island, self.islands.as_mut(), self.scenario.as_mut())?;
        self.worst_indicator = progress.worst;
        self.unwritten = progress.unwritten;
        self.peaks = progress.peaks;
        self.restart_output_grid();
        if let Some(count) = progress.rows_due {
            self.beat = self.beat.map(|beat| beat.after(count));
        }
        Ok(())
    }

    /// Flushes the rows so far and returns their position in the file; belongs to the checkpoint saved at the same point.
    pub fn bookmark(&mut self) -> Result<Vec<u8>, RecordError> {
        self.recorder.as_mut().map_or(Ok(Vec::new()), |recorder| recorder.bookmark())
    }

    /// As [`Run::record`], after [`Run::load`]: appends after the bookmark. The present point already has its row.
    pub fn resume(&mut self, mut recorder: Box<dyn Recorder>, bookmark: &[u8]) -> Result<(), RunError> {
        recorder.resume(self.columns(), bookmark)?;
        self.recorder = Some(recorder);
        Ok(())
    }

    /// Restarts the output grid, so that the present point is due.
    fn restart_output_grid(&mut self) {
        let layout = &self.island.layout;
        self.beat = layout.rows.every.map(|every| OutputGrid::new(layout.limits.start, every));
    }

    /// The present communication point.
    pub fn time(&self) -> Time {
        self.island.clock.now()
    }

    /// The clock of the run, for output grids of callers.
    pub fn clock(&self) -> &Clock {
        &self.island.clock
    }

    /// Start and stop time of the experiment, in seconds.
    pub fn span(&self) -> (f64, f64) {
        let limits = &self.island.layout.limits;
        (limits.start.seconds(), limits.stop.seconds())
    }

    /// Whether the stop time is reached, or a scenario or a component ended the run.
    pub fn finished(&self) -> bool {
        self.island.finished()
            || self.scenario.as_ref().is_some_and(Scenario::stopped)
            || self.ended.is_some()
    }

    /// The component that ended the run before its stop time, if one did.
    pub fn ended(&self) -> Option<&EndRequest> {
        self.ended.as_ref()
    }

    /// The scenario, if it has actions, and the log of those performed.
    pub fn scenario(&self) -> Option<&Scenario> {
        self.scenario.as_ref().filter(|scenario| scenario.acts())
    }

    /// The topology, methods and limits of the run.
    pub fn layout(&self) -> &Layout {
        &self.island.layout
    }

    /// Steps, rejections and evaluations so far; with lines see [`Run::net`].
    pub fn counters(&self) -> Counters {
        self.island.board.counters
    }

    /// Energy totals of all bonds.
    pub fn ledger(&self) -> &Ledger {
        &self.island.board.ledger
    }

    /// Totals of islands and lines, for systems with lines.
    pub fn net(&self) -> Option<LineNetworkTotals> {
        self.islands.as_ref().map(Islands::totals)
    }

    /// Summaries of bonds, without lines and the bonds inside of their islands.
    pub(crate) fn bonds(&self) -> Vec<BondSummary> {
        BondSummary::all(&self.island)
    }

    /// Measures the wall time of the calls of each simulator from now on. Results do not depend on it.
    pub fn take_times(&mut self) {
        match &mut self.islands {
            None => self.island.pool.take_times(),
            Some(islands) => islands.take_times(),
        }
    }

    /// Wall time per component so far, over all threads; empty without [`Run::take_times`].
    pub fn time_per_component(&self) -> impl Iterator<Item = (&str, Duration)> {
        let names = &self.island.layout.topology.names;
        let spent = match &self.islands {
            None => self.island.pool.spent(),
            Some(islands) => islands.time_per_component(names.len()),
        };
        names.iter().map(String::as_str).zip(spent)
    }

    /// Multi-rate components: name, step size in seconds, and number of steps so far.
    pub fn own_steps(&self) -> impl Iterator<Item = (&str, f64, u64)> {
        let layout = &self.island.layout;
        let rates = layout.methods.rates.iter().zip(self.island.board.rates.steps());
        rates.map(|(rate, steps)| (layout.topology.names[rate.member].as_str(), rate.every, steps))
    }

    /// Residuals of algebraic loops, one per unknown.
    pub fn loop_residuals(&self) -> Vec<LoopResidual> {
        let (layout, board) = (&self.island.layout, &self.island.board);
        let ports = layout.ports();
        let mut listed = vec![false; layout.topology.shape.inputs];
        let mut residuals = Vec::new();
        for found in layout.topology.order.loops.iter().chain(&layout.topology.renewal.loops) {
            for &input in &found.unknowns {
                if std::mem::replace(&mut listed[input], true) {
                    continue;
                }
                let residual = board.residuals[input];
                residuals.push(LoopResidual {
                    path: ports.loop_text(&found.path),
                    input: ports.path(PowerVariable::Input(input)),
                    start: residual.start,
                    later: residual.later,
                    largest: residual.largest,
                });
            }
        }
        residuals
    }

    /// Corrections that find out how simulators answer, by name, and what they have found out by now.
    pub fn learned(&self) -> impl Iterator<Item = (&'static str, IdentificationStatus)> {
        let layout = &self.island.layout;
        layout.methods.corrections.iter().filter_map(|planned| {
            let memory = &self.island.board.memory[planned.memory.clone()];
            Some((planned.name, planned.correction.learned(&layout.topology.shape, memory)?))
        })
    }

    /// The result of the rollback check, per component.
    pub fn rollback_checks(&self) -> impl Iterator<Item = (&str, &RollbackCheck)> {
        let names = self.island.layout.topology.names.iter().map(String::as_str);
        names.zip(&self.island.board.buffers.rollback_checks)
    }

    /// Warnings of the plan and of the start of the run.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// The sizes in seconds of the last step and, as the controller proposes it, of the next.
    pub fn sizes(&self) -> (f64, f64) {
        (self.island.window.size, self.island.size)
    }

    /// Growth without bounds does not end the run, for callers that study unstable steps.
    pub fn allow_divergence(&mut self) {
        self.island.growth = GrowthWatch::none();
    }

    /// Overrides the size of the next step, for callers with a step controller of their own.
    pub fn set_next_size(&mut self, size: f64) {
        self.island.size = size;
    }

    /// The error indicator of the last step; 1 is the tolerance.
    pub fn indicator(&self) -> f64 {
        self.island.error
    }

    /// The largest error indicator so far.
    pub fn worst_indicator(&self) -> f64 {
        self.worst_indicator
    }

    /// Follows the largest modulus of each output from now on; checkpoints carry it. Results do not depend on it.
    pub fn keep_peaks(&mut self) {
        if self.peaks.is_empty() {
            self.peaks = vec![0.0; self.island.layout.topology.shape.outputs];
            self.raise_peaks();
        }
    }

    /// Per output: the largest modulus at any communication point of the whole run, also before a checkpoint; empty without
    /// [`Run::keep_peaks`].
    pub fn peaks(&self) -> &[f64] {
        &self.peaks
    }

    #[inline]
    fn raise_peaks(&mut self) {
        if self.peaks.is_empty() {
            return;
        }
        for (peak, value) in self.peaks.iter_mut().zip(self.island.outputs()) {
            *peak = peak.max(value.abs());
        }
    }

    /// The number of threads in use.
    pub fn threads(&self) -> usize {
        self.island.pool.threads()
    }

    /// An output at the present communication point, by `component.port`.
    pub fn output(&self, path: &str) -> Option<f64> {
        // Linear search: an index of all names would cost more.
        let layout = self.layout();
        let inside = |name: &String| path.strip_prefix(name.as_str())?.strip_prefix('.');
        let owners =
            layout.topology.names.iter().enumerate().filter_map(|(k, name)| Some((k, inside(name)?)));
        let (owner, port) = owners.min_by_key(|(_, port)| port.len())?;
        let at = layout.topology.interfaces[owner].outputs.iter().position(|known| known.name == port)?;
        Some(self.island.board.traces.newest()[layout.topology.blocks[owner].outputs.start + at])
    }

    /// The value of an input as it follows from the outputs at the present communication point, by `component.port`.
    pub fn input(&self, path: &str) -> Option<f64> {
        let input = self.layout().ports().input(path, &(0..0)).ok()?;
        Some(self.layout().topology.couplings.value(input, self.outputs()))
    }

    /// Sets inputs that are not connected, from the present communication point on; all of them or none. The plan must be
    /// [`Plan::open_to_changes`].
    pub fn set_inputs(&mut self, values: &[(&str, f64)]) -> Result<(), ChangeError> {
        let mut places = Vec::new();
        for &(path, value) in values {
            let input = self.layout().ports().input(path, &(0..0)).map_err(|unfound| {
                let unknown =
                    || Problem::error("plan/unknown-port", format!("there is no input `{path}`"), 0..0);
                ChangeError::Refused(unfound.unwrap_or_else(|| Box::new(unknown())))
            })?;
            if !self.layout().topology.couplings.terms(input).is_empty() {
                let message = format!("input `{path}` is connected; only unconnected inputs can be set");
                return Err(Problem::error("run/connected-input", message, 0..0).into());
            }
            if !value.is_finite() {
                let message = format!("input `{path}`: expected a finite number, got {value}");
                return Err(Problem::error("run/not-finite-input", message, 0..0).into());
            }
            places.push((input, value));
        }
        let scenario = self.scenario.as_mut().ok_or_else(closed_to_changes)?;
        if scenario.set_inputs(&mut self.island, &places).map_err(RunError::from)? {
            self.write_jump()?;
        }
        Ok(())
    }

    /// Sets a tunable parameter from the present communication point on, by `component.parameter`. The plan must be
    /// [`Plan::open_to_changes`].
    pub fn set_parameter(&mut self, path: &str, value: f64) -> Result<(), ChangeError> {
        let layout = &self.island.layout;
        let of = |(member, name): (usize, &String)| {
            let parameter = path.strip_prefix(name.as_str())?.strip_prefix('.')?;
            let tunable = &layout.topology.interfaces[member].tunable;
            Some((member, tunable.iter().position(|known| known == parameter)?))
        };
        let Some(place) = layout.topology.names.iter().enumerate().find_map(of) else {
            let message = format!("`{path}` is not a tunable parameter");
            let tunable = layout.topology.names.iter().zip(&layout.topology.interfaces).flat_map(
                |(name, interface)| {
                    interface.tunable.iter().map(move |parameter| format!("{name}.{parameter}"))
                },
            );
            let known: Vec<String> = tunable.collect();
            let hint = suggest(path, known.iter().map(String::as_str));
            return Err(Problem::error("run/not-tunable", message, 0..0).hint(hint).into());
        };
        let scenario = self.scenario.as_mut().ok_or_else(closed_to_changes)?;
        let changed = scenario.set_parameter(&mut self.island, place, value).ok_or_else(closed_to_changes)?;
        changed.map_err(RunError::from)?;
        Ok(self.write_jump()?)
    }

    /// The string or binary value at an input, by `component.port`.
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        let layout = &self.island.layout;
        let (to, _) = layout.ports().byte_port(path, true)?;
        let wire = layout.topology.byte_connections.iter().position(|wire| wire.to == to)?;
        Some(&self.island.board.buffers.bytes_in[wire])
    }

    /// All outputs at the present communication point.
    pub fn outputs(&self) -> &[f64] {
        self.island.outputs()
    }

    /// Whether an output jumped at the present communication point, by an event or a scenario action.
    pub fn jumped(&self, output: usize) -> bool {
        self.island.board.traces.jumped(output)
    }

    /// The value of an input that was assumed for the end of the last step.
    pub fn assumed_input(&self, input: usize) -> f64 {
        self.island.board.buffers.segments[input].at(self.island.window.size)
    }

    /// The island, for analyses.
    pub fn island(&mut self) -> &mut Island {
        &mut self.island
    }

    /// The totals of the run so far and its verdict.
    pub fn summary(&self) -> Summary {
        Summary::of(self)
    }

    /// Names and units of the columns of a row.
    pub fn columns(&self) -> &Columns {
        &self.layout().rows.columns
    }

    /// Writes a row where one is due; the last point of a run always has one.
    fn write_row(&mut self) -> Result<(), RunError> {
        let finished = self.finished();
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let due = self.beat.as_mut().is_none_or(|beat| beat.is_due(&self.island.clock));
        self.unwritten = !due && !finished;
        if self.unwritten {
            return Ok(());
        }
        self.island.read_locals()?;
        self.island.layout.rows.fill(&self.island, &mut self.row);
        Ok(recorder.row(&self.row)?)
    }

    /// Writes a second row at the same instant, if the first was written and a value jumped.
    fn write_jump(&mut self) -> Result<(), RunError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        if self.unwritten {
            return Ok(());
        }
        std::mem::swap(&mut self.row, &mut self.before);
        self.island.read_locals()?;
        self.island.layout.rows.fill(&self.island, &mut self.row);
        let same = |(now, before): (&f64, &f64)| now.to_bits() == before.to_bits();
        if self.row.iter().zip(&self.before).all(same) {
            return Ok(());
        }
        Ok(recorder.row(&self.row)?)
    }
}

/// The component that asks to end the simulation at the present communication point.
fn asked_to_end(island: &Island) -> Option<EndRequest> {
    let (member, function) = island.board.ended?;
    Some(EndRequest {
        component: island.layout.topology.names[member].clone(),
        at: island.clock.now(),
        function,
    })
}
