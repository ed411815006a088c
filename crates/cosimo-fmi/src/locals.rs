//! Variables of an FMU that are no ports, read where a result asks for them: local variables and parameters.

use cosimo_core::{Local, SimulatorError};

use crate::description::{Causality, Description, Variable, VariableType};
use crate::ports::names;

/// What is read by one call.
#[derive(Debug)]
struct LocalRead {
    member: usize,
    kind: VariableType,
    references: Vec<u32>,
    /// Of each variable: how many values it has, and its name.
    about: Vec<(usize, String)>,
    values: Vec<f64>,
    /// Where each value goes; `None` for elements of arrays that are not recorded.
    places: Vec<Option<usize>>,
}

/// The chosen ones of one FMU, or of several that are integrated together.
#[derive(Debug, Default)]
pub(crate) struct LocalSelection {
    readings: Vec<LocalRead>,
    /// Places of those that the FMU does not let be read.
    unreadable: Vec<usize>,
}

fn variables(description: &Description) -> impl Iterator<Item = &Variable> {
    let inside = |variable: &&Variable| {
        !matches!(variable.causality, Causality::Input | Causality::Output | Causality::Independent)
            && variable.kind.is_number()
    };
    description.variables.iter().filter(inside)
}

/// All that there are, element by element; those of joined FMUs by the path of their component.
pub(crate) fn all<'d>(members: impl Iterator<Item = (&'d Description, Option<&'d str>)>) -> Vec<Local> {
    let mut found = Vec::new();
    for (description, component) in members {
        for variable in variables(description) {
            let unit = variable.unit_name.clone().unwrap_or_default();
            found.extend(names(variable).into_iter().map(|name| Local {
                name: component.map_or(name.clone(), |component| format!("{component}.{name}")),
                unit: unit.clone(),
            }));
        }
    }
    found
}

impl LocalSelection {
    /// By their places among [`all`] of the same FMUs.
    pub(crate) fn new<'d>(
        members: impl Iterator<Item = &'d Description>,
        places: &[usize],
    ) -> LocalSelection {
        let mut chosen = LocalSelection::default();
        // Both are in the order of the variables, whatever the order in which they were asked for.
        let mut asked: Vec<(usize, usize)> = places.iter().copied().zip(0..).collect();
        asked.sort_unstable();
        let mut asked = asked.into_iter().peekable();
        let mut first = 0;
        for (member, description) in members.enumerate() {
            for variable in variables(description) {
                let elements = first..first + variable.elements();
                first = elements.end;
                if asked.peek().is_none_or(|(place, _)| *place >= first) {
                    continue;
                }
                let reading = chosen.reading(member, variable.kind);
                reading.references.push(variable.reference);
                reading.about.push((elements.len(), variable.name.clone()));
                for element in elements {
                    let into = asked.next_if(|(place, _)| *place == element).map(|(_, into)| into);
                    reading.places.push(into);
                    reading.values.push(0.0);
                }
            }
        }
        chosen
    }

    fn reading(&mut self, member: usize, kind: VariableType) -> &mut LocalRead {
        let same = |reading: &LocalRead| (reading.member, reading.kind) == (member, kind);
        let at = self.readings.iter().position(same).unwrap_or_else(|| {
            let (references, about, values, places) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            self.readings.push(LocalRead { member, kind, references, about, values, places });
            self.readings.len() - 1
        });
        &mut self.readings[at]
    }

    /// `get` reads variables of a member.
    pub(crate) fn read(
        &mut self,
        into: &mut [f64],
        mut get: impl FnMut(usize, VariableType, &[u32], &mut [f64]) -> Result<(), SimulatorError>,
    ) -> Result<(), SimulatorError> {
        for LocalRead { member, kind, references, values, places, .. } in &mut self.readings {
            get(*member, *kind, references, values)?;
            for (value, place) in values.iter().zip(places) {
                if let Some(place) = place {
                    into[*place] = *value;
                }
            }
        }
        self.unreadable.iter().for_each(|place| into[*place] = f64::NAN);
        Ok(())
    }

    /// Tries all of them once: FMUs exist that refuse some of their variables. Returns the names of those, which are not
    /// asked for again.
    pub(crate) fn drop_unreadable(
        &mut self,
        mut get: impl FnMut(usize, VariableType, &[u32], &mut [f64]) -> Result<(), SimulatorError>,
    ) -> Vec<String> {
        let mut names = Vec::new();
        for reading in &mut self.readings {
            let LocalRead { member, kind, references, about, values, places } = reading;
            if get(*member, *kind, references, values).is_ok() {
                continue;
            }
            let (mut kept, mut kept_places, mut first) = (Vec::new(), Vec::new(), 0);
            for (reference, (size, name)) in references.iter().zip(std::mem::take(about)) {
                let own = first..first + size;
                first = own.end;
                if get(*member, *kind, &[*reference], &mut values[own.clone()]).is_ok() {
                    kept.push(*reference);
                    about.push((size, name));
                    kept_places.extend_from_slice(&places[own]);
                } else {
                    self.unreadable.extend(places[own].iter().flatten());
                    names.push(name);
                }
            }
            values.truncate(kept_places.len());
            (*references, *places) = (kept, kept_places);
        }
        self.readings.retain(|reading| !reading.references.is_empty());
        names
    }
}

/// What a run should say of values that were lost and of variables that cannot be read.
pub(crate) fn notices(lost: Vec<String>, unreadable: Vec<String>) -> Vec<(&'static str, String)> {
    /// Names that are shown.
    const MOST: usize = 5;
    let mut notices: Vec<_> = lost.into_iter().map(|words| ("run/parameter", words)).collect();
    if !unreadable.is_empty() {
        let shown: Vec<String> = unreadable.iter().take(MOST).map(|name| format!("`{name}`")).collect();
        let more = unreadable.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let words = format!(
            "these variables cannot be read from the FMU and are recorded as NaN: {}{more}",
            shown.join(", ")
        );
        notices.push(("run/unreadable", words));
    }
    notices
}
