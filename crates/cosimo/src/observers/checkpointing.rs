//! When a run is saved, and where.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cosimo_core::Time;
use cosimo_core::clock::OutputGrid;
use cosimo_system::sources;

use crate::checkpoint_file::{CheckpointFile, CheckpointOrigin};
use crate::draft_file::draft;
use crate::error::{Error, ErrorKind};
use crate::observer::{Moment, Observer, RunEnd, RunStart};
use crate::simulation::RunInputs;
use crate::{input_files, paths};

/// `--checkpoint`: when to save, and where.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CheckpointSchedule {
    /// Of computing.
    every: Option<Duration>,
    /// In simulated seconds.
    simulated: Option<f64>,
    end: bool,
    file: Option<PathBuf>,
}

const FORM: &str = "every=10s, simulated=0.5, interrupt, end and file=NAME, with commas between";

impl std::str::FromStr for CheckpointSchedule {
    type Err = String;

    fn from_str(text: &str) -> Result<CheckpointSchedule, String> {
        let mut schedule = CheckpointSchedule::default();
        let mut asked = false;
        for part in text.split(',') {
            let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)));
            match (key.trim(), value.map(str::trim)) {
                ("every", Some(value)) => {
                    let every = humantime::parse_duration(value).ok().filter(|every| !every.is_zero());
                    let wrong = || {
                        format!(
                            "`every` is a time of computing with its unit, as in `10s` or `5min`, got `{value}`"
                        )
                    };
                    schedule.every = Some(every.ok_or_else(wrong)?);
                }
                ("simulated", Some(value)) => {
                    let every = value.parse().ok().filter(|every: &f64| every.is_finite() && *every > 0.0);
                    let wrong = || format!("`simulated` is a number of seconds above 0, got `{value}`");
                    schedule.simulated = Some(every.ok_or_else(wrong)?);
                }
                ("interrupt", None) => {}
                ("end", None) => schedule.end = true,
                ("file", Some(value)) if !value.is_empty() => {
                    schedule.file = Some(value.into());
                    continue;
                }
                _ => return Err(format!("`{part}` is not understood; known are {FORM}")),
            }
            asked = true;
        }
        if asked { Ok(schedule) } else { Err(format!("it has no schedule; known: {FORM}")) }
    }
}

impl CheckpointSchedule {
    /// The checkpoint; `system.toml` is saved in `system.checkpoint`.
    pub fn path(&self, what: &[String]) -> PathBuf {
        self.file.clone().unwrap_or_else(|| {
            let first = what.first().and_then(|what| sources::file(what)).unwrap_or("run");
            let stem = Path::new(first).file_stem().unwrap_or_default();
            Path::new(stem).with_extension("checkpoint")
        })
    }

    /// With its file somewhere else.
    pub fn at(mut self, place: impl Fn(&PathBuf) -> PathBuf) -> CheckpointSchedule {
        self.file = self.file.as_ref().map(place);
        self
    }
}

/// Saves a run from time to time, and where it is stopped.
#[derive(Debug)]
pub struct Checkpointing {
    schedule: CheckpointSchedule,
    /// As it is shown, and where that is whatever becomes of the working folder.
    path: PathBuf,
    whole: PathBuf,
    origin: CheckpointOrigin,
    beat: Option<OutputGrid>,
    saved: Instant,
    begun: Instant,
    /// Seconds of computing in earlier processes.
    before: f64,
    /// The end of the run was saved.
    written: bool,
}

impl Checkpointing {
    /// Saves as scheduled.
    pub fn new(schedule: CheckpointSchedule) -> Checkpointing {
        let now = Instant::now();
        Checkpointing {
            schedule,
            path: PathBuf::new(),
            whole: PathBuf::new(),
            origin: CheckpointOrigin::default(),
            beat: None,
            saved: now,
            begun: now,
            before: 0.0,
            written: false,
        }
    }

    /// A run is worth more than its checkpoint: where that fails it goes on, with a warning.
    fn try_save(&mut self, at: &mut Moment<'_>) -> bool {
        let saved = self.save(at);
        self.saved = Instant::now();
        if let Err(cause) = &saved {
            at.warn(format!(
                "at t = {} s no checkpoint was written to `{}`: {cause}; the one before it is whole",
                at.run().time(),
                self.path.display()
            ));
        }
        saved.is_ok()
    }

    fn save(&self, at: &mut Moment<'_>) -> Result<(), String> {
        let state = at.save()?;
        let computing = self.before + self.begun.elapsed().as_secs_f64();
        let saved = CheckpointFile {
            origin: self.origin.clone(),
            time: state.time,
            computing,
            checkpoint: state.checkpoint,
            bookmark: state.bookmark,
        };
        saved.write(&self.whole).map_err(|cause| cause.to_string())
    }
}

impl Observer for Checkpointing {
    fn files(&self, inputs: &RunInputs) -> Vec<(&'static str, PathBuf)> {
        vec![("--checkpoint", self.schedule.path(&inputs.what))]
    }

    /// A run that cannot be saved is refused before it starts.
    fn begin(&mut self, start: &RunStart<'_>) -> Result<(), Error> {
        let unsaved: Vec<String> =
            start.layout.topology.components_without_saved_state().map(|name| format!("`{name}`")).collect();
        if !unsaved.is_empty() {
            let message = format!(
                "`--checkpoint`: {} cannot hand out {} state",
                unsaved.join(", "),
                if unsaved.len() == 1 { "its" } else { "their" }
            );
            let hint = "run without `--checkpoint`; an FMU can be saved if its model description has `canSerializeFMUState`";
            return Err(Error::new(ErrorKind::Input, message, Some(hint.into())));
        }
        let inputs = start.inputs;
        self.path = self.schedule.path(&inputs.what);
        self.whole = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let draft = draft(&self.path);
        let tried = File::create(&draft).and_then(|_| std::fs::remove_file(&draft));
        let way = tried.and_then(|()| paths::relative(paths::folder(&self.path), Path::new(".")));
        let way = way.map_err(|cause| {
            let message = format!("cannot write the checkpoint `{}`: {cause}", self.path.display());
            Error::unwritable(message, &self.path)
        })?;
        self.origin = CheckpointOrigin {
            words: inputs.command.clone(),
            folder: way.to_string_lossy().into_owned(),
            stop: inputs.resumed.as_ref().and_then(|resumed| resumed.stop),
            inputs: input_files::hashed(inputs)?,
            results: start.results.iter().map(|file| file.to_string_lossy().into_owned()).collect(),
        };
        self.before = inputs.resumed.as_ref().map_or(0.0, |resumed| resumed.computing);
        let from = Time::new(inputs.system.experiment.start).unwrap_or_default();
        // The start itself needs no checkpoint.
        self.beat = self.schedule.simulated.map(|every| OutputGrid::new(from, every).after(1));
        (self.saved, self.begun) = (Instant::now(), Instant::now());
        Ok(())
    }

    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        let beat = self.beat.as_mut().is_some_and(|beat| beat.is_due(at.run().clock()));
        if at.is_start() {
            // A resumed run has errors relative to the largest values of the whole run.
            at.run.keep_peaks();
            // What simulators promised is tried once, before anything relies on it.
            return at.check_saving().map_err(|error| {
                let message = format!("`--checkpoint`: the run cannot be saved: {error}");
                Error::new(ErrorKind::Input, message, Some("run without `--checkpoint`".into()))
            });
        }
        let every = at.wall_clock().zip(self.schedule.every);
        let due = every.is_some_and(|(now, every)| now - self.saved >= every);
        if (beat || due) && !at.run().finished() {
            self.try_save(at);
        }
        Ok(())
    }

    /// Where the run was stopped, or the end was asked for.
    fn last(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        let wanted = !at.run().finished() || self.schedule.end;
        self.written = wanted && self.try_save(at);
        Ok(())
    }

    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        if let Some((_, outcome)) = &mut end.started {
            outcome.checkpoint = self.written.then(|| self.path.clone());
        }
        Ok(())
    }
}
