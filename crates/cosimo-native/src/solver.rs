//! The solvers inside a simulator: explicit micro steps for any model, the exact flow for linear ones.
//!
//! Explicit ones take a fixed number of micro steps, because papers on coupling state that number.
//! Deliberately without error control: what a study of coupling needs is a known inner error.

use cosimo_core::math;
use cosimo_core::{Inputs, Options, Segment, Spec, Window};

use crate::linear::{Linear, combine};
use crate::ode::Model;
use crate::phi::Phi;

/// Fixed micro steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// All new values from old values, with the input at the start of the micro step.
    Euler { micro_steps: usize },
    /// The same with the input at the end of the micro step. Wu 2018, Eq. (3.10).
    EulerEnd { micro_steps: usize },
    /// The classical method of order four.
    Rk4 { micro_steps: usize },
}

/// The option `micro_steps`.
pub const MICRO_STEPS: Spec =
    Spec::count("micro_steps", 10, 1, "micro steps of the inner solver per macro step; unused by `exact`");
/// The option `solver` of any model.
pub const EXPLICIT: Spec = Spec::choice("solver", "euler", &["euler", "euler-end", "rk4"], SOLVER);
/// The option `solver` of a linear model.
pub const EXACT: Spec = Spec::choice("solver", "exact", &["exact", "euler", "euler-end", "rk4"], SOLVER);

const SOLVER: &str =
    "the inner solver; `euler` takes inputs at the start of a micro step, `euler-end` at its end";

impl Solver {
    /// From the options `solver` and `micro_steps`.
    pub fn of(options: &Options) -> Solver {
        let micro_steps = options.count("micro_steps");
        match options.text("solver") {
            "euler-end" => Solver::EulerEnd { micro_steps },
            "rk4" => Solver::Rk4 { micro_steps },
            _ => Solver::Euler { micro_steps },
        }
    }
}

/// An explicit solver with its working memory.
#[derive(Debug)]
pub(crate) struct Explicit {
    solver: Solver,
    slopes: [Vec<f64>; 4],
    stage: Vec<f64>,
}

impl Explicit {
    pub(crate) fn new(solver: Solver, states: usize) -> Explicit {
        let room = || vec![0.0; states];
        Explicit { solver, slopes: std::array::from_fn(|_| room()), stage: room() }
    }

    /// Moves `x` over the window and returns the evaluations; `u` is scratch.
    pub(crate) fn step<M: Model>(
        &mut self,
        model: &M,
        x: &mut [f64],
        u: &mut [f64],
        inputs: &Inputs<'_>,
        window: &Window,
    ) -> u64 {
        let (start, size) = (window.from.seconds(), window.size);
        let [k1, k2, k3, k4] = &mut self.slopes;
        match self.solver {
            Solver::Euler { micro_steps } | Solver::EulerEnd { micro_steps } => {
                let h = size / micro_steps as f64;
                let later = usize::from(matches!(self.solver, Solver::EulerEnd { .. }));
                for i in 0..micro_steps {
                    evaluate_inputs(inputs, (i + later) as f64 * h, u);
                    model.derivatives_at(start + i as f64 * h, x, u, k1);
                    for (x, dx) in x.iter_mut().zip(&*k1) {
                        *x += h * dx;
                    }
                }
                micro_steps as u64
            }
            Solver::Rk4 { micro_steps } => {
                let h = size / micro_steps as f64;
                let stage = &mut self.stage;
                for i in 0..micro_steps {
                    let s = i as f64 * h;
                    evaluate_inputs(inputs, s, u);
                    model.derivatives_at(start + s, x, u, k1);
                    evaluate_inputs(inputs, s + h / 2.0, u);
                    ahead(x, h / 2.0, k1, stage);
                    model.derivatives_at(start + s + h / 2.0, stage, u, k2);
                    ahead(x, h / 2.0, k2, stage);
                    model.derivatives_at(start + s + h / 2.0, stage, u, k3);
                    evaluate_inputs(inputs, s + h, u);
                    ahead(x, h, k3, stage);
                    model.derivatives_at(start + s + h, stage, u, k4);
                    for j in 0..x.len() {
                        x[j] += h / 6.0 * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j]);
                    }
                }
                4 * micro_steps as u64
            }
        }
    }
}

fn evaluate_inputs(inputs: &Inputs<'_>, s: f64, u: &mut [f64]) {
    for (port, u) in u.iter_mut().enumerate() {
        *u = inputs.at(port, s);
    }
}

fn ahead(x: &[f64], h: f64, slope: &[f64], into: &mut [f64]) {
    for ((into, x), slope) in into.iter_mut().zip(x).zip(slope) {
        *into = x + h * slope;
    }
}

/// Coefficients of a segment.
const COEFFICIENTS: usize = 4;

/// The highest phi needed for the integral of the response to s^3.
const TOP: usize = COEFFICIENTS + 1;

/// The exact response of a linear model to cubic inputs, recomputed only when the step size changes.
#[derive(Debug)]
pub(crate) struct Exact {
    model: Linear,
    phi: Phi,
    /// The size that `end` and `area` are for.
    size: f64,
    /// The states at the end of the step.
    end: Flow,
    /// The integrals of the states over the step.
    area: Flow,
    next: Vec<f64>,
    areas: Vec<f64>,
    /// Integrals of the inputs.
    input_integrals: Vec<f64>,
}

impl Exact {
    pub(crate) fn new(model: &Linear) -> Exact {
        let (states, inputs) = (model.initial.len(), model.inputs.len());
        Exact {
            model: model.clone(),
            phi: Phi::new(states, TOP),
            size: f64::NAN,
            end: Flow::new(states, inputs),
            area: Flow::new(states, inputs),
            next: vec![0.0; states],
            areas: vec![0.0; states],
            input_integrals: vec![0.0; inputs],
        }
    }

    /// Moves `x` over the window and returns the evaluations. `integrals` of the outputs may be empty.
    pub(crate) fn step(
        &mut self,
        x: &mut [f64],
        inputs: &Inputs<'_>,
        size: f64,
        integrals: &mut [f64],
    ) -> u64 {
        if size.to_bits() != self.size.to_bits() {
            self.phi.compute(&self.model.a, size);
            self.end.fill(&self.model, &self.phi, 0, size);
            self.area.fill(&self.model, &self.phi, 1, size);
            self.size = size;
        }
        if !integrals.is_empty() {
            self.area.apply(x, inputs.segments, &mut self.areas);
            for (given, segment) in self.input_integrals.iter_mut().zip(inputs.segments) {
                *given = segment.integral(size);
            }
            combine(&self.model.c, &self.areas, &self.model.d, &self.input_integrals, integrals);
        }
        self.end.apply(x, inputs.segments, &mut self.next);
        x.copy_from_slice(&self.next);
        1
    }
}

/// A linear map of the states at the start, the coefficients of the inputs, and one.
#[derive(Debug)]
struct Flow {
    /// Row by row: a factor per state, four per input, and a constant.
    factors: Vec<f64>,
    states: usize,
    inputs: usize,
}

impl Flow {
    fn new(states: usize, inputs: usize) -> Flow {
        Flow { factors: vec![0.0; states * (states + COEFFICIENTS * inputs + 1)], states, inputs }
    }

    fn width(&self) -> usize {
        self.states + COEFFICIENTS * self.inputs + 1
    }

    /// The flow integrated `times` times: h^times phi_times(hA) x, and the response to u = s^q, which is
    /// q! h^(q + 1 + times) phi_(q + 1 + times)(hA) B.
    fn fill(&mut self, model: &Linear, phi: &Phi, times: usize, h: f64) {
        let (n, m, width) = (self.states, self.inputs, self.width());
        for i in 0..n {
            let row = &mut self.factors[i * width..(i + 1) * width];
            for j in 0..n {
                row[j] = math::powi(h, times as i32) * phi.get(times)[i * n + j];
            }
            let mut scale = math::powi(h, times as i32 + 1); // q! h^(q + 1 + times)
            for q in 0..COEFFICIENTS {
                let answer = &phi.get(q + 1 + times)[i * n..(i + 1) * n];
                for port in 0..m {
                    let sum: f64 = (0..n).map(|k| answer[k] * model.b[k * m + port]).sum();
                    row[n + COEFFICIENTS * port + q] = scale * sum;
                }
                if q == 0 {
                    row[width - 1] = scale * (0..n).map(|k| answer[k] * model.drift[k]).sum::<f64>();
                }
                scale *= (q + 1) as f64 * h;
            }
        }
    }

    fn apply(&self, x: &[f64], segments: &[Segment], into: &mut [f64]) {
        let width = self.width();
        for (row, into) in self.factors.chunks_exact(width).zip(into) {
            let (of_states, rest) = row.split_at(self.states);
            let mut sum = rest[rest.len() - 1];
            for (factor, x) in of_states.iter().zip(x) {
                sum += factor * x;
            }
            for (factors, Segment(coefficients)) in rest.chunks_exact(COEFFICIENTS).zip(segments) {
                for (factor, coefficient) in factors.iter().zip(coefficients) {
                    sum += factor * coefficient;
                }
            }
            *into = sum;
        }
    }
}
