//! `cosimo validate`: an FMU against the standard, clause by clause. Runs none of its code.

use std::path::PathBuf;

use cosimo::fmi::validate::{Finding, Profile, RULES, Severity, Validation, validate};
use serde_json::{Value, json};

use crate::{exit, report};

/// Check an FMU, or a modelDescription.xml alone, against FMI 2.0 or 3.0
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The FMU, as in `engine.fmu`
    #[arg(required_unless_present = "rules")]
    file: Option<PathBuf>,
    /// Make every violation an error; otherwise, what importers tolerate is a warning
    #[arg(long)]
    strict: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// List all rules instead
    #[arg(long, conflicts_with_all = ["file", "strict"])]
    rules: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    let Some(file) = &args.file else {
        if args.json {
            println!("{:#}", rules_as_json());
        } else {
            print!("{}", rules());
        }
        return Ok(());
    };
    let shown = file.display().to_string();
    let profile = if args.strict { Profile::Strict } else { Profile::Lenient };
    let validation = validate(file, profile).map_err(|cause| {
        let hint =
            file.is_dir().then_some("zip the contents of the folder, or name its modelDescription.xml");
        report::error(&format!("cannot read `{shown}`: {cause}"), hint);
        exit::NO_FILE
    })?;
    if args.json {
        println!("{:#}", as_json(&validation, &shown, profile));
    } else {
        for finding in &validation.findings {
            println!("{}\n", report::finding(finding, &shown));
        }
        for (rule, count) in &validation.left_out {
            println!("{count} more of {} are not shown", rule.id);
        }
        println!("{}", verdict(&validation, &shown));
    }
    match validation.count(Severity::Error) {
        0 => Ok(()),
        _ => Err(exit::BAD_INPUT),
    }
}

fn verdict(validation: &Validation, file: &str) -> String {
    let version =
        validation.fmi_version.as_ref().map_or(String::new(), |version| format!(" (FMI {version})"));
    let count = |severity: Severity| {
        let count = validation.count(severity);
        (count > 0).then(|| format!("{count} {}{}", severity.name(), if count == 1 { "" } else { "s" }))
    };
    let counts: Vec<String> = [Severity::Error, Severity::Warning].into_iter().filter_map(count).collect();
    let counts = if counts.is_empty() { "nothing to complain about".into() } else { counts.join(", ") };
    format!("{file}{version}: {counts}")
}

fn as_json(validation: &Validation, file: &str, profile: Profile) -> Value {
    let problem = |finding: &Finding| {
        let place = finding.spot.place;
        let entry = Some(&finding.spot.entry).filter(|entry| !entry.is_empty());
        json!({
            "rule": finding.rule.id,
            "clause": finding.clause,
            "severity": finding.severity.name(),
            "entry": entry,
            "line": place.map(|place| place.line),
            "column": place.map(|place| place.column),
            "message": finding.message,
            "wanted": finding.wanted,
            "found": finding.found,
            "remedy": finding.rule.remedy,
        })
    };
    json!({
        "file": file,
        "fmi_version": validation.fmi_version,
        "profile": if profile == Profile::Strict { "strict" } else { "lenient" },
        "problems": validation.findings.iter().map(problem).collect::<Vec<_>>(),
        "summary": {
            "errors": validation.count(Severity::Error),
            "warnings": validation.count(Severity::Warning),
            "not_shown": validation.left_out.iter().map(|(_, count)| count).sum::<usize>(),
        },
    })
}

fn rules() -> String {
    let mut text = String::new();
    let width = RULES.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in RULES {
        let clause = |version: &str, clause: &str| {
            if clause.is_empty() { String::new() } else { format!("; {version}: {clause}") }
        };
        text += &format!(
            "{:<width$}  {:<7}  {}{}{}\n",
            rule.id,
            rule.lenient.name(),
            rule.summary,
            clause("FMI 2.0.5", rule.fmi2),
            clause("FMI 3.0.2", rule.fmi3),
        );
    }
    text + &format!("\n{} rules; with --strict all of them are errors\n", RULES.len())
}

fn rules_as_json() -> Value {
    let clause = |clause: &str| if clause.is_empty() { Value::Null } else { clause.into() };
    RULES
        .iter()
        .map(|rule| {
            json!({
                "rule": rule.id,
                "fmi2": clause(rule.fmi2),
                "fmi3": clause(rule.fmi3),
                "lenient": rule.lenient.name(),
                "summary": rule.summary,
                "remedy": rule.remedy,
            })
        })
        .collect()
}
