//! Systems with other methods than those of their file, and runs of them that are ready to be probed.

use cosimo_core::{Interface, Registry, Time};
use cosimo_engine::{Run, RunError, plan};
use cosimo_system::{Choice, EndRule, Exchange, PerInput, Problem, Severity, System, in_one_line};

/// Steps before a probe, so that there is a history: more than any extrapolation needs.
const STEPS: usize = 4;
/// Size of these steps relative to the system's own: where those are unstable, four of them would go far from the
/// operating point.
const SHORT: f64 = 1e-3;

/// Of the errors below, those that come from a plan or a run have a code, as problems of files have.
#[derive(Debug, thiserror::Error)]
pub enum VariantError {
    #[error("there is no method `{0}`")]
    Unknown(String, String),
    #[error("{}", in_one_line(.0))]
    Plan(Vec<Problem>),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(
        "line `{0}` divides the system into islands with their own steps, so there is no common step to analyse; `cosimo \
         verify` halves the delays instead"
    )]
    Line(String),
}

/// Analyses of the common macro step are not possible in a system with lines.
pub fn refuse_lines(system: &System) -> Result<(), VariantError> {
    match system.bonds.iter().find(|bond| bond.line.is_some()) {
        Some(bond) => Err(VariantError::Line(bond.name.clone())),
        None => Ok(()),
    }
}

impl VariantError {
    /// The code for `cosimo explain-error`: of several, the first.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            VariantError::Plan(problems) => first_error(problems),
            VariantError::Run(error) => error.code(),
            VariantError::Unknown(..) | VariantError::Line(_) => None,
        }
    }

    /// The message with its code, for where it stands inside another one.
    pub(crate) fn coded(&self) -> String {
        match self {
            VariantError::Run(error) => error.text_with_code(),
            other => other.to_string(),
        }
    }
}

pub(crate) fn first_error(problems: &[Problem]) -> Option<&'static str> {
    Some(problems.iter().find(|problem| problem.severity == Severity::Error)?.code)
}

/// The system with the named methods, as in `gauss-seidel+linear`: each name says which axis it belongs to.
pub fn with_methods(system: &System, names: &str, registry: &Registry) -> Result<System, VariantError> {
    let mut changed = system.clone();
    let recipe = &mut changed.methods;
    for name in names.split('+').map(str::trim) {
        let choice = Choice::named(name);
        if registry.inputs.iter().any(|entry| entry.name == name) {
            recipe.input = PerInput::all(choice);
        } else if registry.partitions.iter().any(|entry| entry.name == name) {
            recipe.partition = choice;
        } else if registry.iterations.iter().any(|entry| entry.name == name) {
            recipe.iteration = choice;
        } else if registry.corrections.iter().any(|entry| entry.name == name) {
            recipe.correction = PerInput::all(choice);
        } else if name == "fresh" || name == "stale" {
            let exchange = if name == "fresh" { Exchange::Fresh } else { Exchange::Stale };
            recipe.exchange = PerInput::all(exchange);
        } else {
            let inputs = registry.inputs.iter().map(|entry| entry.name);
            let known = inputs
                .chain(registry.partitions.iter().map(|entry| entry.name))
                .chain(registry.iterations.iter().map(|entry| entry.name))
                .chain(registry.corrections.iter().map(|entry| entry.name))
                .chain(["stale", "fresh"]);
            return Err(VariantError::Unknown(name.into(), cosimo_core::registry::suggest(name, known)));
        }
    }
    Ok(changed)
}

/// How the methods of a system are called, for headings.
pub fn describe(system: &System) -> String {
    let recipe = &system.methods;
    let mut words = vec![recipe.partition.name.clone(), recipe.input.default.name.clone()];
    let mut others: Vec<&str> =
        recipe.input.inputs.iter().map(|(_, choice, _)| choice.name.as_str()).collect();
    others.sort_unstable();
    others.dedup();
    words.extend(
        others
            .into_iter()
            .filter(|name| *name != recipe.input.default.name)
            .map(|name| format!("{name} (some inputs)")),
    );
    let usual = [(&recipe.iteration, "once"), (&recipe.correction.default, "none")];
    words.extend(
        usual.iter().filter(|(choice, usual)| choice.name != *usual).map(|(choice, _)| choice.name.clone()),
    );
    if recipe.exchange.default == Exchange::Fresh {
        words.push("fresh".into());
    }
    words.join(", ")
}

/// A run of the system as it is, at its start; with lines there are no common steps to look at.
pub(crate) fn run(system: &System, registry: &Registry) -> Result<Run, VariantError> {
    refuse_lines(system)?;
    Ok(Run::new(plan(system, registry).map_err(VariantError::Plan)?, 1)?)
}

/// A run of the system at an instant, or a few short steps after its start.
pub fn started(system: &System, registry: &Registry, at: Option<f64>) -> Result<Run, VariantError> {
    refuse_lines(system)?;
    // Probed steps go beyond the end of the experiment, and FMUs with a defined stop time would refuse them.
    let mut open = system.clone();
    open.experiment.end = EndRule::After;
    let plan = plan(&open, registry).map_err(VariantError::Plan)?;
    let mut run = Run::new(plan.rewinding(), 1)?;
    if let Some(until) = at.and_then(Time::new) {
        run.run_until(until)?;
        return Ok(run);
    }
    let any = |interface: &Interface| interface.abilities.variable_step && interface.internal_step.is_none();
    let size = run.sizes().1 * if run.layout().topology.interfaces.iter().all(any) { SHORT } else { 1.0 };
    for _ in 0..STEPS {
        run.set_next_size(size);
        run.step()?;
    }
    Ok(run)
}
