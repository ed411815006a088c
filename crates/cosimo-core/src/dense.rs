//! Small dense matrices, row by row, on memory that the caller lends: what methods and models need of linear algebra.
//!
//! Deliberately for a handful of states: no blocks, no balancing, no structure.

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

/// How much memory [`phi`] is lent for matrices with `n` rows.
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
    let scale = 0.5f64.powi(doublings);
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
            let half = 0.5f64.powi(k as i32);
            for (entry, sum) in table[k * square..].iter_mut().zip(&*product) {
                *entry = half * sum;
            }
        }
    }
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

    fn table(n: usize, top: usize, a: &[f64], h: f64) -> Vec<f64> {
        let mut table = vec![0.0; (top + 1) * n * n];
        phi(n, top, a, h, &mut table, &mut vec![0.0; phi_work(n)]);
        table
    }

    #[test]
    fn scalars_agree_with_the_closed_forms() {
        for z in [-80.0, -3.0, -1.0, 0.7, 2.0, 9.0f64] {
            let table = table(1, 3, &[z / 0.1], 0.1);
            let one = z.exp_m1() / z;
            let two = (one - 1.0) / z;
            let three = (two - 0.5) / z;
            for (k, wanted) in [z.exp(), one, two, three].into_iter().enumerate() {
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
    fn zero_and_nothing_are_fine() {
        let zero = table(2, 2, &[0.0; 4], 1.0);
        assert_eq!(zero[..4], [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(zero[8..], [0.5, 0.0, 0.0, 0.5]);
        assert!(table(0, 5, &[], 1.0).is_empty());
    }
}
