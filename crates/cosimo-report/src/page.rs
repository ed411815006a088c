//! The page, written from top to bottom: verdict, figures, error bars, the system, energy, steps, signals, plan, and where
//! it came from.
//!
//! All words are in the HTML and can be read without a script; the script only draws. A content security policy
//! lets nothing but that one script run and nothing be fetched, whatever a file managed to put into the text.

use std::io::{self, Write};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cosimo_analysis::error_bars::Accuracy;
use cosimo_core::math;
use cosimo_engine::{BondSummary, MonolithicReference, ReferenceDeviation, Summary};
use sha2::{Digest, Sha256};

use crate::accuracy;
use crate::curves::Curves;
use crate::data;
use crate::diagram::{Diagram, DiagramBox};
use crate::escape::{self, HtmlText};
use crate::lines;
use crate::reasons::Reasons;
use crate::rejections::Rejections;

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");
const PLOT_STYLE: &str = include_str!("../assets/uPlot.min.css");
const PLOT_SCRIPT: &str = include_str!("../assets/uPlot.iife.min.js");
/// Asks to go along with every copy, and each page holds one.
const PLOT_LICENCE: &str = include_str!("../assets/uPlot.LICENSE");

/// The content of the page.
#[derive(Debug)]
pub struct Report<'a> {
    /// The name of the system.
    pub name: &'a str,
    pub file: &'a str,
    pub outcome: RunEnd,
    pub summary: &'a Summary,
    /// The verdict about the signals; `None` where there are only results.
    pub accuracy: Option<&'a Accuracy>,
    /// The energy balance as text; may be empty.
    pub energy: &'a str,
    /// Start and planned end, in seconds.
    pub span: (f64, f64),
    /// What limited the step sizes, as text; may be empty.
    pub reasons: &'a str,
    /// `None` where there are only results.
    pub computing: Option<Duration>,
    pub threads: usize,
    /// Signal errors, where a reference exists.
    pub monolithic: MonolithicReference<'a>,
    pub warnings: &'a [Warning],
    /// The system as a picture, where it is known.
    pub diagram: Option<&'a Diagram>,
    /// As `cosimo explain` prints it; may be empty.
    pub plan: &'a str,
    pub components: &'a [ComponentFacts<'a>],
    /// Files that went in, with their SHA-256.
    pub inputs: &'a [(String, String)],
    /// Versions, command line, date: names and values, in the order in which they are shown.
    pub origin: &'a [(&'a str, String)],
    /// What was recorded.
    pub curves: &'a Curves,
    /// Step sizes, indicators and energies of all bonds, whatever was recorded.
    pub books: &'a Curves,
    pub why: &'a Reasons,
    pub rejections: &'a Rejections,
}

/// A simulator and what is known about where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentFacts<'a> {
    pub name: &'a str,
    pub facts: Vec<(String, String)>,
}

/// A message with the explanation of its code, since the page may be read without Cosimo.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Warning {
    /// Empty where it has none.
    pub code: &'static str,
    pub message: String,
    /// The text of `cosimo explain-error` for the code.
    pub meaning: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RunEnd {
    Finished,
    Interrupted,
    Failed { error: Warning, hint: String },
}

pub fn write(report: &Report<'_>, mut to: impl Write) -> io::Result<()> {
    let to = &mut to;
    let script = format!("/*! uPlot\n{PLOT_LICENCE}\n*/\n{PLOT_SCRIPT}\n{SCRIPT}");
    write_head(report, &script, to)?;
    write_outcome(report, to)?;
    accuracy::verdict(report.accuracy, report.outcome == RunEnd::Finished, to)?;
    write_figures(report, to)?;
    write_warnings(report, to)?;
    write_events(report, to)?;
    if let Some(accuracy) = report.accuracy {
        accuracy::signals(accuracy, to)?;
        accuracy::connections(&accuracy.connections, to)?;
    }
    write_system(report, to)?;
    write_tools(report, to)?;
    write_energy(report, to)?;
    write_monolithic(report, to)?;
    match &report.summary.net {
        Some(net) => {
            lines::delays(net, to)?;
            lines::islands(net, report.summary.time - report.span.0, to)?;
        }
        None => write_steps(report, to)?,
    }
    write_signals(report, to)?;
    writeln!(to, "</div>")?;
    write_plan(report, to)?;
    write_origin(report, to)?;
    writeln!(to, "</main>")?;
    writeln!(to, "<script type=\"application/json\" id=data>{}</script>", escape::json(&data::data(report)))?;
    writeln!(to, "<script>{script}</script>\n</body>\n</html>")
}

fn write_head(report: &Report<'_>, script: &str, to: &mut impl Write) -> io::Result<()> {
    let name = HtmlText(report.name);
    let hash = STANDARD.encode(Sha256::digest(script.as_bytes()));
    writeln!(to, "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>")?;
    writeln!(
        to,
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'\">"
    )?;
    writeln!(to, "<meta name=viewport content=\"width=device-width, initial-scale=1\">")?;
    writeln!(to, "<meta name=color-scheme content=\"light dark\">")?;
    writeln!(to, "<link rel=icon href=\"data:,\">\n<title>{name} – Cosimo report</title>")?;
    writeln!(to, "<style>{PLOT_STYLE}\n{STYLE}</style>\n</head>\n<body>\n<main>")?;
    writeln!(to, "<header>\n<p class=kind>Cosimo co-simulation report</p>\n<h1>{name}</h1>")?;
    writeln!(to, "<p class=file><code>{}</code></p>\n</header>", HtmlText(report.file))
}

/// The banner of a run that did not finish.
fn write_outcome(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    let (time, stop) = (instant(report.summary.time), report.span.1);
    match &report.outcome {
        RunEnd::Finished => Ok(()),
        RunEnd::Interrupted => writeln!(
            to,
            "<section class=\"banner stopped\" role=alert>\n<h2>Interrupted at t = {time} s of {stop} s</h2>\n\
             <p>The report covers the run up to that time.</p>\n</section>"
        ),
        RunEnd::Failed { error, hint } => writeln!(
            to,
            "<section class=\"banner failed\" role=alert>\n<h2>The run failed at t = {time} s of {stop} s</h2>\n\
             <p class=message>{}</p>\n<p>{}</p>\n{}<p>The report covers the run up to that time.</p>\n\
             </section>",
            code(&sentence(&error.message)),
            code(&sentence(hint)),
            meaning(error)
        ),
    }
}

fn write_figures(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    let (summary, counters) = (report.summary, &report.summary.counters);
    writeln!(to, "<dl class=figures>")?;
    let mut figures = vec![("simulated", format!("{} to {} s", report.span.0, instant(summary.time)))];
    if let Some(computing) = report.computing {
        figures.extend([
            ("steps", counters.steps.to_string()),
            ("rejected", counters.rejected.to_string()),
            ("mean step", format!("{} s", number(summary.mean_step))),
        ]);
        // Without an estimate it stays 0, which would look like a small error.
        figures.extend(
            (summary.worst_indicator > 0.0).then(|| ("largest indicator", number(summary.worst_indicator))),
        );
        figures.push(("wall time", format!("{:.3} s", computing.as_secs_f64())));
    } else {
        figures.extend([
            ("rows", report.curves.rows.to_string()),
            ("signals", report.curves.columns.names.len().saturating_sub(1).to_string()),
            ("bonds", summary.bonds.len().to_string()),
        ]);
    }
    for (name, value) in figures {
        writeln!(to, "<div><dt>{name}</dt><dd>{value}</dd></div>")?;
    }
    writeln!(to, "</dl>")?;
    if !report.reasons.is_empty() {
        writeln!(to, "<p class=note>Of the steps: {}.</p>", HtmlText(report.reasons))?;
    }
    Ok(())
}

fn write_warnings(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    if report.warnings.is_empty() {
        return Ok(());
    }
    writeln!(to, "<section aria-labelledby=warnings>\n<h2 id=warnings>Warnings</h2>\n<ul>")?;
    for warning in report.warnings {
        writeln!(to, "<li>{}{}</li>", code(&warning.message), meaning(warning))?;
    }
    writeln!(to, "</ul>\n</section>")
}

/// The code of a message, which opens what it means.
fn meaning(warning: &Warning) -> String {
    if warning.code.is_empty() {
        return String::new();
    }
    format!(
        "<details class=meaning><summary>What <code>{}</code> means</summary>\n<pre>{}</pre></details>\n",
        HtmlText(warning.code),
        HtmlText(&warning.meaning)
    )
}

/// Signal errors, which the energy defect does not bound.
fn write_monolithic(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    let MonolithicReference { about, ports } = report.monolithic;
    if ports.is_empty() {
        return Ok(());
    }
    writeln!(
        to,
        "<section aria-labelledby=monolithic>\n<h2 id=monolithic>Against the monolithic reference</h2>\n<p class=note>The system \
         has a model of the whole, without any coupling. The error is the largest distance from it at any communication \
         point{}.</p>",
        if about.is_empty() { String::new() } else { format!(" ({})", HtmlText(about)) }
    )?;
    let rows = ports.iter().map(|ReferenceDeviation { name, unit, error, share, at }| {
        let error = known(*error, |value| format!("{value:.3e}"));
        let share = known(*share, |share| format!("{:.4}", 100.0 * share));
        vec![HtmlText(name).to_string(), HtmlText(unit).to_string(), error, share, instant(*at).to_string()]
    });
    let heads = "signal, unit, largest error, relative to peak<br>%, at t<br>s";
    table("Errors of signals", "numbers", heads, rows, to)?;
    writeln!(to, "</section>")
}

/// A table that can be scrolled where it is wide. Its heads have commas between them; the first cell of a row is what the row is about.
pub(crate) fn table(
    label: &str,
    class: &str,
    heads: &str,
    rows: impl Iterator<Item = Vec<String>>,
    to: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        to,
        "<div class=wide tabindex=0 role=region aria-label=\"{label}\">\n<table class={class}>\n<thead><tr>\
         <th scope=col>{}</th></tr></thead>\n<tbody>",
        heads.replace(", ", "</th><th scope=col>")
    )?;
    for cells in rows {
        let (about, cells) = cells.split_first().map_or(("", &[][..]), |(about, cells)| (about, cells));
        writeln!(to, "<tr><th scope=row>{about}</th><td>{}</td></tr>", cells.join("</td><td>"))?;
    }
    writeln!(to, "</tbody>\n</table>\n</div>")
}

/// The actions of a scenario.
fn write_events(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    let Summary { events, more_events, .. } = report.summary;
    if events.is_empty() {
        return Ok(());
    }
    writeln!(to, "<section aria-labelledby=events>\n<h2 id=events>Scenario</h2>\n<ul>")?;
    for (time, name) in events {
        writeln!(to, "<li>t = {} s: {}</li>", instant(*time), HtmlText(name))?;
    }
    if *more_events > 0 {
        writeln!(to, "<li>and {more_events} more actions</li>")?;
    }
    writeln!(to, "</ul>\n</section>")
}

/// The couplings, and the wall time of components.
fn write_system(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    let Some(diagram) = report.diagram else { return Ok(()) };
    writeln!(to, "<section aria-labelledby=system>\n<h2 id=system>System</h2>")?;
    let timed = diagram.units.iter().any(|unit| unit.seconds.is_some());
    match diagram.svg(&report.summary.bonds) {
        Some(picture) => {
            let words: Vec<&str> = [
                (!diagram.signals.is_empty(), "Thin lines are signals."),
                (
                    !diagram.bonds.is_empty(),
                    "Thick lines are power bonds: the more energy they exchanged, the thicker. Arrows show the net direction, \
                     colours the energy defect.",
                ),
                (
                    !diagram.lines.is_empty(),
                    "Double lines are transmission lines: a wave arrives at the other side after the delay shown \
                     beside it.",
                ),
                (timed, "Bars in boxes compare the wall time of simulators."),
            ]
            .into_iter()
            .filter_map(|(there, words)| there.then_some(words))
            .collect();
            writeln!(
                to,
                "<p class=note>{}</p>\n\
                 <div class=wide tabindex=0 role=region aria-label=\"The system as a graph\">{picture}</div>",
                words.join(" ")
            )?;
        }
        None => {
            writeln!(to, "<p class=note>{} simulators are too many for a diagram.</p>", diagram.units.len())?;
        }
    }
    if timed {
        write_times(report, diagram, to)?;
    }
    writeln!(to, "</section>")
}

/// Most components listed in an open table.
const SHOWN_COMPONENTS: usize = 12;

fn write_times(report: &Report<'_>, diagram: &Diagram, to: &mut impl Write) -> io::Result<()> {
    let mut units: Vec<&DiagramBox> = diagram.units.iter().collect();
    units.sort_by(|a, b| b.seconds.unwrap_or(0.0).total_cmp(&a.seconds.unwrap_or(0.0)));
    let all: f64 = units.iter().filter_map(|unit| unit.seconds).sum();
    let whole = report.computing.map_or(0.0, |computing| computing.as_secs_f64());
    let open = if units.len() <= SHOWN_COMPONENTS { " open" } else { "" };
    let threads = match report.threads {
        1 => String::new(),
        threads => format!(", on {threads} threads at once"),
    };
    writeln!(
        to,
        "<details{open}>\n<summary>Time per simulator: {} s in their calls{threads}</summary>",
        number(all)
    )?;
    let row = |name: &str, about: &str, seconds: f64| {
        let share = if whole > 0.0 { format!("{:.1}", 100.0 * seconds / whole) } else { "–".into() };
        vec![HtmlText(name).to_string(), HtmlText(about).to_string(), number(seconds), share]
    };
    // With several threads components overlap, and the rest is not defined.
    let rest = (report.threads == 1 && whole > all)
        .then(|| row("everything else", "coupling, start, results, this report", whole - all));
    let rows = units.iter().map(|unit| row(&unit.name, &unit.about, unit.seconds.unwrap_or(0.0))).chain(rest);
    let heads = "simulator, source, time<br>s, of wall time<br>%";
    table("Time per simulator", "\"numbers times\"", heads, rows, to)?;
    writeln!(to, "</details>")
}

/// Opens the part of the page that has curves; the tools stay in sight down to its end.
fn write_tools(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "<div class=curves>\n<div class=tools id=tools></div>")?;
    writeln!(
        to,
        "<noscript><style>.tools, .plot, .signals {{ display: none }}</style><p class=note>The curves are drawn by a \
         script, which does not run here. Everything else is complete.</p></noscript>"
    )?;
    let thinned = |what: &str, curves: &Curves| {
        format!(
            "<p class=note>Curves of {what} are thinned: of {} rows, each group of {} is drawn by its first, lowest, \
             highest and last value, so that no peak is lost.</p>",
            curves.rows, curves.group
        )
    };
    for (what, curves) in [("energies and steps", report.books), ("signals", report.curves)] {
        if curves.group > 1 {
            writeln!(to, "{}", thinned(what, curves))?;
        }
    }
    Ok(())
}

fn write_energy(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    let (bonds, words) = (&report.summary.bonds, sentence(report.energy));
    if bonds.is_empty() && words.is_empty() {
        return Ok(());
    }
    writeln!(to, "<section aria-labelledby=energy>\n<h2 id=energy>Energy balance</h2>")?;
    writeln!(to, "<p id=balance>{}</p>", code(&words))?;
    if bonds.is_empty() {
        return writeln!(to, "</section>");
    }
    if let Some(words) = report.monolithic.beside(bonds) {
        writeln!(to, "<p>{}.</p>", code(&sentence(&words)))?;
    }
    writeln!(
        to,
        "<p class=note>Transmitted energy is the net energy through the bond, positive from its first side; exchanged energy is what went \
         through it either way. Residual energy is what the coupling created (positive) or destroyed (negative) on the way; \
         its absolute value, summed over all steps, is the energy defect. It says how well the coupling conserved energy and \
         is no bound on the error of any signal. The local error is half the mean absolute residual power: an estimate of the \
         error in the transmitted power.</p>"
    )?;
    let rows = bonds.iter().map(|bond| {
        let BondSummary { name, totals, power_error, .. } = bond;
        let joules = |energy: f64| known(energy, |value| format!("{value:.6e}"));
        vec![
            HtmlText(name).to_string(),
            joules(totals.transmitted),
            joules(totals.exchanged),
            joules(totals.residual),
            joules(totals.residual_absolute),
            bond.percent_text(),
            known(*power_error, |value| format!("{value:.3e}")),
        ]
    });
    let heads = "bond, transmitted<br>J, exchanged<br>J, residual<br>J, |residual|<br>J, of exchanged<br>%, local error<br>W";
    table("Energy ledger", "numbers", heads, rows, to)?;
    // Of bonds inside islands and of lines only the totals are known.
    if !report.books.columns.names.iter().any(|name| name.starts_with("bond.")) {
        return writeln!(to, "</section>");
    }
    writeln!(
        to,
        "<div id=bonds class=picks hidden></div>\n<div class=pair>\n\
         <div class=plot id=transmitted></div>\n<div class=plot id=residual></div>\n</div>\n</section>"
    )
}

fn write_steps(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    if !report.books.columns.names.iter().any(|name| name.starts_with("step.")) {
        return Ok(());
    }
    writeln!(to, "<section aria-labelledby=steps>\n<h2 id=steps>Steps</h2>")?;
    let rejected = match report.summary.counters.rejected {
        0 => String::new(),
        count => format!(" Triangles mark rejected steps, {count} in total."),
    };
    let indicator = if report.summary.worst_indicator > 0.0 {
        "The indicator is the estimated error of a step relative to the tolerance."
    } else {
        "There is no indicator, as no error estimate was used."
    };
    writeln!(to, "<p>{indicator}{rejected}</p>\n<div class=pair>\n<div class=plot id=size></div>")?;
    if report.summary.worst_indicator > 0.0 {
        writeln!(to, "<div class=plot id=indicator></div>")?;
    }
    writeln!(to, "</div>")?;
    if report.why.groups().iter().any(|group| group.counts.iter().any(|count| *count > 0)) {
        writeln!(to, "<div class=\"plot reasons\" id=reasons></div>")?;
    }
    writeln!(to, "</section>")
}

fn write_signals(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    let names = &report.curves.columns.names;
    let recorded = names.len().saturating_sub(1);
    let bars = names.iter().any(|name| accuracy::bar(report.accuracy, name).is_some());
    let bars = if bars { " Bands show error bars, where they are wider than a line." } else { "" };
    writeln!(
        to,
        "<section aria-labelledby=signals>\n<h2 id=signals>Signals</h2>\n<p class=note>{recorded} variable{} \
         recorded at {} communication points.{bars}</p>\n<div class=signals><div id=picker></div><div id=chosen></div></div>\n\
         </section>",
        if recorded == 1 { " was" } else { "s were" },
        report.curves.rows
    )
}

fn write_plan(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    if report.plan.is_empty() {
        return Ok(());
    }
    writeln!(
        to,
        "<section aria-labelledby=plan>\n<h2 id=plan>Plan</h2>\n<pre tabindex=0>{}</pre>\n</section>",
        HtmlText(report.plan.trim_end())
    )
}

fn write_origin(report: &Report<'_>, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "<section aria-labelledby=origin>\n<h2 id=origin>Inputs</h2>")?;
    writeln!(
        to,
        "<div class=wide tabindex=0 role=region aria-label=\"Files and components\">\n<table class=facts>"
    )?;
    let files = report.inputs.iter().map(|(file, hash)| (file.as_str(), "SHA-256", hash));
    let facts = report.components.iter().flat_map(|component| {
        let names = std::iter::once(component.name).chain(std::iter::repeat(""));
        names.zip(&component.facts).map(|(name, (fact, value))| (name, fact.as_str(), value))
    });
    for (about, fact, value) in files.chain(facts) {
        let (about, fact, value) = (HtmlText(about), HtmlText(fact), HtmlText(value));
        writeln!(to, "<tr><th scope=row>{about}</th><td>{fact}</td><td><code>{value}</code></td></tr>")?;
    }
    writeln!(to, "</table>\n</div>\n<h2>Provenance</h2>\n<dl class=made>")?;
    for (name, value) in report.origin {
        writeln!(to, "<dt>{}</dt><dd><code>{}</code></dd>", HtmlText(name), HtmlText(value))?;
    }
    writeln!(to, "</dl>\n</section>")
}

/// Messages begin in lower case, as a terminal shows them after `error:`; on a page they begin a sentence.
pub(crate) fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// A message with names in backticks, which a page shows as code.
pub(crate) fn code(message: &str) -> String {
    let mut html = String::new();
    for (k, part) in message.split('`').enumerate() {
        let text = HtmlText(part);
        html += &if k % 2 == 1 { format!("<code>{text}</code>") } else { text.to_string() };
    }
    html
}

/// A dash for unknown values.
pub(crate) fn known(value: f64, text: impl Fn(f64) -> String) -> String {
    if value.is_nan() { "–".into() } else { text(value) }
}

/// Four digits, with an exponent where there would be many zeros.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-2..1e4).contains(&size) {
        return format!("{value:.3e}");
    }
    let before = if size < 1.0 { 0 } else { math::log10(size) as usize + 1 };
    format!("{value:.*}", 4_usize.saturating_sub(before))
}

/// Six digits are enough to find a place in the curves.
pub(crate) fn instant(seconds: f64) -> f64 {
    format!("{seconds:.5e}").parse().unwrap_or(seconds)
}
