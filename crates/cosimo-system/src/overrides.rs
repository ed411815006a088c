//! Changes of a system by the command line. They override the file and use its syntax: a value after
//! `=` is written as in `system.toml`, except that plain words need no quotes.

use std::borrow::Cow;
use std::path::Path;

use ::toml::Spanned;
use ::toml::de::DeValue;
use cosimo_core::registry::{OpenProblem, Options, Range, Registry, quoted, suggest};
use cosimo_core::{Port, Value, ValueType};

use crate::keys::choice::{axis_entries, estimates_with_tolerance, has_tolerance};
use crate::keys::parts::{is_name, is_pattern};
use crate::keys::walk::Context;
use crate::keys::{BOND, METHOD, STEP, former};
use crate::method_config::{Choice, ChoiceOrigin};
use crate::names::{Names, PathProblem};
use crate::problem::{Problem, Span};
use crate::system::{BondDecl, Component, ConnectionDecl, EndRule, MonolithicDecl, PowerPort, System};
use crate::toml::section::value as value_of;
use crate::{sources, write};

/// The flags of the command line that change a system.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// Stop time in seconds.
    pub stop: Option<f64>,
    /// How the run ends.
    pub end: Option<EndRule>,
    /// The step size, in seconds.
    pub step: Option<f64>,
    /// Own steps of components (multi-rate): `component=seconds`.
    pub own_steps: Vec<String>,
    /// Replaces all tolerances.
    pub tolerance: Option<f64>,
    /// `output=input`, both as `component.port`.
    pub connects: Vec<String>,
    /// `name=effort:flow~effort:flow`, then options of a bond as `,key=value`.
    pub bonds: Vec<String>,
    /// Components integrated as one system of equations, as `a,b`, or `*` for all.
    pub monolithic: Vec<String>,
    /// A table whose columns are connected to inputs.
    pub input: Option<String>,
    /// The integrator of FMUs used for model exchange.
    pub solver: Option<String>,
    /// `component.name=value` for a parameter or an unconnected input; without the component for
    /// every component that has such a parameter or input.
    pub sets: Vec<String>,
    /// `axis=value`, the value as in `[method]`.
    pub methods: Vec<String>,
    /// Patterns of recorded variables, instead of those of the file.
    pub record: Vec<String>,
    /// Seconds between rows.
    pub record_every: Option<f64>,
}

/// Applied, or the problems.
type OverrideResult = Result<(), Vec<Problem>>;

impl From<Problem> for Vec<Problem> {
    fn from(problem: Problem) -> Vec<Problem> {
        vec![problem]
    }
}

/// Changes the system; a wrong override changes nothing and is a problem that names its flag.
pub fn apply(system: &mut System, overrides: &Overrides, registry: &Registry) -> Vec<Problem> {
    let mut all: Vec<OverrideResult> = Vec::new();
    all.extend(overrides.stop.map(|stop| set_stop(system, stop)));
    system.experiment.end = overrides.end.unwrap_or(system.experiment.end);
    all.extend(overrides.connects.iter().map(|text| add_connection(system, text)));
    all.extend(overrides.bonds.iter().map(|text| add_bond(system, text, registry)));
    all.extend(overrides.monolithic.iter().map(|text| add_monolithic(system, text)));
    all.extend(overrides.input.iter().map(|file| Err(sources::add_input_table(system, file, registry))));
    // Before the tolerance, which is set on the finally chosen estimate.
    all.extend(overrides.methods.iter().map(|text| set_method(system, text, registry)));
    all.extend(overrides.step.map(|size| set_step(system, size)));
    all.extend(overrides.own_steps.iter().map(|text| set_own_step(system, text)));
    all.extend(overrides.tolerance.map(|tolerance| set_tolerance(system, tolerance, registry)));
    // Before `--set`, which can override it for single FMUs.
    let solver = overrides.solver.iter().map(|name| (name, set_solver(system, name, registry)));
    let solver: Vec<(&String, Vec<usize>)> = solver.collect();
    all.extend(overrides.sets.iter().map(|text| set_parameter(system, text, registry)));
    all.extend(solver.iter().map(|(name, changed)| check_solver(system, name, changed, registry)));
    all.push(set_record(system, &overrides.record));
    all.extend(overrides.record_every.map(|every| {
        system.results.every = Some(positive("--record-every", every)?);
        Ok(())
    }));
    all.into_iter().filter_map(Result::err).flatten().collect()
}

fn wrong(code: &'static str, flag: &str, message: &str) -> Problem {
    Problem::error(code, format!("`{flag}`: {message}"), 0..0)
}

fn out_of_range(flag: &str, found: f64, expected: &str) -> Problem {
    // As typed on the command line.
    let found = if found.is_nan() { "nan".into() } else { found.to_string() };
    wrong("override/value", &format!("{flag} {found}"), &format!("must be {expected}, got {found}"))
}

fn positive(flag: &str, number: f64) -> Result<f64, Problem> {
    let expected = Range::Positive;
    expected.holds(number).then_some(number).ok_or_else(|| out_of_range(flag, number, expected.text()))
}

/// The parts before and after the first `=`.
fn split_assignment(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').map(|(left, right)| (left.trim(), right.trim()))
}

fn names(system: &System) -> Vec<String> {
    system.components.iter().map(|component| component.name.clone()).collect()
}

fn unknown_component(code: &'static str, flag: &str, name: &str, known: &Names<'_>) -> Problem {
    wrong(code, flag, &format!("no component is called `{name}`")).hint(known.suggest(name))
}

fn add_monolithic(system: &mut System, text: &str) -> OverrideResult {
    let flag = format!("--monolithic {text}");
    let all = names(system);
    let known = Names::new(all.iter().map(String::as_str));
    let members: Vec<&str> = match text {
        "*" => all.iter().map(String::as_str).collect(),
        list => list.split(',').map(str::trim).collect(),
    };
    let unknown = members.iter().filter(|name| known.get(name).is_none());
    let unknown = unknown.map(|name| unknown_component("system/unknown-component", &flag, name, &known));
    let unknown: Vec<Problem> = unknown.collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let name = match system.monolithic.len() {
        0 => "monolithic".to_owned(),
        more => format!("monolithic{}", more + 1),
    };
    let components = members.into_iter().map(|name| (name.to_owned(), 0..0)).collect();
    system.monolithic.push(MonolithicDecl { name, components, ..MonolithicDecl::default() });
    Ok(())
}

fn set_own_step(system: &mut System, text: &str) -> OverrideResult {
    let flag = format!("--own-step {text}");
    let (name, value) = split_assignment(text).ok_or_else(|| {
        wrong("override/syntax", &flag, "must be `component=seconds`").hint("as in `wheel=5e-3`")
    })?;
    let all = names(system);
    let known = Names::new(all.iter().map(String::as_str));
    let unknown = || unknown_component("override/unknown-component", &flag, name, &known);
    let place = known.get(name).ok_or_else(unknown)?;
    let every = value.parse::<f64>().ok().filter(|every| Range::Positive.holds(*every)).ok_or_else(|| {
        let message = format!("must be {}, got {value}", Range::Positive.text());
        wrong("override/value", &flag, &message)
    })?;
    system.components[place].step = Some((every, 0..0));
    Ok(())
}

fn add_connection(system: &mut System, text: &str) -> OverrideResult {
    let flag = format!("--connect {text}");
    let (from, to) = split_assignment(text).ok_or_else(|| {
        wrong("override/syntax", &flag, "must be `component.output=component.input`")
            .hint("the output comes first, as in `a.y=b.u`")
    })?;
    known_port(system, from, &flag)?;
    known_port(system, to, &flag)?;
    system.connections.push(ConnectionDecl::plain((from.into(), 0..0), (to.into(), 0..0)));
    Ok(())
}

fn add_bond(system: &mut System, text: &str, registry: &Registry) -> OverrideResult {
    let flag = format!("--bond {text}");
    let context = Context { registry, components: Names::default(), origin: ChoiceOrigin::CommandLine };
    // Names of ports may have commas in them, as `q[1,2]`, so options are recognised by their keys.
    let (mut rest, mut bond, mut problems) = (text, BondDecl::default(), Vec::new());
    while let Some((before, key, spelled)) = trailing_option(rest) {
        rest = before;
        let number = spelled.parse().map(write::number);
        let toml = number.unwrap_or_else(|_| write::text(spelled));
        let Ok(value) = DeValue::parse(&toml) else { continue };
        for problem in BOND.read_key(key, value, &mut bond, &context) {
            let expected = without_quotes(problem.label.trim_start_matches("expected: "));
            let message = format!("`{key}` must be {expected}, got `{spelled}`");
            problems.push(wrong("override/value", &flag, &message));
        }
    }
    let parts = rest.split_once('=').and_then(|(name, sides)| {
        let (a, b) = sides.split_once('~')?;
        Some((name.trim(), a.split_once(':')?, b.split_once(':')?))
    });
    let Some((name, a, b)) = parts else {
        let hint = "as in `joint=a.F:a.v~b.F:b.v`; options follow as `,opposite=flow,direction=b-to-a,energy_scale=10`";
        problems.push(wrong("override/syntax", &flag, "must be `name=effort:flow~effort:flow`").hint(hint));
        return Err(problems);
    };
    if !is_name(name) || system.bonds.iter().any(|known| known.name == name) {
        let message = format!("`{name}` is not a valid name for a bond or already used");
        problems.push(wrong("override/value", &flag, &message).hint("letters, digits, `_` and `-`"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let side = |(effort, flow): (&str, &str)| {
        let port = |port: &str| known_port(system, port.trim(), &flag).map(|()| (port.trim().into(), 0..0));
        Ok::<_, Problem>(PowerPort { effort: port(effort)?, flow: port(flow)? })
    };
    let (a, b) = (side(a)?, side(b)?);
    system.bonds.push(BondDecl { name: name.into(), a, b, ..bond });
    Ok(())
}

/// `rest,key=value` with a key that bonds have.
fn trailing_option(text: &str) -> Option<(&str, &str, &str)> {
    let (before, last) = text.rsplit_once(',')?;
    let (key, spelled) = split_assignment(last)?;
    BOND.overridable().contains(&key).then_some((before, key, spelled))
}

/// `"a" or "b" or "c"` in the syntax of the command line.
fn without_quotes(expected: &str) -> String {
    let expected = expected.replace('"', "`");
    match expected.rsplit_once(" or ") {
        Some((first, last)) => format!("{} or {last}", first.replace(" or ", ", ")),
        None => expected,
    }
}

/// Checks that the component of a port exists; the planner checks the port.
fn known_port(system: &System, path: &str, flag: &str) -> Result<(), Problem> {
    let names = Names::new(system.components.iter().map(|known| known.name.as_str()));
    names.split(path).map(drop).map_err(|unknown| match unknown {
        PathProblem::Unknown(name) => unknown_component("override/unknown-component", flag, name, &names),
        PathProblem::NoPath => {
            wrong("override/syntax", flag, &format!("expected `component.port`, got `{path}`"))
        }
    })
}

fn set_stop(system: &mut System, stop: f64) -> OverrideResult {
    let start = system.experiment.start;
    if !stop.is_finite() {
        return Err(out_of_range("--stop", stop, Range::Finite.text()).into());
    }
    if stop <= start {
        return Err(out_of_range("--stop", stop, &format!("later than the start, {start} s")).into());
    }
    system.experiment.stop = stop;
    Ok(())
}

fn set_step(system: &mut System, size: f64) -> OverrideResult {
    let size = positive("--step", size)?;
    for methods in system.method_configs_mut() {
        (methods.step.size, methods.step.size_origin) = (Some(size), ChoiceOrigin::CommandLine);
    }
    Ok(())
}

fn set_method(system: &mut System, text: &str, registry: &Registry) -> OverrideResult {
    let flag = format!("--method {text}");
    let axes = [METHOD.overridable(), STEP.overridable()].concat();
    let (axis, spelled) = split_assignment(text).ok_or_else(|| {
        wrong("override/syntax", &flag, "must be `axis=method`").hint(format!("axes are {}", quoted(&axes)))
    })?;
    let axis = former::axis(axis);
    if !axes.contains(&axis) {
        let problem = wrong("override/unknown-axis", &flag, &format!("there is no axis `{axis}`"));
        return Err(problem.hint(suggest(axis, axes.iter().copied())).into());
    }
    let value = parse(spelled).map_err(|message| wrong("override/syntax", &flag, &message))?;
    let all = names(system);
    let components = Names::new(all.iter().map(String::as_str));
    let context = Context { registry, components, origin: ChoiceOrigin::CommandLine };
    let shape = if METHOD.overridable().contains(&axis) { METHOD } else { STEP };
    let found = shape.read_key(axis, value.clone(), &mut system.methods.clone(), &context);
    if found.is_empty() {
        for methods in system.method_configs_mut() {
            shape.read_key(axis, value.clone(), methods, &context);
        }
    }
    // Spans in the flag's text are not spans in the file.
    let named = |p: Problem| {
        let message = format!("`{flag}`: {}", p.message);
        Problem { message, span: 0..0, label: String::new(), ..p }
    };
    Err(found.into_iter().map(named).collect())
}

fn set_tolerance(system: &mut System, tolerance: f64, registry: &Registry) -> OverrideResult {
    let flag = format!("--tolerance {tolerance}");
    let tolerance = positive("--tolerance", tolerance)?;
    let usual = system.methods.estimate.name.clone();
    let mut estimates: Vec<&mut Choice> =
        system.method_configs_mut().map(|methods| &mut methods.estimate).collect();
    estimates.retain(|estimate| has_tolerance(registry, &estimate.name));
    if estimates.is_empty() {
        let message = format!("the estimate `{usual}` has no tolerance");
        return Err(wrong("override/value", &flag, &message).hint(estimates_with_tolerance(registry)).into());
    }
    let pair = ("tolerance".to_owned(), Value::Number(tolerance));
    for estimate in estimates {
        let specs = axis_entries(registry, "estimate")
            .iter()
            .find(|entry| entry.name == estimate.name)
            .map(|e| e.options);
        let name = format!("`{}`", estimate.name);
        Options::resolve(&name, specs.unwrap_or_default(), std::slice::from_ref(&pair)).map_err(|found| {
            found.iter().map(|found| wrong("override/value", &flag, &found.message)).collect::<Vec<_>>()
        })?;
        *estimate = std::mem::take(estimate).with(&pair.0, pair.1.clone());
        estimate.origin = ChoiceOrigin::CommandLine;
    }
    // Those of bonds, junctions and components in the file would override that of the estimate.
    system.bonds.iter_mut().for_each(|bond| bond.tolerance = None);
    system.junctions.iter_mut().for_each(|junction| junction.tolerance = None);
    system.components.iter_mut().for_each(|component| component.tolerance = None);
    Ok(())
}

fn set_parameter(system: &mut System, text: &str, registry: &Registry) -> OverrideResult {
    let flag = format!("--set {text}");
    let (target, spelled) =
        split_assignment(text).filter(|(target, _)| !target.is_empty()).ok_or_else(|| {
            wrong("override/syntax", &flag, "must be `component.parameter=value`").hint(
                "`parameter=value` sets it in all components that have it; unconnected inputs can be set too",
            )
        })?;
    let value = parse(spelled).map_err(|message| wrong("override/syntax", &flag, &message))?;
    let value = value_of(value.get_ref());
    let all = names(system);
    let names = Names::new(all.iter().map(String::as_str));
    let dotted = names.split(target).ok().map(|(_, component, name)| (component, name));
    let folder = system.folder.clone();
    let mut known = Vec::new();
    let mut hit = false;
    for component in &mut system.components {
        let name = match dotted {
            Some((owner, name)) if component.name == owner => name,
            Some(_) => continue,
            // The name of a parameter may have dots itself.
            None => target,
        };
        let parameters = parameters(component, &folder, registry);
        let is_parameter = parameters.iter().any(|known| known == name);
        known.extend(parameters);
        let mut input = None;
        if !is_parameter {
            let inputs = inputs(component, &folder, registry);
            input = inputs.iter().find(|known| known.name == name).cloned();
            known.extend(inputs.into_iter().map(|port| port.name));
        }
        if let Some(port) = input {
            let number = start_value(&port, &value).ok_or_else(|| {
                let message = format!("expected {}, got {}", expected_value(&port), value.describe());
                wrong("override/value", &flag, &message)
            })?;
            replace(&mut component.starts, name, number);
            hit = true;
        } else if is_parameter || dotted.is_some() {
            // For a named component the planner reports unknown parameters.
            replace(&mut component.parameters, name, value.clone());
            hit = true;
        }
    }
    if hit {
        return Ok(());
    }
    known.sort();
    known.dedup();
    Err(match names.split(target) {
        Err(PathProblem::Unknown(component)) if !known.iter().any(|name| name.contains('.')) => {
            unknown_component("override/unknown-component", &flag, component, &names)
        }
        _ => {
            let message = format!("no component has a parameter or an input `{target}`");
            wrong("override/unknown-parameter", &flag, &message)
                .hint(suggest(target, known.iter().map(String::as_str)))
        }
    }
    .into())
}

/// Replaces the entry of this name.
fn replace<T>(list: &mut Vec<(String, T, Span)>, name: &str, value: T) {
    list.retain(|(known, ..)| known != name);
    list.push((name.to_owned(), value, 0..0));
}

/// The values that an input accepts, for messages.
fn expected_value(port: &Port) -> String {
    match port.value_type {
        ValueType::Boolean => "true, false, 1 or 0".to_owned(),
        ValueType::Enumeration if !port.items.is_empty() => {
            format!("one of {}", quoted(port.items.iter().map(|(name, _)| name)))
        }
        _ => "a number".to_owned(),
    }
}

/// The start value of an input: a Boolean as a word or a number, an enumeration item by name or number.
fn start_value(port: &Port, value: &Value) -> Option<f64> {
    match (port.value_type, value) {
        (ValueType::Boolean, Value::Flag(flag)) => Some(f64::from(u8::from(*flag))),
        (ValueType::Boolean, Value::Number(number)) => [0.0, 1.0].contains(number).then_some(*number),
        (ValueType::Enumeration, Value::Text(name)) => {
            port.items.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
        }
        (_, Value::Number(number)) => Some(*number),
        _ => None,
    }
}

/// The parameter that `--solver` stands for.
const SOLVER: &str = "cosimo.solver";

/// Sets the integrator of all components that may have one, and returns their indices.
fn set_solver(system: &mut System, name: &str, registry: &Registry) -> Vec<usize> {
    let folder = system.folder.clone();
    let mut changed = Vec::new();
    for (index, component) in system.components.iter_mut().enumerate() {
        if parameters(component, &folder, registry).iter().any(|known| known == SOLVER) {
            replace(&mut component.parameters, SOLVER, Value::Text(name.to_owned()));
            changed.push(index);
        }
    }
    changed
}

/// Removes it from components that have their own solver, and reports an unknown integrator.
fn check_solver(system: &mut System, name: &str, changed: &[usize], registry: &Registry) -> OverrideResult {
    let flag = format!("--solver {name}");
    let ours = Value::Text(name.to_owned());
    let (mut kept, mut refused, mut both) = (changed.is_empty() && system.components.is_empty(), None, None);
    for &index in changed {
        let component = &system.components[index];
        if !component.parameters.iter().any(|(known, value, _)| known == SOLVER && *value == ours) {
            kept = true; // overridden by `--set`
            continue;
        }
        let groups = system.monolithic.iter().flat_map(|group| &group.components);
        let joined = groups.into_iter().any(|(member, _)| *member == component.name);
        if solver_problem(component, &system.folder, joined, registry).is_none() {
            kept = true;
            continue;
        }
        // The name may also be wrong for an FMU used for co-simulation.
        let mut exchange = component.clone();
        replace(&mut exchange.parameters, "cosimo.use", Value::Text("model-exchange".to_owned()));
        match solver_problem(&exchange, &system.folder, joined, registry) {
            Some(problem) => refused = refused.or(Some(problem)),
            None => both = both.or(Some(component.name.clone())),
        }
        system.components[index].parameters.retain(|(known, ..)| known != SOLVER);
    }
    if let Some(OpenProblem { message, hint, .. }) = refused {
        let problem = wrong("override/value", &flag, &message.replace(&format!("`{SOLVER}` "), ""));
        return Err(Problem { hint, ..problem }.into());
    }
    if kept {
        return Ok(());
    }
    let message = format!("`{flag}` changes nothing: no FMU is used for model exchange");
    let hint =
        both.map(|name| format!("`--set {name}.cosimo.use=model-exchange` uses `{name}` for model exchange"));
    Err(Problem { hint, ..Problem::warning("override/solver", message, 0..0) }.into())
}

/// Why a component does not accept its integrator.
fn solver_problem(
    component: &Component,
    folder: &Path,
    joined: bool,
    registry: &Registry,
) -> Option<OpenProblem> {
    let found = sources::open(component, folder, joined, registry)?.err()?;
    found.into_iter().find(|problem| problem.parameter.as_deref() == Some(SOLVER))
}

fn set_record(system: &mut System, patterns: &[String]) -> OverrideResult {
    let flag = |pattern: &&String| format!("--record {pattern:?}");
    let bad = patterns.iter().filter(|pattern| !is_pattern(pattern));
    let bad = bad.map(|pattern| wrong("override/syntax", &flag(&pattern), "must be a pattern such as `a.*`"));
    let bad: Vec<Problem> = bad.collect();
    if !patterns.is_empty() && bad.is_empty() {
        system.results.variables = patterns.iter().map(|pattern| (pattern.clone(), 0..0)).collect();
    }
    Err(bad)
}

/// The parameters of a component that are known before planning.
fn parameters(component: &Component, folder: &Path, registry: &Registry) -> Vec<String> {
    let own = component.parameters.iter().map(|(name, ..)| name.clone());
    own.chain(sources::parameters(component, folder, registry)).collect()
}

fn inputs(component: &Component, folder: &Path, registry: &Registry) -> Vec<Port> {
    sources::interface(component, folder, registry).map(|found| found.inputs).unwrap_or_default()
}

/// A TOML value, or a text without quotes.
fn parse(spelled: &str) -> Result<Spanned<DeValue<'_>>, String> {
    if spelled.is_empty() {
        return Err("there is no value after `=`".into());
    }
    match DeValue::parse(spelled) {
        Ok(value) => Ok(value),
        Err(error) if spelled.starts_with(['{', '[', '"', '\'']) => {
            Err(format!("the value is not TOML: {}", error.message()))
        }
        Err(_) => Ok(Spanned::new(0..0, DeValue::String(Cow::Borrowed(spelled)))),
    }
}
