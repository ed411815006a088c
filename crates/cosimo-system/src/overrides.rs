//! What the command line changes about a system. It beats the file, and speaks its language: a value after
//! `=` is spelled as in `system.toml`, except that plain words need no quotes.

use std::borrow::Cow;
use std::path::Path;

use ::toml::Spanned;
use ::toml::de::DeValue;
use cosimo_core::entry::{OpenProblem, OpenRequest, Options, Range, Registry, suggest};
use cosimo_core::{Carries, Port, Value};

use crate::names::{Lost, Names};
use crate::problem::Problem;
use crate::recipe::{Choice, Origin, Recipe};
use crate::sources;
use crate::system::{BondDecl, Component, EndRule, PowerPort, StrongDecl, System, WireDecl};
use crate::toml::links::{DIRECTION, OPPOSITE};
use crate::toml::method::{self, AXES, estimates_with_tolerance, has_tolerance, listed};
use crate::toml::section::{Item, value};
use crate::toml::{Context, is_name, is_pattern};

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
    pub strong: Vec<String>,
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

fn strong(system: &mut System, text: &str, problems: &mut Vec<Problem>) {
    let all = || system.components.iter().map(|component| component.name.clone());
    let names: Vec<String> = match text {
        "*" => all().collect(),
        list => list.split(',').map(|name| name.trim().to_owned()).collect(),
    };
    let before = problems.len();
    for name in &names {
        if !all().any(|known| known == *name) {
            let message = format!("`--strong {text}`: no component is called `{name}`");
            let known: Vec<String> = all().collect();
            let hint = suggest(name, known.iter().map(String::as_str));
            problems.push(Problem::error("system/unknown-component", message, 0..0).hint(hint));
        }
    }
    if problems.len() > before {
        return;
    }
    let name = match system.strong.len() {
        0 => "strong".to_owned(),
        more => format!("strong{}", more + 1),
    };
    let components = names.into_iter().map(|name| (name, 0..0)).collect();
    system.strong.push(StrongDecl { name, components, ..StrongDecl::default() });
}

/// Changes the system; a wrong override changes nothing and is a problem that names its flag.
pub fn apply(system: &mut System, overrides: &Overrides, registry: &Registry) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(stop) = overrides.stop {
        set_stop(system, stop, &mut problems);
    }
    if let Some(end) = overrides.end {
        system.experiment.end = end;
    }
    for text in &overrides.connects {
        connect(system, text, &mut problems);
    }
    for text in &overrides.bonds {
        bond(system, text, &mut problems);
    }
    for text in &overrides.strong {
        strong(system, text, &mut problems);
    }
    if let Some(file) = &overrides.input {
        problems.extend(sources::drive(system, file, registry));
    }
    // Before the tolerance, which goes to the estimate that is chosen in the end.
    for text in &overrides.methods {
        set_method(system, text, registry, &mut problems);
    }
    if let Some(size) = overrides.step {
        if Range::Positive.holds(size) {
            for recipe in system.recipes_mut() {
                (recipe.step.size, recipe.step.size_origin) = (Some(size), Origin::CommandLine);
            }
        } else {
            problems.push(must("--step", size, Range::Positive.words()));
        }
    }
    for text in &overrides.own_steps {
        own_step(system, text, &mut problems);
    }
    if let Some(tolerance) = overrides.tolerance {
        set_tolerance(system, tolerance, registry, &mut problems);
    }
    // Before, so that `--set` can say otherwise of single FMUs.
    let solved =
        overrides.solver.iter().flat_map(|name| set_solver(system, name, registry)).collect::<Vec<_>>();
    for text in &overrides.sets {
        set_parameter(system, text, registry, &mut problems);
    }
    if let Some(name) = &overrides.solver {
        keep_solver(system, name, &solved, registry, &mut problems);
    }
    set_results(system, overrides, &mut problems);
    problems
}

fn wrong(code: &'static str, flag: &str, message: &str) -> Problem {
    Problem::error(code, format!("`{flag}`: {message}"), 0..0)
}

fn must(flag: &str, found: f64, wanted: &str) -> Problem {
    // As a person types it.
    let found = if found.is_nan() { "nan".into() } else { found.to_string() };
    wrong("override/value", &format!("{flag} {found}"), &format!("must be {wanted}, found {found}"))
}

fn own_step(system: &mut System, text: &str, out: &mut Vec<Problem>) {
    let flag = format!("--own-step {text}");
    let Some((name, value)) = text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
        let problem = wrong("override/syntax", &flag, "must be `component=seconds`");
        out.push(problem.hint("as in `wheel=5e-3`"));
        return;
    };
    let Some(component) = system.components.iter().position(|component| component.name == name) else {
        let hint = suggest(name, system.components.iter().map(|component| component.name.as_str()));
        let message = format!("no component is called `{name}`");
        out.push(wrong("override/unknown-component", &flag, &message).hint(hint));
        return;
    };
    match value.parse::<f64>() {
        Ok(every) if Range::Positive.holds(every) => system.components[component].step = Some((every, 0..0)),
        _ => {
            let message = format!("must be {}, found {value}", Range::Positive.words());
            out.push(wrong("override/value", &flag, &message));
        }
    }
}

fn connect(system: &mut System, text: &str, out: &mut Vec<Problem>) {
    let flag = format!("--connect {text}");
    let Some((from, to)) = text.split_once('=').map(|(from, to)| (from.trim(), to.trim())) else {
        let problem = wrong("override/syntax", &flag, "must be `component.output=component.input`");
        out.push(problem.hint("the output comes first, as in `a.y=b.u`"));
        return;
    };
    if known_port(system, from, &flag, out) && known_port(system, to, &flag, out) {
        system.wires.push(WireDecl::plain((from.into(), 0..0), (to.into(), 0..0)));
    }
}

fn bond(system: &mut System, text: &str, out: &mut Vec<Problem>) {
    let flag = format!("--bond {text}");
    let malformed = || {
        wrong("override/syntax", &flag, "must be `name=effort:flow~effort:flow`")
            .hint("as in `joint=a.F:a.v~b.F:b.v`; options follow as `,opposite=flow,direction=b-to-a,energy_scale=10`")
    };
    // Names of ports may have commas in them, as `q[1,2]`, so options are recognised by their keys.
    let mut rest = text;
    let mut bond = BondDecl::default();
    let before = out.len();
    while let Some((before, key, spelled)) = trailing_option(rest) {
        rest = before;
        let number = || spelled.parse::<f64>().ok().filter(|number| Range::Positive.holds(*number));
        let good = match key {
            "opposite" => word(OPPOSITE, spelled).map(|opposite| bond.opposite = opposite).is_some(),
            "direction" => word(DIRECTION, spelled).map(|direction| bond.direction = direction).is_some(),
            "tolerance" => number().map(|number| bond.tolerance = Some(number)).is_some(),
            _ => number().map(|number| bond.energy_scale = Some(number)).is_some(),
        };
        if !good {
            let wanted = match key {
                "opposite" => "`none`, `effort` or `flow`",
                "direction" => "`a-to-b` or `b-to-a`",
                _ => Range::Positive.words(),
            };
            out.push(wrong("override/value", &flag, &format!("`{key}` must be {wanted}, found `{spelled}`")));
        }
    }
    let parts = rest.split_once('=').and_then(|(name, sides)| {
        let (a, b) = sides.split_once('~')?;
        Some((name.trim(), a.split_once(':')?, b.split_once(':')?))
    });
    let Some((name, a, b)) = parts else {
        out.push(malformed());
        return;
    };
    if !is_name(name) || system.bonds.iter().any(|known| known.name == name) {
        let message = format!("`{name}` is no name for a bond, or one has it already");
        out.push(wrong("override/value", &flag, &message).hint("letters, digits, `_` and `-`"));
        return;
    }
    let sides = [a, b].map(|(effort, flow)| [effort.trim(), flow.trim()]);
    if out.len() > before || !sides.iter().flatten().all(|port| known_port(system, port, &flag, out)) {
        return;
    }
    let [a, b] =
        sides.map(|[effort, flow]| PowerPort { effort: (effort.into(), 0..0), flow: (flow.into(), 0..0) });
    system.bonds.push(BondDecl { name: name.into(), a, b, ..bond });
}

/// `rest,key=value` with a key that bonds have.
fn trailing_option(text: &str) -> Option<(&str, &str, &str)> {
    let (before, last) = text.rsplit_once(',')?;
    let (key, spelled) = last.split_once('=')?;
    let known = ["opposite", "direction", "tolerance", "energy_scale"].contains(&key.trim());
    known.then_some((before, key.trim(), spelled.trim()))
}

fn word<T: Copy>(of: &[(&str, T)], spelled: &str) -> Option<T> {
    of.iter().find(|(word, _)| *word == spelled).map(|(_, value)| *value)
}

/// Whether this is the port of a component that exists; whether it has such a port is the plan's to say.
fn known_port(system: &System, path: &str, flag: &str, out: &mut Vec<Problem>) -> bool {
    let names = Names::new(system.components.iter().map(|known| known.name.as_str()));
    let problem = match names.split(path) {
        Ok(_) => return true,
        Err(Lost::Unknown(component)) => {
            let message = format!("no component is called `{component}`");
            wrong("override/unknown-component", flag, &message).hint(names.suggest(component))
        }
        Err(Lost::NoPath) => {
            wrong("override/syntax", flag, &format!("wanted `component.port`, found `{path}`"))
        }
    };
    out.push(problem);
    false
}

fn set_stop(system: &mut System, stop: f64, out: &mut Vec<Problem>) {
    let start = system.experiment.start;
    if !stop.is_finite() {
        out.push(must("--stop", stop, Range::Finite.words()));
    } else if stop <= start {
        out.push(must("--stop", stop, &format!("later than the start, {start} s")));
    } else {
        system.experiment.stop = stop;
    }
}

fn set_method(system: &mut System, text: &str, registry: &Registry, out: &mut Vec<Problem>) {
    let flag = format!("--method {text}");
    let Some((axis, spelled)) = text.split_once('=').map(|(axis, spelled)| (axis.trim(), spelled.trim()))
    else {
        let hint = format!("axes are {}", quoted(AXES));
        out.push(wrong("override/syntax", &flag, "must be `axis=method`").hint(hint));
        return;
    };
    if !AXES.contains(&axis) {
        let problem = wrong("override/unknown-axis", &flag, &format!("there is no axis `{axis}`"));
        out.push(problem.hint(suggest(axis, AXES.iter().copied())));
        return;
    }
    let value = match parse(spelled) {
        Ok(value) => value,
        Err(message) => {
            out.push(wrong("override/syntax", &flag, &message));
            return;
        }
    };
    let names: Vec<String> = system.components.iter().map(|component| component.name.clone()).collect();
    let context = Context { registry, components: Names::new(names.iter().map(String::as_str)) };
    let item = Item { key: axis, key_span: 0..0, value: &value };
    let mut found = Vec::new();
    method::axis(axis, &item, &context, &mut system.recipe.clone(), &mut found);
    if !found.is_empty() {
        // Places in the flag's text are not places in the file.
        let named = |p: Problem| Problem {
            message: format!("`{flag}`: {}", p.message),
            span: 0..0,
            label: String::new(),
            ..p
        };
        out.extend(found.into_iter().map(named));
        return;
    }
    for recipe in system.recipes_mut() {
        method::axis(axis, &item, &context, recipe, &mut found);
        claim_axis(axis, recipe);
    }
}

/// Marks an axis as chosen here.
fn claim_axis(axis: &str, recipe: &mut Recipe) {
    match axis {
        "schedule" => {
            recipe.iteration = Choice::named("once");
            claim(&mut recipe.partition);
            claim(&mut recipe.iteration);
        }
        "partition" => claim(&mut recipe.partition),
        "iteration" => claim(&mut recipe.iteration),
        "estimate" => claim(&mut recipe.estimate),
        "law" => claim(&mut recipe.law),
        "input" | "correction" => {
            let per_input = if axis == "input" { &mut recipe.input } else { &mut recipe.correction };
            claim(&mut per_input.default);
            for (_, choice, span) in &mut per_input.inputs {
                claim(choice);
                *span = 0..0;
            }
        }
        "exchange" => recipe.exchange.inputs.iter_mut().for_each(|(_, _, span)| *span = 0..0),
        _ => {}
    }
}

/// Marks a choice as made here.
fn claim(choice: &mut Choice) {
    choice.span = 0..0;
    choice.origin = Origin::CommandLine;
    for (_, _, span) in &mut choice.options {
        *span = 0..0;
    }
}

fn set_tolerance(system: &mut System, tolerance: f64, registry: &Registry, out: &mut Vec<Problem>) {
    let flag = format!("--tolerance {tolerance}");
    if !Range::Positive.holds(tolerance) {
        out.push(must("--tolerance", tolerance, Range::Positive.words()));
        return;
    }
    let usual = system.recipe.estimate.name.clone();
    let mut estimates: Vec<&mut Choice> = system.recipes_mut().map(|recipe| &mut recipe.estimate).collect();
    estimates.retain(|estimate| has_tolerance(registry, &estimate.name));
    if estimates.is_empty() {
        let message = format!("the estimate `{usual}` has no tolerance");
        out.push(wrong("override/value", &flag, &message).hint(estimates_with_tolerance(registry)));
        return;
    }
    let pair = ("tolerance".to_owned(), Value::Number(tolerance));
    for estimate in estimates {
        let specs =
            listed(registry, "estimate").iter().find(|entry| entry.name == estimate.name).map(|e| e.options);
        if let Err(found) = Options::resolve(
            &format!("`{}`", estimate.name),
            specs.unwrap_or_default(),
            std::slice::from_ref(&pair),
        ) {
            out.extend(found.iter().map(|found| wrong("override/value", &flag, &found.message)));
            return;
        }
        *estimate = std::mem::take(estimate).with(&pair.0, pair.1.clone());
        estimate.origin = Origin::CommandLine;
    }
    // Narrower ones in the file would beat the one of the estimate, and the command line beats the file.
    system.bonds.iter_mut().for_each(|bond| bond.tolerance = None);
    system.junctions.iter_mut().for_each(|junction| junction.tolerance = None);
    system.components.iter_mut().for_each(|component| component.tolerance = None);
}

fn set_parameter(system: &mut System, text: &str, registry: &Registry, out: &mut Vec<Problem>) {
    let flag = format!("--set {text}");
    let parts = text.split_once('=').map(|(left, right)| (left.trim(), right.trim()));
    let Some((target, spelled)) = parts.filter(|(target, _)| !target.is_empty()) else {
        let problem = wrong("override/syntax", &flag, "must be `component.parameter=value`");
        out.push(problem.hint(
            "`parameter=value` sets it wherever there is one; inputs that nobody drives can be set too",
        ));
        return;
    };
    let value = match parse(spelled) {
        Ok(parsed) => value(parsed.get_ref()),
        Err(message) => {
            out.push(wrong("override/syntax", &flag, &message));
            return;
        }
    };
    let owned: Vec<String> = system.components.iter().map(|component| component.name.clone()).collect();
    let names = Names::new(owned.iter().map(String::as_str));
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
        match (&input, input.as_ref().and_then(|port| start(port, &value))) {
            (Some(_), Some(number)) => {
                component.starts.retain(|(port, ..)| port != name);
                component.starts.push((name.to_owned(), number, 0..0));
                hit = true;
            }
            (Some(port), None) => {
                let wanted = match port.carries {
                    Carries::Boolean => "true, false, 1 or 0".to_owned(),
                    Carries::Enumeration if !port.items.is_empty() => {
                        let names: Vec<&str> = port.items.iter().map(|(name, _)| name.as_str()).collect();
                        format!("one of {}", quoted(&names))
                    }
                    _ => "a number".to_owned(),
                };
                let message = format!("expected {wanted}, got {}", value.describe());
                out.push(wrong("override/value", &flag, &message));
                return;
            }
            // Of a component by name it is the plan's to say that there is no such parameter.
            _ if is_parameter || dotted.is_some() => {
                component.parameters.retain(|(parameter, ..)| parameter != name);
                component.parameters.push((name.to_owned(), value.clone(), 0..0));
                hit = true;
            }
            _ => {}
        }
    }
    if hit {
        return;
    }
    known.sort();
    known.dedup();
    let (code, message, hint) = match names.split(target) {
        Err(Lost::Unknown(component)) if !known.iter().any(|name| name.contains('.')) => (
            "override/unknown-component",
            format!("no component is called `{component}`"),
            names.suggest(component),
        ),
        _ => (
            "override/unknown-parameter",
            format!("no component has a parameter or an input `{target}`"),
            suggest(target, known.iter().map(String::as_str)),
        ),
    };
    out.push(wrong(code, &flag, &message).hint(hint));
}

/// A start value of an input as people write it: truth as a word or a number, items by name or number.
fn start(port: &Port, value: &Value) -> Option<f64> {
    match (port.carries, value) {
        (Carries::Boolean, Value::Flag(flag)) => Some(f64::from(u8::from(*flag))),
        (Carries::Boolean, Value::Number(number)) => [0.0, 1.0].contains(number).then_some(*number),
        (Carries::Enumeration, Value::Text(name)) => {
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
            component.parameters.retain(|(parameter, ..)| parameter != SOLVER);
            component.parameters.push((SOLVER.to_owned(), Value::Text(name.to_owned()), 0..0));
            given.push(index);
        }
    }
    given
}

/// Takes it back from those that bring their own solver after all, or where there is none of that name.
fn keep_solver(
    system: &mut System,
    name: &str,
    given: &[usize],
    registry: &Registry,
    out: &mut Vec<Problem>,
) {
    let flag = format!("--solver {name}");
    let ours = Value::Text(name.to_owned());
    let (mut kept, mut refused, mut both) = (given.is_empty() && system.components.is_empty(), None, None);
    for &index in given {
        let component = &system.components[index];
        if !component.parameters.iter().any(|(known, value, _)| known == SOLVER && *value == ours) {
            kept = true; // `--set` says otherwise
            continue;
        }
        let groups = system.strong.iter().flat_map(|group| &group.components);
        let joined = groups.into_iter().any(|(member, _)| *member == component.name);
        if refusal(component, &system.folder, joined, registry).is_none() {
            kept = true;
            continue;
        }
        // Of one that is used for co-simulation, the name may be wrong as well.
        let mut exchange = component.clone();
        exchange.parameters.retain(|(known, ..)| known != "cosimo.use");
        exchange.parameters.push(("cosimo.use".to_owned(), Value::Text("model-exchange".to_owned()), 0..0));
        match refusal(&exchange, &system.folder, joined, registry) {
            Some(problem) => refused = refused.or(Some(problem)),
            None => both = both.or(Some(component.name.clone())),
        }
        system.components[index].parameters.retain(|(known, ..)| known != SOLVER);
    }
    if let Some(OpenProblem { message, hint, .. }) = refused {
        let problem = wrong("override/value", &flag, &message.replace(&format!("`{SOLVER}` "), ""));
        out.push(Problem { hint, ..problem });
    } else if !kept {
        let message = format!("`{flag}` changes nothing: no FMU is used for model exchange");
        let problem = Problem::remark("override/solver", message, 0..0);
        out.push(match both {
            Some(name) => problem.hint(format!("`--set {name}.cosimo.use=model-exchange` uses `{name}` so")),
            None => problem,
        });
    }
}

/// Why a component cannot have its integrator.
fn refusal(component: &Component, folder: &Path, joined: bool, registry: &Registry) -> Option<OpenProblem> {
    let kind = registry.source(&component.source)?;
    let parameters: Vec<(String, Value)> =
        component.parameters.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
    let request = OpenRequest {
        name: &component.name,
        source: &component.source,
        folder,
        parameters: &parameters,
        joined,
    };
    let found = kind.open(&request).err()?;
    found.into_iter().find(|problem| problem.parameter.as_deref() == Some(SOLVER))
}

fn set_results(system: &mut System, overrides: &Overrides, out: &mut Vec<Problem>) {
    let bad = overrides.record.iter().filter(|pattern| !is_pattern(pattern));
    for pattern in bad.clone() {
        out.push(wrong(
            "override/syntax",
            &format!("--record {pattern:?}"),
            "must be a pattern such as `a.*`",
        ));
    }
    if !overrides.record.is_empty() && bad.count() == 0 {
        system.results.variables = overrides.record.iter().map(|pattern| (pattern.clone(), 0..0)).collect();
    }
    match overrides.record_every {
        Some(every) if !Range::Positive.holds(every) => {
            out.push(must("--record-every", every, Range::Positive.words()));
        }
        Some(every) => system.results.every = Some(every),
        None => {}
    }
}

/// The parameters that are known of a component before it is planned.
fn parameters(component: &Component, folder: &Path, registry: &Registry) -> Vec<String> {
    let own = component.parameters.iter().map(|(name, ..)| name.clone());
    let kind = registry.source(&component.source);
    let known = kind.map(|kind| kind.parameters(&component.source, folder)).unwrap_or_default();
    own.chain(known.into_iter().map(|parameter| parameter.name)).collect()
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

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
