//! A system back as `system.toml`. Reading it again gives the same system; what equals its default is left
//! out, and comments are not kept.

use std::fmt::Write;

use cosimo_core::Value;

use crate::keys::parts::is_name;
use crate::keys::walk::{KeyText, TableEntries};
use crate::keys::{BOND, SUPPLEMENT, SYSTEM};
use crate::system::{BondDecl, PowerPort, System};

pub fn to_toml(system: &System) -> String {
    sections(&SYSTEM.page(system))
}

/// What another format has no words for: everything but start, stop and sources, as [`crate::toml::supplement`] reads
/// it. Leave out of the system what the other format does say.
pub fn to_supplement(system: &System) -> String {
    sections(&SUPPLEMENT.page(system))
}

/// One bond as a section of its own.
pub fn bond(bond: &BondDecl) -> String {
    section("[[bond]]", &BOND.lines(bond))
}

/// The same as `--bond` takes it.
pub fn bond_argument(bond: &BondDecl) -> String {
    let side = |port: &PowerPort| format!("{}:{}", port.effort.0, port.flow.0);
    let mut text = format!("{}={}~{}", bond.name, side(&bond.a), side(&bond.b));
    let options = BOND.alone();
    for (key, value) in BOND.lines(bond) {
        if options.contains(&key.as_str()) {
            text += &format!(",{key}={}", value.trim_matches('"'));
        }
    }
    text
}

fn sections(page: &TableEntries) -> String {
    let mut sections = Vec::new();
    for entry in &page.entries {
        match &entry.written {
            KeyText::Table(page, usual) => sections.push((format!("[{}]", entry.key), page.beside(usual))),
            KeyText::Tables(pages, usual) => sections.extend(pages.iter().map(|page| {
                let head = match &page.name {
                    Some(name) => format!("[{}.{}]", entry.key, key(name)),
                    None => format!("[[{}]]", entry.key),
                };
                (head, page.beside(usual))
            })),
            KeyText::Plain(_) | KeyText::Again(_) => {}
        }
    }
    let written = sections.iter().filter(|(_, lines)| !lines.is_empty());
    written.map(|(head, lines)| section(head, lines)).collect::<Vec<_>>().join("\n")
}

fn section(head: &str, lines: &[(String, String)]) -> String {
    let lines = lines.iter().map(|(key, value)| format!("{key} = {value}\n"));
    format!("{head}\n{}", lines.collect::<String>())
}

/// A value as it stands in a file.
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

/// A key as TOML spells it: bare where that will do.
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
