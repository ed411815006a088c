//! Which variables of a unit belong together, from the `_OspModelDescription.xml` beside it: of version 1.0, where ports
//! are groups of groups, or of the drafts before it, where groups are flat.

use std::path::Path;

use cosimo_pack::text::read_text;
use cosimo_pack::xml;
use roxmltree::Node;

/// A group by its name: its own variables, and groups inside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) variables: Vec<String>,
    pub(crate) groups: Vec<Group>,
}

impl Group {
    /// All variables, those of inner groups first, in the order of the file.
    pub(crate) fn all(&self) -> Vec<&str> {
        let inner = self.groups.iter().flat_map(Group::all);
        inner.chain(self.variables.iter().map(String::as_str)).collect()
    }
}

/// The groups of a unit; `None` where no file says any, and a message where there is one that cannot be read. The unit
/// is known by its file and by the name of its model; its own folder comes before that of the system.
pub(crate) fn of_unit(unit: &Path, model: Option<&str>, system: &Path) -> Option<Result<Vec<Group>, String>> {
    let beside = unit.parent().unwrap_or(Path::new(""));
    let stem = unit.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    for folder in [beside, system] {
        for name in model.map(str::to_owned).into_iter().chain(stem.clone()) {
            let file = format!("{name}_OspModelDescription.xml");
            if folder.join(&file).is_file() {
                return Some(read(folder, &file));
            }
        }
    }
    None
}

fn read(folder: &Path, file: &str) -> Result<Vec<Group>, String> {
    let (text, _) = read_text(folder, file).map_err(|problem| problem.to_string())?;
    parse(&text, file)
}

pub(crate) fn parse(text: &str, file: &str) -> Result<Vec<Group>, String> {
    let document = xml::parse(text, file).map_err(|problem| problem.to_string())?;
    let root = document.root_element();
    if root.tag_name().name() != "OspModelDescription" {
        return Err(format!("{file}: found `<{}>`, wanted `<OspModelDescription>`", root.tag_name().name()));
    }
    Ok(xml::children_of(root, "VariableGroups").map(group).collect())
}

fn group(node: Node<'_, '_>) -> Group {
    let mut group = Group { name: node.attribute("name").unwrap_or_default().to_owned(), ..Group::default() };
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
pub(crate) fn find<'g>(groups: &'g [Group], name: &str) -> Option<&'g Group> {
    let here = groups.iter().find(|group| group.name == name);
    here.or_else(|| groups.iter().find_map(|group| find(&group.groups, name)))
}

/// All names, for suggestions.
pub(crate) fn names(groups: &[Group]) -> Vec<&str> {
    groups.iter().flat_map(|group| std::iter::once(group.name.as_str()).chain(names(&group.groups))).collect()
}
