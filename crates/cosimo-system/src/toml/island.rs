//! `[island.name]`: a method of its own for one island, that is, for what remains connected when lines are cut. What it
//! does not say is as `[method]` has it.

use super::section::{Item, Section, entries};
use super::{Context, check_name, known_components, method};
use crate::problem::Problem;
use crate::recipe::Recipe;
use crate::system::IslandDecl;

pub(crate) const ISLAND_KEYS: &[&str] =
    &["components", "schedule", "partition", "iteration", "input", "correction", "exchange", "step"];

pub(super) fn read(
    item: &Item<'_>,
    usual: &Recipe,
    context: &Context<'_>,
    out: &mut Vec<Problem>,
) -> Vec<IslandDecl> {
    let Some(table) = item.table() else {
        let hint = "write `[island.name]` with `components = [\"a\"]`, and what `[method]` could say";
        out.push(item.wrong("a table of islands").hint(hint));
        return Vec::new();
    };
    let mut islands = Vec::new();
    for item in entries(table) {
        check_name("island", item.key, item.key_span.clone(), out);
        let title = format!("`[island.{}]`", item.key);
        let Some(section) = Section::open(title, item.value, ISLAND_KEYS, out) else { continue };
        let components = known_components(&section, "components = [\"a\"]", context, out);
        let mut recipe = usual.clone();
        method::fill(&section, context, &mut recipe, out);
        islands.push(IslandDecl { name: item.key.into(), components, recipe, span: item.key_span.clone() });
    }
    islands
}
