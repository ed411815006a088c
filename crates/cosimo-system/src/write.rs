//! Writes a system as `system.toml`. Reading it again gives the same system; values equal to their default are left
//! out, and comments are not kept.

use std::fmt::Write;

use cosimo_core::Value;

use crate::keys::parts::is_name;
use crate::keys::walk::{KeyText, TableEntries};
use crate::keys::{BOND, SUPPLEMENT, SYSTEM};
use crate::system::{BondDecl, PowerPort, System};

/// The whole system.
pub fn to_toml(system: &System) -> String {
    sections(&SYSTEM.entries(system))
}

/// What another format cannot express: everything but start, stop and sources, as [`crate::toml::supplement`] reads
/// it. Reset in the system what the other format expresses itself.
pub fn to_supplement(system: &System) -> String {
    sections(&SUPPLEMENT.entries(system))
}

/// One bond as a `[[bond]]` section.
pub fn bond(bond: &BondDecl) -> String {
    section("[[bond]]", &BOND.lines(bond))
}

/// One bond as the argument of `--bond`.
pub fn bond_argument(bond: &BondDecl) -> String {
    let side = |port: &PowerPort| format!("{}:{}", port.effort.0, port.flow.0);
    let mut text = format!("{}={}~{}", bond.name, side(&bond.a), side(&bond.b));
    let options = BOND.overridable();
    for (key, value) in BOND.lines(bond) {
        if options.contains(&key.as_str()) {
            text += &format!(",{key}={}", value.trim_matches('"'));
        }
    }
    text
}

fn sections(table_entries: &TableEntries) -> String {
    let mut sections = Vec::new();
    for entry in &table_entries.entries {
        match &entry.written {
            KeyText::Table(table_entries, usual) => {
                sections.push((format!("[{}]", entry.key), table_entries.differences(usual)))
            }
            KeyText::Tables(tables, usual) => sections.extend(tables.iter().map(|table_entries| {
                let head = match &table_entries.name {
                    Some(name) => format!("[{}.{}]", entry.key, key(name)),
                    None => format!("[[{}]]", entry.key),
                };
                (head, table_entries.differences(usual))
            })),
            KeyText::Plain(_) | KeyText::Explicit(_) => {}
        }
    }
    let written = sections.iter().filter(|(_, lines)| !lines.is_empty());
    written.map(|(head, lines)| section(head, lines)).collect::<Vec<_>>().join("\n")
}

fn section(head: &str, lines: &[(String, String)]) -> String {
    let lines = lines.iter().map(|(key, value)| format!("{key} = {value}\n"));
    format!("{head}\n{}", lines.collect::<String>())
}

/// A value in TOML syntax.
pub fn value(value: &Value) -> String {
    match value {
        Value::Number(number) => self::number(*number),
        Value::Flag(flag) => flag.to_string(),
        Value::Text(text) => self::text(text),
        Value::List(items) => {
            format!("[{}]", items.iter().map(self::value).collect::<Vec<_>>().join(", "))
        }
        Value::Table(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.clone(), self::value(value))).collect();
            table(&pairs)
        }
    }
}

pub(crate) fn table(pairs: &[(String, String)]) -> String {
    if pairs.is_empty() {
        return "{}".into();
    }
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{} = {value}", key(name))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// Shortest text that reads back as the same number.
pub(crate) fn number(number: f64) -> String {
    if number.is_nan() { "nan".into() } else { format!("{number:?}") }
}

/// A key in TOML syntax, with quotes only where needed.
pub fn key(key: &str) -> String {
    if is_name(key) { key.into() } else { text(key) }
}

/// A text in quotes.
pub fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            _ => quoted.push(letter),
        }
    }
    quoted + "\""
}
