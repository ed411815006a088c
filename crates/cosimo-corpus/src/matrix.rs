//! Small dense matrices, and their exponential. Independent of the engine's: an error there must not repeat itself here.

/// Row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f64>,
}

impl Matrix {
    pub fn zero(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, values: vec![0.0; rows * columns] }
    }

    pub fn identity(size: usize) -> Matrix {
        let mut matrix = Matrix::zero(size, size);
        (0..size).for_each(|place| *matrix.at(place, place) = 1.0);
        matrix
    }

    pub fn of(rows: usize, columns: usize, values: Vec<f64>) -> Matrix {
        assert_eq!(values.len(), rows * columns, "numbers of a {rows} x {columns} matrix");
        Matrix { rows, columns, values }
    }

    pub fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.values[row * self.columns + column]
    }

    pub fn get(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    pub fn times(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::zero(self.rows, other.columns);
        for row in 0..self.rows {
            for inner in 0..self.columns {
                let factor = self.get(row, inner);
                for column in 0..other.columns {
                    *product.at(row, column) += factor * other.get(inner, column);
                }
            }
        }
        product
    }

    pub fn plus(&self, factor: f64, other: &Matrix) -> Matrix {
        let values = self.values.iter().zip(&other.values).map(|(a, b)| a + factor * b).collect();
        Matrix { values, ..*self }
    }

    pub fn apply(&self, vector: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| row.iter().zip(vector).map(|(a, b)| a * b).sum();
        if self.columns == 0 {
            vec![0.0; self.rows]
        } else {
            self.values.chunks(self.columns).map(row).collect()
        }
    }

    /// The largest sum of moduli in a row.
    pub fn norm(&self) -> f64 {
        let sum = |row: &[f64]| row.iter().map(|value| value.abs()).sum::<f64>();
        self.values.chunks(self.columns.max(1)).map(sum).fold(0.0, f64::max)
    }

    /// The solution of `self` X = `other`, by elimination with pivots; none where singular.
    pub fn solve(&self, other: &Matrix) -> Option<Matrix> {
        let (mut left, mut right) = (self.clone(), other.clone());
        let size = self.rows;
        for column in 0..size {
            let pivot = (column..size)
                .max_by(|a, b| left.get(*a, column).abs().total_cmp(&left.get(*b, column).abs()))?;
            if left.get(pivot, column) == 0.0 {
                return None;
            }
            for matrix in [&mut left, &mut right] {
                for place in 0..matrix.columns {
                    matrix.values.swap(column * matrix.columns + place, pivot * matrix.columns + place);
                }
            }
            for row in (0..size).filter(|row| *row != column) {
                let factor = left.get(row, column) / left.get(column, column);
                for matrix in [&mut left, &mut right] {
                    for place in 0..matrix.columns {
                        *matrix.at(row, place) -= factor * matrix.get(column, place);
                    }
                }
            }
        }
        for row in 0..size {
            let pivot = left.get(row, row);
            (0..right.columns).for_each(|column| *right.at(row, column) /= pivot);
        }
        Some(right)
    }

    /// The exponential of `time` times it, by scaling and squaring of the diagonal Pade approximant of degree 13 (Higham
    /// 2005).
    pub fn exponential(&self, time: f64) -> Matrix {
        const B: [f64; 14] = [
            64_764_752_532_480_000.0,
            32_382_376_266_240_000.0,
            7_771_770_303_897_600.0,
            1_187_353_796_428_800.0,
            129_060_195_264_000.0,
            10_559_470_521_600.0,
            670_442_572_800.0,
            33_522_128_640.0,
            1_323_241_920.0,
            40_840_800.0,
            960_960.0,
            16_380.0,
            182.0,
            1.0,
        ];
        let size = self.rows;
        let mut squarings = 0;
        let mut scale = time;
        while self.norm() * scale.abs() > 2.0 {
            scale /= 2.0;
            squarings += 1;
        }
        let a = Matrix { values: self.values.iter().map(|value| value * scale).collect(), ..*self };
        let two = a.times(&a);
        let (mut power, mut even, mut odd) =
            (Matrix::identity(size), Matrix::zero(size, size), Matrix::zero(size, size));
        for pair in B.chunks(2) {
            even = even.plus(pair[0], &power);
            odd = odd.plus(pair[1], &power);
            power = power.times(&two);
        }
        let odd = a.times(&odd);
        let mut result =
            even.plus(-1.0, &odd).solve(&even.plus(1.0, &odd)).unwrap_or_else(|| Matrix::identity(size));
        (0..squarings).for_each(|_| result = result.times(&result));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::math;

    #[test]
    fn the_exponential_of_a_rotation_and_of_a_stiff_decay() {
        let turn = Matrix::of(2, 2, vec![0.0, 1.0, -1.0, 0.0]);
        for time in [1e-9f64, 0.3, 40.0] {
            let found = turn.exponential(time);
            let (sine, cosine) = math::sin_cos(time);
            for (got, expected) in found.values.iter().zip([cosine, sine, -sine, cosine]) {
                assert!((got - expected).abs() < 1e-13, "{time}: {got} {expected}");
            }
        }
        // x' = -1e6 (x - y), y' = -y: y decays, and x follows it.
        let stiff = Matrix::of(2, 2, vec![-1e6, 1e6, 0.0, -1.0]);
        let found = stiff.exponential(1.0);
        let decay = math::exp(-1.0);
        assert!(
            (found.get(1, 1) - decay).abs() < 1e-9 && (found.get(0, 1) - decay / (1.0 - 1e-6)).abs() < 1e-9
        );
    }

    #[test]
    fn a_system_of_equations_is_solved() {
        let matrix = Matrix::of(3, 3, vec![0.0, 2.0, 1.0, 1.0, -2.0, 0.0, 4.0, 1.0, 1.0]);
        let solution = Matrix::of(3, 1, vec![1.0, -2.0, 3.0]);
        let found = matrix.solve(&matrix.times(&solution)).unwrap();
        assert!(found.plus(-1.0, &solution).norm() < 1e-14);
        assert!(Matrix::zero(2, 2).solve(&Matrix::identity(2)).is_none());
    }
}
