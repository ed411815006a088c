//! What a gate expects of the signals of a run: that its verdict is *accurate*, or error bars within limits.

use cosimo_analysis::error_bars::{AccuracyVerdict, percent};
use cosimo_core::registry::suggest;
use serde_json::Value as Json;
use wildmatch::WildMatch;

use super::{AccuracyCriterion, CertificateReader, GateCheck, GateCriteria, NoCertificate};
use crate::certificate::VERDICTS;

/// A signal as the certificate has it.
struct Signal {
    name: String,
    verdict: String,
    reason: String,
    /// Its error bar relative to its scale.
    relative: Option<f64>,
}

impl Signal {
    fn read(reader: &mut CertificateReader<'_>, place: usize) -> Signal {
        let at = |member: &str| format!("/accuracy/signals/{place}/{member}");
        Signal {
            name: reader.text(&at("name")),
            verdict: verdict(reader, &at("verdict")),
            reason: reader.at(&at("reason")).and_then(Json::as_str).unwrap_or("").to_owned(),
            relative: reader.share(&at("relative")),
        }
    }

    fn is_known(&self) -> bool {
        self.verdict != AccuracyVerdict::Unknown.word()
    }

    fn severity(&self) -> f64 {
        self.relative.filter(|_| self.is_known()).unwrap_or(f64::INFINITY)
    }
}

/// What a signal is held against.
#[derive(Clone, Copy)]
enum Limit {
    Accurate,
    Relative(f64),
}

impl Limit {
    fn is_met(self, signal: &Signal) -> bool {
        match self {
            Limit::Accurate => signal.verdict == AccuracyVerdict::Accurate.word(),
            Limit::Relative(f64::INFINITY) => true,
            Limit::Relative(most) => {
                signal.is_known() && signal.relative.is_some_and(|relative| relative <= most)
            }
        }
    }

    fn found(self, signal: &Signal) -> String {
        let relative = signal.relative.unwrap_or(f64::NAN);
        match self {
            _ if !signal.is_known() => format!("unknown: {}", signal.reason),
            Limit::Accurate => format!("{} ({})", signal.verdict.replace('-', " "), percent(relative)),
            Limit::Relative(_) if relative.is_nan() => "no finite number".into(),
            Limit::Relative(_) => format!("{relative:e}"),
        }
    }

    fn expected(self, wanted: &str) -> String {
        match self {
            Limit::Accurate => wanted.to_owned(),
            Limit::Relative(most) => {
                format!("an error bar of at most {most:e}, relative to the signal's scale")
            }
        }
    }
}

/// One of the words of a verdict.
fn verdict(reader: &mut CertificateReader<'_>, place: &str) -> String {
    reader.take(place, "\"accurate\", \"not-accurate\" or \"unknown\"", |found| {
        found.as_str().filter(|word| VERDICTS.contains(word)).map(str::to_owned)
    })
}

pub(super) fn check(reader: &mut CertificateReader<'_>, limits: &GateCriteria, checks: &mut Vec<GateCheck>) {
    let word = verdict(reader, "/verdict/word");
    let words = reader.text("/verdict/words");
    let accuracy =
        reader.share("/accuracy/wanted").map_or(String::new(), |share| format!(" to {}", percent(share)));
    let wanted = format!("accurate{accuracy}");
    let count = reader.list("/accuracy/signals");
    let signals: Vec<Signal> = (0..count).map(|place| Signal::read(reader, place)).collect();
    let default = match limits.accuracy {
        AccuracyCriterion::Verdict => Some(Limit::Accurate),
        AccuracyCriterion::MaxError(most) => Some(Limit::Relative(most)),
        AccuracyCriterion::Any => None,
    };
    if limits.signals.is_empty() && limits.accuracy == AccuracyCriterion::Verdict {
        let pass = word == AccuracyVerdict::Accurate.word();
        checks.push(GateCheck::of_run("accuracy", wanted, words, pass));
        return;
    }
    if signals.is_empty() && (default.is_some() || !limits.signals.is_empty()) {
        checks.push(GateCheck::of_run("accuracy", "error bars of signals", words, false));
        return;
    }
    let patterns: Vec<WildMatch> =
        limits.signals.iter().map(|(pattern, _)| WildMatch::new(pattern)).collect();
    let own = |signal: &Signal| patterns.iter().rposition(|pattern| pattern.matches(&signal.name));
    let of =
        |group: Option<usize>| -> Vec<&Signal> { signals.iter().filter(|it| own(it) == group).collect() };
    for (place, (_, most)) in limits.signals.iter().enumerate() {
        group(&of(Some(place)), Limit::Relative(*most), &wanted, checks);
    }
    if let Some(limit) = default {
        group(&of(None), limit, &wanted, checks);
    }
    for ((pattern, _), wild) in limits.signals.iter().zip(&patterns) {
        if !signals.iter().any(|signal| wild.matches(&signal.name)) {
            let hint = suggest(pattern, signals.iter().map(|signal| signal.name.as_str()));
            reader.problems.push(NoCertificate::UnknownSignal { pattern: pattern.clone(), hint });
        }
    }
}

/// One check for each signal above the limit, and one for all others.
fn group(signals: &[&Signal], limit: Limit, wanted: &str, checks: &mut Vec<GateCheck>) {
    let check = |about: String, signal: &Signal, pass: bool| GateCheck {
        criterion: "accuracy",
        about,
        wanted: limit.expected(wanted),
        found: limit.found(signal),
        pass,
    };
    let (met, broken): (Vec<&Signal>, Vec<&Signal>) = signals.iter().partition(|signal| limit.is_met(signal));
    checks.extend(broken.iter().map(|signal| check(format!("`{}`", signal.name), signal, false)));
    if let Some(worst) = met.iter().max_by(|a, b| a.severity().total_cmp(&b.severity())) {
        let about = match met.len() {
            1 => format!("`{}`", worst.name),
            count => format!("{count} signals, the worst `{}`", worst.name),
        };
        checks.push(check(about, worst, true));
    }
}
