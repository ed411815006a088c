//! Linear models of simulators, x' = f + A (x - x0) + B (u - u0) and y = g + C (x - x0) + D (u - u0), as numbers in
//! two flat buffers: what changes with every window, and the matrices, which may be older.

use std::ops::Range;

/// Where the model of one simulator lies in the buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPlace {
    /// How many states it has.
    pub states: usize,
    /// How many inputs it has.
    pub inputs: usize,
    /// How many outputs it has.
    pub outputs: usize,
    /// Its first state among those of all simulators with models.
    pub first_state: usize,
    /// x0, u0, f and g.
    pub present: Range<usize>,
    /// A, B, C and D, row by row.
    pub matrices: Range<usize>,
}

impl ModelPlace {
    /// The place behind models that use so many states and so much of the two buffers.
    pub fn following(
        (first_state, present, matrices): (usize, usize, usize),
        (states, inputs, outputs): (usize, usize, usize),
    ) -> ModelPlace {
        let width = states + inputs;
        let height = states + outputs;
        ModelPlace {
            states,
            inputs,
            outputs,
            first_state,
            present: present..present + width + height,
            matrices: matrices..matrices + width * height,
        }
    }
}

/// The point around which a model holds, with the derivatives and outputs there.
#[derive(Debug)]
pub struct OperatingPoint<'a> {
    /// The states.
    pub x: &'a mut [f64],
    /// The inputs; filled by the caller.
    pub u: &'a mut [f64],
    /// Derivatives of the states.
    pub f: &'a mut [f64],
    /// The outputs.
    pub g: &'a mut [f64],
}

impl<'a> OperatingPoint<'a> {
    /// Cuts the buffer of one simulator into its parts.
    pub fn of(states: usize, inputs: usize, buffer: &'a mut [f64]) -> OperatingPoint<'a> {
        let (x, rest) = buffer.split_at_mut(states);
        let (u, rest) = rest.split_at_mut(inputs);
        let (f, g) = rest.split_at_mut(states);
        OperatingPoint { x, u, f, g }
    }
}

/// Derivatives of f and g, row by row.
#[derive(Debug)]
pub struct StateSpaceMatrices<'a> {
    /// df/dx.
    pub a: &'a mut [f64],
    /// df/du.
    pub b: &'a mut [f64],
    /// dg/dx.
    pub c: &'a mut [f64],
    /// dg/du.
    pub d: &'a mut [f64],
    states: usize,
    inputs: usize,
}

impl<'a> StateSpaceMatrices<'a> {
    /// Cuts the buffer of one simulator into its matrices.
    pub fn of(states: usize, inputs: usize, outputs: usize, buffer: &'a mut [f64]) -> StateSpaceMatrices<'a> {
        let (a, rest) = buffer.split_at_mut(states * states);
        let (b, rest) = rest.split_at_mut(states * inputs);
        let (c, d) = rest.split_at_mut(outputs * states);
        StateSpaceMatrices { a, b, c, d, states, inputs }
    }

    /// Writes the derivatives of f and g by one state, or by one input; columns of inputs follow those of states.
    pub fn set_column(&mut self, column: usize, f: impl Iterator<Item = f64>, g: impl Iterator<Item = f64>) {
        let (of_f, of_g, at, width) = if column < self.states {
            (&mut *self.a, &mut *self.c, column, self.states)
        } else {
            (&mut *self.b, &mut *self.d, column - self.states, self.inputs)
        };
        for (row, value) in f.enumerate() {
            of_f[row * width + at] = value;
        }
        for (row, value) in g.enumerate() {
            of_g[row * width + at] = value;
        }
    }
}

/// The linear models of all simulators that have one.
#[derive(Debug, Clone, Copy)]
pub struct LinearModels<'a> {
    /// x0, u0, f and g of all models.
    pub present: &'a [f64],
    /// A, B, C and D of all models.
    pub matrices: &'a [f64],
    /// Per simulator.
    pub places: &'a [Option<ModelPlace>],
}

/// The linear model of one simulator.
#[derive(Debug, Clone, Copy)]
pub struct LinearModel<'a> {
    /// Its first state among those of all.
    pub first_state: usize,
    /// States at the operating point.
    pub x: &'a [f64],
    /// Inputs there.
    pub u: &'a [f64],
    /// Derivatives of the states there.
    pub f: &'a [f64],
    /// Outputs there.
    pub g: &'a [f64],
    /// df/dx.
    pub a: &'a [f64],
    /// df/du.
    pub b: &'a [f64],
    /// dg/dx.
    pub c: &'a [f64],
    /// dg/du.
    pub d: &'a [f64],
}

impl<'a> LinearModels<'a> {
    /// The model of a simulator, if it has one.
    pub fn of(&self, simulator: usize) -> Option<LinearModel<'a>> {
        let place = self.places.get(simulator)?.as_ref()?;
        let (x, rest) = self.present[place.present.clone()].split_at(place.states);
        let (u, rest) = rest.split_at(place.inputs);
        let (f, g) = rest.split_at(place.states);
        let (a, rest) = self.matrices[place.matrices.clone()].split_at(place.states * place.states);
        let (b, rest) = rest.split_at(place.states * place.inputs);
        let (c, d) = rest.split_at(place.outputs * place.states);
        Some(LinearModel { first_state: place.first_state, x, u, f, g, a, b, c, d })
    }
}
