//! A system from a list of sources, as in `cosimo run a.fmu b.fmu`. Connections, bonds and methods come
//! as overrides.

use std::path::{Path, PathBuf};

use cosimo_core::registry::{OpenRequest, OpenResult, Registry, Value, suggest};
use cosimo_core::{DefaultExperiment, Interface, Outputs, Setup, Time};

use crate::method_config::{ChoiceOrigin, values};
use crate::names::{COMPONENT_RULE, is_component};
use crate::problem::Problem;
use crate::system::{Component, ConnectionDecl, System};

/// Macro steps of a run without a suggested step size.
const DEFAULT_STEPS: f64 = 1000.0;

/// Whether a text is a source of some kind, as `part.fmu`, `left=part.fmu` or `native:dual-mass/left`.
pub fn is_source(text: &str, registry: &Registry) -> bool {
    let (_, source) = split_name(text);
    registry.source(source).is_some()
}

/// The file of a source, if it is one: sources with a colon are names.
pub fn file(text: &str) -> Option<&str> {
    let (_, source) = split_name(text);
    (!source.contains(':')).then_some(source)
}

/// The file of an FMU that OSP would run in a separate process: `proxyfmu://localhost?file=part.fmu` is `part.fmu`, which
/// is opened in this process. `None` if the source is no such address, a message if the FMU is on another computer.
pub fn proxied(source: &str) -> Option<Result<&str, String>> {
    let rest = source.strip_prefix("proxyfmu://").or_else(|| source.strip_prefix("proxy-fmu://"))?;
    let (host, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = host.trim_end_matches('/');
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    Some(match query.strip_prefix("file=") {
        _ if !matches!(name, "localhost" | "127.0.0.1" | "") => {
            Err(format!("the FMU is on the computer `{host}`; FMUs are run on this computer only"))
        }
        Some(file) if !file.is_empty() => Ok(file),
        _ => Err(format!("`{source}` names no file, as in `proxyfmu://localhost?file=part.fmu`")),
    })
}

/// One component per source, with the default experiment of the FMUs and default methods.
pub fn system(sources: &[String], registry: &Registry) -> (System, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut system = System { folder: PathBuf::from("."), ..System::default() };
    for text in sources {
        let (given, source) = split_name(text);
        let name = given.map_or_else(|| name_of_source(source), str::to_owned);
        if !is_component(&name) {
            let message = format!("{COMPONENT_RULE}, got {name:?}");
            problems.push(
                Problem::error("system/name", message, 0..0)
                    .hint(format!("write it before the source, as in `part={source}`")),
            );
        }
        if system.components.iter().any(|known| known.name == name) {
            problems.push(
                Problem::error("system/duplicate", format!("two components are named `{name}`"), 0..0)
                    .hint(format!("name them, as in `left={source} right={source}`")),
            );
        }
        system.components.push(Component { name, source: source.into(), ..Component::default() });
    }
    suggest_experiment(&mut system, registry);
    (system, problems)
}

fn split_name(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, source)) if !name.contains(['/', '\\', '.', ':']) => (Some(name), source),
        _ => (None, text),
    }
}

/// The file name without extension; characters not allowed in a name become `_`.
fn name_of_source(source: &str) -> String {
    let stem = Path::new(source).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    stem.unwrap_or_default().chars().map(plain).collect()
}

/// Sets the time span that covers all default experiments, and the smallest suggested step.
pub fn suggest_experiment(system: &mut System, registry: &Registry) {
    let suggested: Vec<DefaultExperiment> = system
        .components
        .iter()
        .filter_map(|component| interface(component, &system.folder, registry))
        .map(|interface| interface.default_experiment)
        .collect();
    let least = |of: fn(&DefaultExperiment) -> Option<f64>| suggested.iter().filter_map(of).reduce(f64::min);
    let most = |of: fn(&DefaultExperiment) -> Option<f64>| suggested.iter().filter_map(of).reduce(f64::max);
    let experiment = &mut system.experiment;
    experiment.start = least(|suggested| suggested.start).unwrap_or(0.0);
    experiment.stop = most(|suggested| suggested.stop)
        .filter(|stop| *stop > experiment.start)
        .unwrap_or(experiment.start + 1.0);
    let step = least(|suggested| suggested.step).filter(|step| *step > 0.0);
    let step = step.unwrap_or((experiment.stop - experiment.start) / DEFAULT_STEPS);
    system.methods.step.size = Some(step);
    system.methods.step.size_origin = ChoiceOrigin::Default;
}

/// The interface of a component; `None` if it cannot be opened, which the planner reports.
pub fn interface(component: &Component, folder: &Path, registry: &Registry) -> Option<Interface> {
    let opened = open(component, folder, false, registry)?.ok();
    opened.map(|simulator| simulator.interface().clone())
}

/// `None` if no kind of source accepts it.
pub(crate) fn open(
    component: &Component,
    folder: &Path,
    joined: bool,
    registry: &Registry,
) -> Option<OpenResult> {
    let kind = registry.source(&component.source)?;
    let parameters = values(&component.parameters);
    let (name, source) = (&component.name, &component.source);
    Some(kind.open(&OpenRequest { name, source, folder, parameters: &parameters, joined }))
}

/// Number of columns that a warning names.
const MAX_COLUMNS_NAMED: usize = 5;
/// Prefixes of result columns that are not ports.
const RESULT_PREFIXES: &[&str] = &["step.", "bond.", "scenario.", "line."];

/// Adds a table as a component and connects its columns to inputs and tunable parameters of the same name:
/// `component.input`, or `input` if only one component has such an input. Columns with the name of an output
/// belong to the result of an earlier run and are ignored; other unused columns cause a warning.
pub fn add_input_table(system: &mut System, file: &str, registry: &Registry) -> Vec<Problem> {
    let flag = format!("--input {file}");
    let wrong = |message: String| Problem::error("override/input", format!("`{flag}`: {message}"), 0..0);
    let name =
        ["input", "input-table"].iter().find(|name| system.components.iter().all(|c| c.name != **name));
    let Some(name) = name else {
        return vec![wrong("the names `input` and `input-table` are both used by components".into())];
    };
    let table = Component { name: (*name).into(), source: file.into(), ..Component::default() };
    if !is_source(file, registry) {
        let kinds: Vec<String> = registry.kinds().map(|kind| kind.summary().to_owned()).collect();
        return vec![
            wrong("this file type is not supported".into()).hint(format!("expected: {}", kinds.join("; "))),
        ];
    }
    let Some(columns) = interface(&table, &system.folder, registry) else {
        system.components.push(table); // the planner opens it again and reports the error
        return Vec::new();
    };
    let driven: Vec<(String, Interface)> = system
        .components
        .iter()
        .filter_map(|component| {
            Some((component.name.clone(), interface(component, &system.folder, registry)?))
        })
        .collect();
    let inputs = paths(&driven, |interface| interface.inputs.iter().map(|port| port.name.as_str()).collect());
    let tunable = paths(&driven, |interface| interface.tunable.iter().map(String::as_str).collect());
    let outputs =
        paths(&driven, |interface| interface.outputs.iter().map(|port| port.name.as_str()).collect());
    let (mut connections, mut tuned, mut unused) = (Vec::new(), Vec::new(), Vec::new());
    for (place, column) in columns.outputs.iter().enumerate() {
        let column = &column.name;
        let fitting = |of: &[(String, String)]| -> Vec<String> {
            let fits = |path: &&(String, String)| path.0 == *column || path.1 == *column;
            of.iter().filter(fits).map(|(path, _)| path.clone()).collect()
        };
        let mut targets = fitting(&inputs);
        let parameter = targets.is_empty();
        if parameter {
            targets = fitting(&tunable);
        }
        match &targets[..] {
            [] if RESULT_PREFIXES.iter().any(|kind| column.starts_with(kind)) => {}
            [] if fitting(&outputs).is_empty() => unused.push(column.as_str()),
            [] => {}
            [target] => {
                connections
                    .push(ConnectionDecl::plain((format!("{name}.{column}"), 0..0), (target.clone(), 0..0)));
                tuned.extend(parameter.then(|| (target.clone(), place)));
            }
            several => {
                return vec![
                    wrong(format!("the column `{column}` is ambiguous: {}", several.join(" or ")))
                        .hint("write the component before the name, as in `component.input`"),
                ];
            }
        }
    }
    if connections.is_empty() && !driven.is_empty() {
        let known: Vec<&str> = inputs.iter().chain(&tunable).map(|(path, _)| path.as_str()).collect();
        let known = if known.is_empty() { "there are none".into() } else { known.join(", ") };
        return vec![wrong("no column has the name of an input".into()).hint(format!("inputs: {known}"))];
    }
    let mut problems = Vec::new();
    if !unused.is_empty() {
        let fixed = fixed_parameters(system, registry);
        let known: Vec<&str> =
            inputs.iter().chain(&tunable).flat_map(|(path, port)| [path.as_str(), port]).collect();
        let describe = |column: &&str| {
            if fixed.iter().any(|(path, name)| path == column || name == column) {
                return format!("`{column}` (a parameter that may not change during a run)");
            }
            match suggest(column, known.iter().copied()) {
                near if near.starts_with("did you mean") => format!("`{column}` ({near})"),
                _ => format!("`{column}`"),
            }
        };
        let mut list: Vec<String> = unused.iter().take(MAX_COLUMNS_NAMED).map(describe).collect();
        if unused.len() > MAX_COLUMNS_NAMED {
            list.push(format!("and {} more", unused.len() - MAX_COLUMNS_NAMED));
        }
        let columns = if unused.len() == 1 { "a column names" } else { "columns name" };
        let message = format!("`{flag}`: {columns} no input and no tunable parameter: {}", list.join(", "));
        problems.push(Problem::warning("override/input", message, 0..0));
    }
    set_initial_parameters(system, &table, &tuned, registry);
    // First, so that sequential schedules have the input at the end of a step.
    system.components.insert(0, table);
    system.connections.extend(connections);
    problems
}

/// `component.name` and `name` of all names that `of` selects.
fn paths(components: &[(String, Interface)], of: impl Fn(&Interface) -> Vec<&str>) -> Vec<(String, String)> {
    let paths = |(component, interface): &(String, Interface)| -> Vec<(String, String)> {
        let path = |name: &str| (format!("{component}.{name}"), name.to_owned());
        of(interface).into_iter().map(path).collect()
    };
    components.iter().flat_map(paths).collect()
}

fn fixed_parameters(system: &System, registry: &Registry) -> Vec<(String, String)> {
    let of = |component: &Component| -> Vec<(String, String)> {
        let path = |name: String| (format!("{}.{name}", component.name), name);
        parameters(component, &system.folder, registry).map(path).collect()
    };
    system.components.iter().flat_map(of).collect()
}

/// The parameters that the source of a component accepts.
pub(crate) fn parameters(
    component: &Component,
    folder: &Path,
    registry: &Registry,
) -> impl Iterator<Item = String> + use<> {
    let kind = registry.source(&component.source);
    let known = kind.map(|kind| kind.parameters(&component.source, folder)).unwrap_or_default();
    known.into_iter().map(|parameter| parameter.name)
}

/// Parameters connected to a table are initialised with its value at the start.
fn set_initial_parameters(
    system: &mut System,
    table: &Component,
    tuned: &[(String, usize)],
    registry: &Registry,
) {
    let (Some(start), false) = (Time::new(system.experiment.start), tuned.is_empty()) else { return };
    let Some(Ok(mut playback)) = open(table, &system.folder, false, registry) else { return };
    let held: Vec<usize> = tuned.iter().map(|(_, place)| *place).collect();
    playback.hold_outputs(&held);
    let mut values = vec![0.0; playback.interface().outputs.len()];
    let setup = Setup { start, stop: None, stop_at_events: false, rewinds: false };
    let read = playback
        .initialize(&setup)
        .and_then(|()| playback.get_outputs(&mut Outputs { values: &mut values, slopes: &mut [] }));
    if read.is_err() {
        return; // the run reports the same error
    }
    for (path, place) in tuned {
        let own = |component: &Component| {
            let name = path.strip_prefix(component.name.as_str())?.strip_prefix('.')?;
            Some(name.to_owned())
        };
        let found = system.components.iter_mut().find_map(|component| Some((own(component)?, component)));
        if let Some((name, component)) = found {
            component.parameters.retain(|(known, ..)| *known != name);
            component.parameters.push((name, Value::Number(values[*place]), 0..0));
        }
    }
}
