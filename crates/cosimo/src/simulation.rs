//! The configuration of a simulation: system, overrides, observers. [`Simulation::run`] runs it to the end;
//! [`Simulation::start`] returns a [`Run`](crate::Run) to be stepped.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use cosimo_analysis::error_bars::{ErrorBars, Repetition, StepCallback};
use cosimo_core::registry::{OpenProblem, OpenRequest, OpenResult};
use cosimo_core::{Registry, Source, Value};
use cosimo_native::Blueprint;
use cosimo_system::{Document, Files, Problem, System};

use crate::checkpoint_file::CheckpointFile;
use crate::error::{Error, ErrorKind};
use crate::input_files;
use crate::observer::{Moment, Observer, OnStep, Warn};
use crate::observers::{CertificateFile, CheckpointSchedule, Checkpointing, SummaryFile};
use crate::open::{self, OpenOptions};
use crate::outcome::Outcome;
use crate::run::Run;

/// System, options and files of a run.
#[derive(Debug)]
pub struct RunInputs {
    /// The system file, or the sources of its components.
    pub what: Vec<String>,
    /// Variant, scenario and overrides.
    pub options: OpenOptions,
    /// The texts that the system was read from.
    pub files: Files,
    /// The system with all overrides.
    pub system: System,
    /// Methods, formats and kinds of components.
    pub registry: Registry,
    /// Number of worker threads.
    pub threads: usize,
    /// The command line that began the run, without the program; empty where a program did.
    pub command: Vec<String>,
    /// The checkpoint that the run was resumed from.
    pub resumed: Option<ResumedFrom>,
}

/// The command line of this process, as a shell takes it.
pub(crate) fn command_line() -> String {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    std::iter::once(program).chain(words.map(|word| quoted(&word))).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_=+./,:@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The checkpoint of a resumed run.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumedFrom {
    /// The checkpoint, as it was called.
    pub file: String,
    /// Simulated time, in seconds.
    pub time: f64,
    /// Seconds of computing in earlier processes.
    pub computing: f64,
    /// The end of the run, where it is not the first command line's.
    pub stop: Option<f64>,
}

/// Makes a callback for each repetition of a run.
pub(crate) type RepetitionWatch<'o> = Box<dyn Fn(Repetition) -> StepCallback<'static> + Send + Sync + 'o>;

static NEVER: AtomicBool = AtomicBool::new(false);

/// A system, its overrides and its observers. Builder methods collect their problems; `run` and `start` return all of
/// them at once.
///
/// ```
/// use cosimo::Simulation;
///
/// let outcome = Simulation::new()
///     .add_source("left", "native:dual-mass/left-force")
///     .add_source("right", "native:dual-mass/right")
///     .connect("right.x", "left.x_far")
///     .bond("joint", ("left.f", "left.v_far"), ("right.f", "right.v"))
///     .step_size(1e-2)
///     .stop_time(1.0)
///     .run()?;
/// println!("{}", outcome.summary.text());
/// # Ok::<(), cosimo::Error>(())
/// ```
pub struct Simulation<'o> {
    pub(crate) what: Vec<String>,
    pub(crate) document: Option<Document>,
    pub(crate) options: OpenOptions,
    pub(crate) registry: Registry,
    pub(crate) threads: usize,
    pub(crate) command: Vec<String>,
    pub(crate) resumed: Option<(ResumedFrom, CheckpointFile)>,
    pub(crate) results: Vec<PathBuf>,
    pub(crate) in_memory: bool,
    pub(crate) call_log: Option<PathBuf>,
    pub(crate) checkpointing: Option<Checkpointing>,
    pub(crate) observers: Vec<Box<dyn Observer + 'o>>,
    pub(crate) real_time: Option<f64>,
    pub(crate) error_bars: ErrorBars,
    pub(crate) accuracy: Option<f64>,
    pub(crate) repetitions: RepetitionWatch<'o>,
    pub(crate) interrupted: &'o AtomicBool,
    pub(crate) warn: Warn<'o>,
}

impl fmt::Debug for Simulation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simulation({})", self.what.join(" "))
    }
}

impl Default for Simulation<'_> {
    fn default() -> Self {
        Simulation::new()
    }
}

impl<'o> Simulation<'o> {
    /// A system that is built in code.
    pub fn new() -> Simulation<'o> {
        Simulation {
            what: Vec::new(),
            document: None,
            options: OpenOptions::default(),
            registry: crate::registry(),
            threads: 1,
            command: Vec::new(),
            resumed: None,
            results: Vec::new(),
            in_memory: false,
            call_log: None,
            checkpointing: None,
            observers: Vec::new(),
            real_time: None,
            error_bars: ErrorBars::Auto,
            accuracy: None,
            repetitions: Box::new(|_| Box::new(|_| true)),
            interrupted: &NEVER,
            warn: Box::new(|_| {}),
        }
    }

    /// A system file (`.toml`, `.ssp`, `.ssd`, `OspSystemStructure.xml`) or a single FMU.
    pub fn open(path: impl AsRef<Path>) -> Result<Simulation<'o>, Error> {
        let what = [path.as_ref().to_string_lossy().into_owned()];
        Simulation::open_with(&what, OpenOptions::default(), crate::registry())
    }

    /// A system file, or the sources of components, with other methods, formats or kinds of components than the standard
    /// ones.
    pub fn open_with(
        what: &[String],
        options: OpenOptions,
        registry: Registry,
    ) -> Result<Simulation<'o>, Error> {
        let document = open::open(what, &options, &registry)?;
        Ok(Simulation {
            what: what.to_vec(),
            document: Some(document),
            options,
            registry,
            ..Simulation::new()
        })
    }

    /// A component by its source: the path of an FMU, `native:` and a model, or what another kind of source claims.
    #[must_use]
    pub fn add_source(mut self, name: &str, source: &str) -> Self {
        self.what.push(format!("{name}={source}"));
        self
    }

    /// A component written in Rust: a model out of closures ([`native::ode`](crate::native::ode),
    /// [`native::discrete`](crate::native::discrete)), or a function that makes a simulator.
    #[must_use]
    pub fn add(mut self, name: &str, blueprint: impl Blueprint + 'static) -> Self {
        self.registry.add_source(OwnModel { source: format!("rust:{name}"), blueprint: Box::new(blueprint) });
        self.add_source(name, &format!("rust:{name}"))
    }

    /// From an output to an input, both as `component.port`.
    #[must_use]
    pub fn connect(mut self, output: &str, input: &str) -> Self {
        self.options.overrides.connects.push(format!("{output}={input}"));
        self
    }

    /// A power bond: effort and flow of both sides, as `component.port`.
    #[must_use]
    pub fn bond(mut self, name: &str, a: (&str, &str), b: (&str, &str)) -> Self {
        self.options.overrides.bonds.push(format!("{name}={}:{}~{}:{}", a.0, a.1, b.0, b.1));
        self
    }

    /// A parameter, or an input that is not connected: `component.name`, or `name` for all components that have it.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = cosimo_system::write::value(&value.into());
        self.options.overrides.sets.push(format!("{name}={value}"));
        self
    }

    /// A method by its axis, as in `[method]`: `method("controller", "pi")`, `method("correction", "{ nepce = { gain = 0.8 } }")`.
    #[must_use]
    pub fn method(mut self, axis: &str, choice: &str) -> Self {
        self.options.overrides.methods.push(format!("{axis}={choice}"));
        self
    }

    /// End of the run, in seconds.
    #[must_use]
    pub fn stop_time(mut self, seconds: f64) -> Self {
        self.options.overrides.stop = Some(seconds);
        self
    }

    /// Macro step size in seconds; the initial one if steps are controlled.
    #[must_use]
    pub fn step_size(mut self, seconds: f64) -> Self {
        self.options.overrides.step = Some(seconds);
        self
    }

    /// Variables to record, with `*` and `?`; `!PATTERN` excludes.
    #[must_use]
    pub fn variables(mut self, patterns: &[&str]) -> Self {
        self.options.overrides.record.extend(patterns.iter().map(|&pattern| pattern.to_owned()));
        self
    }

    /// Timed and conditional actions, from a file.
    #[must_use]
    pub fn scenario(mut self, file: impl Into<PathBuf>) -> Self {
        self.options.scenario = Some(file.into());
        self
    }

    /// Number of threads. Results are bit-identical for any number.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// A result file; its format follows from its ending.
    #[must_use]
    pub fn record(mut self, file: impl Into<PathBuf>) -> Self {
        self.results.push(file.into());
        self
    }

    /// Keeps all rows in memory: [`Outcome::table`].
    #[must_use]
    pub fn record_in_memory(mut self) -> Self {
        self.in_memory = true;
        self
    }

    /// The HTML report.
    #[must_use]
    #[cfg(feature = "report")]
    pub fn report(self, file: impl Into<PathBuf>) -> Self {
        self.observe(crate::observers::HtmlReport::new(file))
    }

    /// The certificate, for `cosimo gate` and archives.
    #[must_use]
    pub fn certificate(self, file: impl Into<PathBuf>) -> Self {
        self.observe(CertificateFile::new(file))
    }

    /// The closing summary as JSON.
    #[must_use]
    pub fn summary_json(self, file: impl Into<PathBuf>) -> Self {
        self.observe(SummaryFile::new(file))
    }

    /// Saves checkpoints as scheduled, and when the run is interrupted.
    #[must_use]
    pub fn checkpoint(mut self, schedule: CheckpointSchedule) -> Self {
        self.checkpointing = Some(Checkpointing::new(schedule));
        self
    }

    /// Runs in real time, or `factor` times as fast.
    #[must_use]
    pub fn real_time(mut self, factor: f64) -> Self {
        self.real_time = Some(factor);
        self
    }

    /// How the errors of signals are estimated; [`Outcome::accuracy`] has the verdict. Beside a run live companions, which
    /// are the same system with other steps, on components of their own: components must not share state with what is
    /// outside of them. They never change a number of the run.
    #[must_use]
    pub fn error_bars(mut self, bars: ErrorBars) -> Self {
        self.error_bars = bars;
        self
    }

    /// The wanted error of signals, relative to their peak, which decides the verdict. Without it, that of the system's
    /// experiment, or 1 %.
    #[must_use]
    pub fn accuracy(mut self, wanted: f64) -> Self {
        self.accuracy = Some(wanted);
        self
    }

    /// Called for each repetition of the run with smaller steps, which error bars may need after it; what it returns is
    /// called after every step, on the thread of the repetition, and ends it with `false`.
    #[must_use]
    pub fn on_repetition(
        mut self,
        watch: impl Fn(Repetition) -> StepCallback<'static> + Send + Sync + 'o,
    ) -> Self {
        self.repetitions = Box::new(watch);
        self
    }

    /// Writes every call into FMUs to a file.
    #[must_use]
    #[cfg(feature = "fmi")]
    pub fn log_fmi_calls(mut self, file: impl Into<PathBuf>) -> Self {
        self.call_log = Some(file.into());
        self
    }

    /// Adds an observer; observers are called in the order in which they are added.
    #[must_use]
    pub fn observe(mut self, observer: impl Observer + 'o) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Calls a closure at each communication point, the start included.
    #[must_use]
    pub fn on_step(self, callback: impl FnMut(&mut Moment<'_>) + Send + 'o) -> Self {
        self.observe(OnStep(callback))
    }

    /// Receives warnings as they occur; without it they are in [`Outcome::warnings`] only.
    #[must_use]
    pub fn on_warning(mut self, warn: impl FnMut(&[Problem]) + Send + 'o) -> Self {
        self.warn = Box::new(warn);
        self
    }

    /// The run stops regularly at the next communication point once this is true.
    #[must_use]
    pub fn interrupted_by(mut self, interrupted: &'o AtomicBool) -> Self {
        self.interrupted = interrupted;
        self
    }

    /// The command line that is named in certificate, report and checkpoints.
    #[must_use]
    pub fn command_line(mut self, command: &[String]) -> Self {
        self.command = command.to_vec();
        self
    }

    /// Continues a run that was saved in a file. The simulation must be the one that was saved, result files included: they
    /// are continued. Fails where a file that went into the run has changed.
    pub fn resume(mut self, file: &str, saved: CheckpointFile) -> Result<Self, Error> {
        input_files::compare(&saved.origin.inputs)?;
        let stop = self.options.overrides.stop;
        let from = ResumedFrom { file: file.into(), time: saved.time, computing: saved.computing, stop };
        self.resumed = Some((from, saved));
        Ok(self)
    }

    /// Runs to the end. A run that was interrupted has an outcome, too; one that failed is an error.
    pub fn run(self) -> Result<Outcome, Error> {
        self.prepare(false)?.complete().into_result()
    }

    /// Initialises the system, to be stepped from outside. Inputs and tunable parameters can be set between steps.
    pub fn start(self) -> Result<Run<'o>, Error> {
        self.prepare(true)
    }

    /// As [`Simulation::start`], for a run whose inputs and parameters are not set between steps.
    pub fn start_unattended(self) -> Result<Run<'o>, Error> {
        self.prepare(false)
    }

    fn prepare(mut self, open_to_changes: bool) -> Result<Run<'o>, Error> {
        if let Some(wanted) = self.accuracy.filter(|wanted| !(wanted.is_finite() && *wanted > 0.0)) {
            let message = format!("the wanted accuracy must be a finite number above 0, got {wanted}");
            return Err(Error::new(ErrorKind::Input, message, None));
        }
        let results = std::mem::take(&mut self.results);
        let recorder = result_files(&results, &self.registry)?;
        let document = match self.document.take() {
            Some(document) => document,
            None if self.what.is_empty() => {
                let remedy = "add components with `add_source`, or open a system file";
                return Err(Error::new(
                    ErrorKind::Input,
                    "the system has no components",
                    Some(remedy.into()),
                ));
            }
            None => open::open(&self.what, &self.options, &self.registry)?,
        };
        let loaded = open::plan_document(document, &self.options, &self.registry)?;
        Run::begin(self, loaded, (results, recorder), open_to_changes)
    }
}

/// A component that is written in the program itself.
struct OwnModel {
    source: String,
    blueprint: Box<dyn Blueprint>,
}

impl Source for OwnModel {
    fn name(&self) -> &str {
        "rust"
    }

    fn summary(&self) -> &str {
        "a model written in the program that runs it"
    }

    fn claims(&self, source: &str) -> bool {
        self.source == source
    }

    fn open(&self, request: &OpenRequest<'_>) -> OpenResult {
        let refused = |(name, _): &(String, Value)| OpenProblem {
            parameter: Some(name.clone()),
            message: format!("a model written in Rust has no parameter `{name}`"),
            hint: Some("pass the value to the closure".into()),
        };
        let problems: Vec<OpenProblem> = request.parameters.iter().map(refused).collect();
        if problems.is_empty() { Ok(self.blueprint.simulator()) } else { Err(problems) }
    }
}

/// The recorder of the result files; nothing is created yet.
fn result_files(paths: &[PathBuf], registry: &Registry) -> Result<cosimo_record::Files, Error> {
    if let Some((_, twice)) = paths.iter().enumerate().find(|(k, path)| paths[..*k].contains(path)) {
        let message = format!("`--out {}` is given twice", twice.display());
        return Err(Error::new(ErrorKind::Input, message, Some("each file is written once".into())));
    }
    cosimo_record::Files::new(paths, &registry.formats).map_err(|unknown| {
        let problem = |format: &cosimo_core::registry::UnknownFormat| {
            Problem::error("", format!("`--out`: {format}"), 0..0).hint(format.hint())
        };
        Error::input(unknown.iter().map(problem).collect(), Files::default())
    })
}
