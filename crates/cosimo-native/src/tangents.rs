//! Derivatives of equations, column by column: along one state or input at a time.

use std::ops::Range;

use cosimo_core::Interface;
use cosimo_core::linear_model::StateSpaceMatrices;

use crate::model::Tangent;

/// Workspace: a direction of states and inputs, and the change of derivatives and outputs along it.
#[derive(Debug)]
pub(crate) struct Tangents {
    along: Vec<f64>,
    change: Vec<f64>,
    states: usize,
}

impl Tangents {
    pub(crate) fn new(states: usize, interface: &Interface) -> Tangents {
        let (along, change) = (states + interface.inputs.len(), states + interface.outputs.len());
        Tangents { along: vec![0.0; along], change: vec![0.0; change], states }
    }

    /// Workspace for derivatives.
    pub(crate) fn derivatives(&mut self) -> &mut [f64] {
        &mut self.change[..self.states]
    }

    fn columns(
        &mut self,
        columns: Range<usize>,
        tangent: impl Fn(&Tangent<'_>, &mut [f64], &mut [f64]),
        mut each: impl FnMut(usize, &[f64], &[f64]),
    ) {
        let (dx, y) = self.change.split_at_mut(self.states);
        for column in columns {
            self.along.fill(0.0);
            self.along[column] = 1.0;
            let (along_x, along_u) = self.along.split_at(self.states);
            tangent(&Tangent { x: along_x, u: along_u }, dx, y);
            each(column, dx, y);
        }
    }

    /// Derivatives of outputs by inputs, row by row.
    pub(crate) fn jacobian(
        &mut self,
        into: &mut [f64],
        tangent: impl Fn(&Tangent<'_>, &mut [f64], &mut [f64]),
    ) {
        let (states, all) = (self.states, self.along.len());
        self.columns(states..all, tangent, |column, _, y| {
            for (row, y) in y.iter().enumerate() {
                into[row * (all - states) + column - states] = *y;
            }
        });
    }

    /// Derivatives of derivatives and outputs by states and inputs.
    pub(crate) fn matrices(
        &mut self,
        into: &mut StateSpaceMatrices<'_>,
        tangent: impl Fn(&Tangent<'_>, &mut [f64], &mut [f64]),
    ) {
        self.columns(0..self.along.len(), tangent, |column, dx, y| {
            into.set_column(column, dx.iter().copied(), y.iter().copied());
        });
    }
}
