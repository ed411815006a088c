//! Least squares, one window at a time: the outputs of one simulator as a linear function of its outputs and inputs
//! of the windows before, of all orders up to the highest at once.
//!
//! With y(k) at the end of window k and v(k) the mean input over it, the model of order n is
//!
//!   y(k) - y(k-1) = c + sum over j < n of a_j D^j y(k-1) + sum over j <= n of b_j D^j v(k),   D x(k) = x(k) - x(k-1).
//!
//! Differences instead of delayed values, because successive values of a slow simulator are nearly equal (Middleton &
//! Goodwin 1986, the delta operator). The memory is the triangular factor R of all weighted rows, with the outputs to
//! their right, updated by rotations: its condition is that of the data and not the square of it, as that of a covariance
//! would be (Golub & Van Loan, Matrix Computations, 4th ed., 6.5.3). Columns are in the order in which orders need them,
//! so that the upper left corner of R is the factor of every lower order, and the rows below it are its residual.

use cosimo_core::math;

/// A diagonal entry below this fraction of its column is rounding: the column is linearly dependent and left out.
const NOTHING_NEW: f64 = 1e-12;

/// The size of one simulator's least squares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arx {
    pub inputs: usize,
    pub outputs: usize,
    /// The highest order.
    pub order: usize,
}

impl Arx {
    /// Columns that an order needs.
    pub(crate) fn width(&self, order: usize) -> usize {
        1 + self.inputs + order * (self.inputs + self.outputs)
    }

    /// Size of the memory: R with the outputs to its right, the residual of the highest order, and the count of rows.
    pub(crate) fn memory(&self) -> usize {
        let width = self.width(self.order);
        width * (width + self.outputs) + self.outputs + 1
    }

    /// Column of D^level y(k-1), for the first output.
    pub(crate) fn of_output(&self, level: usize) -> usize {
        1 + self.inputs + level * (self.inputs + self.outputs)
    }

    /// Column of D^level v(k), for the first input.
    pub(crate) fn of_input(&self, level: usize) -> usize {
        if level == 0 { 1 } else { self.of_output(level - 1) + self.outputs }
    }

    /// How many rows there were.
    pub(crate) fn rows(&self, memory: &[f64]) -> f64 {
        memory[self.memory() - 1]
    }

    /// One row of regressors and outputs, from samples that are counted backwards: `y(0)` belongs to the newest window,
    /// and `order` + 1 samples of `y` and of `v` are read.
    pub(crate) fn row<'a>(
        &self,
        y: impl Fn(usize) -> &'a [f64],
        v: impl Fn(usize) -> &'a [f64],
        row: &mut [f64],
    ) {
        row[0] = 1.0;
        for level in 0..=self.order {
            for input in 0..self.inputs {
                row[self.of_input(level) + input] = difference(level, |back| v(back)[input]);
            }
        }
        for level in 0..self.order {
            for output in 0..self.outputs {
                row[self.of_output(level) + output] = difference(level, |back| y(back + 1)[output]);
            }
        }
        let width = self.width(self.order);
        for output in 0..self.outputs {
            row[width + output] = y(0)[output] - y(1)[output];
        }
    }

    /// How new a row of regressors is: its square relative to all earlier rows in its direction, for the columns of an
    /// order; infinite where there was none.
    pub(crate) fn novelty(&self, order: usize, memory: &[f64], row: &[f64], work: &mut [f64]) -> f64 {
        let work = &mut work[..self.width(order)];
        work.copy_from_slice(&row[..work.len()]);
        let known = (0..work.len()).all(|column| {
            !self.silent(memory, column) || row[column].abs() <= NOTHING_NEW * self.column(memory, column)
        });
        if known { self.forward(order, memory, work) } else { f64::INFINITY }
    }

    /// Solves R' z = s in place, without dependent columns; the square of z.
    fn forward(&self, order: usize, memory: &[f64], s: &mut [f64]) -> f64 {
        let (width, stride) = (self.width(order), self.width(self.order) + self.outputs);
        let mut sum = 0.0;
        for i in 0..width {
            if self.silent(memory, i) {
                s[i] = 0.0;
                continue;
            }
            s[i] /= memory[i * stride + i];
            sum += s[i] * s[i];
            for j in i + 1..width {
                s[j] -= memory[i * stride + j] * s[i];
            }
        }
        sum
    }

    /// The root mean square of a column.
    pub(crate) fn usual(&self, memory: &[f64], column: usize) -> f64 {
        self.column(memory, column) / self.rows(memory).max(1.0).sqrt()
    }

    /// The norm of a column.
    fn column(&self, memory: &[f64], column: usize) -> f64 {
        let stride = self.width(self.order) + self.outputs;
        (0..=column).map(|i| memory[i * stride + column] * memory[i * stride + column]).sum::<f64>().sqrt()
    }

    fn silent(&self, memory: &[f64], column: usize) -> bool {
        let stride = self.width(self.order) + self.outputs;
        memory[column * stride + column].abs() <= NOTHING_NEW * self.column(memory, column)
    }

    /// Adds a row by rotations, after all others were weighted by `keep`; the row is used up.
    pub(crate) fn add(&self, memory: &mut [f64], keep: f64, row: &mut [f64]) {
        let width = self.width(self.order);
        let stride = width + self.outputs;
        let (r, rest) = memory.split_at_mut(width * stride);
        let root = keep.sqrt();
        if root != 1.0 {
            r.iter_mut().for_each(|entry| *entry *= root);
        }
        for i in 0..width {
            let (a, b) = (r[i * stride + i], row[i]);
            if b == 0.0 {
                continue;
            }
            let length = math::hypot(a, b);
            let (cosine, sine) = (a / length, b / length);
            r[i * stride + i] = length;
            for j in i + 1..stride {
                let (above, below) = (r[i * stride + j], row[j]);
                r[i * stride + j] = cosine * above + sine * below;
                row[j] = cosine * below - sine * above;
            }
        }
        for output in 0..self.outputs {
            rest[output] = keep * rest[output] + row[width + output] * row[width + output];
        }
        rest[self.outputs] = keep * rest[self.outputs] + 1.0;
    }

    /// The coefficients of an order, one row per column of it and one column per output.
    pub(crate) fn solve(&self, order: usize, memory: &[f64], theta: &mut [f64]) {
        let (width, stride) = (self.width(order), self.width(self.order) + self.outputs);
        let right = self.width(self.order);
        for i in (0..width).rev() {
            let silent = self.silent(memory, i);
            for output in 0..self.outputs {
                let mut sum = memory[i * stride + right + output];
                for j in i + 1..width {
                    sum -= memory[i * stride + j] * theta[j * self.outputs + output];
                }
                theta[i * self.outputs + output] = if silent { 0.0 } else { sum / memory[i * stride + i] };
            }
        }
    }

    /// The mean square residual of an output for an order, per degree of freedom.
    pub(crate) fn residual(&self, order: usize, memory: &[f64], output: usize) -> f64 {
        let (width, most) = (self.width(order), self.width(self.order));
        let stride = most + self.outputs;
        let below: f64 = (width..most).map(|i| math::powi(memory[i * stride + most + output], 2)).sum();
        let spare = self.rows(memory) - width as f64;
        if spare <= 0.0 { f64::INFINITY } else { (below + memory[most * stride + output]) / spare }
    }

    /// The mean square of the changes of an output.
    pub(crate) fn change(&self, memory: &[f64], output: usize) -> f64 {
        let most = self.width(self.order);
        let stride = most + self.outputs;
        let all: f64 = (0..most).map(|i| math::powi(memory[i * stride + most + output], 2)).sum();
        (all + memory[most * stride + output]) / self.rows(memory).max(1.0)
    }

    /// The standard deviation of the response of outputs to an input within the window, relative to the residual of the
    /// order; infinite where the input never moved. The input is in all its differences.
    pub(crate) fn doubt(&self, order: usize, memory: &[f64], input: usize, work: &mut [f64]) -> f64 {
        if self.silent(memory, self.of_input(0) + input) {
            return f64::INFINITY;
        }
        let work = &mut work[..self.width(order)];
        work.fill(0.0);
        for level in 0..=order {
            work[self.of_input(level) + input] = 1.0;
        }
        self.forward(order, memory, work).sqrt()
    }
}

/// The backward difference of a level, of samples that are counted backwards.
fn difference(level: usize, sample: impl Fn(usize) -> f64) -> f64 {
    let mut values = [0.0; 16];
    let values = &mut values[..=level.min(15)];
    for (back, value) in values.iter_mut().enumerate() {
        *value = sample(back);
    }
    for round in 0..level {
        for at in 0..level - round {
            values[at] -= values[at + 1];
        }
    }
    values[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    type Samples = Vec<[f64; 1]>;

    /// Rows of y(k) = 0.8 y(k-1) - 0.1 y(k-2) + v(k) + 0.5 v(k-1) + 2, of order two, into least squares of order three.
    fn filled(rows: usize) -> (Arx, Vec<f64>, Samples, Samples) {
        let arx = Arx { inputs: 1, outputs: 1, order: 3 };
        let mut memory = vec![0.0; arx.memory()];
        let (mut y, mut v) = (vec![[0.0], [0.0]], vec![[0.0], [0.0]]);
        for k in 0..rows + 3 {
            v.insert(0, [math::sin((k * k + k) as f64)]);
            y.insert(0, [0.8 * y[0][0] - 0.1 * y[1][0] + v[0][0] + 0.5 * v[1][0] + 2.0]);
            if k >= 3 {
                let mut row = vec![0.0; arx.width(3) + 1];
                arx.row(|back| &y[back], |back| &v[back], &mut row);
                arx.add(&mut memory, 1.0, &mut row);
            }
        }
        (arx, memory, y, v)
    }

    #[test]
    fn the_corner_of_a_factor_is_the_factor_of_a_lower_order() {
        let (arx, memory, ..) = filled(30);
        assert_eq!(arx.rows(&memory), 30.0);
        assert!(arx.residual(1, &memory, 0) > 1e-3 && arx.residual(2, &memory, 0) < 1e-25);
        let mut theta = vec![0.0; arx.width(2)];
        arx.solve(2, &memory, &mut theta);
        // By differences: 0.8 y(k-1) - 0.1 y(k-2) - y(k-1) = -0.3 y(k-1) + 0.1 D y(k-1), and 1.5 v(k) - 0.5 D v(k).
        for (column, expected) in [
            (0, 2.0),
            (arx.of_output(0), -0.3),
            (arx.of_output(1), 0.1),
            (arx.of_input(0), 1.5),
            (arx.of_input(1), -0.5),
            (arx.of_input(2), 0.0),
        ] {
            assert!((theta[column] - expected).abs() < 1e-12, "{column}: {}", theta[column]);
        }
    }

    #[test]
    fn a_row_is_new_in_the_beginning_and_not_when_it_comes_again() {
        let (arx, memory, y, v) = filled(30);
        let (mut row, mut work) = (vec![0.0; arx.width(3) + 1], vec![0.0; arx.width(3)]);
        arx.row(|back| &y[back], |back| &v[back], &mut row);
        assert!(arx.novelty(2, &memory, &row, &mut work) < 1.0);
        assert_eq!(arx.novelty(2, &vec![0.0; arx.memory()], &row, &mut work), f64::INFINITY);
        assert!(arx.doubt(2, &memory, 0, &mut work).is_finite());
        assert_eq!(arx.doubt(2, &vec![0.0; arx.memory()], 0, &mut work), f64::INFINITY);
    }

    #[test]
    fn old_rows_count_less() {
        let (arx, mut memory, ..) = filled(30);
        arx.add(&mut memory, 0.5, &mut vec![0.0; arx.width(3) + 1]);
        assert_eq!(arx.rows(&memory), 16.0);
        let (_, whole, ..) = filled(30);
        assert!((arx.usual(&memory, 1) * 4.0 - arx.usual(&whole, 1) * 15f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_is_left_over_belongs_to_its_own_output() {
        let arx = Arx { inputs: 1, outputs: 2, order: 1 };
        let (width, mut memory) = (arx.width(1), vec![0.0; arx.memory()]);
        for k in 0..40 {
            // Regressors that have nothing to do with the outputs, of which the second is thrice the first.
            let mut row: Vec<f64> = (0..width).map(|j| math::sin((7 * k + 3 * j * j + 1) as f64)).collect();
            let noise = math::cos((k * k) as f64);
            row.extend([noise, 3.0 * noise]);
            arx.add(&mut memory, 1.0, &mut row);
        }
        let [one, other] = [0, 1].map(|output| arx.residual(1, &memory, output));
        assert!(one > 0.1 && (other - 9.0 * one).abs() < 1e-12 * other, "{one} {other}");
        let [one, other] = [0, 1].map(|output| arx.change(&memory, output));
        assert!(one > 0.1 && (other - 9.0 * one).abs() < 1e-12 * other, "{one} {other}");
    }
}
