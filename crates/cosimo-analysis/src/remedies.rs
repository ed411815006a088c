//! Predicted errors of methods and steps: a run of the linear models of all components with the method itself, against the
//! exact solution of the coupled equations. Remedies are ranked by them.

use cosimo_core::Registry;
use cosimo_core::math;
use cosimo_core::registry::number_text;
use cosimo_engine::{Run, plan};
use cosimo_system::{Choice, EndRule, MethodConfig, System};

use crate::linalg::Matrix;
use crate::linear_models::ModelledSystem;
use crate::linearise::exponential;

/// Steps of a prediction at most, and of one with smaller steps.
const STEPS: f64 = 4000.0;
const MOST_STEPS: f64 = 64_000.0;
/// From here on a run diverges.
const DIVERGED: f64 = 1e3;
/// Halvings in search of the step that an accuracy needs.
const HALVINGS: usize = 14;
/// A system that moves less than this, relative to its values, is disturbed.
const RESTING: f64 = 1e-9;

/// Predicts errors of signals, relative to their largest values.
#[derive(Debug)]
pub struct Predictor {
    models: ModelledSystem,
    /// x' = A x + drift of the whole system, y - y0 = C x.
    a: Matrix,
    drift: Matrix,
    c: Matrix,
    /// Outputs at the beginning.
    values: Vec<f64>,
    /// Connected outputs, among all.
    shown: Vec<usize>,
    duration: f64,
}

/// What a method would do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The largest error of a signal, relative to its largest value.
    pub error: f64,
    /// The step that the wanted accuracy needs.
    pub step: Option<f64>,
}

impl Predictor {
    /// `None` where the loop of direct feed-throughs has no solution.
    pub fn new(models: &ModelledSystem) -> Option<Predictor> {
        let run = Run::new(plan(&models.system, &models.registry).ok()?, 1).ok()?;
        let topology = &run.layout().topology;
        let (inputs, outputs) = (topology.shape.inputs, topology.shape.outputs);
        let [a, b, c, d] = models.matrices(topology);
        let drift: Vec<f64> = models.models.iter().flat_map(|model| model.drift.clone()).collect();
        let drift = Matrix::from_fn(drift.len(), 1, |row, _| drift[row]);
        let mut wires = Matrix::zeros(inputs, outputs);
        for input in 0..inputs {
            for term in topology.couplings.terms(input) {
                wires[(input, term.output)] += term.gain;
            }
        }
        let through = &d * &wires;
        let loops = &Matrix::identity(outputs) - &through;
        let c = loops.solve(&c);
        let bk = &b * &wires;
        let a = &a + &(&bk * &c);
        let values: Vec<f64> = models.models.iter().flat_map(|model| model.outputs.clone()).collect();
        let shown = topology.driving.clone();
        let experiment = &models.system.experiment;
        let duration = experiment.stop - experiment.start;
        let mut found = Predictor { models: models.clone(), a, drift, c, values, shown, duration };
        if !(found.a.is_finite() && found.c.is_finite()) {
            return None;
        }
        if found.resting() {
            found.disturb();
        }
        Some(found)
    }

    /// Whether nothing moves.
    fn resting(&self) -> bool {
        let rates = &self.c * &self.drift;
        let still = |&output: &usize| {
            rates[(output, 0)].abs() * self.duration <= RESTING * self.values[output].abs().max(1.0)
        };
        self.shown.iter().all(still)
            && (0..self.drift.nrows()).all(|row| self.drift[(row, 0)].abs() < RESTING)
    }

    /// A system at rest is moved by a constant push on every state.
    fn disturb(&mut self) {
        let mut models = self.models.models.clone();
        let mut row = 0;
        for model in &mut models {
            for (state, drift) in model.drift.iter_mut().enumerate() {
                let n = model.inputs.len();
                *drift = model.b[state * n..(state + 1) * n].iter().map(|gain| gain.abs()).sum();
                self.drift[(row, 0)] = *drift;
                row += 1;
            }
        }
        self.models = self.models.with(models);
    }

    /// The growth rate of the whole system by itself, per second.
    pub fn monolithic(&self) -> &Matrix {
        &self.a
    }

    /// The largest relative error over the experiment or some thousand steps. `None` where the method cannot be run.
    pub fn error(&self, methods: &MethodConfig, size: f64) -> Option<f64> {
        self.error_over(methods, size, self.duration.min(STEPS * size))
    }

    fn error_over(&self, methods: &MethodConfig, size: f64, time: f64) -> Option<f64> {
        let mut system: System = self.models.system.clone();
        system.methods = methods.clone();
        (system.methods.controller, system.methods.estimate) =
            (Choice::named("fixed"), Choice::named("none"));
        (system.methods.step.size, system.experiment.end) = (Some(size), EndRule::After);
        let registry: &Registry = &self.models.registry;
        let mut run = Run::new(plan(&system, registry).ok()?, 1).ok()?;
        let n = self.a.nrows();
        let whole = Matrix::from_fn(n + 1, n + 1, |row, column| match (row < n, column < n) {
            (true, true) => self.a[(row, column)],
            (true, false) => self.drift[(row, 0)],
            _ => 0.0,
        });
        let flow = exponential(&whole, size);
        let mut x = Matrix::zeros(n + 1, 1);
        x[(n, 0)] = 1.0;
        let mut most = vec![0.0f64; self.shown.len()];
        let mut errors = vec![0.0f64; self.shown.len()];
        let steps = (time / size * (1.0 - 1e-9)).ceil().max(1.0) as usize;
        for _ in 0..steps {
            if run.step().is_err() {
                return Some(f64::INFINITY);
            }
            x = &flow * &x;
            for (place, &output) in self.shown.iter().enumerate() {
                let exact =
                    self.values[output] + (0..n).map(|k| self.c[(output, k)] * x[(k, 0)]).sum::<f64>();
                most[place] = most[place].max(exact.abs());
                errors[place] = errors[place].max((run.outputs()[output] - exact).abs());
            }
            let beyond = |place: usize| errors[place] > DIVERGED * most[place].max(f64::MIN_POSITIVE);
            if !errors.iter().all(|error| error.is_finite()) || (0..errors.len()).all(beyond) {
                return Some(f64::INFINITY);
            }
        }
        // Signals that stay at zero are held against the largest signal.
        let largest = most.iter().copied().fold(0.0, f64::max);
        let relative = errors.iter().zip(&most).map(|(error, most)| error / most.max(1e-6 * largest));
        Some(relative.filter(|error| !error.is_nan()).fold(0.0, f64::max))
    }

    /// The error at a step, and the step that an accuracy needs: by halving, and by the order between the last two.
    pub fn predict(&self, methods: &MethodConfig, size: f64, accuracy: f64) -> Option<Prediction> {
        let error = self.error(methods, size)?;
        let time = self.duration.min(STEPS * size);
        let (mut step, mut now) = (size, error);
        for _ in 0..HALVINGS {
            if now <= accuracy {
                return Some(Prediction { error, step: Some(rounded_down(step)) });
            }
            let (larger, before) = (step, now);
            step /= 2.0;
            if time / step > MOST_STEPS {
                break;
            }
            now = self.error_over(methods, step, time)?;
            if now <= accuracy && now > 0.0 && before.is_finite() {
                // e = k h^p through both.
                let order = math::log2(before / now).max(0.5);
                let between = rounded_down(0.98 * step * math::powf(accuracy / now, 1.0 / order)).min(larger);
                let checked = self.error_over(methods, between, time)?;
                step = if checked <= accuracy { between } else { step };
                now = now.min(accuracy);
            }
        }
        Some(Prediction { error, step: None })
    }
}

/// To two digits, never up.
pub(crate) fn rounded_down(value: f64) -> f64 {
    let digits = math::powf(10.0, math::log10(value).floor() - 1.0);
    let rounded = (value / digits * (1.0 + 1e-12)).floor() * digits;
    // As text and back, so that 3.5e-3 is 3.5e-3 and not its neighbour.
    format!("{rounded:.1e}").parse().unwrap_or(rounded)
}

/// A relative error as text.
pub fn error_text(error: f64) -> String {
    if error >= 1.0 {
        "more than 100 %".into()
    } else {
        let percent = format!("{:.1e}", 100.0 * error);
        format!("{} %", percent.parse::<f64>().map_or(percent, number_text))
    }
}
