//! One step, in pieces: between them the importer may be called back, which calls this instance again.
//!
//! With intermediate update the FMU requests the inputs at four instants of the step, equally spaced and both
//! ends included, and follows the cubic through them. Equal answers make an exact constant, so a step with
//! held inputs is bit-identical with and without intermediate update.

use cosimo_core::{Inputs, Segment, Slot, Time, Window};

use super::model_exchange::equations_of;
use super::{Call, CallResult, ExportedInstance, InstanceBody, Mode, Refusal, Status};
use crate::delay_control::DelayControl;
use crate::design::Version;
use crate::equipment::HookEffect;

/// Number of instants at which inputs are requested inside a step.
pub(crate) const SAMPLES: usize = 4;

/// A step that has begun.
#[derive(Debug, Default)]
pub(super) struct Pending {
    from: f64,
    size: f64,
    /// `noSetFMUStatePriorToCurrentPoint`.
    promise: bool,
    /// The time of the intermediate update.
    pub(super) at: f64,
    /// Start and length of the piece that inputs are requested for: the whole step, unless the FMU controls line delays.
    piece: (f64, f64),
    /// Outputs may be read, and inputs not set.
    pub(super) finished: bool,
    samples: Vec<[f64; SAMPLES]>,
    /// It was done in steps of the solver.
    stepped_internally: bool,
    /// How it ended.
    end: StepEnd,
}

/// The result of one step of the solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SolverStep {
    On,
    /// It is the last towards the end of the step.
    Through,
    /// It was rolled back: the line delays were too long.
    Back,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StepEnd {
    /// At an event that the importer is to handle.
    pub(crate) event: bool,
    /// Before the requested end.
    pub(crate) early: bool,
    /// The model requested the end of the simulation.
    pub(crate) terminate: bool,
}

impl Pending {
    pub(super) fn new(inputs: usize) -> Pending {
        Pending { samples: vec![[0.0; SAMPLES]; inputs], ..Pending::default() }
    }

    /// The instant at which the step began.
    pub(super) fn start(&self) -> f64 {
        self.from
    }
}

/// Rounding of communication points is tolerated, anything else is an error.
fn near(a: f64, b: f64, size: f64) -> bool {
    (a - b).abs() <= 1e-9 * size.abs().max(a.abs()).max(b.abs())
}

impl ExportedInstance {
    pub(crate) fn begin_step(&mut self, from: f64, size: f64, promise: bool) -> CallResult {
        self.allow(Call::Step)?;
        (self.pending.end, self.pending.stepped_internally) = (StepEnd::default(), false);
        if let InstanceBody::Exchanged(exchange) = &self.body {
            if exchange.now.due {
                return Err(
                    "the event at the end of the last step must be handled in event mode first".into()
                );
            }
            if exchange.now.ended {
                return Err("the model requested the end of the simulation".into());
            }
        }
        if !from.is_finite() || !size.is_finite() || size <= 0.0 {
            return Err(format!("invalid step of {size} s from t = {from}").into());
        }
        if !near(from, self.time, size) {
            return Err(format!("a step from t = {from} cannot follow t = {}", self.time).into());
        }
        if let Some(stop) = self.stop
            && from + size > stop
            && !near(from + size, stop, size)
        {
            return Err(format!("a step to t = {} passes the end at {stop}", from + size).into());
        }
        if let Some(clocks) = &self.clocks {
            clocks.check_step(from + size)?;
        }
        if self.can.fixed_step {
            let first = *self.step.get_or_insert(size);
            if !near(size, first, first) {
                return Err(format!("expected a step of {first} s like the first one, got {size} s").into());
            }
        }
        if promise {
            self.promised = from;
        }
        self.pending.promise = promise;
        (self.pending.from, self.pending.size, self.pending.piece) = (from, size, (from, size));
        Ok(())
    }

    /// The instant of one sample; from now on the importer may set inputs for it.
    pub(crate) fn request_inputs(&mut self, sample: usize) -> f64 {
        let (from, size) = self.pending.piece;
        (self.mode, self.pending.finished) = (Mode::Intermediate, false);
        self.pending.at = match sample {
            0 => from,
            3 => from + size,
            _ => from + size * (sample as f64 / (SAMPLES - 1) as f64),
        };
        self.pending.at
    }

    /// Stores the inputs at this sample, set by the importer or unchanged.
    pub(crate) fn take_inputs(&mut self, sample: usize) {
        for (samples, input) in self.pending.samples.iter_mut().zip(&self.inputs) {
            samples[sample] = input.0[0];
        }
        if sample + 1 == SAMPLES {
            for (input, samples) in self.inputs.iter_mut().zip(&self.pending.samples) {
                *input = through(samples, self.pending.piece.1);
            }
            self.mode = Mode::Stepping;
        }
    }

    /// Does the step, and returns the time reached.
    pub(crate) fn finish_step(&mut self) -> Result<f64, Refusal> {
        let Pending { from, size, promise, .. } = self.pending;
        let deed = self.equipment.on_step(&self.parameters, size, promise);
        match &deed {
            HookEffect::Refuse(refusal) if refusal.status != Status::Warning => {
                return Err(self.refuse_step(refusal));
            }
            HookEffect::Terminate(part) => {
                let early = *part < 1.0 && self.importer.early_return;
                self.pending.end = StepEnd { event: false, early, terminate: true };
                self.pending.size = part * size;
            }
            HookEffect::None | HookEffect::Skip | HookEffect::Refuse(_) => {}
        }
        let size = self.pending.size;
        let moved = if self.pending.stepped_internally {
            Ok(())
        } else if deed == HookEffect::Skip {
            self.time = from + size;
            Ok(())
        } else {
            self.advance(from, size)
        };
        if let Err(error) = &moved {
            self.mode = Mode::Failed;
            return Err(error.clone());
        }
        self.steps += 1;
        self.hold_inputs(if self.pending.stepped_internally {
            self.time - self.pending.piece.0
        } else {
            size
        });
        (self.inputs_changed, self.current) = (false, false);
        if let HookEffect::Refuse(warning) = deed {
            return Err(warning);
        }
        if self.pending.end.terminate && self.version != Version::Three {
            // As the standard requires; the reason is available by `fmi2GetBooleanStatus`.
            self.mode = Mode::Discarded;
            return Err(Refusal::new(Status::Discard, "the model requested the end of the simulation"));
        }
        Ok(self.last_time())
    }

    /// A step that is not taken.
    fn refuse_step(&mut self, refusal: &Refusal) -> Refusal {
        if refusal.status == Status::Discard {
            self.mode = Mode::Discarded;
            if self.can.intermediate {
                // Inputs of the intermediate updates of this step do not hold for the next.
                self.inputs.iter_mut().for_each(|input| *input = Segment::constant(input.0[0]));
            }
        }
        self.fail_with(refusal)
    }

    /// Where a failure leaves an instance.
    pub(super) fn fail_with(&mut self, refusal: &Refusal) -> Refusal {
        match refusal.status {
            Status::Error => self.mode = Mode::Failed,
            Status::Fatal => self.mode = Mode::Dead,
            _ => {}
        }
        refusal.clone()
    }

    /// How the last step ended.
    pub(crate) fn end(&self) -> StepEnd {
        self.pending.end
    }

    fn advance(&mut self, from: f64, size: f64) -> CallResult {
        if let InstanceBody::Exchanged(_) = self.body {
            return self.step_through_events(from + size);
        }
        let instant = |seconds: f64| Time::new(seconds).ok_or("the time is not a number");
        let window = Window { from: instant(from)?, to: instant(from + size)?, size };
        let InstanceBody::Stepped(simulator) = &mut self.body else { return Ok(()) };
        let own_inputs = self.lines.as_ref().map_or(self.inputs.len(), |lines| lines.own_inputs);
        let (segments, waves) = self.inputs.split_at(own_inputs);
        let ends = match &mut self.lines {
            Some(lines) => lines.ends(waves, (from, from + size))?,
            None => Vec::new(),
        };
        let inputs = Inputs { segments, ends: &ends, return_each_internal_step: false };
        let reached = simulator.do_step(window, &inputs)?;
        if let Some(control) = self.lines.as_mut().and_then(|lines| lines.control.as_mut()) {
            control.count(reached.evaluations);
        }
        if reached.to != window.to {
            return Err(format!("the model stopped at t = {}", reached.to).into());
        }
        self.time = from + size;
        Ok(())
    }

    /// Before a step of the solver, where the FMU controls line delays: limits it to the delays, then outputs may be read.
    pub(crate) fn plan_piece(&mut self) -> Result<f64, Refusal> {
        let (to, at) = (self.pending.from + self.pending.size, self.time);
        if let Some(lines) = &mut self.lines {
            let longest = lines.longest(&self.inputs[lines.own_inputs..]);
            let rest = to - at;
            // A negligible remainder becomes part of the last step.
            let whole = rest - longest <= 1e-9 * longest;
            self.pending.piece = (at, if whole { rest } else { longest });
        }
        self.read_outputs()?;
        (self.mode, self.pending.at, self.pending.finished) = (Mode::Intermediate, at, true);
        Ok(at)
    }

    /// One step of the solver towards the end of the step.
    pub(crate) fn solver_step(&mut self) -> Result<SolverStep, Refusal> {
        let Pending { from, size, piece: (begun, length), .. } = self.pending;
        let (end, at) = (from + size, self.time);
        let stretches = self.stretches();
        let to = if near(begun + length, end, size) { end } else { begun + length };
        let InstanceBody::Stepped(simulator) = &mut self.body else { return Ok(SolverStep::Through) };
        let Some(lines) = &mut self.lines else { return Ok(SolverStep::Through) };
        let (own, waves) = self.inputs.split_at(lines.own_inputs);
        let segments: Vec<Segment> = own.iter().map(|segment| segment.after(at - begun)).collect();
        if stretches {
            // With the wave set, the first effort is defined.
            lines.ends(waves, (begun, to))?;
            lines.begin(waves, at, &self.outputs);
            if lines.control.as_ref().is_some_and(DelayControl::is_long) {
                simulator.need_rollback()?.save(Slot::Attempt)?;
            }
        }
        let ends = lines.ends(waves, (begun, to))?;
        let instant = |seconds: f64| Time::new(seconds).ok_or("the time is not a number");
        let window = Window { from: instant(at)?, to: instant(to)?, size: to - at };
        let inputs = Inputs { segments: &segments, ends: &ends, return_each_internal_step: true };
        let reached = simulator.do_step(window, &inputs);
        let reached = match reached {
            Ok(reached) => {
                if let Some(control) = &mut lines.control {
                    control.count(reached.evaluations);
                }
                reached.to.seconds()
            }
            Err(error) => {
                self.mode = Mode::Failed;
                return Err(error.into());
            }
        };
        let last = near(reached, end, size) || reached >= end;
        (self.pending.stepped_internally, self.inputs_changed, self.current) = (true, false, false);
        if stretches {
            self.read_outputs()?;
            let own_inputs = self.lines.as_ref().map_or(0, |lines| lines.own_inputs);
            let (Some(lines), InstanceBody::Stepped(simulator)) = (&mut self.lines, &mut self.body) else {
                return Ok(SolverStep::Through);
            };
            if !lines.keep(&self.inputs[own_inputs..], reached, &self.outputs) {
                simulator.need_rollback()?.restore(Slot::Attempt)?;
                return Ok(SolverStep::Back);
            }
            self.current = false;
        }
        self.time = if last { end } else { reached };
        Ok(if last { SolverStep::Through } else { SolverStep::On })
    }

    /// Whether it controls line delays, and so requests inputs in every step of its solver.
    pub(crate) fn stretches(&self) -> bool {
        self.lines.as_ref().is_some_and(|lines| lines.control.is_some())
    }

    /// The importer requested early return.
    pub(crate) fn return_early(&mut self) {
        self.pending.end.early = true;
    }

    /// Whether it has an intermediate update at every step of its solver, and may return after one.
    pub(crate) fn shows_solver_steps(&self) -> (bool, bool) {
        (self.can.shows_solver_steps, self.importer.early_return)
    }

    /// From one announced event to the next, where there is nothing to solve in between. An importer that has an
    /// event mode handles them: inside of a step if it lets steps end early, and always at their end.
    fn step_through_events(&mut self, to: f64) -> CallResult {
        loop {
            let now = &mut equations_of(&mut self.body)?.now;
            let Some(next) = now.next.filter(|next| *next <= to || near(*next, to, to)) else { break };
            let early = !near(next, to, to);
            if self.importer.event_mode && (!early || self.importer.early_return) {
                (now.due, self.time) = (true, if early { next } else { to });
                self.pending.end = StepEnd { event: true, early, terminate: false };
                return Ok(());
            }
            self.time = next;
            self.handle_event();
            if equations_of(&mut self.body)?.now.ended {
                let early = early && self.importer.early_return;
                self.pending.end = StepEnd { event: false, early, terminate: true };
                return Ok(());
            }
        }
        self.time = to;
        Ok(())
    }

    /// The step is done; its outputs may be read in the callback.
    pub(crate) fn show_end(&mut self) -> Result<f64, Refusal> {
        self.refresh()?;
        (self.pending.at, self.pending.finished) = (self.time, true);
        self.mode = Mode::Intermediate;
        Ok(self.time)
    }

    pub(crate) fn leave_intermediate(&mut self) {
        if self.mode == Mode::Intermediate {
            self.mode = Mode::Stepping;
        }
    }
}

/// The cubic through four equally spaced samples, by Newton's forward differences.
fn through(samples: &[f64; SAMPLES], size: f64) -> Segment {
    let [a, b, c, d] = *samples;
    let (first, second, third) = (b - a, (c - b) - (b - a), ((d - c) - (c - b)) - ((c - b) - (b - a)));
    let per = (SAMPLES - 1) as f64 / size;
    Segment([
        a,
        (first - second / 2.0 + third / 3.0) * per,
        (second - third) / 2.0 * per * per,
        third / 6.0 * per * per * per,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubic_is_found_again_and_a_constant_stays_exact() {
        let (cubic, size) = (Segment([1.0, -2.0, 0.5, 3.0]), 0.7);
        let samples = std::array::from_fn(|i| cubic.at(size * i as f64 / 3.0));
        for (found, wanted) in through(&samples, size).0.iter().zip(cubic.0) {
            assert!((found - wanted).abs() < 1e-13, "{found} for {wanted}");
        }
        assert_eq!(through(&[0.1; SAMPLES], size), Segment::constant(0.1));
    }
}
