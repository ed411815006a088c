//! Eigenvalues and eigenvectors of a general real matrix: balanced (Parlett & Reinsch 1969), brought to Hessenberg form
//! by reflections, then to real Schur form by Francis' double shifts with the exceptional shifts of Wilkinson & Reinsch
//! 1971 (contribution II/15, `hqr2`), and solved back from there.

use std::ops::{Div, Mul, Sub};

use cosimo_core::math;

use super::matrix::Matrix;

/// Sweeps for one eigenvalue. Ten are rarely needed; a value that several cells share may take many.
const SWEEPS: usize = 300;
/// Sweeps with another shift, as some matrices go round for ever under the usual ones.
const EXCEPTIONAL: [usize; 4] = [10, 20, 100, 200];
/// From here on an entry is nothing beside the whole matrix, no longer beside its neighbours: those of a value 0 that
/// several cells share, as the samples of a history do, are rounding errors themselves.
const PATIENCE: usize = 15;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Complex {
    pub re: f64,
    pub im: f64,
}

impl Complex {
    pub fn real(re: f64) -> Complex {
        Complex { re, im: 0.0 }
    }

    pub fn norm(self) -> f64 {
        math::hypot(self.re, self.im)
    }
}

impl Sub for Complex {
    type Output = Complex;

    fn sub(self, other: Complex) -> Complex {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Complex {
    type Output = Complex;

    fn mul(self, by: Complex) -> Complex {
        Complex { re: self.re * by.re - self.im * by.im, im: self.re * by.im + self.im * by.re }
    }
}

impl Mul<f64> for Complex {
    type Output = Complex;

    fn mul(self, by: f64) -> Complex {
        Complex { re: self.re * by, im: self.im * by }
    }
}

impl Div for Complex {
    type Output = Complex;

    /// Smith 1962: no overflow where the quotient has none.
    fn div(self, by: Complex) -> Complex {
        if by.re.abs() > by.im.abs() {
            let ratio = by.im / by.re;
            let scale = by.re + ratio * by.im;
            Complex { re: (self.re + ratio * self.im) / scale, im: (self.im - ratio * self.re) / scale }
        } else {
            let ratio = by.re / by.im;
            let scale = by.im + ratio * by.re;
            Complex { re: (ratio * self.re + self.im) / scale, im: (ratio * self.im - self.re) / scale }
        }
    }
}

/// What a matrix stretches, and by how much.
#[derive(Debug, Clone)]
pub struct Eigen {
    pub values: Vec<Complex>,
    /// Column k belongs to value k where that is real. Columns k and k + 1 are real and imaginary part of the vector of
    /// the first of a pair; that of the second is conjugate.
    vectors: Matrix,
}

impl Eigen {
    /// `None` where the matrix is not finite, or the sweeps do not converge.
    pub fn of(matrix: &Matrix) -> Option<Eigen> {
        let (mut balanced, scales) = balance(matrix)?;
        let mut vectors = hessenberg(&mut balanced);
        let values = schur(&mut balanced, &mut vectors)?;
        let mut vectors = &vectors * &back_substituted(&balanced, &values);
        for column in 0..vectors.ncols() {
            for (value, scale) in vectors.column_mut(column).iter_mut().zip(&scales) {
                *value *= scale;
            }
        }
        Some(Eigen { values, vectors })
    }

    /// Entry `row` of the eigenvector of value `mode`.
    pub fn vector_entry(&self, row: usize, mode: usize) -> Complex {
        let at = |column: usize| self.vectors[(row, column)];
        match self.values[mode].im {
            im if im > 0.0 => Complex { re: at(mode), im: at(mode + 1) },
            im if im < 0.0 => Complex { re: at(mode - 1), im: -at(mode) },
            _ => Complex { re: at(mode), im: 0.0 },
        }
    }
}

/// D^-1 M D with rows and columns of about the same size, and D. Powers of two: nothing is rounded.
fn balance(matrix: &Matrix) -> Option<(Matrix, Vec<f64>)> {
    let n = matrix.nrows();
    if n != matrix.ncols() || !matrix.is_finite() {
        return None;
    }
    let (mut balanced, mut scales) = (matrix.clone(), vec![1.0; n]);
    let mut changed = true;
    while changed {
        changed = false;
        for k in 0..n {
            let others = || (0..n).filter(|&other| other != k);
            let mut column: f64 = others().map(|row| balanced[(row, k)].abs()).sum();
            let mut row: f64 = others().map(|column| balanced[(k, column)].abs()).sum();
            if column == 0.0 || row == 0.0 || !(column + row).is_finite() {
                continue;
            }
            let (before, mut factor) = (column + row, 1.0f64);
            while column < row / 2.0 {
                (column, row, factor) = (column * 2.0, row / 2.0, factor * 2.0);
            }
            while column >= row * 2.0 {
                (column, row, factor) = (column / 2.0, row * 2.0, factor / 2.0);
            }
            if column + row >= 0.95 * before {
                continue;
            }
            changed = true;
            scales[k] *= factor;
            for other in 0..n {
                balanced[(k, other)] /= factor;
                balanced[(other, k)] *= factor;
            }
        }
    }
    Some((balanced, scales))
}

/// Brings a matrix to Hessenberg form, and returns the orthogonal matrix that did it.
fn hessenberg(h: &mut Matrix) -> Matrix {
    let n = h.nrows();
    let mut q = Matrix::identity(n);
    for k in 1..n.saturating_sub(1) {
        let scale: f64 = (k..n).map(|row| h[(row, k - 1)].abs()).sum();
        if scale == 0.0 {
            continue;
        }
        // The reflection I - v v^T / half that leaves one entry of the column below the diagonal.
        let mut v: Vec<f64> = (k..n).map(|row| h[(row, k - 1)] / scale).collect();
        let square: f64 = v.iter().map(|value| value * value).sum();
        let length = if v[0] > 0.0 { -square.sqrt() } else { square.sqrt() };
        let half = square - v[0] * length;
        if half == 0.0 {
            continue;
        }
        v[0] -= length;
        for column in k..n {
            let factor = v.iter().zip(k..).map(|(v, row)| v * h[(row, column)]).sum::<f64>() / half;
            v.iter().zip(k..).for_each(|(v, row)| h[(row, column)] -= factor * v);
        }
        for row in 0..n {
            let factor = v.iter().zip(k..).map(|(v, column)| v * h[(row, column)]).sum::<f64>() / half;
            v.iter().zip(k..).for_each(|(v, column)| h[(row, column)] -= factor * v);
            let factor = v.iter().zip(k..).map(|(v, column)| v * q[(row, column)]).sum::<f64>() / half;
            v.iter().zip(k..).for_each(|(v, column)| q[(row, column)] -= factor * v);
        }
        h[(k, k - 1)] = scale * length;
        for row in k + 1..n {
            h[(row, k - 1)] = 0.0;
        }
    }
    q
}

/// From Hessenberg to real Schur form (2 x 2 blocks on the diagonal for pairs only); `q` takes part in every rotation.
fn schur(h: &mut Matrix, q: &mut Matrix) -> Option<Vec<Complex>> {
    let n = h.nrows();
    let norm: f64 = (0..n).flat_map(|column| h.column(column)).map(|value| value.abs()).sum();
    let mut values = vec![Complex { re: 0.0, im: 0.0 }; n];
    // What the exceptional shifts took off the diagonal of the active block.
    let mut shifted = 0.0;
    let (mut end, mut sweeps) = (n, 0);
    while end > 0 {
        let last = end - 1;
        let start = split_before(h, last, if sweeps < PATIENCE { None } else { Some(norm) });
        if start == last {
            h[(last, last)] += shifted;
            values[last].re = h[(last, last)];
            (end, sweeps) = (last, 0);
        } else if start + 1 == last {
            h[(last, last)] += shifted;
            h[(start, start)] += shifted;
            (values[start], values[last]) = split_pair(h, q, start);
            (end, sweeps) = (start, 0);
        } else {
            if sweeps == SWEEPS {
                return None;
            }
            let shifts = shifts(h, last, sweeps, &mut shifted);
            sweeps += 1;
            double_step(h, q, start, last, shifts);
        }
    }
    Some(values)
}

/// Where the last block that does not fall apart begins. Entries are small beside their neighbours, so that small values
/// keep their digits, or beside a given norm.
fn split_before(h: &mut Matrix, last: usize, norm: Option<f64>) -> usize {
    for row in (1..=last).rev() {
        let beside = norm.unwrap_or_else(|| h[(row - 1, row - 1)].abs() + h[(row, row)].abs());
        if h[(row, row - 1)].abs() <= f64::EPSILON * beside {
            h[(row, row - 1)] = 0.0;
            return row;
        }
    }
    0
}

/// Both shifts, as the last diagonal entry, the one before, and the product of the entries beside them.
fn shifts(h: &mut Matrix, last: usize, sweeps: usize, shifted: &mut f64) -> (f64, f64, f64) {
    let beside = h[(last, last - 1)].abs() + h[(last - 1, last - 2)].abs();
    if EXCEPTIONAL.contains(&sweeps) {
        let shift = h[(last, last)];
        *shifted += shift;
        for k in 0..=last {
            h[(k, k)] -= shift;
        }
        return (0.75 * beside, 0.75 * beside, -0.4375 * beside * beside);
    }
    (h[(last, last)], h[(last - 1, last - 1)], h[(last, last - 1)] * h[(last - 1, last)])
}

/// One double-shifted QR step on the block from `start` to `last`.
fn double_step(h: &mut Matrix, q: &mut Matrix, start: usize, last: usize, (x, y, product): (f64, f64, f64)) {
    let n = h.nrows();
    // The first column of (H - s1)(H - s2); begun further down where two small entries follow each other.
    let mut begin = last - 2;
    let mut first;
    loop {
        let z = h[(begin, begin)];
        let (r, s) = (x - z, y - z);
        first = [
            (r * s - product) / h[(begin + 1, begin)] + h[(begin, begin + 1)],
            h[(begin + 1, begin + 1)] - z - r - s,
            h[(begin + 2, begin + 1)],
        ];
        let size: f64 = first.iter().map(|value| value.abs()).sum();
        first.iter_mut().for_each(|value| *value /= size);
        if begin == start {
            break;
        }
        let small = h[(begin, begin - 1)].abs() * (first[1].abs() + first[2].abs());
        let beside =
            h[(begin - 1, begin - 1)].abs() + h[(begin, begin)].abs() + h[(begin + 1, begin + 1)].abs();
        if small <= f64::EPSILON * first[0].abs() * beside {
            break;
        }
        begin -= 1;
    }
    for row in begin + 2..=last {
        h[(row, row - 2)] = 0.0;
        if row > begin + 2 {
            h[(row, row - 3)] = 0.0;
        }
    }
    for k in begin..last {
        let three = k + 1 < last;
        let mut scale = 1.0;
        if k > begin {
            first = [h[(k, k - 1)], h[(k + 1, k - 1)], if three { h[(k + 2, k - 1)] } else { 0.0 }];
            scale = first.iter().map(|value| value.abs()).sum();
            if scale == 0.0 {
                continue;
            }
            first.iter_mut().for_each(|value| *value /= scale);
        }
        let [p, second, third] = first;
        let length = (p * p + second * second + third * third).sqrt();
        let length = if p < 0.0 { -length } else { length };
        if length == 0.0 {
            continue;
        }
        if k > begin {
            h[(k, k - 1)] = -length * scale;
        } else if start != begin {
            h[(k, k - 1)] = -h[(k, k - 1)];
        }
        // The reflection that maps (p, second, third) onto a multiple of the first axis.
        let along = [(p + length) / length, second / length, third / length];
        let back = [1.0, second / (p + length), third / (p + length)];
        let size = if three { 3 } else { 2 };
        for column in k..n {
            let sum: f64 = (0..size).map(|i| back[i] * h[(k + i, column)]).sum();
            (0..size).for_each(|i| h[(k + i, column)] -= sum * along[i]);
        }
        for row in 0..=last.min(k + 3) {
            let sum: f64 = (0..size).map(|i| along[i] * h[(row, k + i)]).sum();
            (0..size).for_each(|i| h[(row, k + i)] -= sum * back[i]);
        }
        for row in 0..n {
            let sum: f64 = (0..size).map(|i| along[i] * q[(row, k + i)]).sum();
            (0..size).for_each(|i| q[(row, k + i)] -= sum * back[i]);
        }
    }
}

/// The two values of a block of two; a rotation parts them where they are real.
fn split_pair(h: &mut Matrix, q: &mut Matrix, start: usize) -> (Complex, Complex) {
    let n = h.nrows();
    let last = start + 1;
    let below = h[(last, start)];
    let (x, half) = (h[(last, last)], (h[(start, start)] - h[(last, last)]) / 2.0);
    let discriminant = half * half + below * h[(start, last)];
    let root = discriminant.abs().sqrt();
    if discriminant < 0.0 {
        return (Complex { re: x + half, im: root }, Complex { re: x + half, im: -root });
    }
    let z = if half >= 0.0 { half + root } else { half - root };
    let one = x + z;
    let two = if z == 0.0 { one } else { x - below * h[(start, last)] / z };
    let scale = below.abs() + z.abs();
    if scale > 0.0 {
        let (sine, cosine) = (below / scale, z / scale);
        let length = math::hypot(sine, cosine);
        let (sine, cosine) = (sine / length, cosine / length);
        for column in start..n {
            let (a, b) = (h[(start, column)], h[(last, column)]);
            (h[(start, column)], h[(last, column)]) = (cosine * a + sine * b, cosine * b - sine * a);
        }
        for row in 0..=last {
            let (a, b) = (h[(row, start)], h[(row, last)]);
            (h[(row, start)], h[(row, last)]) = (cosine * a + sine * b, cosine * b - sine * a);
        }
        for row in 0..n {
            let (a, b) = (q[(row, start)], q[(row, last)]);
            (q[(row, start)], q[(row, last)]) = (cosine * a + sine * b, cosine * b - sine * a);
        }
    }
    h[(last, start)] = 0.0;
    (Complex { re: one, im: 0.0 }, Complex { re: two, im: 0.0 })
}

/// Eigenvectors of the Schur form: (T - value) x = 0, from the last entry up. A divisor that vanishes, where values
/// coincide, is replaced by one at the level of rounding.
fn back_substituted(t: &Matrix, values: &[Complex]) -> Matrix {
    let n = t.nrows();
    let norm = t.largest().max(f64::MIN_POSITIVE);
    let tiny = f64::EPSILON * norm;
    let or_tiny =
        |divisor: Complex, tiny: f64| if divisor.norm() < tiny { Complex::real(tiny) } else { divisor };
    let mut vectors = Matrix::zeros(n, n);
    let mut mode = 0;
    while mode < n {
        let value = values[mode];
        let last = mode + usize::from(value.im > 0.0);
        let mut x = vec![Complex::real(0.0); n];
        x[last] = Complex::real(1.0);
        if last > mode {
            // The block of the pair itself, by the row whose entry beside the diagonal is larger.
            let (below, beside) = (t[(last, mode)], t[(mode, last)]);
            x[mode] = if below.abs() > beside.abs() {
                (value - Complex::real(t[(last, last)])) * (1.0 / below)
            } else {
                Complex::real(beside) / (value - Complex::real(t[(mode, mode)]))
            };
        }
        let mut above = mode;
        while above > 0 {
            let row = above - 1;
            let diagonal = |row: usize| Complex::real(t[(row, row)]) - value;
            let right = |row: usize, x: &[Complex]| {
                (above..=last).fold(Complex::real(0.0), |sum, column| sum - x[column] * t[(row, column)])
            };
            if row > 0 && t[(row, row - 1)] != 0.0 {
                // Two rows of a block at once, by Cramer's rule.
                let (upper, lower) = (right(row - 1, &x), right(row, &x));
                let (a, b, c, d) = (diagonal(row - 1), t[(row - 1, row)], t[(row, row - 1)], diagonal(row));
                let determinant = or_tiny(a * d - Complex::real(b * c), tiny * norm);
                x[row - 1] = (upper * d - lower * b) / determinant;
                x[row] = (a * lower - upper * c) / determinant;
                above = row - 1;
            } else {
                x[row] = right(row, &x) / or_tiny(diagonal(row), tiny);
                above = row;
            }
            // Values that nearly coincide let entries grow without end.
            let size = x[above..=last].iter().map(|entry| entry.norm()).fold(0.0, f64::max);
            if size > 1e100 {
                x.iter_mut().for_each(|entry| *entry = *entry * (1.0 / size));
            }
        }
        for (row, entry) in x.iter().enumerate() {
            vectors[(row, mode)] = entry.re;
            if last > mode {
                vectors[(row, last)] = entry.im;
            }
        }
        mode = last + 1;
    }
    vectors
}
