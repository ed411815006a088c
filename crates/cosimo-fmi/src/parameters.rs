//! Parameters of a component: values for the unit's own variables, and a few options that are Cosimo's.
//! All problems at once.

use std::ffi::CString;

use cosimo_core::Value;
use cosimo_core::entry::{OpenProblem, suggest};

use crate::description::{Causality, Description, Initial, Kind, Variability, Variable};
use crate::instance::{Setting, Values};

/// Options of Cosimo stand among the parameters under this prefix, which no unit uses.
const PREFIX: &str = "cosimo.";
const OPTIONS: [&str; 3] = ["cosimo.substep", "cosimo.feedthrough", "cosimo.rollback"];

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Parameters {
    pub(crate) settings: Vec<Setting>,
    /// Into how many steps of the unit a macro step is split.
    pub(crate) substep: Option<u32>,
    pub(crate) feedthrough: Feedthrough,
    pub(crate) rollback: Rollback,
}

/// Where it is known from which outputs answer which inputs at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Feedthrough {
    /// From the unit's description; what that does not deny is assumed.
    #[default]
    Declared,
    /// From a trial.
    Probed,
    /// From the user: none does.
    None,
}

/// What to make of a unit's promise to save and restore its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Rollback {
    /// It is tried out before a run relies on it.
    #[default]
    Tried,
    Trusted,
    /// The unit is used as if it had not promised anything.
    None,
}

/// Everything that can be given.
pub(crate) fn names(description: &Description) -> Vec<String> {
    let own = description.variables.iter().filter(|variable| settable(variable));
    let options = OPTIONS.iter().map(|name| (*name).to_owned());
    own.map(|variable| variable.name.clone()).chain(options).collect()
}

pub(crate) fn read(
    description: &Description,
    given: &[(String, Value)],
) -> Result<Parameters, Vec<OpenProblem>> {
    let mut parameters = Parameters::default();
    let mut problems = Vec::new();
    for (name, value) in given {
        let outcome = if name.starts_with(PREFIX) {
            option(name, value, &mut parameters)
        } else {
            setting(description, name, value).map(|setting| parameters.settings.push(setting))
        };
        if let Err((message, hint)) = outcome {
            problems.push(OpenProblem { parameter: Some(name.clone()), message, hint });
        }
    }
    if problems.is_empty() { Ok(parameters) } else { Err(problems) }
}

type Wrong = (String, Option<String>);

fn option(name: &str, value: &Value, parameters: &mut Parameters) -> Result<(), Wrong> {
    match (name, value) {
        ("cosimo.substep", Value::Number(number))
            if number.fract() == 0.0 && (1.0..=1e6).contains(number) =>
        {
            parameters.substep = Some(*number as u32);
            Ok(())
        }
        ("cosimo.substep", other) => Err((
            format!("`{name}` must be a whole number from 1 to 1e6, found {}", other.describe()),
            Some("it splits each macro step, so that assumed inputs reach a unit that holds them".into()),
        )),
        ("cosimo.feedthrough", other) => {
            let known = [
                ("declared", Feedthrough::Declared),
                ("probed", Feedthrough::Probed),
                ("none", Feedthrough::None),
            ];
            parameters.feedthrough = word(name, other, &known)?;
            Ok(())
        }
        ("cosimo.rollback", other) => {
            let known =
                [("tried", Rollback::Tried), ("trusted", Rollback::Trusted), ("none", Rollback::None)];
            parameters.rollback = word(name, other, &known)?;
            Ok(())
        }
        _ => Err((format!("there is no option `{name}`"), Some(suggest(name, OPTIONS.into_iter())))),
    }
}

fn word<T: Copy>(name: &str, value: &Value, known: &[(&str, T); 3]) -> Result<T, Wrong> {
    let found = known.iter().find(|(word, _)| *value == Value::Text((*word).into()));
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let [a, b, c] = known.each_ref().map(|(word, _)| word);
        (format!("`{name}` must be \"{a}\", \"{b}\" or \"{c}\", found {}", value.describe()), None)
    })
}

/// Whether a start value may be given from outside.
fn settable(variable: &Variable) -> bool {
    if variable.variability == Variability::Constant {
        return false;
    }
    match variable.causality {
        Causality::Parameter => true,
        Causality::Local | Causality::Output => {
            matches!(variable.initial, Some(Initial::Exact | Initial::Approx))
        }
        _ => false,
    }
}

fn setting(description: &Description, name: &str, value: &Value) -> Result<Setting, Wrong> {
    let model = &description.model_name;
    let Some(variable) = description.find(name) else {
        let known = description.variables.iter().filter(|variable| settable(variable));
        let hint = suggest(name, known.map(|variable| variable.name.as_str()));
        return Err((format!("unit `{model}` has no variable `{name}`"), Some(hint)));
    };
    let causality = variable.causality.name();
    match variable.causality {
        _ if settable(variable) => {}
        Causality::StructuralParameter => {
            return Err((
                format!(
                    "`{name}` of unit `{model}` is a structural parameter; Cosimo cannot resize a unit yet"
                ),
                None,
            ));
        }
        Causality::Input => {
            return Err((
                format!("`{name}` of unit `{model}` is an input, not a parameter"),
                Some("connect it, or give it a value as an input".into()),
            ));
        }
        _ => {
            return Err((
                format!("`{name}` of unit `{model}` cannot be set: the unit computes this {causality}"),
                None,
            ));
        }
    }
    let wrong = |wanted: String| {
        Err((format!("`{name}` of unit `{model}` must be {wanted}, found {}", value.describe()), None))
    };
    let single = variable.dimensions.is_empty();
    let items: &[Value] = match value {
        Value::List(items) if !single && items.len() == variable.elements() => items,
        _ if !single => {
            return wrong(format!("a list of {} {} values", variable.elements(), variable.kind.name()));
        }
        one => std::slice::from_ref(one),
    };
    let values = if variable.kind == Kind::String {
        let texts = items.iter().map(|item| match item {
            Value::Text(text) => CString::new(text.as_str()).ok(),
            _ => None,
        });
        texts.collect::<Option<Vec<_>>>().map(Values::Texts)
    } else {
        items.iter().map(|item| number(variable, item)).collect::<Option<Vec<_>>>().map(Values::Numbers)
    };
    match values {
        Some(values) => Ok(Setting { reference: variable.reference, kind: variable.kind, values }),
        None => wrong(wanted(variable)),
    }
}

/// The smallest and the largest value of a type of whole numbers.
fn bounds(kind: Kind) -> Option<(f64, f64)> {
    Some(match kind {
        Kind::Int8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        Kind::UInt8 => (0.0, f64::from(u8::MAX)),
        Kind::Int16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
        Kind::UInt16 => (0.0, f64::from(u16::MAX)),
        Kind::Int32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        Kind::UInt32 => (0.0, f64::from(u32::MAX)),
        // As far as a double counts in ones.
        Kind::Int64 => (-9_007_199_254_740_992.0, 9_007_199_254_740_992.0),
        Kind::UInt64 => (0.0, 9_007_199_254_740_992.0),
        _ => return None,
    })
}

fn number(variable: &Variable, value: &Value) -> Option<f64> {
    match (variable.kind, value) {
        (Kind::Float64 | Kind::Float32, Value::Number(number)) => number.is_finite().then_some(*number),
        (Kind::Boolean, Value::Flag(flag)) => Some(f64::from(u8::from(*flag))),
        (Kind::Enumeration, Value::Text(text)) => {
            variable.items.iter().find(|(name, _)| name == text).map(|(_, value)| *value as f64)
        }
        (Kind::Enumeration, Value::Number(number)) => {
            let known =
                variable.items.is_empty() || variable.items.iter().any(|(_, value)| *value as f64 == *number);
            (known && number.fract() == 0.0 && number.abs() < 2f64.powi(31)).then_some(*number)
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
        Kind::Float64 | Kind::Float32 => "a finite number".into(),
        Kind::Boolean => "true or false".into(),
        Kind::String => "a text".into(),
        Kind::Enumeration if !variable.items.is_empty() => {
            let names: Vec<String> = variable.items.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            format!("one of {}", names.join(", "))
        }
        kind => match bounds(kind) {
            Some((least, most)) => {
                format!("a whole number from {least} to {most}")
            }
            None => format!("left alone: Cosimo cannot set values of type {} yet", kind.name()),
        },
    }
}
