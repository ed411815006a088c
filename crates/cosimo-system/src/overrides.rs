//! What the command line changes about a system. It beats the file, and speaks its language: a value after
//! `=` is spelled as in `system.toml`, except that plain words need no quotes.

use std::borrow::Cow;
use std::path::Path;

use ::toml::Spanned;
use ::toml::de::DeValue;
use cosimo_core::registry::{OpenProblem, Options, Range, Registry, quoted, suggest};
use cosimo_core::{Port, Value, ValueType};

use crate::keys::choice::{estimates_with_tolerance, has_tolerance, listed};
use crate::keys::parts::{is_name, is_pattern};
use crate::keys::walk::Context;
use crate::keys::{BOND, METHOD, STEP, former};
use crate::method_config::{Choice, ChoiceOrigin};
use crate::names::{Names, PathProblem};
use crate::problem::{Problem, Span};
use crate::system::{BondDecl, Component, ConnectionDecl, EndRule, MonolithicDecl, PowerPort, System};
use crate::toml::section::value as value_of;
use crate::{sources, write};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    pub stop: Option<f64>,
    pub end: Option<EndRule>,
    /// The step size, in seconds.
    pub step: Option<f64>,
    /// Steps of components' own: `component=seconds`.
    pub own_steps: Vec<String>,
    /// For everything that has a tolerance.
    pub tolerance: Option<f64>,
    /// `output=input`, both as `component.port`.
    pub connects: Vec<String>,
    /// `name=effort:flow~effort:flow`, then options of a bond as `,key=value`.
    pub bonds: Vec<String>,
    /// Components that are integrated together, as `a,b`, or `*` for all.
    pub monolithic: Vec<String>,
    /// A table whose columns drive inputs.
    pub input: Option<String>,
    /// The integrator of FMUs for model exchange, where they have one.
    pub solver: Option<String>,
    /// `component.name=value` for a parameter or for an input that nobody drives; without the component for
    /// every one that has such a parameter or input.
    pub sets: Vec<String>,
    /// `axis=value`, the value as it would stand in `[method]`.
    pub methods: Vec<String>,
    /// Patterns of the variables to keep, instead of those of the file.
    pub record: Vec<String>,
    /// Seconds from row to row.
    pub record_every: Option<f64>,
}

/// Done, or why not.
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
    all.extend(overrides.connects.iter().map(|text| connect(system, text)));
    all.extend(overrides.bonds.iter().map(|text| bond(system, text, registry)));
    all.extend(overrides.monolithic.iter().map(|text| strong(system, text)));
    all.extend(overrides.input.iter().map(|file| Err(sources::add_input_table(system, file, registry))));
    // Before the tolerance, which goes to the estimate that is chosen in the end.
    all.extend(overrides.methods.iter().map(|text| set_method(system, text, registry)));
    all.extend(overrides.step.map(|size| set_step(system, size)));
    all.extend(overrides.own_steps.iter().map(|text| own_step(system, text)));
    all.extend(overrides.tolerance.map(|tolerance| set_tolerance(system, tolerance, registry)));
    // Before, so that `--set` can say otherwise of single FMUs.
    let solver = overrides.solver.iter().map(|name| (name, set_solver(system, name, registry)));
    let solver: Vec<(&String, Vec<usize>)> = solver.collect();
    all.extend(overrides.sets.iter().map(|text| set_parameter(system, text, registry)));
    all.extend(solver.iter().map(|(name, given)| keep_solver(system, name, given, registry)));
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

fn must(flag: &str, found: f64, wanted: &str) -> Problem {
    // As a person types it.
    let found = if found.is_nan() { "nan".into() } else { found.to_string() };
    wrong("override/value", &format!("{flag} {found}"), &format!("must be {wanted}, got {found}"))
}

fn positive(flag: &str, number: f64) -> Result<f64, Problem> {
    let wanted = Range::Positive;
    wanted.holds(number).then_some(number).ok_or_else(|| must(flag, number, wanted.text()))
}

/// What stands before and behind the first `=`.
fn halves(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').map(|(left, right)| (left.trim(), right.trim()))
}

fn names(system: &System) -> Vec<String> {
    system.components.iter().map(|component| component.name.clone()).collect()
}

fn unknown_component(code: &'static str, flag: &str, name: &str, known: &Names<'_>) -> Problem {
    wrong(code, flag, &format!("no component is called `{name}`")).hint(known.suggest(name))
}

fn strong(system: &mut System, text: &str) -> OverrideResult {
    let flag = format!("--monolithic {text}");
    let all = names(system);
    let known = Names::new(all.iter().map(String::as_str));
    let members: Vec<&str> = match text {
        "*" => all.iter().map(String::as_str).collect(),
        list => list.split(',').map(str::trim).collect(),
    };
    let lost = members.iter().filter(|name| known.get(name).is_none());
    let lost = lost.map(|name| unknown_component("system/unknown-component", &flag, name, &known));
    let lost: Vec<Problem> = lost.collect();
    if !lost.is_empty() {
        return Err(lost);
    }
    let name = match system.monolithic.len() {
        0 => "monolithic".to_owned(),
        more => format!("monolithic{}", more + 1),
    };
    let components = members.into_iter().map(|name| (name.to_owned(), 0..0)).collect();
    system.monolithic.push(MonolithicDecl { name, components, ..MonolithicDecl::default() });
    Ok(())
}

fn own_step(system: &mut System, text: &str) -> OverrideResult {
    let flag = format!("--own-step {text}");
    let (name, value) = halves(text).ok_or_else(|| {
        wrong("override/syntax", &flag, "must be `component=seconds`").hint("as in `wheel=5e-3`")
    })?;
    let all = names(system);
    let known = Names::new(all.iter().map(String::as_str));
    let lost = || unknown_component("override/unknown-component", &flag, name, &known);
    let place = known.get(name).ok_or_else(lost)?;
    let every = value.parse::<f64>().ok().filter(|every| Range::Positive.holds(*every)).ok_or_else(|| {
        let message = format!("must be {}, got {value}", Range::Positive.text());
        wrong("override/value", &flag, &message)
    })?;
    system.components[place].step = Some((every, 0..0));
    Ok(())
}

fn connect(system: &mut System, text: &str) -> OverrideResult {
    let flag = format!("--connect {text}");
    let (from, to) = halves(text).ok_or_else(|| {
        wrong("override/syntax", &flag, "must be `component.output=component.input`")
            .hint("the output comes first, as in `a.y=b.u`")
    })?;
    known_port(system, from, &flag)?;
    known_port(system, to, &flag)?;
    system.connections.push(ConnectionDecl::plain((from.into(), 0..0), (to.into(), 0..0)));
    Ok(())
}

fn bond(system: &mut System, text: &str, registry: &Registry) -> OverrideResult {
    let flag = format!("--bond {text}");
    let context = Context { registry, components: Names::default(), origin: ChoiceOrigin::CommandLine };
    // Names of ports may have commas in them, as `q[1,2]`, so options are recognised by their keys.
    let (mut rest, mut bond, mut problems) = (text, BondDecl::default(), Vec::new());
    while let Some((before, key, spelled)) = trailing_option(rest) {
        rest = before;
        let number = spelled.parse().map(write::number);
        let toml = number.unwrap_or_else(|_| write::text(spelled));
        let Ok(value) = DeValue::parse(&toml) else { continue };
        for problem in BOND.set(key, value, &mut bond, &context) {
            let wanted = in_words(problem.label.trim_start_matches("expected: "));
            let message = format!("`{key}` must be {wanted}, got `{spelled}`");
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
        let message = format!("`{name}` is no name for a bond, or one has it already");
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
    let (key, spelled) = halves(last)?;
    BOND.alone().contains(&key).then_some((before, key, spelled))
}

/// `"a" or "b" or "c"` as the command line spells words.
fn in_words(wanted: &str) -> String {
    let wanted = wanted.replace('"', "`");
    match wanted.rsplit_once(" or ") {
        Some((first, last)) => format!("{} or {last}", first.replace(" or ", ", ")),
        None => wanted,
    }
}

/// Whether this is the port of a component that exists; whether it has such a port is the plan's to say.
fn known_port(system: &System, path: &str, flag: &str) -> Result<(), Problem> {
    let names = Names::new(system.components.iter().map(|known| known.name.as_str()));
    names.split(path).map(drop).map_err(|lost| match lost {
        PathProblem::Unknown(name) => unknown_component("override/unknown-component", flag, name, &names),
        PathProblem::NoPath => {
            wrong("override/syntax", flag, &format!("expected `component.port`, got `{path}`"))
        }
    })
}

fn set_stop(system: &mut System, stop: f64) -> OverrideResult {
    let start = system.experiment.start;
    if !stop.is_finite() {
        return Err(must("--stop", stop, Range::Finite.text()).into());
    }
    if stop <= start {
        return Err(must("--stop", stop, &format!("later than the start, {start} s")).into());
    }
    system.experiment.stop = stop;
    Ok(())
}

fn set_step(system: &mut System, size: f64) -> OverrideResult {
    let size = positive("--step", size)?;
    for recipe in system.method_configs_mut() {
        (recipe.step.size, recipe.step.size_origin) = (Some(size), ChoiceOrigin::CommandLine);
    }
    Ok(())
}

fn set_method(system: &mut System, text: &str, registry: &Registry) -> OverrideResult {
    let flag = format!("--method {text}");
    let axes = [METHOD.alone(), STEP.alone()].concat();
    let (axis, spelled) = halves(text).ok_or_else(|| {
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
    let shape = if METHOD.alone().contains(&axis) { METHOD } else { STEP };
    let found = shape.set(axis, value.clone(), &mut system.methods.clone(), &context);
    if found.is_empty() {
        for recipe in system.method_configs_mut() {
            shape.set(axis, value.clone(), recipe, &context);
        }
    }
    // Places in the flag's text are not places in the file.
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
        system.method_configs_mut().map(|recipe| &mut recipe.estimate).collect();
    estimates.retain(|estimate| has_tolerance(registry, &estimate.name));
    if estimates.is_empty() {
        let message = format!("the estimate `{usual}` has no tolerance");
        return Err(wrong("override/value", &flag, &message).hint(estimates_with_tolerance(registry)).into());
    }
    let pair = ("tolerance".to_owned(), Value::Number(tolerance));
    for estimate in estimates {
        let specs =
            listed(registry, "estimate").iter().find(|entry| entry.name == estimate.name).map(|e| e.options);
        let name = format!("`{}`", estimate.name);
        Options::resolve(&name, specs.unwrap_or_default(), std::slice::from_ref(&pair)).map_err(|found| {
            found.iter().map(|found| wrong("override/value", &flag, &found.message)).collect::<Vec<_>>()
        })?;
        *estimate = std::mem::take(estimate).with(&pair.0, pair.1.clone());
        estimate.origin = ChoiceOrigin::CommandLine;
    }
    // Narrower ones in the file would beat the one of the estimate, and the command line beats the file.
    system.bonds.iter_mut().for_each(|bond| bond.tolerance = None);
    system.junctions.iter_mut().for_each(|junction| junction.tolerance = None);
    system.components.iter_mut().for_each(|component| component.tolerance = None);
    Ok(())
}

fn set_parameter(system: &mut System, text: &str, registry: &Registry) -> OverrideResult {
    let flag = format!("--set {text}");
    let (target, spelled) = halves(text).filter(|(target, _)| !target.is_empty()).ok_or_else(|| {
        wrong("override/syntax", &flag, "must be `component.parameter=value`")
            .hint("`parameter=value` sets it wherever there is one; inputs that nobody drives can be set too")
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
            // Not of a component by that name: a name may have dots in its own.
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
            let number = start(&port, &value).ok_or_else(|| {
                let message = format!("expected {}, got {}", wanted(&port), value.describe());
                wrong("override/value", &flag, &message)
            })?;
            put(&mut component.starts, name, number);
            hit = true;
        } else if is_parameter || dotted.is_some() {
            // Of a component by name it is the plan's to say that there is no such parameter.
            put(&mut component.parameters, name, value.clone());
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

/// Instead of what stands under this name.
fn put<T>(list: &mut Vec<(String, T, Span)>, name: &str, value: T) {
    list.retain(|(known, ..)| known != name);
    list.push((name.to_owned(), value, 0..0));
}

/// What may be set at an input.
fn wanted(port: &Port) -> String {
    match port.value_type {
        ValueType::Boolean => "true, false, 1 or 0".to_owned(),
        ValueType::Enumeration if !port.items.is_empty() => {
            format!("one of {}", quoted(port.items.iter().map(|(name, _)| name)))
        }
        _ => "a number".to_owned(),
    }
}

/// A start value of an input as people write it: truth as a word or a number, items by name or number.
fn start(port: &Port, value: &Value) -> Option<f64> {
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

/// Gives an integrator to all that may have one. Says which components got it.
fn set_solver(system: &mut System, name: &str, registry: &Registry) -> Vec<usize> {
    let folder = system.folder.clone();
    let mut given = Vec::new();
    for (index, component) in system.components.iter_mut().enumerate() {
        if parameters(component, &folder, registry).iter().any(|known| known == SOLVER) {
            put(&mut component.parameters, SOLVER, Value::Text(name.to_owned()));
            given.push(index);
        }
    }
    given
}

/// Takes it back from those that bring their own solver after all, or where there is none of that name.
fn keep_solver(system: &mut System, name: &str, given: &[usize], registry: &Registry) -> OverrideResult {
    let flag = format!("--solver {name}");
    let ours = Value::Text(name.to_owned());
    let (mut kept, mut refused, mut both) = (given.is_empty() && system.components.is_empty(), None, None);
    for &index in given {
        let component = &system.components[index];
        if !component.parameters.iter().any(|(known, value, _)| known == SOLVER && *value == ours) {
            kept = true; // `--set` says otherwise
            continue;
        }
        let groups = system.monolithic.iter().flat_map(|group| &group.components);
        let joined = groups.into_iter().any(|(member, _)| *member == component.name);
        if refusal(component, &system.folder, joined, registry).is_none() {
            kept = true;
            continue;
        }
        // Of one that is used for co-simulation, the name may be wrong as well.
        let mut exchange = component.clone();
        put(&mut exchange.parameters, "cosimo.use", Value::Text("model-exchange".to_owned()));
        match refusal(&exchange, &system.folder, joined, registry) {
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
    let hint = both.map(|name| format!("`--set {name}.cosimo.use=model-exchange` uses `{name}` so"));
    Err(Problem { hint, ..Problem::warning("override/solver", message, 0..0) }.into())
}

/// Why a component cannot have its integrator.
fn refusal(component: &Component, folder: &Path, joined: bool, registry: &Registry) -> Option<OpenProblem> {
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

/// The parameters that are known of a component before it is planned.
fn parameters(component: &Component, folder: &Path, registry: &Registry) -> Vec<String> {
    let own = component.parameters.iter().map(|(name, ..)| name.clone());
    own.chain(sources::parameters(component, folder, registry)).collect()
}

fn inputs(component: &Component, folder: &Path, registry: &Registry) -> Vec<Port> {
    sources::interface(component, folder, registry).map(|found| found.inputs).unwrap_or_default()
}

/// A TOML value, or a text that nobody cared to quote.
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
