//! The monolithic reference of a system beside its parts: what the run should have been.
//!
//! Parameters of the reference are those of the components with the same name.

use cosimo_core::Registry;
use cosimo_core::registry::{Options, ReferenceEntry, Value};
use cosimo_system::System;

/// Values of ports at given instants.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// `component.port`, in the order of the file.
    pub names: Vec<String>,
    /// One row per instant.
    pub rows: Vec<Vec<f64>>,
}

/// The entry and its parameters for a system, or why there is none.
pub fn entry(system: &System, registry: &Registry) -> Result<(&'static ReferenceEntry, Options), String> {
    let declared = system.reference.as_ref().ok_or("the system declares no `[reference]`")?;
    let entry = registry
        .references
        .iter()
        .copied()
        .find(|entry| entry.name == declared.model.0)
        .ok_or_else(|| format!("no reference is called `{}`", declared.model.0))?;
    let mut parameters: Vec<(String, Value)> = Vec::new();
    let all = system.components.iter().flat_map(|component| &component.parameters);
    for (name, value, _) in all.filter(|(name, ..)| entry.parameters.iter().any(|spec| spec.name == name)) {
        match parameters.iter().find(|(given, _)| given == name) {
            None => parameters.push((name.clone(), value.clone())),
            Some((_, other)) if other == value => {}
            Some((_, other)) => {
                return Err(format!(
                    "components disagree about `{name}`: {} and {}; the monolithic reference has one",
                    other.describe(),
                    value.describe()
                ));
            }
        }
    }
    let options = Options::resolve(entry.name, entry.parameters, &parameters).map_err(|problems| {
        problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ")
    })?;
    Ok((entry, options))
}

/// The declared ports at ascending instants.
pub fn solve(system: &System, times: &[f64], registry: &Registry) -> Result<Solution, String> {
    let (entry, options) = entry(system, registry)?;
    if !entry.history && times.first().is_some_and(|&first| first < 0.0) {
        return Err(format!("the reference `{}` cannot be continued to before 0 s", entry.name));
    }
    let ports = system.reference.as_ref().map(|declared| declared.ports.as_slice()).unwrap_or_default();
    let columns: Vec<usize> = ports
        .iter()
        .filter_map(|(_, column, _)| entry.columns.iter().position(|known| known == column))
        .collect();
    let rows = (entry.solve)(&options, times)
        .into_iter()
        .map(|row| columns.iter().map(|&column| row[column]).collect())
        .collect();
    Ok(Solution { names: ports.iter().map(|(port, ..)| port.clone()).collect(), rows })
}
