//! The HTML report of a run: what is kept while it runs, and everything that goes onto the page after it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cosimo::core::Registry;
use cosimo::core::entry::number_text;
use cosimo::engine::{Layout, Run, RunError, Summary};
use cosimo::record::Tee;
use cosimo::report::{Component, Outcome, Recording, Rejections, Report, sha256};
use cosimo::system::{self, Files, System};

use crate::command::explain;
use crate::report;

pub(crate) struct Page {
    path: PathBuf,
    file: BufWriter<File>,
    recording: Recording,
    rejections: Rejections,
}

/// What a run leaves behind for its page.
pub(crate) struct Told<'a> {
    /// What the run was asked to run.
    pub what: &'a [String],
    /// The texts that the system was read from.
    pub files: &'a Files,
    pub system: &'a System,
    pub registry: &'a Registry,
    pub run: &'a Run,
    pub summary: &'a Summary,
    pub error: Option<&'a RunError>,
    pub reasons: &'a str,
    pub elapsed: Duration,
    /// The checkpoint that the run went on from, and its time.
    pub resumed: Option<(&'a str, f64)>,
}

impl Page {
    /// Creates the file at once, as a run that cannot write its report should not start, and joins the recorders.
    /// Files that the run reads or writes itself are not taken.
    pub(crate) fn create(path: &Path, taken: &[&Path], recorders: &mut Tee) -> Result<Page, String> {
        let real = path.canonicalize().ok();
        for other in taken {
            if *other == path || (real.is_some() && other.canonicalize().ok() == real) {
                return Err(format!(
                    "the report must have a file of its own, `{}` is taken",
                    other.display()
                ));
            }
        }
        let file = File::create(path).map_err(|cause| unwritten(path, &cause))?;
        let recording = Recording::default();
        recorders.0.push(Box::new(recording.recorder()));
        Ok(Page {
            path: path.into(),
            file: BufWriter::new(file),
            recording,
            rejections: Rejections::default(),
        })
    }

    /// To be called after every step.
    pub(crate) fn look(&mut self, run: &Run) {
        self.rejections.look(run.time().seconds(), run.counters().rejected);
    }

    pub(crate) fn write(mut self, told: &Told<'_>) -> Result<(), String> {
        let layout = told.run.layout();
        let components: Vec<Component<'_>> =
            told.system.components.iter().map(|named| component(named, layout)).collect();
        let experiment = &told.system.experiment;
        let mut remarks = report::remark_lines(told.run.remarks());
        remarks.extend(told.resumed.map(|(file, from)| {
            format!(
                "resumed at t = {from} s from `{file}`: curves and rejected steps are drawn from there on; ledger, \
                 verdict and counts are those of the whole run"
            )
        }));
        let page = Report {
            name: &name(told.what),
            file: &told.what.join(" "),
            outcome: outcome(told),
            summary: told.summary,
            span: (experiment.start, experiment.stop),
            reasons: told.reasons,
            computing: told.elapsed,
            remarks: &remarks,
            plan: &explain::text(told.system, told.run.layout(), told.registry),
            components: &components,
            inputs: &inputs(told),
            origin: &origin(),
            curves: &self.recording.curves(),
            rejections: &self.rejections,
        };
        cosimo::report::write(&page, &mut self.file)
            .and_then(|()| self.file.flush())
            .map_err(|cause| unwritten(&self.path, &cause))
    }
}

fn unwritten(path: &Path, cause: &std::io::Error) -> String {
    format!("cannot write `{}`: {cause}", path.display())
}

/// What is known about a component's origin, be it alone or joined with others.
fn component<'a>(component: &'a system::Component, layout: &Layout) -> Component<'a> {
    let source = ("source".to_owned(), component.source.clone());
    let alone = layout.names.iter().position(|name| *name == component.name);
    let joined = || {
        let mut interfaces = layout.interfaces.iter();
        interfaces.position(|interface| interface.members.contains(&component.name))
    };
    let facts = match (alone, joined()) {
        (Some(index), _) => layout.interfaces[index].facts.clone(),
        (None, Some(index)) => {
            let suffix = format!(" of {}", component.name);
            let own = |(word, value): &(String, String)| {
                word.strip_suffix(&suffix).map(|word| (word.to_owned(), value.clone()))
            };
            let group = ("integrated in".to_owned(), layout.names[index].clone());
            std::iter::once(group).chain(layout.interfaces[index].facts.iter().filter_map(own)).collect()
        }
        (None, None) => Vec::new(),
    };
    let own = component
        .step
        .as_ref()
        .map(|(every, _)| ("own step".to_owned(), format!("{} s", number_text(*every))));
    Component { name: &component.name, facts: std::iter::once(source).chain(own).chain(facts).collect() }
}

/// Most systems are a `system.toml` in a folder of their name.
fn name(what: &[String]) -> String {
    let [file] = what else { return what.join(" and ") };
    let file = Path::new(file);
    let stem = file.file_stem().unwrap_or_default();
    let folder = file.canonicalize().ok().and_then(|path| Some(path.parent()?.file_name()?.to_owned()));
    let name = if stem == "system" { folder.unwrap_or(stem.to_owned()) } else { stem.to_owned() };
    name.to_string_lossy().into_owned()
}

fn outcome(told: &Told<'_>) -> Outcome {
    match told.error {
        Some(RunError::Step(step)) => Outcome::Failed { message: step.to_string(), hint: step.hint() },
        Some(RunError::Record(record)) => {
            Outcome::Failed { message: record.to_string(), hint: String::new() }
        }
        None if told.summary.finished => Outcome::Finished,
        None => Outcome::Interrupted,
    }
}

fn inputs(told: &Told<'_>) -> Vec<(String, String)> {
    let mut inputs = Vec::new();
    for file in told.files.iter() {
        inputs.push((file.name.clone(), sha256(file.text.as_bytes())));
    }
    if let Some((history, _)) = &told.system.experiment.history {
        let path = told.system.folder.join(history);
        let hash = match std::fs::read(&path) {
            Ok(bytes) => sha256(&bytes),
            Err(cause) => format!("could not be read again: {cause}"),
        };
        inputs.push((path.display().to_string(), hash));
    }
    inputs
}

fn origin() -> [(&'static str, String); 4] {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let command: Vec<String> = std::iter::once(program).chain(words.map(quoted)).collect();
    [
        ("command", command.join(" ")),
        ("version", format!("cosimo {}", env!("CARGO_PKG_VERSION"))),
        ("target", format!("{} {}", std::env::consts::ARCH, std::env::consts::OS)),
        ("date", humantime::format_rfc3339_seconds(SystemTime::now()).to_string()),
    ]
}

/// As a shell takes it.
pub(crate) fn quoted(word: String) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_=+./,:@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
