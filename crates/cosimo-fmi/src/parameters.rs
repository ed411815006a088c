//! Parameters of a component: values for the FMU's own variables, and a few options that are Cosimo's.
//! All problems at once.

use std::ffi::CString;

use cosimo_core::Value;
use cosimo_core::registry::{OpenProblem, Parameter, number_text, suggest};
use cosimo_ode::{ABSENT, INTEGRATORS, IntegratorEntry};

use crate::description::{Causality, Description, FmuUse, Initial, Variability, Variable, VariableType};
use crate::instance::{Instance, StartValue, Values};

/// Options of Cosimo stand among the parameters under this prefix, which no FMU uses.
const PREFIX: &str = "cosimo.";
const OPTIONS: [&str; 8] = [
    "cosimo.use",
    "cosimo.substep",
    "cosimo.feedthrough",
    "cosimo.rollback",
    "cosimo.solver",
    "cosimo.relative",
    "cosimo.absolute",
    "cosimo.largest_step",
];

/// Those that are for one use only.
const CO_SIMULATION: [&str; 1] = ["cosimo.substep"];
const MODEL_EXCHANGE: [&str; 4] =
    ["cosimo.solver", "cosimo.relative", "cosimo.absolute", "cosimo.largest_step"];

#[derive(Debug, Clone)]
pub(crate) struct Parameters {
    /// The usual one unless it was said.
    pub(crate) usage: Option<FmuUse>,
    pub(crate) settings: Vec<StartValue>,
    /// Values that the FMU's maker does not allow, each with the name of its parameter.
    pub(crate) doubts: Vec<(String, String)>,
    /// Into how many steps of the FMU a macro step is split.
    pub(crate) substep: Option<u32>,
    pub(crate) feedthrough: Feedthrough,
    pub(crate) rollback: Rollback,
    /// The rest is for model exchange.
    pub(crate) solver: &'static IntegratorEntry,
    pub(crate) relative: Option<f64>,
    pub(crate) absolute: Option<f64>,
    pub(crate) largest_step: Option<f64>,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            usage: None,
            settings: Vec::new(),
            doubts: Vec::new(),
            substep: None,
            feedthrough: Feedthrough::default(),
            rollback: Rollback::default(),
            // FMUs do not declare whether they are stiff.
            solver: INTEGRATORS.iter().find(|entry| entry.name == "bdf").unwrap_or(&INTEGRATORS[0]),
            relative: None,
            absolute: None,
            largest_step: None,
        }
    }
}

/// Source of the direct feed-through information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Feedthrough {
    /// From the FMU's description; what that does not deny is assumed.
    #[default]
    Declared,
    /// From a trial.
    Probed,
    /// From the user: none does.
    None,
}

/// How to treat the declared capability to save and restore the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Rollback {
    /// It is tried out before a run relies on it.
    #[default]
    Tried,
    Trusted,
    /// The FMU is used as if it had not promised anything.
    None,
}

/// Parameters that may change between steps, as far as a number says what they are: names, references and types.
pub(crate) fn tunable(description: &Description) -> (Vec<String>, Vec<(u32, VariableType)>) {
    let changes = |variable: &&Variable| {
        variable.causality == Causality::Parameter
            && variable.variability == Variability::Tunable
            && variable.dimensions.is_empty()
            && (matches!(variable.kind, VariableType::Float64 | VariableType::Float32)
                || bounds(variable.kind).is_some())
    };
    let variables = description.variables.iter().filter(changes);
    variables.map(|variable| (variable.name.clone(), (variable.reference, variable.kind))).unzip()
}

/// Everything that can be given.
pub(crate) fn known(description: &Description) -> Vec<Parameter> {
    let own = description.variables.iter().filter(|variable| settable(variable));
    let fits = |name: &&&str| {
        (description.cosimulation.is_some() || !CO_SIMULATION.contains(*name))
            && (description.exchange.is_some() || !MODEL_EXCHANGE.contains(*name))
    };
    let option = |name: &&str| Parameter { name: (*name).to_owned(), unit: None, default: None };
    let options = OPTIONS.iter().filter(fits).map(option);
    let parameter = |variable: &Variable| Parameter {
        name: variable.name.clone(),
        unit: variable.unit.clone(),
        default: default(variable),
    };
    own.map(parameter).chain(options).collect()
}

/// The start value of a scalar number.
fn default(variable: &Variable) -> Option<Value> {
    let number = matches!(variable.kind, VariableType::Float64 | VariableType::Float32)
        || bounds(variable.kind).is_some();
    match &variable.start[..] {
        [start] if number && variable.dimensions.is_empty() => start.trim().parse().ok().map(Value::Number),
        _ => None,
    }
}

pub(crate) fn read(
    description: &Description,
    given: &[(String, Value)],
    wish: Option<FmuUse>,
) -> Result<Parameters, Vec<OpenProblem>> {
    let mut parameters = Parameters::default();
    let mut problems = wrong(given, |name, value| {
        if name.starts_with(PREFIX) {
            return option(name, value, &mut parameters);
        }
        let setting = setting(description, name, value)?;
        let doubt = beyond(description, name, &setting);
        parameters.doubts.extend(doubt.map(|doubt| (name.to_owned(), doubt)));
        parameters.settings.push(setting);
        Ok(())
    });
    let usage = parameters.usage.or(wish.filter(|wish| description.offer(*wish).is_some()));
    problems.extend(misplaced(description, given, usage));
    if problems.is_empty() { Ok(parameters) } else { Err(problems) }
}

/// Options of FMUs that are integrated together.
pub(crate) fn of_joined(given: &[(String, Value)]) -> Result<Parameters, Vec<OpenProblem>> {
    let mut parameters = Parameters::default();
    let problems = wrong(given, |name, value| {
        if MODEL_EXCHANGE.contains(&name) {
            return option(name, value, &mut parameters);
        }
        let hint = suggest(name, MODEL_EXCHANGE.into_iter());
        Err((format!("a monolithic group has no option `{name}`"), Some(hint)))
    });
    if problems.is_empty() { Ok(parameters) } else { Err(problems) }
}

/// What is wrong with each of the parameters that are not taken.
fn wrong(
    given: &[(String, Value)],
    mut take: impl FnMut(&str, &Value) -> Result<(), ParameterProblem>,
) -> Vec<OpenProblem> {
    let problem =
        |name: &String, (message, hint)| OpenProblem { parameter: Some(name.clone()), message, hint };
    given.iter().filter_map(|(name, value)| Some(problem(name, take(name, value).err()?))).collect()
}

/// Options that are for another use than that of the FMU.
fn misplaced(
    description: &Description,
    given: &[(String, Value)],
    usage: Option<FmuUse>,
) -> Vec<OpenProblem> {
    let model = &description.model_name;
    let mut problems = Vec::new();
    let mut problem = |name: &str, message: String, hint: Option<String>| {
        problems.push(OpenProblem { parameter: Some(name.into()), message, hint });
    };
    if let Some(usage) = usage.filter(|usage| description.offer(*usage).is_none()) {
        let there: Vec<&str> = FmuUse::ALL
            .iter()
            .filter(|usage| description.offer(**usage).is_some())
            .map(|usage| usage.name())
            .collect();
        let message =
            format!("FMU `{model}` does not support {}, only {}", usage.name(), there.join(" and "));
        problem("cosimo.use", message, None);
        return problems;
    }
    let usage = usage.unwrap_or(description.default_use());
    for (name, _) in given {
        let wanted = match usage {
            _ if CO_SIMULATION.contains(&name.as_str()) => FmuUse::CoSimulation,
            _ if MODEL_EXCHANGE.contains(&name.as_str()) => FmuUse::ModelExchange,
            _ => continue,
        };
        if wanted != usage {
            let message =
                format!("`{name}` is for {}, but FMU `{model}` is used for {}", wanted.name(), usage.name());
            let can = description.offer(wanted).is_some();
            let word = wanted.name().replace(' ', "-");
            problem(name, message, can.then(|| format!("`\"cosimo.use\" = \"{word}\"` uses it for that")));
        }
    }
    problems
}

type ParameterProblem = (String, Option<String>);

fn option(name: &str, value: &Value, parameters: &mut Parameters) -> Result<(), ParameterProblem> {
    match (name, value) {
        ("cosimo.substep", Value::Number(number))
            if number.fract() == 0.0 && (1.0..=1e6).contains(number) =>
        {
            parameters.substep = Some(*number as u32);
        }
        ("cosimo.substep", other) => {
            let hint =
                "it splits each macro step, so that extrapolated inputs reach an FMU that holds its inputs";
            let found = other.describe();
            let message = format!("`{name}` must be a whole number from 1 to 1e6, got {found}");
            return Err((message, Some(hint.into())));
        }
        ("cosimo.use", other) => {
            let known = [("co-simulation", FmuUse::CoSimulation), ("model-exchange", FmuUse::ModelExchange)];
            parameters.usage = Some(word(name, other, &known)?);
        }
        ("cosimo.solver", other) => {
            if let Some((absent, remedy)) =
                ABSENT.iter().find(|(name, _)| *other == Value::Text((*name).into()))
            {
                let words = format!("the solver \"{absent}\" is not included in this build of Cosimo");
                return Err((words, Some((*remedy).into())));
            }
            let known: Vec<_> = INTEGRATORS.iter().map(|entry| (entry.name, *entry)).collect();
            parameters.solver = word(name, other, &known)?;
        }
        ("cosimo.relative" | "cosimo.absolute" | "cosimo.largest_step", Value::Number(number))
            if number.is_finite() && *number > 0.0 =>
        {
            let place = match name {
                "cosimo.relative" => &mut parameters.relative,
                "cosimo.absolute" => &mut parameters.absolute,
                _ => &mut parameters.largest_step,
            };
            *place = Some(*number);
        }
        ("cosimo.relative" | "cosimo.absolute" | "cosimo.largest_step", other) => {
            let found = other.describe();
            return Err((format!("`{name}` must be a finite number above 0, got {found}"), None));
        }
        ("cosimo.feedthrough", other) => {
            let known = [
                ("declared", Feedthrough::Declared),
                ("probed", Feedthrough::Probed),
                ("none", Feedthrough::None),
            ];
            parameters.feedthrough = word(name, other, &known)?;
        }
        ("cosimo.rollback", other) => {
            let known =
                [("tried", Rollback::Tried), ("trusted", Rollback::Trusted), ("none", Rollback::None)];
            parameters.rollback = word(name, other, &known)?;
        }
        _ => {
            let hint = suggest(name, OPTIONS.into_iter());
            return Err((format!("there is no option `{name}`"), Some(hint)));
        }
    }
    Ok(())
}

fn word<T: Copy>(name: &str, value: &Value, known: &[(&str, T)]) -> Result<T, ParameterProblem> {
    let found = known.iter().find(|(word, _)| *value == Value::Text((*word).into()));
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<String> = known.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let (last, others) = words.split_last().map_or(("", &[][..]), |(last, others)| (last, others));
        let found = value.describe();
        (format!("`{name}` must be {} or {last}, got {found}", others.join(", ")), None)
    })
}

/// Whether a start value may be given from outside.
fn settable(variable: &Variable) -> bool {
    if variable.variability == Variability::Constant {
        return false;
    }
    match variable.causality {
        Causality::Parameter => true,
        // A string input that is not connected.
        Causality::Input => variable.kind == VariableType::String,
        Causality::Local | Causality::Output => {
            matches!(variable.initial, Some(Initial::Exact | Initial::Approx))
        }
        _ => false,
    }
}

fn setting(description: &Description, name: &str, value: &Value) -> Result<StartValue, ParameterProblem> {
    let model = &description.model_name;
    let Some(variable) = description.find(name) else {
        let known = description.variables.iter().filter(|variable| settable(variable));
        let hint = suggest(name, known.map(|variable| variable.name.as_str()));
        return Err((format!("FMU `{model}` has no variable `{name}`"), Some(hint)));
    };
    if !settable(variable) {
        let (why, hint) = match variable.causality {
            Causality::StructuralParameter => {
                ("is a structural parameter; Cosimo cannot change these yet".to_owned(), None)
            }
            Causality::Input => (
                "is an input, not a parameter".to_owned(),
                Some("connect it, or give it a value as an input".to_owned()),
            ),
            other => (format!("cannot be set: the FMU computes this {}", other.name()), None),
        };
        return Err((format!("`{name}` of FMU `{model}` {why}"), hint));
    }
    let wrong = |wanted: String| {
        Err((format!("`{name}` of FMU `{model}` must be {wanted}, got {}", value.describe()), None))
    };
    let single = variable.dimensions.is_empty();
    let items: &[Value] = match value {
        Value::List(items) if !single && items.len() == variable.elements() => items,
        _ if !single => {
            return wrong(format!("a list of {} {} values", variable.elements(), variable.kind.name()));
        }
        one => std::slice::from_ref(one),
    };
    let values = if variable.kind == VariableType::String {
        let texts = items.iter().map(|item| match item {
            Value::Text(text) => CString::new(text.as_str()).ok(),
            _ => None,
        });
        texts.collect::<Option<Vec<_>>>().map(Values::Texts)
    } else {
        items.iter().map(|item| number(variable, item)).collect::<Option<Vec<_>>>().map(Values::Numbers)
    };
    match values {
        Some(values) => Ok(StartValue { reference: variable.reference, kind: variable.kind, values }),
        None => wrong(wanted(variable)),
    }
}

/// How much a number that comes back may differ from the one that was set, as a part of it: some FMUs convert.
const CLOSE: f64 = 1e-9;

/// Parameters that an initialised instance does not have as they were set, in words. What cannot be read is not judged.
pub(crate) fn lost<I: Instance + ?Sized>(
    description: &Description,
    settings: &[StartValue],
    instance: &mut I,
) -> Vec<String> {
    let (mut lost, life) = (Vec::new(), instance.life());
    for (place, setting) in settings.iter().enumerate() {
        let StartValue { reference, kind, values } = setting;
        // Two names of one variable: the FMU has what was set last.
        let same = |other: &StartValue| other.reference == *reference && other.kind == *kind;
        if settings[place + 1..].iter().any(same) {
            continue;
        }
        let is = |variable: &&Variable| {
            variable.reference == *reference
                && variable.kind == *kind
                && variable.causality == Causality::Parameter
        };
        let Some(variable) = description.variables.iter().find(is) else { continue };
        let (set, got) = match values {
            Values::Numbers(numbers) => {
                let mut found = vec![f64::NAN; numbers.len()];
                if instance.get(*kind, &[*reference], &mut found).is_err() {
                    instance.forgive(life);
                    continue;
                }
                let differs =
                    |(set, got): &(&f64, &f64)| (*set - *got).abs() > CLOSE * set.abs() || got.is_nan();
                let expected: Vec<f64> = numbers.iter().map(|number| carried(*kind, *number)).collect();
                let Some((set, got)) = expected.iter().zip(&found).find(differs) else { continue };
                (number_text(*set), number_text(*got))
            }
            Values::Texts(texts) => {
                let ([text], mut found) = (texts.as_slice(), Vec::new()) else { continue };
                if instance.get_parcel(*kind, *reference, &mut found).is_err() {
                    instance.forgive(life);
                    continue;
                }
                if found == text.as_bytes() {
                    continue;
                }
                (format!("{:?}", text.to_string_lossy()), format!("{:?}", String::from_utf8_lossy(&found)))
            }
        };
        let name = &variable.name;
        lost.push(format!("parameter `{name}` was set to {set}, but after initialisation it is {got}"));
    }
    lost
}

/// A number as a variable of this type can hold it.
fn carried(kind: VariableType, number: f64) -> f64 {
    match kind {
        VariableType::Float64 => number,
        VariableType::Float32 => f64::from(number as f32),
        VariableType::Boolean => f64::from(u8::from(number > 0.5)),
        _ => number.round(),
    }
}

/// A value outside the limits that the FMU declares. The FMU may still take it; only it can know.
fn beyond(description: &Description, name: &str, setting: &StartValue) -> Option<String> {
    let limits = description.find(name)?.limits;
    let Values::Numbers(numbers) = &setting.values else { return None };
    let wrong = numbers.iter().find(|number| !limits.contains(**number))?;
    let (model, wrong) = (&description.model_name, number_text(*wrong));
    Some(format!("`{name}` of FMU `{model}` is {wrong}, allowed: {limits}"))
}

/// The smallest and the largest value of a type of whole numbers.
fn bounds(kind: VariableType) -> Option<(f64, f64)> {
    Some(match kind {
        VariableType::Int8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        VariableType::UInt8 => (0.0, f64::from(u8::MAX)),
        VariableType::Int16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
        VariableType::UInt16 => (0.0, f64::from(u16::MAX)),
        VariableType::Int32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        VariableType::UInt32 => (0.0, f64::from(u32::MAX)),
        // As far as a double counts in ones.
        VariableType::Int64 => (-9_007_199_254_740_992.0, 9_007_199_254_740_992.0),
        VariableType::UInt64 => (0.0, 9_007_199_254_740_992.0),
        _ => return None,
    })
}

fn number(variable: &Variable, value: &Value) -> Option<f64> {
    match (variable.kind, value) {
        (VariableType::Float64 | VariableType::Float32, Value::Number(number)) => {
            number.is_finite().then_some(*number)
        }
        (VariableType::Boolean, Value::Flag(flag)) => Some(f64::from(u8::from(*flag))),
        (VariableType::Boolean, Value::Number(number)) => [0.0, 1.0].contains(number).then_some(*number),
        (VariableType::Enumeration, Value::Text(text)) => {
            variable.items.iter().find(|(name, _)| name == text).map(|(_, value)| *value as f64)
        }
        (VariableType::Enumeration, Value::Number(number)) => {
            let known =
                variable.items.is_empty() || variable.items.iter().any(|(_, value)| *value as f64 == *number);
            (known && number.fract() == 0.0 && number.abs() < 2_147_483_648.0).then_some(*number)
        }
        (kind, Value::Number(number)) => {
            let (least, most) = bounds(kind)?;
            (number.fract() == 0.0 && (least..=most).contains(number)).then_some(*number)
        }
        _ => None,
    }
}

fn wanted(variable: &Variable) -> String {
    match variable.kind {
        VariableType::Float64 | VariableType::Float32 => "a finite number".into(),
        VariableType::Boolean => "true or false".into(),
        VariableType::String => "a text".into(),
        VariableType::Enumeration if !variable.items.is_empty() => {
            let names: Vec<String> = variable.items.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            format!("one of {}", names.join(", "))
        }
        kind => match bounds(kind) {
            Some((least, most)) => {
                format!("a whole number from {least} to {most}")
            }
            None => format!("left unset: Cosimo cannot set values of type {} yet", kind.name()),
        },
    }
}
