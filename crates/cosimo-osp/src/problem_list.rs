//! An XML text and its problems: an access that fails adds a problem and
//! continues.

use cosimo_core::registry::{Range, suggest};
use cosimo_pack::FilePosition;
pub(crate) use cosimo_pack::xml::child;
use cosimo_system::{Problem, Span};
use roxmltree::Node;

#[derive(Debug, Default)]
pub(crate) struct ProblemList {
    pub(crate) problems: Vec<Problem>,
}

/// A piece of text with its place.
pub(crate) type TextWithSpan = (String, Span);

impl ProblemList {
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
    ) -> &mut Problem {
        self.push(Problem::error(code, message, span))
    }

    pub(crate) fn warning(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
    ) -> &mut Problem {
        self.push(Problem::warning(code, message, span))
    }

    fn push(&mut self, problem: Problem) -> &mut Problem {
        let at = self.problems.len();
        self.problems.push(problem);
        &mut self.problems[at]
    }

    /// Reports what an element should not have.
    pub(crate) fn only(&mut self, node: Node<'_, '_>, attributes: &[&str], children: &[&str]) {
        let tag = node.tag_name().name();
        for attribute in node.attributes().filter(|attribute| attribute.namespace().is_none()) {
            let name = attribute.name();
            if !attributes.contains(&name) {
                let message = format!("`<{tag}>` has no attribute `{name}`");
                self.error("osp/unknown-attribute", message, attribute.range()).hint =
                    Some(suggest(name, attributes.iter().copied()));
            }
        }
        for child in node.children().filter(Node::is_element) {
            let name = child.tag_name().name();
            if !children.contains(&name) {
                let message = format!("`<{tag}>` has no element `<{name}>`");
                self.error("osp/unknown-element", message, head(child)).hint =
                    Some(suggest(name, children.iter().copied()));
            }
        }
    }

    /// An attribute that must be there, and not be empty.
    pub(crate) fn attribute(&mut self, node: Node<'_, '_>, name: &str) -> Option<TextWithSpan> {
        let found = optional(node, name).filter(|(text, _)| !text.is_empty());
        if found.is_none() {
            let message = format!("`<{}>` needs the attribute `{name}`", node.tag_name().name());
            self.error("osp/missing", message, head(node));
        }
        found
    }

    /// A number that stands as an attribute; `None` where there is none, or another text.
    pub(crate) fn number(&mut self, node: Node<'_, '_>, name: &str, range: Range) -> Option<f64> {
        let spelled = optional(node, name)?;
        self.parse(name, &spelled, range)
    }

    /// A whole number from 1 on that must be there.
    pub(crate) fn count(&mut self, node: Node<'_, '_>, name: &str, most: usize) -> Option<usize> {
        let (text, span) = self.attribute(node, name)?;
        let count = text.parse::<usize>().ok().filter(|count| (1..=most).contains(count));
        if count.is_none() {
            let message = format!("`{name}` must be a whole number from 1 to {most}, got {text:?}");
            self.error("osp/value", message, span);
        }
        count
    }

    /// A number between the tags of a child; `None` where that is missing.
    pub(crate) fn child_number(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        range: Range,
    ) -> Option<(f64, Span)> {
        let spelled = content(child(node, name)?);
        let number = self.parse(name, &spelled, range)?;
        Some((number, spelled.1))
    }

    fn parse(&mut self, name: &str, (text, span): &TextWithSpan, range: Range) -> Option<f64> {
        let number = text.parse::<f64>().ok().filter(|number| range.holds(*number));
        if number.is_none() {
            let message = format!("`{name}` must be {}, got {text:?}", range.text());
            self.error("osp/value", message, span.clone());
        }
        number
    }
}

pub(crate) fn children<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

pub(crate) fn optional(node: Node<'_, '_>, name: &str) -> Option<TextWithSpan> {
    let attribute = node.attribute_node(name)?;
    Some((attribute.value().trim().to_owned(), attribute.range_value()))
}

/// What stands between the tags.
pub(crate) fn content(node: Node<'_, '_>) -> TextWithSpan {
    let text = node.text().unwrap_or_default().trim().to_owned();
    let inside = node.first_child().filter(Node::is_text).map(|text| text.range());
    (text, inside.unwrap_or_else(|| head(node)))
}

/// The name of an element in its first tag: whole elements are too long to point at.
pub(crate) fn head(node: Node<'_, '_>) -> Span {
    let text = &node.document().input_text()[node.range()];
    let end = text.find([' ', '\t', '\r', '\n', '/', '>']).unwrap_or(text.len());
    node.range().start + 1..node.range().start + end.max(1)
}

/// The line of a place, as far as it is in the text.
pub(crate) fn line(text: &str, place: Option<FilePosition>) -> Span {
    let Some(place) = place else { return 0..0 };
    let mut start = 0;
    for _ in 1..place.line {
        match text[start..].find('\n') {
            Some(end) => start += end + 1,
            None => break,
        }
    }
    let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
    start..end
}
