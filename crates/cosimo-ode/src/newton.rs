//! Algebraic loops `u = g(u)`: Newton's method with a Jacobian by differences, damped where a whole step would go too
//! far, and iterated until rounding is all that is left.
//! Source: Dennis & Schnabel, Numerical Methods for Unconstrained Optimization and Nonlinear Equations, sections 5.4
//! (differences) and 6.3 (backtracking, algorithm A6.3.1).

use cosimo_core::math;

use crate::lu::Lu;

/// Exponentials are climbed down one e at a time.
const ITERATIONS: u32 = 250;
/// The least part of a step that is tried.
const SMALLEST_PART: f64 = 1.0 / 4096.0;
/// A Jacobian is kept while every step leaves at most this part of the residual.
const CONTRACTION: f64 = 0.1;
/// Where no step helps any more, this is near enough, as a part of the largest value seen.
const NEAR: f64 = 1e-9;

/// Workspace for algebraic loops of one size. Nothing is allocated after construction, and no loop affects the next.
#[derive(Debug, Clone)]
pub struct Newton {
    lu: Lu,
    value: Vec<f64>,
    residual: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    /// Magnitude of each unknown, estimated at the start: scales the residuals.
    scale: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solution {
    pub iterations: u32,
    /// Evaluations of `g`.
    pub evaluations: u64,
}

/// Why there is no solution. The unknowns are left where the residual was least.
#[derive(Debug, Clone, PartialEq)]
pub enum NewtonError<E> {
    /// `g` itself failed.
    Refused(E),
    /// No step makes the residual smaller; the worst of them, and whose it is.
    Stuck { iterations: u32, unknown: usize, residual: f64 },
}

/// A loop with derivatives of its own.
pub trait Equations {
    type Error;

    /// g(u). Evaluated at the solution again at the end, so that all it sets is set for the solution.
    fn value(&mut self, u: &[f64], g: &mut [f64]) -> Result<(), Self::Error>;

    /// dg/du, row by row, at the last `value`. `false` where differences must be used.
    fn derivatives(&mut self, _into: &mut [f64]) -> Result<bool, Self::Error> {
        Ok(false)
    }
}

struct Function<G>(G);

impl<E, G: FnMut(&[f64], &mut [f64]) -> Result<(), E>> Equations for Function<G> {
    type Error = E;

    fn value(&mut self, u: &[f64], g: &mut [f64]) -> Result<(), E> {
        (self.0)(u, g)
    }
}

impl Newton {
    pub fn new(size: usize) -> Newton {
        let room = || vec![0.0; size];
        Newton {
            lu: Lu::new(size),
            value: room(),
            residual: room(),
            step: room(),
            trial: room(),
            scale: room(),
        }
    }

    /// Solves in place, beginning at `u`. `g` is evaluated at the solution again at the end, so that all it sets is set
    /// for the solution.
    pub fn solve<E>(
        &mut self,
        u: &mut [f64],
        g: impl FnMut(&[f64], &mut [f64]) -> Result<(), E>,
    ) -> Result<Solution, NewtonError<E>> {
        self.solve_equations(u, &mut Function(g))
    }

    /// As [`Newton::solve`], with derivatives where there are any. Where these fail, differences are tried.
    pub fn solve_equations<G: Equations>(
        &mut self,
        u: &mut [f64],
        g: &mut G,
    ) -> Result<Solution, NewtonError<G::Error>> {
        let mut evaluations = 1;
        let mut declared = true;
        g.value(u, &mut self.value).map_err(NewtonError::Refused)?;
        self.measure(u);
        let mut norm = self.look(u);
        let mut sharp = false; // the Jacobian is that of this iterate
        let mut known = false;
        let mut iterations = 0;
        while norm.is_finite() && !self.settled(u) && iterations < ITERATIONS {
            if !known {
                declared = declared && g.derivatives(self.lu.matrix()).map_err(NewtonError::Refused)?;
                if declared {
                    self.subtract_from_one(u.len());
                } else {
                    evaluations += self.differentiate(u, g)?;
                }
                sharp = true;
                if !self.lu.factorise() {
                    if declared {
                        declared = false;
                        continue;
                    }
                    break;
                }
            }
            iterations += 1;
            self.step.copy_from_slice(&self.residual);
            self.lu.solve(&mut self.step);
            let (mut part, before) = (1.0, norm);
            loop {
                for ((trial, u), step) in self.trial.iter_mut().zip(&*u).zip(&self.step) {
                    *trial = u - part * step;
                }
                let trial = std::mem::take(&mut self.trial);
                let asked = g.value(&trial, &mut self.value);
                evaluations += 1;
                self.trial = trial;
                asked.map_err(NewtonError::Refused)?;
                norm = self.look_at_trial();
                if norm < (1.0 - 1e-4 * part) * before || part < SMALLEST_PART {
                    break;
                }
                part /= 2.0;
            }
            if norm.is_nan() || norm >= before {
                // Worse than where it was: with a fresh Jacobian that is the end, and rounding perhaps the reason.
                g.value(u, &mut self.value).map_err(NewtonError::Refused)?;
                evaluations += 1;
                norm = self.look(u);
                if sharp && !declared {
                    break;
                }
                declared = declared && !sharp;
                known = false;
                continue;
            }
            u.copy_from_slice(&self.trial);
            known = norm <= CONTRACTION * before;
            sharp = false;
        }
        g.value(u, &mut self.value).map_err(NewtonError::Refused)?;
        self.look(u);
        let (unknown, residual) = self.worst();
        let near = |place: usize| {
            // Where it began tells how large things are, unless it is still on its way.
            let began = if iterations < ITERATIONS { self.scale[place] } else { self.usual(place) };
            began.max(u[place].abs()).max(self.value[place].abs())
        };
        if u.is_empty() || residual <= NEAR * near(unknown) {
            return Ok(Solution { iterations, evaluations: evaluations + 1 });
        }
        Err(NewtonError::Stuck { iterations, unknown, residual })
    }

    /// An unknown that is zero so far is taken for as large as the largest of the others.
    fn measure(&mut self, u: &[f64]) {
        for ((scale, u), value) in self.scale.iter_mut().zip(u).zip(&self.value) {
            *scale = u.abs().max(value.abs());
        }
        let largest = self.scale.iter().copied().filter(|scale| scale.is_finite()).fold(0.0, f64::max);
        let usual = if largest > 0.0 { largest } else { 1.0 };
        self.scale.iter_mut().filter(|scale| **scale == 0.0).for_each(|scale| *scale = usual);
    }

    /// The residual at `u` and its norm.
    fn look(&mut self, u: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (place, u) in u.iter().enumerate() {
            self.residual[place] = u - self.value[place];
            sum += math::powi(self.residual[place] / self.scale[place], 2);
        }
        sum.sqrt()
    }

    fn look_at_trial(&mut self) -> f64 {
        let trial = std::mem::take(&mut self.trial);
        let norm =
            if self.value.iter().all(|value| value.is_finite()) { self.look(&trial) } else { f64::NAN };
        self.trial = trial;
        norm
    }

    /// Nothing but rounding is left.
    fn settled(&self, u: &[f64]) -> bool {
        let mut parts = self.residual.iter().zip(u).zip(&self.value).enumerate();
        parts.all(|(place, ((residual, u), g))| {
            residual.abs() <= f64::EPSILON * (u.abs() + g.abs()).max(4.0 * self.usual(place))
        })
    }

    /// How large an unknown is that may be zero: as where it began, unless that lies beyond all bounds.
    fn usual(&self, place: usize) -> f64 {
        self.scale[place].min(1.0)
    }

    fn worst(&self) -> (usize, f64) {
        let mut worst = (0, 0.0);
        for (place, residual) in self.residual.iter().enumerate() {
            let part = |place: usize, residual: f64| residual / self.scale[place];
            if !residual.is_finite() {
                return (place, f64::INFINITY);
            }
            if part(place, residual.abs()) > part(worst.0, worst.1) {
                worst = (place, residual.abs());
            }
        }
        worst
    }

    /// 1 - dg/du, column by column. `value` holds g(u) before and after.
    fn differentiate<G: Equations>(&mut self, u: &[f64], g: &mut G) -> Result<u64, NewtonError<G::Error>> {
        let n = u.len();
        for column in 0..n {
            self.trial.copy_from_slice(u);
            let size = u[column].abs().max(1e-3 * self.usual(column));
            let shifted = u[column] + f64::EPSILON.sqrt() * size;
            let shift = shifted - u[column];
            self.trial[column] = shifted;
            g.value(&self.trial, &mut self.step).map_err(NewtonError::Refused)?;
            let matrix = self.lu.matrix();
            for row in 0..n {
                let slope = (self.step[row] - self.value[row]) / shift;
                matrix[row * n + column] = f64::from(u8::from(row == column)) - slope;
            }
        }
        Ok(n as u64)
    }

    /// 1 - dg/du of dg/du.
    fn subtract_from_one(&mut self, n: usize) {
        for (place, entry) in self.lu.matrix().iter_mut().enumerate() {
            *entry = f64::from(u8::from(place / n == place % n)) - *entry;
        }
    }
}
