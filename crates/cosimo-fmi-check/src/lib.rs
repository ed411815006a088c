//! An FMU compared with the FMI standard, clause by clause: all that is wrong with it, not only what keeps it from running.
//!
//! `package` reads the archive, `model` the description as it is written, `schema` the schemas of the standard; the other
//! files are rules, one function each. A new rule is a function and an entry in `rules`. Nothing here runs code of the FMU
//! or writes to disk.

mod archive;
mod binaries;
mod definitions;
mod fmi1;
mod kinds;
mod model;
mod model_structure;
mod package;
mod report;
mod rules;
mod schema;
mod structure;
mod terminals;
mod variables;

use std::fmt;
use std::io;
use std::path::Path;

use cosimo_fmi::description::{Description, Fmi};
use cosimo_pack::archive::ArchiveLimits;
use cosimo_pack::xml;

pub use crate::report::{Finding, LenientSeverity, Profile, Severity, Spot};
use crate::report::{Findings, XmlSource};
pub use crate::rules::RULES;

pub struct Rule {
    /// Never changes, so that others can refer to it.
    pub id: &'static str,
    /// The part of FMI 1.0 that says so, whose clauses differ between its two documents; empty where it does not.
    pub fmi1: &'static str,
    /// Where FMI 2.0.5 says so; empty where it does not.
    pub fmi2: &'static str,
    /// Where FMI 3.0.2 says so; empty where it does not.
    pub fmi3: &'static str,
    /// What the lenient profile makes of a violation.
    pub lenient: LenientSeverity,
    /// What the rule wants.
    pub summary: &'static str,
    /// What to do where it is violated.
    pub remedy: &'static str,
    check: Check,
}

#[derive(Clone, Copy)]
enum Check {
    /// Needs no more than a file.
    Package(fn(&package::Package, &mut Findings)),
    /// Needs a description of a known version.
    Model(fn(&model::ModelDescription<'_>, &mut Findings)),
    /// One kind of difference from the schema.
    Structure(structure::DefectKind),
}

impl Rule {
    /// Where the standard says so; in the two newer versions as long as none is known.
    pub(crate) fn clause(&self, fmi: Option<Fmi>) -> String {
        let said = |version: Fmi, name: &str, clause: &str| {
            let asked = fmi.map_or(version != Fmi::One, |fmi| fmi == version);
            (asked && !clause.is_empty()).then(|| format!("{name}, {clause}"))
        };
        let clauses = [
            said(Fmi::One, "FMI 1.0", self.fmi1),
            said(Fmi::Two, "FMI 2.0.5", self.fmi2),
            said(Fmi::Three, "FMI 3.0.2", self.fmi3),
        ];
        let clauses: Vec<String> = clauses.into_iter().flatten().collect();
        if clauses.is_empty() { "a limit of Cosimo".into() } else { clauses.join("; ") }
    }

    /// A rule that is in no version is one of Cosimo's, for all.
    fn holds_in(&self, fmi: Fmi) -> bool {
        let own = match fmi {
            Fmi::One => self.fmi1,
            Fmi::Two => self.fmi2,
            Fmi::Three => self.fmi3,
        };
        !own.is_empty() || [self.fmi1, self.fmi2, self.fmi3].iter().all(|clause| clause.is_empty())
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.id == other.id
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// All that was found in an FMU.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// As the description spells it, where it could be read.
    pub fmi_version: Option<String>,
    /// Sorted by file and place.
    pub findings: Vec<Finding>,
    /// How many findings of a rule are left out after the first thousand.
    pub left_out: Vec<(&'static Rule, usize)>,
}

impl Validation {
    pub fn count(&self, severity: Severity) -> usize {
        let shown = self.findings.iter().filter(|finding| finding.severity == severity).count();
        let of =
            |rule: &Rule| self.findings.iter().find(|finding| finding.rule == rule).map(|it| it.severity);
        let hidden =
            self.left_out.iter().filter(|(rule, _)| of(rule) == Some(severity)).map(|(_, count)| count);
        shown + hidden.sum::<usize>()
    }
}

/// Checks an `.fmu` file, or a modelDescription.xml alone. `Err` where the file cannot be read at all.
pub fn validate(file: &Path, profile: Profile) -> io::Result<Validation> {
    Ok(examine(&package::Package::open(file, &ArchiveLimits::default())?, profile))
}

/// Checks a description alone.
pub fn validate_description(text: &str, profile: Profile) -> Validation {
    examine(&package::Package::of_description(text), profile)
}

fn examine(package: &package::Package, profile: Profile) -> Validation {
    let parsed = [&package.description, &package.terminals, &package.build].map(|file| {
        let package::XmlFile { entry, content: Ok(text), .. } = file.as_ref()? else { return None };
        Some((XmlSource::new(entry, text), xml::parse(text, entry).ok()?))
    });
    let root =
        |index: usize| parsed[index].as_ref().map(|(source, document)| (source, document.root_element()));
    let model = root(0)
        .and_then(|(source, node)| model::ModelDescription::new(package, source, node, root(1), root(2)));
    let fmi = model.as_ref().map(|model| model.fmi);
    let readable = package.description.as_ref().and_then(|file| file.content.as_ref().ok());
    let readable = readable.is_some_and(|text| Description::parse(text).is_ok());
    let mut report = Findings::new(profile, readable, &RULES[0]);
    for rule in RULES.iter().filter(|rule| fmi.is_none_or(|fmi| rule.holds_in(fmi))) {
        report.begin(rule, fmi);
        match (rule.check, &model) {
            (Check::Package(check), _) => check(package, &mut report),
            (Check::Model(check), Some(model)) => check(model, &mut report),
            (Check::Structure(kind), Some(model)) => structure::say(model, &mut report, kind),
            (Check::Model(_) | Check::Structure(_), None) => {}
        }
        report.end();
    }
    let mut findings = report.findings;
    if package.bare {
        // There is one file, and no archive in which it has another name.
        findings.iter_mut().for_each(|finding| finding.spot.entry.clear());
    }
    findings.sort_by(|a, b| (&a.spot.entry, a.spot.place).cmp(&(&b.spot.entry, b.spot.place)));
    let version = root(0).and_then(|(_, node)| node.attribute("fmiVersion"));
    Validation { fmi_version: version.map(str::to_owned), findings, left_out: report.left_out }
}
