//! The HTML report of a run: what is kept while it runs, and everything that goes onto the page after it. Also that of
//! results alone.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cosimo::core::Registry;
use cosimo::core::entry::number_text;
use cosimo::engine::{Layout, Run, RunError, Summary};
use cosimo::record::Tee;
use cosimo::report::{
    Books, Component, Delayed, Diagram, Outcome, Reasons, Recording, Rejections, Remark, Report, Results,
    Room, Tie, Undivided, Unit, sha256,
};
use cosimo::system::{self, Files, System};

use crate::command::explain;
use crate::draft::Draft;
use crate::{catalogue, report};

pub(crate) struct Page {
    path: PathBuf,
    file: Draft,
    recording: Recording,
    books: Books,
    rejections: Rejections,
    why: Reasons,
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
    pub undivided: &'a Undivided<'a>,
    pub elapsed: Duration,
    /// The checkpoint that the run went on from, and its time.
    pub resumed: Option<(&'a str, f64)>,
}

impl Page {
    /// Creates the file at once, as a run that cannot write its report should not start, and joins the recorders.
    pub(crate) fn create(path: &Path, recorders: &mut Tee) -> Result<Page, String> {
        let file = Draft::create(path).map_err(|cause| unwritten(path, &cause))?;
        let recording = Recording::new(Room::SIGNALS);
        recorders.0.push(Box::new(recording.recorder()));
        Ok(Page {
            path: path.into(),
            file,
            recording,
            books: Books::default(),
            rejections: Rejections::default(),
            why: Reasons::default(),
        })
    }

    /// To be called before the first step.
    pub(crate) fn begin(&mut self, run: &mut Run, system: &System) {
        run.take_times();
        let lines =
            system.bonds.iter().filter_map(|bond| Some((bond.name.as_str(), bond.line.as_ref()?.delay)));
        self.books.begin(run, &lines.collect::<Vec<_>>());
        self.why.begin(run.time().seconds(), &run.counters());
    }

    /// To be called after every step.
    pub(crate) fn look(&mut self, run: &Run) {
        let (time, counters) = (run.time().seconds(), run.counters());
        self.books.look(run);
        self.rejections.look(time, counters.rejected);
        self.why.look(time, &counters);
    }

    pub(crate) fn write(mut self, told: &Told<'_>) -> Result<(), String> {
        let layout = told.run.layout();
        let components: Vec<Component<'_>> =
            told.system.components.iter().map(|named| component(named, layout)).collect();
        let experiment = &told.system.experiment;
        let mut remarks: Vec<Remark> =
            report::remark_lines(told.run.remarks()).map(|(code, message)| remark(code, message)).collect();
        remarks.extend(cosimo::fmi::messages().iter().map(|message| uncoded(format!("FMU {message}"))));
        remarks.extend(told.resumed.map(|(file, from)| {
            uncoded(format!(
                "resumed at t = {from} s from `{file}`: curves and rejected steps are drawn from there on; ledger, \
                 verdict and counts are those of the whole run"
            ))
        }));
        let page = Report {
            name: &name(told.what),
            file: &told.what.join(" "),
            outcome: outcome(told),
            summary: told.summary,
            words: &told.summary.words(),
            span: (experiment.start, experiment.stop),
            reasons: told.reasons,
            computing: Some(told.elapsed),
            threads: told.run.threads(),
            undivided: *told.undivided,
            remarks: &remarks,
            diagram: Some(&diagram(told)),
            plan: &explain::text(told.system, told.run.layout(), told.registry),
            components: &components,
            inputs: &inputs(told),
            origin: &origin(),
            curves: &self.recording.curves(),
            books: &self.books.curves(),
            why: &self.why,
            rejections: &self.rejections,
        };
        cosimo::report::write(&page, &mut self.file)
            .and_then(|()| self.file.place())
            .map_err(|cause| unwritten(&self.path, &cause))
    }
}

/// The one of the files that a path would replace.
pub(crate) fn taken<'a>(path: &Path, files: &[&'a Path]) -> Option<&'a Path> {
    let real = path.canonicalize().ok();
    let same = |other: &&&Path| **other == path || (real.is_some() && other.canonicalize().ok() == real);
    files.iter().find(same).copied()
}

/// A page of results alone: there is no plan, and nobody knows what went in.
pub(crate) fn of_results(file: &Path, results: &Results, out: &Path) -> Result<(), String> {
    let bytes = std::fs::read(file).map_err(|cause| format!("cannot read `{}`: {cause}", file.display()))?;
    let ours = ["step", "scenario", "time"];
    let mut names: Vec<&str> = Vec::new();
    for name in &results.curves.columns.names {
        let owner = name.rsplit_once('.').map_or("", |(owner, _)| owner);
        let known = owner.is_empty() || owner.starts_with("bond.") || ours.contains(&owner);
        if !known && !names.contains(&owner) {
            names.push(owner);
        }
    }
    let components: Vec<Component<'_>> =
        names.into_iter().map(|name| Component { name, facts: Vec::new() }).collect();
    let rows = results.curves.rows;
    let broken = results.broken.iter();
    let remarks: Vec<Remark> = broken
        .map(|(name, count)| uncoded(format!("`{name}` is no number in {count} of {rows} rows")))
        .collect();
    let name = file.display().to_string();
    let page = Report {
        name: &self::name(std::slice::from_ref(&name)),
        file: &name,
        outcome: Outcome::Finished,
        summary: &results.summary,
        words: &results.words,
        span: (results.start, results.summary.time),
        reasons: "",
        computing: None,
        threads: 1,
        undivided: Undivided::default(),
        remarks: &remarks,
        diagram: None,
        plan: "",
        components: &components,
        inputs: &[(name.clone(), sha256(&bytes))],
        origin: &origin(),
        curves: &results.curves,
        books: &results.books,
        why: &Reasons::default(),
        rejections: &Rejections::default(),
    };
    let mut to = Draft::create(out).map_err(|cause| unwritten(out, &cause))?;
    cosimo::report::write(&page, &mut to).and_then(|()| to.place()).map_err(|cause| unwritten(out, &cause))
}

/// A message with what its code means.
fn remark(code: &'static str, message: String) -> Remark {
    Remark { code, message, meaning: catalogue::page(code).map(|page| page.text).unwrap_or_default() }
}

fn uncoded(message: String) -> Remark {
    Remark { message, ..Remark::default() }
}

/// A system with lines as its file has it: its plan shows islands without anything between them, and the time of all of
/// them is spent in the calls of one.
fn with_lines(system: &System) -> Diagram {
    let owner = |path: &str| {
        let owns = |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let owners = (0..system.components.len()).filter(|&k| owns(&system.components[k].name));
        owners.max_by_key(|&k| system.components[k].name.len())
    };
    let unit = |component: &system::Component| Unit {
        name: component.name.clone(),
        about: component.source.clone(),
        seconds: None,
    };
    let mut diagram = Diagram { units: system.components.iter().map(unit).collect(), ..Diagram::default() };
    for bond in &system.bonds {
        let (Some(a), Some(b)) = (owner(&bond.a.effort.0), owner(&bond.b.effort.0)) else { continue };
        match &bond.line {
            Some(line) => diagram.lines.push(Delayed {
                name: bond.name.clone(),
                ends: (a, b),
                delay: line.delay,
                most: if line.steady.is_some() { line.most[0].max(line.most[1]) } else { 1.0 },
            }),
            None => diagram.bonds.push(Tie { name: bond.name.clone(), ends: vec![a, b] }),
        }
    }
    for junction in &system.junctions {
        let ends = junction.sides.iter().filter_map(|side| owner(&side.port.effort.0)).collect();
        diagram.bonds.push(Tie { name: junction.name.clone(), ends });
    }
    for wire in &system.wires {
        for from in &wire.from {
            if let (Some(a), Some(b)) = (owner(&from.port.0), owner(&wire.to.0)) {
                diagram.wire(a, b, format!("{} → {}", from.port.0, wire.to.0));
            }
        }
    }
    diagram
}

/// The system with what is known about its units.
fn diagram(told: &Told<'_>) -> Diagram {
    if told.summary.net.is_some() {
        return with_lines(told.system);
    }
    let mut diagram = Diagram::of(told.run.layout());
    for (unit, (_, spent)) in diagram.units.iter_mut().zip(told.run.spent()) {
        unit.seconds = Some(spent.as_secs_f64());
    }
    for (unit, interface) in diagram.units.iter_mut().zip(&told.run.layout().interfaces) {
        let component = told.system.components.iter().find(|component| component.name == unit.name);
        unit.about = match component {
            Some(component) => component.source.clone(),
            None => format!("{} integrated together", interface.members.join(", ")),
        };
    }
    diagram
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
        Some(RunError::Step(step)) => {
            Outcome::Failed { error: remark(step.code(), step.to_string()), hint: step.hint() }
        }
        Some(RunError::Record(record)) => {
            Outcome::Failed { error: uncoded(record.to_string()), hint: String::new() }
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
