//! Attributes out of an XML document: read, checked and, if wrong, reported with their position. Only what nobody
//! can do without is a problem; of the rest, what is not understood is left out with a warning.

use roxmltree::{Document, Node, ParsingOptions};

use crate::problem::{FilePosition, FileProblem};

/// 200 000 variables of FMI 2.0 are about a million.
const MOST_NODES: u32 = 10_000_000;
/// The standard needs 9; annotations may hold anything.
const DEEPEST: usize = 500;
/// The standard needs 25. The parser compares each with all before it.
const MOST_ATTRIBUTES: usize = 1000;

/// Parses an XML file within limits that no valid file exceeds.
pub fn parse<'t>(text: &'t str, file: &str) -> Result<Document<'t>, FileProblem> {
    if let Some((at, what, most)) = excess(text) {
        let place = LineIndex::new(text).place(text, at);
        return Err(FileProblem::new(format!("has more than {most} {what}, which is the limit"))
            .at(file, place)
            .hint("no valid file needs that; do not trust this file"));
    }
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| malformed(&error, file))
}

fn malformed(error: &roxmltree::Error, file: &str) -> FileProblem {
    let place = FilePosition { line: error.pos().row, column: error.pos().col };
    match error {
        roxmltree::Error::DtdDetected => {
            FileProblem { file: Some(file.to_owned()), ..FileProblem::new("has a document type") }
                .hint("entities can be bombs, so none are read; remove the `<!DOCTYPE ..>`")
        }
        roxmltree::Error::NodesLimitReached => FileProblem {
            file: Some(file.to_owned()),
            ..FileProblem::new(format!("has more than {MOST_NODES} elements and texts, which is the limit"))
        }
        .hint("no valid file needs that; do not trust this file"),
        _ => {
            // The position is said once, in front.
            let text = error.to_string();
            let text = text.split(" at ").next().unwrap_or(&text).to_owned();
            FileProblem::new(format!("not well-formed XML: {text}")).at(file, place)
        }
    }
}

/// Where elements are nested too deep or have too many attributes, and the limit. Looks at brackets and quotes only:
/// what is no XML is for the parser to say.
fn excess(text: &str) -> Option<(usize, &'static str, usize)> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while let Some(open) = text.get(at..)?.find('<').map(|found| at + found) {
        let rest = &text[open..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
            .into_iter()
            .find(|(begin, _)| rest.starts_with(begin));
        if let Some((begin, end)) = skipped {
            at = open + begin.len() + rest[begin.len()..].find(end)? + end.len();
            continue;
        }
        let (mut inside, mut attributes, mut end) = (None, 0, open + 1);
        while let Some(byte) = bytes.get(end) {
            match (inside, byte) {
                (Some(quote), byte) if quote == byte => inside = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => inside = Some(byte),
                (None, b'=') => attributes += 1,
                (None, b'>') => break,
                _ => {}
            }
            end += 1;
        }
        if attributes > MOST_ATTRIBUTES {
            return Some((open, "attributes in one element", MOST_ATTRIBUTES));
        }
        if rest.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else if bytes.get(end - 1) != Some(&b'/') {
            depth += 1;
            if depth > DEEPEST {
                return Some((open, "elements inside each other", DEEPEST));
            }
        }
        at = end.min(text.len());
    }
    None
}

/// From offsets in a text to lines and columns, at a bounded cost for each: descriptions with 200 000 variables
/// exist, and some are one long line.
#[derive(Debug)]
pub struct LineIndex {
    starts: Vec<usize>,
    /// Characters before each block of `BLOCK` bytes.
    letters: Vec<usize>,
}

const BLOCK: usize = 4096;

fn letters(bytes: &[u8]) -> usize {
    // All but the bytes that continue a character of UTF-8.
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

impl LineIndex {
    pub fn new(text: &str) -> LineIndex {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let counts = text.as_bytes().chunks(BLOCK).scan(0, |sum, block| {
            *sum += letters(block);
            Some(*sum)
        });
        LineIndex {
            starts: std::iter::once(0).chain(ends).collect(),
            letters: std::iter::once(0).chain(counts).collect(),
        }
    }

    pub fn place(&self, text: &str, at: usize) -> FilePosition {
        let line = self.line(at);
        let (start, end) = (self.starts[line], at.min(text.len()));
        // Most lines are shorter than a block, and then the way from the start of the line is the shortest.
        let column = if end - start <= BLOCK {
            letters(&text.as_bytes()[start..end])
        } else {
            self.before(text, end) - self.before(text, start)
        };
        FilePosition { line: line as u32 + 1, column: column as u32 + 1 }
    }

    /// Where the line of this offset begins, and where its last character ends.
    pub fn extent(&self, text: &str, at: usize) -> std::ops::Range<usize> {
        let line = self.line(at);
        let end = self.starts.get(line + 1).map_or(text.len(), |next| next - 1);
        self.starts[line]..end
    }

    /// Counted from 0.
    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    fn before(&self, text: &str, at: usize) -> usize {
        let at = at.min(text.len());
        let block = at / BLOCK;
        self.letters[block] + letters(&text.as_bytes()[block * BLOCK..at])
    }
}

#[derive(Debug)]
pub struct XmlReader<'a> {
    lines: LineIndex,
    text: &'a str,
    file: String,
    pub problems: Vec<FileProblem>,
    pub warnings: Vec<FileProblem>,
}

impl<'a> XmlReader<'a> {
    pub fn new(text: &'a str, file: &str) -> XmlReader<'a> {
        XmlReader {
            lines: LineIndex::new(text),
            text,
            file: file.to_owned(),
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub fn place(&self, node: Node<'_, '_>) -> FilePosition {
        self.lines.place(self.text, node.range().start)
    }

    pub fn problem(&mut self, node: Node<'_, '_>, message: impl Into<String>) {
        let place = self.place(node);
        self.problems.push(FileProblem::new(message).at(&self.file, place));
    }

    pub fn problem_hint(&mut self, node: Node<'_, '_>, message: impl Into<String>, hint: &str) {
        let place = self.place(node);
        self.problems.push(FileProblem::new(message).at(&self.file, place).hint(hint));
    }

    pub fn warning(&mut self, node: Node<'_, '_>, message: impl Into<String>) {
        let place = self.place(node);
        self.warnings.push(FileProblem::new(message).at(&self.file, place));
    }

    /// An attribute that must be there.
    pub fn text<'n>(&mut self, node: Node<'n, '_>, name: &str) -> Option<&'n str> {
        let found = node.attribute(name);
        if found.is_none() {
            let tag = node.tag_name().name();
            let of = node.attribute("name").map_or(String::new(), |name| format!(" `{name}`"));
            self.problem(node, format!("`<{tag}>`{of} has no attribute `{name}`"));
        }
        found
    }

    /// An attribute that must be right, if it is there at all.
    pub fn needed<T: std::str::FromStr>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        wanted: &str,
    ) -> Option<T> {
        let text = node.attribute(name)?.trim();
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.problem(node, format!("`{name}` is \"{text}\", expected {wanted}"));
        }
        parsed
    }

    /// An attribute that one can do without: tools write many things there.
    pub fn parse<T: std::str::FromStr>(&mut self, node: Node<'_, '_>, name: &str, wanted: &str) -> Option<T> {
        let text = node.attribute(name)?.trim();
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.left_out(node, name, text, wanted);
        }
        parsed
    }

    fn left_out(&mut self, node: Node<'_, '_>, name: &str, text: &str, wanted: &str) {
        self.warning(node, format!("`{name}` is \"{text}\", expected {wanted}; it is ignored"));
    }

    pub fn number(&mut self, node: Node<'_, '_>, name: &str) -> Option<f64> {
        self.parse(node, name, "a number")
    }

    pub fn flag(&mut self, node: Node<'_, '_>, name: &str) -> bool {
        let Some(text) = node.attribute(name).map(str::trim) else { return false };
        let is = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        if !is(["true", "1"]) && !is(["false", "0"]) {
            self.left_out(node, name, text, "true or false");
        }
        is(["true", "1"])
    }

    /// One of some words.
    pub fn choice<T: Copy>(&mut self, node: Node<'_, '_>, name: &str, words: &[(&str, T)]) -> Option<T> {
        let text = node.attribute(name)?.trim();
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let known = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            self.left_out(node, name, text, &format!("one of {known}"));
        }
        found
    }

    /// A list of numbers, separated by spaces.
    pub fn indices(&mut self, node: Node<'_, '_>, name: &str) -> Option<Vec<u32>> {
        let text = node.attribute(name)?;
        let parsed: Result<Vec<u32>, _> = text.split_whitespace().map(str::parse).collect();
        if parsed.is_err() {
            self.left_out(node, name, text, "whole numbers with spaces between");
        }
        parsed.ok()
    }
}

pub fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.is_element() && child.tag_name().name() == name)
}

/// The children of a child; empty if that is not there.
pub fn children_of<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    child(node, name).into_iter().flat_map(|list| list.children()).filter(Node::is_element)
}
