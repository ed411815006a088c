//! Linear algebra for methods and models: small dense matrices, row by row, on memory of the caller.
//!
//! Deliberately for a handful of states: no blocks, no balancing, no structure.

use crate::math;

/// After scaling, Z has at most this norm.
const NORM: f64 = 0.5;

/// NORM^18 / 18! is below 1e-21: nothing is left to add.
const TERMS: usize = 17;

/// `into` = P Q, where P has `rows` rows and `inner` columns.
pub fn multiply(rows: usize, inner: usize, p: &[f64], q: &[f64], into: &mut [f64]) {
    if rows == 0 {
        return;
    }
    let columns = into.len() / rows;
    into.fill(0.0);
    for i in 0..rows {
        let row = &mut into[i * columns..(i + 1) * columns];
        for k in 0..inner {
            let factor = p[i * inner + k];
            for (sum, entry) in row.iter_mut().zip(&q[k * columns..(k + 1) * columns]) {
                *sum += factor * entry;
            }
        }
    }
}

/// `into` += P x.
pub fn add_product(p: &[f64], x: &[f64], into: &mut [f64]) {
    for (i, into) in into.iter_mut().enumerate() {
        for (factor, x) in p[i * x.len()..].iter().zip(x) {
            *into += factor * x;
        }
    }
}

/// Inverts a matrix by elimination with pivots; `matrix` is overwritten. False if it is singular.
pub fn invert(n: usize, matrix: &mut [f64], inverse: &mut [f64]) -> bool {
    inverse[..n * n].fill(0.0);
    add_identity(n, inverse, 1.0);
    for k in 0..n {
        let size = |row: &usize| matrix[row * n + k].abs();
        let pivot = (k..n).fold(k, |best, row| if size(&row) > size(&best) { row } else { best });
        let largest = size(&pivot);
        if largest == 0.0 || !largest.is_finite() {
            return false;
        }
        for rows in [&mut *matrix, &mut *inverse] {
            if pivot != k {
                let (upper, lower) = rows.split_at_mut(pivot * n);
                upper[k * n..(k + 1) * n].swap_with_slice(&mut lower[..n]);
            }
        }
        let scale = 1.0 / matrix[k * n + k];
        for row in (0..n).filter(|row| *row != k) {
            let factor = matrix[row * n + k] * scale;
            if factor != 0.0 {
                for column in 0..n {
                    matrix[row * n + column] -= factor * matrix[k * n + column];
                    inverse[row * n + column] -= factor * inverse[k * n + column];
                }
            }
        }
        for column in 0..n {
            matrix[k * n + column] *= scale;
            inverse[k * n + column] *= scale;
        }
    }
    true
}

/// Size of `work` for [`pseudo_invert`].
pub const fn pseudo_invert_work(columns: usize) -> usize {
    columns * columns
}

/// Sweeps of rotations; a handful is enough, more would not change a bit.
const SWEEPS: usize = 30;

/// The pseudo-inverse of a matrix of `rows` and `columns`, without singular values below `cut` times the largest;
/// `matrix` is overwritten. Columns are rotated against each other until they are orthogonal: M V = U S, so that the
/// inverse V S^-1 U^T has one term (column of V) (column of M V)^T / s^2 per singular value. One-sided Jacobi:
/// Golub & Van Loan, Matrix Computations, 4th ed., 8.6.3.
pub fn pseudo_invert(
    rows: usize,
    columns: usize,
    matrix: &mut [f64],
    cut: f64,
    inverse: &mut [f64],
    work: &mut [f64],
) {
    let turned = &mut work[..columns * columns];
    turned.fill(0.0);
    add_identity(columns, turned, 1.0);
    let product = |matrix: &[f64], p: usize, q: usize| -> f64 {
        (0..rows).map(|row| matrix[row * columns + p] * matrix[row * columns + q]).sum()
    };
    for _ in 0..SWEEPS {
        let mut still = true;
        for p in 0..columns {
            for q in p + 1..columns {
                let (pp, qq, pq) = (product(matrix, p, p), product(matrix, q, q), product(matrix, p, q));
                if pq == 0.0 || pq.abs() <= f64::EPSILON * (pp * qq).sqrt() {
                    continue;
                }
                still = false;
                let ratio = (qq - pp) / (2.0 * pq);
                let tangent = ratio.signum() / (ratio.abs() + math::hypot(ratio, 1.0));
                let cosine = 1.0 / math::hypot(tangent, 1.0);
                let sine = cosine * tangent;
                for (values, height) in [(&mut *matrix, rows), (&mut *turned, columns)] {
                    for row in 0..height {
                        let (a, b) = (values[row * columns + p], values[row * columns + q]);
                        values[row * columns + p] = cosine * a - sine * b;
                        values[row * columns + q] = sine * a + cosine * b;
                    }
                }
            }
        }
        if still {
            break;
        }
    }
    inverse[..columns * rows].fill(0.0);
    let largest = (0..columns).map(|column| product(matrix, column, column)).fold(0.0, f64::max);
    for column in 0..columns {
        let square = product(matrix, column, column);
        if square == 0.0 || square.sqrt() <= cut * largest.sqrt() {
            continue;
        }
        for i in 0..columns {
            for j in 0..rows {
                let term = turned[i * columns + column] * matrix[j * columns + column];
                inverse[i * rows + j] += term / square;
            }
        }
    }
}

/// Size of `work` for [`phi`] of matrices with `n` rows.
pub const fn phi_work(n: usize) -> usize {
    2 * n * n
}

/// The exponential of a matrix and its relatives, phi_k(Z) = sum over j of Z^j / (j + k)!, of Z = `h` times `a`:
/// phi_0 to phi_`top` into `table`, one after the other. phi_0 is the exponential; h^(q+1) q! phi_(q+1)(hA) is the
/// integral of e^(A(h-s)) s^q over 0..h. Taylor series after scaling, then doubling.
pub fn phi(n: usize, top: usize, a: &[f64], h: f64, table: &mut [f64], work: &mut [f64]) {
    let square = n * n;
    if n == 0 {
        return;
    }
    let (scaled, product) = work[..phi_work(n)].split_at_mut(square);
    let mut norm = 0.0f64;
    for row in a.chunks_exact(n) {
        norm = norm.max(row.iter().map(|entry| (h * entry).abs()).sum());
    }
    let mut doublings = 0;
    while norm > NORM && norm.is_finite() {
        norm /= 2.0;
        doublings += 1;
    }
    let scale = math::powi(0.5, doublings);
    for (scaled, entry) in scaled.iter_mut().zip(a) {
        *scaled = h * entry * scale;
    }

    // Horner's rule for the highest, then downwards: phi_k = Z phi_(k+1) + I / k!, which divides by nothing.
    let (lower, highest) = table[..(top + 1) * square].split_at_mut(top * square);
    highest.fill(0.0);
    for j in (0..=TERMS).rev() {
        multiply(n, n, scaled, highest, product);
        highest.copy_from_slice(product);
        add_identity(n, highest, 1.0 / factorial(j + top));
    }
    let mut above: &[f64] = highest;
    for (k, matrix) in lower.chunks_exact_mut(square).enumerate().rev() {
        multiply(n, n, scaled, above, matrix);
        add_identity(n, matrix, 1.0 / factorial(k));
        above = matrix;
    }

    // phi_k(2Z) = 2^-k (phi_0 phi_k + sum over j = 1..k of phi_j / (k - j)!), the highest first because
    // each needs the old ones below it.
    for _ in 0..doublings {
        for k in (0..=top).rev() {
            multiply(n, n, &table[..square], &table[k * square..(k + 1) * square], product);
            for j in 1..=k {
                let factor = 1.0 / factorial(k - j);
                for (sum, entry) in product.iter_mut().zip(&table[j * square..]) {
                    *sum += factor * entry;
                }
            }
            let half = math::powi(0.5, k as i32);
            for (entry, sum) in table[k * square..].iter_mut().zip(&*product) {
                *entry = half * sum;
            }
        }
    }
}

/// Size of `work` for [`logarithm`] of matrices with `n` rows.
pub const fn logarithm_work(n: usize) -> usize {
    6 * n * n
}

/// Roots are taken until a matrix is this near to identity; then the remainder of the series is 1e-17.
const NEAR: f64 = 0.2;
const ODD_TERMS: usize = 10;
const ROOTS: usize = 60;
const ROUNDS: usize = 40;

/// The principal logarithm of a matrix. False if there is no real one: no eigenvalue may be zero or negative. Square roots
/// until it is near to identity (Denman & Beavers 1976), then 2 artanh((X - 1) / (X + 1)):
/// Higham, Functions of Matrices, 6.3 and 11.5.
pub fn logarithm(n: usize, matrix: &[f64], into: &mut [f64], work: &mut [f64]) -> bool {
    let square = n * n;
    let [x, y, z, of_y, of_z, scratch] = {
        let mut rest = &mut work[..logarithm_work(n)];
        [(); 6].map(|()| {
            let (part, behind) = std::mem::take(&mut rest).split_at_mut(square);
            rest = behind;
            part
        })
    };
    let norm = |a: &[f64]| -> f64 {
        let rows = a.chunks_exact(n.max(1)).map(|row| row.iter().map(|entry| entry.abs()).sum::<f64>());
        rows.fold(0.0, |most, row| if row.is_nan() { row } else { row.max(most) })
    };
    x.copy_from_slice(&matrix[..square]);
    let mut roots = 0;
    loop {
        y.copy_from_slice(x);
        add_identity(n, y, -1.0);
        let apart = norm(y);
        if apart <= NEAR {
            break;
        }
        if roots == ROOTS || !apart.is_finite() {
            return false;
        }
        roots += 1;
        // Y -> X^(1/2), Z -> X^(-1/2).
        y.copy_from_slice(x);
        z.fill(0.0);
        add_identity(n, z, 1.0);
        let mut converged = false;
        for _ in 0..ROUNDS {
            scratch.copy_from_slice(y);
            if !invert(n, scratch, of_y) {
                return false;
            }
            scratch.copy_from_slice(z);
            if !invert(n, scratch, of_z) {
                return false;
            }
            let mut change = 0.0f64;
            for at in 0..square {
                let new = (y[at] + of_z[at]) / 2.0;
                change = change.max((new - y[at]).abs());
                y[at] = new;
                z[at] = (z[at] + of_y[at]) / 2.0;
            }
            if change <= 1e-14 * norm(y) {
                converged = true;
                break;
            }
        }
        if !converged {
            return false;
        }
        x.copy_from_slice(y);
    }
    // Y = X - 1; Z = Y (X + 1)^-1, and the odd powers of it.
    add_identity(n, x, 1.0);
    if !invert(n, x, of_y) {
        return false;
    }
    multiply(n, n, y, of_y, z);
    multiply(n, n, z, z, of_z);
    into[..square].fill(0.0);
    for term in (0..ODD_TERMS).rev() {
        multiply(n, n, of_z, &into[..square], scratch);
        into[..square].copy_from_slice(scratch);
        add_identity(n, &mut into[..square], 1.0 / (2 * term + 1) as f64);
    }
    multiply(n, n, z, &into[..square], scratch);
    let factor = 2.0 * math::powi(2.0, roots as i32);
    for (into, entry) in into[..square].iter_mut().zip(&*scratch) {
        *into = factor * entry;
    }
    true
}

/// Exact in a double up to 22!, which is as far as the series goes for phi_5.
fn factorial(k: usize) -> f64 {
    (2..=k).map(|factor| factor as f64).product()
}

fn add_identity(n: usize, matrix: &mut [f64], factor: f64) {
    for i in 0..n {
        matrix[i * n + i] += factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_inverts_whatever_the_order_of_rows() {
        let matrix = [0.0, 2.0, 1.0, 1.0, 0.0, 3.0, 4.0, -1.0, 0.5];
        let (mut scratch, mut inverse, mut one) = (matrix, [0.0; 9], [0.0; 9]);
        assert!(invert(3, &mut scratch, &mut inverse));
        multiply(3, 3, &matrix, &inverse, &mut one);
        for (place, value) in one.iter().enumerate() {
            assert!((value - if place % 4 == 0 { 1.0 } else { 0.0 }).abs() < 1e-15, "{one:?}");
        }
        assert!(!invert(2, &mut [1.0, 2.0, 2.0, 4.0], &mut [0.0; 4]));
        assert!(!invert(1, &mut [f64::NAN], &mut [0.0]));
        assert!(invert(0, &mut [], &mut []));
    }

    fn pseudo(rows: usize, columns: usize, matrix: &[f64]) -> Vec<f64> {
        let mut inverse = vec![0.0; matrix.len()];
        let mut work = vec![0.0; pseudo_invert_work(columns)];
        pseudo_invert(rows, columns, &mut matrix.to_vec(), 1e-9, &mut inverse, &mut work);
        inverse
    }

    /// The four conditions of Moore and Penrose, on tall, wide, deficient and empty matrices.
    #[test]
    fn a_pseudo_inverse_meets_the_conditions_that_define_it() {
        let tall = [1.0, 2.0, -3.0, 0.5, 4.0, 1.0];
        let deficient = [1e3, 10.0, 3e5, 3e3]; // the second column is a hundredth of the first
        for (rows, columns, matrix) in
            [(3, 2, &tall[..]), (2, 3, &tall), (2, 2, &deficient), (1, 2, &[0.0; 2])]
        {
            let inverse = pseudo(rows, columns, matrix);
            let times = |height: usize, inner: usize, a: &[f64], b: &[f64], width: usize| {
                let mut into = vec![0.0; height * width];
                multiply(height, inner, a, b, &mut into);
                into
            };
            let near = |a: &[f64], b: &[f64]| {
                let size = a.iter().fold(1.0f64, |size, value| size.max(value.abs()));
                a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11 * size)
            };
            let forth = times(rows, columns, matrix, &inverse, rows);
            let back = times(columns, rows, &inverse, matrix, columns);
            assert!(near(&times(rows, rows, &forth, matrix, columns), matrix), "{matrix:?}");
            assert!(near(&times(columns, columns, &back, &inverse, rows), &inverse), "{matrix:?}");
            for (n, product) in [(rows, forth), (columns, back)] {
                let turned: Vec<f64> = (0..n * n).map(|at| product[at % n * n + at / n]).collect();
                assert!(near(&product, &turned), "{matrix:?}");
            }
        }
        assert!(pseudo(0, 2, &[]).is_empty());
    }

    #[test]
    fn the_logarithm_of_an_exponential_is_where_it_came_from() {
        let slow = [0.0, 1.0, -36.0, -2.5]; // an oscillator, 6 rad/s
        let chain = [-3.0, 4.0, 0.0, 0.0, -200.0, 70.0, 0.0, 0.0, 0.5];
        for (n, a, h) in [(2, &slow[..], 1e-3), (2, &slow, 0.4), (3, &chain, 0.05), (1, &[-30.0], 1.0)] {
            let (exponential, mut found) = (table(n, 0, a, h), vec![0.0; n * n]);
            assert!(logarithm(n, &exponential, &mut found, &mut vec![0.0; logarithm_work(n)]));
            let size = a.iter().fold(0.0f64, |size, entry| size.max(entry.abs()));
            for (found, wanted) in found.iter().zip(a) {
                assert!((found / h - wanted).abs() < 1e-9 * size, "{h}: {found} {wanted}");
            }
        }
        // Negative, zero and no numbers have none; nothing has the logarithm nothing.
        for matrix in [-0.5, 0.0, f64::NAN] {
            assert!(!logarithm(1, &[matrix], &mut [0.0], &mut [0.0; 6]), "{matrix}");
        }
        assert!(logarithm(0, &[], &mut [], &mut []));
    }

    fn table(n: usize, top: usize, a: &[f64], h: f64) -> Vec<f64> {
        let mut table = vec![0.0; (top + 1) * n * n];
        phi(n, top, a, h, &mut table, &mut vec![0.0; phi_work(n)]);
        table
    }

    #[test]
    fn scalars_agree_with_the_closed_forms() {
        for z in [-80.0, -3.0, -1.0, 0.7, 2.0, 9.0f64] {
            let table = table(1, 3, &[z / 0.1], 0.1);
            let one = math::exp_m1(z) / z;
            let two = (one - 1.0) / z;
            let three = (two - 0.5) / z;
            for (k, wanted) in [math::exp(z), one, two, three].into_iter().enumerate() {
                assert!(
                    (table[k] - wanted).abs() <= 4e-15 * (1.0 + z.abs()) * wanted.abs().max(1e-30),
                    "phi_{k}({z})"
                );
            }
        }
    }

    #[test]
    fn a_rotation_comes_back_after_a_full_turn() {
        let table = table(2, 0, &[0.0, 1.0, -1.0, 0.0], std::f64::consts::TAU);
        for (found, wanted) in table.iter().zip([1.0, 0.0, 0.0, 1.0]) {
            assert!((found - wanted).abs() < 1e-14);
        }
    }

    #[test]
    fn a_product_is_added_to_what_is_there() {
        let mut into = [1.0, 2.0];
        add_product(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 10.0, 100.0], &mut into);
        assert_eq!(into, [322.0, 656.0]);
    }

    #[test]
    fn zero_and_nothing_are_fine() {
        let zero = table(2, 2, &[0.0; 4], 1.0);
        assert_eq!(zero[..4], [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(zero[8..], [0.5, 0.0, 0.0, 0.5]);
        assert!(table(0, 5, &[], 1.0).is_empty());
    }
}
