//! Decompositions against what defines them, and against values that are known in closed form.

use cosimo_analysis::linalg::{Complex, Eigen, Matrix, Svd};

/// Repeatable numbers between -1 and 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> Matrix {
        let mut matrix = Matrix::zeros(rows, columns);
        (0..columns).for_each(|column| matrix.column_mut(column).iter_mut().for_each(|v| *v = self.next()));
        matrix
    }

    /// Orthonormal columns, by Gram and Schmidt, twice.
    fn orthonormal(&mut self, rows: usize, columns: usize) -> Matrix {
        let mut q = self.matrix(rows, columns);
        for column in 0..columns {
            for _ in 0..2 {
                for before in 0..column {
                    let (one, two) = q.two_columns_mut(before, column);
                    let product: f64 = one.iter().zip(&*two).map(|(a, b)| a * b).sum();
                    two.iter_mut().zip(one).for_each(|(b, a)| *b -= product * *a);
                }
            }
            let length = q.column(column).iter().map(|v| v * v).sum::<f64>().sqrt();
            q.column_mut(column).iter_mut().for_each(|v| *v /= length);
        }
        q
    }
}

fn difference(one: &Matrix, two: &Matrix) -> f64 {
    (one - two).largest()
}

fn rebuilt(svd: &Svd) -> Matrix {
    let scaled =
        Matrix::from_fn(svd.left.nrows(), svd.values.len(), |row, k| svd.left[(row, k)] * svd.values[k]);
    &scaled * &svd.right.transposed()
}

fn assert_orthonormal(columns: &Matrix) {
    let gram = &columns.transposed() * columns;
    assert!(difference(&gram, &Matrix::identity(columns.ncols())) < 1e-13);
}

/// How far M x - value x is from nothing, beside the sizes of M and x.
fn worst_residual(matrix: &Matrix, eigen: &Eigen) -> f64 {
    let n = matrix.nrows();
    let residual = |mode: usize| {
        let x: Vec<Complex> = (0..n).map(|row| eigen.vector_entry(row, mode)).collect();
        let size = x.iter().map(|entry| entry.norm()).fold(0.0, f64::max);
        assert!(size > 0.0 && size.is_finite(), "vector {mode} is no vector");
        let value = eigen.values[mode];
        let row_residual = |row: usize| {
            let product = (0..n).fold(Complex::real(0.0), |sum, k| sum - x[k] * -matrix[(row, k)]);
            (product - x[row] * value).norm()
        };
        (0..n).map(row_residual).fold(0.0, f64::max) / (size * matrix.largest().max(1e-300))
    };
    (0..n).map(residual).fold(0.0, f64::max)
}

#[test]
fn systems_are_solved_to_rounding() {
    let mut random = Random(1);
    for n in [1, 2, 7, 40] {
        let (matrix, solution) = (random.matrix(n, n), random.matrix(n, 3));
        let found = matrix.solve(&(&matrix * &solution));
        assert!(difference(&found, &solution) < 1e-10, "{n}: {}", difference(&found, &solution));
    }
    // Rows must be exchanged.
    let swap = Matrix::from_fn(2, 2, |row, column| f64::from(row != column));
    assert_eq!(swap.solve(&Matrix::identity(2)), swap);
    assert!(!Matrix::zeros(2, 2).solve(&Matrix::identity(2)).is_finite());
}

#[test]
fn random_matrices_have_the_eigenvectors_that_define_them() {
    let mut random = Random(2);
    for n in [1, 2, 3, 4, 5, 8, 13, 30, 77, 120] {
        for _ in 0..3 {
            let matrix = random.matrix(n, n);
            let eigen = Eigen::of(&matrix).unwrap();
            let worst = worst_residual(&matrix, &eigen);
            assert!(worst < 1e-12 * n as f64, "{n}: {worst}");
            let trace: f64 = (0..n).map(|k| matrix[(k, k)]).sum();
            let sum: f64 = eigen.values.iter().map(|value| value.re).sum();
            assert!((trace - sum).abs() < 1e-12 * n as f64);
        }
    }
}

#[test]
fn eigenvalues_that_are_known_are_found() {
    // The circulant shift of n: the n-th roots of 1. Francis' shifts alone go round on it for ever.
    for n in [3, 4, 6, 10] {
        let shift = Matrix::from_fn(n, n, |row, column| f64::from(row == (column + 1) % n));
        let values = Eigen::of(&shift).unwrap().values;
        for value in &values {
            assert!((value.norm() - 1.0).abs() < 1e-13);
        }
        let turn = std::f64::consts::TAU / n as f64;
        for k in 0..n {
            let (im, re) = (turn * k as f64).sin_cos();
            assert!(values.iter().any(|value| (*value - Complex { re, im }).norm() < 1e-12), "{n} {k}");
        }
    }
    // A companion matrix of (x - 1)(x - 2)...(x - 8).
    let mut polynomial = vec![1.0];
    for root in 1..=8 {
        let mut next = vec![0.0; polynomial.len() + 1];
        for (k, factor) in polynomial.iter().enumerate() {
            next[k] += factor;
            next[k + 1] -= f64::from(root) * factor;
        }
        polynomial = next;
    }
    let companion =
        Matrix::from_fn(
            8,
            8,
            |row, column| {
                if row == 0 { -polynomial[column + 1] } else { f64::from(row == column + 1) }
            },
        );
    let mut values: Vec<f64> = Eigen::of(&companion).unwrap().values.iter().map(|value| value.re).collect();
    values.sort_by(f64::total_cmp);
    for (value, root) in values.iter().zip(1..) {
        assert!((value / f64::from(root) - 1.0).abs() < 1e-8, "{values:?}");
    }
}

#[test]
fn cells_of_all_sizes_keep_the_digits_of_their_eigenvalues() {
    // A similar matrix with rows and columns from 1e-8 to 1e8 has the same eigenvalues.
    let mut random = Random(3);
    let (matrix, n) = (random.matrix(9, 9), 9);
    let scale = |k: usize| 10f64.powi(2 * k as i32 - 8);
    let graded = Matrix::from_fn(n, n, |row, column| matrix[(row, column)] * scale(row) / scale(column));
    let norms = |matrix: &Matrix| {
        let mut norms: Vec<f64> =
            Eigen::of(matrix).unwrap().values.iter().map(|value| value.norm()).collect();
        norms.sort_by(f64::total_cmp);
        norms
    };
    for (one, two) in norms(&matrix).iter().zip(norms(&graded)) {
        assert!((one / two - 1.0).abs() < 1e-11, "{one} {two}");
    }
}

#[test]
fn defective_and_empty_matrices_are_decomposed() {
    // A Jordan block has one eigenvector; all n columns are multiples of it, to rounding.
    let jordan = Matrix::from_fn(5, 5, |row, column| f64::from(row == column || row + 1 == column));
    let eigen = Eigen::of(&jordan).unwrap();
    assert!(worst_residual(&jordan, &eigen) < 1e-14);
    assert!(eigen.values.iter().all(|value| *value == Complex::real(1.0)));
    assert!(Eigen::of(&Matrix::zeros(0, 0)).unwrap().values.is_empty());
    let zeros = Eigen::of(&Matrix::zeros(3, 3)).unwrap();
    assert!(zeros.values.iter().all(|value| value.norm() == 0.0));
    // Two equal oscillators without coupling: pairs that coincide.
    let twice = Matrix::from_fn(4, 4, |row, column| match (row, column) {
        (0, 1) | (2, 3) => 1.0,
        (1, 0) | (3, 2) => -4.0,
        _ => 0.0,
    });
    let eigen = Eigen::of(&twice).unwrap();
    assert!(worst_residual(&twice, &eigen) < 1e-14);
    assert!(eigen.values.iter().all(|value| value.re.abs() < 1e-15 && (value.im.abs() - 2.0).abs() < 1e-14));
}

/// As a step with a history has: samples are shifted, the last ones fall out, so that 0 is a value of many cells.
#[test]
fn shifted_histories_converge() {
    let mut random = Random(6);
    for (states, samples) in [(2, 3), (4, 6), (3, 20), (10, 40)] {
        let n = states + samples;
        let noise = random.matrix(n, n);
        let (low, high) = (random.matrix(states, states), random.matrix(samples, samples));
        // Similar to a matrix with a nilpotent block, through a rotation that hides it in rounding errors.
        let hidden = Matrix::from_fn(n, n, |row, column| match (row < states, column < states) {
            (true, true) => low[(row, column)],
            (false, false) if row > column => high[(row - states, column - states)],
            (true, false) => noise[(row, column)],
            _ => 0.0,
        });
        let q = random.orthonormal(n, n);
        let matrix = &(&q * &hidden) * &q.transposed();
        let radius = |matrix: &Matrix| {
            let values = Eigen::of(matrix).unwrap().values;
            values.iter().map(|value| value.norm()).fold(0.0, f64::max)
        };
        let (found, known) = (radius(&matrix), radius(&low));
        assert!((found / known - 1.0).abs() < 1e-6, "{states} {samples}: {found} {known}");
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    for bad in [f64::NAN, f64::INFINITY] {
        let matrix = Matrix::from_fn(3, 3, |row, column| if row == column { bad } else { 1.0 });
        assert!(Eigen::of(&matrix).is_none());
        assert!(Svd::of(&matrix).is_none());
    }
}

#[test]
fn singular_values_that_are_known_are_found() {
    let mut random = Random(4);
    for (rows, columns) in [(1, 1), (5, 5), (40, 7), (7, 40), (60, 60)] {
        let n = rows.min(columns);
        let (left, right) = (random.orthonormal(rows, n), random.orthonormal(columns, n));
        let known: Vec<f64> = (0..n).map(|k| 10f64.powf(3.0 - 8.0 * k as f64 / n as f64)).collect();
        let matrix = rebuilt(&Svd { left, values: known.clone(), right });
        let svd = Svd::of(&matrix).unwrap();
        assert_eq!(svd.values.len(), n);
        for (found, known) in svd.values.iter().zip(&known) {
            assert!((found - known).abs() < 1e-14 * 1e3 * n as f64, "{found} {known}");
        }
        assert_orthonormal(&svd.left);
        assert_orthonormal(&svd.right);
        assert!(difference(&rebuilt(&svd), &matrix) < 1e-11);
    }
}

/// Rank 3 of 50: bidiagonal QR iterations in use elsewhere did not come to an end on such a matrix.
#[test]
fn matrices_of_low_rank_come_to_an_end() {
    let mut random = Random(5);
    for rank in [0, 1, 3, 20] {
        let (one, two) = (random.matrix(50, rank), random.matrix(rank, 50));
        let matrix = &one * &two;
        let svd = Svd::of(&matrix).unwrap();
        let largest = svd.values.first().copied().unwrap_or(0.0);
        assert_eq!(svd.values.iter().filter(|value| **value > 1e-12 * largest).count(), rank);
        assert!(difference(&rebuilt(&svd), &matrix) < 1e-12);
        assert_orthonormal(&svd.left);
        assert_orthonormal(&svd.right);
    }
    // The same where noise of differences fills it up.
    let (one, two, noise) = (random.matrix(50, 3), random.matrix(3, 50), random.matrix(50, 50));
    let matrix = &(&one * &two) + &noise.map(|value| 1e-11 * value);
    let svd = Svd::of(&matrix).unwrap();
    assert_eq!(svd.values.iter().filter(|value| **value > 1e-7 * svd.values[0]).count(), 3);
}

/// One step of a dual mass with Euler inside and quadratic inputs: ten of its thirteen cells are a history.
#[test]
fn a_step_with_a_history_has_its_radius() {
    let mut matrix = Matrix::zeros(13, 13);
    for (row, column, value) in [
        (0, 0, 1.0),
        (1, 0, -0.96461839019119),
        (4, 0, 2.1228965884841933),
        (0, 1, 0.6028864938721165),
        (1, 1, 0.035381609808638186),
        (4, 1, 38.296086221111736),
        (2, 2, 0.9999999999999566),
        (3, 2, -0.602886493869524),
        (5, 2, -0.602886493869524),
        (6, 2, 0.9999999999999566),
        (2, 3, 0.6028864938697236),
        (3, 3, 0.3971135061314907),
        (5, 3, 0.3971135061314907),
        (6, 3, 0.6028864938697236),
        (3, 4, 0.006028864938738537),
        (5, 4, 0.006028864938738537),
        (7, 4, 1.0),
        (1, 5, 0.36173189632561586),
        (4, 5, -158.29608622055048),
        (8, 5, 1.0),
        (1, 6, 0.36173189632560016),
        (4, 6, -158.2960862205547),
        (9, 6, 1.0),
        (10, 7, 1.0),
        (4, 8, 179.9999999999986),
        (11, 8, 1.0),
        (4, 9, 180.0000000000024),
        (12, 9, 1.0),
        (4, 11, -60.00000000000694),
        (4, 12, -60.000000000004476),
    ] {
        matrix[(row, column)] = value;
    }
    let values = Eigen::of(&matrix).unwrap().values;
    let radius = values.iter().map(|value| value.norm()).fold(0.0, f64::max);
    // By LAPACK.
    assert!((radius - 1.008520490163374).abs() < 1e-12, "{radius}");
}
