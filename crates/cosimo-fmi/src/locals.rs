//! Variables of an FMU that are no ports, read where a result asks for them: local variables and parameters.

use cosimo_core::{Local, SimulatorError};

use crate::description::{Causality, Description, Kind, Variable};
use crate::ports::names;

/// What is read by one call.
#[derive(Debug)]
struct Reading {
    member: usize,
    kind: Kind,
    references: Vec<u32>,
    values: Vec<f64>,
    /// Where each value goes; `None` for elements of arrays that nobody asked for.
    places: Vec<Option<usize>>,
}

/// The chosen ones of one FMU, or of several that are integrated together.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    readings: Vec<Reading>,
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

impl Chosen {
    /// By their places among [`all`] of the same FMUs.
    pub(crate) fn new<'d>(members: impl Iterator<Item = &'d Description>, places: &[usize]) -> Chosen {
        let mut chosen = Chosen::default();
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
                for element in elements {
                    let into = asked.next_if(|(place, _)| *place == element).map(|(_, into)| into);
                    reading.places.push(into);
                    reading.values.push(0.0);
                }
            }
        }
        chosen
    }

    fn reading(&mut self, member: usize, kind: Kind) -> &mut Reading {
        let same = |reading: &Reading| (reading.member, reading.kind) == (member, kind);
        let at = self.readings.iter().position(same).unwrap_or_else(|| {
            let (references, values, places) = (Vec::new(), Vec::new(), Vec::new());
            self.readings.push(Reading { member, kind, references, values, places });
            self.readings.len() - 1
        });
        &mut self.readings[at]
    }

    /// `get` reads variables of a member.
    pub(crate) fn read(
        &mut self,
        into: &mut [f64],
        mut get: impl FnMut(usize, Kind, &[u32], &mut [f64]) -> Result<(), SimulatorError>,
    ) -> Result<(), SimulatorError> {
        for Reading { member, kind, references, values, places } in &mut self.readings {
            get(*member, *kind, references, values)?;
            for (value, place) in values.iter().zip(places) {
                if let Some(place) = place {
                    into[*place] = *value;
                }
            }
        }
        Ok(())
    }
}
