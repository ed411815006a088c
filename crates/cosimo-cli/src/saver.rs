//! When a run is saved, and where; and whether the files of a saved run are still those that it was made with.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cosimo::core::clock::Beat;
use cosimo::core::{Registry, Time};
use cosimo::engine::{Layout, Run};
use cosimo::report::sha256;
use cosimo::saved::{Input, Origin, Saved, draft};
use cosimo::system::{System, regular, sources};

use crate::load::Changes;
use crate::{exit, paths, report};

/// `--checkpoint`: when to save, and where.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Schedule {
    /// Of computing.
    every: Option<Duration>,
    /// In simulated seconds.
    simulated: Option<f64>,
    end: bool,
    file: Option<PathBuf>,
}

pub(crate) const FORM: &str = "every=10s, simulated=0.5, interrupt, end and file=NAME, with commas between";

impl std::str::FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Schedule, String> {
        let mut schedule = Schedule::default();
        let mut asked = false;
        for part in text.split(',') {
            let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)));
            match (key.trim(), value.map(str::trim)) {
                ("every", Some(value)) => {
                    let every = humantime::parse_duration(value).ok().filter(|every| !every.is_zero());
                    let wrong = || {
                        format!(
                            "`every` is a time of computing with its unit, as in `10s` or `5min`, found `{value}`"
                        )
                    };
                    schedule.every = Some(every.ok_or_else(wrong)?);
                }
                ("simulated", Some(value)) => {
                    let every = value.parse().ok().filter(|every: &f64| every.is_finite() && *every > 0.0);
                    let wrong = || format!("`simulated` is a number of seconds above 0, found `{value}`");
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
        if asked { Ok(schedule) } else { Err(format!("it does not say when; known are {FORM}")) }
    }
}

impl Schedule {
    /// The checkpoint; `system.toml` is saved in `system.checkpoint`.
    pub(crate) fn path(&self, what: &[String]) -> PathBuf {
        self.file.clone().unwrap_or_else(|| {
            let first = what.first().and_then(|what| sources::file(what)).unwrap_or("run");
            let stem = Path::new(first).file_stem().unwrap_or_default();
            Path::new(stem).with_extension("checkpoint")
        })
    }

    /// With its file somewhere else.
    pub(crate) fn at(mut self, place: impl Fn(&PathBuf) -> PathBuf) -> Schedule {
        self.file = self.file.as_ref().map(place);
        self
    }
}

/// Saves a run from time to time.
pub(crate) struct Saver {
    path: PathBuf,
    /// Where that is, whatever becomes of the working folder.
    whole: PathBuf,
    origin: Origin,
    every: Option<Duration>,
    beat: Option<Beat>,
    end: bool,
    saved: Instant,
    begun: Instant,
    /// Seconds of computing in earlier processes.
    before: f64,
}

impl Saver {
    /// Whatever keeps a run from being saved is told before it begins.
    pub(crate) fn new(
        schedule: &Schedule,
        what: &[String],
        mut origin: Origin,
        system: &System,
        layout: &Layout,
        before: f64,
    ) -> Result<Saver, u8> {
        let unsaved: Vec<String> = layout.unsaved().map(|name| format!("`{name}`")).collect();
        if !unsaved.is_empty() {
            let message = format!(
                "`--checkpoint`: {} cannot hand out {} state",
                unsaved.join(", "),
                if unsaved.len() == 1 { "its" } else { "their" }
            );
            let hint = "run without `--checkpoint`; an FMU can be saved if its description says `canSerializeFMUState`";
            report::error(&message, Some(hint));
            return Err(exit::BAD_INPUT);
        }
        let path = schedule.path(what);
        let folder = paths::folder(&path);
        let draft = draft(&path);
        let tried = File::create(&draft).and_then(|_| std::fs::remove_file(&draft));
        let way = tried.and_then(|()| paths::relative(folder, Path::new(".")));
        let way = way.map_err(|cause| {
            let message = format!("cannot write the checkpoint `{}`: {cause}", path.display());
            crate::command::run::unwritable(&message, &path)
        })?;
        origin.folder = way.to_string_lossy().into_owned();
        let start = Time::new(system.experiment.start).unwrap_or_default();
        // The start itself needs no checkpoint.
        let beat = schedule.simulated.map(|every| Beat::new(start, every).after(1));
        let now = Instant::now();
        Ok(Saver {
            whole: std::path::absolute(&path).unwrap_or_else(|_| path.clone()),
            path,
            origin,
            every: schedule.every,
            beat,
            end: schedule.end,
            saved: now,
            begun: now,
            before,
        })
    }

    /// Beats up to the present point are over. What simulators promised is tried once, before anything relies on it.
    pub(crate) fn begin(&mut self, run: &mut Run) -> Result<(), u8> {
        if let Some(beat) = &mut self.beat {
            beat.strikes(run.clock());
        }
        run.save().map(|_| ()).map_err(|error| {
            let hint = "run without `--checkpoint`";
            report::error(&format!("`--checkpoint`: the run cannot be saved: {error}"), Some(hint));
            exit::BAD_INPUT
        })
    }

    /// To be called after every step, with the time where it was looked at.
    pub(crate) fn look(&mut self, run: &mut Run, now: Option<Instant>) {
        let beat = self.beat.as_mut().is_some_and(|beat| beat.strikes(run.clock()));
        let due = now.zip(self.every).is_some_and(|(now, every)| now - self.saved >= every);
        if (beat || due) && !run.finished() {
            self.try_save(run);
        }
    }

    /// After the last step: where the run was stopped, or the end was asked for.
    pub(crate) fn close(&mut self, run: &mut Run) -> Option<&Path> {
        let wanted = !run.finished() || self.end;
        (wanted && self.try_save(run)).then_some(self.path.as_path())
    }

    /// A run is worth more than its checkpoint: where that fails it goes on, and says so.
    fn try_save(&mut self, run: &mut Run) -> bool {
        let saved = self.save(run);
        self.saved = Instant::now();
        if let Err(cause) = &saved {
            eprintln!(
                "remark: at t = {} s no checkpoint was written to `{}`: {cause}; the one before it is whole",
                run.time(),
                self.path.display()
            );
        }
        saved.is_ok()
    }

    fn save(&self, run: &mut Run) -> Result<(), String> {
        let bookmark = run.bookmark().map_err(|error| error.to_string())?;
        let checkpoint = run.save().map_err(|error| error.to_string())?;
        let computing = self.before + self.begun.elapsed().as_secs_f64();
        let time = run.time().seconds();
        let saved = Saved { origin: self.origin.clone(), time, computing, checkpoint, bookmark };
        saved.write(&self.whole).map_err(|cause| cause.to_string())
    }
}

/// Every file that went into a run: those of text that people write first, and how many of them there are.
fn files(what: &[String], changes: &Changes, system: &System, registry: &Registry) -> (Vec<PathBuf>, usize) {
    let mut files: Vec<PathBuf> = Vec::new();
    if let [file] = what
        && !sources::is_source(file, registry)
    {
        files.push(file.into());
    }
    files.extend(changes.scenario.clone());
    let written = files.len();
    for component in &system.components {
        files.extend(sources::file(&component.source).map(|file| system.folder.join(file)));
    }
    files.extend(system.experiment.history.iter().map(|(file, _)| system.folder.join(file)));
    files[written..].sort();
    files.dedup();
    (files, written)
}

/// Every file that goes into a run.
pub(crate) fn read_files(
    what: &[String],
    changes: &Changes,
    system: &System,
    registry: &Registry,
) -> Vec<PathBuf> {
    files(what, changes, system, registry).0
}

/// Every file that went into a run, with its hash; or the one that cannot be read.
pub(crate) fn hashed(
    what: &[String],
    changes: &Changes,
    system: &System,
    registry: &Registry,
) -> Result<Vec<(PathBuf, String)>, (PathBuf, std::io::Error)> {
    let (files, _) = files(what, changes, system, registry);
    let hashed = |file: PathBuf| match hash(&file) {
        Ok(sha256) => Ok((file, sha256)),
        Err(cause) => Err((file, cause)),
    };
    files.into_iter().map(hashed).collect()
}

/// Every file that went into a run, as a checkpoint keeps it.
pub(crate) fn inputs(
    what: &[String],
    changes: &Changes,
    system: &System,
    registry: &Registry,
) -> Result<Vec<Input>, u8> {
    let (files, written) = files(what, changes, system, registry);
    let input = |(place, file): (usize, &PathBuf)| {
        let sha256 = hash(file).map_err(|cause| {
            report::error(&format!("cannot read `{}`: {cause}", file.display()), None);
            exit::NO_FILE
        })?;
        let text = if place < written { std::fs::read_to_string(file).ok() } else { None };
        Ok(Input { file: file.to_string_lossy().into_owned(), sha256, text })
    };
    files.iter().enumerate().map(input).collect()
}

/// Whether the files are as they were; all that are not are told.
pub(crate) fn compare(inputs: &[Input]) -> Result<(), u8> {
    let mut code = Ok(());
    for input in inputs {
        let file = &input.file;
        match hash(Path::new(file)) {
            Ok(now) if now == input.sha256 => {}
            Ok(_) => {
                let message =
                    format!("`{file}` has changed since the checkpoint was made{}", difference(input));
                let hint =
                    "a run goes on only with what it began with; bring the file back, or run from the start";
                report::error(&message, Some(hint));
                code = Err(exit::BAD_INPUT);
            }
            Err(cause) => {
                let message = format!("cannot read `{file}`, which the run began with: {cause}");
                report::error(&message, Some("bring the file back, or run from the start"));
                code = Err(exit::NO_FILE);
            }
        }
    }
    code
}

/// The first line that is not as it was, where that is known.
fn difference(input: &Input) -> String {
    let Some((before, now)) = input.text.as_ref().zip(std::fs::read_to_string(&input.file).ok()) else {
        return String::new();
    };
    let end = ["(end of the file)"];
    let lines = before.lines().chain(end).zip(now.lines().chain(end));
    match lines.enumerate().find(|(_, (before, now))| before != now) {
        Some((place, (before, now))) => {
            format!(": line {} was `{}` and is `{}`", place + 1, before.trim(), now.trim())
        }
        None => String::new(),
    }
}

/// Of a file, or of all files of an unpacked unit in the order of their names.
fn hash(path: &Path) -> std::io::Result<String> {
    if !path.is_dir() {
        return regular(path).and_then(|()| std::fs::read(path)).map(|bytes| sha256(&bytes));
    }
    let entries = std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<Result<Vec<PathBuf>, _>>()?;
    entries.sort();
    let mut all = String::new();
    for entry in entries {
        // By their names inside: where the folder lies is no part of it.
        all += &format!("{} {}\n", entry.file_name().unwrap_or_default().display(), hash(&entry)?);
    }
    Ok(sha256(all.as_bytes()))
}
