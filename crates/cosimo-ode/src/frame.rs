//! What all methods share: the integrator's point, its settings, and the norm of errors.

use cosimo_core::math;

use crate::failure::Cause;
use crate::integrator::Counters;
use crate::settings::Settings;
use crate::system::{EvaluationFault, OdeSystem};

/// A step that would end with so few steps left to its limit shares the rest evenly with them: their number stays the
/// same, the last is not a tiny one, and from limit to limit the sizes are equal. Multistep methods live on that.
const EVENLY: f64 = 8.0;

/// The scalars that a rollback restores. The vectors are in `Frame`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FramePlace {
    /// Where the last step began; `time` if there was none.
    pub(crate) start: f64,
    pub(crate) time: f64,
    /// The size that the method proposes next.
    pub(crate) planned: f64,
    pub(crate) largest: f64,
    /// No step was taken since the start: `planned` is not valid.
    pub(crate) fresh: bool,
    /// `slope` belongs to `time` and `state`.
    pub(crate) slope_known: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) place: FramePlace,
    pub(crate) state: Vec<f64>,
    /// The state where the last step began.
    pub(crate) previous: Vec<f64>,
    pub(crate) slope: Vec<f64>,

    pub(crate) relative: f64,
    pub(crate) absolute: Vec<f64>,
    first: Option<f64>,
    least: f64,
    pub(crate) counters: Counters,

    /// Scratch: a trial state, its derivative, and the error that is allowed.
    pub(crate) trial: Vec<f64>,
    pub(crate) trial_slope: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

/// One attempted step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stride {
    pub(crate) size: f64,
    /// The exact end, which `time + size` may miss by rounding.
    pub(crate) end: f64,
}

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) enum Obstacle {
    Fatal(std::borrow::Cow<'static, str>),
    /// A smaller step may help.
    Smaller(Cause),
}

impl Frame {
    pub(crate) fn new(states: usize, settings: &Settings) -> Self {
        let zeros = || vec![0.0; states];
        Frame {
            place: FramePlace {
                start: 0.0,
                time: 0.0,
                planned: 0.0,
                largest: settings.largest,
                fresh: true,
                slope_known: false,
            },
            state: zeros(),
            previous: zeros(),
            slope: zeros(),
            relative: settings.relative,
            absolute: settings.absolutes(states),
            first: settings.first,
            least: settings.least,
            counters: Counters::default(),
            trial: zeros(),
            trial_slope: zeros(),
            weights: zeros(),
        }
    }

    /// Where the next attempt ends: at the limit exactly, or a fair part of the way.
    pub(crate) fn aim(&self, limit: f64) -> Stride {
        let rest = limit - self.place.time;
        let planned = self.place.planned.min(self.place.largest).max(self.least());
        let steps = (rest / planned).ceil();
        let size = if steps <= EVENLY { rest / steps.max(1.0) } else { planned };
        let end = self.place.time + size;
        if steps <= 1.0 || end >= limit { Stride { size: rest, end: limit } } else { Stride { size, end } }
    }

    /// A limit came so soon that the error of the step says nothing about the size that was planned.
    pub(crate) fn cut_short(&self, stride: Stride) -> bool {
        stride.size < 0.1 * self.place.planned
    }

    /// The smallest size that still moves time by a good number of its own digits.
    pub(crate) fn least(&self) -> f64 {
        (16.0 * spacing(self.place.time)).max(self.least)
    }

    /// Takes the trial state as the end of the step.
    pub(crate) fn accept(&mut self, stride: Stride) {
        self.place.start = self.place.time;
        self.place.time = stride.end;
        self.previous.copy_from_slice(&self.state);
        self.state.copy_from_slice(&self.trial);
    }

    /// The derivative at the current point, unless it is known.
    pub(crate) fn know_slope(&mut self, system: &mut dyn OdeSystem) -> Result<(), Obstacle> {
        if !self.place.slope_known {
            evaluate(system, &mut self.counters, self.place.time, &self.state, &mut self.slope)?;
            self.place.slope_known = true;
        }
        Ok(())
    }

    /// Plans the first step after a start, for a method of the given order: two evaluations.
    /// Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, section II.4, "Starting Step Size".
    pub(crate) fn plan_first(
        &mut self,
        system: &mut dyn OdeSystem,
        order: usize,
        limit: f64,
    ) -> Result<(), Obstacle> {
        self.know_slope(system)?;
        self.place.planned = match self.first {
            Some(first) => first,
            None => self.guess(system, order, limit)?,
        };
        self.place.fresh = false;
        // The dense output of a step that was cut ends here: the method may need its memory for the next one.
        self.place.start = self.place.time;
        Ok(())
    }

    fn guess(&mut self, system: &mut dyn OdeSystem, order: usize, limit: f64) -> Result<f64, Obstacle> {
        weigh(&mut self.weights, self.relative, &self.absolute, &self.state, &self.state);
        let d0 = norm(&self.state, &self.weights);
        let d1 = norm(&self.slope, &self.weights);
        let h0 = if d0 < 1e-5 || d1 < 1e-5 { 1e-6 } else { 0.01 * (d0 / d1) };
        let rest = limit - self.place.time;
        if rest < 1e-3 * h0 {
            // Too near to estimate the curvature.
            return Ok(h0);
        }
        let h0 = h0.min(rest).min(self.place.largest);
        for i in 0..self.state.len() {
            self.trial[i] = self.state[i] + h0 * self.slope[i];
        }
        // Rounding must not lead beyond the limit.
        let t = (self.place.time + h0).min(limit);
        match evaluate(system, &mut self.counters, t, &self.trial, &mut self.trial_slope) {
            Ok(()) => {}
            Err(Obstacle::Smaller(_)) => return Ok(0.1 * h0),
            Err(fatal) => return Err(fatal),
        }
        for i in 0..self.state.len() {
            self.trial[i] = self.trial_slope[i] - self.slope[i];
        }
        let d2 = norm(&self.trial, &self.weights) / h0;
        let steepest = d1.max(d2);
        let h1 = if steepest <= 1e-15 {
            (1e-3 * h0).max(1e-6)
        } else {
            math::powf(0.01 / steepest, 1.0 / (order + 1) as f64)
        };
        Ok(h1.min(100.0 * h0))
    }
}

/// One call of the system, counted and checked.
pub(crate) fn evaluate(
    system: &mut dyn OdeSystem,
    counters: &mut Counters,
    t: f64,
    x: &[f64],
    dx: &mut [f64],
) -> Result<(), Obstacle> {
    counters.evaluations += 1;
    system.derivatives(t, x, dx)?;
    match dx.iter().position(|number| !number.is_finite()) {
        None => Ok(()),
        Some(state) => Err(Obstacle::Smaller(Cause::NotFinite { state })),
    }
}

impl From<EvaluationFault> for Obstacle {
    fn from(fault: EvaluationFault) -> Self {
        match fault {
            EvaluationFault::Retry(message) => Obstacle::Smaller(Cause::Refused { message }),
            EvaluationFault::Fatal(message) => Obstacle::Fatal(message),
        }
    }
}

/// The error allowed in each state over a step between two states.
pub(crate) fn weigh(weights: &mut [f64], relative: f64, absolute: &[f64], a: &[f64], b: &[f64]) {
    for i in 0..weights.len() {
        weights[i] = absolute[i] + relative * a[i].abs().max(b[i].abs());
    }
}

/// The root mean square in units of what is allowed.
pub(crate) fn norm(x: &[f64], weights: &[f64]) -> f64 {
    if x.is_empty() {
        return 0.0;
    }
    let mut sum = 0.0;
    for i in 0..x.len() {
        let part = x[i] / weights[i];
        sum += part * part;
    }
    (sum / x.len() as f64).sqrt()
}

/// The state that has the largest part in `norm`.
pub(crate) fn worst(x: &[f64], weights: &[f64]) -> usize {
    // NaN is worse than any number.
    let part =
        |i: usize| Some((x[i] / weights[i]).abs()).filter(|part| !part.is_nan()).unwrap_or(f64::INFINITY);
    let mut worst = 0;
    for i in 1..x.len() {
        if part(i) > part(worst) {
            worst = i;
        }
    }
    worst
}

/// From a number to the next one, away from 0.
pub(crate) fn spacing(number: f64) -> f64 {
    let number = number.abs();
    number.next_up() - number
}
