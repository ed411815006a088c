//! How ports hang together: the coupling matrix, and power bonds as facts about it.

use std::ops::Range;

/// One summand of an input: `gain` times an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    pub output: usize,
    pub gain: f64,
}

/// The coupling matrix L of u = L y, row by row, with a constant for inputs that nobody drives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Couplings {
    terms: Vec<Term>,
    starts: Vec<usize>,
    constants: Vec<f64>,
}

impl Couplings {
    /// One row of terms and one constant per input.
    pub fn new(rows: &[Vec<Term>], constants: Vec<f64>) -> Couplings {
        let mut starts = vec![0];
        for row in rows {
            starts.push(starts[starts.len() - 1] + row.len());
        }
        Couplings { terms: rows.concat(), starts, constants }
    }

    pub fn inputs(&self) -> usize {
        self.constants.len()
    }

    #[inline]
    pub fn terms(&self, input: usize) -> &[Term] {
        &self.terms[self.starts[input]..self.starts[input + 1]]
    }

    /// The constant of an input; 0 where outputs drive it.
    #[inline]
    pub fn constant(&self, input: usize) -> f64 {
        self.constants[input]
    }

    /// What the input should be, given the outputs: one row of L y.
    #[inline]
    pub fn value(&self, input: usize, outputs: &[f64]) -> f64 {
        let mut sum = self.constants[input];
        for term in self.terms(input) {
            sum += term.gain * outputs[term.output];
        }
        sum
    }

    pub fn set_constant(&mut self, input: usize, value: f64) {
        self.constants[input] = value;
    }
}

/// The inputs and outputs of one simulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub inputs: Range<usize>,
    pub outputs: Range<usize>,
}

/// One variable of a power port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Input(usize),
    Output(usize),
}

/// How one simulator sees a bond: `sign` effort flow is the power that enters it, in watts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Side {
    pub effort: End,
    pub flow: End,
    /// +1 or -1 times the factor from the product of the two units to watts.
    pub sign: f64,
}

/// A power bond, or a junction of several with one common effort or flow. Energy is conserved where the powers that
/// enter all sides sum to zero. The first side is the one that power is counted *from*.
#[derive(Debug, Clone, PartialEq)]
pub struct Bond {
    pub name: String,
    pub sides: Vec<Side>,
    /// r of ECCO Eq. (14); `None` leaves it to the estimate.
    pub tolerance: Option<f64>,
    /// E0 of ECCO Eq. (14) in joules; `None` leaves it to the estimate.
    pub energy_scale: Option<f64>,
}
