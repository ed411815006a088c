//! Waveform iteration: repeats the window until the outputs at its end converge. Inputs are then interpolated, and the
//! step is implicit in the coupling.
//!
//! One sweep maps assumed outputs at the end onto computed ones; the fixed point is iterated by interface quasi-Newton
//! from least squares over earlier sweeps (IQN-ILS: Degroote, Bathe & Vierendeels 2009), with constant relaxation, with
//! Aitken's (Irons & Tuck 1969), or plainly. Plain sweeps need ln(tolerance) / ln(contraction) of them, and diverge at a
//! contraction above 1; quasi-Newton solves n linear modes in n + 3 sweeps whatever their contraction, so it is the default.
//! Every simulator must support rollback.

use cosimo_core::interface::Needs;
use cosimo_core::math;
use cosimo_core::method::{Iteration, Passes, Sizes};
use cosimo_core::registry::{MethodEntry, Range, Spec};
use cosimo_core::{StepError, Window};

use crate::identify::workspace::parts_mut;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relaxation {
    None,
    Constant,
    Aitken,
    QuasiNewton,
}

pub(crate) struct Waveform {
    pub relaxation: Relaxation,
    /// Of a constant relaxation, and of the first step of the others.
    pub factor: f64,
    pub sweeps: usize,
    pub relative: f64,
    pub absolute: f64,
}

/// Earlier sweeps that quasi-Newton uses.
const COLUMNS: usize = 8;
/// Limit of sweeps, and the length of the history in a message.
const MOST: usize = 200;
/// Accepted relaxation factors. With several modes the formula may give anything, even negative factors.
const AITKEN: std::ops::RangeInclusive<f64> = 0.01..=2.0;
/// A change with a smaller relative part orthogonal to earlier ones is linearly dependent.
const DEPENDENT: f64 = 1e-10;

impl Iteration for Waveform {
    fn scratch(&self, shape: &Sizes) -> usize {
        let columns = if self.relaxation == Relaxation::QuasiNewton { 3 * COLUMNS } else { 0 };
        (6 + columns) * shape.ends()
    }

    fn run(&self, passes: &mut dyn Passes, window: Window, scratch: &mut [f64]) -> Result<(), StepError> {
        passes.mark(window)?;
        passes.sweep(window)?;
        let width = passes.shape().ends();
        let (vectors, columns) = scratch.split_at_mut(6 * width);
        let mut work = WaveformWorkspace::new(vectors, columns, width);
        passes.ends(work.guess);
        work.weigh(self.relative, self.absolute);
        let mut changes = [0.0; MOST];
        let mut factor = self.factor;
        for sweep in 0..self.sweeps {
            passes.again(window, work.guess)?;
            passes.ends(work.found);
            let (change, worst) = work.compare(passes.connected());
            changes[sweep] = change;
            if change <= 1.0 {
                return Ok(());
            }
            if sweep + 1 == self.sweeps || !change.is_finite() {
                return Err(passes.unsettled(window, &changes[..=sweep], worst));
            }
            match self.relaxation {
                Relaxation::None => work.relax(1.0),
                Relaxation::Constant => work.relax(self.factor),
                Relaxation::Aitken => {
                    factor = if sweep == 0 { self.factor } else { work.aitken(factor, self.factor) };
                    work.relax(factor);
                }
                Relaxation::QuasiNewton => work.quasi_newton(sweep, self.factor),
            }
        }
        Ok(())
    }
}

/// Vectors of one iteration, in scratch memory. Products are of weighted residuals, because outputs have units.
struct WaveformWorkspace<'a> {
    width: usize,
    guess: &'a mut [f64],
    found: &'a mut [f64],
    /// Allowed change of each entry.
    scale: &'a mut [f64],
    /// (found - guess) / scale.
    residual: &'a mut [f64],
    last_residual: &'a mut [f64],
    last_found: &'a mut [f64],
    residual_changes: &'a mut [f64],
    found_changes: &'a mut [f64],
    basis: &'a mut [f64],
}

impl<'a> WaveformWorkspace<'a> {
    fn new(vectors: &'a mut [f64], columns: &'a mut [f64], width: usize) -> WaveformWorkspace<'a> {
        let third = columns.len() / 3;
        let (mut vector, mut matrix) = (parts_mut(vectors), parts_mut(columns));
        WaveformWorkspace {
            width,
            guess: vector(width),
            found: vector(width),
            scale: vector(width),
            residual: vector(width),
            last_residual: vector(width),
            last_found: vector(width),
            residual_changes: matrix(third),
            found_changes: matrix(third),
            basis: matrix(third),
        }
    }

    /// Once per window: with weights that follow the sweeps the map would not be linear where the system is. A slope is
    /// weighted by its own size.
    fn weigh(&mut self, relative: f64, absolute: f64) {
        for (scale, end) in self.scale.iter_mut().zip(self.guess.iter()) {
            *scale = absolute + if end.is_finite() { relative * end.abs() } else { 0.0 };
        }
    }

    /// The weighted root mean square change of connected outputs, converged up to 1; and the output that changes most.
    fn compare(&mut self, connected: &[bool]) -> (f64, usize) {
        self.last_residual.copy_from_slice(self.residual);
        let (mut sum, mut count, mut worst, mut most) = (0.0, 0, 0, -1.0);
        for entry in 0..self.width {
            let output = entry % connected.len();
            let change = self.found[entry] - self.guess[entry];
            let counts = connected[output] && !change.is_nan();
            self.residual[entry] = if counts { change / self.scale[entry] } else { 0.0 };
            if entry < connected.len() && connected[output] {
                let part = math::powi(change / self.scale[entry], 2);
                sum += part;
                count += 1;
                if part > most {
                    (worst, most) = (output, part);
                }
            }
        }
        ((sum / f64::from(count.max(1))).sqrt(), worst)
    }

    /// Under- or over-relaxation. Outputs that are not connected, and absent slopes, are taken as they are.
    fn relax(&mut self, factor: f64) {
        self.last_found.copy_from_slice(self.found);
        for entry in 0..self.width {
            self.guess[entry] = if self.residual[entry] == 0.0 {
                self.found[entry]
            } else {
                self.guess[entry] + factor * (self.found[entry] - self.guess[entry])
            };
        }
    }

    /// The factor that would have been right for the last two sweeps, if there were only one mode.
    fn aitken(&self, factor: f64, first: f64) -> f64 {
        let (mut along, mut length) = (0.0, 0.0);
        for (new, old) in self.residual.iter().zip(self.last_residual.iter()) {
            along += old * (new - old);
            length += (new - old) * (new - old);
        }
        let next = -factor * along / length;
        if AITKEN.contains(&next) { next } else { first }
    }

    /// Finds the combination of earlier changes that removes the residual, and applies it to the outputs.
    fn quasi_newton(&mut self, sweep: usize, factor: f64) {
        let width = self.width;
        if sweep == 0 {
            self.relax(factor);
            return;
        }
        // Newest first, so that the oldest are dropped, and dropped first where they are linearly dependent.
        self.residual_changes.copy_within(..(COLUMNS - 1) * width, width);
        self.found_changes.copy_within(..(COLUMNS - 1) * width, width);
        for entry in 0..width {
            self.residual_changes[entry] = self.residual[entry] - self.last_residual[entry];
            self.found_changes[entry] = self.found[entry] - self.last_found[entry];
        }
        self.last_found.copy_from_slice(self.found);
        let columns = sweep.min(COLUMNS);
        // Gram-Schmidt, twice for good measure: changes = basis * triangle.
        let mut triangle = [[0.0; COLUMNS]; COLUMNS];
        let mut used = [false; COLUMNS];
        for column in 0..columns {
            let (done, rest) = self.basis.split_at_mut(column * width);
            let vector = &mut rest[..width];
            vector.copy_from_slice(&self.residual_changes[column * width..(column + 1) * width]);
            let length = norm(vector);
            for _ in 0..2 {
                for (before, direction) in done.chunks(width).enumerate().filter(|(before, _)| used[*before])
                {
                    let part = product(direction, vector);
                    triangle[before][column] += part;
                    vector.iter_mut().zip(direction).for_each(|(v, d)| *v -= part * d);
                }
            }
            let left = norm(vector);
            if left > DEPENDENT * length && left > 0.0 {
                used[column] = true;
                triangle[column][column] = left;
                vector.iter_mut().for_each(|v| *v /= left);
            }
        }
        let mut weights = [0.0; COLUMNS];
        for column in (0..columns).rev().filter(|column| used[*column]) {
            let direction = &self.basis[column * width..(column + 1) * width];
            let mut sum = -product(direction, self.residual);
            for later in column + 1..columns {
                sum -= triangle[column][later] * weights[later];
            }
            weights[column] = sum / triangle[column][column];
        }
        self.guess.copy_from_slice(self.found);
        for (column, weight) in weights[..columns].iter().enumerate().filter(|(column, _)| used[*column]) {
            let change = &self.found_changes[column * width..(column + 1) * width];
            for (entry, change) in change.iter().enumerate().filter(|(entry, _)| self.residual[*entry] != 0.0)
            {
                self.guess[entry] += weight * change;
            }
        }
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    product(a, a).sqrt()
}

pub(crate) const ENTRY: MethodEntry<dyn Iteration> = MethodEntry {
    name: "waveform",
    summary: "repeats the step until the outputs converge: implicit in the coupling",
    source: "Kübler & Schiehlen 2000; relaxation by Irons & Tuck 1969, IQN-ILS by Degroote et al. 2009",
    order: "of the input",
    options: &[
        Spec::choice(
            "relaxation",
            "quasi-newton",
            &["none", "constant", "aitken", "quasi-newton"],
            "how the next guess follows from the last sweep",
        ),
        Spec::number(
            "factor",
            0.5,
            Range::Positive,
            "",
            "relaxation factor of `constant`, and of the first sweep of the others",
        ),
        Spec::count("sweeps", 20, 1, "maximum number of repetitions, up to 200"),
        Spec::number(
            "relative",
            1e-8,
            Range::NotNegative,
            "",
            "change of an output that counts as converged",
        ),
        Spec::number("absolute", 1e-10, Range::Positive, "", "the same for outputs near zero, in their unit"),
    ],
    needs: |_| Needs { rollback: true, ..Needs::NOTHING },
    build: |options| {
        Box::new(Waveform {
            relaxation: match options.text("relaxation") {
                "none" => Relaxation::None,
                "constant" => Relaxation::Constant,
                "aitken" => Relaxation::Aitken,
                _ => Relaxation::QuasiNewton,
            },
            factor: options.number("factor"),
            sweeps: options.count("sweeps").min(MOST),
            relative: options.number("relative"),
            absolute: options.number("absolute"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::Time;
    use cosimo_core::registry::{Options, Value};

    /// y = b + A x, as if a sweep mapped ends onto ends.
    struct Linear {
        a: [[f64; 3]; 3],
        b: [f64; 3],
        x: [f64; 3],
        sweeps: usize,
    }

    impl Passes for Linear {
        fn sweep(&mut self, _window: Window) -> Result<(), StepError> {
            self.x = self.b;
            Ok(())
        }
        fn mark(&mut self, _window: Window) -> Result<(), StepError> {
            Ok(())
        }
        fn again(&mut self, _window: Window, ends: &[f64]) -> Result<(), StepError> {
            self.sweeps += 1;
            for row in 0..3 {
                self.x[row] = self.b[row] + product(&self.a[row], ends);
            }
            Ok(())
        }
        fn ends(&self, into: &mut [f64]) {
            into.copy_from_slice(&self.x);
        }
        fn connected(&self) -> &[bool] {
            &[true; 3]
        }
        fn shape(&self) -> Sizes {
            Sizes { outputs: 3, ..Sizes::default() }
        }
        fn unsettled(&self, window: Window, changes: &[f64], worst: usize) -> StepError {
            StepError::NotSettled { output: worst.to_string(), changes: changes.to_vec(), window }
        }
    }

    /// Sweeps until settled, and how far from the fixed point; or the changes.
    fn solve(a: [[f64; 3]; 3], relaxation: Relaxation) -> Result<(usize, f64), Vec<f64>> {
        let waveform = Waveform { relaxation, factor: 0.5, sweeps: 60, relative: 1e-10, absolute: 1e-12 };
        let mut linear = Linear { a, b: [1.0, -2.0, 300.0], x: [0.0; 3], sweeps: 0 };
        let window = Window { from: Time::ZERO, to: Time::ZERO, size: 0.1 };
        let mut scratch = vec![f64::NAN; waveform.scratch(&linear.shape())];
        match waveform.run(&mut linear, window, &mut scratch) {
            Ok(()) => {
                let mut error = 0.0f64;
                for row in 0..3 {
                    let back = linear.b[row] + product(&linear.a[row], &linear.x);
                    error = error.max((back - linear.x[row]).abs() / linear.x[row].abs());
                }
                Ok((linear.sweeps, error))
            }
            Err(StepError::NotSettled { changes, .. }) => Err(changes),
            Err(other) => panic!("{other}"),
        }
    }

    const TAME: [[f64; 3]; 3] = [[0.0, 0.3, 0.001], [0.2, 0.0, 0.0], [0.0, 10.0, 0.1]];
    /// Its largest eigenvalue is near -3: plain sweeps run away.
    const WILD: [[f64; 3]; 3] = [[-3.0, 0.3, 0.001], [0.2, -1.5, 0.0], [0.0, 10.0, 0.1]];

    #[test]
    fn every_relaxation_finds_the_fixed_point_of_a_tame_map() {
        for relaxation in
            [Relaxation::None, Relaxation::Constant, Relaxation::Aitken, Relaxation::QuasiNewton]
        {
            let (sweeps, error) = solve(TAME, relaxation).unwrap();
            assert!(error < 1e-9, "{relaxation:?}: {error:e} after {sweeps}");
        }
        let sweeps = |relaxation| solve(TAME, relaxation).unwrap().0;
        assert!(sweeps(Relaxation::QuasiNewton) <= 6, "{}", sweeps(Relaxation::QuasiNewton));
    }

    #[test]
    fn quasi_newton_tames_what_plain_sweeps_cannot() {
        let changes = solve(WILD, Relaxation::None).unwrap_err();
        assert!(changes.len() == 60 && changes[59] > 1e3 * changes[0]);
        let (sweeps, error) = solve(WILD, Relaxation::QuasiNewton).unwrap();
        assert!(error < 1e-9 && sweeps <= 6, "{error:e} after {sweeps}");
    }

    /// Sweeps of one window with the options that `text` names, on three modes with contractions of either sign up to
    /// `most`; `None` where they do not converge.
    fn sweeps_at(most: f64, given: &[(String, Value)]) -> Option<usize> {
        let options = Options::resolve(ENTRY.name, ENTRY.options, given).unwrap();
        let waveform = (ENTRY.build)(&options);
        // Eigenvalues most, -most / 2 and most / 4, in coordinates that mix them.
        let (d, p) =
            ([most, -0.5 * most, 0.25 * most], [[1.0, 0.3, -0.2], [0.1, 1.0, 0.4], [-0.3, 0.2, 1.0]]);
        let inverse = inverse(p);
        let entry = |row: usize, column: usize| (0..3).map(|k| p[row][k] * d[k] * inverse[k][column]).sum();
        let a = std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)));
        let mut linear = Linear { a, b: [1.0, -2.0, 300.0], x: [0.0; 3], sweeps: 0 };
        let window = Window { from: Time::ZERO, to: Time::ZERO, size: 0.1 };
        let mut scratch = vec![f64::NAN; waveform.scratch(&linear.shape())];
        waveform.run(&mut linear, window, &mut scratch).ok()?;
        for row in 0..3 {
            let back = linear.b[row] + product(&linear.a[row], &linear.x);
            // Converged up to 1e-8 of the outputs of the first sweep, at most 300; one more sweep multiplies that by `most`.
            assert!((back - linear.x[row]).abs() < 1e-5 * (1.0 + most.abs()), "{most}: {:?}", linear.x);
        }
        Some(linear.sweeps)
    }

    /// Of 3 x 3, by cofactors.
    fn inverse(m: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let minor = |r: usize, c: usize| {
            let at = |i: usize, j: usize| m[(r + i) % 3][(c + j) % 3];
            at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)
        };
        let determinant: f64 = (0..3).map(|c| m[0][c] * minor(0, c)).sum();
        std::array::from_fn(|r| std::array::from_fn(|c| minor(c, r) / determinant))
    }

    #[test]
    fn the_default_converges_at_any_contraction_and_plain_sweeps_only_at_small_ones() {
        let plain = [("relaxation".to_owned(), Value::Text("none".into()))];
        let table: Vec<_> = [0.01, 0.3, 0.9, 0.99, 3.0, -3.0, 100.0]
            .map(|most| (most, sweeps_at(most, &[]), sweeps_at(most, &plain)))
            .to_vec();
        for (most, default, plain) in &table {
            assert!(default.is_some_and(|sweeps| sweeps <= 6), "contraction {most}: {table:?}");
            assert_eq!(plain.is_some(), most.abs() < 0.4, "contraction {most}: {table:?}");
        }
    }

    #[test]
    fn a_change_is_the_root_mean_square_by_tolerances() {
        let changes = solve(WILD, Relaxation::None).unwrap_err();
        let first = [1.0, -2.0, 300.0];
        let parts = WILD.iter().zip(first).map(|(row, end): (_, f64)| {
            let scale = 1e-12 + 1e-10 * end.abs();
            math::powi(product(row, &first) / scale, 2)
        });
        let wanted = (parts.sum::<f64>() / 3.0).sqrt();
        assert!((changes[0] / wanted - 1.0).abs() < 1e-12, "{} {wanted}", changes[0]);
    }

    /// Two outputs with slopes behind them: slopes are relaxed with the rest, and do not count.
    #[test]
    fn changes_are_those_of_values_that_drive_inputs() {
        let (mut vectors, mut columns) = ([0.0; 24], []);
        let mut work = WaveformWorkspace::new(&mut vectors, &mut columns, 4);
        work.guess.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
        work.weigh(0.5, 0.0);
        assert_eq!(work.scale, [0.5, 1.0, 1.5, 2.0]);
        work.found.copy_from_slice(&[2.0, 5.0, 30.0, f64::NAN]);
        let (change, worst) = work.compare(&[true, true]);
        assert_eq!((change, worst), (((4.0f64 + 9.0) / 2.0).sqrt(), 1));
        assert_eq!(work.residual, [2.0, 3.0, 18.0, 0.0]);
        let (change, worst) = work.compare(&[true, false]);
        assert_eq!((change, worst), (2.0, 0));
        assert_eq!(
            (&*work.residual, &*work.last_residual),
            (&[2.0, 0.0, 18.0, 0.0][..], &[2.0, 3.0, 18.0, 0.0][..])
        );
        work.relax(0.5);
        assert_eq!((work.guess[0], work.guess[1], work.guess[2]), (1.5, 5.0, 16.5));
        assert!(work.guess[3].is_nan());
    }

    #[test]
    fn what_is_settled_already_costs_one_repetition() {
        for relaxation in [Relaxation::None, Relaxation::QuasiNewton] {
            assert_eq!(solve([[0.0; 3]; 3], relaxation).unwrap(), (1, 0.0));
        }
    }

    #[test]
    fn aitken_is_right_at_once_where_there_is_one_mode() {
        for mode in [0.4, -3.0] {
            let a = [[mode, 0.0, 0.0], [0.0; 3], [0.0; 3]];
            let (sweeps, error) = solve(a, Relaxation::Aitken).unwrap();
            assert!(sweeps <= 4 && error < 1e-9, "{mode}: {error:e} after {sweeps}");
        }
    }
}
