//! One table of the file with typed access to its keys. An access that gets another type than it
//! expects adds a problem and continues, so that one pass finds all problems.

use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};
use cosimo_core::Value;
use cosimo_core::registry::{Range, suggest};

use crate::problem::{Problem, Span};

/// A key and its value.
#[derive(Debug, Clone)]
pub(crate) struct Item<'t> {
    pub key: &'t str,
    pub key_span: Span,
    pub value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Item<'t> {
    pub(crate) fn of(table: &'t DeTable<'t>, key: &str) -> Option<Item<'t>> {
        let (key, value) = table.get_key_value(key)?;
        Some(Item { key: key.get_ref(), key_span: key.span(), value })
    }

    pub(crate) fn span(&self) -> Span {
        self.value.span()
    }

    /// `key = value` as a whole. Tables under a header of their own have their key inside the value.
    pub(crate) fn whole(&self) -> Span {
        let value = self.value.span();
        if value.start < self.key_span.end { self.key_span.clone() } else { self.key_span.start..value.end }
    }

    pub(crate) fn table(&self) -> Option<&'t DeTable<'t>> {
        self.value.get_ref().as_table()
    }

    /// The items of a list, each with the key of the list; `None` if it is not a list.
    pub(crate) fn list(&self) -> Option<Vec<Item<'t>>> {
        let item = |value| Item { key: self.key, key_span: self.key_span.clone(), value };
        Some(self.value.get_ref().as_array()?.iter().map(item).collect())
    }

    /// The entries of a table, in the order of the file; `None` if it is not a table.
    pub(crate) fn entries(&self) -> Option<Vec<Item<'t>>> {
        self.table().map(|table| entries(table))
    }

    /// `true` or `false`.
    pub(crate) fn truth(&self) -> Option<bool> {
        self.value.get_ref().as_bool()
    }

    pub(crate) fn flag(&self, out: &mut Vec<Problem>) -> Option<bool> {
        or_report(self.truth(), out, || self.wrong("true or false"))
    }

    pub(crate) fn describe(&self) -> String {
        describe(self.value.get_ref())
    }

    pub(crate) fn wrong(&self, expected: &str) -> Problem {
        let message = format!("`{}` must be {expected}, got {}", self.key, self.describe());
        Problem::error("system/value", message, self.span()).label(format!("expected: {expected}"))
    }

    pub(crate) fn number(&self, range: Range, out: &mut Vec<Problem>) -> Option<f64> {
        self.within(range.text(), |number| range.holds(number), out)
    }

    /// A number with special limits.
    pub(crate) fn within(
        &self,
        expected: &str,
        holds: impl Fn(f64) -> bool,
        out: &mut Vec<Problem>,
    ) -> Option<f64> {
        let number = number(self.value.get_ref()).filter(|number| number.is_finite() && holds(*number));
        or_report(number, out, || self.wrong(expected))
    }

    pub(crate) fn text(&self, out: &mut Vec<Problem>) -> Option<(String, Span)> {
        let text = self.value.get_ref().as_str().map(|text| (text.to_owned(), self.span()));
        or_report(text, out, || self.wrong("a text in quotes"))
    }

    /// A list of texts; other items are left out.
    pub(crate) fn texts(&self, out: &mut Vec<Problem>) -> Vec<(String, Span)> {
        let hint = format!("write `{} = [\"...\"]`", self.key);
        let items = or_report(self.list(), out, || self.wrong("a list of texts in quotes").hint(hint));
        items.unwrap_or_default().iter().filter_map(|item| item.text(out)).collect()
    }

    pub(crate) fn one_of<T: Copy>(&self, words: &[(&str, T)], out: &mut Vec<Problem>) -> Option<T> {
        let text = self.value.get_ref().as_str();
        let chosen = words.iter().find(|(word, _)| Some(*word) == text).map(|(_, meaning)| *meaning);
        or_report(chosen, out, || {
            let quoted: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let hint = text.map(|text| suggest(text, words.iter().map(|(word, _)| *word)));
            Problem { hint, ..self.wrong(&quoted.join(" or ")) }
        })
    }

    /// The tables of a `[[key]]`; `None` if it is not a list.
    pub(crate) fn tables(&self, out: &mut Vec<Problem>) -> Option<Vec<Item<'t>>> {
        let hint = format!("write `[[{}]]`, once for each", self.key);
        or_report(self.list(), out, || self.wrong("a list of tables").hint(hint))
    }

    /// The entries of a table with free keys.
    pub(crate) fn free_entries(&self, out: &mut Vec<Problem>) -> Vec<Item<'t>> {
        let hint = format!("write `{} = {{ name = value }}`", self.key);
        or_report(self.entries(), out, || self.wrong("a table").hint(hint)).unwrap_or_default()
    }
}

/// Adds a problem if there is no value.
pub(crate) fn or_report<T>(
    value: Option<T>,
    out: &mut Vec<Problem>,
    problem: impl FnOnce() -> Problem,
) -> Option<T> {
    if value.is_none() {
        out.push(problem());
    }
    value
}

/// A table whose keys are known.
#[derive(Debug)]
pub(crate) struct Section<'t> {
    /// With its backticks, as messages name it.
    pub title: String,
    pub span: Span,
    pub table: &'t DeTable<'t>,
    /// Keys that are treated as absent.
    pub hidden: Vec<&'static str>,
}

impl<'t> Section<'t> {
    /// Unknown keys are reported here.
    pub(crate) fn open(
        title: impl Into<String>,
        value: &'t Spanned<DeValue<'t>>,
        keys: &[&'static str],
        out: &mut Vec<Problem>,
    ) -> Option<Section<'t>> {
        let title = title.into();
        let Some(table) = value.get_ref().as_table() else {
            let message = format!("{title} must be a table, got {}", describe(value.get_ref()));
            out.push(Problem::error("system/value", message, value.span()).label("expected: a table"));
            return None;
        };
        Some(Section::over(title, table, value.span(), keys, out))
    }

    pub(crate) fn over(
        title: impl Into<String>,
        table: &'t DeTable<'t>,
        span: Span,
        keys: &[&'static str],
        out: &mut Vec<Problem>,
    ) -> Section<'t> {
        let title = title.into();
        for item in entries(table).iter().filter(|item| !keys.contains(&item.key)) {
            out.push(
                Problem::error(
                    "system/unknown-key",
                    format!("{title} has no key `{}`", item.key),
                    item.key_span.clone(),
                )
                .label("unknown key")
                .hint(suggest(item.key, keys.iter().copied())),
            );
        }
        Section { title, span, table, hidden: Vec::new() }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Item<'t>> {
        Item::of(self.table, key).filter(|item| !self.hidden.contains(&item.key))
    }

    /// `example` is shown in the hint.
    pub(crate) fn required(&self, key: &str, example: &str, out: &mut Vec<Problem>) -> Option<Item<'t>> {
        or_report(self.get(key), out, || {
            Problem::error("system/missing", format!("{} needs `{key}`", self.title), self.span.clone())
                .label(format!("`{key}` is missing"))
                .hint(format!("write for example `{example}`"))
        })
    }
}

/// In the order of the file; the parser sorts by name.
fn entries<'t>(table: &'t DeTable<'t>) -> Vec<Item<'t>> {
    let mut items: Vec<Item<'t>> =
        table.iter().map(|(key, value)| Item { key: key.get_ref(), key_span: key.span(), value }).collect();
    items.sort_by_key(|item| item.key_span.start);
    items
}

pub(crate) fn value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Array(items) => Value::List(items.iter().map(|item| self::value(item.get_ref())).collect()),
        DeValue::Table(table) => Value::Table(
            entries(table)
                .iter()
                .map(|item| (item.key.to_owned(), self::value(item.value.get_ref())))
                .collect(),
        ),
        DeValue::Datetime(date) => Value::Text(date.to_string()),
        DeValue::Integer(_) | DeValue::Float(_) => Value::Number(number(value).unwrap_or(f64::NAN)),
    }
}

/// Integers count as numbers.
fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        DeValue::Integer(integer) => {
            let radix = integer.radix();
            let digits = integer.as_str().chars().filter_map(|digit| digit.to_digit(radix));
            Some(digits.fold(0.0, |sum, digit| sum * f64::from(radix) + f64::from(digit)))
        }
        _ => None,
    }
}

/// The value as in the file if it is short.
fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.chars().count() > 60 => "a long text".into(),
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::Float(float) => float.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}
