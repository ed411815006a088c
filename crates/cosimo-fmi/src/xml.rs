//! Attributes out of an XML document: read, checked and, if wrong, reported with their position. Only what a unit
//! cannot run without is a problem; of the rest, what is not understood is left out with a remark.

use roxmltree::{Document, Node};

use crate::problem::{Place, Problem};

pub(crate) struct Reader<'a> {
    lines: Vec<usize>,
    text: &'a str,
    file: &'static str,
    pub(crate) problems: Vec<Problem>,
    pub(crate) remarks: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(_document: &'a Document<'a>, text: &'a str, file: &'static str) -> Reader<'a> {
        // `text_pos_at` counts from the top each time, which is quadratic over 200 000 variables.
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Reader { lines, text, file, problems: Vec::new(), remarks: Vec::new() }
    }

    pub(crate) fn place(&self, node: Node<'_, '_>) -> Place {
        let at = node.range().start;
        let line = self.lines.partition_point(|start| *start <= at).max(1);
        let column = self.text.get(self.lines[line - 1]..at).map_or(0, |before| before.chars().count());
        Place { line: line as u32, column: column as u32 + 1 }
    }

    pub(crate) fn problem(&mut self, node: Node<'_, '_>, message: impl Into<String>) {
        let place = self.place(node);
        self.problems.push(Problem::new(message).at(self.file, place));
    }

    pub(crate) fn problem_hint(&mut self, node: Node<'_, '_>, message: impl Into<String>, hint: &str) {
        let place = self.place(node);
        self.problems.push(Problem::new(message).at(self.file, place).hint(hint));
    }

    pub(crate) fn remark(&mut self, node: Node<'_, '_>, message: impl Into<String>) {
        let place = self.place(node);
        self.remarks.push(Problem::new(message).at(self.file, place));
    }

    /// An attribute that must be there.
    pub(crate) fn text<'n>(&mut self, node: Node<'n, '_>, name: &str) -> Option<&'n str> {
        let found = node.attribute(name);
        if found.is_none() {
            let tag = node.tag_name().name();
            let of = node.attribute("name").map_or(String::new(), |name| format!(" `{name}`"));
            self.problem(node, format!("`<{tag}>`{of} has no attribute `{name}`"));
        }
        found
    }

    /// What the unit compares before it starts. Some are made without and compare nothing.
    pub(crate) fn token(&mut self, node: Node<'_, '_>, name: &str) -> String {
        let found = node.attribute(name);
        if found.is_none() {
            self.remark(node, format!("there is no `{name}`; the unit is started with an empty one"));
        }
        found.unwrap_or_default().to_owned()
    }

    /// An attribute without which there is no unit, if it is there at all.
    pub(crate) fn needed<T: std::str::FromStr>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        wanted: &str,
    ) -> Option<T> {
        let text = node.attribute(name)?.trim();
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.problem(node, format!("`{name}` is \"{text}\", wanted {wanted}"));
        }
        parsed
    }

    /// An attribute that the unit can do without: tools write many things there.
    pub(crate) fn parse<T: std::str::FromStr>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        wanted: &str,
    ) -> Option<T> {
        let text = node.attribute(name)?.trim();
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.left_out(node, name, text, wanted);
        }
        parsed
    }

    fn left_out(&mut self, node: Node<'_, '_>, name: &str, text: &str, wanted: &str) {
        self.remark(node, format!("`{name}` is \"{text}\", wanted {wanted}; it is left out"));
    }

    pub(crate) fn number(&mut self, node: Node<'_, '_>, name: &str) -> Option<f64> {
        self.parse(node, name, "a number")
    }

    pub(crate) fn flag(&mut self, node: Node<'_, '_>, name: &str) -> bool {
        let Some(text) = node.attribute(name).map(str::trim) else { return false };
        let is = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        if !is(["true", "1"]) && !is(["false", "0"]) {
            self.left_out(node, name, text, "true or false");
        }
        is(["true", "1"])
    }

    /// One of some words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let text = node.attribute(name)?.trim();
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let known = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            self.left_out(node, name, text, &format!("one of {known}"));
        }
        found
    }

    /// A list of numbers, separated by spaces.
    pub(crate) fn indices(&mut self, node: Node<'_, '_>, name: &str) -> Option<Vec<u32>> {
        let text = node.attribute(name)?;
        let parsed: Result<Vec<u32>, _> = text.split_whitespace().map(str::parse).collect();
        if parsed.is_err() {
            self.left_out(node, name, text, "whole numbers with spaces between");
        }
        parsed.ok()
    }
}

pub(crate) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.is_element() && child.tag_name().name() == name)
}

/// The children of a child; empty if that is not there.
pub(crate) fn children_of<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    child(node, name).into_iter().flat_map(|list| list.children()).filter(Node::is_element)
}
