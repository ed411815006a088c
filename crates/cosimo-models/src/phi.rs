//! The exponential of a small matrix and its relatives, phi_k(Z) = sum over j of Z^j / (j + k)!.
//!
//! phi_0 is the exponential; h^(q+1) q! phi_(q+1)(hA) is the integral of e^(A(h-s)) s^q over 0..h. Taylor
//! series after scaling, then doubling, all on memory taken once. Deliberately dense and for a handful of
//! states: no balancing, no Pade, no structure.

/// After scaling, Z has at most this norm.
const NORM: f64 = 0.5;

/// NORM^18 / 18! is below 1e-21: nothing is left to add.
const TERMS: usize = 17;

#[derive(Debug, Clone)]
pub(crate) struct Phi {
    size: usize,
    top: usize,
    /// phi_0 to phi_top, one matrix after the other, row by row.
    table: Vec<f64>,
    scaled: Vec<f64>,
    product: Vec<f64>,
}

impl Phi {
    /// Room for phi_0 to phi_`top` of matrices with `size` rows.
    pub(crate) fn new(size: usize, top: usize) -> Phi {
        let square = size * size;
        Phi {
            size,
            top,
            table: vec![0.0; (top + 1) * square],
            scaled: vec![0.0; square],
            product: vec![0.0; square],
        }
    }

    pub(crate) fn get(&self, k: usize) -> &[f64] {
        let square = self.size * self.size;
        &self.table[k * square..(k + 1) * square]
    }

    /// Fills the table for Z = `h` times `a`.
    pub(crate) fn compute(&mut self, a: &[f64], h: f64) {
        let (n, top, square) = (self.size, self.top, self.size * self.size);
        if n == 0 {
            return;
        }
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
        for (scaled, entry) in self.scaled.iter_mut().zip(a) {
            *scaled = h * entry * scale;
        }

        // Horner's rule for the highest, then downwards: phi_k = Z phi_(k+1) + I / k!, which divides by nothing.
        let (lower, highest) = self.table.split_at_mut(top * square);
        highest.fill(0.0);
        for j in (0..=TERMS).rev() {
            multiply(n, &self.scaled, highest, &mut self.product);
            highest.copy_from_slice(&self.product);
            add_identity(n, highest, 1.0 / factorial(j + top));
        }
        let mut above: &[f64] = highest;
        for (k, matrix) in lower.chunks_exact_mut(square).enumerate().rev() {
            multiply(n, &self.scaled, above, matrix);
            add_identity(n, matrix, 1.0 / factorial(k));
            above = matrix;
        }

        // phi_k(2Z) = 2^-k (phi_0 phi_k + sum over j = 1..k of phi_j / (k - j)!), the highest first because
        // each needs the old ones below it.
        for _ in 0..doublings {
            for k in (0..=top).rev() {
                multiply(
                    n,
                    &self.table[..square],
                    &self.table[k * square..(k + 1) * square],
                    &mut self.product,
                );
                for j in 1..=k {
                    let factor = 1.0 / factorial(k - j);
                    for (sum, entry) in self.product.iter_mut().zip(&self.table[j * square..]) {
                        *sum += factor * entry;
                    }
                }
                let half = 0.5f64.powi(k as i32);
                for (entry, sum) in self.table[k * square..].iter_mut().zip(&self.product) {
                    *entry = half * sum;
                }
            }
        }
    }
}

/// Exact in a double up to 22!, which is as far as the series goes for phi_5.
fn factorial(k: usize) -> f64 {
    (2..=k).map(|factor| factor as f64).product()
}

fn multiply(n: usize, a: &[f64], b: &[f64], into: &mut [f64]) {
    for i in 0..n {
        for j in 0..n {
            into[i * n + j] = (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum();
        }
    }
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
    fn scalars_agree_with_the_closed_forms() {
        let mut phi = Phi::new(1, 3);
        for z in [-80.0, -3.0, -1.0, 0.7, 2.0, 9.0f64] {
            phi.compute(&[z / 0.1], 0.1);
            let one = z.exp_m1() / z;
            let two = (one - 1.0) / z;
            let three = (two - 0.5) / z;
            for (k, wanted) in [z.exp(), one, two, three].into_iter().enumerate() {
                let found = phi.get(k)[0];
                assert!(
                    (found - wanted).abs() <= 4e-15 * (1.0 + z.abs()) * wanted.abs().max(1e-30),
                    "phi_{k}({z})"
                );
            }
        }
    }

    #[test]
    fn a_rotation_comes_back_after_a_full_turn() {
        let mut phi = Phi::new(2, 0);
        phi.compute(&[0.0, 1.0, -1.0, 0.0], std::f64::consts::TAU);
        for (found, wanted) in phi.get(0).iter().zip([1.0, 0.0, 0.0, 1.0]) {
            assert!((found - wanted).abs() < 1e-14);
        }
    }

    #[test]
    fn zero_and_nothing_are_fine() {
        let mut phi = Phi::new(2, 2);
        phi.compute(&[0.0; 4], 1.0);
        assert_eq!(phi.get(0), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(phi.get(2), [0.5, 0.0, 0.0, 0.5]);
        Phi::new(0, 5).compute(&[], 1.0);
    }
}
