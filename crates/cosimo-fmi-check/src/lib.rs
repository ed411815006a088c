//! Checks an FMU against the FMI standard, clause by clause: every violation, not only those that prevent running it.
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

/// One rule of the standard.
pub struct Rule {
    /// Stable: scripts may refer to it.
    pub id: &'static str,
    /// Section of FMI 1.0, by title, as numbers differ between its two documents; empty if it has no such rule.
    pub fmi1: &'static str,
    /// Clause of FMI 2.0.5; empty if it has no such rule.
    pub fmi2: &'static str,
    /// Clause of FMI 3.0.2; empty if it has no such rule.
    pub fmi3: &'static str,
    /// Severity in the lenient profile.
    pub lenient: LenientSeverity,
    /// The requirement.
    pub summary: &'static str,
    /// How to fix a violation.
    pub remedy: &'static str,
    check: Check,
}

#[derive(Clone, Copy)]
enum Check {
    /// Needs the archive only.
    Package(fn(&package::Package, &mut Findings)),
    /// Needs a description of a supported version.
    Model(fn(&model::ModelDescription<'_>, &mut Findings)),
    /// One kind of violation of the schema.
    Structure(structure::DefectKind),
}

impl Rule {
    /// The clauses in the given version; those of FMI 2.0 and 3.0 while the version is unknown.
    pub(crate) fn clause(&self, fmi: Option<Fmi>) -> String {
        let clause_of = |version: Fmi, name: &str, clause: &str| {
            let asked = fmi.map_or(version != Fmi::One, |fmi| fmi == version);
            (asked && !clause.is_empty()).then(|| format!("{name}, {clause}"))
        };
        let clauses = [
            clause_of(Fmi::One, "FMI 1.0", self.fmi1),
            clause_of(Fmi::Two, "FMI 2.0.5", self.fmi2),
            clause_of(Fmi::Three, "FMI 3.0.2", self.fmi3),
        ];
        let clauses: Vec<String> = clauses.into_iter().flatten().collect();
        if clauses.is_empty() { "a limit of Cosimo".into() } else { clauses.join("; ") }
    }

    /// A rule without a clause in any version is a limit of Cosimo and holds in all.
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

/// The result of checking an FMU.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// `fmiVersion` as written; `None` if the description could not be read.
    pub fmi_version: Option<String>,
    /// Sorted by file and position.
    pub findings: Vec<Finding>,
    /// Number of findings omitted after the first thousand of a rule.
    pub left_out: Vec<(&'static Rule, usize)>,
}

impl Validation {
    /// The number of findings of a severity, including omitted ones.
    pub fn count(&self, severity: Severity) -> usize {
        let shown = self.findings.iter().filter(|finding| finding.severity == severity).count();
        let of =
            |rule: &Rule| self.findings.iter().find(|finding| finding.rule == rule).map(|it| it.severity);
        let hidden =
            self.left_out.iter().filter(|(rule, _)| of(rule) == Some(severity)).map(|(_, count)| count);
        shown + hidden.sum::<usize>()
    }
}

/// Checks an `.fmu` file or a single modelDescription.xml. `Err` if the file cannot be read at all.
pub fn validate(file: &Path, profile: Profile) -> io::Result<Validation> {
    Ok(examine(&package::Package::open(file, &ArchiveLimits::default())?, profile))
}

/// Checks the text of a single modelDescription.xml.
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
            (Check::Structure(kind), Some(model)) => structure::report_defects(model, &mut report, kind),
            (Check::Model(_) | Check::Structure(_), None) => {}
        }
        report.end();
    }
    let mut findings = report.findings;
    if package.bare {
        // A single file without an archive: entry names would be redundant.
        findings.iter_mut().for_each(|finding| finding.spot.entry.clear());
    }
    findings.sort_by(|a, b| (&a.spot.entry, a.spot.place).cmp(&(&b.spot.entry, b.spot.place)));
    let version = root(0).and_then(|(_, node)| node.attribute("fmiVersion"));
    Validation { fmi_version: version.map(str::to_owned), findings, left_out: report.left_out }
}
