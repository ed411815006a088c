//! Jacobians by differences.
//!
//! Increments follow Salane 1986 (Adaptive routines for forming Jacobians numerically, Sandia SAND86-1319), after Curtis
//! & Reid 1974 (The choice of step lengths when using differences to approximate Jacobian matrices): a factor per column
//! grows while the differences drown in rounding and shrinks while they are large. Columns without a common row share
//! one evaluation (Curtis, Powell & Reid 1974, On the estimation of sparse Jacobian matrices).

use crate::frame::{Obstacle, evaluate};
use crate::integrator::Counters;
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::system::OdeSystem;

/// Which derivatives depend on which states, and which states can be varied together.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Row numbers by column, in ascending order.
    rows: Vec<Vec<usize>>,
    /// Columns that are varied together.
    groups: Vec<Vec<usize>>,
}

impl Pattern {
    /// From all places (row, column) that may differ from 0; those outside the square are left out.
    pub fn new(states: usize, places: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut rows = vec![Vec::new(); states];
        for (row, column) in places {
            if row < states && column < states {
                rows[column].push(row);
            }
        }
        for column in &mut rows {
            column.sort_unstable();
            column.dedup();
        }
        let groups = group(&rows);
        Pattern { rows, groups }
    }

    /// Everything depends on everything.
    fn full(states: usize) -> Self {
        Pattern {
            rows: vec![(0..states).collect(); states],
            groups: (0..states).map(|column| vec![column]).collect(),
        }
    }

    pub fn states(&self) -> usize {
        self.rows.len()
    }

    /// How many evaluations a Jacobian takes.
    pub fn evaluations(&self) -> usize {
        self.groups.len()
    }
}

/// Each column joins the first group that has none of its rows yet.
fn group(rows: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Vec<usize>, Vec<bool>)> = Vec::new();
    for (column, mine) in rows.iter().enumerate() {
        if mine.is_empty() {
            continue;
        }
        let free = groups.iter_mut().find(|(_, taken)| mine.iter().all(|row| !taken[*row]));
        let (columns, taken) = match free {
            Some(group) => group,
            None => {
                groups.push((Vec::new(), vec![false; rows.len()]));
                let last = groups.len() - 1;
                &mut groups[last]
            }
        };
        columns.push(column);
        for row in mine {
            taken[*row] = true;
        }
    }
    groups.into_iter().map(|(columns, _)| columns).collect()
}

/// Increments are these shares of a state: at first, at least, at most.
const FIRST: f64 = 1.490_116_119_384_765_6e-8; // the root of the rounding unit
const LEAST: f64 = 1e-12;
const MOST: f64 = 1e-4;
/// Of the derivatives that it is taken between, a difference should be between these shares: powers 3/4 and 1/4 of the
/// rounding unit (Salane 1986).
const SMALL: f64 = 1.818_989_403_545_856_5e-12;
const LARGE: f64 = 1.220_703_125e-4;

#[derive(Debug, Clone)]
pub(crate) struct Differences {
    pattern: Pattern,
    /// Rewound: later Jacobians depend on them.
    factors: Vec<f64>,
    /// Scratch.
    varied: Vec<f64>,
    increments: Vec<f64>,
    slope: Vec<f64>,
}

impl Differences {
    pub(crate) fn new(states: usize, pattern: Option<Pattern>) -> Self {
        Differences {
            pattern: pattern.unwrap_or_else(|| Pattern::full(states)),
            factors: vec![FIRST; states],
            varied: vec![0.0; states],
            increments: vec![0.0; states],
            slope: vec![0.0; states],
        }
    }

    /// Row by row into `out`, around a state whose derivative is known. States matter down to `scale`.
    #[expect(clippy::too_many_arguments)] // all are lent, and a struct of them would be made for this call
    pub(crate) fn fill(
        &mut self,
        system: &mut dyn OdeSystem,
        counters: &mut Counters,
        t: f64,
        x: &[f64],
        slope: &[f64],
        scale: impl Fn(usize) -> f64,
        out: &mut [f64],
    ) -> Result<(), Obstacle> {
        let n = x.len();
        out.fill(0.0);
        self.varied.copy_from_slice(x);
        for group in &self.pattern.groups {
            for &column in group {
                let size = self.factors[column] * x[column].abs().max(scale(column));
                // Where the solution goes anyway: there the system is sure to have an answer.
                self.varied[column] = x[column] + size.copysign(slope[column]);
                self.increments[column] = self.varied[column] - x[column];
            }
            if let Err(obstacle) = evaluate(system, counters, t, &self.varied, &mut self.slope) {
                let Obstacle::Smaller(_) = obstacle else { return Err(obstacle) };
                for &column in group {
                    self.varied[column] = x[column] - self.increments[column];
                    self.increments[column] = self.varied[column] - x[column];
                }
                evaluate(system, counters, t, &self.varied, &mut self.slope)?;
            }
            for &column in group {
                self.varied[column] = x[column];
                let (mut largest, mut size) = (0.0, 0.0);
                for &row in &self.pattern.rows[column] {
                    let difference = self.slope[row] - slope[row];
                    out[row * n + column] = difference / self.increments[column];
                    if difference.abs() >= largest {
                        largest = difference.abs();
                        size = self.slope[row].abs().max(slope[row].abs());
                    }
                }
                if largest < SMALL * size {
                    self.factors[column] = (10.0 * self.factors[column]).min(MOST);
                } else if largest > LARGE * size {
                    self.factors[column] = (0.1 * self.factors[column]).max(LEAST);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn copy_from(&mut self, other: &Differences) {
        self.factors.copy_from_slice(&other.factors);
    }

    pub(crate) fn serialize(&self, writer: &mut Writer<'_>) {
        writer.numbers(&self.factors);
    }

    pub(crate) fn deserialize(&mut self, reader: &mut Reader<'_>) -> Result<(), SnapshotError> {
        reader.numbers(&mut self.factors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::EvaluationFault;
    use cosimo_core::math;

    struct Of(fn(f64) -> f64);

    impl OdeSystem for Of {
        fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
            dx[0] = (self.0)(x[0]);
            Ok(())
        }
    }

    /// The relative error of the derivative at 1, time after time.
    fn errors(f: fn(f64) -> f64, derivative: f64) -> [f64; 5] {
        let mut differences = Differences::new(1, None);
        std::array::from_fn(|_| {
            let mut out = [0.0];
            let mut counters = Counters::default();
            differences.fill(&mut Of(f), &mut counters, 0.0, &[1.0], &[f(1.0)], |_| 1e-3, &mut out).unwrap();
            assert_eq!(counters.evaluations, 1);
            (out[0] / derivative - 1.0).abs()
        })
    }

    #[test]
    fn increments_grow_out_of_rounding_and_shrink_out_of_curvature() {
        let well = errors(math::exp, math::exp(1.0));
        assert!(well[4] < 1e-7, "{well:?}");
        // 1e8 is rounded to 1.5e-8, which is what the first increment changes.
        let drowned = errors(|x| 1e8 + 0.3 * x, 0.3);
        assert!(drowned[0] > 0.1 && drowned[4] < 1e-3, "{drowned:?}");
        // A period is 6e-9, which is less than the first increment.
        let curved = errors(|x| math::sin(1e9 * (x - 1.0)), 1e9);
        assert!(curved[0] > 0.1 && curved[4] < 1e-3, "{curved:?}");
    }
}
