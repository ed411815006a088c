//! `cosimo check`: everything that is wrong or odd about a system before it runs, and what the run would do. One mistake
//! hides no other: what can still be judged is judged.

use cosimo::analysis::forecast::{Forecast, NoForecast, forecast, three};
use cosimo::analysis::stability::{How, Limit};
use cosimo::analysis::survey;
use cosimo::core::entry::number_text;
use cosimo::core::trial::isolated;
use cosimo::engine::{Findings, check};
use cosimo::system::{Document, Files, Problem, Severity};
use serde_json::{Value, json};

use crate::load::{Changes, draft};
use crate::{exit, report};

/// Check a system before it runs: every problem and every remark, with its place, and a forecast
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A system (.toml, .ssp, .ssd, OspSystemStructure.xml); or simulators, as in `a.fmu`, `left=a.fmu`, `native:ring/rotor`
    #[arg(required = true, value_name = "FILE")]
    what: Vec<String>,
    #[command(flatten)]
    changes: Changes,
    /// Make remarks count as errors
    #[arg(long)]
    strict: bool,
    /// Do not forecast stability, for which simulators are started and take a few steps
    #[arg(long)]
    no_forecast: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let document = draft(&args.what, &args.changes, &registry)?;
    // Behind broken syntax nobody knows what is missing, only what is there; and where nothing is, there is no system.
    let syntax = document.problems.iter().any(|problem| problem.code == "system/syntax");
    let nothing = document.has_errors() && document.system.components.is_empty();
    let readable = !(syntax || nothing);
    let Document { files, system, problems, .. } = document;
    let findings = if readable {
        check(&system, &registry, problems)
    } else {
        Findings { problems, ..Findings::default() }
    };
    let answer = |forecast: Option<Result<Forecast, NoForecast>>| {
        let mut findings = findings.clone();
        if let Some(Ok(forecast)) = &forecast {
            findings.problems.extend(forecast.problem(&system));
        }
        show(args, &findings, forecast.as_ref(), readable, &files)
    };
    if !readable || args.no_forecast || findings.count(Severity::Error) > 0 {
        return answer(None);
    }
    // A simulator that dies of the forecast must not hide what was found before.
    match isolated(&mut || vec![answer(Some(forecast(&system, &registry))).err().unwrap_or(0)]) {
        Some(Ok(code)) => match code.first() {
            Some(0) => Ok(()),
            code => Err(code.copied().unwrap_or(exit::FAILED)),
        },
        Some(Err(crash)) => answer(Some(Err(crash.into()))),
        None => answer(Some(forecast(&system, &registry))),
    }
}

/// Remarks that differ in the component only are shown with their places up to this number, then once with a count.
const MOST_ALIKE: usize = 5;

fn show(
    args: &Args,
    findings: &Findings,
    forecast: Option<&Result<Forecast, NoForecast>>,
    readable: bool,
    files: &Files,
) -> Result<(), u8> {
    let shown = args.what.join(" ");
    if args.json {
        println!("{:#}", as_json(findings, forecast, &shown, files));
    } else {
        for members in report::alike(findings.problems.iter()) {
            let shown = if members.len() > MOST_ALIKE { 1 } else { members.len() };
            for problem in &members[..shown] {
                report::problem(problem, files);
            }
            if shown < members.len() {
                println!("the same{}\n", report::others(&members[1..]));
            }
        }
        println!("{}", verdict(findings, &shown, readable));
        if let Some(forecast) = forecast {
            lines(forecast).iter().for_each(|line| println!("{line}"));
        }
        if let Some(line) = report::more(&findings.problems) {
            println!("{line}");
        }
    }
    let bad = findings.count(Severity::Error) > 0 || (args.strict && !findings.problems.is_empty());
    if bad { Err(exit::BAD_INPUT) } else { Ok(()) }
}

fn verdict(findings: &Findings, file: &str, readable: bool) -> String {
    let several = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let counts: Vec<String> = [(Severity::Error, "error"), (Severity::Remark, "remark")]
        .into_iter()
        .map(|(severity, word)| (findings.count(severity), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| several(count, word))
        .collect();
    let counts = if counts.is_empty() { "nothing to complain about".into() } else { counts.join(", ") };
    if !readable {
        return format!("{file}: {counts}; the rest is checked once the file can be read");
    }
    // Of what is wrong nobody knows how much of the rest belongs to it.
    if findings.count(Severity::Error) > 0 {
        return format!("{file}: {counts}");
    }
    let unread = match &findings.unread[..] {
        [] => String::new(),
        few @ ([_] | [_, _] | [_, _, _]) => format!(" (no other component reads {})", few.join(", ")),
        [first, second, rest @ ..] => {
            format!(" (no other component reads {first}, {second} and {} more)", rest.len())
        }
    };
    let lines = match findings.lines {
        0 => String::new(),
        lines => format!("{}, ", several(lines, "line")),
    };
    let own: Vec<String> =
        findings.own_steps.iter().map(|(name, size)| format!("{name} {} s", number_text(*size))).collect();
    let own = if own.is_empty() { String::new() } else { format!("\nown steps: {}", own.join(", ")) };
    format!(
        "{file}: {counts}\n{}, {}, {lines}{}, {}{unread}{own}",
        several(findings.components, "component"),
        several(findings.bonds, "bond"),
        several(findings.inputs, "input"),
        several(findings.outputs, "output")
    )
}

/// What a run would do, a line each.
fn lines(forecast: &Result<Forecast, NoForecast>) -> Vec<String> {
    let forecast = match forecast {
        Ok(forecast) => forecast,
        Err(reason) => return vec![format!("no forecast: {reason}")],
    };
    let steps = match forecast.steps {
        (1, None) => format!("1 step of {} s", three(forecast.size)),
        (count, None) => format!("{count} steps of {} s", three(forecast.size)),
        (fewest, Some(most)) => format!("{fewest} to {most} steps of at most {} s", three(forecast.size)),
    };
    let how = match forecast.how {
        How::States => "",
        How::Impulses => " (by impulse responses, as a simulator shows no states)",
    };
    let mut lines = vec![format!("forecast: {steps}; at the start {}{how}", survey::words(forecast.radius))];
    lines.extend(forecast.limit.map(|whole| format!("  {}", limit(whole))));
    lines.extend(forecast.loops.iter().map(|(name, own)| format!("  {name} alone: {}", limit(*own))));
    lines
}

fn limit(limit: Limit) -> String {
    match limit {
        Limit::At(size) => format!("largest stable step {} s", three(size)),
        Limit::Beyond(size) => format!("stable up to {} s and perhaps beyond", three(size)),
        Limit::System(_) => "the system itself grows".into(),
        Limit::Never => "unstable at every step".into(),
    }
}

/// For programs; the reason where there is no forecast.
fn forecast_json(forecast: &Result<Forecast, NoForecast>) -> Value {
    let at = |limit: Limit| if let Limit::At(size) = limit { Some(size) } else { None };
    match forecast {
        Ok(forecast) => json!({
            "step": forecast.size,
            "varies": forecast.varies,
            "radius": forecast.radius,
            "stable": !forecast.unstable(),
            "largest_stable_step": forecast.limit.and_then(at),
            "limit": forecast.limit.map(limit),
            "loops": forecast.loops.iter().map(|(name, own)| json!({
                "name": name, "largest_stable_step": at(*own), "limit": limit(*own),
            })).collect::<Vec<_>>(),
            "remedies": forecast.remedies.iter().map(|remedy| json!({
                "words": remedy.words, "radius": remedy.radius,
            })).collect::<Vec<_>>(),
            "steps": forecast.steps.0,
            "most_steps": forecast.steps.1,
        }),
        Err(reason) => json!({ "missing": reason.to_string() }),
    }
}

/// The shape is a promise to scripts.
fn as_json(
    findings: &Findings,
    forecast: Option<&Result<Forecast, NoForecast>>,
    what: &str,
    files: &Files,
) -> Value {
    let problem = |problem: &Problem| {
        let position = report::position(problem, files);
        let about = problem.about.as_ref();
        json!({
            "code": problem.code,
            "severity": match problem.severity {
                Severity::Error => "error",
                Severity::Remark => "remark",
            },
            "message": problem.message,
            "hint": problem.hint,
            "file": position.map(|(file, ..)| file),
            "line": position.map(|(_, line, _)| line),
            "column": position.map(|(.., column)| column),
            "component": about.map(|about| &about.component),
            "port": about.and_then(|about| about.port.as_ref()),
        })
    };
    let mut all = json!({
        "file": what,
        "problems": findings.problems.iter().map(problem).collect::<Vec<_>>(),
        "summary": {
            "errors": findings.count(Severity::Error),
            "remarks": findings.count(Severity::Remark),
            "components": findings.components,
            "bonds": findings.bonds,
            "lines": findings.lines,
            "inputs": findings.inputs,
            "outputs": findings.outputs,
            "unread_outputs": findings.unread,
        },
    });
    if !findings.own_steps.is_empty() {
        all["summary"]["own_steps"] = findings
            .own_steps
            .iter()
            .map(|(name, size)| json!({ "component": name, "size": size }))
            .collect();
    }
    if let Some(forecast) = forecast {
        all["forecast"] = forecast_json(forecast);
    }
    all
}
