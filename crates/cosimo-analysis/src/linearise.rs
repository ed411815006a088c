//! The coupled system as matrices, from steps of the engine: x' = A x + B y~, y = C x + D y~, where y are the outputs that
//! are connected, and y~ their values as used by the receivers. From these follow the monolithic system and the effect of
//! a cut with held inputs, also of one that does not exist yet.

use cosimo_core::Registry;
use cosimo_core::math;
use cosimo_engine::{Run, RunError, plan};
use cosimo_system::{EndRule, MethodConfig, Problem, System, in_one_line};

use crate::linalg::{Eigen, Matrix};
use crate::stability::{self, StabilityError};
use crate::variant::first_error;

/// Eigenvalues of a step nearer to 1 than this have a logarithm whose series converges at once.
const NEAR: f64 = 0.3;
/// Steps over which an error is followed.
const FOLLOWED: usize = 500;
/// Smaller than for a radius: ratios of entries are looked at, which friction near rest would bend.
const PERTURBATION: f64 = 1e-6;

/// Matrices of a system at one point.
#[derive(Debug, Clone)]
pub struct LinearSystem {
    pub a: Matrix,
    pub b: Matrix,
    pub c: Matrix,
    pub d: Matrix,
    /// Which outputs y holds.
    pub outputs: Vec<usize>,
    /// The simulator of each of them.
    pub owners: Vec<usize>,
    /// How many states belong to each simulator, in order.
    pub counts: Vec<usize>,
}

#[derive(Debug, thiserror::Error)]
pub enum LineariseError {
    #[error(transparent)]
    Stability(#[from] StabilityError),
    #[error("{}", in_one_line(.0))]
    Plan(Vec<Problem>),
    #[error("component `{0}` cannot be linearised: it exposes no states")]
    HiddenStates(String),
    #[error("no output is connected to an input: there is no coupling to analyse")]
    NothingExchanged,
    #[error("the equations could not be determined from steps as short as {0} s")]
    TooFast(f64),
}

impl LineariseError {
    pub fn code(&self) -> Option<&'static str> {
        match self {
            LineariseError::Stability(error) => error.code(),
            LineariseError::Plan(problems) => first_error(problems),
            _ => None,
        }
    }
}

/// Linearises a system at the present point of a run of it. Steps with held inputs show all: the states after a step are
/// e^(Ah) x + (integral of e^(As) ds) B y~, the outputs C times that and D y~.
pub fn linearise(
    system: &System,
    registry: &Registry,
    run: &mut Run,
    size: f64,
) -> Result<LinearSystem, LineariseError> {
    if run.layout().topology.driving.is_empty() {
        return Err(LineariseError::NothingExchanged);
    }
    if let Some(&hidden) = run.layout().topology.hidden.first() {
        return Err(LineariseError::HiddenStates(run.layout().topology.names[hidden].clone()));
    }
    let mut held = system.clone();
    held.methods = MethodConfig::default();
    held.methods.step.size = Some(size);
    held.experiment.history = None;
    held.experiment.end = EndRule::After;
    let mut probe = Run::new(plan(&held, registry).map_err(LineariseError::Plan)?.rewinding(), 1)
        .map_err(|error| LineariseError::Stability(error.into()))?;
    let outputs = probe.layout().topology.driving.clone();
    let states = probe.island().state_cells();
    let mut point = vec![0.0; probe.island().cells()];
    let mut there = vec![0.0; run.island().cells()];
    run.island().read_cells(&mut there).map_err(|error| StabilityError::from(RunError::from(error)))?;
    point[..states].copy_from_slice(&there[..states]);
    for (cell, &output) in point[states..].iter_mut().zip(&outputs) {
        *cell = run.outputs()[output];
    }
    let mut h = size;
    let (step, flow) = loop {
        let step = stability::step_matrix_at(&mut probe, h, &mut point, PERTURBATION)?;
        let flow = augmented(&step, states);
        if distance_from_one(&flow).is_some_and(|distance| distance < NEAR) {
            break (step, flow);
        }
        h /= 4.0;
        if h < 1e-12 * size {
            return Err(LineariseError::TooFast(h));
        }
    };
    let generator = logarithm(&flow, 1.0 / h);
    let n = step.ncols() - states;
    let propagated = step.block(0, 0, states, states);
    let told = step.block(states, 0, n, states);
    // C = P Phi^(-1), by the transposed equations.
    let c = propagated.transposed().solve(&told.transposed()).transposed();
    let d = &step.block(states, states, n, n) - &(&c * &step.block(0, states, states, n));
    let layout = probe.layout();
    let owners = outputs.iter().map(|&output| layout.topology.owners[output]).collect();
    let counts = layout.topology.state_counts.clone();
    Ok(LinearSystem {
        a: generator.block(0, 0, states, states),
        b: generator.block(0, states, states, n),
        c,
        d: clean(d),
        outputs,
        owners,
        counts,
    })
}

impl LinearSystem {
    /// A of the monolithic system: A + B (I - D)^(-1) C. `None` where the loop of direct feed-through has no solution.
    pub fn monolithic(&self) -> Option<Matrix> {
        let n = self.d.nrows();
        let loops = Matrix::from_fn(n, n, |row, column| f64::from(row == column) - self.d[(row, column)]);
        let outputs = loops.solve(&self.c);
        let whole = &self.a + &(&self.b * &outputs);
        whole.is_finite().then_some(whole)
    }

    /// One step with held inputs and outputs as the step leaves them, on states and outputs. Wu 2018, (3.4).
    pub fn held_step(&self, size: f64) -> Matrix {
        let (x, y) = (self.a.nrows(), self.d.nrows());
        let states = held_flow(&self.a, &self.b, size);
        let mut told = &self.c * &states;
        for row in 0..y {
            for column in 0..y {
                told[(row, x + column)] += self.d[(row, column)];
            }
        }
        Matrix::from_fn(
            x + y,
            x + y,
            |row, column| {
                if row < x { states[(row, column)] } else { told[(row - x, column)] }
            },
        )
    }

    /// The radius of that step, among modes that outputs show.
    pub fn held_radius(&self, size: f64) -> Option<f64> {
        stability::observable_radius(&self.held_step(size), self.a.nrows()).map(|found| found.radius)
    }

    /// The error of that step over some hundred steps after a disturbance that moves every state by 1: of outputs, relative
    /// to their largest values. `None` where the coupled system has no solution.
    pub fn held_error(&self, size: f64) -> Option<f64> {
        let n = self.d.nrows();
        let loops = Matrix::from_fn(n, n, |row, column| f64::from(row == column) - self.d[(row, column)]);
        let outputs = loops.solve(&self.c);
        let exact = exponential(&self.monolithic()?, size);
        let (held, x) = (self.held_step(size), self.a.nrows());
        let mut truth = Matrix::from_fn(x, 1, |_, _| 1.0);
        let told = &outputs * &truth;
        let mut found = Matrix::from_fn(x + n, 1, |row, _| if row < x { 1.0 } else { told[(row - x, 0)] });
        let (mut most, mut errors) = (vec![0.0f64; n], vec![0.0f64; n]);
        for _ in 0..FOLLOWED {
            (truth, found) = (&exact * &truth, &held * &found);
            let told = &outputs * &truth;
            for row in 0..n {
                most[row] = most[row].max(told[(row, 0)].abs());
                errors[row] = errors[row].max((found[(x + row, 0)] - told[(row, 0)]).abs());
            }
        }
        let largest = most.iter().copied().fold(0.0, f64::max);
        let relative = errors.iter().zip(&most).map(|(error, most)| error / most.max(1e-6 * largest));
        Some(relative.fold(0.0, f64::max)).filter(|error| error.is_finite())
    }

    /// Where the states of a simulator stand.
    pub fn states_of(&self, simulator: usize) -> std::ops::Range<usize> {
        let before: usize = self.counts[..simulator].iter().sum();
        before..before + self.counts[simulator]
    }
}

/// [[Phi, G], [0, I]] of a step.
fn augmented(step: &Matrix, states: usize) -> Matrix {
    Matrix::from_fn(step.nrows(), step.ncols(), |row, column| {
        if row < states { step[(row, column)] } else { f64::from(row == column) }
    })
}

fn distance_from_one(matrix: &Matrix) -> Option<f64> {
    let values = Eigen::of(matrix)?.values;
    Some(
        values
            .iter()
            .map(|value| (math::powi(value.re - 1.0, 2) + math::powi(value.im, 2)).sqrt())
            .fold(0.0, f64::max),
    )
}

/// log(M) times a factor, by the series of log(1 + E), which converges where the eigenvalues of E are below 1.
fn logarithm(matrix: &Matrix, factor: f64) -> Matrix {
    let n = matrix.nrows();
    let e = Matrix::from_fn(n, n, |row, column| matrix[(row, column)] - f64::from(row == column));
    let mut power = e.clone();
    let mut sum = e.clone();
    for k in 2..60 {
        power = &power * &e;
        let sign = if k % 2 == 0 { -1.0 } else { 1.0 } / f64::from(k);
        sum = &sum + &power.map(|entry| sign * entry);
    }
    sum.map(|entry| factor * entry)
}

/// What states x' = A x + B u become in a step with held inputs: a matrix for states and inputs.
pub(crate) fn held_flow(a: &Matrix, b: &Matrix, size: f64) -> Matrix {
    let (x, all) = (a.nrows(), a.nrows() + b.ncols());
    let generator = Matrix::from_fn(all, all, |row, column| match (row < x, column < x) {
        (true, true) => a[(row, column)],
        (true, false) => b[(row, column - x)],
        _ => 0.0,
    });
    exponential(&generator, size).block(0, 0, x, all)
}

/// e^(M h), by the series of a part of it and squaring.
pub fn exponential(matrix: &Matrix, h: f64) -> Matrix {
    let n = matrix.nrows();
    let norm = (0..n)
        .map(|row| (0..n).map(|column| (matrix[(row, column)] * h).abs()).sum::<f64>())
        .fold(0.0, f64::max);
    let halvings = if norm > 0.5 { math::log2(norm / 0.5).ceil() as i32 } else { 0 };
    let part = h * math::powi(0.5, halvings);
    let small = matrix.map(|entry| entry * part);
    let mut term = Matrix::identity(n);
    let mut sum = Matrix::identity(n);
    for k in 1..20 {
        term = (&term * &small).map(|entry| entry / f64::from(k));
        sum = &sum + &term;
    }
    for _ in 0..halvings {
        sum = &sum * &sum;
    }
    sum
}

/// What is left of differences that should be nothing, beside what is something in the same row.
fn clean(matrix: Matrix) -> Matrix {
    let row_size =
        |row: usize| (0..matrix.ncols()).map(|column| matrix[(row, column)].abs()).fold(0.0, f64::max);
    Matrix::from_fn(matrix.nrows(), matrix.ncols(), |row, column| {
        let value = matrix[(row, column)];
        if value.abs() <= 1e-9 * row_size(row).max(1e-3) { 0.0 } else { value }
    })
}
