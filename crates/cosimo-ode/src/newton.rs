//! Algebraic loops `u = g(u)`: Newton's method with a Jacobian by differences, damped where a whole step would go too
//! far, and iterated until rounding is all that is left.
//! Source: Dennis & Schnabel, Numerical Methods for Unconstrained Optimization and Nonlinear Equations, sections 5.4
//! (differences) and 6.3 (backtracking, algorithm A6.3.1).

use crate::lu::Lu;

/// Exponentials are climbed down one e at a time.
const ITERATIONS: u32 = 250;
/// The least part of a step that is tried.
const SMALLEST_PART: f64 = 1.0 / 4096.0;
/// A Jacobian is kept while every step leaves at most this part of the residual.
const CONTRACTION: f64 = 0.1;
/// Where no step helps any more, this is near enough, as a part of the largest value seen.
const NEAR: f64 = 1e-9;

/// Room for loops of one size. Nothing is allocated after construction, and nothing is remembered from loop to loop.
#[derive(Debug, Clone)]
pub struct Newton {
    lu: Lu,
    value: Vec<f64>,
    residual: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    /// How large each unknown is, as far as the start tells: residuals are compared by these.
    scale: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solved {
    pub iterations: u32,
    /// How often `g` was asked.
    pub evaluations: u64,
}

/// Why there is no solution. The unknowns are left where the residual was least.
#[derive(Debug, Clone, PartialEq)]
pub enum Unsolved<E> {
    /// `g` itself failed.
    Refused(E),
    /// No step makes the residual smaller; the worst of them, and whose it is.
    Stuck { iterations: u32, unknown: usize, residual: f64 },
}

/// A loop with more to it than a function.
pub trait Equations {
    type Error;

    /// g(u). Asked for the same values again at the end, so that whatever it sets is set for the solution.
    fn value(&mut self, u: &[f64], g: &mut [f64]) -> Result<(), Self::Error>;

    /// dg/du, row by row, where `value` was asked last. `false` where differences must do.
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

    /// Solves in place, beginning at `u`. `g` is asked for the same values again at the end, so that whatever it sets is
    /// set for the solution.
    pub fn solve<E>(
        &mut self,
        u: &mut [f64],
        g: impl FnMut(&[f64], &mut [f64]) -> Result<(), E>,
    ) -> Result<Solved, Unsolved<E>> {
        self.solve_equations(u, &mut Function(g))
    }

    /// As [`Newton::solve`], with derivatives where there are any. Where these lead nowhere, differences are tried.
    pub fn solve_equations<G: Equations>(
        &mut self,
        u: &mut [f64],
        g: &mut G,
    ) -> Result<Solved, Unsolved<G::Error>> {
        let mut evaluations = 1;
        let mut declared = true;
        g.value(u, &mut self.value).map_err(Unsolved::Refused)?;
        self.measure(u);
        let mut norm = self.look(u);
        let mut sharp = false; // the Jacobian is that of this iterate
        let mut known = false;
        let mut iterations = 0;
        while norm.is_finite() && !self.settled(u) && iterations < ITERATIONS {
            if !known {
                declared = declared && g.derivatives(self.lu.matrix()).map_err(Unsolved::Refused)?;
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
                asked.map_err(Unsolved::Refused)?;
                norm = self.look_at_trial();
                if norm < (1.0 - 1e-4 * part) * before || part < SMALLEST_PART {
                    break;
                }
                part /= 2.0;
            }
            if norm.is_nan() || norm >= before {
                // Worse than where it was: with a fresh Jacobian that is the end, and rounding perhaps the reason.
                g.value(u, &mut self.value).map_err(Unsolved::Refused)?;
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
        g.value(u, &mut self.value).map_err(Unsolved::Refused)?;
        self.look(u);
        let (unknown, residual) = self.worst();
        let near = |place: usize| {
            // Where it began tells how large things are, unless it is still on its way.
            let began = if iterations < ITERATIONS { self.scale[place] } else { self.usual(place) };
            began.max(u[place].abs()).max(self.value[place].abs())
        };
        if u.is_empty() || residual <= NEAR * near(unknown) {
            return Ok(Solved { iterations, evaluations: evaluations + 1 });
        }
        Err(Unsolved::Stuck { iterations, unknown, residual })
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
            sum += (self.residual[place] / self.scale[place]).powi(2);
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
    fn differentiate<G: Equations>(&mut self, u: &[f64], g: &mut G) -> Result<u64, Unsolved<G::Error>> {
        let n = u.len();
        for column in 0..n {
            self.trial.copy_from_slice(u);
            let size = u[column].abs().max(1e-3 * self.usual(column));
            let shifted = u[column] + f64::EPSILON.sqrt() * size;
            let shift = shifted - u[column];
            self.trial[column] = shifted;
            g.value(&self.trial, &mut self.step).map_err(Unsolved::Refused)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(start: &[f64], g: fn(&[f64], &mut [f64])) -> Result<(Vec<f64>, Solved), Unsolved<()>> {
        let mut u = start.to_vec();
        let solved = Newton::new(u.len()).solve(&mut u, |u, value| {
            g(u, value);
            Ok(())
        })?;
        Ok((u, solved))
    }

    #[test]
    fn a_linear_loop_that_diverges_by_substitution_is_solved_to_rounding() {
        // u0 = 3 u1 + 1, u1 = -2 u0 + 2: u0 = 1, u1 = 0; substitution grows six-fold in each round.
        let (u, solved) = solve(&[0.0, 0.0], |u, g| {
            g[0] = 3.0 * u[1] + 1.0;
            g[1] = -2.0 * u[0] + 2.0;
        })
        .unwrap();
        assert!((u[0] - 1.0).abs() < 1e-14 && u[1].abs() < 1e-14, "{u:?}");
        assert!(solved.iterations <= 3, "{solved:?}");
    }

    #[test]
    fn a_nonlinear_loop_needs_damping_far_from_its_solution() {
        // atan(u) = 0 is where undamped Newton diverges from |u| > 1.39.
        let (u, _) = solve(&[20.0], |u, g| g[0] = u[0] - u[0].atan()).unwrap();
        assert!(u[0].abs() < 1e-9, "{u:?}");
        // The cosine's fixed point.
        let (u, _) = solve(&[1.0], |u, g| g[0] = u[0].cos()).unwrap();
        assert!((u[0] - 0.739_085_133_215_160_6).abs() < 1e-15, "{u:?}");
    }

    /// A diode behind a resistor, told the current: 200 decades of e away, and not near enough before it is there.
    #[test]
    fn an_exponential_is_climbed_down() {
        let (u, solved) =
            solve(&[0.0], |u, g| g[0] = 1e-12 * (((5.0 - 1000.0 * u[0]) / 0.025).exp() - 1.0)).unwrap();
        assert!(
            (1e-12 * (((5.0 - 1000.0 * u[0]) / 0.025).exp() - 1.0) - u[0]).abs() < 1e-12,
            "{u:?} {solved:?}"
        );
        let stuck =
            solve(&[0.0], |u, g| g[0] = 1e-12 * (((8.0 - 1000.0 * u[0]) / 0.025).exp() - 1.0)).unwrap_err();
        assert!(matches!(stuck, Unsolved::Stuck { .. }), "{stuck:?}");
    }

    #[test]
    fn small_numbers_are_solved_as_exactly_as_large_ones() {
        for size in [1e-12, 1.0, 1e12] {
            let mut u = [0.0];
            let g = |u: &[f64], g: &mut [f64]| {
                g[0] = 2.0 * size - u[0];
                Ok::<(), ()>(())
            };
            Newton::new(1).solve(&mut u, g).unwrap();
            assert!((u[0] / size - 1.0).abs() < 1e-15, "{size}: {u:?}");
        }
    }

    #[test]
    fn what_has_no_solution_is_said_to_have_none() {
        // u = u + 1, and u = u^2 + 1.
        assert!(matches!(solve(&[0.0], |u, g| g[0] = u[0] + 1.0), Err(Unsolved::Stuck { .. })));
        let stuck = solve(&[0.3], |u, g| g[0] = u[0] * u[0] + 1.0).unwrap_err();
        let Unsolved::Stuck { unknown: 0, residual, .. } = stuck else { panic!("{stuck:?}") };
        assert!((residual - 0.75).abs() < 1e-2, "the least that u - u^2 - 1 can be: {residual}");
        assert!(matches!(solve(&[0.0], |_, g| g[0] = f64::NAN), Err(Unsolved::Stuck { .. })));
    }

    /// u = cos(u), with a derivative as it is told.
    struct Cosine(f64, u32);

    impl Equations for Cosine {
        type Error = ();
        fn value(&mut self, u: &[f64], g: &mut [f64]) -> Result<(), ()> {
            (g[0], self.1) = (u[0].cos(), self.1 + 1);
            Ok(())
        }
        fn derivatives(&mut self, into: &mut [f64]) -> Result<bool, ()> {
            into[0] = self.0;
            Ok(true)
        }
    }

    #[test]
    fn derivatives_save_questions_and_wrong_ones_do_no_harm() {
        let solution = 0.739_085_133_215_160_6_f64;
        for (slope, most) in [(-solution.sin(), 8), (1.0, 40), (f64::MAX, 40), (5.0, 60)] {
            let (mut cosine, mut u) = (Cosine(slope, 0), [1.0]);
            Newton::new(1).solve_equations(&mut u, &mut cosine).unwrap();
            assert!((u[0] - solution).abs() < 1e-9 && cosine.1 <= most, "{slope}: {u:?} {}", cosine.1);
        }
    }

    #[test]
    fn a_loop_that_is_solved_already_costs_two_questions() {
        let (u, solved) = solve(&[2.0], |_, g| g[0] = 2.0).unwrap();
        assert_eq!((u[0], solved), (2.0, Solved { iterations: 0, evaluations: 2 }));
    }
}
