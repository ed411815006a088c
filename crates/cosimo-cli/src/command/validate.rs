//! `cosimo validate`: checks an FMU against the standard, clause by clause. Executes no code of the FMU.

use std::path::{Path, PathBuf};

use cosimo::fmi_check::{Finding, Profile, RULES, Severity, Validation, validate};
use serde_json::{Value, json};

use crate::{exit, report};

/// Check FMUs, or a modelDescription.xml alone, against FMI 1.0, 2.0 or 3.0
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// FMUs, e.g. `engine.fmu`
    #[arg(required_unless_present = "rules", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Every violation is an error; otherwise only those that prevent the FMU from running here or give wrong numbers
    #[arg(long)]
    strict: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// List all rules
    #[arg(long, conflicts_with_all = ["files", "strict"])]
    rules: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    if args.files.is_empty() {
        if args.json {
            println!("{:#}", rules_as_json());
        } else {
            print!("{}", rules());
        }
        return Ok(());
    }
    let profile = if args.strict { Profile::Strict } else { Profile::Lenient };
    let (mut unreadable, mut wrong) = (0, 0);
    let mut all = Vec::new();
    for file in &args.files {
        let shown = file.display().to_string();
        let Some(validation) = read(file, profile) else {
            unreadable += 1;
            continue;
        };
        wrong += usize::from(validation.count(Severity::Error) > 0);
        if args.json {
            all.push(as_json(&validation, &shown, profile));
        } else {
            print(&validation, &shown);
        }
    }
    match (args.json, args.files.as_slice(), all.first()) {
        // One file is an object, several are a list.
        (true, [_], Some(one)) => println!("{one:#}"),
        (true, [_], None) | (false, [_], _) => {}
        (true, ..) => println!("{:#}", Value::Array(all)),
        (false, files, _) => {
            let fine = files.len() - wrong - unreadable;
            println!("{} files: {fine} without errors", files.len());
        }
    }
    match (unreadable, wrong) {
        (0, 0) => Ok(()),
        (0, _) => Err(exit::BAD_INPUT),
        _ => Err(exit::NO_FILE),
    }
}

/// Validates a file; `None` where it cannot be read, which is reported.
fn read(file: &Path, profile: Profile) -> Option<Validation> {
    let explain = |cause: std::io::Error| {
        let hint =
            file.is_dir().then_some("zip the contents of the folder, or name its modelDescription.xml");
        report::error(&format!("cannot read `{}`: {cause}", file.display()), hint);
    };
    validate(file, profile).map_err(explain).ok()
}

fn print(validation: &Validation, shown: &str) {
    for finding in &validation.findings {
        report::finding(finding, shown);
    }
    for (rule, count) in &validation.left_out {
        println!("{count} more violations of {} not shown", rule.id);
    }
    println!("{}", verdict(validation, shown));
}

fn verdict(validation: &Validation, file: &str) -> String {
    let version =
        validation.fmi_version.as_ref().map_or(String::new(), |version| format!(" (FMI {version})"));
    let count = |severity: Severity| {
        let count = validation.count(severity);
        (count > 0).then(|| format!("{count} {}{}", severity.name(), if count == 1 { "" } else { "s" }))
    };
    let counts: Vec<String> = [Severity::Error, Severity::Warning].into_iter().filter_map(count).collect();
    let counts = if counts.is_empty() { "no problems found".into() } else { counts.join(", ") };
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
            "{:<width$}  {:<7}  {}{}{}{}\n",
            rule.id,
            rule.lenient.name(),
            rule.summary,
            clause("FMI 1.0", rule.fmi1),
            clause("FMI 2.0.5", rule.fmi2),
            clause("FMI 3.0.2", rule.fmi3),
        );
    }
    let depends = "depends: an error if it prevents the FMU from running on this machine, else a warning";
    text + &format!("\n{depends}\n{} rules; with --strict all of them are errors\n", RULES.len())
}

fn rules_as_json() -> Value {
    let clause = |clause: &str| if clause.is_empty() { Value::Null } else { clause.into() };
    RULES
        .iter()
        .map(|rule| {
            json!({
                "rule": rule.id,
                "fmi1": clause(rule.fmi1),
                "fmi2": clause(rule.fmi2),
                "fmi3": clause(rule.fmi3),
                "lenient": rule.lenient.name(),
                "summary": rule.summary,
                "remedy": rule.remedy,
            })
        })
        .collect()
}
