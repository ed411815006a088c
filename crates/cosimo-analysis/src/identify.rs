//! Linear models of components from their answers to held inputs, for components that hide their states.
//!
//! The answer y(s) to a step of an input is known at instants s = t + tau + h whose parts t, tau and h are powers of two of
//! a short time, so that few windows cover time constants over many decades. A pulse of length t leaves the state x(t);
//! what follows it, y(t + tau) - y(tau) = C e^(A tau) x(t), is an entry of a Hankel matrix with the instants of rows and
//! columns in equal ratios. With the singular value decomposition H = U S V^T cut at its rank and H(h) shifted by h,
//! S^(-1/2) U^T H(h) V S^(-1/2) = e^(A h) (Ho & Kalman 1966, Zeiger & McEwen 1974). The mean over shifts of all sizes
//! separates modes over all decades. A mode follows from the longest shift at which it has not decayed. B, C, D by least squares.
//!
//! The horizon grows until a model predicts answers four times as far as those that it was made from.

use cosimo_core::dense;
use cosimo_core::math;

use crate::linalg::{Complex, Eigen, Matrix, Svd};

/// Powers of two of the first horizon, and the last one.
const FIRST: u32 = 10;
const LAST: u32 = 20;
/// A horizon is long enough where the model of a quarter of it predicts all of it to this, relative to the largest so far.
const AGREES: f64 = 5e-3;
/// A model is good where it repeats what it was made from to this.
const FITS: f64 = 2e-3;
/// The order of a model is the least that is as good as the best one within this factor, or as this.
const AS_GOOD: f64 = 3.0;
const GOOD: f64 = 2e-5;
/// A mode that grows by less than e to this over the horizon counts as neutral.
const UNSHOWN: f64 = 0.5;
/// The largest order.
const MOST: usize = 12;
/// Of values beside which differences are rounding errors.
const ROUNDING: f64 = 4e-16;

/// Instants of answers: multiples of a unit, all that Hankel matrices of its powers need.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Seconds.
    pub unit: f64,
    powers: Vec<u64>,
    shifts: Vec<u64>,
    multiples: Vec<u64>,
}

impl Grid {
    pub fn new(unit: f64, most: u32) -> Grid {
        let powers: Vec<u64> = (0..=most).map(|k| 1 << k).collect();
        let shifts: Vec<u64> = (0..=most).step_by(2).map(|k| 1 << k).collect();
        let mut multiples = Vec::new();
        for &tau in &powers {
            multiples.push(tau);
            multiples.extend(shifts.iter().map(|h| tau + h));
            for &t in &powers {
                multiples.push(t + tau);
                multiples.extend(shifts.iter().map(|h| t + tau + h));
            }
        }
        multiples.sort_unstable();
        multiples.dedup();
        Grid { unit, powers, shifts, multiples }
    }

    /// The sizes of windows from one instant to the next.
    pub fn sizes(&self) -> Vec<f64> {
        let mut before = 0;
        let size = |&multiple: &u64| {
            let steps = multiple - before;
            before = multiple;
            steps as f64 * self.unit
        };
        self.multiples.iter().map(size).collect()
    }

    /// Multiples of the unit.
    pub fn multiples(&self) -> &[u64] {
        &self.multiples
    }

    pub fn horizon(&self) -> f64 {
        self.multiples.last().map_or(0.0, |last| *last as f64 * self.unit)
    }

    fn place(&self, multiple: u64) -> usize {
        self.multiples.binary_search(&multiple).unwrap_or(0)
    }
}

/// Answers of one component: per input a matrix of instants by outputs, changes per unit of the input.
#[derive(Debug, Clone)]
pub struct Answers {
    pub steps: Vec<Matrix>,
    /// What the outputs do with all inputs held, from the beginning on.
    pub base: Matrix,
    /// The errors of each output in `steps`: of rounding, and of solvers inside.
    pub noise: Vec<f64>,
}

/// A model x' = A x + B u, y = C x + D u, with what moves it by itself as `drift`.
#[derive(Debug, Clone)]
pub struct Fit {
    pub a: Matrix,
    pub b: Matrix,
    pub c: Matrix,
    pub d: Matrix,
    pub drift: Vec<f64>,
    /// The largest deviation from the answers, relative to the largest answer so far of the same output to the same input.
    pub residual: f64,
}

/// e^(A s) and its integral at every instant of a grid.
struct Flow {
    exponentials: Vec<Matrix>,
    integrals: Vec<Matrix>,
}

impl Flow {
    fn of(a: &Matrix, grid: &Grid) -> Flow {
        let n = a.nrows();
        let rows: Vec<f64> = (0..n * n).map(|at| a[(at / n, at % n)]).collect();
        let (mut table, mut work) = (vec![0.0; 2 * n * n], vec![0.0; dense::phi_work(n)]);
        let mut flow = Flow { exponentials: Vec::new(), integrals: Vec::new() };
        for &multiple in &grid.multiples {
            let s = multiple as f64 * grid.unit;
            dense::phi(n, 1, &rows, s, &mut table, &mut work);
            flow.exponentials.push(Matrix::from_fn(n, n, |row, column| table[row * n + column]));
            flow.integrals.push(Matrix::from_fn(n, n, |row, column| s * table[n * n + row * n + column]));
        }
        flow
    }
}

fn largest(column: &[f64]) -> f64 {
    column.iter().fold(0.0, |most, value| most.max(value.abs()))
}

/// Between the rounding errors and the largest answer, in the middle of their logarithms: answers below count less, as their
/// relative errors would exceed those of a value at the floor.
fn floor(noise: f64, largest: f64) -> f64 {
    (noise * largest).sqrt().max(noise).max(f64::MIN_POSITIVE)
}

/// The largest modulus of a column so far, at every row; not below the floor.
fn running(column: &[f64], noise: f64) -> Vec<f64> {
    let mut most = floor(noise, largest(column));
    let so_far = |value: &f64| {
        most = most.max(value.abs());
        most
    };
    column.iter().map(so_far).collect()
}

impl Fit {
    /// Answers to a step of an input, instants by outputs.
    fn predict(&self, flow: &Flow, b: &Matrix, d: &[f64]) -> Matrix {
        let mut found = Matrix::zeros(flow.integrals.len(), self.c.nrows());
        for (row, integral) in flow.integrals.iter().enumerate() {
            let y = &self.c * &(integral * b);
            for (output, direct) in d.iter().enumerate() {
                found[(row, output)] = y[(output, 0)] + direct;
            }
        }
        found
    }

    /// The largest relative deviation from answers.
    pub fn deviation(&self, grid: &Grid, answers: &Answers) -> f64 {
        let flow = Flow::of(&self.a, grid);
        let mut worst = 0.0f64;
        for (input, measured) in answers.steps.iter().enumerate() {
            let d: Vec<f64> = (0..self.c.nrows()).map(|output| self.d[(output, input)]).collect();
            let found = self.predict(&flow, &self.b.block(0, input, self.a.nrows(), 1), &d);
            worst = worst.max(deviation(&found, measured, &answers.noise));
        }
        worst
    }
}

fn deviation(found: &Matrix, measured: &Matrix, noise: &[f64]) -> f64 {
    let mut worst = 0.0f64;
    for (output, noise) in noise.iter().enumerate() {
        let column = measured.column(output);
        if column.iter().all(|value| value.abs() <= *noise) {
            continue;
        }
        for ((found, measured), most) in found.column(output).iter().zip(column).zip(running(column, *noise))
        {
            let error = (found - measured).abs() / most;
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
        }
    }
    worst
}

/// Solves for X with the least squares of M X - R.
fn least_squares(matrix: &Matrix, right: &Matrix) -> Option<Matrix> {
    let Svd { left, values, right: v } = Svd::of(matrix)?;
    let mut projected = &left.transposed() * right;
    let cut = values.first().copied().unwrap_or(0.0) * 1e-14;
    for (row, value) in values.iter().enumerate() {
        let factor = if *value > cut { 1.0 / value } else { 0.0 };
        for column in 0..projected.ncols() {
            projected[(row, column)] *= factor;
        }
    }
    Some(&v * &projected)
}

/// Hankel matrices, scaled so that all rows and columns have the same size, cut to the largest singular values.
struct Reduced {
    /// S^(1/2) of the kept values.
    values: Vec<f64>,
    /// U^T H(h) V for every shift.
    shifted: Vec<Matrix>,
    /// U, and the scale of its rows.
    left: Matrix,
    rows: Vec<f64>,
}

fn reduced(grid: &Grid, answers: &Answers) -> Option<Reduced> {
    let (taus, ts) = (grid.powers.len(), grid.powers.len());
    let (outputs, inputs) = (answers.noise.len(), answers.steps.len());
    let whole = |h: u64| {
        Matrix::from_fn(taus * outputs, ts * inputs, |row, column| {
            let (tau, t) = (grid.powers[row / outputs], grid.powers[column / inputs]);
            let answer = &answers.steps[column % inputs];
            let at = |multiple: u64| answer[(grid.place(multiple), row % outputs)];
            at(t + tau + h) - at(tau + h)
        })
    };
    let hankel = whole(0);
    // Where everything has decayed, rounding errors must not be made large.
    let most = |input: usize, output: usize| largest(answers.steps[input].column(output));
    let rows: Vec<f64> = (0..hankel.nrows())
        .map(|row| {
            let output = row % outputs;
            let all = (0..inputs).map(|input| most(input, output)).fold(0.0, f64::max);
            let own = (0..hankel.ncols()).map(|k| hankel[(row, k)].abs()).fold(0.0, f64::max);
            own.max(floor(answers.noise[output], all))
        })
        .collect();
    let relative = |input: usize| {
        let parts = (0..outputs).map(|output| (answers.noise[output], most(input, output)));
        parts.filter(|(noise, most)| most > noise).map(|(noise, most)| noise / most).fold(0.0, f64::max)
    };
    let columns: Vec<f64> = (0..hankel.ncols())
        .map(|k| {
            let own = (0..rows.len()).map(|row| hankel[(row, k)].abs() / rows[row]).fold(0.0, f64::max);
            own.max(floor(relative(k % inputs), 1.0))
        })
        .collect();
    let scaled = |matrix: &Matrix| {
        Matrix::from_fn(rows.len(), columns.len(), |row, k| matrix[(row, k)] / (rows[row] * columns[k]))
    };
    let Svd { left, values, right } = Svd::of(&scaled(&hankel))?;
    let kept = values.iter().filter(|value| **value > 1e-14 * values[0]).count().min(MOST);
    let (left, right) = (left.block(0, 0, rows.len(), kept), right.block(0, 0, columns.len(), kept));
    let turned = left.transposed();
    let shifted = grid.shifts.iter().map(|&h| &turned * &(&scaled(&whole(h)) * &right)).collect();
    let values = values[..kept].iter().map(|value| value.sqrt()).collect();
    Some(Reduced { values, shifted, left, rows })
}

impl Reduced {
    /// A of the given order.
    fn generator(&self, order: usize, grid: &Grid) -> Option<Matrix> {
        let steps: Vec<Matrix> = self
            .shifted
            .iter()
            .map(|shifted| {
                Matrix::from_fn(order, order, |row, k| {
                    shifted[(row, k)] / (self.values[row] * self.values[k])
                })
            })
            .collect();
        let mean = steps.iter().skip(1).fold(steps[0].clone(), |sum, step| &sum + step);
        let mean = mean.map(|entry| entry / steps.len() as f64);
        let eigen = Eigen::of(&mean)?;
        // Real vectors: of a pair the real and the imaginary part.
        let vectors = Matrix::from_fn(order, order, |row, mode| {
            let at = |mode: usize| eigen.vector_entry(row, mode);
            if eigen.values[mode].im < 0.0 { at(mode - 1).im } else { at(mode).re }
        });
        let turned: Vec<Matrix> = steps.iter().map(|step| vectors.solve(&(step * &vectors))).collect();
        let shifts: Vec<f64> = grid.shifts.iter().map(|&shift| shift as f64 * grid.unit).collect();
        let mut blocks = Matrix::zeros(order, order);
        for mode in (0..order).filter(|&mode| eigen.values[mode].im >= 0.0) {
            let pair = eigen.values[mode].im > 0.0;
            let factor = |step: &Matrix| {
                if pair {
                    let re = 0.5 * (step[(mode, mode)] + step[(mode + 1, mode + 1)]);
                    Complex { re, im: 0.5 * (step[(mode, mode + 1)] - step[(mode + 1, mode)]) }
                } else {
                    Complex::real(step[(mode, mode)])
                }
            };
            let factors: Vec<Complex> = turned.iter().map(factor).collect();
            let mut rate = refined(rate(&factors, &shifts)?, eigen.values[mode], &shifts);
            // Growth that no answer of this length shows is none.
            if rate.re > 0.0 && rate.re * grid.horizon() < UNSHOWN {
                rate.re = 0.0;
            }
            blocks[(mode, mode)] = rate.re;
            if pair {
                blocks[(mode + 1, mode + 1)] = rate.re;
                blocks[(mode, mode + 1)] = rate.im;
                blocks[(mode + 1, mode)] = -rate.im;
            }
        }
        // A = T L T^-1, from the transposed equations.
        let a = vectors.transposed().solve(&(&vectors * &blocks).transposed()).transposed();
        a.is_finite().then_some(a)
    }

    /// C from the rows of U S^(1/2), which are C e^(A tau).
    fn outputs(&self, order: usize, a: &Matrix, grid: &Grid, outputs: usize) -> Option<Matrix> {
        let flow = Flow::of(a, &Grid { multiples: grid.powers.clone(), ..grid.clone() });
        let mut c = Matrix::zeros(outputs, order);
        for output in 0..outputs {
            let mut matrix = Matrix::zeros(order * grid.powers.len(), order);
            let mut right = Matrix::zeros(order * grid.powers.len(), 1);
            for (tau, exponential) in flow.exponentials.iter().enumerate() {
                let row = tau * outputs + output;
                for k in 0..order {
                    let place = tau * order + k;
                    right[(place, 0)] = self.left[(row, k)] * self.values[k];
                    for state in 0..order {
                        matrix[(place, state)] = exponential[(state, k)] / self.rows[row];
                    }
                }
            }
            if !matrix.is_finite() {
                return None;
            }
            let found = least_squares(&matrix, &right)?;
            (0..order).for_each(|k| c[(output, k)] = found[(k, 0)]);
        }
        Some(c)
    }
}

/// A rate from the factors e^(rate h) of rising shifts: the logarithm of the longest one that has not decayed, its branch
/// from the shorter ones.
fn rate(factors: &[Complex], shifts: &[f64]) -> Option<Complex> {
    let logarithm = |z: Complex| Complex { re: math::ln(z.norm()), im: math::atan2(z.im, z.re) };
    let first = logarithm(*factors.first()?);
    if !(first.re.is_finite()) {
        return None;
    }
    let mut rate = first * (1.0 / shifts[0]);
    for (factor, &h) in factors.iter().zip(shifts).skip(1) {
        if !(factor.norm() > 0.02 && factor.norm().is_finite()) {
            break;
        }
        let now = logarithm(*factor);
        let turns = ((rate.im * h - now.im) / std::f64::consts::TAU).round();
        let now = Complex { re: now.re, im: now.im + turns * std::f64::consts::TAU };
        let apart = now - rate * h;
        if apart.norm() > 1.0 {
            break;
        }
        rate = now * (1.0 / h);
    }
    Some(rate)
}

/// Newton on mean(e^(rate h)) = value: eigenvalues that are nearly equal then have rates that belong to their vectors.
fn refined(first: Complex, value: Complex, shifts: &[f64]) -> Complex {
    let mut rate = first;
    for _ in 0..8 {
        let (mut sum, mut slope) = (Complex::real(0.0), Complex::real(0.0));
        for &h in shifts {
            let size = math::exp(rate.re * h) / shifts.len() as f64;
            let (sin, cos) = math::sin_cos(rate.im * h);
            let term = Complex { re: size * cos, im: size * sin };
            sum = Complex { re: sum.re + term.re, im: sum.im + term.im };
            slope = Complex { re: slope.re + h * term.re, im: slope.im + h * term.im };
        }
        let change = (sum - value) / slope;
        if !change.norm().is_finite() {
            return first;
        }
        rate = rate - change;
        if change.norm() * shifts[shifts.len() - 1] < 1e-13 {
            break;
        }
    }
    let first_size = first.norm().max(1.0 / shifts[shifts.len() - 1]);
    if (rate - first).norm() < 0.1 * first_size { rate } else { first }
}

/// The model that repeats the answers best. `None` where none is finite.
pub fn fit(grid: &Grid, answers: &Answers) -> Option<Fit> {
    let outputs = answers.noise.len();
    let silent = answers
        .steps
        .iter()
        .all(|step| (0..outputs).all(|k| step.column(k).iter().all(|y| y.abs() <= answers.noise[k])));
    let mut all = vec![of_order(grid, answers, None, 0)];
    let good = |fit: &Option<Fit>| fit.as_ref().is_some_and(|fit| fit.residual <= GOOD);
    if !silent
        && !all.iter().any(good)
        && let Some(reduced) = reduced(grid, answers)
    {
        for order in 1..=reduced.values.len() {
            let found = of_order(grid, answers, Some(&reduced), order);
            let enough = good(&found);
            all.push(found);
            if enough {
                break;
            }
        }
    }
    let least = all.iter().flatten().map(|fit| fit.residual).fold(f64::INFINITY, f64::min);
    all.into_iter().flatten().find(|fit| fit.residual <= (AS_GOOD * least).max(GOOD))
}

fn of_order(grid: &Grid, answers: &Answers, reduced: Option<&Reduced>, order: usize) -> Option<Fit> {
    let outputs = answers.noise.len();
    let (a, c) = match reduced {
        Some(reduced) => {
            let a = reduced.generator(order, grid)?;
            let c = reduced.outputs(order, &a, grid, outputs)?;
            (a, c)
        }
        None => (Matrix::zeros(0, 0), Matrix::zeros(outputs, 0)),
    };
    let flow = Flow::of(&a, grid);
    let inputs = answers.steps.len();
    let (mut b, mut d) = (Matrix::zeros(order, inputs), Matrix::zeros(outputs, inputs));
    for (input, measured) in answers.steps.iter().enumerate() {
        let found = pushed(&flow, &c, measured, &answers.noise, true)?;
        (0..order).for_each(|row| b[(row, input)] = found[(row, 0)]);
        for output in 0..outputs {
            let most = measured.column(output).iter().fold(0.0f64, |most, y| most.max(y.abs()));
            let direct = found[(order + output, 0)];
            d[(output, input)] = if direct.abs() <= 1e-9 * most { 0.0 } else { direct };
        }
    }
    let mut fit = Fit { a, b, c, d, drift: vec![0.0; order], residual: 0.0 };
    fit.residual = fit.deviation(grid, answers);
    if order > 0
        && answers.base.largest() > 0.0
        && let Some(found) = pushed(&flow, &fit.c, &answers.base, &answers.noise, false)
    {
        fit.drift = (0..order).map(|row| found[(row, 0)]).collect();
    }
    Some(fit).filter(|fit| fit.residual.is_finite())
}

/// b and, with `direct`, d of y(s) = C (integral of e^(A s)) b + d by least squares, every instant relative to the largest
/// answer so far.
fn pushed(flow: &Flow, c: &Matrix, measured: &Matrix, noise: &[f64], direct: bool) -> Option<Matrix> {
    let (order, outputs, instants) = (c.ncols(), c.nrows(), flow.integrals.len());
    let unknowns = order + if direct { outputs } else { 0 };
    let mut matrix = Matrix::zeros(instants * outputs, unknowns);
    let mut right = Matrix::zeros(instants * outputs, 1);
    let scales: Vec<Vec<f64>> =
        (0..outputs).map(|output| running(measured.column(output), noise[output])).collect();
    for (instant, integral) in flow.integrals.iter().enumerate() {
        let gains = c * integral;
        for output in 0..outputs {
            let row = instant * outputs + output;
            let weight = 1.0 / scales[output][instant];
            for state in 0..order {
                matrix[(row, state)] = weight * gains[(output, state)];
            }
            if direct {
                matrix[(row, order + output)] = weight;
            }
            right[(row, 0)] = weight * measured[(instant, output)];
        }
    }
    if !(matrix.is_finite() && right.is_finite()) {
        return None;
    }
    if unknowns == 0 {
        return Some(Matrix::zeros(0, 1));
    }
    // Columns of the same size, so that slow and fast states count alike.
    let sizes: Vec<f64> = (0..unknowns)
        .map(|k| matrix.column(k).iter().fold(0.0f64, |most, value| most.max(value.abs())))
        .map(|size| if size > 0.0 { size } else { 1.0 })
        .collect();
    for (column, size) in sizes.iter().enumerate() {
        matrix.column_mut(column).iter_mut().for_each(|value| *value /= size);
    }
    let mut found = least_squares(&matrix, &right)?;
    (0..unknowns).for_each(|row| found[(row, 0)] /= sizes[row]);
    Some(found)
}

/// Rounding errors of differences of values of this size, per unit of a perturbation.
pub(crate) fn rounding(largest: f64, perturbation: f64) -> f64 {
    ROUNDING * largest / perturbation
}

/// Grows the horizon until models agree; returns it with them. `measure` gives the answers of all components over a grid.
pub fn identify<E>(
    unit: f64,
    longest: f64,
    most_steps: Option<u64>,
    mut measure: impl FnMut(&Grid) -> Result<Vec<Answers>, E>,
) -> Result<Result<(Vec<Fit>, f64), Doubt>, E> {
    let mut power = FIRST;
    let mut grid = Grid::new(unit, power);
    let mut answers = measure(&grid)?;
    loop {
        let fits: Option<Vec<Fit>> = answers.iter().map(|answers| fit(&grid, answers)).collect();
        let Some(fits) = fits else {
            return Ok(Err(Doubt { component: 0, deviation: f64::INFINITY, horizon: grid.horizon() }));
        };
        let (component, residual) = worst(fits.iter().map(|fit| fit.residual));
        let next = Grid::new(unit, power + 2);
        let enough = grid.horizon() >= longest;
        if enough && residual <= FITS {
            return Ok(Ok((fits, grid.horizon())));
        }
        let beyond = power + 2 > LAST
            || most_steps.is_some_and(|most| next.multiples.last().is_some_and(|last| *last > most));
        if beyond || enough {
            return Ok(Err(Doubt { component, deviation: residual, horizon: grid.horizon() }));
        }
        let longer = measure(&next)?;
        let (_, deviation) =
            worst(fits.iter().zip(&longer).map(|(fit, answers)| fit.deviation(&next, answers)));
        (power, grid, answers) = (power + 2, next, longer);
        if deviation <= AGREES {
            let fits: Option<Vec<Fit>> = answers.iter().map(|answers| fit(&grid, answers)).collect();
            if let Some(fits) = fits {
                let (_, residual) = worst(fits.iter().map(|fit| fit.residual));
                if residual <= FITS {
                    return Ok(Ok((fits, grid.horizon())));
                }
            }
        }
    }
}

/// Why a model is not believed: the component that fits worst.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    pub component: usize,
    pub deviation: f64,
    pub horizon: f64,
}

fn worst(all: impl Iterator<Item = f64>) -> (usize, f64) {
    let mut found = (0, 0.0);
    for (place, value) in all.enumerate() {
        if value > found.1 || value.is_nan() {
            found = (place, value);
        }
    }
    found
}
