//! A run under way, with its observers.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cosimo_analysis::error_bars::{Accuracy, ErrorBars as Bars};
use cosimo_core::Time;
use cosimo_engine::{Plan, RunError, Summary};
use cosimo_record::{Files, MemoryRecorder, RowCount, Tee};
use cosimo_system::Problem;

use crate::error::{Error, ErrorKind};
use crate::observer::{Moment, Observer, RunEnd, RunStart, SavedState, Warn, When, save};
use crate::observers::error_bars::{ErrorBars, NONE};
use crate::observers::{RealTime, Reference};
use crate::open::LoadedSystem;
use crate::outcome::Outcome;
use crate::simulation::{RunInputs, Simulation};
use crate::ticker::Ticker;
use crate::{input_files, output_files};

/// A running simulation. It is bound to its thread; a [`Simulation`] can be sent to another one and started there.
///
/// ```
/// use cosimo::Simulation;
///
/// let simulation = Simulation::new().add_source("mass", "native:oscillator/mass").set("mass.F", 0.0);
/// let mut run = simulation.step_size(0.01).stop_time(1.0).start()?;
/// while !run.finished() {
///     run.set_input("mass.F", -4.0 * run.get_output("mass.x")?)?;
///     run.step()?;
/// }
/// let outcome = run.finish();
/// assert!(outcome.summary.finished);
/// # Ok::<(), cosimo::Error>(())
/// ```
pub struct Run<'o> {
    run: cosimo_engine::Run,
    inputs: RunInputs,
    observers: Observers<'o>,
    begun: Instant,
    from: f64,
    results: Vec<PathBuf>,
    rows: Vec<RowCount>,
    memory: Option<MemoryRecorder>,
    failure: Option<Error>,
    /// An FMU may change the working folder.
    folder: Option<PathBuf>,
    /// The wanted error of signals.
    accuracy: f64,
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.run)
    }
}

impl<'o> Run<'o> {
    pub(crate) fn begin(
        simulation: Simulation<'o>,
        loaded: LoadedSystem,
        (results, files): (Vec<PathBuf>, Files),
        open_to_changes: bool,
    ) -> Result<Run<'o>, Error> {
        let LoadedSystem { files: texts, system, plan } = loaded;
        let against = if simulation.resumed.is_some() {
            Some("the run was resumed from a checkpoint, and companions begin at the start")
        } else if simulation.real_time.is_some() {
            Some("companions would disturb a run in real time")
        } else if open_to_changes {
            Some("the run is stepped from outside, which companions cannot repeat")
        } else {
            None
        };
        let accuracy = simulation.accuracy.unwrap_or_else(|| system.experiment.wanted_accuracy());
        let bars = (simulation.error_bars != Bars::Off).then(|| {
            let watch = simulation.repetitions;
            ErrorBars::new((simulation.error_bars, accuracy), watch, simulation.interrupted, against)
        });
        let (from, saved) = simulation.resumed.unzip();
        let inputs = RunInputs {
            what: simulation.what,
            options: simulation.options,
            files: texts,
            system,
            registry: simulation.registry,
            threads: simulation.threads,
            command: simulation.command,
            resumed: from,
        };
        // Checkpoints before all that makes files: what keeps a run from being saved is told first. All others look at a
        // communication point when the wall clock has come to it.
        let own: [Option<Box<dyn Observer + 'o>>; 4] = [
            bars.map(|observer| Box::new(observer) as _),
            simulation.checkpointing.map(|observer| Box::new(observer) as _),
            Reference::of(&inputs.system).map(|observer| Box::new(observer) as _),
            simulation.real_time.map(|factor| Box::new(RealTime::new(factor)) as _),
        ];
        let list = own.into_iter().flatten().chain(simulation.observers).collect();
        let mut observers = Observers::new(list, simulation.warn, simulation.interrupted);
        observers.check_files(&results, simulation.call_log.as_ref(), &inputs)?;
        (observers.warn)(&plan.warnings);
        let planned = plan.warnings.len();
        let rows = files.counts();
        let memory = simulation.in_memory.then(MemoryRecorder::default);
        let mut recorders = Tee::default();
        if !results.is_empty() {
            recorders.0.push(Box::new(files));
        }
        recorders.0.extend(memory.clone().map(|memory| Box::new(memory) as _));
        let begun = Instant::now();
        let started = observers.begin(&plan, &inputs, &results).and_then(|()| {
            #[cfg(feature = "fmi")]
            if let Some(file) = &simulation.call_log {
                cosimo_fmi::record_calls(file).map_err(|cause| Error::cannot_write(file, &cause))?;
            }
            let plan = if open_to_changes { plan.open_to_changes().rewinding() } else { plan };
            let mut run = cosimo_engine::Run::new(plan, inputs.threads)?;
            (observers.warn)(&run.warnings()[planned..]);
            if let Some((saved, from)) = saved.as_ref().zip(inputs.resumed.as_ref()) {
                run.load(&saved.checkpoint).map_err(|error| {
                    let message = format!("cannot go on from `{}`: {error}", from.file);
                    Error::new(ErrorKind::Run, message, None)
                })?;
            }
            recorders.0.extend(observers.list.iter_mut().filter_map(|it| it.observer.recorder()));
            if !recorders.0.is_empty() {
                let recorders = Box::new(recorders);
                match &saved {
                    Some(saved) => run.resume(recorders, &saved.bookmark),
                    None => run.record(recorders),
                }?;
            }
            observers.look(&mut run, &inputs, true)?;
            Ok(run)
        });
        let run = match started {
            Ok(run) => run,
            Err(error) => return Err(observers.never_started(&inputs, error)),
        };
        let from = run.time().seconds();
        let folder = std::env::current_dir().ok();
        Ok(Run {
            run,
            inputs,
            observers,
            begun,
            from,
            results,
            rows,
            memory,
            failure: None,
            folder,
            accuracy,
        })
    }

    /// Simulated time, in seconds.
    pub fn time(&self) -> f64 {
        self.run.time().seconds()
    }

    /// Whether the stop time is reached, or a component or a scenario ended the run.
    pub fn finished(&self) -> bool {
        self.run.finished()
    }

    /// System, options and files of the run.
    pub fn inputs(&self) -> &RunInputs {
        &self.inputs
    }

    /// The run of the engine, read only.
    pub fn engine(&self) -> &cosimo_engine::Run {
        &self.run
    }

    /// Steps, energies per bond and verdict so far.
    pub fn summary(&self) -> Summary {
        self.run.summary()
    }

    /// One macro step. A run that failed cannot be stepped further; its rows so far are safe.
    pub fn step(&mut self) -> Result<(), Error> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let stepped = match self.run.step() {
            Ok(()) => self.observers.look(&mut self.run, &self.inputs, false),
            Err(error) => Err(error.into()),
        };
        stepped.inspect_err(|error| self.failure = Some(error.clone()))
    }

    /// Steps to the first communication point at or after `time`, or to the end of the run. Never changes the steps.
    pub fn run_until(&mut self, time: f64) -> Result<(), Error> {
        let time = Time::new(time).ok_or_else(|| {
            Error::new(ErrorKind::Input, format!("expected a finite time, got {time}"), None)
        })?;
        while !self.finished() && !self.observers.stop_requested() && self.run.time() < time {
            self.step()?;
        }
        Ok(())
    }

    /// An output as the other components see it, by `component.port`.
    pub fn get_output(&self, path: &str) -> Result<f64, Error> {
        let known = self.run.layout().ports().output(path, &(0..0));
        known.map(|output| self.run.outputs()[output]).map_err(|problem| unknown(path, problem))
    }

    /// An input as it follows from the outputs at the present communication point.
    pub fn get_input(&self, path: &str) -> Result<f64, Error> {
        let known = self.run.layout().ports().input(path, &(0..0));
        let value = |input| self.run.layout().topology.couplings.value(input, self.run.outputs());
        known.map(value).map_err(|problem| unknown(path, problem))
    }

    /// Sets an input that is not connected, from now on.
    pub fn set_input(&mut self, path: &str, value: f64) -> Result<(), Error> {
        self.set_inputs(&[(path, value)])
    }

    /// Sets several inputs at one instant; all of them or none.
    pub fn set_inputs(&mut self, values: &[(&str, f64)]) -> Result<(), Error> {
        Ok(self.run.set_inputs(values)?)
    }

    /// Sets a tunable parameter, from now on.
    pub fn set_parameter(&mut self, path: &str, value: f64) -> Result<(), Error> {
        Ok(self.run.set_parameter(path, value)?)
    }

    /// The state of all components and methods, for [`Run::restore`].
    pub fn save(&mut self) -> Result<SavedState, Error> {
        save(&mut self.run).map_err(|reason| {
            let remedy = "an FMU can be saved if its model description has `canGetAndSetFMUstate` and `canSerializeFMUState`";
            Error::new(ErrorKind::Run, format!("the run cannot be saved: {reason}"), Some(remedy.into()))
        })
    }

    /// Goes back to a saved state, bit for bit. Rows in memory are kept in the order in which they were computed; a run that
    /// writes result files cannot go back, as its rows are never changed once they are written.
    pub fn restore(&mut self, saved: &SavedState) -> Result<(), Error> {
        if !self.results.is_empty() {
            let remedy = "record in memory, or restore runs without result files";
            let message = "a run that writes result files cannot go back to a saved state";
            return Err(Error::new(ErrorKind::Input, message, Some(remedy.into())));
        }
        let failed =
            |error| Error::new(ErrorKind::Run, format!("the state cannot be restored: {error}"), None);
        self.run.load(&saved.checkpoint).map_err(failed)
    }

    /// Steps to the end of the run, to its first failure, or until it is interrupted, and closes it.
    pub fn complete(mut self) -> Outcome {
        while !self.finished() && !self.observers.stop_requested() && self.step().is_ok() {}
        self.finish()
    }

    /// Closes result files and lets all observers write what they have. Also after a failure.
    pub fn finish(mut self) -> Outcome {
        // If the working folder is gone, there is nothing to go back to.
        self.folder.iter().for_each(|folder| drop(std::env::set_current_dir(folder)));
        if self.failure.is_none() {
            self.failure = self.observers.last(&mut self.run, &self.inputs).err();
        }
        // Whatever happened, the rows so far must be readable. A run whose rows are lost has failed, however it ended.
        let closed = self.run.finish().map_err(|error| Error::from(RunError::Record(error)));
        let failure = self.failure.take().or(closed.err());
        let mut outcome = Outcome {
            summary: self.run.summary(),
            accuracy: Accuracy::unknown(self.accuracy, NONE.into()),
            wall_time: self.begun.elapsed(),
            wall_time_of_error_bars: Duration::ZERO,
            from: self.from,
            results: self.results.iter().cloned().zip(self.rows.iter().map(RowCount::rows)).collect(),
            table: self.memory.as_ref().map(MemoryRecorder::table),
            reference: Vec::new(),
            reference_limits: String::new(),
            real_time: None,
            checkpoint: None,
            warnings: self.run.warnings().to_vec(),
            failure: None,
            unwritten: Vec::new(),
        };
        for attached in &mut self.observers.list {
            let mut end = RunEnd {
                inputs: &self.inputs,
                error: failure.as_ref(),
                started: Some((&self.run, &mut outcome)),
                warn: &mut *self.observers.warn,
            };
            let ended = attached.observer.end(&mut end);
            outcome.unwritten.extend(ended.err());
        }
        outcome.failure = failure;
        outcome
    }
}

fn unknown(path: &str, problem: Option<Box<Problem>>) -> Error {
    let unopened = || Problem::error("plan/unknown-port", format!("there is no port `{path}`"), 0..0);
    let problem = problem.map_or_else(unopened, |problem| *problem);
    Error::input(vec![problem], cosimo_system::Files::default())
}

/// Observers, and what they share.
struct Observers<'o> {
    list: Vec<AttachedObserver<'o>>,
    warn: Warn<'o>,
    interrupted: &'o AtomicBool,
    stop: Cell<bool>,
    clock: Ticker,
}

struct AttachedObserver<'o> {
    observer: Box<dyn Observer + 'o>,
    when: When,
    called: Instant,
    begun: bool,
}

impl<'o> Observers<'o> {
    fn new(list: Vec<Box<dyn Observer + 'o>>, warn: Warn<'o>, interrupted: &'o AtomicBool) -> Observers<'o> {
        let now = Instant::now();
        let attach = |observer: Box<dyn Observer + 'o>| AttachedObserver {
            when: observer.when(),
            observer,
            called: now,
            begun: false,
        };
        let list = list.into_iter().map(attach).collect();
        Observers { list, warn, interrupted, stop: Cell::new(false), clock: Ticker::default() }
    }

    /// No file that is written may be one that is read, and no two may be one.
    fn check_files(
        &self,
        results: &[PathBuf],
        call_log: Option<&PathBuf>,
        inputs: &RunInputs,
    ) -> Result<(), Error> {
        let mut written: Vec<(&str, PathBuf)> = results.iter().map(|file| ("--out", file.clone())).collect();
        written.extend(call_log.map(|file| ("--log-fmi-calls", file.clone())));
        written.extend(self.list.iter().flat_map(|it| it.observer.files(inputs)));
        output_files::check(&written, &input_files::list(inputs))
    }

    fn begin(&mut self, plan: &Plan, inputs: &RunInputs, results: &[PathBuf]) -> Result<(), Error> {
        let start = RunStart { inputs, layout: &plan.layout, results, warnings: &plan.warnings };
        for attached in &mut self.list {
            attached.begun = true;
            attached.observer.begin(&start)?;
        }
        Ok(())
    }

    fn stop_requested(&self) -> bool {
        self.stop.get() || self.interrupted.load(Ordering::Relaxed)
    }

    /// A communication point.
    fn look(&mut self, run: &mut cosimo_engine::Run, inputs: &RunInputs, start: bool) -> Result<(), Error> {
        if self.list.is_empty() {
            return Ok(());
        }
        let clock = self.clock.look();
        let Observers { list, warn, interrupted, stop, .. } = self;
        let mut moment = Moment { run, inputs, warn: &mut **warn, interrupted, stop, clock, start };
        for attached in list {
            match attached.when {
                _ if start => {}
                When::EveryStep => {}
                When::StartOnly => continue,
                When::WallClock(pause) => match clock {
                    Some(now) if now - attached.called >= pause => attached.called = now,
                    _ => continue,
                },
            }
            attached.observer.step(&mut moment)?;
        }
        Ok(())
    }

    fn last(&mut self, run: &mut cosimo_engine::Run, inputs: &RunInputs) -> Result<(), Error> {
        let Observers { list, warn, interrupted, stop, .. } = self;
        let clock = Some(Instant::now());
        let mut moment = Moment { run, inputs, warn: &mut **warn, interrupted, stop, clock, start: false };
        list.iter_mut().try_for_each(|attached| attached.observer.last(&mut moment))
    }

    /// Ends the observers that have begun, with the error.
    fn never_started(&mut self, inputs: &RunInputs, error: Error) -> Error {
        for attached in self.list.iter_mut().filter(|attached| attached.begun) {
            let mut end = RunEnd { inputs, error: Some(&error), started: None, warn: &mut *self.warn };
            if let Err(unwritten) = attached.observer.end(&mut end) {
                end.warn(unwritten.to_string());
            }
        }
        error
    }
}
