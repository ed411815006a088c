//! A dense matrix as the product of triangles, with partial pivoting by rows.
//! Source: Golub & Van Loan, Matrix Computations, section 3.4, algorithm 3.4.1.

use crate::snapshot::{Reader, SnapshotError, Writer};

#[derive(Debug, Clone)]
pub(crate) struct Lu {
    size: usize,
    /// Row by row: the upper triangle, and below it the multipliers.
    factors: Vec<f64>,
    /// The row that was exchanged with each, in turn.
    pivots: Vec<usize>,
}

impl Lu {
    pub(crate) fn new(size: usize) -> Self {
        Lu { size, factors: vec![0.0; size * size], pivots: (0..size).collect() }
    }

    /// The matrix to be factorised, row by row.
    pub(crate) fn matrix(&mut self) -> &mut [f64] {
        &mut self.factors
    }

    /// In place; `false` if the matrix is singular or has entries that are not finite.
    pub(crate) fn factorise(&mut self) -> bool {
        let n = self.size;
        for k in 0..n {
            let mut pivot = k;
            for row in k + 1..n {
                if self.factors[row * n + k].abs() > self.factors[pivot * n + k].abs() {
                    pivot = row;
                }
            }
            self.pivots[k] = pivot;
            if pivot != k {
                let (above, below) = self.factors.split_at_mut(pivot * n);
                above[k * n..(k + 1) * n].swap_with_slice(&mut below[..n]);
            }
            let (above, below) = self.factors.split_at_mut((k + 1) * n);
            let upper = &above[k * n..];
            if upper[k] == 0.0 || !upper[k].is_finite() {
                return false;
            }
            for row in below.chunks_exact_mut(n) {
                let multiplier = row[k] / upper[k];
                row[k] = multiplier;
                if multiplier != 0.0 {
                    for column in k + 1..n {
                        row[column] -= multiplier * upper[column];
                    }
                }
            }
        }
        true
    }

    /// Solves for one right-hand side, in place.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        let n = self.size;
        for k in 0..n {
            b.swap(k, self.pivots[k]);
        }
        for row in 1..n {
            let mut sum = b[row];
            for column in 0..row {
                sum -= self.factors[row * n + column] * b[column];
            }
            b[row] = sum;
        }
        for row in (0..n).rev() {
            let mut sum = b[row];
            for column in row + 1..n {
                sum -= self.factors[row * n + column] * b[column];
            }
            b[row] = sum / self.factors[row * n + row];
        }
    }

    pub(crate) fn copy_from(&mut self, other: &Lu) {
        self.factors.copy_from_slice(&other.factors);
        self.pivots.copy_from_slice(&other.pivots);
    }

    pub(crate) fn serialize(&self, writer: &mut Writer<'_>) {
        writer.numbers(&self.factors);
        for pivot in &self.pivots {
            writer.count(*pivot);
        }
    }

    pub(crate) fn deserialize(&mut self, reader: &mut Reader<'_>) -> Result<(), SnapshotError> {
        reader.numbers(&mut self.factors)?;
        for pivot in &mut self.pivots {
            *pivot = reader.count(self.size - 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(size: usize, matrix: &[f64], b: &[f64]) -> Option<Vec<f64>> {
        let mut lu = Lu::new(size);
        lu.matrix().copy_from_slice(matrix);
        let mut x = b.to_vec();
        lu.factorise().then(|| {
            lu.solve(&mut x);
            x
        })
    }

    #[test]
    fn a_system_that_needs_exchanges_is_solved() {
        // Two exchanges in a row: a permutation kept the wrong way round would show.
        let matrix = [0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0, 5.0, 0.0];
        assert_eq!(solved(3, &matrix, &[2.0, 3.0, 10.0]).unwrap(), [1.0, 2.0, 1.0]);
    }

    #[test]
    fn random_systems_are_solved_to_rounding() {
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        for size in 1..=30 {
            let matrix: Vec<f64> = (0..size * size).map(|_| random()).collect();
            let x: Vec<f64> = (0..size).map(|_| random()).collect();
            let b: Vec<f64> =
                (0..size).map(|row| (0..size).map(|c| matrix[row * size + c] * x[c]).sum()).collect();
            let found = solved(size, &matrix, &b).unwrap();
            for (found, wanted) in found.iter().zip(&x) {
                assert!((found - wanted).abs() < 1e-10, "{size}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn singular_and_broken_matrices_are_detected() {
        assert!(solved(2, &[1.0, 2.0, 2.0, 4.0], &[1.0, 1.0]).is_none());
        assert!(solved(1, &[f64::NAN], &[1.0]).is_none());
    }
}
