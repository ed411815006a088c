//! `cosimo check`: everything that is wrong or odd about a system, without running it. One mistake hides no other:
//! what can still be judged is judged.

use cosimo::core::entry::number_text;
use cosimo::engine::{Findings, check};
use cosimo::system::{Document, Files, Problem, Severity};
use serde_json::{Value, json};

use crate::load::{Changes, draft};
use crate::{exit, report};

/// Check a system without running it: every problem and every remark, with its place
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A system file; or simulators, as in `a.fmu`, `left=a.fmu` or `native:ring/rotor`
    #[arg(required = true, value_name = "FILE")]
    what: Vec<String>,
    #[command(flatten)]
    changes: Changes,
    /// Make remarks count as errors
    #[arg(long)]
    strict: bool,
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
    let shown = args.what.join(" ");
    if args.json {
        println!("{:#}", as_json(&findings, &shown, &files));
    } else {
        for problem in &findings.problems {
            println!("{}\n", report::problem(problem, &files));
        }
        println!("{}", verdict(&findings, &shown, readable));
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
    let unread = match &findings.unread[..] {
        [] => String::new(),
        few @ ([_] | [_, _] | [_, _, _]) => format!(", read by nobody: {}", few.join(", ")),
        [first, second, rest @ ..] => {
            format!(", read by nobody: {first}, {second} and {} more", rest.len())
        }
    };
    let own: Vec<String> =
        findings.own_steps.iter().map(|(name, size)| format!("{name} {} s", number_text(*size))).collect();
    let own = if own.is_empty() { String::new() } else { format!("\nown steps: {}", own.join(", ")) };
    format!(
        "{file}: {counts}\n{}, {}, {}, {}{unread}{own}",
        several(findings.components, "component"),
        several(findings.bonds, "bond"),
        several(findings.inputs, "input"),
        several(findings.outputs, "output")
    )
}

/// The shape is a promise to scripts.
fn as_json(findings: &Findings, what: &str, files: &Files) -> Value {
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
    let mut json = json!({
        "file": what,
        "problems": findings.problems.iter().map(problem).collect::<Vec<_>>(),
        "summary": {
            "errors": findings.count(Severity::Error),
            "remarks": findings.count(Severity::Remark),
            "components": findings.components,
            "bonds": findings.bonds,
            "inputs": findings.inputs,
            "outputs": findings.outputs,
            "unread_outputs": findings.unread,
        },
    });
    if !findings.own_steps.is_empty() {
        json["summary"]["own_steps"] = findings
            .own_steps
            .iter()
            .map(|(name, size)| json!({ "component": name, "size": size }))
            .collect();
    }
    json
}
