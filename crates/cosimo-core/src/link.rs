//! Connections of ports: the coupling matrix, and the power bonds in it.

use std::ops::{Add, Range};

use crate::segment::Segment;

/// One summand of an input: `gain` times an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// Index among all outputs of the system.
    pub output: usize,
    /// Factor, with the conversion of units.
    pub gain: f64,
}

/// The coupling matrix L of u = L y + c, row by row. The constant of an input that is not connected is its value; of the
/// others, the offset of connections and of unit conversions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Couplings {
    terms: Vec<Term>,
    starts: Vec<usize>,
    /// How many of the inputs before each one have exactly one term.
    single: Vec<usize>,
    constants: Vec<f64>,
}

impl Couplings {
    /// One row of terms and one constant per input.
    pub fn new(rows: &[Vec<Term>], constants: Vec<f64>) -> Couplings {
        let (mut starts, mut single) = (vec![0], vec![0]);
        for (input, row) in rows.iter().enumerate() {
            starts.push(starts[input] + row.len());
            single.push(single[input] + usize::from(row.len() == 1));
        }
        Couplings { terms: rows.concat(), starts, single, constants }
    }

    /// How many inputs the system has.
    pub fn inputs(&self) -> usize {
        self.constants.len()
    }

    /// The summands of an input; empty where it is not connected.
    #[inline]
    pub fn terms(&self, input: usize) -> &[Term] {
        &self.terms[self.starts[input]..self.starts[input + 1]]
    }

    /// The constant of an input; 0 where it is a sum of outputs only.
    #[inline]
    pub fn constant(&self, input: usize) -> f64 {
        self.constants[input]
    }

    /// Sets neighbouring inputs: each is its constant plus the values of its terms, in order.
    #[inline]
    pub fn set_rows<T: Add<Output = T>>(
        &self,
        inputs: Range<usize>,
        into: &mut [Segment],
        constant: impl Fn(f64) -> T,
        value: impl Fn(&Term) -> T,
        segment: impl Fn(T) -> Segment,
    ) {
        let into = &mut into[inputs.clone()];
        if self.single[inputs.end] - self.single[inputs.start] == inputs.len() {
            // Single connections, the usual case: without the lookup of rows, twice as fast.
            let terms = &self.terms[self.starts[inputs.start]..self.starts[inputs.end]];
            for ((into, term), start) in into.iter_mut().zip(terms).zip(&self.constants[inputs]) {
                *into = segment(constant(*start) + value(term));
            }
        } else {
            for (into, input) in into.iter_mut().zip(inputs) {
                let start = constant(self.constants[input]);
                *into = segment(self.terms(input).iter().fold(start, |sum, term| sum + value(term)));
            }
        }
    }

    /// The input for given outputs: one row of L y + c.
    #[inline]
    pub fn value(&self, input: usize, outputs: &[f64]) -> f64 {
        let mut sum = self.constants[input];
        for term in self.terms(input) {
            sum += term.gain * outputs[term.output];
        }
        sum
    }

    /// Makes the row of an input `factor` times that of other couplings of the same shape, plus `offset`.
    pub fn set_row(&mut self, input: usize, from: &Couplings, factor: f64, offset: f64) {
        let range = self.starts[input]..self.starts[input + 1];
        for (term, untouched) in self.terms[range.clone()].iter_mut().zip(&from.terms[range]) {
            term.gain = factor * untouched.gain;
        }
        self.constants[input] = factor * from.constants[input] + offset;
    }
}

/// The inputs and outputs of one simulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRanges {
    /// Indices among all inputs of the system.
    pub inputs: Range<usize>,
    /// Indices among all outputs of the system.
    pub outputs: Range<usize>,
}

/// One variable of a power port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerVariable {
    /// By its index among all inputs.
    Input(usize),
    /// By its index among all outputs.
    Output(usize),
}

/// One simulator's side of a bond: `sign` times effort times flow is the power that enters it, in watts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BondSide {
    /// Such as a force or a voltage.
    pub effort: PowerVariable,
    /// Such as a velocity or a current.
    pub flow: PowerVariable,
    /// +1 or -1 times the factor from the product of the two units to watts.
    pub sign: f64,
}

/// A power bond, or a junction of several with one common effort or flow. Energy is conserved where the powers that
/// enter all sides sum to zero. Transmitted power is counted from the first side.
#[derive(Debug, Clone, PartialEq)]
pub struct Bond {
    /// As the system calls it.
    pub name: String,
    /// Two, or more at a junction.
    pub sides: Vec<BondSide>,
    /// r of ECCO Eq. (14); `None` leaves it to the estimate.
    pub tolerance: Option<f64>,
    /// E0 of ECCO Eq. (14) in joules; `None` leaves it to the estimate.
    pub energy_scale: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_set_together_equal_rows_that_are_summed_alone() {
        let outputs = [0.1, -2.0, 3.0];
        let term = |output, gain| Term { output, gain };
        let rows = [
            vec![term(0, 1.0)],
            vec![term(2, -0.7)],
            vec![],
            vec![term(1, 0.3), term(0, 1.0 / 3.0), term(2, -1.0)],
            vec![term(1, 1.0)],
        ];
        let couplings = Couplings::new(&rows, vec![0.0, 0.0, -0.0, 0.0, 0.0]);
        let value = |term: &Term| outputs[term.output] * term.gain;
        for (first, end) in [(0, 2), (0, 5), (1, 4), (4, 5), (2, 2)] {
            let mut segments = [Segment::constant(f64::NAN); 5];
            couplings.set_rows(first..end, &mut segments, |constant| constant, value, Segment::constant);
            for input in 0..5 {
                let is = segments[input].0[0];
                if (first..end).contains(&input) {
                    assert_eq!(is.to_bits(), couplings.value(input, &outputs).to_bits());
                } else {
                    assert!(is.is_nan());
                }
            }
        }
    }
}
