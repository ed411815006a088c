//! From a path and overrides to a planned system, or to everything that is wrong with it.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use cosimo::core::Registry;
use cosimo::core::entry::suggest;
use cosimo::engine::{Plan, plan};
use cosimo::system::{
    Asked, Document, EndRule, Files, Overrides, Problem, Scenario, Severity, System, format, overrides,
    regular, scenario, sources,
};

use crate::{exit, foreign, paths, report};

/// Changes to the file that every command which plans a system understands.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Changes {
    /// Which system of a package that holds several, by the name of its description
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// End of the run, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub stop: Option<f64>,
    /// Cut the last step to hit the stop time, or run to the first point at or after it
    #[arg(long, value_enum)]
    pub end: Option<End>,
    /// Step size in seconds: the fixed one, or the first one where steps vary
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    pub step: Option<f64>,
    /// A step of its own for a component, in seconds: a multiple or a fraction of the common step
    #[arg(long = "own-step", value_name = "COMPONENT=S")]
    pub own_steps: Vec<String>,
    /// Tolerance of the error estimate that controls the step; beats those of single bonds and components
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    pub tolerance: Option<f64>,
    /// The integrator of FMUs for model exchange: bdf, dormand-prince, bogacki-shampine or, where built in, cvode
    #[arg(long, value_name = "NAME")]
    pub solver: Option<String>,
    /// A parameter, or an input that nobody drives: component.name=value, or name=value for all that have it
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub sets: Vec<String>,
    /// A connection from an output to an input: a.y=b.u
    #[arg(long = "connect", value_name = "OUTPUT=INPUT")]
    pub connects: Vec<String>,
    /// A power bond: name=effort:flow~effort:flow, as in joint=a.F:a.v~b.F:b.v
    #[arg(long = "bond", value_name = "NAME=PORTS")]
    pub bonds: Vec<String>,
    /// FMUs for model exchange that are integrated together, without any coupling error: a,b, or * for all
    #[arg(long = "strong", value_name = "NAMES")]
    pub strong: Vec<String>,
    /// What happens during the run: a file of timed and conditional actions
    ///
    /// Each `[[action]]` has `at = 2.0` or `when = "a.v > 1 and not t < 2"` (with `once = false` each time that becomes true)
    /// and does one thing: `set = "b.u"` `to = 1.0` for an input that nobody drives; `override` (`to`), `stuck`, `scale` (`by`)
    /// and `offset` (`by`) for what an input is told, or what everybody is told of an output, and `release`;
    /// `parameter = "b.m"` `to = 2.0`; `stop = true`. A `name` is shown in the results. Actions on one signal replace each other.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// A table whose columns drive the inputs of the same names
    #[arg(long, value_name = "FILE")]
    pub input: Option<String>,
    /// A method: axis=name, or axis={ name = { option = value } } as in the file's [method]; `cosimo methods` lists all axes
    #[arg(long = "method", value_name = "AXIS=NAME")]
    pub methods: Vec<String>,
    /// Variables that go into result files, with * and ?; !PATTERN leaves out, the last that fits decides
    #[arg(long = "record", value_name = "PATTERN", allow_hyphen_values = true)]
    pub record: Vec<String>,
    /// Seconds from row to row of result files [default: every communication point]
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub record_every: Option<f64>,
}

impl Changes {
    fn asked(&self) -> Asked {
        Asked { variant: self.variant.clone() }
    }

    /// Whether the command line says what a warning about the file asks for.
    fn answers(&self, problem: &Problem) -> bool {
        problem.code == "osp/end" && self.stop.is_some()
    }

    /// For a system in a folder. Paths of the command line begin where the command was given, those of a system at its
    /// folder; what is not found here may be meant to be there.
    fn overrides(&self, folder: &Path) -> Overrides {
        let from_here = |file: &String| {
            let path = Path::new(file);
            let elsewhere = path.is_relative() && path.exists() && !paths::same(folder, Path::new("."));
            let seen = if elsewhere { paths::relative(folder, path).ok() } else { None };
            seen.map_or_else(|| file.clone(), |path| path.display().to_string())
        };
        Overrides {
            stop: self.stop,
            end: self.end.map(|end| match end {
                End::Exact => EndRule::Exact,
                End::After => EndRule::After,
            }),
            step: self.step,
            own_steps: self.own_steps.clone(),
            tolerance: self.tolerance,
            connects: self.connects.clone(),
            bonds: self.bonds.clone(),
            strong: self.strong.clone(),
            input: self.input.as_ref().map(from_here),
            solver: self.solver.clone(),
            sets: self.sets.clone(),
            methods: self.methods.clone(),
            record: self.record.clone(),
            record_every: self.record_every,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum End {
    Exact,
    After,
}

pub(crate) struct Loaded {
    /// The texts that the system was read from.
    pub files: Files,
    pub system: System,
    pub plan: Plan,
}

/// Reads a system file without planning it; what problems are left are remarks. Its format follows from its ending.
pub(crate) fn read(file: &Path, asked: &Asked, registry: &Registry) -> Result<Document, u8> {
    let document = document(file, asked, registry)?;
    if document.has_errors() {
        report::problems(&document.problems, &document.files);
        return Err(exit::BAD_INPUT);
    }
    Ok(document)
}

/// As much of a system file as could be understood.
fn document(file: &Path, asked: &Asked, registry: &Registry) -> Result<Document, u8> {
    if let Some(found) = foreign::recognise(file) {
        let (shown, what) = (file.display(), found.what);
        let words = format!(
            "`{shown}` is {what}; expected a system (.toml, .ssp, .ssd, OspSystemStructure.xml) or FMUs"
        );
        report::error(&words, Some(&found.hint));
        return Err(exit::BAD_INPUT);
    }
    let reader = format::of_file(cosimo::SYSTEM_FORMATS, file).unwrap_or(cosimo::SYSTEM_FORMATS[0]);
    (reader.read)(file, asked, registry).map_err(|unreadable| {
        let hint = if file.is_dir() {
            let inside = file.join("system.toml");
            Some(if inside.exists() {
                format!("this is a folder; did you mean `{}`?", inside.display())
            } else {
                "this is a folder; a system file in it is wanted, or FMUs".into()
            })
        } else if !file.exists() {
            nearby(file)
        } else {
            unreadable.hint
        };
        report::error(&unreadable.message, hint.as_deref());
        if unreadable.malformed { exit::BAD_INPUT } else { exit::NO_FILE }
    })
}

fn of_sources(what: &[String], changes: &Changes, registry: &Registry) -> Result<Document, u8> {
    exist(what, registry)?;
    let (system, mut problems) = sources::system(what, registry);
    if changes.variant.is_some() {
        let message = "`--variant`: simulators have no variants, only packages have";
        problems.push(Problem::error("override/variant", message, 0..0));
    }
    Ok(Document { system, problems, files: Files::default(), rest: None })
}

/// Reads a system file, or makes a system of the sources themselves, with the changes of the command line in it as far
/// as they fit. Fails only where a file cannot be read.
pub(crate) fn draft(what: &[String], changes: &Changes, registry: &Registry) -> Result<Document, u8> {
    let mut draft = match what {
        [file] if !sources::is_source(file, registry) => {
            document(Path::new(file), &changes.asked(), registry)?
        }
        several => of_sources(several, changes, registry)?,
    };
    draft.problems.retain(|problem| !changes.answers(problem));
    let overrides = changes.overrides(&draft.system.folder);
    draft.problems.extend(overrides::apply(&mut draft.system, &overrides, registry));
    Ok(draft)
}

/// Remarks of a file, with their places: they are shown among those of the plan.
fn placed(remarks: Vec<Problem>, files: &Files) -> Vec<Problem> {
    let place = |mut remark: Problem| {
        if let Some((file, span)) = files.find(&remark.span) {
            let line = file.text.as_bytes()[..span.start].iter().filter(|byte| **byte == b'\n').count() + 1;
            remark.message = format!("{}:{line}: {}", file.name, remark.message);
        }
        remark
    };
    remarks.into_iter().map(place).collect()
}

/// Reads and plans a system file, or a system made of the sources themselves.
pub(crate) fn load(what: &[String], changes: &Changes, registry: &Registry) -> Result<Loaded, u8> {
    let (mut remarks, Document { files, mut system, mut problems, .. }) = match what {
        [file] if !sources::is_source(file, registry) => {
            let mut document = read(Path::new(file), &changes.asked(), registry)?;
            document.problems.retain(|problem| !changes.answers(problem));
            (placed(std::mem::take(&mut document.problems), &document.files), document)
        }
        several => (Vec::new(), of_sources(several, changes, registry)?),
    };
    let overrides = changes.overrides(&system.folder);
    problems.extend(overrides::apply(&mut system, &overrides, registry));
    let (errors, warnings): (Vec<Problem>, Vec<Problem>) =
        problems.into_iter().partition(|problem| problem.severity == Severity::Error);
    problems = errors;
    remarks.extend(warnings);
    let acted = changes.scenario.as_deref().map(read_scenario).transpose()?;
    let (scenario_path, scenario_text) = acted.map_or_else(Default::default, |(path, text, scenario)| {
        system.scenario = Some(scenario);
        (path, text)
    });
    match plan(&system, registry) {
        Ok(mut plan) if problems.is_empty() => {
            plan.remarks.splice(0..0, remarks);
            return Ok(Loaded { files, system, plan });
        }
        Ok(_) => {}
        Err(found) => problems.extend(found),
    }
    let (acts, rest): (Vec<Problem>, Vec<Problem>) =
        problems.into_iter().partition(|problem| problem.code.starts_with("scenario/"));
    report::problems(&rest, &files);
    report::problems(&acts, &Files::one(&scenario_path, &scenario_text));
    Err(exit::BAD_INPUT)
}

/// Reads a scenario, whose names are not looked up yet.
fn read_scenario(file: &Path) -> Result<(String, String, Scenario), u8> {
    let path = file.display().to_string();
    let read = regular(file).and_then(|()| std::fs::read_to_string(file));
    let text = read.map_err(|cause| {
        let missing = cause.kind() == std::io::ErrorKind::NotFound;
        let hint = if missing { nearby(file) } else { None };
        report::error(&format!("cannot read the scenario `{path}`: {cause}"), hint.as_deref());
        exit::NO_FILE
    })?;
    let (scenario, problems) = scenario::read(&text);
    if problems.is_empty() {
        return Ok((path, text, scenario));
    }
    report::problems(&problems, &Files::one(&path, &text));
    Err(exit::BAD_INPUT)
}

/// Whether all of them are sources, and their files are there.
pub(crate) fn exist(what: &[String], registry: &Registry) -> Result<(), u8> {
    for text in what {
        if !sources::is_source(text, registry) {
            let kinds: Vec<String> =
                registry.sources.iter().map(|kind| format!("`{}` ({})", kind.name, kind.summary)).collect();
            report::error(
                &format!("`{text}` is no simulator; wanted is one system file, or nothing but simulators"),
                Some(&format!("known kinds are {}", kinds.join(", "))),
            );
            return Err(exit::BAD_INPUT);
        }
        if let Some(file) = sources::file(text)
            && let Err(cause) = std::fs::metadata(file)
        {
            report::error(&format!("cannot read `{file}`: {cause}"), nearby(Path::new(file)).as_deref());
            return Err(exit::NO_FILE);
        }
    }
    Ok(())
}

/// Files next to a path that does not exist, with the same ending; or what to look at where there are none.
fn nearby(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let ending = file.extension();
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension() == ending)
        .collect();
    names.sort();
    let wanted = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Some(if names.is_empty() {
        "check the path: it begins at the folder in which the command is given".into()
    } else {
        match suggest(&wanted, names.iter().map(String::as_str)) {
            near if near.starts_with("did you mean") => near,
            _ => format!("`{}` has {}", folder.display(), names.join(", ")),
        }
    })
}
