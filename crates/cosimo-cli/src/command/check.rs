//! `cosimo check`: all problems of a system before it runs, and a forecast. One error does not hide others: everything
//! that can still be checked is checked.

use cosimo::analysis::forecast::{Forecast, NoForecast, forecast, three_digits};
use cosimo::analysis::remedies::error_text;
use cosimo::analysis::stability::ProbeMethod;
use cosimo::analysis::survey;
use cosimo::check::{self, CheckReport, MaybeForecast};
use cosimo::core::registry::number_text;
use cosimo::engine::Findings;
use cosimo::system::{Document, Files, Severity};

use crate::load::{Subject, isolated};
use crate::{exit, output, report};

/// Check a system before it runs: all errors and warnings with their places, and a stability forecast
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// No stability forecast, which starts the simulators and takes a few steps
    #[arg(long)]
    no_forecast: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let registry = cosimo::registry();
    let document = args.subject.draft(&registry)?;
    let found = check::findings(&document, &registry);
    let readable = found.is_some();
    let Document { files, system, problems, .. } = document;
    let findings = found.unwrap_or_else(|| Findings { problems, ..Findings::default() });
    let answer = |forecast: MaybeForecast| {
        let mut findings = findings.clone();
        findings.problems.extend(match &forecast {
            Some(Ok(forecast)) => forecast.problem(&system),
            Some(Err(NoForecast::Lines(loops))) => loops.problem(&system),
            _ => None,
        });
        show(args, &findings, &forecast, readable, &files)
    };
    if !readable || args.no_forecast || findings.count(Severity::Error) > 0 {
        return answer(None);
    }
    // A simulator that crashes in the forecast must not hide the findings so far.
    let with_forecast = || answer(Some(forecast(&system, &registry)));
    isolated(with_forecast, |crash| answer(Some(Err(crash.into()))))
}

/// Up to this number, warnings that differ in the component only are shown one by one; beyond it once, with a count.
const MOST_ALIKE: usize = 5;

fn show(
    args: &Args,
    findings: &Findings,
    forecast: &MaybeForecast,
    readable: bool,
    files: &Files,
) -> Result<(), u8> {
    let shown = args.subject.name();
    if args.json {
        output::json(&CheckReport::new(&shown, findings, forecast, files));
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
    let counts: Vec<String> = [(Severity::Error, "error"), (Severity::Warning, "warning")]
        .into_iter()
        .map(|(severity, word)| (findings.count(severity), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| several(count, word))
        .collect();
    let counts = if counts.is_empty() { "no problems found".into() } else { counts.join(", ") };
    if !readable {
        return format!("{file}: {counts}; the rest is checked once the file can be parsed");
    }
    // With errors, the counts below could be wrong.
    if findings.count(Severity::Error) > 0 {
        return format!("{file}: {counts}");
    }
    let unread = match &findings.unread_outputs[..] {
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
    let own = findings.own_steps.iter();
    let own: Vec<String> = own.map(|own| format!("{} {} s", own.component, number_text(own.size))).collect();
    let own = if own.is_empty() { String::new() } else { format!("\nmulti-rate: {}", own.join(", ")) };
    format!(
        "{file}: {counts}\n{}, {}, {lines}{}, {}{unread}{own}",
        several(findings.components, "component"),
        several(findings.bonds, "bond"),
        several(findings.inputs, "input"),
        several(findings.outputs, "output")
    )
}

/// The forecast of a run.
fn lines(forecast: &Result<Forecast, NoForecast>) -> Vec<String> {
    let forecast = match forecast {
        Ok(forecast) => forecast,
        Err(NoForecast::Lines(loops)) => return vec![format!("forecast: {loops}")],
        Err(reason) => return vec![format!("no forecast: {reason}")],
    };
    let steps = match (forecast.steps, forecast.most_steps) {
        (1, None) => format!("1 step of {} s", three_digits(forecast.size)),
        (count, None) => format!("{count} steps of {} s", three_digits(forecast.size)),
        (fewest, Some(most)) => {
            format!("{fewest} to {most} steps of at most {} s", three_digits(forecast.size))
        }
    };
    let how = match forecast.how {
        ProbeMethod::States => "",
        ProbeMethod::Models => " (on linear models of the components, as one exposes no states)",
        ProbeMethod::Growth => " (by growth over many steps, as one step is no linear map)",
    };
    let when = match forecast.instants {
        1 => "at the start ".into(),
        count => format!("at t = {} s (smallest limit of {count} instants) ", three_digits(forecast.at)),
    };
    let mut lines = vec![format!("forecast: {steps}; {when}{}{how}", survey::radius_text(forecast.radius))];
    lines.extend(forecast.limit.map(|whole| format!("  {}", whole.text())));
    lines.extend(forecast.contraction.map(|left| {
        let words = if left < 1.0 { "leaves" } else { "does not converge: it leaves" };
        format!("  the iteration {words} {} of an error per repetition", three_digits(left))
    }));
    lines.extend(forecast.error.map(|error| {
        let step =
            forecast.accurate_step.filter(|_| error > forecast.accuracy).map_or(String::new(), |step| {
                format!("; {} needs a step of {} s", error_text(forecast.accuracy), number_text(step))
            });
        format!("  predicted error of signals {}{step}", error_text(error))
    }));
    lines.extend(forecast.loops.iter().map(|own| format!("  {} alone: {}", own.name, own.limit)));
    lines
}
