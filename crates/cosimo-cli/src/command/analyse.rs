//! `cosimo analyse`: properties of a coupling, measured on the engine: stability over the step size, order, residual power
//! against error, and the causality of bonds.

mod causality;
mod correlation;
mod order;
mod stability;

use cosimo::analysis::variant::refuse_lines;
use cosimo::core::Registry;
use cosimo::core::registry::number_text;
use cosimo::json_schema::FileOutput;
use cosimo::system::{Document, System};
use serde::Serialize;

use crate::load::{self, Parts, SystemOverrides, TimeSpan, draft};
use crate::{exit, output, report};

/// Analyse a coupling: stability, order, correlation, causality
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: AnalyseCommand,
}

#[derive(Debug, clap::Subcommand)]
enum AnalyseCommand {
    Stability(stability::Args),
    Order(order::Args),
    Correlation(correlation::Args),
    Causality(causality::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), u8> {
    match &args.what {
        AnalyseCommand::Stability(args) => stability::run(args),
        AnalyseCommand::Order(args) => order::run(args),
        AnalyseCommand::Correlation(args) => correlation::run(args),
        AnalyseCommand::Causality(args) => causality::run(args),
    }
}

/// The part of an analysis that executes simulators: in a child process where supported, as a simulator may crash.
fn isolated(part: impl Fn() -> Result<(), u8>) -> Result<(), u8> {
    load::isolated(part, |crash| {
        let hint = "an analysis restores saved states far more often than a run; an FMU that crashes on that can still be \
                    run with methods without rollback";
        report::error(&format!("no analysis: {crash}"), Some(hint));
        Err(exit::FAILED)
    })
}

/// The system to analyse.
#[derive(Debug, clap::Args)]
struct Subject {
    /// A system (.toml, .ssp, .ssd, OspSystemStructure.xml), or a list of simulators: `a.fmu`, `left=a.fmu`, `native:ring/rotor`
    #[arg(required = true, value_name = "FILE")]
    what: Vec<String>,
    #[command(flatten)]
    span: TimeSpan,
    #[command(flatten)]
    parts: Parts,
    /// A method: axis=name, or axis={ name = { option = value } } as in the file's [method]; `cosimo methods` lists all axes
    #[arg(long = "method", value_name = "AXIS=NAME")]
    methods: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Subject {
    /// The system with the overrides of the command line; prints all of its problems otherwise.
    fn system(&self, step: Option<f64>, registry: &Registry) -> Result<System, u8> {
        let changes = SystemOverrides {
            span: self.span.clone(),
            step,
            parts: self.parts.clone(),
            methods: self.methods.clone(),
            ..SystemOverrides::default()
        };
        let document = draft(&self.what, &changes, registry)?;
        let broken = document.has_errors();
        let Document { system, mut problems, files, .. } = document;
        if !broken {
            match cosimo::engine::plan(&system, registry) {
                Ok(_) => return Ok(system),
                Err(found) => problems.extend(found),
            }
        }
        report::problems(&problems, &files);
        Err(exit::BAD_INPUT)
    }

    fn name(&self) -> String {
        self.what.join(" ")
    }

    /// Analyses the system, in a child process where supported, and prints the result.
    fn show<F: Serialize>(
        &self,
        step: Option<&str>,
        analyse: impl Fn(&System, &Registry) -> Result<F, u8>,
        print: impl Fn(&str, &F),
    ) -> Result<(), u8> {
        let registry = cosimo::registry();
        let system = self.system(one_step(step)?, &registry)?;
        isolated(|| {
            self.print(&analyse(&system, &registry)?, &print);
            Ok(())
        })
    }

    /// The result as JSON or as text.
    fn print<F: Serialize>(&self, found: &F, print: impl Fn(&str, &F)) {
        match self.json {
            true => output::json(&FileOutput { file: &self.name(), found }),
            false => print(&self.name(), found),
        }
    }
}

/// The step to analyse: a constant step size is required.
fn constant_step(system: &System) -> Result<f64, u8> {
    refuse_lines(system).map_err(|error| report::refused(error, None))?;
    let step = &system.methods.step;
    step.size.ok_or_else(|| {
        let (least, most) = (number_text(step.min), number_text(step.max));
        let message = format!(
            "expected a constant step size, got controlled steps: controller `{}`, {least} to {most} s",
            system.methods.controller.name
        );
        report::refused(message, Some("choose a step size, e.g. `--step 1e-3`"))
    })
}

/// One finite size above 0.
fn one_step(text: Option<&str>) -> Result<Option<f64>, u8> {
    let Some(text) = text else { return Ok(None) };
    match text.parse::<f64>() {
        Ok(size) if size.is_finite() && size > 0.0 => Ok(Some(size)),
        _ => Err(report::refused(format!("`--step {text}`: must be a finite number above 0"), None)),
    }
}

/// Prints the error of an analysis, with the code of the plan or run that failed; returns the exit code.
fn coded(code: Option<&str>, error: &dyn std::fmt::Display, hint: Option<&str>) -> u8 {
    report::coded(code, &error.to_string(), hint);
    if code.is_some_and(|code| code.starts_with("step/")) { exit::FAILED } else { exit::BAD_INPUT }
}
