//! Scenarios: timed and conditional actions during a run, read from a file of their own.

use ::toml::de::DeTable;
use cosimo_core::registry::{Range, quoted};

use crate::expression::{self, Expression};
use crate::problem::{Problem, Span};
use crate::toml::section::{Item, Section};

/// The content of a scenario file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scenario {
    /// In the order of the file.
    pub actions: Vec<Action>,
}

/// One `[[action]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// The name in the file, or a description of the effect.
    pub name: String,
    /// When it happens.
    pub trigger: Trigger,
    /// What it does.
    pub effect: Effect,
    /// The target, `component.name`; empty for [`Effect::Stop`].
    pub target: (String, Span),
    /// The section.
    pub span: Span,
}

/// When an action happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// At a time in seconds.
    At(f64, Span),
    /// When a condition becomes true.
    When {
        /// The parsed condition.
        condition: Expression,
        /// The condition as written.
        text: String,
        /// Only the first time.
        once: bool,
    },
}

/// What an action does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// Sets an unconnected input.
    Set(f64),
    /// Replaces the value of a connected input.
    Override(f64),
    /// Holds the last value of the input.
    Stuck,
    /// Multiplies the value of the connection.
    Scale(f64),
    /// Adds to the value of the connection.
    Offset(f64),
    /// Ends an override: the input follows its connection again.
    Release,
    /// Sets a tunable parameter.
    Parameter(f64),
    /// Ends the run.
    Stop,
}

/// A key, the key of its number, and the effect with that number.
type EffectKey = (&'static str, Option<&'static str>, fn(f64) -> Effect);

const EFFECTS: [EffectKey; 8] = [
    ("set", Some("to"), Effect::Set),
    ("override", Some("to"), Effect::Override),
    ("stuck", None, |_| Effect::Stuck),
    ("scale", Some("by"), Effect::Scale),
    ("offset", Some("by"), Effect::Offset),
    ("release", None, |_| Effect::Release),
    ("parameter", Some("to"), Effect::Parameter),
    ("stop", None, |_| Effect::Stop),
];

/// Reads a scenario, with all its problems.
pub fn read(text: &str) -> (Scenario, Vec<Problem>) {
    let (table, broken) = DeTable::parse_recoverable(text);
    let mut problems = crate::toml::syntax(&broken, text);
    let mut scenario = Scenario::default();
    if !problems.is_empty() {
        return (scenario, problems);
    }
    let root = Section::over("the scenario", table.get_ref(), 0..0, &["action"], &mut problems);
    let verbs = EFFECTS.iter().map(|(verb, ..)| *verb);
    let keys: Vec<&str> =
        ["name", "at", "when", "once"].into_iter().chain(verbs).chain(["to", "by"]).collect();
    let example = "[[action]]` with `at = 2.0` and `override = \"a.u\"` `to = 0.0";
    if let Some(item) = root.required("action", example, &mut problems) {
        for item in item.tables(&mut problems).unwrap_or_default() {
            if let Some(section) = Section::open("`[[action]]`", item.value, &keys, &mut problems) {
                scenario.actions.extend(action(&section, text, &mut problems));
            }
        }
    }
    problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
    (scenario, problems)
}

fn wrong(message: &str, span: Span, hint: &str) -> Problem {
    Problem::error("scenario/action", message, span).hint(hint)
}

fn action(section: &Section<'_>, text: &str, out: &mut Vec<Problem>) -> Option<Action> {
    let trigger = trigger(section, text, out);
    let (effect, target) = read_effect(section, out)?;
    let name = section.get("name").and_then(|item| item.text(out)).map(|(name, _)| name);
    let name = name.unwrap_or_else(|| default_name(effect, &target.0));
    Some(Action { name, trigger: trigger?, effect, target, span: section.span.clone() })
}

fn trigger(section: &Section<'_>, text: &str, out: &mut Vec<Problem>) -> Option<Trigger> {
    let (at, when, once) = (section.get("at"), section.get("when"), section.get("once"));
    if let (Some(_), Some(once)) = (&at, &once) {
        let message = "`once` is only allowed with `when`";
        out.push(wrong(message, once.whole(), "remove it"));
    }
    match (at, when) {
        (Some(at), None) => {
            let time = at.number(Range::Finite, out)?;
            Some(Trigger::At(time, at.span()))
        }
        (None, Some(when)) => {
            let (written, span) = when.text(out)?;
            let once = once.map_or(Some(true), |item| item.flag(out))?;
            match condition_at(&written, &span, text) {
                Ok(condition) => Some(Trigger::When { condition, text: written, once }),
                Err(problem) => {
                    out.push(problem);
                    None
                }
            }
        }
        (Some(_), Some(when)) => {
            let message = "an action has either `at` or `when`, got both";
            let hint = "remove one; a condition may contain the time, as in `a.v > 1 and t >= 2`";
            out.push(wrong(message, when.whole(), hint).label("conflicts with `at`"));
            None
        }
        (None, None) => {
            let message = "an action needs `at` or `when`, got neither";
            let hint = "write for example `at = 2.0` or `when = \"a.v > 1\"`";
            out.push(wrong(message, section.span.clone(), hint));
            None
        }
    }
}

/// Errors get their exact place if the text has no escapes, else the whole text.
fn condition_at(condition: &str, span: &Span, text: &str) -> Result<Expression, Problem> {
    let inside = span.start + 1..span.end.saturating_sub(1);
    let literal = text.get(inside.clone()) == Some(condition);
    expression::parse(condition, if literal { inside.start } else { 0 }).map_err(|mut problem| {
        if !literal {
            problem.span = span.clone();
        }
        problem
    })
}

fn read_effect(section: &Section<'_>, out: &mut Vec<Problem>) -> Option<(Effect, (String, Span))> {
    let found: Vec<(&EffectKey, Item<'_>)> =
        EFFECTS.iter().filter_map(|verb| Some((verb, section.get(verb.0)?))).collect();
    let ((key, number, effect), item) = match found.as_slice() {
        [(verb, item)] => (*verb, item),
        [] => {
            let hint = format!("known effects are {}", quoted(EFFECTS.iter().map(|(key, ..)| key)));
            out.push(wrong("an action needs an effect", section.span.clone(), &hint));
            return None;
        }
        [_, (_, second), ..] => {
            let problem = wrong("an action has one effect only", second.whole(), "add another `[[action]]`");
            out.push(problem.label("second effect"));
            return None;
        }
    };
    let target = if *key == "stop" {
        if item.value.get_ref().as_bool() != Some(true) {
            out.push(item.wrong("true"));
            return None;
        }
        Some((String::new(), item.span()))
    } else {
        item.text(out)
    };
    for other in ["to", "by"].iter().filter(|other| Some(**other) != *number) {
        if let Some(item) = section.get(other) {
            let hint = number.map_or("remove it".into(), |number| format!("`{key}` takes `{number}`"));
            out.push(wrong(&format!("`{other}` is not allowed with `{key}`"), item.whole(), &hint));
        }
    }
    let value = match number {
        Some(number) => {
            section.required(number, &format!("{number} = 1.0"), out)?.number(Range::Finite, out)?
        }
        None => 0.0,
    };
    Some((effect(value), target?))
}

/// The name of an action that has none in the file.
fn default_name(effect: Effect, target: &str) -> String {
    match effect {
        Effect::Set(value) => format!("set {target} to {value}"),
        Effect::Override(value) => format!("override {target} with {value}"),
        Effect::Stuck => format!("{target} stuck"),
        Effect::Scale(factor) => format!("scale {target} by {factor}"),
        Effect::Offset(offset) => format!("offset {target} by {offset}"),
        Effect::Release => format!("release {target}"),
        Effect::Parameter(value) => format!("set parameter {target} to {value}"),
        Effect::Stop => "stop".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "[[action]]\nname = \"ä\"\nat = 2.0\nstuck = \"a.u\"\n\n[[action]]\nonce = false\n\
                        when = 'not (a.x > 1e-3 and t >= 2) or `b-c.y[1]` < -a.u'\nscale = \"a.u\"\nby = -0.5\n";

    #[test]
    fn what_is_written_is_read() {
        let (scenario, problems) = read(GOOD);
        assert_eq!(problems, []);
        let [first, second] = scenario.actions.as_slice() else { panic!("{scenario:?}") };
        assert_eq!((first.name.as_str(), first.effect), ("ä", Effect::Stuck));
        assert!(matches!(first.trigger, Trigger::At(2.0, _)));
        assert_eq!((second.name.as_str(), second.effect), ("scale a.u by -0.5", Effect::Scale(-0.5)));
        assert!(matches!(second.trigger, Trigger::When { once: false, .. }));
    }

    proptest! {
        /// Any modified text gives a scenario or problems with places in the text.
        #[test]
        fn no_text_panics(at in 0..GOOD.len(), length in 0usize..20, put in "[a-z0-9.=\\[\\]\"'`()<>\n -]{0,6}") {
            let end = (at + length).min(GOOD.len());
            prop_assume!(GOOD.is_char_boundary(at) && GOOD.is_char_boundary(end));
            let text = format!("{}{put}{}", &GOOD[..at], &GOOD[end..]);
            for problem in read(&text).1 {
                prop_assert!(text.get(problem.span.clone()).is_some(), "{:?}", problem);
            }
        }
    }
}
