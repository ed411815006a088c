//! Derivatives of outputs by inputs, and those of whole linear models, asked of the FMU column by column.

use cosimo_core::SimulatorError;
use cosimo_core::linear_model::{OperatingPoint, StateSpaceMatrices};

use crate::description::VariableType;
use crate::instance::Instance;
use crate::ports::{PortGroup, Ports};

/// One column of the Jacobian that is not zero.
#[derive(Debug)]
pub(crate) struct Column {
    input: usize,
    by: u32,
    of: Vec<u32>,
    rows: Vec<usize>,
    values: Vec<f64>,
}

impl Column {
    /// Writes the column into a matrix of so many columns.
    pub(crate) fn fill(
        &mut self,
        instance: &mut impl Instance,
        into: &mut [f64],
        width: usize,
    ) -> Result<(), SimulatorError> {
        instance.derivatives(&self.of, self.by, &mut self.values)?;
        for (row, value) in self.rows.iter().zip(&self.values) {
            into[row * width + self.input] = *value;
        }
        Ok(())
    }
}

/// All columns of a linear model.
#[derive(Debug, Clone)]
pub(crate) struct Tangents {
    /// Value references of states, then of inputs.
    by: Vec<u32>,
    /// Those of derivatives, then of outputs.
    of: Vec<u32>,
    states: usize,
    values: Vec<f64>,
}

impl Tangents {
    /// `None` where some port is not a plain double.
    pub(crate) fn new((states, derivatives): &(Vec<u32>, Vec<u32>), ports: &Ports) -> Option<Tangents> {
        if !plain(&ports.inputs) || !plain(&ports.outputs) {
            return None;
        }
        let references =
            |groups: &[PortGroup]| groups.first().map_or(Vec::new(), |one| one.references.clone());
        let by = [states.clone(), references(&ports.inputs)].concat();
        let of = [derivatives.clone(), references(&ports.outputs)].concat();
        let values = vec![0.0; of.len()];
        Some(Tangents { by, of, states: states.len(), values })
    }

    /// Everything as the FMU shows it, with the inputs that it saw last.
    pub(crate) fn read_operating_point(
        &self,
        instance: &mut impl Instance,
        into: &mut OperatingPoint<'_>,
    ) -> Result<(), SimulatorError> {
        let ((x, u), (f, g)) = (self.by.split_at(self.states), self.of.split_at(self.states));
        for (references, values) in [(x, &mut *into.x), (u, into.u), (f, into.f), (g, into.g)] {
            if !references.is_empty() {
                instance.get(VariableType::Float64, references, values)?;
            }
        }
        Ok(())
    }

    pub(crate) fn fill(
        &mut self,
        instance: &mut impl Instance,
        into: &mut StateSpaceMatrices<'_>,
    ) -> Result<(), SimulatorError> {
        for (column, by) in self.by.iter().enumerate() {
            instance.derivatives(&self.of, *by, &mut self.values)?;
            let (f, g) = self.values.split_at(self.states);
            into.set_column(column, f.iter().copied(), g.iter().copied());
        }
        Ok(())
    }
}

/// All of them doubles, and one for each port, in the order of the ports.
fn plain(groups: &[PortGroup]) -> bool {
    let straight = |group: &PortGroup| group.ports.iter().enumerate().all(|(place, port)| place == *port);
    let doubles = |group: &PortGroup| {
        group.kind == VariableType::Float64 && !group.discrete && group.references.len() == group.ports.len()
    };
    groups.len() <= 1 && groups.iter().all(|group| doubles(group) && straight(group))
}

/// `None` where some port is not a plain double, because then a seed has no place.
pub(crate) fn columns(ports: &Ports) -> Option<Vec<Column>> {
    let plain = |groups: &[PortGroup]| {
        groups
            .iter()
            .all(|group| group.kind == VariableType::Float64 && group.references.len() == group.ports.len())
    };
    if !plain(&ports.inputs) || !plain(&ports.outputs) {
        return None;
    }
    let reference = |groups: &[PortGroup], port: usize| groups.first()?.references.get(port).copied();
    let mut hearers = vec![Vec::new(); ports.interface.inputs.len()];
    for (output, input) in &ports.interface.feedthrough {
        hearers[*input].push(*output);
    }
    let mut columns = Vec::new();
    for (input, rows) in hearers.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
        let of = rows.iter().map(|row| reference(&ports.outputs, *row)).collect::<Option<Vec<_>>>()?;
        let values = vec![0.0; rows.len()];
        columns.push(Column { input, by: reference(&ports.inputs, input)?, of, rows, values });
    }
    Some(columns)
}
