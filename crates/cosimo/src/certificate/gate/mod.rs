//! Compares a certificate with limits: every criterion with its limit and the value in the certificate.

mod signals;

use cosimo_core::registry::suggest;
use serde::Serialize;
use serde_json::Value as Json;

use super::{KIND, VERSION};

/// What is expected of the signals of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum AccuracyCriterion {
    /// That the verdict is *accurate*.
    #[default]
    Verdict,
    /// That every error bar is known and at most this, relative to the scale of the signal.
    MaxError(f64),
    /// Nothing.
    Any,
}

/// The limits. Bounds are finite, or infinite for a bond or signal that is not limited.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GateCriteria {
    /// For the signals.
    pub accuracy: AccuracyCriterion,
    /// Largest error bars of single signals, relative to their scale, by patterns of names; override `accuracy`, and the
    /// last that matches overrides others.
    pub signals: Vec<(String, f64)>,
    /// Largest energy defect of any bond, relative to the energy it exchanged or, if that is smaller, to its energy scale.
    pub defect: Option<f64>,
    /// The same for single bonds; overrides `defect`.
    pub bonds: Vec<(String, f64)>,
    /// Largest error indicator of any step; 1 is the tolerance.
    pub indicator: Option<f64>,
    /// Largest number of rejected steps.
    pub rejected: Option<u64>,
    /// Largest residual of an algebraic loop, relative to the peak of its unknown.
    pub loop_residual: Option<f64>,
    /// No warning is allowed.
    pub no_warnings: bool,
    /// Failed and interrupted runs may pass.
    pub incomplete: bool,
}

/// One criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateCheck {
    /// A word for scripts.
    pub criterion: &'static str,
    /// The signal, the bond, the loop; empty where it is about the whole run.
    pub about: String,
    /// The limit, as text.
    pub wanted: String,
    /// The value in the certificate, as text.
    pub found: String,
    /// Whether the criterion is met.
    pub pass: bool,
}

impl GateCheck {
    /// About the whole run.
    pub(crate) fn of_run(
        criterion: &'static str,
        wanted: impl Into<String>,
        found: impl Into<String>,
        pass: bool,
    ) -> GateCheck {
        GateCheck { criterion, about: String::new(), wanted: wanted.into(), found: found.into(), pass }
    }
}

/// Why a certificate cannot be judged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoCertificate {
    /// Another file; the value of its member `certificate`.
    #[error("not a certificate of Cosimo: `certificate` should be \"{KIND}\", got {0}")]
    NotACertificate(String),
    /// Another version of the format.
    #[error("this is a certificate of version {0}; this Cosimo reads version {VERSION}")]
    Version(String),
    /// A member is missing or has a wrong type.
    #[allow(missing_docs)]
    #[error("`{place}` should be {wanted}, got {found}")]
    Broken { place: String, wanted: &'static str, found: String },
    /// `GateCriteria::bonds` names an unknown bond.
    #[allow(missing_docs)]
    #[error("the certificate has no bond `{name}`")]
    UnknownBond { name: String, hint: String },
    /// `GateCriteria::signals` has a pattern that matches no signal.
    #[allow(missing_docs)]
    #[error("the certificate has no signal that matches `{pattern}`")]
    UnknownSignal { pattern: String, hint: String },
}

impl NoCertificate {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            NoCertificate::NotACertificate(_) => "give the file that `cosimo run --certificate` wrote".into(),
            NoCertificate::Version(_) => "run it again with this Cosimo, or take the one that made it".into(),
            NoCertificate::Broken { .. } => "it was damaged or edited; run it again".into(),
            NoCertificate::UnknownBond { hint, .. } | NoCertificate::UnknownSignal { hint, .. } => {
                hint.clone()
            }
        }
    }
}

/// Compares a certificate with the limits: all criteria in a fixed order, or all problems of the certificate.
pub fn gate(certificate: &Json, limits: &GateCriteria) -> Result<Vec<GateCheck>, Vec<NoCertificate>> {
    let kind = &certificate["certificate"];
    if kind != KIND {
        return Err(vec![NoCertificate::NotACertificate(shown(kind))]);
    }
    let version = &certificate["version"];
    if *version != VERSION {
        return Err(vec![NoCertificate::Version(shown(version))]);
    }
    let mut reader = CertificateReader { certificate, problems: Vec::new() };
    let mut checks = Vec::new();
    complete(&mut reader, limits, &mut checks);
    signals::check(&mut reader, limits, &mut checks);
    defects(&mut reader, limits, &mut checks);
    steps(&mut reader, limits, &mut checks);
    loops(&mut reader, limits, &mut checks);
    warnings(&mut reader, limits, &mut checks);
    if reader.problems.is_empty() { Ok(checks) } else { Err(reader.problems) }
}

fn complete(reader: &mut CertificateReader<'_>, limits: &GateCriteria, checks: &mut Vec<GateCheck>) {
    let pass = reader.flag("/outcome/complete");
    let word = reader.text("/outcome/word");
    let reason = reader.at("/outcome/reason").and_then(Json::as_str).unwrap_or("");
    if !limits.incomplete {
        let found = if reason.is_empty() { word } else { format!("{word}: {reason}") };
        checks.push(GateCheck::of_run("complete", "a run to its end", found, pass));
    }
}

fn defects(reader: &mut CertificateReader<'_>, limits: &GateCriteria, checks: &mut Vec<GateCheck>) {
    let mut names = Vec::new();
    for place in 0..reader.list("/bonds") {
        let name = reader.text(&format!("/bonds/{place}/name"));
        let word = reader.text(&format!("/bonds/{place}/word"));
        let of_exchanged = reader.share(&format!("/bonds/{place}/energy_defect"));
        let scaled = format!("/bonds/{place}/scaled_defect");
        let share = if reader.at(&scaled).is_some() { reader.share(&scaled) } else { of_exchanged };
        let energy = if share == of_exchanged { "the energy exchanged" } else { "its energy scale" };
        let own = limits.bonds.iter().rfind(|(bond, _)| *bond == name).map(|(_, limit)| *limit);
        if let Some(limit) = own.or(limits.defect) {
            let measured = word != "unmeasured";
            let found = match share {
                _ if !measured => "no energy is transmitted, the defect is not defined".into(),
                Some(share) => format!("{share:e}"),
                None => "infinitely much: energy out of nothing".into(),
            };
            checks.push(GateCheck {
                criterion: "energy-defect",
                about: format!("bond `{name}`"),
                wanted: format!("at most {limit:e} of {energy}"),
                found,
                pass: limit == f64::INFINITY || measured && share.is_some_and(|share| share <= limit),
            });
        }
        names.push(name);
    }
    if names.is_empty() && limits.defect.is_some() {
        let found = "no bond, so that nothing was measured";
        checks.push(GateCheck::of_run("energy-defect", "a power bond to measure", found, false));
    }
    for (name, _) in limits.bonds.iter().filter(|(name, _)| !names.contains(name)) {
        let hint = suggest(name, names.iter().map(String::as_str));
        let hint = if names.is_empty() { "it has no bonds at all".into() } else { hint };
        reader.problems.push(NoCertificate::UnknownBond { name: name.clone(), hint });
    }
}

fn steps(reader: &mut CertificateReader<'_>, limits: &GateCriteria, checks: &mut Vec<GateCheck>) {
    let indicator = reader.share("/steps/worst_indicator");
    let rejected = reader.count("/steps/rejected");
    let estimate = reader.text("/methods/estimate/name");
    if let Some(limit) = limits.indicator {
        let measured = estimate != "none";
        let found = match indicator {
            _ if !measured => "no estimate, so that nothing was measured".into(),
            Some(indicator) => format!("{indicator:e}"),
            None => "no finite number".into(),
        };
        let pass = measured && indicator.is_some_and(|indicator| indicator <= limit);
        checks.push(GateCheck::of_run("indicator", format!("at most {limit:e} in every step"), found, pass));
    }
    if let Some(limit) = limits.rejected {
        let (wanted, found) = (format!("at most {limit} steps rejected"), rejected.to_string());
        checks.push(GateCheck::of_run("rejected", wanted, found, rejected <= limit));
    }
}

fn loops(reader: &mut CertificateReader<'_>, limits: &GateCriteria, checks: &mut Vec<GateCheck>) {
    for place in 0..reader.list("/loops") {
        let input = reader.text(&format!("/loops/{place}/input"));
        let residual = reader.share(&format!("/loops/{place}/relative"));
        if let Some(limit) = limits.loop_residual {
            checks.push(GateCheck {
                criterion: "loop-residual",
                about: format!("`{input}`"),
                wanted: format!("at most {limit:e} of the peak"),
                found: residual.map_or("no finite number".into(), |residual| format!("{residual:e}")),
                pass: residual.is_some_and(|residual| residual <= limit),
            });
        }
    }
}

fn warnings(reader: &mut CertificateReader<'_>, limits: &GateCriteria, checks: &mut Vec<GateCheck>) {
    let count = reader.list("/warnings");
    for place in 0..count {
        let message = reader.text(&format!("/warnings/{place}/message"));
        if limits.no_warnings {
            checks.push(GateCheck::of_run("warnings", "no warning", message, false));
        }
    }
    if limits.no_warnings && count == 0 {
        checks.push(GateCheck::of_run("warnings", "no warning", "none", true));
    }
}

/// Values by their place; what is not as it should be is noted and taken for nothing.
struct CertificateReader<'a> {
    certificate: &'a Json,
    problems: Vec<NoCertificate>,
}

impl<'a> CertificateReader<'a> {
    fn at(&self, place: &str) -> Option<&'a Json> {
        self.certificate.pointer(place)
    }

    fn broken(&mut self, place: &str, wanted: &'static str) {
        let found = shown(self.at(place).unwrap_or(&Json::Null));
        let place = place.trim_start_matches('/').replace('/', ".");
        self.problems.push(NoCertificate::Broken { place, wanted, found });
    }

    fn take<T: Default>(
        &mut self,
        place: &str,
        wanted: &'static str,
        read: impl Fn(&'a Json) -> Option<T>,
    ) -> T {
        self.at(place).and_then(read).unwrap_or_else(|| {
            self.broken(place, wanted);
            T::default()
        })
    }

    fn flag(&mut self, place: &str) -> bool {
        self.take(place, "true or false", Json::as_bool)
    }

    fn text(&mut self, place: &str) -> String {
        self.take(place, "a text", |found| found.as_str().map(str::to_owned))
    }

    fn count(&mut self, place: &str) -> u64 {
        self.take(place, "a whole number not below 0", Json::as_u64)
    }

    /// A number not below 0; `None` where it is not finite, which is `null` in JSON.
    fn share(&mut self, place: &str) -> Option<f64> {
        self.take(place, "a number not below 0, or null", |found| match found {
            Json::Null => Some(None),
            found => found.as_f64().filter(|number| *number >= 0.0).map(Some),
        })
    }

    fn list(&mut self, place: &str) -> usize {
        self.take(place, "a list", |found| found.as_array().map(Vec::len))
    }
}

/// A value in a message, however long it is.
fn shown(value: &Json) -> String {
    const LONGEST: usize = 40;
    let text = value.to_string();
    match value {
        Json::Null => "nothing".into(),
        Json::Array(_) => "a list".into(),
        Json::Object(_) => "an object".into(),
        _ if text.chars().count() > LONGEST => {
            format!("{}...", text.chars().take(LONGEST).collect::<String>())
        }
        _ => text,
    }
}
