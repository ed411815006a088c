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

/// A system, and what is changed about it.
#[derive(Debug, clap::Args)]
pub(crate) struct Subject {
    /// A system (.toml, .ssp, .ssd, OspSystemStructure.xml); or simulators, as in `a.fmu`, `left=a.fmu`, `native:ring/rotor`
    #[arg(required = true, value_name = "FILE")]
    pub what: Vec<String>,
    #[command(flatten)]
    pub changes: SystemOverrides,
}

impl Subject {
    /// As on the command line.
    pub(crate) fn name(&self) -> String {
        self.what.join(" ")
    }

    /// As much of the system as could be understood, with its problems.
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
pub(crate) struct Span {
    /// Which system of a package that holds several, by the name of its description
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// End of the run, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub stop: Option<f64>,
}

/// Values of components, and what connects them.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Parts {
    /// A parameter, or an input that nobody drives: component.name=value, or name=value for all that have it
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub sets: Vec<String>,
    /// A connection from an output to an input: a.y=b.u
    #[arg(long = "connect", value_name = "OUTPUT=INPUT")]
    pub connects: Vec<String>,
    /// A power bond: name=effort:flow~effort:flow, as in joint=a.F:a.v~b.F:b.v
    #[arg(long = "bond", value_name = "NAME=PORTS")]
    pub bonds: Vec<String>,
}

/// Changes to the file that every command which plans a system understands.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SystemOverrides {
    #[command(flatten)]
    pub span: Span,
    /// Cut the last step to hit the stop time, or run to the first point at or after it
    #[arg(long, value_enum)]
    pub end: Option<EndOption>,
    /// Step size in seconds: the fixed one, or the first one where steps vary
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    pub step: Option<f64>,
    /// A step of its own for a component, in seconds: a multiple or a fraction of the common step
    #[arg(long = "own-step", value_name = "COMPONENT=S")]
    pub own_steps: Vec<String>,
    /// Tolerance of the error estimate that controls the step; beats those of single bonds and components
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    pub tolerance: Option<f64>,
    /// The integrator of FMUs for model exchange: bdf, dormand-prince, bogacki-shampine or, where built in, cvode
    #[arg(long, value_name = "NAME")]
    pub solver: Option<String>,
    #[command(flatten)]
    pub parts: Parts,
    /// FMUs for model exchange that are integrated together, without any coupling error: a,b, or * for all
    #[arg(long = "monolithic", alias = "strong", value_name = "NAMES")]
    pub monolithic: Vec<String>,
    /// What happens during the run: a file of timed and conditional actions
    ///
    /// Each `[[action]]` has `at = 2.0` or `when = "a.v > 1 and not t < 2"` (with `once = false` each time that becomes true)
    /// and does one thing: `set = "b.u"` `to = 1.0` for an input that nobody drives; `override` (`to`), `stuck`, `scale` (`by`)
    /// and `offset` (`by`) for what an input is told, or what everybody is told of an output, and `release`;
    /// `parameter = "b.m"` `to = 2.0`; `stop = true`. A `name` is shown in the results. Actions on one signal replace each other.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// A table whose columns drive the inputs of the same names
    #[arg(long, value_name = "FILE")]
    pub input: Option<String>,
    /// A method: axis=name, or axis={ name = { option = value } } as in the file's [method]; `cosimo methods` lists all axes
    #[arg(long = "method", value_name = "AXIS=NAME")]
    pub methods: Vec<String>,
    /// Variables that go into result files, with * and ?; !PATTERN leaves out, the last that fits decides
    #[arg(long = "record", value_name = "PATTERN", allow_hyphen_values = true)]
    pub record: Vec<String>,
    /// Seconds from row to row of result files [default: every communication point]
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
pub(crate) fn read(file: &Path, asked: &ReadOptions, registry: &Registry) -> Result<Document, u8> {
    open::read(file, asked, registry).map_err(|error| report::failure(&error))
}

/// As much of a system as could be understood, with its problems.
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

/// A task that may die of what it executes: in another process where that can be done.
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

/// Endings of result files, for help; with what each format is good at.
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
