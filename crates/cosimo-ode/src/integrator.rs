//! The contract: one internal step at a time, never beyond a limit, with exact rollback by a copy.

use std::fmt;

use crate::bdf::Bdf;
#[cfg(feature = "cvode")]
use crate::cvode::Cvode;
use crate::explicit::Explicit;
use crate::failure::IntegrationFailure;
use crate::frame::{Frame, FramePlace, Obstacle, Stride};
use crate::settings::{Refusal, Settings};
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::system::OdeSystem;

/// How often derivatives that are refused at the start are evaluated again: no step size can help there.
const STARTS: u32 = 10;

/// A method in the registry.
pub struct IntegratorEntry {
    pub name: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    /// A copy continues bit-identically. If not, it restarts.
    pub rewinds_exactly: bool,
    pub(crate) build: fn(usize, &Settings) -> Method,
}

impl fmt::Debug for IntegratorEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Work done so far. Not rolled back: rejected work counts, too. `copy_from` and `deserialize` leave the counters
/// unchanged; only `clone` copies them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Calls of `OdeSystem::derivatives`, those for Jacobians included.
    pub evaluations: u64,
    pub jacobians: u64,
    pub factorisations: u64,
    pub accepted: u64,
    /// Rejected attempts, for any reason.
    pub rejected: u64,
    pub newton_failures: u64,
    /// Calls of `OdeSystem::indicators` by `Roots::search`.
    pub root_evaluations: u64,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// One step nearer to the limit.
    Stepped,
    /// Exactly at the limit.
    Reached,
}

/// A method with its point. The system is borrowed by each call; nothing is allocated after construction.
#[derive(Debug, Clone)]
pub struct Integrator {
    pub(crate) frame: Frame,
    method: Method,
    name: &'static str,
    rewinds_exactly: bool,
}

/// The method-specific part.
#[derive(Debug, Clone)]
pub(crate) enum Method {
    Explicit(Explicit),
    Bdf(Box<Bdf>),
    #[cfg(feature = "cvode")]
    Cvode(Box<Cvode>),
}

/// The same call, whichever method it is.
macro_rules! each {
    ($method:expr, $name:ident => $call:expr) => {
        match $method {
            Method::Explicit($name) => $call,
            Method::Bdf($name) => $call,
            #[cfg(feature = "cvode")]
            Method::Cvode($name) => $call,
        }
    };
}

impl Integrator {
    /// Begins at t = 0 with all states 0; call `restart`.
    pub fn new(entry: &IntegratorEntry, states: usize, settings: &Settings) -> Result<Self, Refusal> {
        let problems = settings.problems(states);
        if !problems.is_empty() {
            return Err(Refusal(problems));
        }
        let method = (entry.build)(states, settings);
        Ok(Integrator {
            frame: Frame::new(states, settings),
            method,
            name: entry.name,
            rewinds_exactly: entry.rewinds_exactly,
        })
    }

    /// Restarts at `t`, keeping only counters and settings. Required after every discontinuity.
    pub fn restart(&mut self, t: f64, x: &[f64]) {
        self.frame.state.copy_from_slice(x);
        self.frame.previous.copy_from_slice(x);
        self.frame.place = FramePlace { start: t, time: t, ..self.frame.place };
        self.restart_order();
    }

    /// Shortens the last step to end at `t` within it. The state is that of the dense output, which stays valid up to
    /// `t` until the next step, which restarts the method.
    pub fn cut(&mut self, t: f64) {
        let mut state = std::mem::take(&mut self.frame.trial);
        self.at(t, &mut state);
        self.frame.trial = std::mem::replace(&mut self.frame.state, state);
        self.frame.place.time = t;
        self.restart_order();
    }

    /// Keeps only the point and the dense output: the next step restarts the method.
    pub fn restart_order(&mut self) {
        self.frame.place.fresh = true;
        self.frame.place.slope_known = false;
        each!(&mut self.method, method => method.forget())
    }

    /// The derivatives changed a little, in value or slope, while the states did not: they are evaluated again, and the
    /// method continues with its step size and order.
    pub fn renew(&mut self) {
        self.frame.place.slope_known = false;
    }

    /// The next step takes a new Jacobian, if the method has one.
    pub fn invalidate_jacobian(&mut self) {
        each!(&mut self.method, method => method.invalidate_jacobian())
    }

    /// Largest step, above 0, from the next step on. Rolled back like the point.
    pub fn set_largest(&mut self, step: f64) {
        self.frame.place.largest = step;
    }

    /// One internal step. The system is not evaluated beyond `limit`, and a step that gets there ends there exactly.
    /// After a failure the point is that before the call.
    pub fn step(
        &mut self,
        system: &mut dyn OdeSystem,
        limit: f64,
    ) -> Result<StepOutcome, IntegrationFailure> {
        let time = self.frame.place.time;
        if !(limit >= time && limit.is_finite()) {
            return Err(IntegrationFailure::Limit { time, limit });
        }
        if limit == time {
            return Ok(StepOutcome::Reached);
        }
        if self.frame.state.is_empty() {
            self.frame.accept(Stride { size: limit - time, end: limit });
            self.frame.counters.accepted += 1;
            return Ok(StepOutcome::Reached);
        }
        #[cfg(feature = "cvode")]
        if let Method::Cvode(cvode) = &self.method {
            self.frame.place.fresh |= !cvode.is_live();
        }
        self.begin(system, limit)?;
        loop {
            let stride = self.frame.aim(limit);
            let attempt = match &mut self.method {
                Method::Explicit(explicit) => explicit.attempt(&mut self.frame, system, stride),
                Method::Bdf(bdf) => bdf.attempt(&mut self.frame, system, stride),
                #[cfg(feature = "cvode")]
                // It repeats its attempts itself.
                Method::Cvode(cvode) => return cvode.step(&mut self.frame, system, limit),
            };
            match attempt {
                Ok(()) => {
                    self.frame.counters.accepted += 1;
                    return Ok(if stride.end == limit { StepOutcome::Reached } else { StepOutcome::Stepped });
                }
                Err(Obstacle::Fatal(message)) => return Err(IntegrationFailure::Fatal { time, message }),
                Err(Obstacle::Smaller(cause)) => {
                    self.frame.counters.rejected += 1;
                    if stride.size <= self.frame.least() {
                        return Err(IntegrationFailure::Stalled { time, step: stride.size, cause });
                    }
                }
            }
        }
    }

    fn begin(&mut self, system: &mut dyn OdeSystem, limit: f64) -> Result<(), IntegrationFailure> {
        let time = self.frame.place.time;
        let mut starts = 0;
        while self.frame.place.fresh {
            // Implicit methods begin with the lowest.
            let order = if let Method::Explicit(explicit) = &self.method { explicit.order() } else { 1 };
            match self.frame.plan_first(system, order, limit) {
                Ok(()) => {}
                Err(Obstacle::Fatal(message)) => return Err(IntegrationFailure::Fatal { time, message }),
                Err(Obstacle::Smaller(cause)) => {
                    self.frame.counters.rejected += 1;
                    starts += 1;
                    if starts == STARTS {
                        return Err(IntegrationFailure::Stalled { time, step: 0.0, cause });
                    }
                }
            }
        }
        Ok(())
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn time(&self) -> f64 {
        self.frame.place.time
    }

    pub fn state(&self) -> &[f64] {
        &self.frame.state
    }

    /// Start and end of the last step, after any cut.
    pub fn span(&self) -> (f64, f64) {
        (self.frame.place.start, self.frame.place.time)
    }

    /// The proposed size of the next step, once a step was taken.
    pub fn planned(&self) -> f64 {
        self.frame.place.planned
    }

    /// The order of the next step.
    pub fn order(&self) -> usize {
        each!(&self.method, method => method.order())
    }

    /// The state anywhere in the last step; bit-exact at its ends. Outside it the polynomial extrapolates. Before the
    /// first step it is the state of the start.
    pub fn at(&self, t: f64, x: &mut [f64]) {
        let FramePlace { start, time, .. } = self.frame.place;
        if t == time || start == time {
            x.copy_from_slice(&self.frame.state);
        } else if t == start {
            x.copy_from_slice(&self.frame.previous);
        } else {
            each!(&self.method, method => method.at(t, x))
        }
    }

    /// The derivative of the dense output, one order less accurate than `at`. It does not evaluate the system.
    pub fn slope_at(&self, t: f64, dx: &mut [f64]) {
        if self.frame.place.start == self.frame.place.time {
            dx.fill(0.0);
            return;
        }
        each!(&self.method, method => method.slope_at(t, dx))
    }

    /// Whether a jump of the derivatives to `dx` would make the error of the next planned step exceed the tolerance: then
    /// a restart is needed.
    pub fn notices(&mut self, dx: &[f64]) -> bool {
        let mut before = std::mem::take(&mut self.frame.trial_slope);
        self.slope_at(self.frame.place.time, &mut before);
        let Frame { place, state, relative, absolute, .. } = &self.frame;
        let noticed = |i: usize| {
            let least = absolute[i] + relative * state[i].abs();
            place.planned * (dx[i] - before[i]).abs() > least
        };
        let noticed = (0..state.len()).any(noticed);
        self.frame.trial_slope = before;
        noticed
    }

    pub fn counters(&self) -> Counters {
        self.frame.counters
    }

    /// The step of an explicit method is limited by stability, not by accuracy: a stiff system, better solved by `bdf`.
    /// Once true it stays true; it is a warning about the system and not rolled back.
    pub fn stiff(&self) -> bool {
        matches!(&self.method, Method::Explicit(explicit) if explicit.stiff())
    }

    /// As its entry says.
    pub fn rewinds_exactly(&self) -> bool {
        self.rewinds_exactly
    }

    /// Copies the point of another one: all that follows is bit-identical, if `rewinds_exactly`. Both must be made from the same entry, number of
    /// states and settings. Counters stay.
    pub fn copy_from(&mut self, other: &Integrator) {
        self.frame.place = other.frame.place;
        self.frame.state.copy_from_slice(&other.frame.state);
        self.frame.previous.copy_from_slice(&other.frame.previous);
        self.frame.slope.copy_from_slice(&other.frame.slope);
        match (&mut self.method, &other.method) {
            (Method::Explicit(to), Method::Explicit(from)) => to.copy_from(from),
            (Method::Bdf(to), Method::Bdf(from)) => to.copy_from(from),
            #[cfg(feature = "cvode")]
            (Method::Cvode(to), Method::Cvode(from)) => to.copy_from(from),
            // Not supported, but not worth a panic.
            (to, from) => *to = from.clone(),
        }
    }

    /// Appends the point as bytes, without settings and counters.
    pub fn serialize(&self, bytes: &mut Vec<u8>) {
        let mut writer = Writer::begin(bytes, self.name, self.frame.state.len());
        let place = self.frame.place;
        writer.numbers(&[place.start, place.time, place.planned, place.largest]);
        writer.flag(place.fresh);
        writer.flag(place.slope_known);
        writer.numbers(&self.frame.state);
        writer.numbers(&self.frame.previous);
        writer.numbers(&self.frame.slope);
        each!(&self.method, method => method.serialize(&mut writer))
    }

    /// Restores a serialized point. Nothing changes if the bytes are not those of such an integrator.
    pub fn deserialize(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        // A dry run on the bytes alone is not worth its code: deserializing is rare, a copy is cheap.
        let mut copy = self.clone();
        copy.read(bytes)?;
        *self = copy;
        Ok(())
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let mut reader = Reader::begin(bytes, self.name, self.frame.state.len())?;
        let mut numbers = [0.0; 4];
        reader.numbers(&mut numbers)?;
        let [start, time, planned, largest] = numbers;
        let (fresh, slope_known) = (reader.flag()?, reader.flag()?);
        self.frame.place = FramePlace { start, time, planned, largest, fresh, slope_known };
        reader.numbers(&mut self.frame.state)?;
        reader.numbers(&mut self.frame.previous)?;
        reader.numbers(&mut self.frame.slope)?;
        each!(&mut self.method, method => method.deserialize(&mut reader))?;
        reader.end()
    }
}
