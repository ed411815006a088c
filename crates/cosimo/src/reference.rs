//! The monolithic reference of a system beside its parts: what the run should have been.
//!
//! Parameters of the reference are those of the components with the same name, and it starts when the run starts.

use cosimo_core::Registry;
use cosimo_core::registry::{Options, Parameter, ReferenceEntry, Value, number_text};
use cosimo_system::{Component, System};

/// Values of ports at given instants.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// `component.port`, in the order of the file.
    pub names: Vec<String>,
    /// One row per instant.
    pub rows: Vec<Vec<f64>>,
}

/// The monolithic reference of a system, with its parameters.
#[derive(Debug)]
pub struct Reference {
    /// The equations.
    pub entry: &'static ReferenceEntry,
    /// Their parameters.
    pub options: Options,
    /// When the states have their start values, in seconds.
    pub start: f64,
}

impl Reference {
    /// The reference that a system declares, or why there is none.
    pub fn of(system: &System, registry: &Registry) -> Result<Reference, String> {
        let declared = system.reference.as_ref().ok_or("the system declares no `[reference]`")?;
        let entry = registry
            .references
            .iter()
            .copied()
            .find(|entry| entry.name == declared.model.0)
            .ok_or_else(|| format!("no reference is called `{}`", declared.model.0))?;
        let options = Options::resolve(entry.name, entry.parameters, &parameters(system, entry, registry)?)
            .map_err(|problems| {
            problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ")
        })?;
        Ok(Reference { entry, options, start: system.experiment.start })
    }

    /// All columns at ascending times of the clock.
    pub fn columns(&self, times: &[f64]) -> Result<Vec<Vec<f64>>, String> {
        let since: Vec<f64> = times.iter().map(|time| time - self.start).collect();
        if !self.entry.history && since.first().is_some_and(|&first| first < 0.0) {
            let (name, start) = (self.entry.name, number_text(self.start));
            return Err(format!("the reference `{name}` cannot be continued to before the start, {start} s"));
        }
        Ok((self.entry.solve)(&self.options, self.start, &since))
    }
}

/// A value of a parameter, and the component that has it.
struct ComponentValue<'a> {
    component: &'a str,
    value: Value,
    /// The component has it because none is given.
    default: bool,
}

impl ComponentValue<'_> {
    fn describe(&self) -> String {
        let default = if self.default { " (its default)" } else { "" };
        format!("{} in `{}`{default}", self.value.describe(), self.component)
    }
}

/// The parameters of the reference by those of the components, which must agree: the value in the file, or the default
/// of the component.
fn parameters(
    system: &System,
    entry: &ReferenceEntry,
    registry: &Registry,
) -> Result<Vec<(String, Value)>, String> {
    let of_source = |component: &Component| {
        let kind = registry.source(&component.source);
        kind.map(|kind| kind.parameters(&component.source, &system.folder)).unwrap_or_default()
    };
    let defaults: Vec<Vec<Parameter>> = system.components.iter().map(of_source).collect();
    let mut parameters = Vec::new();
    let mut disagreements = Vec::new();
    for spec in entry.parameters {
        let values: Vec<ComponentValue<'_>> = system
            .components
            .iter()
            .zip(&defaults)
            .filter_map(|(component, defaults)| value_in(component, defaults, spec.name))
            .collect();
        let Some((first, rest)) = values.split_first() else { continue };
        if let Some(other) = rest.iter().find(|other| !same(&first.value, &other.value)) {
            let (first, other) = (first.describe(), other.describe());
            disagreements.push(format!("`{}` is {first} and {other}", spec.name));
        }
        parameters.push((spec.name.to_owned(), first.value.clone()));
    }
    if disagreements.is_empty() {
        return Ok(parameters);
    }
    Err(format!(
        "components disagree about {} of the monolithic reference `{}`, which has one value: {}; give the same value to all, \
         e.g. `--set NAME=VALUE`",
        if disagreements.len() == 1 { "a parameter" } else { "parameters" },
        entry.name,
        disagreements.join("; ")
    ))
}

fn value_in<'a>(component: &'a Component, defaults: &[Parameter], name: &str) -> Option<ComponentValue<'a>> {
    let given = component.parameters.iter().find(|(known, ..)| known == name).map(|(_, value, _)| value);
    let default = || defaults.iter().find(|known| known.name == name)?.default.as_ref();
    let value = given.or_else(default)?.clone();
    Some(ComponentValue { component: &component.name, value, default: given.is_none() })
}

/// Equal, for numbers up to the digits that a description may have lost.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
        _ => a == b,
    }
}

/// The declared ports at ascending times.
pub fn solve(system: &System, times: &[f64], registry: &Registry) -> Result<Solution, String> {
    let reference = Reference::of(system, registry)?;
    let ports = system.reference.as_ref().map(|declared| declared.ports.as_slice()).unwrap_or_default();
    let columns: Vec<usize> = ports
        .iter()
        .filter_map(|(_, column, _)| reference.entry.columns.iter().position(|known| known == column))
        .collect();
    let rows = reference.columns(times)?;
    let rows = rows.into_iter().map(|row| columns.iter().map(|&column| row[column]).collect()).collect();
    Ok(Solution { names: ports.iter().map(|(port, ..)| port.clone()).collect(), rows })
}
