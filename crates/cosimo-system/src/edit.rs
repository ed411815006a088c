//! Edits of an existing `system.toml` that keep comments, order and layout.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::system::BondDecl;
use crate::write;

/// A bond, and the two connections it replaces, by their indices in the file.
pub type Replacement<'a> = (&'a BondDecl, [usize; 2]);

/// Replaces connections by bonds. The text must have been read without problems.
pub fn replace_connections(text: &str, replacements: &[Replacement<'_>]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let key = if document.contains_key("wire") { "wire" } else { "connection" }; // the first is its former name
    let Some(Item::ArrayOfTables(connections)) = document.get_mut(key) else {
        return Err(format!("the connections are not `[[{key}]]` sections"));
    };
    let mut bonds = Vec::new();
    for (bond, places) in replacements {
        let found: Vec<&Table> = places.iter().filter_map(|place| connections.get(*place)).collect();
        let position = found.iter().filter_map(|connection| connection.position()).min();
        let layout: Vec<String> = found.iter().map(|connection| layout_of(connection)).collect();
        bonds.extend(section(bond, position, &layout));
    }
    let mut removed: Vec<usize> = replacements.iter().flat_map(|(_, places)| *places).collect();
    removed.sort_unstable();
    for place in removed.iter().rev() {
        connections.remove(*place);
    }
    if connections.is_empty() {
        document.remove(key);
    }
    let list = document.entry("bond").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let Item::ArrayOfTables(list) = list else { return Err("the bonds are not `[[bond]]` sections".into()) };
    bonds.into_iter().for_each(|bond| list.push(bond));
    Ok(document.to_string())
}

/// The text before a section and all comments inside it.
fn layout_of(section: &Table) -> String {
    let mut text = section.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
    let mut keep = |text_around: &str| {
        for comment in text_around.lines().map(str::trim).filter(|line| line.starts_with('#')) {
            text.push_str(comment);
            text.push('\n');
        }
    };
    keep(section.decor().suffix().and_then(|suffix| suffix.as_str()).unwrap_or_default());
    for (key, item) in section.iter() {
        let before = section.key(key).and_then(|key| key.leaf_decor().prefix()?.as_str());
        keep(before.unwrap_or_default());
        let behind = item.as_value().and_then(|value| value.decor().suffix()?.as_str());
        keep(behind.unwrap_or_default());
    }
    text
}

fn section(bond: &BondDecl, position: Option<isize>, layout: &[String]) -> Option<Table> {
    let written: DocumentMut = write::bond(bond).parse().ok()?;
    let mut table = written["bond"].as_array_of_tables()?.get(0)?.clone();
    // The blank lines of the first connection and the comments of both.
    let mut prefix = layout.first().cloned().unwrap_or_default();
    for line in layout.iter().skip(1).flat_map(|text| text.lines()) {
        if line.trim_start().starts_with('#') {
            prefix.push_str(line);
            prefix.push('\n');
        }
    }
    table.decor_mut().set_prefix(prefix);
    table.set_position(position);
    Some(table)
}
