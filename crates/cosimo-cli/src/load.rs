//! From a path and overrides to a planned system, or to everything that is wrong with it.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use cosimo::core::Registry;
use cosimo::engine::{Plan, plan};
use cosimo::system::{EndRule, Overrides, Severity, System, overrides, toml};

use crate::{exit, report};

/// Changes to the file that every command which plans a system understands.
#[derive(Debug, clap::Args)]
pub(crate) struct Changes {
    /// End of the run, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub stop: Option<f64>,
    /// Cut the last step to hit the stop time, or run to the first point at or after it
    #[arg(long, value_enum)]
    pub end: Option<End>,
    /// Step size in seconds: the fixed one, or the first one where steps vary
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    pub step: Option<f64>,
    /// Tolerance of the estimate; beats those of single bonds and components
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    pub tolerance: Option<f64>,
    /// A parameter: component.parameter=value, or parameter=value for all components that have it
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub sets: Vec<String>,
    /// A method: axis=name, or axis={ name = { option = value } } as in the file's [method]
    #[arg(long = "method", value_name = "AXIS=NAME")]
    pub methods: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum End {
    Exact,
    After,
}

pub(crate) struct Loaded {
    pub system: System,
    pub plan: Plan,
}

/// Reads a system file without planning it.
pub(crate) fn read(file: &Path, registry: &Registry) -> Result<(String, String, System), u8> {
    let path = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|cause| {
        let hint = if file.is_dir() {
            Some(format!("this is a folder; did you mean `{}`?", file.join("system.toml").display()))
        } else if cause.kind() == std::io::ErrorKind::NotFound {
            nearby(file)
        } else {
            None
        };
        report::error(&format!("cannot read `{path}`: {cause}"), hint.as_deref());
        exit::NO_FILE
    })?;
    let folder = file.parent().map_or_else(PathBuf::new, Path::to_owned);
    let (system, problems) = toml::read(&text, &folder, registry);
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        report::problems(&problems, &path, &text);
        return Err(exit::BAD_INPUT);
    }
    Ok((path, text, system))
}

pub(crate) fn load(file: &Path, changes: &Changes, registry: &Registry) -> Result<Loaded, u8> {
    let (path, text, mut system) = read(file, registry)?;
    let asked = Overrides {
        stop: changes.stop,
        end: changes.end.map(|end| match end {
            End::Exact => EndRule::Exact,
            End::After => EndRule::After,
        }),
        step: changes.step,
        tolerance: changes.tolerance,
        sets: changes.sets.clone(),
        methods: changes.methods.clone(),
    };
    let mut problems = overrides::apply(&mut system, &asked, registry);
    match plan(&system, registry) {
        Ok(plan) if problems.is_empty() => return Ok(Loaded { system, plan }),
        Ok(_) => {}
        Err(found) => problems.extend(found),
    }
    report::problems(&problems, &path, &text);
    Err(exit::BAD_INPUT)
}

/// TOML files next to a path that does not exist.
fn nearby(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    (!names.is_empty()).then(|| format!("`{}` has {}", folder.display(), names.join(", ")))
}
