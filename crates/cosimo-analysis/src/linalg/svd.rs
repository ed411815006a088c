//! Singular values by one-sided Jacobi rotations on the triangle of a pivoted QR decomposition (Drmac & Veselic 2008).
//! Slow for large matrices, but it converges for every one, of whatever rank, and small values keep their digits.

use cosimo_core::math;

use super::matrix::{Matrix, add_multiple, dot};

/// Rotations over all pairs of columns; five to eight are usual.
const SWEEPS: usize = 60;

/// M = U diag(values) V^T. Values that are rounding errors beside the largest are left out.
#[derive(Debug, Clone)]
pub struct Svd {
    pub left: Matrix,
    /// The largest first.
    pub values: Vec<f64>,
    pub right: Matrix,
}

impl Svd {
    /// `None` where the matrix is not finite, or the rotations do not converge.
    pub fn of(matrix: &Matrix) -> Option<Svd> {
        if matrix.nrows() < matrix.ncols() {
            let Svd { left, values, right } = Svd::of(&matrix.transposed())?;
            return Some(Svd { left: right, values, right: left });
        }
        // Scaled, so that squares neither overflow nor vanish.
        let scale = matrix.largest();
        if !scale.is_finite() {
            return None;
        }
        if scale == 0.0 {
            let none = |rows: usize| Matrix::zeros(rows, 0);
            return Some(Svd { left: none(matrix.nrows()), values: Vec::new(), right: none(matrix.ncols()) });
        }
        let Qr { q, order, triangle } = Qr::of(matrix.map(|value| value / scale));
        // M P = Q R and R^T J = W S with orthogonal J and W, so that M = (Q J) S (P W)^T.
        let mut rotated = triangle.transposed();
        let mut rotations = Matrix::identity(rotated.ncols());
        orthogonalise(&mut rotated, &mut rotations)?;
        let lengths: Vec<f64> = (0..rotated.ncols()).map(|k| length(rotated.column(k))).collect();
        let mut by_size: Vec<usize> = (0..lengths.len()).filter(|&k| lengths[k] > 0.0).collect();
        by_size.sort_by(|&one, &two| lengths[two].total_cmp(&lengths[one]));
        let chosen = Matrix::from_fn(rotations.nrows(), by_size.len(), |row, k| rotations[(row, by_size[k])]);
        let mut right = Matrix::zeros(matrix.ncols(), by_size.len());
        for (place, &k) in by_size.iter().enumerate() {
            for (row, &value) in rotated.column(k).iter().enumerate() {
                right[(order[row], place)] = value / lengths[k];
            }
        }
        let values = by_size.iter().map(|&k| lengths[k] * scale).collect();
        Some(Svd { left: &q * &chosen, values, right })
    }
}

fn length(column: &[f64]) -> f64 {
    dot(column, column).sqrt()
}

/// Rotates pairs of columns until all are orthogonal to each other.
fn orthogonalise(columns: &mut Matrix, rotations: &mut Matrix) -> Option<()> {
    let n = columns.ncols();
    let rounding = f64::EPSILON * (columns.nrows() as f64).sqrt();
    let mut squares: Vec<f64> = (0..n).map(|k| dot(columns.column(k), columns.column(k))).collect();
    for _ in 0..SWEEPS {
        let mut done = true;
        for one in 0..n {
            for two in one + 1..n {
                let product = dot(columns.column(one), columns.column(two));
                if product.abs() <= rounding * (squares[one] * squares[two]).sqrt() {
                    continue;
                }
                done = false;
                // The angle that makes the new product vanish (Rutishauser 1966).
                let zeta = (squares[two] - squares[one]) / (2.0 * product);
                let tangent = zeta.signum() / (zeta.abs() + math::hypot(zeta, 1.0));
                let cosine = 1.0 / math::hypot(tangent, 1.0);
                for matrix in [&mut *columns, &mut *rotations] {
                    let (first, second) = matrix.two_columns_mut(one, two);
                    for (a, b) in first.iter_mut().zip(second) {
                        (*a, *b) = (cosine * (*a - tangent * *b), cosine * (tangent * *a + *b));
                    }
                }
                for k in [one, two] {
                    squares[k] = dot(columns.column(k), columns.column(k));
                }
            }
        }
        if done {
            return Some(());
        }
    }
    None
}

/// M P = Q R: the longest remaining column first, and no further than there is something left of any.
struct Qr {
    q: Matrix,
    /// Which column of M stands at each place.
    order: Vec<usize>,
    triangle: Matrix,
}

impl Qr {
    fn of(mut matrix: Matrix) -> Qr {
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        let mut order: Vec<usize> = (0..columns).collect();
        let mut reflections: Vec<Vec<f64>> = Vec::new();
        let mut first = None;
        while reflections.len() < rows.min(columns) {
            let k = reflections.len();
            let rest = |column: usize| length(&matrix.column(column)[k..]);
            let lengths: Vec<f64> = (k..columns).map(rest).collect();
            let longest = (0..lengths.len()).max_by(|&one, &two| lengths[one].total_cmp(&lengths[two]));
            let Some(longest) = longest.filter(|&place| {
                let first = *first.get_or_insert(lengths[place]);
                lengths[place] > f64::EPSILON * first && lengths[place] > 0.0
            }) else {
                break;
            };
            let size = lengths[longest];
            if longest > 0 {
                order.swap(k, k + longest);
                let (one, two) = matrix.two_columns_mut(k, k + longest);
                one.swap_with_slice(two);
            }
            // The reflection I - v v^T onto the first axis, v of length sqrt(2).
            let mut v = matrix.column(k)[k..].to_vec();
            let onto = if v[0] > 0.0 { -size } else { size };
            v[0] -= onto;
            let factor = (2.0f64).sqrt() / length(&v);
            v.iter_mut().for_each(|value| *value *= factor);
            for column in k..columns {
                let rest = &mut matrix.column_mut(column)[k..];
                add_multiple(rest, -dot(&v, rest), &v);
            }
            reflections.push(v);
        }
        let rank = reflections.len();
        let mut q = Matrix::from_fn(rows, rank, |row, column| f64::from(row == column));
        for (k, v) in reflections.iter().enumerate().rev() {
            for column in k..rank {
                let rest = &mut q.column_mut(column)[k..];
                add_multiple(rest, -dot(v, rest), v);
            }
        }
        let triangle =
            Matrix::from_fn(
                rank,
                columns,
                |row, column| {
                    if row <= column { matrix[(row, column)] } else { 0.0 }
                },
            );
        Qr { q, order, triangle }
    }
}
