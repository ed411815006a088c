//! Nearly energy-preserving coupling: pay back, one step late, the integral that extrapolation got wrong.
//! It looks at no bond and works on any input.
//!
//! Source: Sadjina & Pedersen 2019 (NEPCE), Eq. (11), and Eq. (12) with direct feed-through. With
//! feed-through the outputs themselves were computed from wrong inputs; the error of the inputs is then
//! (1 - L J)^-1 times what the outputs show. Without an algebraic loop L J is nilpotent, and the inverse is
//! the finite sum over the depth of the feed-through graph; with one it is computed.

use cosimo_core::dense::{add_product, invert};
use cosimo_core::entry::{Entry, Options, Range, Spec};
use cosimo_core::interface::Needs;
use cosimo_core::method::{Correction, Known, Quadrature, Record, Shape};
use cosimo_core::{Segment, Window};

/// Which books are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// What was not repaid stays owed and is divided by the upcoming step: under a changing step the
    /// memoryless form leaves a lasting error.
    Account,
    /// As the tables of the paper need it: the newest error only, times the ratio of the two completed steps.
    Paper,
}

#[derive(Debug, Clone, Copy)]
pub struct Nepce {
    pub gain: f64,
    pub form: Form,
    pub quadrature: Quadrature,
    /// Where J comes from; `None` leaves feed-through out.
    pub feedthrough: Option<&'static str>,
}

/// Memory: `error` of the last window (an integral under the account, a value under the paper form), then
/// either the debt of all windows before it, or the last size and the ratio of the last two.
impl Nepce {
    fn errors<'a>(&self, known: &Known<'_>, memory: &'a [f64], scratch: &'a mut [f64]) -> &'a [f64] {
        let inputs = known.shape.inputs;
        let error = &memory[..inputs];
        if self.feedthrough.is_none() {
            return error;
        }
        let (now, rest) = scratch.split_at_mut(inputs);
        let (next, matrices) = rest.split_at_mut(inputs);
        now.copy_from_slice(error);
        if known.shape.looped {
            let (matrix, inverse) = matrices.split_at_mut(inputs * inputs);
            for column in 0..inputs {
                next.fill(0.0);
                next[column] = 1.0;
                for row in 0..inputs {
                    matrix[row * inputs + column] = next[row] - through(known, row, next);
                }
            }
            // A loop without a solution says nothing about errors either.
            if invert(inputs, matrix, inverse) {
                now.fill(0.0);
                add_product(inverse, error, now);
            }
            return now;
        }
        for _ in 0..known.shape.feedthrough_depth {
            for input in 0..inputs {
                next[input] = error[input] + through(known, input, now);
            }
            now.copy_from_slice(next);
        }
        now
    }
}

/// One row of L J e.
fn through(known: &Known<'_>, input: usize, error: &[f64]) -> f64 {
    let mut sum = 0.0;
    for term in known.couplings.terms(input) {
        let (first, row) = known.jacobian_row(term.output);
        for (j, derivative) in row.iter().enumerate() {
            sum += term.gain * derivative * error[first + j];
        }
    }
    sum
}

impl Correction for Nepce {
    fn memory(&self, shape: &Shape) -> usize {
        match self.form {
            Form::Account => 2 * shape.inputs,
            Form::Paper => shape.inputs + 2,
        }
    }

    fn start(&self, shape: &Shape, memory: &mut [f64]) {
        memory.fill(0.0);
        if self.form == Form::Paper {
            memory[shape.inputs + 1] = 1.0;
        }
    }

    fn jacobian(&self) -> Option<&'static str> {
        self.feedthrough
    }

    fn scratch(&self, shape: &Shape) -> usize {
        let matrices = if shape.looped && self.feedthrough.is_some() { 2 * shape.inputs.pow(2) } else { 0 };
        2 * shape.inputs + matrices
    }

    fn offsets(
        &self,
        known: &Known<'_>,
        memory: &[f64],
        window: Window,
        add: &mut [Segment],
        _whole: &mut [bool],
        scratch: &mut [f64],
    ) {
        let inputs = known.shape.inputs;
        let error = self.errors(known, memory, scratch);
        for input in (0..inputs).filter(|&input| known.corrected[input]) {
            let offset = match self.form {
                Form::Account => self.gain * (memory[inputs + input] + error[input]) / window.size,
                Form::Paper if known.own(input).is_some() => self.gain * error[input], // its steps are equal
                Form::Paper => self.gain * memory[inputs + 1] * error[input],
            };
            add[input] += Segment::constant(offset);
        }
    }

    fn learn(&self, known: &Known<'_>, record: &Record<'_>, memory: &mut [f64], scratch: &mut [f64]) {
        let inputs = known.shape.inputs;
        let size = record.window.size;
        match self.form {
            Form::Account => {
                // The last window's error joins the debt with the J of its own end, which is this window's start.
                let (error, debt) = memory.split_at_mut(inputs);
                for (debt, error) in debt.iter_mut().zip(self.errors(known, error, scratch)) {
                    *debt += error;
                }
            }
            Form::Paper => {
                let last = memory[inputs];
                memory[inputs + 1] = if last == 0.0 { 1.0 } else { last / size };
                memory[inputs] = size;
            }
        }
        for input in 0..inputs {
            // What was repaid is inside "applied". Inputs of others are written too, or their cells would
            // look like a state that never decays.
            memory[input] = if known.corrected[input] {
                let owed = record.true_integral(input, self.quadrature)
                    - record.applied_integral(input, self.quadrature);
                match (self.form, known.own(input)) {
                    (Form::Account, _) => owed,
                    (Form::Paper, None) => owed / size,
                    // A simulator with a longer step can be paid back only when it begins one: all that its last one
                    // lost, window by window. The account sums up anyway.
                    (Form::Paper, Some(own)) => {
                        let before = if own.begins { 0.0 } else { memory[input] };
                        before + owed / own.size
                    }
                }
            } else {
                0.0
            };
        }
    }
}

fn build(options: &Options) -> Box<dyn Correction> {
    let form = if options.text("form") == "paper" { Form::Paper } else { Form::Account };
    let quadrature = match (options.text("quadrature"), form) {
        ("end", _) | ("auto", Form::Paper) => Quadrature::End,
        ("trapezoid", _) => Quadrature::Trapezoid,
        _ => Quadrature::Best,
    };
    Box::new(Nepce { gain: options.number("gain"), form, quadrature, feedthrough: feedthrough(options) })
}

fn feedthrough(options: &Options) -> Option<&'static str> {
    match options.text("feedthrough") {
        "declared" => Some("declared"),
        "difference" => Some("difference"),
        _ => None,
    }
}

pub const ENTRY: Entry<dyn Correction> = Entry {
    name: "nepce",
    summary: "repay, one step late, the integral lost by extrapolation",
    source: "Sadjina & Pedersen 2019 (NEPCE), Eqs. (11) and (12)",
    order: "of the input, or one more",
    options: &[
        Spec::number(
            "gain",
            0.5,
            Range::Unit,
            "",
            "share of the debt that is repaid per step; near 1 oscillates",
        ),
        Spec::choice(
            "form",
            "account",
            &["account", "paper"],
            "account: carry what was not repaid, divide by the upcoming step; paper: newest error times the ratio of \
             the two completed steps",
        ),
        Spec::choice(
            "quadrature",
            "auto",
            &["auto", "end", "trapezoid", "best"],
            "how outputs are integrated over a step; auto is `end` for the paper form and `best` for the account",
        ),
        Spec::choice(
            "feedthrough",
            "off",
            &["off", "declared", "difference"],
            "source of the interface Jacobian for outputs that depend on inputs at once",
        ),
    ],
    needs: |options| match feedthrough(options) {
        Some("declared") => Needs { jacobian: true, ..Needs::NOTHING },
        Some(_) => Needs { rollback: true, ..Needs::NOTHING },
        None => Needs::NOTHING,
    },
    build,
};
