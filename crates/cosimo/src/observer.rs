//! Observers of a run: report, certificate, checkpoints, real time, progress, the comparison with the monolithic
//! reference, and any other one. Observers do not change the numbers of a run.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cosimo_core::recorder::Recorder;
use cosimo_engine::{Checkpoint, Layout, Run};
use cosimo_system::Problem;

use crate::error::Error;
use crate::outcome::Outcome;
use crate::simulation::RunInputs;

/// When an observer is called between the start and the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// At each communication point.
    EveryStep,
    /// At communication points that are at least this far apart on the wall clock.
    WallClock(Duration),
    /// At the first communication point only.
    StartOnly,
}

/// Watches a run at communication points. Only `step` is required.
///
/// ```
/// use cosimo::{Error, Moment, Observer, Simulation};
///
/// struct Peak(f64);
///
/// impl Observer for Peak {
///     fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
///         self.0 = self.0.max(at.value("mass.v").unwrap_or(0.0).abs());
///         Ok(())
///     }
/// }
///
/// let mut peak = Peak(0.0);
/// let simulation = Simulation::new().add_source("mass", "native:oscillator/mass").set("mass.F", 1.0);
/// simulation.step_size(0.01).stop_time(1.0).observe(&mut peak).run()?;
/// assert!(peak.0 > 0.0);
/// # Ok::<(), Error>(())
/// ```
pub trait Observer: Send {
    /// How often `step` is called.
    fn when(&self) -> When {
        When::EveryStep
    }

    /// Files that it writes, each with its command line option. They are compared with each other and with all inputs
    /// before anything is written.
    fn files(&self, _inputs: &RunInputs) -> Vec<(&'static str, PathBuf)> {
        Vec::new()
    }

    /// The system is planned, not initialised. An error prevents the run from starting.
    fn begin(&mut self, _start: &RunStart<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// A recorder that receives the rows of the run, if needed.
    fn recorder(&mut self) -> Option<Box<dyn Recorder>> {
        None
    }

    /// A communication point; the first is the start, before any step. An error ends the run.
    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error>;

    /// The run will not be stepped again and has not failed. It can still be saved.
    fn last(&mut self, _at: &mut Moment<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// After the run, however it ended, for each observer that has begun; also where the run could not start.
    fn end(&mut self, _end: &mut RunEnd<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// A borrowed observer, which its owner can read after the run.
impl<O: Observer + ?Sized> Observer for &mut O {
    fn when(&self) -> When {
        (**self).when()
    }
    fn files(&self, inputs: &RunInputs) -> Vec<(&'static str, PathBuf)> {
        (**self).files(inputs)
    }
    fn begin(&mut self, start: &RunStart<'_>) -> Result<(), Error> {
        (**self).begin(start)
    }
    fn recorder(&mut self) -> Option<Box<dyn Recorder>> {
        (**self).recorder()
    }
    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        (**self).step(at)
    }
    fn last(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        (**self).last(at)
    }
    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        (**self).end(end)
    }
}

/// A closure at each communication point; see `Simulation::on_step`.
pub(crate) struct OnStep<F>(pub(crate) F);

impl<F: FnMut(&mut Moment<'_>) + Send> Observer for OnStep<F> {
    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        (self.0)(at);
        Ok(())
    }
}

/// A planned run before initialisation.
#[derive(Debug, Clone, Copy)]
pub struct RunStart<'a> {
    /// System, options and files of the run.
    pub inputs: &'a RunInputs,
    /// The plan.
    pub layout: &'a Layout,
    /// Result files.
    pub results: &'a [PathBuf],
    /// Warnings of the plan.
    pub warnings: &'a [Problem],
}

/// A run that can be continued from here by [`Run::load`] and [`Run::resume`].
#[derive(Debug, Clone)]
pub struct SavedState {
    /// The state of the engine.
    pub checkpoint: Checkpoint,
    /// Where the result files end.
    pub bookmark: Vec<u8>,
    /// Simulated time, in seconds.
    pub time: f64,
}

/// Receives warnings as they come up.
pub(crate) type Warn<'o> = Box<dyn FnMut(&[Problem]) + Send + 'o>;

/// A communication point of a run under way.
pub struct Moment<'a> {
    pub(crate) run: &'a mut Run,
    pub(crate) inputs: &'a RunInputs,
    pub(crate) warn: &'a mut dyn FnMut(&[Problem]),
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) stop: &'a Cell<bool>,
    /// The wall clock, where it was read at this point: reading it costs more than a small step.
    pub(crate) clock: Option<Instant>,
    pub(crate) start: bool,
}

impl std::fmt::Debug for Moment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Moment({:?})", self.run)
    }
}

impl Moment<'_> {
    /// Simulated time, in seconds.
    pub fn time(&self) -> f64 {
        self.run.time().seconds()
    }

    /// Whether no step of this process has been made.
    pub fn is_start(&self) -> bool {
        self.start
    }

    /// An output or an input by `component.port`.
    pub fn value(&self, path: &str) -> Option<f64> {
        self.run.output(path).or_else(|| self.run.input(path))
    }

    /// The run of the engine, read only.
    pub fn run(&self) -> &Run {
        self.run
    }

    /// System, options and files of the run.
    pub fn inputs(&self) -> &RunInputs {
        self.inputs
    }

    /// The wall clock, where it was read at this point.
    pub fn wall_clock(&self) -> Option<Instant> {
        self.clock
    }

    /// Takes the wall time inside each component from now on.
    pub fn take_times(&mut self) {
        self.run.take_times();
    }

    /// Ends the run regularly at this point, as an interruption.
    pub fn request_stop(&self) {
        self.stop.set(true);
    }

    /// Whether an observer or a signal requested the end.
    pub fn stop_requested(&self) -> bool {
        self.stop.get() || self.interrupted.load(Ordering::Relaxed)
    }

    /// Saves the run with the place where its result files end. The reason is one line.
    pub fn save(&mut self) -> Result<SavedState, String> {
        save(self.run)
    }

    /// Whether the run can be saved, tried without any file.
    pub fn check_saving(&mut self) -> Result<(), String> {
        self.run.save().map(|_| ()).map_err(|error| error.to_string())
    }

    /// Reports a warning; the run continues.
    pub fn warn(&mut self, message: impl Into<String>) {
        (self.warn)(&[Problem::warning("", message, 0..0)]);
    }
}

pub(crate) fn save(run: &mut Run) -> Result<SavedState, String> {
    let bookmark = run.bookmark().map_err(|error| error.to_string())?;
    let checkpoint = run.save().map_err(|error| error.to_string())?;
    Ok(SavedState { checkpoint, bookmark, time: run.time().seconds() })
}

/// How a run ended.
pub struct RunEnd<'a> {
    /// System, options and files of the run.
    pub inputs: &'a RunInputs,
    /// Why the run failed or could not start.
    pub error: Option<&'a Error>,
    /// The run and its outcome, where it started. Observers may add to the outcome.
    pub started: Option<(&'a Run, &'a mut Outcome)>,
    pub(crate) warn: &'a mut dyn FnMut(&[Problem]),
}

impl std::fmt::Debug for RunEnd<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "End({:?})", self.error)
    }
}

impl RunEnd<'_> {
    /// Reports a warning.
    pub fn warn(&mut self, message: impl Into<String>) {
        (self.warn)(&[Problem::warning("", message, 0..0)]);
    }
}
