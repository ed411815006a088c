//! From a row of a table to a run: reading a system, changing it, and starting it.

use std::path::Path;
use std::sync::Arc;

use cosimo_core::Registry;
use cosimo_engine::{Plan, Run};
use cosimo_system::{Choice, ChoiceOrigin, Overrides, Problem, System, in_one_line, overrides, toml};

use super::fmu::ExportedFmus;

/// What a caller may change about every row.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// As on the command line of `cosimo run`.
    pub sets: Vec<String>,
    pub step: Option<f64>,
    pub tolerance: Option<f64>,
    /// Run FMUs made from the native models instead of the models themselves.
    pub fmus: Option<Arc<ExportedFmus>>,
}

impl Changes {
    /// Without those that only rows with a step control of their own can have.
    pub(crate) fn of_models(&self) -> Changes {
        Changes { step: None, tolerance: None, ..self.clone() }
    }
}

pub(crate) fn read(text: &str, registry: &Registry) -> Result<System, String> {
    let (system, problems) = toml::read(text, Path::new("."), registry);
    check(&problems)?;
    Ok(system)
}

/// Steps of one size.
pub(crate) fn constant(system: &mut System, size: f64) {
    system.methods.estimate = Choice::named("none");
    system.methods.controller = Choice::named("fixed");
    system.methods.step.size = Some(size);
    system.methods.step.size_origin = ChoiceOrigin::Default;
}

pub(crate) fn apply(system: &mut System, changes: &Changes, registry: &Registry) -> Result<(), String> {
    let asked = Overrides {
        sets: changes.sets.clone(),
        step: changes.step,
        // A tolerance says nothing to a row of constant steps.
        tolerance: changes.tolerance.filter(|_| system.methods.estimate.name != "none"),
        ..Overrides::default()
    };
    check(&overrides::apply(system, &asked, registry))?;
    match &changes.fmus {
        Some(exported) => exported.replace(system),
        None => Ok(()),
    }
}

fn check(problems: &[Problem]) -> Result<(), String> {
    let errors = in_one_line(problems);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

pub(crate) fn planned(system: &System, registry: &Registry) -> Result<Plan, String> {
    cosimo_engine::plan(system, registry).map_err(|problems| in_one_line(&problems))
}

/// A run at its start.
pub(crate) fn started(system: &System, registry: &Registry) -> Result<Run, String> {
    Run::new(planned(system, registry)?, 1).map_err(|error| error.text_with_code())
}

pub(crate) fn step(run: &mut Run) -> Result<(), String> {
    run.step().map_err(|error| error.text_with_code())
}

/// Columns of the monolithic reference of a system at some instants.
pub(crate) fn reference<const N: usize>(
    system: &System,
    names: [&str; N],
    times: &[f64],
    registry: &Registry,
) -> Result<Vec<[f64; N]>, String> {
    let reference = cosimo::reference::Reference::of(system, registry)?;
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(names) {
        let known = reference.entry.columns.iter().position(|known| *known == name);
        *place = known.ok_or_else(|| format!("the reference has no `{name}`"))?;
    }
    Ok(reference.columns(times)?.into_iter().map(|row| places.map(|place| row[place])).collect())
}
