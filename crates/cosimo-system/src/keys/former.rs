//! Former names of keys. Files that use them are still read, with a warning that names the present key.

use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};

use crate::problem::{Problem, Span};

/// The tables that lead to a key, `*` for any name; the former name; the present name.
const FORMER: [(&[&str], &str, &str); 4] = [
    (&[], "wire", "connection"),
    (&[], "strong", "monolithic"),
    (&["method", "step"], "law", "controller"),
    (&["island", "*", "step"], "law", "controller"),
];

/// The present name of an axis on the command line.
pub(crate) fn axis(name: &str) -> &str {
    FORMER.iter().find(|(path, old, _)| !path.is_empty() && *old == name).map_or(name, |(.., new)| new)
}

/// Renames former keys, with a warning for each.
pub(crate) fn rename(table: &mut DeTable<'_>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (path, old, new) in FORMER {
        descend(table, path, &mut |table| {
            // With both names the former one stays and is reported as unknown.
            if table.contains_key(new) {
                return;
            }
            if let Some((key, value)) = table.remove_entry(old) {
                warnings.push(warning(old, new, key.span()));
                table.insert(Spanned::new(key.span(), new.into()), value);
            }
        });
    }
    warnings
}

fn descend<'t>(table: &mut DeTable<'t>, path: &[&str], visit: &mut dyn FnMut(&mut DeTable<'t>)) {
    let Some((first, rest)) = path.split_first() else { return visit(table) };
    for (_, value) in table.iter_mut().filter(|(key, _)| *first == "*" || key.get_ref() == first) {
        if let DeValue::Table(inner) = value.get_mut() {
            descend(inner, rest, visit);
        }
    }
}

fn warning(old: &str, new: &str, span: Span) -> Problem {
    Problem::warning("system/former-key", format!("`{old}` has been renamed to `{new}`; both are read"), span)
        .label("former name")
        .hint(format!("write `{new}`"))
}
