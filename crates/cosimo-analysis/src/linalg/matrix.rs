//! A matrix by columns, its products, and linear systems with it.

use std::ops::{Add, Index, IndexMut, Mul, Sub};

/// A dense matrix, column after column.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, values: vec![0.0; rows * columns] }
    }

    pub fn identity(size: usize) -> Matrix {
        Matrix::from_fn(size, size, |row, column| f64::from(row == column))
    }

    /// Every entry from its row and column.
    pub fn from_fn(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Matrix {
        let values = (0..columns).flat_map(|column| (0..rows).map(move |row| (row, column)));
        Matrix { rows, columns, values: values.map(|(row, column)| entry(row, column)).collect() }
    }

    pub fn nrows(&self) -> usize {
        self.rows
    }

    pub fn ncols(&self) -> usize {
        self.columns
    }

    pub fn column(&self, column: usize) -> &[f64] {
        &self.values[column * self.rows..][..self.rows]
    }

    pub fn column_mut(&mut self, column: usize) -> &mut [f64] {
        &mut self.values[column * self.rows..][..self.rows]
    }

    /// Two different columns at once, in this order.
    pub fn two_columns_mut(&mut self, one: usize, two: usize) -> (&mut [f64], &mut [f64]) {
        assert!(one < two && two < self.columns, "two columns in order, got {one} and {two}");
        let (before, from) = self.values.split_at_mut(two * self.rows);
        (&mut before[one * self.rows..][..self.rows], &mut from[..self.rows])
    }

    /// A copy of the block that begins at `row` and `column`.
    pub fn block(&self, row: usize, column: usize, rows: usize, columns: usize) -> Matrix {
        Matrix::from_fn(rows, columns, |r, c| self[(row + r, column + c)])
    }

    pub fn transposed(&self) -> Matrix {
        Matrix::from_fn(self.columns, self.rows, |row, column| self[(column, row)])
    }

    /// Every entry through a function.
    pub fn map(&self, change: impl Fn(f64) -> f64) -> Matrix {
        Matrix { values: self.values.iter().map(|&value| change(value)).collect(), ..*self }
    }

    pub fn is_finite(&self) -> bool {
        self.values.iter().all(|value| value.is_finite())
    }

    /// The largest modulus; NaN counts as infinite.
    pub fn largest(&self) -> f64 {
        self.values.iter().fold(
            0.0,
            |most: f64, value| {
                if value.is_nan() { f64::INFINITY } else { most.max(value.abs()) }
            },
        )
    }

    /// The X of (this) X = `right`, by elimination with partial pivoting. Entries are not finite where the matrix is
    /// singular.
    pub fn solve(&self, right: &Matrix) -> Matrix {
        let n = self.rows;
        assert!(n == self.columns && n == right.rows, "a square system with as many rows on the right");
        let (mut left, mut solution) = (self.clone(), right.clone());
        for pivot in 0..n {
            let size = |row: &usize| left[(*row, pivot)].abs();
            let largest = (pivot..n).max_by(|one, two| size(one).total_cmp(&size(two))).unwrap_or(pivot);
            left.swap_rows(pivot, largest);
            solution.swap_rows(pivot, largest);
            for row in pivot + 1..n {
                let factor = left[(row, pivot)] / left[(pivot, pivot)];
                if factor == 0.0 {
                    continue;
                }
                for column in pivot + 1..n {
                    left[(row, column)] -= factor * left[(pivot, column)];
                }
                for column in 0..solution.columns {
                    solution[(row, column)] -= factor * solution[(pivot, column)];
                }
            }
        }
        for column in 0..solution.columns {
            for row in (0..n).rev() {
                let known: f64 = (row + 1..n).map(|k| left[(row, k)] * solution[(k, column)]).sum();
                solution[(row, column)] = (solution[(row, column)] - known) / left[(row, row)];
            }
        }
        solution
    }

    fn swap_rows(&mut self, one: usize, two: usize) {
        if one != two {
            for column in 0..self.columns {
                self.column_mut(column).swap(one, two);
            }
        }
    }
}

/// The product of two columns, in four sums: in one, each addition would wait for the last.
pub(super) fn dot(one: &[f64], two: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (quads, pairs) = (one.chunks_exact(4), two.chunks_exact(4));
    let rest: f64 = quads.remainder().iter().zip(pairs.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in quads.zip(pairs) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// `column += factor * other`.
pub(super) fn add_multiple(column: &mut [f64], factor: f64, other: &[f64]) {
    for (value, other) in column.iter_mut().zip(other) {
        *value += factor * other;
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.column(column)[row]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut f64 {
        &mut self.column_mut(column)[row]
    }
}

impl Mul for &Matrix {
    type Output = Matrix;

    fn mul(self, right: &Matrix) -> Matrix {
        assert_eq!(self.columns, right.rows, "columns on the left, rows on the right");
        let mut product = Matrix::zeros(self.rows, right.columns);
        for column in 0..right.columns {
            for (inner, &factor) in right.column(column).iter().enumerate() {
                add_multiple(product.column_mut(column), factor, self.column(inner));
            }
        }
        product
    }
}

impl Add for &Matrix {
    type Output = Matrix;

    fn add(self, right: &Matrix) -> Matrix {
        assert_eq!((self.rows, self.columns), (right.rows, right.columns), "matrices of one size");
        Matrix::from_fn(self.rows, self.columns, |row, column| self[(row, column)] + right[(row, column)])
    }
}

impl Sub for &Matrix {
    type Output = Matrix;

    fn sub(self, right: &Matrix) -> Matrix {
        assert_eq!((self.rows, self.columns), (right.rows, right.columns), "matrices of one size");
        Matrix::from_fn(self.rows, self.columns, |row, column| self[(row, column)] - right[(row, column)])
    }
}
