//! One XML file of a structure: attributes and elements with their places and problems.

use cosimo_core::registry;
use cosimo_pack::xml::LineIndex;
use cosimo_system::{Files, Problem, Severity, Span};
use roxmltree::Node;

/// All files and problems of a structure.
#[derive(Debug, Default)]
pub(crate) struct ProblemLog {
    pub(crate) files: Files,
    pub(crate) problems: Vec<Problem>,
    errors: usize,
    warnings: usize,
}

/// Most errors, and most warnings, that are listed: each costs a search for suggestions.
const MOST: usize = 1000;

impl ProblemLog {
    /// Whether one more error would only be counted; counts it if so.
    pub(crate) fn is_full(&mut self) -> bool {
        let full = self.errors >= MOST;
        self.errors += usize::from(full);
        full
    }

    /// How many were counted only.
    pub(crate) fn left_out(&self) -> usize {
        self.errors.saturating_sub(MOST) + self.warnings.saturating_sub(MOST)
    }

    pub(crate) fn push(&mut self, problem: Problem) {
        let count = match problem.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= MOST {
            self.problems.push(problem);
        }
    }

    pub(crate) fn error(&mut self, code: &'static str, message: impl Into<String>, span: &Span) {
        self.push(Problem::error(code, message, span.clone()));
    }

    pub(crate) fn hinted(
        &mut self,
        code: &'static str,
        message: String,
        span: &Span,
        hint: impl Into<String>,
    ) {
        self.push_hinted(Problem::error(code, message, span.clone()), hint.into());
    }

    /// An empty hint is left out.
    pub(crate) fn push_hinted(&mut self, problem: Problem, hint: String) {
        self.push(if hint.is_empty() { problem } else { problem.hint(hint) });
    }

    pub(crate) fn warning(&mut self, code: &'static str, message: impl Into<String>, span: &Span) {
        self.push(Problem::warning(code, message, span.clone()));
    }
}

/// Suggestions for a wrong name; empty if there are none.
pub(crate) fn suggest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut known = known.peekable();
    if known.peek().is_none() { String::new() } else { registry::suggest(wrong, known) }
}

const FAMILY: &str = "http://ssp-standard.org/SSP1/";

/// The kinds of files of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SspFileKind {
    Description,
    Values,
    Mapping,
    Dictionary,
}

impl SspFileKind {
    pub(crate) fn root(self) -> &'static str {
        match self {
            SspFileKind::Description => "SystemStructureDescription",
            SspFileKind::Values => "ParameterSet",
            SspFileKind::Mapping => "ParameterMapping",
            SspFileKind::Dictionary => "SignalDictionary",
        }
    }

    fn namespace(self) -> &'static str {
        match self {
            SspFileKind::Description => "http://ssp-standard.org/SSP1/SystemStructureDescription",
            SspFileKind::Values => "http://ssp-standard.org/SSP1/SystemStructureParameterValues",
            SspFileKind::Mapping => "http://ssp-standard.org/SSP1/SystemStructureParameterMapping",
            SspFileKind::Dictionary => "http://ssp-standard.org/SSP1/SystemStructureSignalDictionary",
        }
    }
}

pub(crate) struct SspDocument<'a> {
    pub(crate) log: &'a mut ProblemLog,
    pub(crate) text: &'a str,
    /// Offset of its spans among those of all files.
    pub(crate) base: usize,
}

impl SspDocument<'_> {
    fn global(&self, span: Span) -> Span {
        self.base + span.start..self.base + span.end
    }

    /// The tag that opens an element, without its attributes.
    pub(crate) fn span(&self, node: Node<'_, '_>) -> Span {
        let start = node.range().start;
        let tag = &self.text[start..];
        let end =
            tag.find(|letter: char| letter.is_whitespace() || "/>".contains(letter)).unwrap_or(tag.len());
        self.global(start..start + end)
    }

    /// The value of an attribute, or the element where there is none.
    pub(crate) fn span_of(&self, node: Node<'_, '_>, name: &str) -> Span {
        node.attribute_node(name).map_or_else(|| self.span(node), |found| self.global(found.range_value()))
    }

    /// Checks that the root element is that of this kind of file.
    pub(crate) fn check_root(&mut self, node: Node<'_, '_>, kind: SspFileKind) -> bool {
        let (found, expected) = (node.tag_name().name(), kind.root());
        let namespace = node.tag_name().namespace();
        if found != expected {
            let message = format!("expected `<{expected}>`, got `<{found}>`");
            self.log.error("ssp/root", message, &self.span(node));
            return false;
        }
        if namespace != Some(kind.namespace()) {
            let found =
                namespace.map_or("no namespace".to_owned(), |found| format!("the namespace `{found}`"));
            let message =
                format!("expected `<{expected}>` in the namespace `{}`, got {found}", kind.namespace());
            let hint = "drafts of the standard had other namespaces; export the file again as SSP 1.0 or 2.0";
            self.log.hinted("ssp/namespace", message, &self.span(node), hint);
            return false;
        }
        let version = node.attribute("version").unwrap_or_default();
        if !version.starts_with("1.") && !version.starts_with("2.") {
            let message = format!("the version of this file is \"{version}\"; Cosimo reads 1.0 and 2.0");
            self.log.warning("ssp/version", message, &self.span_of(node, "version"));
        }
        true
    }

    /// The known child elements. Others of the standard's namespaces are warnings: a newer
    /// version may define them. Elements of a known name outside the standard's namespaces are errors: they would be
    /// ignored silently.
    pub(crate) fn children<'n, 'i>(&mut self, node: Node<'n, 'i>, known: &[&str]) -> Vec<Node<'n, 'i>> {
        let mut found = Vec::new();
        for child in node.children().filter(Node::is_element) {
            let name = child.tag_name().name();
            let ours = child.tag_name().namespace().is_some_and(|space| space.starts_with(FAMILY));
            let expected = known.contains(&name);
            match (ours, expected) {
                (true, true) => found.push(child),
                (true, false) => {
                    let inside = node.tag_name().name();
                    let message = format!("`<{name}>` is not expected inside `<{inside}>` and is ignored");
                    let problem = Problem::warning("ssp/unknown-element", message, self.span(child));
                    self.log.push(problem.hint(suggest(name, known.iter().copied())));
                }
                (false, true) => {
                    let space = child.tag_name().namespace();
                    let space =
                        space.map_or("no namespace".to_owned(), |space| format!("the namespace `{space}`"));
                    let message = format!("expected `<{name}>` in a namespace `{FAMILY}..`, got {space}");
                    self.log.error("ssp/namespace", message, &self.span(child));
                }
                (false, false) => {}
            }
        }
        found
    }

    pub(crate) fn child<'n, 'i>(&mut self, node: Node<'n, 'i>, name: &str) -> Option<Node<'n, 'i>> {
        let is = |child: &Node<'_, '_>| {
            child.is_element()
                && child.tag_name().name() == name
                && child.tag_name().namespace().is_some_and(|space| space.starts_with(FAMILY))
        };
        node.children().find(is)
    }

    /// An attribute that must be there.
    pub(crate) fn required(&mut self, node: Node<'_, '_>, name: &str) -> Option<String> {
        let found = node.attribute(name).map(str::to_owned);
        if found.is_none() {
            let tag = node.tag_name().name();
            let of = node.attribute("name").map_or(String::new(), |name| format!(" `{name}`"));
            let message = format!("`<{tag}>`{of} has no attribute `{name}`");
            self.log.error("ssp/missing-attribute", message, &self.span(node));
        }
        found
    }

    fn wrong(&mut self, node: Node<'_, '_>, name: &str, expected: &str) {
        let found = node.attribute(name).unwrap_or_default();
        let message = format!("`{name}` must be {expected}, got {found:?}");
        self.log.error("ssp/value", message, &self.span_of(node, name));
    }

    /// A finite number, if given.
    pub(crate) fn number(&mut self, node: Node<'_, '_>, name: &str) -> Option<f64> {
        let number = node.attribute(name)?.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        if number.is_none() {
            self.wrong(node, name, "a number");
        }
        number
    }

    pub(crate) fn flag(&mut self, node: Node<'_, '_>, name: &str) -> bool {
        let flag = node.attribute(name).map(truth);
        if flag == Some(None) {
            self.wrong(node, name, "true or false");
        }
        flag.flatten().unwrap_or(false)
    }

    pub(crate) fn choice<T: Copy>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let text = node.attribute(name)?;
        let found = words.iter().find(|(word, _)| *word == text.trim()).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("`{name}` must be one of {}, got {text:?}", known.join(", "));
            let hint = suggest(text, known.iter().copied());
            self.log.hinted("ssp/value", message, &self.span_of(node, name), hint);
        }
        found
    }

    /// Integers separated by spaces.
    pub(crate) fn indices(&mut self, node: Node<'_, '_>, name: &str) -> Option<Vec<u64>> {
        let parsed: Result<Vec<u64>, _> = node.attribute(name)?.split_whitespace().map(str::parse).collect();
        if parsed.is_err() {
            self.wrong(node, name, "integers separated by spaces");
        }
        parsed.ok()
    }
}

pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.trim() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// From a place of the XML parser to bytes of the text.
pub(crate) fn offset(text: &str, place: cosimo_pack::FilePosition) -> Span {
    let mut line_start = 0;
    for _ in 1..place.line {
        match text[line_start..].find('\n') {
            Some(end) => line_start += end + 1,
            None => return text.len()..text.len(),
        }
    }
    let line = LineIndex::new(text).extent(text, line_start);
    let at = text[line.clone()].char_indices().nth(place.column.saturating_sub(1) as usize);
    let start = at.map_or(line.end, |(at, _)| line.start + at);
    let end = text[start..].chars().next().map_or(start, |letter| start + letter.len_utf8());
    start..end
}
