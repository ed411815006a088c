//! Findings of the rules, each with its rule, position and source line.

use std::ops::Range;

use cosimo_fmi::description::Fmi;
use cosimo_pack::problem::FilePosition;
use cosimo_pack::xml::LineIndex;
use roxmltree::Node;

use crate::Rule;

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The FMU cannot run or gives wrong results; in the strict profile, any violation.
    Error,
    /// The standard is violated, but importers tolerate it.
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

/// Severity of a rule's findings in the lenient profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LenientSeverity {
    /// The FMU cannot run or gives wrong results.
    Error,
    /// Importers tolerate it.
    Warning,
    /// An error if the FMU cannot run on this machine because of it, else a warning.
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

/// How strictly findings are rated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Violations that importers tolerate are warnings.
    Lenient,
    /// Every violation is an error.
    Strict,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub rule: &'static Rule,
    pub severity: Severity,
    /// Clauses of the standard.
    pub clause: String,
    pub spot: Spot,
    /// The violation in one sentence.
    pub message: String,
    pub found: String,
    pub wanted: String,
}

/// A position in an FMU.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spot {
    /// The entry of the archive; empty if the finding concerns all of it, or there is no archive.
    pub entry: String,
    pub place: Option<FilePosition>,
    /// The source line and the marked bytes in it; absent if the line is too long to be shown.
    pub source: Option<(String, Range<usize>)>,
}

impl Spot {
    pub(crate) fn entry(name: &str) -> Spot {
        Spot { entry: name.to_owned(), ..Spot::default() }
    }
}

/// Longer lines are not shown.
const LONGEST_LINE: usize = 400;
/// Per rule; further ones are only counted.
const MOST_FINDINGS: usize = 1000;

/// An XML file with positions.
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

    /// The start tag of an element.
    pub(crate) fn element(&self, node: Node<'_, '_>) -> Spot {
        let start = node.range().start;
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest.find([' ', '\t', '\r', '\n', '>', '/']).unwrap_or(rest.len()).max(1);
        self.spot(start..start + length)
    }

    /// An attribute of an element; the element itself if it has no such attribute.
    pub(crate) fn attribute(&self, node: Node<'_, '_>, name: &str) -> Spot {
        match node.attribute_node(name) {
            Some(attribute) => self.spot(attribute.range()),
            None => self.element(node),
        }
    }

    /// Rounded to whole characters: with entity references in the text, an offset is only approximate.
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

/// Collects findings, rule by rule: [`Findings::begin`] sets the current rule.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) findings: Vec<Finding>,
    /// Number of omitted findings, by rule.
    pub(crate) left_out: Vec<(&'static Rule, usize)>,
    profile: Profile,
    /// Cosimo can read the description despite its defects.
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

    /// `obstructs`: the FMU cannot run on this machine because of it; used by rules with [`LenientSeverity::Depends`].
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
