//! Derivatives of outputs by inputs, asked of the unit column by column.

use cosimo_core::SimulatorError;

use crate::description::Kind;
use crate::instance::Instance;
use crate::ports::{Group, Ports};

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

/// `None` where some port is not a plain double, because then a seed has no place.
pub(crate) fn columns(ports: &Ports) -> Option<Vec<Column>> {
    let plain = |groups: &[Group]| {
        groups.iter().all(|group| group.kind == Kind::Float64 && group.references.len() == group.ports.len())
    };
    if !plain(&ports.inputs) || !plain(&ports.outputs) {
        return None;
    }
    let reference = |groups: &[Group], port: usize| groups.first()?.references.get(port).copied();
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
