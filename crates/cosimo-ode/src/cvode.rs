//! Stiff systems by an external library: CVODE of SUNDIALS, backward differentiation of order 1 to 5 in Nordsieck form.
//! Source: Hindmarsh et al. 2005, SUNDIALS: Suite of nonlinear and differential/algebraic equation solvers.
//!
//! Its memory cannot be copied. The polynomial of the last step is kept here, so that dense output, rollback to it and its
//! serialization are exact as with every method; but after a copy CVODE restarts. Equal calls are bit-identical; a
//! repeated step gives the results of a restart.

use crate::failure::{Cause, IntegrationFailure};
use crate::frame::{Frame, Obstacle, Stride, evaluate, weigh, worst};
use crate::integrator::{Counters, IntegratorEntry, Method, StepOutcome};
use crate::jacobian::Differences;
use crate::settings::{HIGHEST_ORDER, Settings};
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::sundials::{Answer, CvodeCounters, CvodeEquations, Solver, Trouble};
use crate::system::OdeSystem;

pub(crate) const CVODE: IntegratorEntry = IntegratorEntry {
    name: "cvode",
    summary: "CVODE of SUNDIALS: implicit, order 1 to 5; for stiff systems; restarts after a rollback",
    source: "Hindmarsh et al. 2005, SUNDIALS",
    rewinds_exactly: false,
    build: |states, settings| Method::Cvode(Box::new(Cvode::new(states, settings))),
};

/// The polynomial of the last step: its value and derivatives.
const ROWS: usize = HIGHEST_ORDER + 1;

/// A limit that is nearer than this share of what was planned is no step: CVODE would resize its memory to it.
const SHIFT: f64 = 1e-8;
/// CVODE makes no step longer than so many times the last one.
const GROWTH: f64 = 10.0;
/// How often CVODE is started from one point if the system refuses a point that it accepted before.
const STARTS: usize = 10;

/// The scalars that a rollback restores.
#[derive(Debug, Clone, Copy)]
struct CvodeMemory {
    /// Of the next step.
    order: usize,
    /// The degree of the polynomial, and where its derivatives are taken.
    shown: usize,
    anchor: f64,
}

#[derive(Debug)]
pub(crate) struct Cvode {
    highest: usize,
    memory: CvodeMemory,
    /// `ROWS` vectors in a row.
    rows: Vec<f64>,
    differences: Differences,
    /// Scratch.
    jacobian: Vec<f64>,
    /// Built for the first step: copies that only store a point need none.
    solver: Option<Solver>,
    /// The solver itself stepped to this point.
    live: bool,
    /// Its counters since its start that are already added to ours.
    counted: CvodeCounters,
}

/// A copy restarts.
impl Clone for Cvode {
    fn clone(&self) -> Self {
        Cvode {
            highest: self.highest,
            memory: self.memory,
            rows: self.rows.clone(),
            differences: self.differences.clone(),
            jacobian: self.jacobian.clone(),
            solver: None,
            live: false,
            counted: CvodeCounters::default(),
        }
    }
}

/// The system as CVODE sees it.
struct CvodeSystem<'a> {
    system: &'a mut dyn OdeSystem,
    counters: &'a mut Counters,
    differences: &'a mut Differences,
    relative: f64,
    absolute: &'a [f64],
    /// Why the last evaluation failed, if it did.
    obstacle: Option<Obstacle>,
}

impl CvodeSystem<'_> {
    fn note(&mut self, outcome: Result<(), Obstacle>) -> Answer {
        self.obstacle = outcome.err();
        match self.obstacle {
            None => Answer::Given,
            Some(Obstacle::Smaller(_)) => Answer::Refused,
            Some(Obstacle::Fatal(_)) => Answer::Failed,
        }
    }
}

impl CvodeEquations for CvodeSystem<'_> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Answer {
        let outcome = evaluate(self.system, self.counters, t, x, dx);
        self.note(outcome)
    }

    fn jacobian(&mut self, t: f64, x: &[f64], dx: &[f64], out: &mut [f64]) -> Answer {
        self.counters.jacobians += 1;
        let outcome = match self.system.jacobian(t, x, out) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let (relative, absolute) = (self.relative, self.absolute);
                // As for `bdf`: values below this size are within tolerance.
                let scale = |state: usize| absolute[state] / relative.max(1e-6);
                self.differences.fill(self.system, self.counters, t, x, dx, scale, out)
            }
            Err(fault) => Err(fault.into()),
        };
        self.note(outcome)
    }
}

impl Cvode {
    fn new(states: usize, settings: &Settings) -> Self {
        Cvode {
            highest: settings.order,
            memory: CvodeMemory { order: 1, shown: 0, anchor: 0.0 },
            rows: vec![0.0; ROWS * states],
            differences: Differences::new(states, settings.pattern.clone()),
            jacobian: vec![0.0; states * states],
            solver: None,
            live: false,
            counted: CvodeCounters::default(),
        }
    }

    pub(crate) fn order(&self) -> usize {
        self.memory.order
    }

    /// The polynomial stays, for the dense output of a step that was cut.
    pub(crate) fn forget(&mut self) {
        self.live = false;
        self.memory.order = 1;
    }

    /// A restart evaluates a new one.
    pub(crate) fn invalidate_jacobian(&mut self) {
        self.forget();
    }

    /// Whether the next step continues the previous ones.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// One step; where the solver is not live, the frame has planned its first one.
    pub(crate) fn step(
        &mut self,
        frame: &mut Frame,
        system: &mut dyn OdeSystem,
        limit: f64,
    ) -> Result<StepOutcome, IntegrationFailure> {
        if limit - frame.place.time < SHIFT * frame.place.planned {
            self.shift(frame, limit);
            frame.counters.accepted += 1;
            return Ok(StepOutcome::Reached);
        }
        let mut starts = 0;
        loop {
            let failure = match self.attempt(frame, system, limit) {
                Ok(outcome) => return Ok(outcome),
                Err(failure) => failure,
            };
            self.live = false;
            starts += 1;
            match failure {
                (failure, true) if starts == STARTS => return Err(failure),
                (_, true) => frame.place.planned *= 0.25,
                (failure, false) => return Err(failure),
            }
        }
    }

    /// As good as a step of this size could be: along the polynomial, or the derivative at a start.
    fn shift(&mut self, frame: &mut Frame, limit: f64) {
        let n = frame.state.len();
        if !self.live {
            self.memory = CvodeMemory { order: 1, shown: 1, anchor: frame.place.time };
            self.rows[..n].copy_from_slice(&frame.state);
            self.rows[n..2 * n].copy_from_slice(&frame.slope);
        }
        let mut end = std::mem::take(&mut frame.trial);
        self.at(limit, &mut end);
        frame.trial = end;
        frame.accept(Stride { size: limit - frame.place.time, end: limit });
        frame.place.slope_known = false;
    }

    /// On failure: the reason, and whether another start from the same point might help.
    fn attempt(
        &mut self,
        frame: &mut Frame,
        system: &mut dyn OdeSystem,
        limit: f64,
    ) -> Result<StepOutcome, (IntegrationFailure, bool)> {
        let least = frame.least();
        let Frame { place, relative, absolute, counters, .. } = frame;
        let time = place.time;
        if self.solver.is_none() {
            self.solver = Solver::new(*relative, absolute, self.highest);
        }
        let Some(solver) = &mut self.solver else {
            let message = "CVODE could not allocate memory".into();
            return Err((IntegrationFailure::Fatal { time, message }, false));
        };
        if !self.live {
            solver.restart(time, &frame.state, place.planned);
            self.counted = CvodeCounters::default();
        }
        let mut asked = CvodeSystem {
            system,
            counters,
            differences: &mut self.differences,
            relative: *relative,
            absolute,
            obstacle: None,
        };
        // CVODE chose its next step under a larger limit.
        let stop = if place.planned > place.largest { limit.min(time + place.largest) } else { limit };
        let mut go = || solver.step(&mut asked, &mut self.jacobian, stop, least, place.largest);
        let mut stepped = go();
        // After a limit that was no step, CVODE has to catch up.
        while matches!(stepped, Ok(reached) if reached <= time) {
            stepped = go();
        }
        let obstacle = asked.obstacle.take();
        let work = solver.work();
        let counters = &mut frame.counters;
        counters.factorisations += work.factorisations - self.counted.factorisations;
        counters.rejected += work.rejected - self.counted.rejected;
        counters.newton_failures += work.newton_failures - self.counted.newton_failures;
        self.counted = work;
        match stepped {
            Ok(end) => {
                self.live = true;
                self.accept(frame, end, stop);
                Ok(if end == limit { StepOutcome::Reached } else { StepOutcome::Stepped })
            }
            Err(trouble) => {
                weigh(&mut frame.weights, frame.relative, &frame.absolute, &frame.state, &frame.state);
                let state = worst(solver.errors(), &frame.weights);
                let step = least.min(limit - time);
                let stalled = |cause| IntegrationFailure::Stalled { time, step, cause };
                Err(match (trouble, obstacle) {
                    (Trouble::Refused, Some(Obstacle::Smaller(cause))) => (stalled(cause), true),
                    (Trouble::Newton, Some(Obstacle::Smaller(cause))) => (stalled(cause), false),
                    (Trouble::Newton, _) => (stalled(Cause::Newton { state }), false),
                    (Trouble::Error, _) => (stalled(Cause::Error { state }), false),
                    (Trouble::Failed, Some(Obstacle::Fatal(message))) => {
                        (IntegrationFailure::Fatal { time, message }, false)
                    }
                    (Trouble::Other(name), _) => (
                        IntegrationFailure::Fatal { time, message: format!("CVODE failed: {name}").into() },
                        false,
                    ),
                    (Trouble::Refused | Trouble::Failed, _) => {
                        (IntegrationFailure::Fatal { time, message: "CVODE failed".into() }, false)
                    }
                })
            }
        }
    }

    /// Copies the polynomial, and order and size of the next step.
    fn accept(&mut self, frame: &mut Frame, end: f64, stop: f64) {
        let Some(solver) = &mut self.solver else { return };
        let n = frame.state.len();
        let (shown, order) = solver.orders();
        self.memory =
            CvodeMemory { order: order.max(1), shown: shown.min(HIGHEST_ORDER), anchor: solver.time() };
        for row in 0..=self.memory.shown {
            self.rows[row * n..(row + 1) * n].copy_from_slice(solver.derivative(row));
        }
        let (last, next) = solver.sizes();
        // Before a limit CVODE cuts the next step, and at a limit it does not report it.
        let place = &mut frame.place;
        let cut = end == stop || end + next * (1.0 + 1e-9) >= stop;
        let planned = if cut { place.planned.min(GROWTH * last).max(last) } else { next };
        place.planned = planned.min(place.largest);
        frame.trial.copy_from_slice(solver.state());
        frame.accept(Stride { size: end - frame.place.time, end });
        frame.place.slope_known = false;
        frame.counters.accepted += 1;
    }

    /// Taylor's polynomial around the anchor, by Horner's rule.
    pub(crate) fn at(&self, t: f64, x: &mut [f64]) {
        self.derivative_at(0, t, x);
    }

    pub(crate) fn slope_at(&self, t: f64, dx: &mut [f64]) {
        self.derivative_at(1, t, dx);
    }

    fn derivative_at(&self, degree: usize, t: f64, out: &mut [f64]) {
        let n = out.len();
        let s = t - self.memory.anchor;
        for i in 0..n {
            let mut sum = 0.0;
            for row in (degree..=self.memory.shown).rev() {
                sum = sum * s / (row + 1 - degree) as f64 + self.rows[row * n + i];
            }
            out[i] = sum;
        }
    }

    pub(crate) fn copy_from(&mut self, other: &Cvode) {
        self.memory = other.memory;
        self.rows.copy_from_slice(&other.rows);
        self.differences.copy_from(&other.differences);
        self.live = false;
    }

    pub(crate) fn serialize(&self, writer: &mut Writer<'_>) {
        writer.count(self.memory.order);
        writer.count(self.memory.shown);
        writer.numbers(&[self.memory.anchor]);
        writer.numbers(&self.rows);
        self.differences.serialize(writer);
    }

    pub(crate) fn deserialize(&mut self, reader: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.memory.order = reader.count(self.highest)?.max(1);
        self.memory.shown = reader.count(HIGHEST_ORDER)?;
        let mut anchor = [0.0];
        reader.numbers(&mut anchor)?;
        [self.memory.anchor] = anchor;
        reader.numbers(&mut self.rows)?;
        self.live = false;
        self.differences.deserialize(reader)
    }
}
