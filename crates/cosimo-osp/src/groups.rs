//! Variable groups of an FMU, from the `_OspModelDescription.xml` beside it: of version 1.0, where ports
//! are groups of groups, or of the drafts before it, where groups are flat.

use std::path::{Path, PathBuf};

use cosimo_pack::text::read_text;
use cosimo_pack::xml;
use roxmltree::Node;

/// A group by its name: its own variables, and groups inside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct VariableGroup {
    pub(crate) name: String,
    pub(crate) variables: Vec<String>,
    pub(crate) groups: Vec<VariableGroup>,
}

impl VariableGroup {
    /// All variables, those of inner groups first, in the order of the file.
    pub(crate) fn all(&self) -> Vec<&str> {
        let inner = self.groups.iter().flat_map(VariableGroup::all);
        inner.chain(self.variables.iter().map(String::as_str)).collect()
    }
}

/// What is known of the groups of an FMU.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Groups {
    Known(Vec<VariableGroup>),
    /// There is a file that cannot be read, for this reason.
    Unreadable(String),
    /// There is none of these files.
    Missing(Vec<PathBuf>),
}

/// The groups of an FMU, which is known by its file and by the name of its model; its own folder comes before that of the
/// system. Names of files are compared without regard to case, as they were written on systems that do so.
pub(crate) fn of_unit(unit: &Path, model: Option<&str>, system: &Path) -> Groups {
    let beside = unit.parent().unwrap_or(Path::new(""));
    let stem = unit.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut tried = Vec::new();
    for folder in [beside, system] {
        for name in model.map(str::to_owned).into_iter().chain(stem.clone()) {
            let wanted = folder.join(format!("{name}_OspModelDescription.xml"));
            if tried.contains(&wanted) {
                continue;
            }
            if let Some(file) = spelled(&wanted) {
                return match read(folder, &file) {
                    Ok(groups) => Groups::Known(groups),
                    Err(message) => Groups::Unreadable(message),
                };
            }
            tried.push(wanted);
        }
    }
    Groups::Missing(tried)
}

/// The name of a file as it is spelled in its folder; the exact one first.
fn spelled(wanted: &Path) -> Option<String> {
    let name = wanted.file_name()?.to_str()?;
    if wanted.is_file() {
        return Some(name.to_owned());
    }
    let folder = wanted.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut alike: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|found| found.to_lowercase() == name.to_lowercase() && folder.join(found).is_file())
        .collect();
    alike.sort();
    alike.into_iter().next()
}

fn read(folder: &Path, file: &str) -> Result<Vec<VariableGroup>, String> {
    let (text, _) = read_text(folder, file).map_err(|problem| problem.to_string())?;
    parse(&text, file)
}

pub(crate) fn parse(text: &str, file: &str) -> Result<Vec<VariableGroup>, String> {
    let document = xml::parse(text, file).map_err(|problem| problem.to_string())?;
    let root = document.root_element();
    if root.tag_name().name() != "OspModelDescription" {
        return Err(format!(
            "{file}: found `<{}>`, expected `<OspModelDescription>`",
            root.tag_name().name()
        ));
    }
    Ok(xml::children_of(root, "VariableGroups").map(group).collect())
}

fn group(node: Node<'_, '_>) -> VariableGroup {
    let mut group = VariableGroup {
        name: node.attribute("name").unwrap_or_default().to_owned(),
        ..VariableGroup::default()
    };
    for child in node.children().filter(Node::is_element) {
        if child.tag_name().name() == "Variable" {
            let name = child.attribute("ref").or_else(|| child.attribute("name"));
            group.variables.extend(name.map(str::to_owned));
        } else {
            group.groups.push(self::group(child));
        }
    }
    group
}

/// A group by name, at any depth; outer ones first.
pub(crate) fn find<'g>(groups: &'g [VariableGroup], name: &str) -> Option<&'g VariableGroup> {
    let here = groups.iter().find(|group| group.name == name);
    here.or_else(|| groups.iter().find_map(|group| find(&group.groups, name)))
}

/// All names, for suggestions.
pub(crate) fn names(groups: &[VariableGroup]) -> Vec<&str> {
    groups.iter().flat_map(|group| std::iter::once(group.name.as_str()).chain(names(&group.groups))).collect()
}
