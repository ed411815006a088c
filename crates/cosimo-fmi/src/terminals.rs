//! terminalsAndIcons.xml of FMI 3.0: which variables belong to one connector. Optional, so nothing in it can
//! keep an FMU from running.

use std::collections::BTreeSet;
use std::path::Path;

use crate::description::{Description, TERMINALS, Terminal};
use crate::problem::FileProblem;
use crate::text::read_text;
use crate::xml::{self, XmlReader, children_of};

pub(crate) fn read(folder: &Path, description: &mut Description) {
    if !folder.join(TERMINALS).is_file() {
        return;
    }
    let read = read_text(folder, TERMINALS).and_then(|(text, _)| parse(&text, description));
    if let Err(problem) = read {
        description.warnings.push(problem);
    }
}

fn parse(text: &str, description: &mut Description) -> Result<(), FileProblem> {
    let document = xml::parse(text, TERMINALS)?;
    let mut reader = XmlReader::new(text, TERMINALS);
    let known: BTreeSet<&str> = description.variables.iter().map(|variable| variable.name.as_str()).collect();
    let mut found = Vec::new();
    for node in children_of(document.root_element(), "Terminals") {
        let Some(name) = node.attribute("name") else { continue };
        let text = |name: &str| node.attribute(name).unwrap_or_default().to_owned();
        let mut members = Vec::new();
        for member in node.children().filter(|child| child.tag_name().name() == "TerminalMemberVariable") {
            let Some(variable) = member.attribute("variableName") else { continue };
            if !known.contains(variable) {
                reader.warning(
                    member,
                    format!("terminal `{name}` refers to `{variable}`, which does not exist"),
                );
                continue;
            }
            let own = member.attribute("memberName").unwrap_or(variable);
            members.push((own.to_owned(), variable.to_owned()));
        }
        let (kind, matching_rule) = (text("terminalKind"), text("matchingRule"));
        found.push(Terminal { name: name.to_owned(), kind, matching_rule, members });
    }
    description.terminals = found;
    description.warnings.append(&mut reader.warnings);
    Ok(())
}
