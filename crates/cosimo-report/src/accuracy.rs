//! The verdict about signals, their error bars and the coupling defects of connections.

use std::io::{self, Write};

use cosimo_analysis::error_bars::{
    Accuracy, AccuracyVerdict, CompanionSet, CouplingDefect, SignalAccuracy, percent,
};
use cosimo_analysis::forecast::three_digits;

use crate::escape::HtmlText;
use crate::page::{code, instant, known, number, sentence, table};

/// Most rows of a table that are open.
const SHOWN: usize = 12;

/// Of a page without a run.
const RESULTS_ALONE: &str = "Unknown: error bars come from runs with other steps, and this page is made of results alone. \
                             Request it from the run: <code>cosimo run --report</code>.";

/// The banner; `None` where there is no run.
pub(crate) fn verdict(accuracy: Option<&Accuracy>, finished: bool, to: &mut impl Write) -> io::Result<()> {
    let verdict = accuracy.map_or(AccuracyVerdict::Unknown, |accuracy| accuracy.verdict);
    let wanted = accuracy.map_or(String::new(), |accuracy| percent(accuracy.wanted));
    let title = match verdict {
        AccuracyVerdict::Accurate => format!("Accurate to {wanted}"),
        AccuracyVerdict::NotAccurate => format!("Not accurate to {wanted}"),
        AccuracyVerdict::Unknown => "Accuracy unknown".to_owned(),
    };
    let so_far = if finished { "" } else { ", so far" };
    let words = accuracy.map_or(RESULTS_ALONE.to_owned(), |accuracy| code(&sentence(&accuracy.words)));
    writeln!(
        to,
        "<section class=\"verdict {}\" aria-label=Verdict>\n<span class=sign aria-hidden=true>{}</span>\n<div>\n\
         <h2>{title}{so_far}</h2>\n<p id=verdict>{words}</p>\n</div>\n</section>",
        verdict.word(),
        sign(verdict)
    )
}

fn sign(verdict: AccuracyVerdict) -> char {
    match verdict {
        AccuracyVerdict::Accurate => '✓',
        AccuracyVerdict::Unknown => '?',
        AccuracyVerdict::NotAccurate => '✕',
    }
}

/// The error bars of all recorded signals, the worst first.
pub(crate) fn signals(accuracy: &Accuracy, to: &mut impl Write) -> io::Result<()> {
    if accuracy.signals.is_empty() {
        return Ok(());
    }
    let companions = match accuracy.companions {
        CompanionSet::None => "",
        CompanionSet::Coarse => " It follows from the same run with steps merged by two and by four.",
        CompanionSet::Fine => {
            " It follows from the same run with merged steps, and with halves and quarters of its steps."
        }
    };
    writeln!(
        to,
        "<section aria-labelledby=accuracy>\n<h2 id=accuracy>Accuracy of signals</h2>\n<p class=note>The error bar is the \
         estimated largest error of a signal at any communication point, with a safety factor.{companions} RMS is the \
         estimated root mean square error. Start is the error that the first step leaves; it is part of the bar.</p>"
    )?;
    let heads = "signal, verdict, unit, peak, error bar, of peak<br>%, RMS, start, at t<br>s";
    folded(("Accuracy of signals", "signals"), heads, accuracy.signals.iter().map(signal).collect(), to)?;
    writeln!(to, "</section>")
}

/// What is said about an unknown signal, or about instants, is in words; values would be taken for error bars.
fn has_bar(signal: &SignalAccuracy) -> bool {
    signal.verdict != AccuracyVerdict::Unknown && signal.switching.is_none()
}

/// The error bar of a recorded variable, where it has one that can be drawn.
pub(crate) fn bar(accuracy: Option<&Accuracy>, name: &str) -> Option<f64> {
    let signal = accuracy?.signals.iter().find(|signal| signal.name == name)?;
    Some(signal.error_bar).filter(|bar| has_bar(signal) && bar.is_finite() && *bar > 0.0)
}

fn signal(signal: &SignalAccuracy) -> Vec<String> {
    let SignalAccuracy { error_bar, relative, scale, mean_error_bar, start_error, at, .. } = signal;
    let compared = has_bar(signal);
    let value = |value: f64| if compared { known(value, number) } else { "–".into() };
    let share = |share: f64| three_digits(100.0 * share);
    vec![
        HtmlText(&signal.name).to_string(),
        judgement(signal),
        HtmlText(&signal.unit).to_string(),
        known(*scale, number),
        value(*error_bar),
        if compared { known(*relative, share) } else { "–".into() },
        value(*mean_error_bar),
        value(*start_error),
        known(*at, |at| instant(at).to_string()),
    ]
}

/// The verdict of a signal, with its reason.
fn judgement(signal: &SignalAccuracy) -> String {
    let verdict = signal.verdict;
    let word = match verdict {
        AccuracyVerdict::Accurate => "accurate",
        AccuracyVerdict::Unknown => "unknown",
        AccuracyVerdict::NotAccurate => "not accurate",
    };
    let switching = match signal.switching {
        Some(instants) if instants.error_bar.is_finite() => {
            let (count, bar) = (instants.count, three_digits(instants.error_bar));
            format!(": switches {count} times, each within {bar} s")
        }
        Some(_) => ": switches otherwise with other steps".into(),
        None => String::new(),
    };
    let reason = signal.reason.as_deref().filter(|_| verdict == AccuracyVerdict::Unknown);
    let why = reason.map_or(switching, |reason| format!(": {reason}"));
    let sign = sign(verdict);
    format!(
        "<span class=\"judged {}\"><span aria-hidden=true>{sign}</span> {word}</span>{}",
        verdict.word(),
        code(&why)
    )
}

/// What was assumed about inputs against what became known.
pub(crate) fn connections(all: &[CouplingDefect], to: &mut impl Write) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(
        to,
        "<section aria-labelledby=defects>\n<h2 id=defects>Coupling defects</h2>\n<p class=note>The distance of what was \
         assumed about an input for the end of each step from what became known there: its integral over time relative to \
         that of the signal, and the largest. The largest defects show which connection to improve.</p>"
    )?;
    let apart: Vec<&CouplingDefect> = all.iter().filter(|defect| defect.largest != 0.0).collect();
    if apart.is_empty() {
        return writeln!(to, "<p>All inputs were assumed as they became known.</p>\n</section>");
    }
    let row = |defect: &CouplingDefect| {
        let CouplingDefect { connection, unit, largest, relative, at, mean } = defect;
        let share = |share: f64| known(share, |share| three_digits(100.0 * share));
        vec![
            HtmlText(connection).to_string(),
            HtmlText(unit).to_string(),
            share(*mean),
            known(*largest, number),
            share(*relative),
            known(*at, |at| instant(at).to_string()),
        ]
    };
    let heads = "connection, unit, on average<br>%, largest, of peak<br>%, at t<br>s";
    folded(("Coupling defects", "connections"), heads, apart.into_iter().map(row).collect(), to)?;
    match all.iter().filter(|defect| defect.largest == 0.0).count() {
        0 => {}
        1 => writeln!(to, "<p class=note>One more connection has no defect.</p>")?,
        none => writeln!(to, "<p class=note>{none} more connections have no defect.</p>")?,
    }
    writeln!(to, "</section>")
}

/// A table whose first rows are open.
fn folded(
    (label, things): (&str, &str),
    heads: &str,
    mut rows: Vec<Vec<String>>,
    to: &mut impl Write,
) -> io::Result<()> {
    let rest = rows.split_off(SHOWN.min(rows.len()));
    table(label, "\"numbers judgements\"", heads, rows.into_iter(), to)?;
    if rest.is_empty() {
        return Ok(());
    }
    writeln!(to, "<details>\n<summary>{} more {things}</summary>", rest.len())?;
    table(&format!("{label}, continued"), "\"numbers judgements\"", heads, rest.into_iter(), to)?;
    writeln!(to, "</details>")
}
