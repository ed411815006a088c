//! Explicit Runge-Kutta pairs whose last stage is the first of the next step: Dormand-Prince 5(4) and
//! Bogacki-Shampine 3(2). One implementation over tables of coefficients.
//!
//! The step control, the detection of stiffness and the form of the dense output are those of DOPRI5: Hairer, Nørsett &
//! Wanner, Solving Ordinary Differential Equations I, sections II.4 to II.6, and Hairer & Wanner, volume II, section IV.2.

use cosimo_core::math;

use crate::failure::Cause;
use crate::frame::{Frame, Obstacle, Stride, evaluate, norm, weigh, worst};
use crate::integrator::{IntegratorEntry, Method};
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::system::OdeSystem;

pub(crate) const DORMAND_PRINCE: IntegratorEntry = IntegratorEntry {
    name: "dormand-prince",
    summary: "explicit, order 5 with dense output of order 4; for smooth systems that are not stiff",
    source: "Dormand & Prince 1980, RK5(4)7M; Hairer, Nørsett & Wanner I, sections II.5 and II.6",
    rewinds_exactly: true,
    build: |states, _| Method::Explicit(Explicit::new(&DORMAND_PRINCE_5, states)),
};

pub(crate) const BOGACKI_SHAMPINE: IntegratorEntry = IntegratorEntry {
    name: "bogacki-shampine",
    summary: "explicit, order 3 with dense output of order 3; for rough tolerances and many events",
    source: "Bogacki & Shampine 1989, A 3(2) pair of Runge-Kutta formulas",
    rewinds_exactly: true,
    build: |states, _| Method::Explicit(Explicit::new(&BOGACKI_SHAMPINE_3, states)),
};

/// A pair whose last row of `weights` is the step itself.
#[derive(Debug)]
struct Tableau {
    /// Of the solution that is carried on.
    order: usize,
    nodes: &'static [f64],
    /// Row i makes stage i out of those before it; there is none for the first.
    weights: &'static [&'static [f64]],
    /// The solution that is carried on minus the embedded one.
    error: &'static [f64],
    /// What the dense output has beyond the cubic through both ends.
    bulge: &'static [f64],
    /// Where the region of stability ends on the negative real axis.
    stable: f64,
}

/// Dormand & Prince 1980, RK5(4)7M, as in Hairer, Nørsett & Wanner I, table II.5.2. The dense output is Shampine's of
/// order 4, from CONTD5 in the same book; stable up to about 3.3 (3.25 in DOPRI5).
static DORMAND_PRINCE_5: Tableau = Tableau {
    order: 5,
    nodes: &[0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0],
    weights: &[
        &[],
        &[1.0 / 5.0],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
        &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
        &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
    ],
    error: &[
        71.0 / 57600.0,
        0.0,
        -71.0 / 16695.0,
        71.0 / 1920.0,
        -17253.0 / 339200.0,
        22.0 / 525.0,
        -1.0 / 40.0,
    ],
    bulge: &[
        -12715105075.0 / 11282082432.0,
        0.0,
        87487479700.0 / 32700410799.0,
        -10690763975.0 / 1880347072.0,
        701980252875.0 / 199316789632.0,
        -1453857185.0 / 822651844.0,
        69997945.0 / 29380423.0,
    ],
    stable: 3.25,
};

/// Bogacki & Shampine 1989. The cubic through both ends with their derivatives has the order of the method; stable up to
/// 2.51, the root of 1 - z + z^2/2 - z^3/6 = -1, of which a little is left off as in DOPRI5.
static BOGACKI_SHAMPINE_3: Tableau = Tableau {
    order: 3,
    nodes: &[0.0, 1.0 / 2.0, 3.0 / 4.0, 1.0],
    weights: &[&[], &[1.0 / 2.0], &[0.0, 3.0 / 4.0], &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0]],
    error: &[-5.0 / 72.0, 1.0 / 12.0, 1.0 / 9.0, -1.0 / 8.0],
    bulge: &[0.0; 4],
    stable: 2.46,
};

/// Step control, Hairer & Wanner II, section IV.2: a share of the error before last damps the sizes.
const SAFETY: f64 = 0.9;
const LARGEST_GROWTH: f64 = 10.0;
const SMALLEST_GROWTH: f64 = 0.2;
/// After a refusal, without information on how much smaller.
const RETREAT: f64 = 0.25;

/// Stiff after so many steps at the border of stability, unless so many others came between (DOPRI5: NONSTI, IASTI).
const STIFF_STEPS: usize = 15;
const OTHER_STEPS: usize = 6;

/// The scalars that a rollback restores.
#[derive(Debug, Clone, Copy)]
struct ExplicitMemory {
    /// The dense output is that of a step from here.
    anchor: f64,
    width: f64,
    /// The error before last.
    error: f64,
    /// The last attempt failed: do not grow.
    failed: bool,
    at_border: usize,
    elsewhere: usize,
}

const NOTHING: ExplicitMemory =
    ExplicitMemory { anchor: 0.0, width: 0.0, error: 1e-4, failed: false, at_border: 0, elsewhere: 0 };

#[derive(Debug, Clone)]
pub(crate) struct Explicit {
    tableau: &'static Tableau,
    memory: ExplicitMemory,
    /// Five vectors in a row: the coefficients of the dense output.
    dense: Vec<f64>,
    stiff: bool,
    /// Scratch: the derivatives of all stages in a row, the state of the last stage but one, the error.
    stages: Vec<f64>,
    inner: Vec<f64>,
    error: Vec<f64>,
}

impl Explicit {
    fn new(tableau: &'static Tableau, states: usize) -> Self {
        Explicit {
            tableau,
            memory: NOTHING,
            dense: vec![0.0; 5 * states],
            stiff: false,
            stages: vec![0.0; tableau.nodes.len() * states],
            inner: vec![0.0; states],
            error: vec![0.0; states],
        }
    }

    pub(crate) fn order(&self) -> usize {
        self.tableau.order
    }

    pub(crate) fn stiff(&self) -> bool {
        self.stiff
    }

    /// The dense output of a step that was cut is still needed: only the memory of the step control is reset.
    pub(crate) fn forget(&mut self) {
        self.memory.error = NOTHING.error;
        self.memory.failed = false;
    }

    /// It has none.
    pub(crate) fn invalidate_jacobian(&mut self) {}

    pub(crate) fn attempt(
        &mut self,
        frame: &mut Frame,
        system: &mut dyn OdeSystem,
        stride: Stride,
    ) -> Result<(), Obstacle> {
        if let Err(obstacle) = self.evaluate_stages(frame, system, stride) {
            self.memory.failed = true;
            frame.place.planned = RETREAT * stride.size;
            return Err(obstacle);
        }
        weigh(&mut frame.weights, frame.relative, &frame.absolute, &frame.state, &frame.trial);
        combine(&mut self.error, &self.stages, self.tableau.error, stride.size);
        let error = norm(&self.error, &frame.weights);
        if error <= 1.0 {
            self.keep_dense(frame, stride);
            self.watch_stiffness(frame, stride);
            self.plan_after_success(frame, stride, error);
            frame.accept(stride);
            let n = frame.state.len();
            frame.slope.copy_from_slice(&self.stages[self.stages.len() - n..]);
            Ok(())
        } else {
            let factor = SAFETY * math::powf(error, -self.exponent());
            // An error that is not a number is as bad as can be.
            let factor = if factor > SMALLEST_GROWTH { factor } else { SMALLEST_GROWTH };
            self.memory.failed = true;
            frame.place.planned = factor * stride.size;
            Err(Obstacle::Smaller(Cause::Error { state: worst(&self.error, &frame.weights) }))
        }
    }

    /// All stages; the state of the last is the trial.
    fn evaluate_stages(
        &mut self,
        frame: &mut Frame,
        system: &mut dyn OdeSystem,
        stride: Stride,
    ) -> Result<(), Obstacle> {
        frame.know_slope(system)?;
        let n = frame.state.len();
        let last = self.tableau.nodes.len() - 1;
        self.stages[..n].copy_from_slice(&frame.slope);
        for stage in 1..=last {
            let (known, new) = self.stages.split_at_mut(stage * n);
            combine(&mut frame.trial, known, self.tableau.weights[stage], stride.size);
            for i in 0..n {
                frame.trial[i] += frame.state[i];
            }
            if stage == last - 1 {
                self.inner.copy_from_slice(&frame.trial);
            }
            // The exact end, independent of rounding of the sum.
            let node = self.tableau.nodes[stage];
            let t = if node == 1.0 { stride.end } else { frame.place.time + node * stride.size };
            evaluate(system, &mut frame.counters, t, &frame.trial, &mut new[..n])?;
        }
        Ok(())
    }

    fn exponent(&self) -> f64 {
        1.0 / self.tableau.order as f64
    }

    fn plan_after_success(&mut self, frame: &mut Frame, stride: Stride, error: f64) {
        if frame.cut_short(stride) {
            return;
        }
        // In DOPRI5 beta is 0.04 at order 5, and takes three quarters of itself from the exponent.
        let beta = 0.2 * self.exponent();
        let alpha = self.exponent() - 0.75 * beta;
        let factor = SAFETY * math::powf(error, -alpha) * math::powf(self.memory.error, beta);
        let most = if self.memory.failed { 1.0 } else { LARGEST_GROWTH };
        frame.place.planned = stride.size * factor.clamp(SMALLEST_GROWTH, most);
        self.memory.error = error.max(1e-4);
        self.memory.failed = false;
    }

    /// Hairer & Wanner II, section IV.2: the last two stages see the dominant eigenvalue.
    fn watch_stiffness(&mut self, frame: &Frame, stride: Stride) {
        let n = frame.state.len();
        let (_, last) = self.stages.split_at(self.stages.len() - 2 * n);
        let (mut slopes, mut states) = (0.0, 0.0);
        for i in 0..n {
            let (slope, state) = (last[n + i] - last[i], frame.trial[i] - self.inner[i]);
            slopes += slope * slope;
            states += state * state;
        }
        let memory = &mut self.memory;
        if states > 0.0 && stride.size * (slopes / states).sqrt() > self.tableau.stable {
            memory.elsewhere = 0;
            memory.at_border += 1;
            self.stiff |= memory.at_border >= STIFF_STEPS;
        } else {
            memory.elsewhere += 1;
            if memory.elsewhere == OTHER_STEPS {
                memory.at_border = 0;
            }
        }
    }

    /// Hairer, Nørsett & Wanner I, section II.6, in the form of CONTD5: with s from 0 to 1 over the step,
    /// x = d0 + s (d1 + (1 - s) (d2 + s (d3 + (1 - s) d4))).
    fn keep_dense(&mut self, frame: &Frame, stride: Stride) {
        let n = frame.state.len();
        let h = stride.size;
        let last = &self.stages[self.stages.len() - n..];
        let (d0, rest) = self.dense.split_at_mut(n);
        let (d1, rest) = rest.split_at_mut(n);
        let (d2, rest) = rest.split_at_mut(n);
        let (d3, d4) = rest.split_at_mut(n);
        for i in 0..n {
            d0[i] = frame.state[i];
            d1[i] = frame.trial[i] - frame.state[i];
            d2[i] = h * frame.slope[i] - d1[i];
            d3[i] = d1[i] - h * last[i] - d2[i];
        }
        combine(d4, &self.stages, self.tableau.bulge, h);
        self.memory.anchor = frame.place.time;
        self.memory.width = h;
    }

    pub(crate) fn at(&self, t: f64, x: &mut [f64]) {
        let n = x.len();
        let d = &self.dense;
        let s = self.share(t);
        let r = 1.0 - s;
        for i in 0..n {
            x[i] = d[i] + s * (d[n + i] + r * (d[2 * n + i] + s * (d[3 * n + i] + r * d[4 * n + i])));
        }
    }

    pub(crate) fn slope_at(&self, t: f64, dx: &mut [f64]) {
        let n = dx.len();
        let d = &self.dense;
        let s = self.share(t);
        let r = 1.0 - s;
        for i in 0..n {
            let cubic = d[n + i] + (1.0 - 2.0 * s) * d[2 * n + i] + s * (2.0 - 3.0 * s) * d[3 * n + i];
            dx[i] = (cubic + 2.0 * s * r * (1.0 - 2.0 * s) * d[4 * n + i]) / self.memory.width;
        }
    }

    fn share(&self, t: f64) -> f64 {
        (t - self.memory.anchor) / self.memory.width
    }

    pub(crate) fn copy_from(&mut self, other: &Explicit) {
        self.memory = other.memory;
        self.dense.copy_from_slice(&other.dense);
    }

    pub(crate) fn serialize(&self, writer: &mut Writer<'_>) {
        let memory = self.memory;
        writer.numbers(&[memory.anchor, memory.width, memory.error]);
        writer.flag(memory.failed);
        writer.count(memory.at_border);
        writer.count(memory.elsewhere);
        writer.numbers(&self.dense);
    }

    pub(crate) fn deserialize(&mut self, reader: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut numbers = [0.0; 3];
        reader.numbers(&mut numbers)?;
        let [anchor, width, error] = numbers;
        let failed = reader.flag()?;
        let (at_border, elsewhere) = (reader.small_count()?, reader.small_count()?);
        self.memory = ExplicitMemory { anchor, width, error, failed, at_border, elsewhere };
        reader.numbers(&mut self.dense)
    }
}

/// The sum of rows times coefficients, times a size.
fn combine(out: &mut [f64], rows: &[f64], coefficients: &[f64], size: f64) {
    let n = out.len();
    for i in 0..n {
        let mut sum = 0.0;
        for (row, coefficient) in coefficients.iter().enumerate() {
            sum += coefficient * rows[row * n + i];
        }
        out[i] = size * sum;
    }
}
