//! Options that change a system, and opening it with its problems shown.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use cosimo::core::Registry;
use cosimo::core::registry::endings_text;
use cosimo::core::trial::{self, Crash};
pub(crate) use cosimo::open::LoadedSystem;
use cosimo::open::{self, OpenOptions};
use cosimo::record::{self, Table, TableError};
use cosimo::system::{Document, EndRule, Overrides, ReadOptions};

use crate::{exit, report};

/// A system and the overrides of the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Subject {
    /// A system (.toml, .ssp, .ssd, OspSystemStructure.xml), or a list of simulators: `a.fmu`, `left=a.fmu`, `native:ring/rotor`
    #[arg(required = true, value_name = "FILE")]
    pub what: Vec<String>,
    #[command(flatten)]
    pub changes: SystemOverrides,
}

impl Subject {
    /// The arguments as on the command line.
    pub(crate) fn name(&self) -> String {
        self.what.join(" ")
    }

    /// The system as far as it could be read, with its problems.
    pub(crate) fn draft(&self, registry: &Registry) -> Result<Document, u8> {
        draft(&self.what, &self.changes, registry)
    }

    /// Opens and plans the system.
    pub(crate) fn load(&self, registry: &Registry) -> Result<LoadedSystem, u8> {
        load(&self.what, &self.changes, registry)
    }
}

/// Which system, and up to when.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TimeSpan {
    /// SSP with several .ssd files: which one, by the name of its description
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// End of the run, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub stop: Option<f64>,
}

/// Values of components, and their connections.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Parts {
    /// A parameter, or an input that is not connected: component.name=value, or name=value for all components that have it
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub sets: Vec<String>,
    /// A connection from an output to an input: a.y=b.u
    #[arg(long = "connect", value_name = "OUTPUT=INPUT")]
    pub connects: Vec<String>,
    /// A power bond: name=effort:flow~effort:flow, e.g. joint=a.F:a.v~b.F:b.v
    #[arg(long = "bond", value_name = "NAME=PORTS")]
    pub bonds: Vec<String>,
}

/// Overrides of the file, common to all commands that plan a system.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SystemOverrides {
    #[command(flatten)]
    pub span: TimeSpan,
    /// Shorten the last step to end at the stop time, or run to the first communication point at or after it
    #[arg(long, value_enum)]
    pub end: Option<EndOption>,
    /// Macro step size in seconds; the initial one if steps are controlled
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    pub step: Option<f64>,
    /// Multi-rate: macro step of one component, in seconds; a multiple or a fraction of the common step
    #[arg(long = "own-step", value_name = "COMPONENT=S")]
    pub own_steps: Vec<String>,
    /// Tolerance of the error estimate that controls the step; overrides those of single bonds and components
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    pub tolerance: Option<f64>,
    /// Solver of FMUs for model exchange: bdf, dormand-prince, bogacki-shampine or, where built in, cvode
    #[arg(long, value_name = "NAME")]
    pub solver: Option<String>,
    #[command(flatten)]
    pub parts: Parts,
    /// FMUs for model exchange to integrate as one monolithic model, without coupling error: a,b, or * for all
    #[arg(long = "monolithic", alias = "strong", value_name = "NAMES")]
    pub monolithic: Vec<String>,
    /// Scenario: a file of timed and conditional actions during the run
    ///
    /// Each `[[action]]` has `at = 2.0` or `when = "a.v > 1 and not t < 2"` (with `once = false` each time that becomes true)
    /// and does one thing: `set = "b.u"` `to = 1.0` for an input that is not connected; `override` (`to`), `stuck`, `scale` (`by`)
    /// and `offset` (`by`) for the signal at an input, or at all inputs that an output is connected to, and `release`;
    /// `parameter = "b.m"` `to = 2.0`; `stop = true`. A `name` is shown in the results. Actions on one signal replace each other.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Table of input values over time; columns are matched to inputs by name
    #[arg(long, value_name = "FILE")]
    pub input: Option<String>,
    /// A method: axis=name, or axis={ name = { option = value } } as in the file's [method]; `cosimo methods` lists all axes
    #[arg(long = "method", value_name = "AXIS=NAME")]
    pub methods: Vec<String>,
    /// Variables to record in result files, with * and ?; !PATTERN excludes; the last match decides
    #[arg(long = "record", value_name = "PATTERN", allow_hyphen_values = true)]
    pub record: Vec<String>,
    /// Interval between rows of result files, in seconds [default: every communication point]
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub record_every: Option<f64>,
}

impl SystemOverrides {
    pub(crate) fn options(&self) -> OpenOptions {
        let overrides = Overrides {
            stop: self.span.stop,
            end: self.end.map(|end| match end {
                EndOption::Exact => EndRule::Exact,
                EndOption::After => EndRule::After,
            }),
            step: self.step,
            own_steps: self.own_steps.clone(),
            tolerance: self.tolerance,
            connects: self.parts.connects.clone(),
            bonds: self.parts.bonds.clone(),
            monolithic: self.monolithic.clone(),
            input: self.input.clone(),
            solver: self.solver.clone(),
            sets: self.parts.sets.clone(),
            methods: self.methods.clone(),
            record: self.record.clone(),
            record_every: self.record_every,
        };
        OpenOptions { variant: self.span.variant.clone(), scenario: self.scenario.clone(), overrides }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EndOption {
    Exact,
    After,
}

/// Reads a system file without planning it.
pub(crate) fn read(file: &Path, options: &ReadOptions, registry: &Registry) -> Result<Document, u8> {
    open::read(file, options, registry).map_err(|error| report::failure(&error))
}

/// A system as far as it could be read, with its problems.
pub(crate) fn draft(what: &[String], changes: &SystemOverrides, registry: &Registry) -> Result<Document, u8> {
    open::draft(what, &changes.options(), registry).map_err(|error| report::failure(&error))
}

/// Opens and plans a system.
pub(crate) fn load(
    what: &[String],
    changes: &SystemOverrides,
    registry: &Registry,
) -> Result<LoadedSystem, u8> {
    open::load(what, &changes.options(), registry).map_err(|error| report::failure(&error))
}

/// Runs a task that may crash in the FMU it executes: in a child process where supported.
pub(crate) fn isolated(
    task: impl Fn() -> Result<(), u8>,
    crashed: impl FnOnce(Crash) -> Result<(), u8>,
) -> Result<(), u8> {
    match trial::isolated(&mut || vec![task().err().unwrap_or(0)]) {
        Some(Ok(code)) => match code.first() {
            Some(0) => Ok(()),
            code => Err(code.copied().unwrap_or(exit::FAILED)),
        },
        Some(Err(crash)) => crashed(crash),
        None => task(),
    }
}

/// Numbers that must be finite and not below 0, with their options.
pub(crate) fn not_negative(options: &[(&str, f64)]) -> Result<(), u8> {
    match options.iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
        Some((option, value)) => {
            let message = format!("`{option}` must be a finite number not below 0, got {value}");
            Err(report::refused(message, None))
        }
        None => Ok(()),
    }
}

/// Endings of result files, for help; optionally with the strengths of each format.
pub(crate) fn endings(strengths: bool) -> String {
    endings_text(&cosimo::registry().formats, strengths)
}

/// The rows of a result file.
pub(crate) fn table(file: &Path) -> Result<Table, u8> {
    record::read(file, &cosimo::registry().formats).map_err(|error| {
        report::error(&error.to_string(), Some(&error.hint()));
        if matches!(error, TableError::Unknown(_)) { exit::BAD_INPUT } else { exit::NO_FILE }
    })
}
