//! From coefficients of least squares to a linear model in continuous time.
//!
//! With q the shift by a window and d = q - 1, the coefficients are P(d) y = N(d) v + c, v being the input over the
//! window that ended. Its observer form has the states x, with x(k+1) known from the newest `order` samples (a deadbeat
//! observer: all its poles are at q = 0). z(k) = x(k+1) is then a state in the usual sense:
//!
//!   z(k+1) = F z(k) + G u(k) + c,  y(k+1) = E z(k) + N u(k),  and the same as  y(k) = C z(k) + D u(k-1) + g
//!
//! with C = E F^-1, D = N - C G, g = - C c: feed-through is the part of the response that is not due to a state.
//! Directions that F damps out within a window are not states: at this step size their response is immediate and part of
//! D. The rest has a logarithm unless it rotates by half a turn or more within a window: F = e^(A H).

use cosimo_core::dense::{add_product, invert, logarithm, logarithm_work, multiply, phi, phi_work};
use cosimo_core::math;

use super::arx::Arx;
use super::workspace::parts_mut;

/// Directions with a smaller factor are damped out within a window.
const FORGOTTEN: f64 = 1e-6;

/// A linear model in parts of method memory: as numbers, so that it can be rolled back and saved.
pub(crate) struct Realization<'a> {
    /// States of the observer form.
    pub observed: usize,
    pub inputs: usize,
    pub outputs: usize,
    /// How many of them are states of the model; 0 for pure feed-through. Negative: there is no model.
    pub states: &'a mut f64,
    /// Observer: F, G, its gain K, c and N.
    pub f: &'a mut [f64],
    pub g: &'a mut [f64],
    pub k: &'a mut [f64],
    pub c0: &'a mut [f64],
    pub n: &'a mut [f64],
    /// The directions that are not damped out, one column each.
    pub basis: &'a mut [f64],
    /// x' = A x + B u + drift, y = C x + D u + level, in these directions.
    pub a: &'a mut [f64],
    pub b: &'a mut [f64],
    pub drift: &'a mut [f64],
    pub c: &'a mut [f64],
    pub d: &'a mut [f64],
    pub level: &'a mut [f64],
}

fn sizes(n: usize, m: usize, p: usize) -> [usize; 13] {
    [1, n * n, n * m, n * p, n, p * m, n * n, n * n, n * m, n, p * n, p * m, p]
}

impl<'a> Realization<'a> {
    pub(crate) fn memory(arx: &Arx) -> usize {
        sizes(arx.order * arx.outputs, arx.inputs, arx.outputs).iter().sum()
    }

    pub(crate) fn of(arx: &Arx, order: usize, memory: &'a mut [f64]) -> Realization<'a> {
        let observed = order * arx.outputs;
        let parts = sizes(observed, arx.inputs, arx.outputs).map(parts_mut(memory));
        let [states, f, g, k, c0, n, basis, a, b, drift, c, d, level] = parts;
        let states = &mut states[0];
        let (inputs, outputs) = (arx.inputs, arx.outputs);
        Realization { observed, inputs, outputs, states, f, g, k, c0, n, basis, a, b, drift, c, d, level }
    }

    pub(crate) fn work(arx: &Arx) -> usize {
        let n = arx.order * arx.outputs;
        let polynomials = (arx.order + 1) * arx.outputs * (arx.outputs + arx.inputs);
        let square = n * n;
        let extended = n * (arx.inputs + 1);
        polynomials.max(6 * square + 2 * extended + logarithm_work(n).max(phi_work(n)))
    }

    /// Computes the model from the coefficients, for windows of the given size; whether there is one.
    pub(crate) fn fill(
        &mut self,
        arx: &Arx,
        order: usize,
        theta: &[f64],
        size: f64,
        work: &mut [f64],
    ) -> bool {
        *self.states = -1.0;
        self.observe(arx, order, theta, work);
        if !self.f.iter().chain(&*self.g).chain(&*self.n).all(|value| value.is_finite()) {
            return false;
        }
        let Some(states) = self.reduce(size, work) else { return false };
        let finite = self.a.iter().chain(&*self.b).chain(&*self.c).chain(&*self.d).chain(&*self.drift);
        if !finite.chain(&*self.level).all(|value| value.is_finite()) {
            return false;
        }
        *self.states = states as f64;
        true
    }

    /// The observer form, with states scaled to a similar size.
    fn observe(&mut self, arx: &Arx, order: usize, theta: &[f64], work: &mut [f64]) {
        let (p, m, n) = (self.outputs, self.inputs, self.observed);
        let (den, num) = work[..(order + 1) * p * (p + m)].split_at_mut((order + 1) * p * p);
        den.fill(0.0);
        num.fill(0.0);
        // P = d (1 + d)^(order - 1) - sum of a_j d^j (1 + d)^(order - 1 - j), N = sum of b_j d^j (1 + d)^(order - j).
        for power in 0..order {
            for i in 0..p {
                den[(power + 1) * p * p + i * p + i] += binomial(order - 1, power);
            }
        }
        for j in 0..order {
            for power in 0..order - j {
                let factor = binomial(order - 1 - j, power);
                for at in 0..p * p {
                    let (output, of) = (at / p, at % p);
                    den[(j + power) * p * p + at] -= factor * theta[(arx.of_output(j) + of) * p + output];
                }
            }
        }
        for j in 0..=order {
            for power in 0..=order - j {
                let factor = binomial(order - j, power);
                for at in 0..p * m {
                    let (output, of) = (at / m, at % m);
                    num[(j + power) * p * m + at] += factor * theta[(arx.of_input(j) + of) * p + output];
                }
            }
        }
        let mut scale = 0.0f64;
        for j in 1..=order {
            let of = &den[(order - j) * p * p..(order - j + 1) * p * p];
            let norm = of.chunks_exact(p).map(|row| row.iter().map(|x| x.abs()).sum::<f64>());
            scale = scale.max(math::powf(norm.fold(0.0, f64::max), 1.0 / j as f64));
        }
        let scale = scale.clamp(1e-8, 1.0);
        self.n.copy_from_slice(&num[order * p * m..]);
        for part in [&mut *self.f, self.g, self.k, self.c0] {
            part.fill(0.0);
        }
        for j in 1..=order {
            let unit = math::powi(scale, 1 - j as i32);
            let p_j = &den[(order - j) * p * p..(order - j + 1) * p * p];
            let n_j = &num[(order - j) * p * m..(order - j + 1) * p * m];
            for i in 0..p {
                let row = (j - 1) * p + i;
                self.f[row * n + row] += 1.0;
                for l in 0..p {
                    self.f[row * n + l] -= unit * p_j[i * p + l];
                    self.k[row * p + l] = -unit * p_j[i * p + l];
                }
                self.k[row * p + i] += unit * binomial(order, j);
                if j < order {
                    self.f[row * n + row + p] += scale;
                }
                for l in 0..m {
                    let through: f64 = (0..p).map(|x| p_j[i * p + x] * self.n[x * m + l]).sum();
                    self.g[row * m + l] = unit * (n_j[i * m + l] - through);
                }
                if j == order {
                    self.c0[row] = unit * theta[i];
                }
            }
        }
    }

    /// The directions that are not damped out, and the model in them.
    fn reduce(&mut self, size: f64, work: &mut [f64]) -> Option<usize> {
        let (p, m, n) = (self.outputs, self.inputs, self.observed);
        let r = remembered(n, self.f, self.basis, work);
        let (square, wide) = (r * r, r * (m + 1));
        let (f, rest) = work.split_at_mut(square);
        let (inverse, rest) = rest.split_at_mut(square);
        let (table, rest) = rest.split_at_mut(2 * square);
        let (moved, rest) = rest.split_at_mut(wide);
        let (held, rest) = rest.split_at_mut(wide);
        let basis = &*self.basis;
        let dot = |column: usize, value: &dyn Fn(usize) -> f64| -> f64 {
            (0..n).map(|i| basis[i * n + column] * value(i)).sum()
        };
        for i in 0..r {
            for j in 0..r {
                let image = |row: usize| (0..n).map(|l| self.f[row * n + l] * basis[l * n + j]).sum();
                f[i * r + j] = dot(i, &image);
            }
            for j in 0..m {
                moved[i * (m + 1) + j] = dot(i, &|row| self.g[row * m + j]);
            }
            moved[i * (m + 1) + m] = dot(i, &|row| self.c0[row]);
        }
        table[..square].copy_from_slice(f);
        if !invert(r, &mut table[..square], inverse) || !logarithm(r, f, &mut self.a[..square], rest) {
            return None;
        }
        // C = E F^-1, where E shows the first states.
        for output in 0..p {
            for j in 0..r {
                self.c[output * r + j] = (0..r).map(|l| basis[output * n + l] * inverse[l * r + j]).sum();
            }
            for l in 0..m {
                let held: f64 = (0..r).map(|j| self.c[output * r + j] * moved[j * (m + 1) + l]).sum();
                self.d[output * m + l] = self.n[output * m + l] - held;
            }
            self.level[output] =
                -(0..r).map(|j| self.c[output * r + j] * moved[j * (m + 1) + m]).sum::<f64>();
        }
        // A = log F / H, and H phi_1(A H) (B, drift) = (G, c).
        self.a[..square].iter_mut().for_each(|entry| *entry /= size);
        phi(r, 1, &self.a[..square], size, table, rest);
        let (same, first) = table.split_at_mut(square);
        let apart = same.iter().zip(&*f).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if apart.is_nan() || apart > 1e-8 || !invert(r, first, inverse) {
            return None;
        }
        multiply(r, r, inverse, moved, held);
        for i in 0..r {
            for j in 0..m {
                self.b[i * m + j] = held[i * (m + 1) + j] / size;
            }
            self.drift[i] = held[i * (m + 1) + m] / size;
        }
        Some(r)
    }

    /// The state from the newest samples, counted backwards: `order` of them determine it.
    pub(crate) fn state<'b>(
        &self,
        order: usize,
        y: impl Fn(usize) -> &'b [f64],
        v: impl Fn(usize) -> &'b [f64],
        z: &mut [f64],
        work: &mut [f64],
    ) {
        let (n, p) = (self.observed, self.outputs);
        let (x, rest) = work.split_at_mut(n);
        let (next, rest) = rest.split_at_mut(n);
        x.fill(0.0);
        for back in (0..order).rev() {
            // x <- F x + G v + c + K (y - E x - N v).
            let miss = &mut rest[..p];
            for (output, miss) in miss.iter_mut().enumerate() {
                *miss = y(back)[output] - x[output];
            }
            for (miss, row) in miss.iter_mut().zip(self.n.chunks_exact(self.inputs.max(1))) {
                *miss -= row.iter().zip(v(back)).map(|(a, b)| a * b).sum::<f64>();
            }
            next.copy_from_slice(self.c0);
            add_product(self.f, x, next);
            add_product(self.g, v(back), next);
            add_product(self.k, miss, next);
            x.copy_from_slice(next);
        }
        for (column, z) in z.iter_mut().enumerate() {
            *z = (0..n).map(|i| self.basis[i * n + column] * x[i]).sum();
        }
    }
}

/// Orthonormal columns that span what a matrix maps to, the longest first; how many.
fn remembered(n: usize, matrix: &[f64], basis: &mut [f64], work: &mut [f64]) -> usize {
    let left = &mut work[..n * n];
    left.copy_from_slice(matrix);
    basis.fill(0.0);
    let square = |left: &[f64], j: usize| -> f64 { (0..n).map(|i| left[i * n + j] * left[i * n + j]).sum() };
    let largest = (0..n).map(|j| square(left, j)).fold(0.0, f64::max);
    for count in 0..n {
        let best = (0..n).fold(0, |best, j| if square(left, j) > square(left, best) { j } else { best });
        let length = square(left, best);
        if length <= FORGOTTEN * FORGOTTEN * largest.max(1.0) {
            return count;
        }
        for i in 0..n {
            basis[i * n + count] = left[i * n + best] / length.sqrt();
        }
        // Twice, because once leaves rounding errors.
        for _ in 0..2 {
            for j in 0..n {
                let part: f64 = (0..n).map(|i| basis[i * n + count] * left[i * n + j]).sum();
                for i in 0..n {
                    left[i * n + j] -= part * basis[i * n + count];
                }
            }
        }
    }
    n
}

fn binomial(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulator as matrices, with inputs that are held over windows.
    struct Plant<'a> {
        inputs: usize,
        a: &'a [f64],
        b: &'a [f64],
        c: &'a [f64],
        d: &'a [f64],
        drift: &'a [f64],
    }

    impl Plant<'_> {
        fn advance(&self, x: &mut [f64], u: &[f64], h: f64) {
            let n = x.len();
            let (mut table, mut work) = (vec![0.0; 2 * n * n], vec![0.0; phi_work(n)]);
            phi(n, 1, self.a, h, &mut table, &mut work);
            let mut rate = self.drift.to_vec();
            add_product(self.a, x, &mut rate);
            add_product(self.b, u, &mut rate);
            let mut moved = vec![0.0; n];
            add_product(&table[n * n..], &rate, &mut moved);
            x.iter_mut().zip(&moved).for_each(|(x, moved)| *x += h * moved);
        }

        fn outputs(&self, x: &[f64], u: &[f64]) -> Vec<f64> {
            let mut y = vec![0.0; self.d.len() / self.inputs];
            add_product(self.c, x, &mut y);
            add_product(self.d, u, &mut y);
            y
        }
    }

    /// The largest error of what the model of the plant says about the outputs half a window on, with another input, in
    /// parts of the largest output; after so many windows with inputs that are no function of outputs.
    fn half_a_window_on(plant: &Plant<'_>, start: &[f64], order: usize, windows: usize, h: f64) -> f64 {
        let (n, m) = (start.len(), plant.inputs);
        let p = plant.d.len() / m;
        let arx = Arx { inputs: m, outputs: p, order };
        let mut memory = vec![0.0; arx.memory()];
        let mut x = start.to_vec();
        let (mut ys, mut vs) = (vec![plant.outputs(&x, &vec![0.0; m])], vec![vec![0.0; m]]);
        let mut largest = 0.0f64;
        for window in 0..windows {
            let u: Vec<f64> =
                (0..m).map(|i| math::sin((window * (3 + i) + window * window) as f64)).collect();
            plant.advance(&mut x, &u, h);
            ys.insert(0, plant.outputs(&x, &u));
            vs.insert(0, u);
            largest = ys[0].iter().fold(largest, |most, y| most.max(y.abs()));
            if window >= order {
                let mut row = vec![0.0; arx.width(order) + p];
                arx.row(|back| &ys[back], |back| &vs[back], &mut row);
                arx.add(&mut memory, 1.0, &mut row);
            }
        }
        let mut theta = vec![0.0; arx.width(order) * p];
        arx.solve(order, &memory, &mut theta);
        let mut room = vec![0.0; Realization::memory(&arx)];
        let mut work = vec![0.0; Realization::work(&arx)];
        let mut model = Realization::of(&arx, order, &mut room);
        assert!(model.fill(&arx, order, &theta, h, &mut work), "no model");
        let r = *model.states as usize;
        assert!(r <= n, "{r} states");
        let mut z = vec![0.0; r];
        model.state(order, |back| &ys[back], |back| &vs[back], &mut z, &mut vec![0.0; 4 * order * p + p]);
        let found = Plant {
            inputs: m,
            a: &model.a[..r * r],
            b: &model.b[..r * m],
            c: &model.c[..p * r],
            d: model.d,
            drift: &model.drift[..r],
        };
        let u = vec![2.0; m];
        plant.advance(&mut x, &u, h / 2.0);
        found.advance(&mut z, &u, h / 2.0);
        let (expected, mut seen) = (plant.outputs(&x, &u), found.outputs(&z, &u));
        seen.iter_mut().zip(&*model.level).for_each(|(y, level)| *y += level);
        expected.iter().zip(&seen).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest
    }

    #[test]
    fn a_scalar_system_is_found_exactly_after_a_few_windows() {
        for d in [0.0, 0.25] {
            let plant = Plant { inputs: 1, a: &[-2.0], b: &[3.0], c: &[0.5], d: &[d], drift: &[0.7] };
            for h in [1e-3, 1e-2, 0.5] {
                let apart = half_a_window_on(&plant, &[0.3], 1, 8, h);
                println!("scalar {d} {h}: {apart:e}");
                assert!(apart < 1e-8, "{d} {h}: {apart:e}");
            }
        }
    }

    /// An oscillation of more than half a turn per window is aliased to a slower one.
    #[test]
    fn what_turns_by_half_a_round_in_a_window_has_no_model() {
        let arx = Arx { inputs: 1, outputs: 1, order: 1 };
        let mut theta = vec![0.0; arx.width(1)];
        theta[arx.of_output(0)] = -1.5; // y(k) = -0.5 y(k-1) + v(k)
        theta[arx.of_input(0)] = 1.0;
        let (mut room, mut work) = (vec![0.0; Realization::memory(&arx)], vec![0.0; Realization::work(&arx)]);
        let mut model = Realization::of(&arx, 1, &mut room);
        assert!(!model.fill(&arx, 1, &theta, 0.1, &mut work));
        assert!(*model.states < 0.0);
    }

    #[test]
    fn states_without_an_output_are_found_by_their_order() {
        let (mw, kw, kc, dc) = (40.0, 150000.0, 15000.0, 1000.0);
        let strut = Plant {
            inputs: 1,
            a: &[0.0, 1.0, 0.0, -(kw + kc) / mw, -dc / mw, kc / mw, 0.0, 0.0, 0.0],
            b: &[0.0, dc / mw, 1.0],
            c: &[-kc, -dc, kc],
            d: &[dc],
            drift: &[0.0, kw * 0.1 / mw, 0.0],
        };
        for h in [1e-3, 5e-3, 2e-2] {
            let apart = half_a_window_on(&strut, &[0.0; 3], 3, 40, h);
            println!("strut {h}: {apart:e}");
            assert!(apart < 1e-6, "{h}: {apart:e}");
        }
    }

    /// A mode that a window forgets answers at once; it is no state, and no logarithm of nothing is taken.
    #[test]
    fn what_a_window_forgets_answers_at_once() {
        let (k, c, d, m2) = (1e3, 10.0, 10.0, 2.25e-5);
        let light = Plant {
            inputs: 2,
            a: &[0.0, 1.0, -(k + c) / m2, -d / m2],
            b: &[0.0, 0.0, k / m2, d / m2],
            c: &[1.0, 0.0, 0.0, 1.0],
            d: &[0.0; 4],
            drift: &[0.0; 2],
        };
        for h in [1e-3, 1e-2] {
            let apart = half_a_window_on(&light, &[0.1, 0.0], 1, 20, h);
            println!("light {h}: {apart:e}");
            assert!(apart < 1e-4, "{h}: {apart:e}");
        }
        let gain = Plant { inputs: 1, a: &[], b: &[], c: &[], d: &[2.0], drift: &[] };
        assert!(half_a_window_on(&gain, &[], 1, 8, 0.1) < 1e-14);
    }

    /// Two outputs of order two: four states, each of them seen in both.
    #[test]
    fn several_outputs_of_a_higher_order_are_found_together() {
        let plant = Plant {
            inputs: 2,
            a: &[0.0, 1.0, 0.0, 0.0, -4.0, -0.5, 0.3, 0.1, 0.0, 0.0, 0.0, 1.0, 0.2, 0.0, -9.0, -0.8],
            b: &[0.0, 0.0, 1.0, 0.2, 0.0, 0.0, -0.3, 2.0],
            c: &[1.0, 0.1, 0.4, 0.0, -0.2, 0.0, 1.0, 0.3],
            d: &[0.5, 0.0, -0.1, 0.25],
            drift: &[0.0, 0.6, 0.0, -0.9],
        };
        for h in [0.05, 0.2] {
            let apart = half_a_window_on(&plant, &[0.3, 0.0, -0.2, 0.5], 2, 40, h);
            assert!(apart < 1e-7, "{h}: {apart:e}");
        }
    }
}
