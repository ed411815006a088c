//! What rules say: findings, each with its rule, its place and the line it is about.

use std::ops::Range;

use cosimo_fmi::description::Fmi;
use cosimo_pack::problem::FilePosition;
use cosimo_pack::xml::LineIndex;
use roxmltree::Node;

use crate::Rule;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    /// The standard is violated, and importers get along with it.
    Warning,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// What the lenient profile makes of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LenientSeverity {
    /// It keeps the FMU from running, or gives wrong numbers.
    Error,
    /// Importers get along with it.
    Warning,
    /// An error where it keeps the FMU from running on this machine, else a warning.
    Depends,
}

impl LenientSeverity {
    pub fn name(self) -> &'static str {
        match self {
            LenientSeverity::Error => "error",
            LenientSeverity::Warning => "warning",
            LenientSeverity::Depends => "depends",
        }
    }
}

/// How much is forgiven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// What importers tolerate is a warning.
    Lenient,
    /// Every violation is an error.
    Strict,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub rule: &'static Rule,
    pub severity: Severity,
    /// Where the standard says so.
    pub clause: String,
    pub spot: Spot,
    /// What is wrong, in a sentence.
    pub message: String,
    pub found: String,
    pub wanted: String,
}

/// A place in an FMU.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spot {
    /// The entry of the archive; empty where it is about all of it, or there is none.
    pub entry: String,
    pub place: Option<FilePosition>,
    /// The line of that place and the bytes of it that are meant; absent where the line is too long to be shown.
    pub source: Option<(String, Range<usize>)>,
}

impl Spot {
    pub(crate) fn entry(name: &str) -> Spot {
        Spot { entry: name.to_owned(), ..Spot::default() }
    }
}

/// Longer lines are named and not shown.
const LONGEST_LINE: usize = 400;
/// Of one rule; the others are counted.
const MOST_FINDINGS: usize = 1000;

/// A file of XML in which places can be named.
#[derive(Debug)]
pub(crate) struct XmlSource<'a> {
    pub(crate) entry: &'a str,
    pub(crate) text: &'a str,
    lines: LineIndex,
}

impl<'a> XmlSource<'a> {
    pub(crate) fn new(entry: &'a str, text: &'a str) -> XmlSource<'a> {
        XmlSource { entry, text, lines: LineIndex::new(text) }
    }

    /// An element: the beginning of its tag.
    pub(crate) fn element(&self, node: Node<'_, '_>) -> Spot {
        let start = node.range().start;
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest.find([' ', '\t', '\r', '\n', '>', '/']).unwrap_or(rest.len()).max(1);
        self.spot(start..start + length)
    }

    /// An attribute of an element; the element where it has no such attribute.
    pub(crate) fn attribute(&self, node: Node<'_, '_>, name: &str) -> Spot {
        match node.attribute_node(name) {
            Some(attribute) => self.spot(attribute.range()),
            None => self.element(node),
        }
    }

    /// Whole letters: where a text has references in it, an offset can be a guess.
    pub(crate) fn spot(&self, range: Range<usize>) -> Spot {
        let (mut start, mut end) = (range.start.min(self.text.len()), range.end.min(self.text.len()));
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        let range = start..end;
        let extent = self.lines.extent(self.text, range.start);
        let line = self.text.get(extent.clone()).filter(|line| line.len() <= LONGEST_LINE);
        let source = line.map(|line| {
            let from = range.start - extent.start;
            let to = range.end.min(extent.end).saturating_sub(extent.start).max(from);
            (line.trim_end_matches('\r').to_owned(), from..to)
        });
        let place = self.lines.place(self.text, range.start);
        Spot { entry: self.entry.to_owned(), place: Some(place), source }
    }
}

/// Collects what the rules find. One at a time has the word.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) findings: Vec<Finding>,
    /// Findings beyond those that are kept, by rule.
    pub(crate) left_out: Vec<(&'static Rule, usize)>,
    profile: Profile,
    /// Cosimo can read the description, whatever is wrong with it.
    readable: bool,
    rule: &'static Rule,
    fmi: Option<Fmi>,
    count: usize,
}

impl Findings {
    pub(crate) fn new(profile: Profile, readable: bool, first: &'static Rule) -> Findings {
        Findings {
            findings: Vec::new(),
            left_out: Vec::new(),
            profile,
            readable,
            rule: first,
            fmi: None,
            count: 0,
        }
    }

    pub(crate) fn begin(&mut self, rule: &'static Rule, fmi: Option<Fmi>) {
        (self.rule, self.fmi, self.count) = (rule, fmi, 0);
    }

    pub(crate) fn end(&mut self) {
        if self.count > MOST_FINDINGS {
            self.left_out.push((self.rule, self.count - MOST_FINDINGS));
        }
    }

    pub(crate) fn find(
        &mut self,
        spot: Spot,
        message: impl Into<String>,
        found: impl Into<String>,
        wanted: impl Into<String>,
    ) {
        self.find_if(!self.readable, spot, message, found, wanted);
    }

    /// `obstructs` says whether the FMU cannot run here because of it, for rules where that depends.
    pub(crate) fn find_if(
        &mut self,
        obstructs: bool,
        spot: Spot,
        message: impl Into<String>,
        found: impl Into<String>,
        wanted: impl Into<String>,
    ) {
        self.count += 1;
        if self.count > MOST_FINDINGS {
            return;
        }
        let severity = match (self.profile, self.rule.lenient) {
            (Profile::Strict, _) | (_, LenientSeverity::Error) => Severity::Error,
            (_, LenientSeverity::Depends) if obstructs => Severity::Error,
            (_, LenientSeverity::Depends | LenientSeverity::Warning) => Severity::Warning,
        };
        self.findings.push(Finding {
            rule: self.rule,
            severity,
            clause: self.rule.clause(self.fmi),
            spot,
            message: message.into(),
            found: found.into(),
            wanted: wanted.into(),
        });
    }
}
