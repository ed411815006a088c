//! From a path and overrides to a planned system, or to everything that is wrong with it.

use std::path::{Path, PathBuf};

use cosimo_core::Registry;
use cosimo_core::registry::suggest;
use cosimo_engine::{Plan, plan};
use cosimo_system::{
    Document, Files, Overrides, Problem, ReadOptions, Scenario, Severity, System, check_regular_file, format,
    overrides, scenario, sources,
};

use crate::error::{Error, ErrorKind};
use crate::{SYSTEM_FORMATS, foreign, paths};

/// Options for opening a system.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// SSP with several .ssd files: which one.
    pub variant: Option<String>,
    /// A file of timed and conditional actions.
    pub scenario: Option<PathBuf>,
    /// Changes to the system, as on the command line.
    pub overrides: Overrides,
}

impl OpenOptions {
    fn asked(&self) -> ReadOptions {
        ReadOptions { variant: self.variant.clone() }
    }

    /// Whether the command line resolves a warning about the file.
    fn answers(&self, problem: &Problem) -> bool {
        problem.code == "osp/end" && self.overrides.stop.is_some()
    }

    /// For a system in a folder. Paths that are given begin at the working folder, those of a system at its own; a path
    /// that does not exist from here may be meant from there.
    fn overrides(&self, folder: &Path) -> Overrides {
        let from_here = |file: &String| {
            let path = Path::new(file);
            let elsewhere = path.is_relative() && path.exists() && !paths::same(folder, Path::new("."));
            let seen = if elsewhere { paths::relative(folder, path).ok() } else { None };
            seen.map_or_else(|| file.clone(), |path| path.display().to_string())
        };
        Overrides { input: self.overrides.input.as_ref().map(from_here), ..self.overrides.clone() }
    }
}

/// A system that can be run.
#[derive(Debug)]
pub struct LoadedSystem {
    /// The texts that the system was read from.
    pub files: Files,
    /// The system with all overrides.
    pub system: System,
    /// Its plan.
    pub plan: Plan,
}

/// Reads a system file without planning it; what problems are left are warnings. Its format follows from its ending.
pub fn read(file: &Path, asked: &ReadOptions, registry: &Registry) -> Result<Document, Error> {
    let document = document(file, asked, registry)?;
    if document.has_errors() {
        return Err(Error::input(document.problems, document.files));
    }
    Ok(document)
}

/// As much of a system file as could be understood.
fn document(file: &Path, asked: &ReadOptions, registry: &Registry) -> Result<Document, Error> {
    if let Some(found) = foreign::recognise(file) {
        let (shown, what) = (file.display(), found.what);
        let words = format!(
            "`{shown}` is {what}; expected a system (.toml, .ssp, .ssd, OspSystemStructure.xml) or FMUs"
        );
        return Err(Error::new(ErrorKind::Input, words, Some(found.hint)));
    }
    let reader = format::of_file(SYSTEM_FORMATS, file).unwrap_or(SYSTEM_FORMATS[0]);
    (reader.read)(file, asked, registry).map_err(|unreadable| {
        let hint = if file.is_dir() {
            let inside = file.join("system.toml");
            Some(if inside.exists() {
                format!("this is a folder; did you mean `{}`?", inside.display())
            } else {
                "this is a folder; a system file in it is expected, or FMUs".into()
            })
        } else if !file.exists() {
            nearby(file)
        } else {
            unreadable.hint
        };
        let kind = if unreadable.malformed { ErrorKind::Input } else { ErrorKind::File };
        Error::new(kind, unreadable.message, hint)
    })
}

fn of_sources(what: &[String], options: &OpenOptions, registry: &Registry) -> Result<Document, Error> {
    exist(what, registry)?;
    let (system, mut problems) = sources::system(what, registry);
    if options.variant.is_some() {
        let message = "`--variant`: simulators have no variants, only packages have";
        problems.push(Problem::error("override/variant", message, 0..0));
    }
    Ok(Document { system, problems, files: Files::default(), rest: None })
}

/// Reads a system file, or makes a system of the sources themselves, with the options of the command line in it as far
/// as they fit. Fails only where a file cannot be read.
pub fn draft(what: &[String], options: &OpenOptions, registry: &Registry) -> Result<Document, Error> {
    let mut draft = match what {
        [file] if !sources::is_source(file, registry) => {
            document(Path::new(file), &options.asked(), registry)?
        }
        several => of_sources(several, options, registry)?,
    };
    draft.problems.retain(|problem| !options.answers(problem));
    let overrides = options.overrides(&draft.system.folder);
    draft.problems.extend(overrides::apply(&mut draft.system, &overrides, registry));
    Ok(draft)
}

/// Warnings of a file, with their places: they are shown among those of the plan.
fn placed(warnings: Vec<Problem>, files: &Files) -> Vec<Problem> {
    let place = |mut warning: Problem| {
        if let Some((file, span)) = files.find(&warning.span) {
            let line = file.text.as_bytes()[..span.start].iter().filter(|byte| **byte == b'\n').count() + 1;
            warning.message = format!("{}:{line}: {}", file.name, warning.message);
        }
        warning
    };
    warnings.into_iter().map(place).collect()
}

/// Reads a system file, or makes a system of the sources themselves. Warnings name their places.
pub fn open(what: &[String], options: &OpenOptions, registry: &Registry) -> Result<Document, Error> {
    match what {
        [file] if !sources::is_source(file, registry) => {
            let mut document = read(Path::new(file), &options.asked(), registry)?;
            document.problems = placed(std::mem::take(&mut document.problems), &document.files);
            Ok(document)
        }
        several => of_sources(several, options, registry),
    }
}

/// Opens and plans a system.
pub fn load(what: &[String], options: &OpenOptions, registry: &Registry) -> Result<LoadedSystem, Error> {
    plan_document(open(what, options, registry)?, options, registry)
}

/// Applies the overrides to a system and plans it, or returns all problems of both.
pub(crate) fn plan_document(
    document: Document,
    options: &OpenOptions,
    registry: &Registry,
) -> Result<LoadedSystem, Error> {
    let Document { mut files, mut system, mut problems, .. } = document;
    let overrides = options.overrides(&system.folder);
    problems.retain(|problem| !options.answers(problem));
    problems.extend(overrides::apply(&mut system, &overrides, registry));
    let (mut problems, warnings): (Vec<Problem>, Vec<Problem>) =
        problems.into_iter().partition(|problem| problem.severity == Severity::Error);
    let actions = options.scenario.as_deref().map(read_scenario).transpose()?;
    let text = actions.map(|(path, text, scenario)| {
        system.scenario = Some(scenario);
        (path, text)
    });
    match plan(&system, registry) {
        Ok(mut plan) if problems.is_empty() => {
            plan.warnings.splice(0..0, warnings);
            return Ok(LoadedSystem { files, system, plan });
        }
        Ok(_) => {}
        Err(found) => problems.extend(found),
    }
    // Places of actions are those in the scenario's own text, which comes after all others.
    if let Some((path, text)) = text {
        let start = files.add(path, text);
        let is_action = |problem: &Problem| problem.code.starts_with("scenario/");
        for problem in problems.iter_mut().filter(|problem| is_action(problem) && problem.span != (0..0)) {
            problem.span = problem.span.start + start..problem.span.end + start;
        }
        problems.sort_by_key(is_action);
    }
    Err(Error::input(problems, files))
}

/// Reads a scenario, whose names are not looked up yet.
fn read_scenario(file: &Path) -> Result<(String, String, Scenario), Error> {
    let path = file.display().to_string();
    let read = check_regular_file(file).and_then(|()| std::fs::read_to_string(file));
    let text = read.map_err(|cause| {
        let missing = cause.kind() == std::io::ErrorKind::NotFound;
        let hint = if missing { nearby(file) } else { None };
        Error::new(ErrorKind::File, format!("cannot read the scenario `{path}`: {cause}"), hint)
    })?;
    let (scenario, problems) = scenario::read(&text);
    if problems.is_empty() {
        return Ok((path, text, scenario));
    }
    Err(Error::input(problems, Files::one(&path, &text)))
}

/// Whether all of them are sources, and their files are there.
pub fn exist(what: &[String], registry: &Registry) -> Result<(), Error> {
    for text in what {
        if !sources::is_source(text, registry) {
            let message =
                format!("`{text}` is no simulator; expected is one system file, or nothing but simulators");
            let hint = registry.known_kinds();
            return Err(Error::new(ErrorKind::Input, message, Some(hint)));
        }
        if let Some(file) = sources::file(text)
            && let Err(cause) = std::fs::metadata(file)
        {
            let message = format!("cannot read `{file}`: {cause}");
            return Err(Error::new(ErrorKind::File, message, nearby(Path::new(file))));
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
