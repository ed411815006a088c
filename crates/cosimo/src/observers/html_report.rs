//! The HTML report of a run: what is kept while it runs, and everything that goes onto the page after it. Also that of
//! results alone.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cosimo_core::recorder::Recorder;
use cosimo_core::registry::number_text;
use cosimo_engine::{Layout, MonolithicReference, Run, RunError};
use cosimo_pack::hash::sha256;
use cosimo_report::{
    BondEdge, ComponentFacts, CurveBudget, Diagram, DiagramBox, LineEdge, Reasons, Recording, Rejections,
    Report, Results, RunEnd as Ending, StepCurves, Warning,
};
use cosimo_system::{self as system, Severity, System};

use crate::draft_file::DraftFile;
use crate::error::Error;
use crate::fmu_messages::fmu_messages;
use crate::observer::{Moment, Observer, RunEnd, RunStart};
use crate::outcome::Outcome;
use crate::simulation::{RunInputs, command_line};
use crate::{catalogue, plan_text};

/// Writes the report of a run.
#[derive(Debug)]
pub struct HtmlReport {
    path: PathBuf,
    file: Option<DraftFile>,
    recording: Recording,
    books: StepCurves,
    rejections: Rejections,
    why: Reasons,
}

impl HtmlReport {
    /// Writes to this file.
    pub fn new(file: impl Into<PathBuf>) -> HtmlReport {
        HtmlReport {
            path: file.into(),
            file: None,
            recording: Recording::new(CurveBudget::SIGNALS),
            books: StepCurves::default(),
            rejections: Rejections::default(),
            why: Reasons::default(),
        }
    }
}

impl Observer for HtmlReport {
    fn files(&self, _inputs: &RunInputs) -> Vec<(&'static str, PathBuf)> {
        vec![("--report", self.path.clone())]
    }

    /// Creates the file at once, as a run that cannot write its report should not start.
    fn begin(&mut self, _start: &RunStart<'_>) -> Result<(), Error> {
        self.file =
            Some(DraftFile::create(&self.path).map_err(|cause| Error::cannot_write(&self.path, &cause))?);
        Ok(())
    }

    fn recorder(&mut self) -> Option<Box<dyn Recorder>> {
        Some(Box::new(self.recording.recorder()))
    }

    fn step(&mut self, at: &mut Moment<'_>) -> Result<(), Error> {
        let (time, counters) = (at.time(), at.run().counters());
        if at.is_start() {
            at.take_times();
            let bonds = &at.inputs().system.bonds;
            let lines = bonds.iter().filter_map(|bond| Some((bond.name.as_str(), bond.line.as_ref()?.delay)));
            self.books.begin(at.run(), &lines.collect::<Vec<_>>());
            self.why.begin(time, &counters);
        } else {
            self.books.observe(at.run());
            self.rejections.observe(time, counters.rejected);
            self.why.observe(time, &counters);
        }
        Ok(())
    }

    fn end(&mut self, end: &mut RunEnd<'_>) -> Result<(), Error> {
        let (Some((run, outcome)), Some(mut file)) = (&end.started, self.file.take()) else { return Ok(()) };
        self.write(end.inputs, end.error, (run, outcome), &mut file)
            .and_then(|()| file.place())
            .map_err(|cause| Error::cannot_write(&self.path, &cause))
    }
}

impl HtmlReport {
    fn write(
        &mut self,
        inputs: &RunInputs,
        error: Option<&Error>,
        (run, outcome): (&Run, &Outcome),
        file: &mut DraftFile,
    ) -> std::io::Result<()> {
        let (system, layout) = (&inputs.system, run.layout());
        let components: Vec<ComponentFacts<'_>> =
            system.components.iter().map(|named| component(named, layout)).collect();
        let page = Report {
            name: &name(&inputs.what),
            file: &inputs.what.join(" "),
            outcome: ending(error, outcome),
            summary: &outcome.summary,
            accuracy: Some(&outcome.accuracy),
            energy: &outcome.summary.text(),
            span: (system.experiment.start, system.experiment.stop),
            reasons: &outcome.step_reasons(),
            computing: Some(outcome.wall_time),
            threads: run.threads(),
            monolithic: outcome.compared(),
            warnings: &warnings(inputs, run),
            diagram: Some(&diagram(inputs, run, outcome)),
            plan: &plan_text::text(system, layout, &inputs.registry),
            components: &components,
            inputs: &read_files(inputs),
            origin: &origin(command_line()),
            curves: &self.recording.curves(),
            books: &self.books.curves(),
            why: &self.why,
            rejections: &self.rejections,
        };
        cosimo_report::write(&page, file)
    }
}

fn warnings(inputs: &RunInputs, run: &Run) -> Vec<Warning> {
    let of_run = run.warnings().iter().filter(|problem| problem.severity == Severity::Warning);
    let mut warnings: Vec<Warning> =
        of_run.map(|problem| warning(problem.code, crate::error::with_remedy(problem))).collect();
    warnings.extend(fmu_messages().iter().map(|(_, words)| uncoded(format!("FMU {words}"))));
    warnings.extend(inputs.resumed.as_ref().map(|resumed| {
        uncoded(format!(
            "resumed at t = {} s from `{}`: curves and rejected steps are drawn from there on; ledger, verdict and \
             counts are those of the whole run",
            resumed.time, resumed.file
        ))
    }));
    warnings
}

/// A page of results alone: there is no plan, and what went in is not known.
pub fn write_results_report(file: &Path, results: &Results, out: &Path) -> Result<(), Error> {
    let bytes = std::fs::read(file)
        .map_err(|cause| Error::unwritable(format!("cannot read `{}`: {cause}", file.display()), out))?;
    let ours = ["step", "scenario", "time"];
    let mut names: Vec<&str> = Vec::new();
    for name in &results.curves.columns.names {
        let owner = name.rsplit_once('.').map_or("", |(owner, _)| owner);
        let known = owner.is_empty() || owner.starts_with("bond.") || ours.contains(&owner);
        if !known && !names.contains(&owner) {
            names.push(owner);
        }
    }
    let components: Vec<ComponentFacts<'_>> =
        names.into_iter().map(|name| ComponentFacts { name, facts: Vec::new() }).collect();
    let rows = results.curves.rows;
    let broken = results.broken.iter();
    let warnings: Vec<Warning> = broken
        .map(|(name, count)| uncoded(format!("`{name}` is no number in {count} of {rows} rows")))
        .collect();
    let name = file.display().to_string();
    let page = Report {
        name: &self::name(std::slice::from_ref(&name)),
        file: &name,
        outcome: Ending::Finished,
        summary: &results.summary,
        accuracy: None,
        energy: &results.energy,
        span: (results.start, results.summary.time),
        reasons: "",
        computing: None,
        threads: 1,
        monolithic: MonolithicReference::default(),
        warnings: &warnings,
        diagram: None,
        plan: "",
        components: &components,
        inputs: &[(name.clone(), sha256(&bytes))],
        origin: &origin(command_line()),
        curves: &results.curves,
        books: &results.books,
        why: &Reasons::default(),
        rejections: &Rejections::default(),
    };
    let mut to = DraftFile::create(out).map_err(|cause| Error::cannot_write(out, &cause))?;
    cosimo_report::write(&page, &mut to)
        .and_then(|()| to.place())
        .map_err(|cause| Error::cannot_write(out, &cause))
}

/// A message with what its code means.
fn warning(code: &'static str, message: String) -> Warning {
    Warning { code, message, meaning: catalogue::page(code).map(|page| page.text).unwrap_or_default() }
}

fn uncoded(message: String) -> Warning {
    Warning { message, ..Warning::default() }
}

/// A system with lines as its file has it: its plan shows islands without anything between them, and the time of all of
/// them is spent in the calls of one.
fn with_lines(system: &System) -> Diagram {
    let owner = |path: &str| {
        let owns = |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let owners = (0..system.components.len()).filter(|&k| owns(&system.components[k].name));
        owners.max_by_key(|&k| system.components[k].name.len())
    };
    let unit = |component: &system::Component| DiagramBox {
        name: component.name.clone(),
        about: component.source.clone(),
        seconds: None,
    };
    let mut diagram = Diagram { units: system.components.iter().map(unit).collect(), ..Diagram::default() };
    for bond in &system.bonds {
        let (Some(a), Some(b)) = (owner(&bond.a.effort.0), owner(&bond.b.effort.0)) else { continue };
        match &bond.line {
            Some(line) => diagram.lines.push(LineEdge {
                name: bond.name.clone(),
                ends: (a, b),
                delay: line.delay,
                most: if line.steady.is_some() { line.most[0].max(line.most[1]) } else { 1.0 },
            }),
            None => diagram.bonds.push(BondEdge { name: bond.name.clone(), ends: vec![a, b] }),
        }
    }
    for junction in &system.junctions {
        let ends = junction.sides.iter().filter_map(|side| owner(&side.port.effort.0)).collect();
        diagram.bonds.push(BondEdge { name: junction.name.clone(), ends });
    }
    for wire in &system.connections {
        for from in &wire.from {
            if let (Some(a), Some(b)) = (owner(&from.port.0), owner(&wire.to.0)) {
                diagram.wire(a, b, format!("{} → {}", from.port.0, wire.to.0));
            }
        }
    }
    diagram
}

/// The system with what is known about its components.
fn diagram(inputs: &RunInputs, run: &Run, outcome: &Outcome) -> Diagram {
    if outcome.summary.net.is_some() {
        return with_lines(&inputs.system);
    }
    let mut diagram = Diagram::of(run.layout());
    for (unit, (_, spent)) in diagram.units.iter_mut().zip(run.time_per_component()) {
        unit.seconds = Some(spent.as_secs_f64());
    }
    for (unit, interface) in diagram.units.iter_mut().zip(&run.layout().topology.interfaces) {
        let component = inputs.system.components.iter().find(|component| component.name == unit.name);
        unit.about = match component {
            Some(component) => component.source.clone(),
            None => format!("{} integrated together", interface.members.join(", ")),
        };
    }
    diagram
}

/// What is known about a component's origin, be it alone or joined with others.
fn component<'a>(component: &'a system::Component, layout: &Layout) -> ComponentFacts<'a> {
    let source = ("source".to_owned(), component.source.clone());
    let alone = layout.topology.names.iter().position(|name| *name == component.name);
    let joined = || {
        let mut interfaces = layout.topology.interfaces.iter();
        interfaces.position(|interface| interface.members.contains(&component.name))
    };
    let facts = match (alone, joined()) {
        (Some(index), _) => layout.topology.interfaces[index].facts.clone(),
        (None, Some(index)) => {
            let suffix = format!(" of {}", component.name);
            let own = |(word, value): &(String, String)| {
                word.strip_suffix(&suffix).map(|word| (word.to_owned(), value.clone()))
            };
            let group = ("integrated in".to_owned(), layout.topology.names[index].clone());
            std::iter::once(group)
                .chain(layout.topology.interfaces[index].facts.iter().filter_map(own))
                .collect()
        }
        (None, None) => Vec::new(),
    };
    let own = component
        .step
        .as_ref()
        .map(|(every, _)| ("own step".to_owned(), format!("{} s", number_text(*every))));
    ComponentFacts { name: &component.name, facts: std::iter::once(source).chain(own).chain(facts).collect() }
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

fn ending(error: Option<&Error>, outcome: &Outcome) -> Ending {
    match (error, error.and_then(Error::run_error)) {
        (_, Some(RunError::Step(step))) => {
            Ending::Failed { error: warning(step.code(), step.to_string()), hint: step.hint() }
        }
        (Some(error), _) => Ending::Failed { error: uncoded(error.to_string()), hint: String::new() },
        (None, _) if outcome.summary.finished => Ending::Finished,
        (None, _) => Ending::Interrupted,
    }
}

fn read_files(inputs: &RunInputs) -> Vec<(String, String)> {
    let texts = inputs.files.iter();
    let mut files: Vec<(String, String)> =
        texts.map(|file| (file.name.clone(), sha256(file.text.as_bytes()))).collect();
    if let Some((history, _)) = &inputs.system.experiment.history {
        let path = inputs.system.folder.join(history);
        let hash = match std::fs::read(&path) {
            Ok(bytes) => sha256(&bytes),
            Err(cause) => format!("could not be read again: {cause}"),
        };
        files.push((path.display().to_string(), hash));
    }
    files
}

fn origin(command: String) -> [(&'static str, String); 4] {
    [
        ("command", command),
        ("version", format!("cosimo {}", env!("CARGO_PKG_VERSION"))),
        ("target", format!("{} {}", std::env::consts::ARCH, std::env::consts::OS)),
        ("date", humantime::format_rfc3339_seconds(SystemTime::now()).to_string()),
    ]
}
