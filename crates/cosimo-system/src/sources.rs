//! A system out of nothing but sources: what `cosimo run a.fmu b.fmu` means. Connections, bonds and methods come
//! as overrides.

use std::path::{Path, PathBuf};

use cosimo_core::entry::{OpenRequest, Registry, Value};
use cosimo_core::{Interface, Suggested};

use crate::names::{COMPONENT_RULE, is_component};
use crate::problem::Problem;
use crate::recipe::Origin;
use crate::system::{Component, System, WireDecl};

/// Steps of a run where nobody says how large they are.
const STEPS: f64 = 1000.0;

/// Whether a text is a source of some kind, as `part.fmu`, `left=part.fmu` or `native:dual-mass/left`.
pub fn is_source(text: &str, registry: &Registry) -> bool {
    let (_, source) = split(text);
    registry.sources.iter().any(|kind| (kind.claims)(source))
}

/// The file of a source, where it is one: sources with a colon are names.
pub fn file(text: &str) -> Option<&str> {
    let (_, source) = split(text);
    (!source.contains(':')).then_some(source)
}

/// One component per source. The experiment is what the simulators suggest, the methods are the defaults.
pub fn system(sources: &[String], registry: &Registry) -> (System, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut system = System { folder: PathBuf::from("."), ..System::default() };
    for text in sources {
        let (given, source) = split(text);
        let name = given.map_or_else(|| derived(source), str::to_owned);
        if !is_component(&name) {
            let message = format!("{COMPONENT_RULE}, found {name:?}");
            problems.push(
                Problem::error("system/name", message, 0..0)
                    .hint(format!("write it before the source, as in `part={source}`")),
            );
        }
        if system.components.iter().any(|known| known.name == name) {
            problems.push(
                Problem::error("system/duplicate", format!("two components are called `{name}`"), 0..0)
                    .hint(format!("name them, as in `left={source} right={source}`")),
            );
        }
        system.components.push(Component { name, source: source.into(), ..Component::default() });
    }
    suggest_experiment(&mut system, registry);
    (system, problems)
}

fn split(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, source)) if !name.contains(['/', '\\', '.', ':']) => (Some(name), source),
        _ => (None, text),
    }
}

/// The last part of the source without its ending; what cannot stand in a name becomes `_`.
fn derived(source: &str) -> String {
    let stem = Path::new(source).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    stem.unwrap_or_default().chars().map(plain).collect()
}

/// The span that covers what everybody suggests, and the smallest step.
pub fn suggest_experiment(system: &mut System, registry: &Registry) {
    let suggested: Vec<Suggested> = system
        .components
        .iter()
        .filter_map(|component| interface(component, &system.folder, registry))
        .map(|interface| interface.suggested)
        .collect();
    let least = |of: fn(&Suggested) -> Option<f64>| suggested.iter().filter_map(of).reduce(f64::min);
    let most = |of: fn(&Suggested) -> Option<f64>| suggested.iter().filter_map(of).reduce(f64::max);
    let experiment = &mut system.experiment;
    experiment.start = least(|suggested| suggested.start).unwrap_or(0.0);
    experiment.stop = most(|suggested| suggested.stop)
        .filter(|stop| *stop > experiment.start)
        .unwrap_or(experiment.start + 1.0);
    let step = least(|suggested| suggested.step).filter(|step| *step > 0.0);
    let step = step.unwrap_or((experiment.stop - experiment.start) / STEPS);
    system.recipe.step.size = Some(step);
    system.recipe.step.size_origin = Origin::Default;
}

/// What a component shows of itself; `None` if it does not open, which is the plan's to explain.
pub fn interface(component: &Component, folder: &Path, registry: &Registry) -> Option<Interface> {
    let kind = registry.sources.iter().find(|kind| (kind.claims)(&component.source))?;
    let parameters: Vec<(String, Value)> =
        component.parameters.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
    let request =
        OpenRequest { name: &component.name, source: &component.source, folder, parameters: &parameters };
    (kind.open)(&request).ok().map(|simulator| simulator.interface().clone())
}

/// Adds a table as a component and connects its columns: `unit.input`, or plain `input` where one component
/// alone has such an input. Columns that are no input drive nothing: the table may be the result of a run.
pub fn drive(system: &mut System, file: &str, registry: &Registry) -> Vec<Problem> {
    let flag = format!("--input {file}");
    let wrong = |message: String| Problem::error("override/input", format!("`{flag}`: {message}"), 0..0);
    let name =
        ["input", "input-table"].iter().find(|name| system.components.iter().all(|c| c.name != **name));
    let Some(name) = name else {
        return vec![wrong("components are called `input` and `input-table`".into())];
    };
    let table = Component { name: (*name).into(), source: file.into(), ..Component::default() };
    if !is_source(file, registry) {
        let kinds: Vec<&str> = registry.sources.iter().map(|kind| kind.summary).collect();
        return vec![wrong("nothing can open this".into()).hint(format!("wanted: {}", kinds.join("; ")))];
    }
    let Some(columns) = interface(&table, &system.folder, registry) else {
        system.components.push(table); // the plan opens it again, and says why it cannot
        return Vec::new();
    };
    let driven: Vec<(String, Vec<String>)> = system
        .components
        .iter()
        .filter_map(|component| {
            let inputs = interface(component, &system.folder, registry)?.inputs;
            Some((component.name.clone(), inputs.into_iter().map(|port| port.name).collect()))
        })
        .collect();
    let mut wires = Vec::new();
    for column in &columns.outputs {
        let column = &column.name;
        let targets: Vec<String> = driven
            .iter()
            .flat_map(|(component, inputs)| inputs.iter().map(move |input| (component, input)))
            .filter(|(component, input)| *input == column || *column == format!("{component}.{input}"))
            .map(|(component, input)| format!("{component}.{input}"))
            .collect();
        match &targets[..] {
            [] => {}
            [target] => {
                wires.push(WireDecl::plain((format!("{name}.{column}"), 0..0), (target.clone(), 0..0)));
            }
            several => {
                return vec![
                    wrong(format!("the column `{column}` may mean {}", several.join(" or ")))
                        .hint("write the component before the name, as in `unit.input`"),
                ];
            }
        }
    }
    if wires.is_empty() && !driven.is_empty() {
        let inputs: Vec<String> = driven
            .iter()
            .flat_map(|(component, inputs)| inputs.iter().map(move |input| format!("{component}.{input}")))
            .collect();
        let known = if inputs.is_empty() { "there are none".into() } else { inputs.join(", ") };
        return vec![wrong("no column is the name of an input".into()).hint(format!("inputs: {known}"))];
    }
    // First, so that schedules that go from one to the next know the input at the end of a step.
    system.components.insert(0, table);
    system.wires.extend(wires);
    Vec::new()
}
