//! The file from top to bottom: experiment, simulators with their initial values, then what joins them.

use std::collections::BTreeMap;
use std::path::Path;

use cosimo_core::registry::{Range, Registry, number_text, suggest};
use cosimo_core::{Interface, Value, clock};
use cosimo_pack::text::unescaped;
use cosimo_pack::xml;
use cosimo_system::names::{COMPONENT_RULE, is_component};
use cosimo_system::{Component, Problem, Span, System, sources};
use roxmltree::Node;

use crate::problem_list::{ProblemList, TextWithSpan, child, children, head, line, optional};
use crate::{connect, ecco};

const NAMESPACE: &str = "http://opensimulationplatform.com/MSMI/OSPSystemStructure";
const VERSION: &str = "0.1";
/// What libcosim takes where a file says nothing.
const BASE_STEP: f64 = 0.1;
const PARTS: &[&str] = &[
    "StartTime",
    "EndTime",
    "BaseStepSize",
    "Algorithm",
    "Simulators",
    "Functions",
    "Connections",
    "EccoConfiguration",
];
const TYPES: &[&str] = &["Real", "Integer", "Boolean", "String", "Enumeration"];

/// Reads a system structure; relative sources in it start from `folder`. Without errors the system is complete.
pub fn read(text: &str, file: &str, folder: &Path, registry: &Registry) -> (System, Vec<Problem>) {
    let mut page = ProblemList::default();
    let mut system = System { folder: folder.into(), ..System::default() };
    let document = match xml::parse(text, file) {
        Ok(document) => document,
        Err(problem) => {
            page.error("osp/xml", problem.message, line(text, problem.place)).hint = problem.hint;
            return (system, page.problems);
        }
    };
    let root = document.root_element();
    let tag = root.tag_name();
    if tag.name() != "OspSystemStructure" {
        let message = format!("found `<{}>`, expected `<OspSystemStructure>`", tag.name());
        page.error("osp/root", message, head(root)).hint = Some(
            "this is the file for the whole system; those of single models are found by their names".into(),
        );
        return (system, page.problems);
    }
    if tag.namespace() != Some(NAMESPACE) {
        let found = tag.namespace().map_or("none".into(), |namespace| format!("`{namespace}`"));
        page.warning(
            "osp/namespace",
            format!("the namespace is {found}, expected `{NAMESPACE}`"),
            head(root),
        );
    }
    page.only(root, &["version"], PARTS);
    match optional(root, "version") {
        Some((version, span)) if version != VERSION => {
            page.warning("osp/version", format!("the version is {version:?}; it is read as {VERSION}"), span);
        }
        Some(_) => {}
        None => {
            page.warning("osp/version", format!("there is no version; it is read as {VERSION}"), head(root));
        }
    }
    experiment(root, &mut system, &mut page);
    let base = page.child_number(root, "BaseStepSize", Range::Positive);
    let readable = base.is_some() || child(root, "BaseStepSize").is_none();
    let base = base.map_or(BASE_STEP, |(size, _)| size);
    if child(root, "BaseStepSize").is_none() {
        let message =
            format!("there is no `<BaseStepSize>`; {} s is taken, as libcosim does", number_text(BASE_STEP));
        page.warning("osp/step", message, head(root));
    }
    let opened = simulators(root, readable.then_some(base), &mut system, registry, &mut page);
    connect::connect(root, &mut system, &opened, &mut page);
    system.methods = ecco::methods(root, base, &mut page);
    let mut problems = page.problems;
    problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
    problems.dedup();
    (system, problems)
}

fn experiment(root: Node<'_, '_>, system: &mut System, page: &mut ProblemList) {
    let experiment = &mut system.experiment;
    experiment.span = head(root);
    experiment.start = page.child_number(root, "StartTime", Range::Finite).map_or(0.0, |(start, _)| start);
    match page.child_number(root, "EndTime", Range::Finite) {
        Some((stop, span)) if stop <= experiment.start => {
            let message =
                format!("`EndTime` must be later than the start, {} s, got {stop}", experiment.start);
            page.error("osp/value", message, span);
        }
        Some((stop, _)) => experiment.stop = stop,
        None => {
            experiment.stop = experiment.start + 1.0;
            if child(root, "EndTime").is_none() {
                page.warning("osp/end", "there is no `<EndTime>`; the run ends after 1 s", head(root)).hint =
                    Some("set it with `--stop`".into());
            }
        }
    }
}

/// The step that a simulator has of its own; none where that is the common step. Where libcosim would round a size to whole
/// base steps it is rounded as there: down, but to one at least.
fn own_step(
    node: Node<'_, '_>,
    name: &str,
    base: Option<f64>,
    page: &mut ProblemList,
) -> Option<(f64, Span)> {
    let step = page.number(node, "stepSize", Range::NotNegative).filter(|step| *step != 0.0)?;
    let span = optional(node, "stepSize").map_or(head(node), |(_, span)| span);
    let base = base?;
    let taken = if clock::fits(step, base) { step } else { (step / base).floor().max(1.0) * base };
    if taken != step {
        let message = format!(
            "`{name}` asks for steps of {} s, neither a multiple nor a fraction of {} s; it takes steps of {} s, as in \
             libcosim",
            number_text(step),
            number_text(base),
            number_text(taken)
        );
        page.warning("osp/step", message, span.clone());
    }
    (taken != base).then_some((taken, span))
}

/// Interfaces of FMUs by their source; `None` if one cannot be opened, which the planner reports.
pub(crate) type OpenedInterfaces = BTreeMap<String, Option<Interface>>;

fn simulators(
    root: Node<'_, '_>,
    base: Option<f64>,
    system: &mut System,
    registry: &Registry,
    page: &mut ProblemList,
) -> OpenedInterfaces {
    let mut opened = OpenedInterfaces::new();
    let Some(list) = child(root, "Simulators") else {
        page.error("osp/missing", "`<OspSystemStructure>` needs `<Simulators>`", head(root));
        return opened;
    };
    page.only(list, &[], &["Simulator"]);
    for node in children(list, "Simulator") {
        page.only(node, &["name", "source", "stepSize"], &["InitialValues"]);
        let (name, source) = (page.attribute(node, "name"), page.attribute(node, "source"));
        let Some((name, span)) = name else { continue };
        if !is_component(&name) {
            page.error("osp/name", format!("{COMPONENT_RULE}, got {name:?}"), span.clone());
        }
        if system.components.iter().any(|known| known.name == name) {
            page.error("osp/duplicate", format!("two simulators are called `{name}`"), span.clone());
            continue;
        }
        let mut component = Component { name, span, ..Component::default() };
        if let Some(spelled) = source {
            component.source_span = spelled.1.clone();
            component.source = path(&spelled, registry, page).unwrap_or_default();
        }
        component.step = own_step(node, &component.name, base, page);
        // Those of one source are alike.
        let interface = opened
            .entry(component.source.clone())
            .or_insert_with(|| sources::interface(&component, &system.folder, registry));
        initial_values(node, &mut component, interface.as_ref(), page);
        system.components.push(component);
    }
    if system.components.is_empty() {
        page.error("osp/missing", "`<Simulators>` needs at least one `<Simulator>`", head(list));
    }
    opened
}

/// The file that a source means: a path, or the path of a `file:` address. What Cosimo knows by name is taken as it is.
fn path((source, span): &TextWithSpan, registry: &Registry, page: &mut ProblemList) -> Option<String> {
    let scheme = source.split_once(':').filter(|(scheme, _)| {
        scheme.len() > 1
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    });
    let proxied = match sources::proxied(source) {
        Some(Ok(file)) => {
            let message = format!("`{source}` is opened in this process: no proxy is started");
            page.warning("osp/proxy", message, span.clone());
            Some(file)
        }
        Some(Err(message)) => {
            page.error("osp/source", message, span.clone()).hint =
                Some("copy the FMU to this computer, and write its path".into());
            return None;
        }
        None => None,
    };
    let file = match scheme {
        _ if proxied.is_some() => proxied.and_then(decoded),
        None => decoded(source),
        Some(("file", rest)) => {
            let rest =
                rest.strip_prefix("//").map_or(rest, |rest| rest.strip_prefix("localhost").unwrap_or(rest));
            decoded(rest)
        }
        Some(_) if registry.sources.iter().any(|kind| !kind.models().is_empty() && kind.claims(source)) => {
            return Some(source.clone());
        }
        Some((scheme, _)) => {
            let message = format!("FMUs at `{scheme}:` addresses cannot be opened, expected a file");
            page.error("osp/source", message, span.clone()).hint =
                Some("write the path of the FMU, relative to this file".into());
            return None;
        }
    };
    let Some(file) = file else {
        page.error("osp/source", format!("`{source}` has a `%` that is no escaped letter"), span.clone());
        return None;
    };
    if registry.source(&file).is_none() {
        page.error("osp/source", format!("no kind of simulator takes the source `{file}`"), span.clone())
            .hint = Some(registry.known_kinds());
        return None;
    }
    Some(file)
}

/// A path without escapes; `None` where that makes no sense.
fn decoded(text: &str) -> Option<String> {
    unescaped(text).filter(|text| !text.contains('\0'))
}

/// Values of inputs are start values, all others parameters.
fn initial_values(
    node: Node<'_, '_>,
    component: &mut Component,
    interface: Option<&Interface>,
    page: &mut ProblemList,
) {
    let Some(list) = child(node, "InitialValues") else { return };
    page.only(list, &[], &["InitialValue"]);
    for node in children(list, "InitialValue") {
        page.only(node, &["variable"], TYPES);
        let variable = page.attribute(node, "variable");
        let typed: Vec<Node<'_, '_>> = node.children().filter(Node::is_element).collect();
        let [typed] = typed[..] else {
            let message = format!("`<InitialValue>` holds one value, got {}", typed.len());
            page.error("osp/value", message, head(node)).hint = Some("as in `<Real value=\"1.5\"/>`".into());
            continue;
        };
        let value = value(typed, page);
        let (Some((variable, span)), Some((value, value_span))) = (variable, value) else { continue };
        let whole = span.start..value_span.end;
        let input =
            interface.is_some_and(|interface| interface.inputs.iter().any(|port| port.name == variable));
        let given = component.parameters.iter().map(|(name, ..)| name);
        if given.chain(component.starts.iter().map(|(name, ..)| name)).any(|name| *name == variable) {
            let message = format!("`{variable}` of `{}` has two initial values", component.name);
            page.error("osp/duplicate", message, span);
            continue;
        }
        match (input, number(&value)) {
            (true, Some(number)) => component.starts.push((variable, number, whole)),
            (true, None) => {
                let message = format!("`{variable}` is an input of numbers, got {}", value.describe());
                page.error("osp/value", message, value_span);
            }
            (false, _) => component.parameters.push((variable, value, whole)),
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Flag(flag) => Some(f64::from(u8::from(*flag))),
        _ => None,
    }
}

fn value(node: Node<'_, '_>, page: &mut ProblemList) -> Option<(Value, Span)> {
    let tag = node.tag_name().name();
    if !TYPES.contains(&tag) {
        return None; // said with the other unknown elements
    }
    page.only(node, &["value"], &[]);
    let Some((text, span)) = optional(node, "value") else {
        page.attribute(node, "value");
        return None;
    };
    let value = match tag {
        "Real" => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::Number),
        "Integer" | "Enumeration" => text.parse::<i32>().ok().map(|number| Value::Number(f64::from(number))),
        "Boolean" => match text.as_str() {
            "true" | "1" => Some(Value::Flag(true)),
            "false" | "0" => Some(Value::Flag(false)),
            _ => None,
        },
        // Blanks around a text may be meant.
        _ => node.attribute("value").map(|text| Value::Text(text.to_owned())),
    };
    if value.is_none() {
        page.error("osp/value", format!("this is no value of type {tag}: {text:?}"), span.clone()).hint =
            (tag == "Boolean").then(|| suggest(&text, ["true", "false"].into_iter()));
    }
    value.map(|value| (value, span))
}
