//! Stiff systems: backward differentiation of order 1 to 5 with a variable step.
//!
//! The solution is kept as modified divided differences at its true points in time, and the formula has a fixed leading
//! coefficient: unlike differences that are resampled to equal steps, they stay accurate and stable when limits cut steps
//! wherever they like. Source: Brenan, Campbell & Petzold 1996, Numerical Solution of Initial-Value Problems in
//! Differential-Algebraic Equations, section 5.2, whose letters are used here (DASSL). The formula itself is modified after
//! Shampine & Reichelt 1997, The MATLAB ODE Suite (the NDFs of ode15s), for a smaller error.

use cosimo_core::math;

use crate::failure::Cause;
use crate::frame::{Frame, Obstacle, Stride, evaluate, norm, weigh, worst};
use crate::integrator::{IntegratorEntry, Method};
use crate::jacobian::Differences;
use crate::lu::Lu;
use crate::settings::{HIGHEST_ORDER, Settings};
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::system::OdeSystem;

pub(crate) const BDF: IntegratorEntry = IntegratorEntry {
    name: "bdf",
    summary: "implicit, order 1 to 5, with dense output of that order; for stiff systems",
    source: "Brenan, Campbell & Petzold 1996, section 5.2; Shampine & Reichelt 1997, NDF",
    rewinds_exactly: true,
    build: |states, settings| Method::Bdf(Box::new(Bdf::new(states, settings))),
};

/// The solution and its differences, one beyond the highest order.
const ROWS: usize = HIGHEST_ORDER + 2;

/// Shampine & Reichelt 1997, table 1: how far the formula of each order is moved from plain backward differentiation.
const KAPPA: [f64; HIGHEST_ORDER + 1] = [0.0, -0.1850, -1.0 / 9.0, -0.0823, -0.0415, 0.0];

/// Newton's iteration may leave this much, in units of the error that a step may have: differences of high order enlarge
/// it. As in ode15s, the convergence rate of an earlier step may end it after the first iteration; the rate assumed
/// then has a lower bound, or an outdated Jacobian would not be detected.
const ITERATIONS: usize = 4;
const STAYS: f64 = 0.02;
const BEST_RATE_BELIEVED: f64 = 0.02;
/// The rate assumed for an iteration without convergence so far.
const WORST_RATE: f64 = 0.9;
/// When a new matrix is due, so is a Jacobian that is so many steps old and converges more slowly than this.
const OLD: usize = 20;
const SLOW: f64 = 0.1;

/// Largest growth of a step, at first and later, and the growth that is worth a new matrix.
const STARTING_GROWTH: f64 = 10.0;
const LARGEST_GROWTH: f64 = 2.0;
const WORTH_IT: f64 = 1.5;
/// After a failure without information on how much smaller.
const RETREAT: f64 = 0.25;

/// A limit that is nearer than this share of what was planned is no step: its differences would be noise.
const SHIFT: f64 = 1e-8;

/// The scalars that a rollback restores.
#[derive(Debug, Clone, Copy)]
struct BdfMemory {
    /// Of the next step.
    order: usize,
    /// Rows that hold differences of the solution.
    rows: usize,
    /// From `anchor` back to each of the points before it.
    spans: [f64; ROWS],
    /// Where the differences are taken.
    anchor: f64,
    /// The order of the last step, for the dense output.
    shown: usize,
    /// The differences begin with the derivative at a start.
    begun: bool,
    /// Since the start nothing failed and every step could have doubled.
    starting: bool,
    /// Steps since the order was changed or the size grew.
    held: usize,
    /// Attempts in a row whose error was too large.
    failures: usize,
    jacobian_known: bool,
    /// Of the Jacobian, in steps.
    age: usize,
    /// The matrix is I - factored * J; 0 if there is none.
    factored: f64,
    /// How Newton's iteration converges with that matrix; infinite if not known.
    rate: f64,
}

const NOTHING: BdfMemory = BdfMemory {
    order: 1,
    rows: 0,
    spans: [0.0; ROWS],
    anchor: 0.0,
    shown: 1,
    begun: false,
    starting: true,
    held: 0,
    failures: 0,
    jacobian_known: false,
    age: 0,
    factored: 0.0,
    rate: f64::INFINITY,
};

#[derive(Debug, Clone)]
pub(crate) struct Bdf {
    highest: usize,
    memory: BdfMemory,
    /// `ROWS` vectors in a row.
    rows: Vec<f64>,
    jacobian: Vec<f64>,
    matrix: Lu,
    differences: Differences,
    /// Scratch: the predicted state, its derivative in time, that of the system there, the correction, its change.
    predicted: Vec<f64>,
    predicted_slope: Vec<f64>,
    system_slope: Vec<f64>,
    correction: Vec<f64>,
    change: Vec<f64>,
}

/// What follows from the sizes of the last steps and of the next one.
#[derive(Debug)]
struct Coefficients {
    spans: [f64; ROWS],
    /// The rows, as seen from the end of the step.
    beta: [f64; ROWS],
    /// Their part in the derivative there.
    gamma: [f64; ROWS],
    /// By order, what a local error is in units of the next difference.
    error: [f64; HIGHEST_ORDER + 2],
    /// The correction is this times the derivative that the prediction lacks.
    gain: f64,
}

enum Newton {
    Converged,
    Slow { state: usize },
}

impl Bdf {
    fn new(states: usize, settings: &Settings) -> Self {
        let zeros = || vec![0.0; states];
        Bdf {
            highest: settings.order,
            memory: NOTHING,
            rows: vec![0.0; ROWS * states],
            jacobian: vec![0.0; states * states],
            matrix: Lu::new(states),
            differences: Differences::new(states, settings.pattern.clone()),
            predicted: zeros(),
            predicted_slope: zeros(),
            system_slope: zeros(),
            correction: zeros(),
            change: zeros(),
        }
    }

    pub(crate) fn order(&self) -> usize {
        self.memory.order
    }

    /// The differences stay for the dense output of a step that was cut, and the Jacobian as a first guess.
    pub(crate) fn forget(&mut self) {
        self.memory.begun = false;
        self.memory.order = 1;
        self.memory.failures = 0;
    }

    pub(crate) fn invalidate_jacobian(&mut self) {
        self.memory.jacobian_known = false;
    }

    pub(crate) fn attempt(
        &mut self,
        frame: &mut Frame,
        system: &mut dyn OdeSystem,
        stride: Stride,
    ) -> Result<(), Obstacle> {
        if !self.memory.begun {
            self.begin(frame, system, stride)?;
        }
        let c = self.coefficients(stride.size);
        self.predict(frame, &c);
        if stride.size < SHIFT * frame.place.planned {
            self.shift(frame, stride);
            return Ok(());
        }
        weigh(&mut frame.weights, frame.relative, &frame.absolute, &frame.state, &self.predicted);
        match self.correct(frame, system, stride, &c) {
            Ok(Newton::Converged) => {}
            Ok(Newton::Slow { state }) => {
                frame.counters.newton_failures += 1;
                self.retreat(frame, RETREAT * stride.size);
                return Err(Obstacle::Smaller(Cause::Newton { state }));
            }
            Err(obstacle) => {
                self.retreat(frame, RETREAT * stride.size);
                return Err(obstacle);
            }
        }
        let error = c.error[self.memory.order] * norm(&self.correction, &frame.weights);
        if error <= 1.0 {
            self.accept(frame, stride, &c, error);
            Ok(())
        } else {
            self.shrink(frame, stride, error);
            Err(Obstacle::Smaller(Cause::Error { state: worst(&self.correction, &frame.weights) }))
        }
    }

    /// The first difference is the derivative; points before the start are thought to be as far apart as the step is long.
    fn begin(
        &mut self,
        frame: &mut Frame,
        system: &mut dyn OdeSystem,
        stride: Stride,
    ) -> Result<(), Obstacle> {
        if let Err(obstacle) = frame.know_slope(system) {
            self.retreat(frame, RETREAT * stride.size);
            return Err(obstacle);
        }
        let n = frame.state.len();
        self.rows[..n].copy_from_slice(&frame.state);
        for i in 0..n {
            self.rows[n + i] = stride.size * frame.slope[i];
        }
        let memory = &mut self.memory;
        for (i, span) in memory.spans.iter_mut().enumerate() {
            *span = (i + 1) as f64 * stride.size;
        }
        memory.anchor = frame.place.time;
        memory.rows = 2;
        memory.starting = true;
        memory.held = 0;
        memory.begun = true;
        Ok(())
    }

    fn coefficients(&self, size: f64) -> Coefficients {
        let order = self.memory.order;
        let before = &self.memory.spans;
        let mut c = Coefficients {
            spans: [size; ROWS],
            beta: [1.0; ROWS],
            gamma: [0.0; ROWS],
            error: [0.0; HIGHEST_ORDER + 2],
            gain: 0.0,
        };
        // Section 5.2.1 there, with rows counted from 0: alpha = size / span, sigma makes differences comparable.
        let (mut harmonic, mut sigma, mut drift) = (0.0, 1.0, 0.0);
        for i in 1..ROWS {
            c.spans[i] = before[i - 1] + size;
            c.beta[i] = c.beta[i - 1] * c.spans[i - 1] / before[i - 1];
            c.gamma[i] = c.gamma[i - 1] + 1.0 / c.spans[i - 1];
            harmonic += 1.0 / i as f64;
            drift += size / c.spans[i - 1] - 1.0 / i as f64;
            let alpha = size / c.spans[i];
            sigma *= i as f64 * alpha;
            let kappa = KAPPA.get(i).copied().unwrap_or_default() * harmonic;
            // With equal steps 1 / (i + 1) + kappa. With others it may vanish and must not be relied on.
            let share = 1.0 + (i + 1) as f64 * kappa;
            c.error[i] = sigma * share;
            if i == order {
                c.error[i] = (alpha + drift + kappa).abs().max(alpha * share);
                c.gain = size / (harmonic - kappa);
            }
        }
        c
    }

    fn predict(&mut self, frame: &Frame, c: &Coefficients) {
        let n = frame.state.len();
        for i in 0..n {
            let (mut value, mut slope) = (0.0, 0.0);
            // The largest last.
            for row in (0..=self.memory.order).rev() {
                let part = c.beta[row] * self.rows[row * n + i];
                value += part;
                slope += c.gamma[row] * part;
            }
            self.predicted[i] = value;
            self.predicted_slope[i] = slope;
        }
    }

    /// The prediction is as good as a step of this size could be, and the differences move along.
    fn shift(&mut self, frame: &mut Frame, stride: Stride) {
        frame.trial.copy_from_slice(&self.predicted);
        self.rows[..frame.trial.len()].copy_from_slice(&self.predicted);
        self.memory.anchor = stride.end;
        self.memory.shown = self.memory.order;
        frame.accept(stride);
        frame.place.slope_known = false;
    }

    /// Solves for the correction, with a new Jacobian if the old one does not serve.
    fn correct(
        &mut self,
        frame: &mut Frame,
        system: &mut dyn OdeSystem,
        stride: Stride,
        c: &Coefficients,
    ) -> Result<Newton, Obstacle> {
        evaluate(system, &mut frame.counters, stride.end, &self.predicted, &mut self.system_slope)?;
        let mut current = false;
        let slow = self.memory.rate.is_finite() && self.memory.rate > SLOW;
        let worn = slow && self.memory.age > OLD && !self.matrix_serves(c);
        if !self.memory.jacobian_known || worn {
            self.evaluate_jacobian(frame, system, stride.end)?;
            current = true;
        }
        loop {
            let outcome = if self.factorise(frame, c) {
                self.iterate(frame, system, stride, c)?
            } else {
                Newton::Slow { state: worst(&self.predicted_slope, &frame.weights) }
            };
            if current || matches!(outcome, Newton::Converged) {
                return Ok(outcome);
            }
            self.evaluate_jacobian(frame, system, stride.end)?;
            current = true;
        }
    }

    /// At the predicted state, whose derivative is known.
    fn evaluate_jacobian(
        &mut self,
        frame: &mut Frame,
        system: &mut dyn OdeSystem,
        t: f64,
    ) -> Result<(), Obstacle> {
        frame.counters.jacobians += 1;
        // A partial Jacobian is not valid.
        self.memory.jacobian_known = false;
        if !system.jacobian(t, &self.predicted, &mut self.jacobian)? {
            let Frame { relative, absolute, counters, .. } = frame;
            // Values below this size are within tolerance.
            let scale = |state: usize| absolute[state] / relative.max(1e-6);
            self.differences.fill(
                system,
                counters,
                t,
                &self.predicted,
                &self.system_slope,
                scale,
                &mut self.jacobian,
            )?;
        }
        self.memory.jacobian_known = true;
        self.memory.age = 0;
        self.memory.factored = 0.0;
        Ok(())
    }

    /// From limit to limit equal steps differ in their last digits.
    fn matrix_serves(&self, c: &Coefficients) -> bool {
        (self.memory.factored - c.gain).abs() <= 1e-6 * c.gain
    }

    /// Unless the matrix is that of this gain; `false` if it is singular.
    fn factorise(&mut self, frame: &mut Frame, c: &Coefficients) -> bool {
        if self.matrix_serves(c) {
            return true;
        }
        frame.counters.factorisations += 1;
        let n = frame.state.len();
        let matrix = self.matrix.matrix();
        for (entry, derivative) in matrix.iter_mut().zip(&self.jacobian) {
            *entry = -c.gain * derivative;
        }
        for i in 0..n {
            matrix[i * n + i] += 1.0;
        }
        self.memory.rate = f64::INFINITY;
        let regular = self.matrix.factorise();
        self.memory.factored = if regular { c.gain } else { 0.0 };
        regular
    }

    /// The correction e satisfies e = gain (f(t, predicted + e) - predicted slope).
    fn iterate(
        &mut self,
        frame: &mut Frame,
        system: &mut dyn OdeSystem,
        stride: Stride,
        c: &Coefficients,
    ) -> Result<Newton, Obstacle> {
        let n = frame.state.len();
        let constant = c.error[self.memory.order];
        self.correction.fill(0.0);
        frame.trial.copy_from_slice(&self.predicted);
        frame.trial_slope.copy_from_slice(&self.system_slope);
        let mut before = 0.0;
        for iteration in 0..ITERATIONS {
            if iteration > 0 {
                let Frame { counters, trial, trial_slope, .. } = frame;
                evaluate(system, counters, stride.end, trial, trial_slope)?;
            }
            for i in 0..n {
                let lacking = frame.trial_slope[i] - self.predicted_slope[i];
                self.change[i] = c.gain * lacking - self.correction[i];
            }
            self.matrix.solve(&mut self.change);
            let size = constant * norm(&self.change, &frame.weights);
            if iteration > 0 {
                let rate = size / before;
                if rate.is_nan() || rate > WORST_RATE {
                    break;
                }
                // The rate decays slowly: one fast iteration proves nothing.
                let known = if self.memory.rate.is_finite() { 0.9 * self.memory.rate } else { 0.0 };
                self.memory.rate = rate.max(known);
            }
            for i in 0..n {
                self.correction[i] += self.change[i];
                frame.trial[i] = self.predicted[i] + self.correction[i];
            }
            // The remaining error at this rate: a geometric series.
            let rate = self.memory.rate.min(WORST_RATE);
            let left = |rate: f64| size * rate / (1.0 - rate);
            if left(if iteration == 0 { rate.max(BEST_RATE_BELIEVED) } else { rate }) <= STAYS {
                return Ok(Newton::Converged);
            }
            let remaining = (ITERATIONS - 1 - iteration) as i32;
            if iteration > 0 && left(rate) * math::powi(rate, remaining) > STAYS {
                break;
            }
            before = size;
        }
        Ok(Newton::Slow { state: worst(&self.change, &frame.weights) })
    }

    /// Adds the step to the differences, and chooses the next one.
    fn accept(&mut self, frame: &mut Frame, stride: Stride, c: &Coefficients, error: f64) {
        let n = frame.state.len();
        let order = self.memory.order;
        self.memory.held += 1;
        self.memory.age += 1;
        let higher = (self.settled() && order < self.highest && self.memory.rows >= order + 2).then(|| {
            for i in 0..n {
                self.change[i] = self.correction[i] - c.beta[order + 1] * self.rows[(order + 1) * n + i];
            }
            c.error[order + 1] * norm(&self.change, &frame.weights)
        });
        // The correction is the next difference, each lower one adds the one above.
        for row in 0..=order {
            for i in 0..n {
                self.rows[row * n + i] *= c.beta[row];
            }
        }
        self.rows[(order + 1) * n..(order + 2) * n].copy_from_slice(&self.correction);
        for row in (1..=order).rev() {
            for i in 0..n {
                self.rows[row * n + i] += self.rows[(row + 1) * n + i];
            }
        }
        self.rows[..n].copy_from_slice(&frame.trial);
        self.memory.spans = c.spans;
        self.memory.anchor = stride.end;
        self.memory.shown = order;
        self.memory.rows = order + 2;
        self.memory.failures = 0;
        self.plan(frame, stride, c, error, higher);
        frame.accept(stride);
        frame.place.slope_known = false;
    }

    /// Differences of one order and size are comparable after as many steps as they span.
    fn settled(&self) -> bool {
        self.memory.held > self.memory.order
    }

    /// The order that allows the largest step, with larger safety factors for other orders than the current one.
    /// Source: ode15s of Shampine & Reichelt 1997, for the doubts too.
    fn plan(&mut self, frame: &mut Frame, stride: Stride, c: &Coefficients, error: f64, higher: Option<f64>) {
        let order = self.memory.order;
        let growth = |doubt: f64, error: f64, order: usize| {
            1.0 / (doubt * math::powf(error.max(f64::MIN_POSITIVE), 1.0 / (order + 1) as f64))
        };
        let mut best = (growth(1.2, error, order), order);
        let settled = self.settled();
        if settled && order > 1 {
            let n = frame.state.len();
            let lower = norm(&self.rows[order * n..(order + 1) * n], &frame.weights);
            let lowered = growth(1.3, c.error[order - 1] * lower, order - 1);
            if lowered > best.0 {
                best = (lowered, order - 1);
            }
        }
        if let Some(higher) = higher {
            let raised = growth(1.4, higher, order + 1);
            if raised > best.0 {
                best = (raised, order + 1);
            }
        }
        let (growth, order) = best;
        if order != self.memory.order {
            self.memory.order = order;
            self.memory.held = 0;
        }
        let starting = self.memory.starting;
        self.memory.starting &= growth >= LARGEST_GROWTH;
        let factor = if growth >= WORTH_IT && (settled || starting) {
            self.memory.held = 0;
            growth.min(if starting { STARTING_GROWTH } else { LARGEST_GROWTH })
        } else {
            growth.clamp(0.5, 1.0)
        };
        // The size planned before a limit cut it off is used as far as the error allows.
        let believed = if frame.cut_short(stride) { f64::INFINITY } else { growth * stride.size };
        frame.place.planned = frame.place.planned.min(believed).max(factor * stride.size);
    }

    /// After an error that was too large: a smaller step, after the second time a lower order, after the third the lowest.
    /// Source: as DASSL does.
    fn shrink(&mut self, frame: &mut Frame, stride: Stride, error: f64) {
        let memory = &mut self.memory;
        memory.failures += 1;
        let factor = if memory.failures == 1 && error.is_finite() {
            (0.9 / math::powf(2.0 * error, 1.0 / (memory.order + 1) as f64)).clamp(RETREAT, 0.9)
        } else {
            RETREAT
        };
        memory.order = match memory.failures {
            1 => memory.order,
            2 => memory.order.max(2) - 1,
            _ => 1,
        };
        self.retreat(frame, factor * stride.size);
    }

    fn retreat(&mut self, frame: &mut Frame, size: f64) {
        self.memory.starting = false;
        self.memory.held = 0;
        frame.place.planned = size;
    }

    /// The polynomial through the last points, as many as the order of the step needs.
    pub(crate) fn at(&self, t: f64, x: &mut [f64]) {
        self.combine(0, self.factors(t).map(|(value, _)| value), x);
    }

    pub(crate) fn slope_at(&self, t: f64, dx: &mut [f64]) {
        self.combine(1, self.factors(t).map(|(_, slope)| slope), dx);
    }

    /// The sum of rows from `first` on times factors, the largest last.
    fn combine(&self, first: usize, factors: [f64; ROWS], out: &mut [f64]) {
        let n = out.len();
        for i in 0..n {
            let mut sum = 0.0;
            for row in (first..=self.memory.shown).rev() {
                sum += factors[row] * self.rows[row * n + i];
            }
            out[i] = sum;
        }
    }

    /// What each row counts in the value at `t`, and in the derivative.
    fn factors(&self, t: f64) -> [(f64, f64); ROWS] {
        let mut factors = [(1.0, 0.0); ROWS];
        let distance = t - self.memory.anchor;
        for row in 1..ROWS {
            let (value, slope) = factors[row - 1];
            let span = self.memory.spans[row - 1];
            // Newton's form: one factor more for each point passed, the first of them the anchor.
            let passed = distance + if row == 1 { 0.0 } else { self.memory.spans[row - 2] };
            factors[row] = (value * passed / span, (slope * passed + value) / span);
        }
        factors
    }

    pub(crate) fn copy_from(&mut self, other: &Bdf) {
        self.memory = other.memory;
        self.rows.copy_from_slice(&other.rows);
        self.jacobian.copy_from_slice(&other.jacobian);
        self.matrix.copy_from(&other.matrix);
        self.differences.copy_from(&other.differences);
    }

    pub(crate) fn serialize(&self, writer: &mut Writer<'_>) {
        let memory = &self.memory;
        for count in [memory.order, memory.rows, memory.shown, memory.held, memory.failures, memory.age] {
            writer.count(count);
        }
        writer.flag(memory.begun);
        writer.flag(memory.starting);
        writer.flag(memory.jacobian_known);
        writer.numbers(&[memory.anchor, memory.factored, memory.rate]);
        writer.numbers(&memory.spans);
        writer.numbers(&self.rows);
        writer.numbers(&self.jacobian);
        self.matrix.serialize(writer);
        self.differences.serialize(writer);
    }

    pub(crate) fn deserialize(&mut self, reader: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let memory = &mut self.memory;
        memory.order = reader.count(self.highest)?.max(1);
        memory.rows = reader.count(ROWS)?;
        memory.shown = reader.count(HIGHEST_ORDER)?;
        memory.held = reader.small_count()?;
        memory.failures = reader.small_count()?;
        memory.age = reader.small_count()?;
        memory.begun = reader.flag()?;
        memory.starting = reader.flag()?;
        memory.jacobian_known = reader.flag()?;
        let mut numbers = [0.0; 3];
        reader.numbers(&mut numbers)?;
        [memory.anchor, memory.factored, memory.rate] = numbers;
        reader.numbers(&mut memory.spans)?;
        reader.numbers(&mut self.rows)?;
        reader.numbers(&mut self.jacobian)?;
        self.matrix.deserialize(reader)?;
        self.differences.deserialize(reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::EvaluationFault;

    /// x'' = -x with its exact Jacobian, so that one iteration solves it.
    struct Oscillator;

    impl OdeSystem for Oscillator {
        fn derivatives(&mut self, _t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
            dx.copy_from_slice(&[x[1], -x[0]]);
            Ok(())
        }

        fn jacobian(&mut self, _t: f64, _x: &[f64], out: &mut [f64]) -> Result<bool, EvaluationFault> {
            out.copy_from_slice(&[0.0, 1.0, -1.0, 0.0]);
            Ok(true)
        }
    }

    fn exact(t: f64) -> [f64; 2] {
        [math::cos(t), -math::sin(t)]
    }

    /// Steps of one order, of sizes that are repeated, from exact differences: the largest errors up to t = 2 at the ends
    /// of steps, between them, and of the derivative between them.
    fn errors(order: usize, sizes: &[f64]) -> [f64; 3] {
        let settings =
            Settings { relative: 0.0, absolute: crate::Absolute::Same(1.0), ..Settings::default() };
        let mut frame = Frame::new(2, &settings);
        let mut bdf = Bdf::new(2, &settings);
        // Points of the past, and Newton's divided differences through them times their spans.
        let mut points = vec![0.0];
        for back in 0..=order {
            points.push(points[back] - sizes[(sizes.len() - 1) - back % sizes.len()]);
        }
        for i in 0..2 {
            let mut table: Vec<f64> = points.iter().map(|t| exact(*t)[i]).collect();
            let mut factor = 1.0;
            for row in 0..=order {
                bdf.rows[row * 2 + i] = table[0] * factor;
                factor *= -points[row + 1];
                for k in 0..table.len() - 1 {
                    table[k] = (table[k] - table[k + 1]) / (points[k] - points[k + row + 1]);
                }
                table.pop();
            }
        }
        for (span, point) in bdf.memory.spans.iter_mut().zip(&points[1..]) {
            *span = -point;
        }
        bdf.memory.begun = true;
        bdf.memory.rows = order + 1;
        frame.state.copy_from_slice(&exact(0.0));
        frame.place.fresh = false;
        let mut errors = [0.0_f64; 3];
        for size in sizes.iter().cycle() {
            if frame.place.time > 2.0 {
                return errors;
            }
            bdf.memory.order = order;
            bdf.memory.held = 0;
            let stride = Stride { size: *size, end: frame.place.time + size };
            bdf.attempt(&mut frame, &mut Oscillator, stride).unwrap();
            let mut x = [0.0; 2];
            errors[0] = errors[0].max((frame.state[0] - exact(stride.end)[0]).abs());
            let t = stride.end - 0.4 * size;
            bdf.at(t, &mut x);
            errors[1] = errors[1].max((x[0] - exact(t)[0]).abs());
            bdf.slope_at(t, &mut x);
            errors[2] = errors[2].max((x[0] - exact(t)[1]).abs());
        }
        errors
    }

    #[test]
    fn every_order_shows_as_one_with_steps_of_one_size_and_of_many() {
        for sizes in [vec![0.02], vec![0.02, 0.03, 0.015, 0.025]] {
            for order in 1..=HIGHEST_ORDER {
                let halves: Vec<f64> = sizes.iter().map(|size| 0.5 * size).collect();
                let (coarse, fine) = (errors(order, &sizes), errors(order, &halves));
                let found = [0, 1, 2].map(|kind| math::log2(coarse[kind] / fine[kind]));
                println!("order {order}, {} sizes: {found:.2?}, error {:.1e}", sizes.len(), fine[0]);
                for found in found {
                    assert!((found - order as f64).abs() < 0.25, "order {order}: {found}");
                }
            }
        }
    }

    #[test]
    fn with_equal_steps_the_formula_is_that_of_shampine_and_reichelt() {
        let mut bdf = Bdf::new(0, &Settings::default());
        bdf.memory.spans = std::array::from_fn(|i| 0.1 * (i + 1) as f64);
        // Their table 1: the error of each order, in units of the next difference.
        let table = [0.315, 1.0 / 6.0, 0.25 - 0.0823 * 11.0 / 6.0, 0.2 - 0.0415 * 25.0 / 12.0, 1.0 / 6.0];
        for (order, wanted) in (1..).zip(table) {
            bdf.memory.order = order;
            let c = bdf.coefficients(0.1);
            let harmonic: f64 = (1..=order).map(|j| 1.0 / j as f64).sum();
            assert!((c.error[order] - wanted).abs() < 1e-14, "order {order}: {}", c.error[order]);
            assert!((c.gain * (1.0 - KAPPA[order]) * harmonic - 0.1).abs() < 1e-15);
            assert!(c.beta.iter().all(|beta| (beta - 1.0).abs() < 1e-14));
        }
    }

    #[test]
    fn no_sequence_of_steps_makes_errors_vanish() {
        let mut bdf = Bdf::new(0, &Settings::default());
        for ratio in 1..100 {
            // A step of this size after equal ones of size 1.
            let size = 0.05 * f64::from(ratio);
            bdf.memory.spans = std::array::from_fn(|i| (i + 1) as f64);
            for order in 1..=HIGHEST_ORDER {
                bdf.memory.order = order;
                let c = bdf.coefficients(size);
                // alpha, of which at least the share of equal steps is taken: 0.4 or more.
                let alpha = size / (size + order as f64);
                assert!(c.error[order] > 0.39 * alpha, "order {order}, size {size}: {}", c.error[order]);
                assert!(c.error[1..].iter().all(|error| *error > 0.0));
            }
        }
    }
}
