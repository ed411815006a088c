//! The loop: from event to event up to the end of a window, or one step of the integrator.

use std::borrow::Cow;

use cosimo_core::ends::apply_line_efforts;
use cosimo_core::{Inputs, LineEnd, Segment, SimulatorError, Slot, Time, Window};
use cosimo_ode::{
    EvaluationFault, IntegrationFailure, Integrator, IntegratorEntry, OdeSystem, Roots, Settings, StepOutcome,
};

use super::solver_state::SolverState;
use super::{Equations, HybridSimulator, HybridWorkspace, InitialState, IntegrationMethod};

/// So many events without progress in time are an error.
pub const MAX_EVENTS_AT_INSTANT: usize = 100;
/// An event this part of a window before its end counts as one at its end.
const NEAR: f64 = 1e-6;
/// Distance of the difference quotients for slopes of outputs, relative to the integrator's step.
const ASIDE: f64 = 1e-3;
/// Points and weights of Gauss and Legendre on 0 to 1, exact up to degree 5.
const GAUSS: [(f64, f64); 3] =
    [(0.112_701_665_379_258_31, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

fn evaluate_inputs(held: &[Segment], s: f64, u: &mut [f64]) {
    for (u, segment) in u.iter_mut().zip(held) {
        *u = segment.at(s);
    }
}

/// Equations as a system of differential equations, with extrapolated inputs.
struct DrivenEquations<'a, E> {
    equations: &'a mut E,
    held: &'a [Segment],
    anchor: f64,
    ends: &'a [LineEnd<'a>],
    u: &'a mut [f64],
    flows: &'a mut [f64],
    method: &'a IntegrationMethod,
    /// The error of the equations that made the integrator fail.
    fault: Option<SimulatorError>,
}

impl<E: Equations> DrivenEquations<'_, E> {
    /// First the flows, then the efforts that follow from them.
    fn set_point(&mut self, t: f64, x: &[f64]) -> Result<(), SimulatorError> {
        evaluate_inputs(self.held, t - self.anchor, self.u);
        self.equations.set_point(t, x, self.u)?;
        if self.ends.is_empty() {
            return Ok(());
        }
        self.equations.flows(self.ends, self.flows)?;
        apply_line_efforts(self.ends, t, self.flows, self.u);
        self.equations.set_efforts(self.ends, self.u)
    }

    #[cold]
    fn fault(&mut self, error: SimulatorError) -> EvaluationFault {
        if error.discarded() {
            return EvaluationFault::Retry(Cow::Owned(error.to_string()));
        }
        self.fault = Some(error);
        EvaluationFault::Fatal(Cow::Borrowed("the equations failed"))
    }

    /// The error of the equations, if they failed.
    fn into_error(self, failure: &IntegrationFailure) -> SimulatorError {
        self.fault.unwrap_or_else(|| SimulatorError::new("integrate", failure.naming(&self.method.names)))
    }
}

impl<E: Equations> OdeSystem for DrivenEquations<'_, E> {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault> {
        self.set_point(t, x).and_then(|()| self.equations.derivatives(dx)).map_err(|error| self.fault(error))
    }

    fn indicators(&mut self, t: f64, x: &[f64], z: &mut [f64]) -> Result<(), EvaluationFault> {
        self.set_point(t, x).and_then(|()| self.equations.indicators(z)).map_err(|error| self.fault(error))
    }

    fn jacobian(&mut self, t: f64, x: &[f64], out: &mut [f64]) -> Result<bool, EvaluationFault> {
        // `state_jacobian` is for constant efforts, not for efforts that follow the flow.
        if !self.method.state_jacobian || !self.ends.is_empty() {
            return Ok(false);
        }
        let filled = self.set_point(t, x).and_then(|()| self.equations.state_jacobian(out));
        filled.map(|()| true).map_err(|error| self.fault(error))
    }
}

pub(super) fn integrator(
    solver: &IntegratorEntry,
    states: usize,
    settings: &Settings,
) -> Result<Integrator, SimulatorError> {
    Integrator::new(solver, states, settings)
        .map_err(|refusal| SimulatorError::new("integrate", refusal.to_string()))
}

impl<E: Equations> HybridSimulator<E> {
    /// Ends initialisation, if it did not end yet.
    pub(super) fn finish_initialization(&mut self) -> Result<(), SimulatorError> {
        if !std::mem::take(&mut self.initialising) {
            return Ok(());
        }
        let at = self.setup.start.seconds();
        let InitialState { event: settled, due, settings } =
            self.equations.exit_initialization(at, &mut self.work.x)?;
        (self.state.next_event, self.state.due) = (settled.next_event, due);
        self.ended = settled.ended;
        if self.ended.is_none() {
            let settings = Settings { largest: self.method.largest_step, ..settings };
            self.state.integrator = integrator(self.method.solver, self.method.states, &settings)?;
            self.state.integrator.restart(at, &self.work.x);
            if due { self.place_equations()? } else { self.restart_indicators()? }
        }
        self.slots = vec![self.state.clone(); Slot::COUNT];
        Ok(())
    }

    /// The integrator, its event search, the equations, and workspace.
    fn parts<'a>(
        &'a mut self,
        ends: &'a [LineEnd<'a>],
    ) -> (&'a mut Integrator, &'a mut Roots, DrivenEquations<'a, E>, &'a mut HybridWorkspace) {
        let SolverState { integrator, roots, anchor, held, .. } = &mut self.state;
        let driven = DrivenEquations {
            equations: &mut self.equations,
            held,
            anchor: *anchor,
            ends,
            u: &mut self.u,
            flows: &mut self.flows,
            method: &self.method,
            fault: None,
        };
        (integrator, roots, driven, &mut self.work)
    }

    /// The signs of the indicators from here on.
    fn restart_indicators(&mut self) -> Result<(), SimulatorError> {
        let (integrator, roots, mut driven, _) = self.parts(&[]);
        roots.start(integrator, &mut driven).map_err(|failure| driven.into_error(&failure))
    }

    /// Sets the equations to the integrator's state.
    pub(super) fn place_equations(&mut self) -> Result<(), SimulatorError> {
        let now = self.state.now;
        let (integrator, _, mut driven, _) = self.parts(&[]);
        driven.set_point(now, integrator.state())
    }

    /// Restarts the integrator, without its history.
    fn restart(&mut self, at: f64) {
        self.work.x.copy_from_slice(self.state.integrator.state());
        self.state.integrator.restart(at, &self.work.x);
    }

    /// Sets new inputs at an instant, and returns the number of evaluations. A jump that matters to the integrator is an
    /// event, or restarts it. Efforts of lines jump only at events of their own, and those that follow a flow are not
    /// set.
    pub(super) fn apply_inputs(&mut self, at: f64, inputs: &Inputs<'_>) -> Result<u64, SimulatorError> {
        let SolverState { integrator, held, anchor, now, tuning, due, .. } = &mut self.state;
        let (mut event, mut jumps, mut moves) = (*due, false, false);
        for (port, (held, new)) in held.iter_mut().zip(inputs.segments).enumerate() {
            let (old, before) = (*held, held.at(at - *anchor));
            let (jumped, bends) = (before != new.start(), old.0[1..] != [0.0; 3] || new.0[1..] != [0.0; 3]);
            match (tuning.holds(port), self.method.discrete[port]) {
                (true, _) => {}
                (false, true) => event |= before.round() != new.start().round(),
                (false, false) => (jumps, moves) = (jumps || jumped, moves || jumped || bends),
            }
            let follows = inputs.ends.iter().any(|end| end.effort == port);
            *held = if follows { Segment::constant(before) } else { *new };
        }
        (*now, *anchor) = (at, at);
        let due = event;
        event |= (integrator.time() - at).abs() > NEAR * integrator.planned().abs();
        let mut asked = 0;
        if jumps && !event && self.method.micro_steps.is_none() {
            asked = 1;
            event = self.jump_matters(at)?;
        }
        if event && self.equations.needs_event(due) {
            self.event(at)?;
        } else if event {
            self.restart(at);
            if self.method.indicators > 0 {
                self.restart_indicators()?;
            }
        } else if moves {
            self.state.integrator.renew();
        }
        Ok(asked)
    }

    /// Whether the derivatives changed so much that the error of the integrator's planned step would exceed its tolerance.
    fn jump_matters(&mut self, at: f64) -> Result<bool, SimulatorError> {
        let (integrator, _, mut driven, HybridWorkspace { slopes: [dx, ..], .. }) = self.parts(&[]);
        if let Err(fault) = driven.derivatives(at, integrator.state(), dx) {
            // Refused here, it may be accepted a little later: left to the integrator.
            return driven.fault.take().map_or_else(|| Ok(matches!(fault, EvaluationFault::Retry(_))), Err);
        }
        Ok(integrator.notices(dx))
    }

    /// Handles an event at an instant, with the inputs at that instant.
    pub(super) fn event(&mut self, at: f64) -> Result<(), SimulatorError> {
        let HybridSimulator { equations, state: course, work: HybridWorkspace { x, .. }, u, .. } = self;
        x.copy_from_slice(course.integrator.state());
        evaluate_inputs(&course.held, at - course.anchor, u);
        let settled = equations.event(at, x, u)?;
        (course.next_event, course.due, self.ended) = (settled.next_event, false, settled.ended);
        course.integrator.restart(at, x);
        if self.ended.is_some() { Ok(()) } else { self.restart_indicators() }
    }

    /// One step, ended by the first event. Returns whether there is one at its end.
    fn inner_step(
        &mut self,
        limit: f64,
        size: f64,
        ends: &[LineEnd<'_>],
        integrals: &mut [f64],
    ) -> Result<bool, SimulatorError> {
        let (next_event, micro_steps) = (self.state.next_event, self.method.micro_steps);
        let (integrator, roots, mut driven, work) = self.parts(ends);
        let mut evaluations = 0;
        let mut go = || {
            if let Some(micro_steps) = micro_steps {
                evaluations = fixed_steps(integrator, &mut driven, work, limit, size, micro_steps)?;
                return Ok(limit == next_event);
            }
            let outcome = integrator.step(&mut driven, limit)?;
            let crossed = roots.search(integrator, &mut driven)?.is_some();
            Ok(crossed || (outcome == StepOutcome::Reached && limit == next_event))
        };
        let mut event = match go() {
            Ok(event) => event,
            Err(failure) => return Err(driven.into_error(&failure)),
        };
        let (start, end) = integrator.span();
        let points = if integrals.is_empty() { &[][..] } else { &GAUSS };
        for (share, weight) in points {
            let t = start + share * (end - start);
            integrator.at(t, &mut work.x);
            driven.set_point(t, &work.x)?;
            driven.equations.outputs(&mut work.y)?;
            for (integral, y) in integrals.iter_mut().zip(&work.y) {
                *integral += weight * (end - start) * y;
            }
        }
        driven.set_point(end, integrator.state())?;
        let completed = driven.equations.completed_step()?;
        event |= completed.event;
        self.ended = completed.ended;
        self.evaluations += evaluations;
        self.state.now = end;
        // Efforts stay as the step left them, for outputs and events.
        for end in ends {
            self.state.held[end.effort] = Segment::constant(self.u[end.effort]);
        }
        Ok(event)
    }

    /// One step of the integrator, no longer than `size` and not beyond an event or the end of the run. Not limited to the
    /// end of the window, which would shorten it.
    pub(super) fn one_step(
        &mut self,
        window: &Window,
        ends: &[LineEnd<'_>],
        integrals: &mut [f64],
    ) -> Result<(), SimulatorError> {
        self.state.integrator.set_largest(window.size.min(self.method.largest_step));
        let stop = self.setup.stop.map_or(f64::MAX, Time::seconds);
        let limit = if self.method.micro_steps.is_some() { window.to.seconds() } else { stop };
        self.state.due = self.inner_step(limit.min(self.state.next_event), window.size, ends, integrals)?;
        Ok(())
    }

    /// From event to event up to the end of the window. With `stop_at_events` it stops at the first event; one at the end
    /// of the window is handled later, so that a step that is rolled back never contains it.
    pub(super) fn integrate_window(
        &mut self,
        window: &Window,
        ends: &[LineEnd<'_>],
        integrals: &mut [f64],
    ) -> Result<(), SimulatorError> {
        let (to, size) = (window.to.seconds(), window.size);
        self.state.integrator.set_largest(self.method.largest_step);
        let from = self.state.integrator.time();
        let (mut last, mut crowd) = (f64::NEG_INFINITY, 0);
        while self.state.integrator.time() < to {
            let found = self.inner_step(to.min(self.state.next_event), size, ends, integrals)?;
            let time = self.state.integrator.time();
            if self.ended.is_some() {
                return Ok(());
            }
            // In a repeated step rounding may put the event slightly after the end, where the search does not find it.
            let met = time == to && to == self.stopped_at_event;
            if !found && !met {
                continue;
            }
            if to - time <= NEAR * size {
                if time < to {
                    self.restart(to);
                    self.state.now = to;
                    self.place_equations()?;
                }
                self.state.due = true;
                return Ok(());
            }
            if self.setup.stop_at_events && time - from > NEAR * size {
                self.stopped_at_event = time;
                return Ok(());
            }
            self.event(time)?;
            if self.ended.is_some() {
                return Ok(());
            }
            crowd = if time - last <= 1e-12 * time.abs().max(size) { crowd + 1 } else { 0 };
            last = time;
            if crowd > MAX_EVENTS_AT_INSTANT {
                return Err(too_many_events(time));
            }
        }
        Ok(())
    }

    /// Slopes of the outputs by differences around now, along the derivatives and the inputs. Equations must not be
    /// evaluated past the end of the run, nor before their last step.
    pub(super) fn output_slopes(&mut self, slopes: &mut [f64]) -> Result<(), SimulatorError> {
        let stop = self.setup.stop.map_or(f64::INFINITY, Time::seconds);
        let (integrator, _, mut driven, HybridWorkspace { x, y, slopes: [dx, ..], .. }) = self.parts(&[]);
        let (at, planned) = (integrator.time(), integrator.planned());
        driven.equations.derivatives(dx)?;
        let aside = ASIDE * if planned.is_finite() && planned > 0.0 { planned } else { 1e-3 };
        let after = if at + aside > stop { 0.0 } else { aside };
        let before = if at - aside < integrator.span().0 { 0.0 } else { aside };
        slopes.fill(0.0);
        for (shift, sign) in [(after, 1.0), (-before, -1.0)].into_iter().filter(|_| after + before > 0.0) {
            for ((x, state), dx) in x.iter_mut().zip(integrator.state()).zip(&*dx) {
                *x = state + shift * dx;
            }
            driven.set_point(at + shift, x)?;
            driven.equations.outputs(y)?;
            for (slope, y) in slopes.iter_mut().zip(&*y) {
                *slope += sign * y / (after + before);
            }
        }
        driven.set_point(at, integrator.state())
    }

    /// All evaluations of derivatives inside steps so far.
    pub(super) fn evaluations(&self) -> u64 {
        self.evaluations + self.state.integrator.counters().evaluations
    }
}

/// Steps of equal size to a limit, as many as belong to that part of the window, by the classical method. Returns the
/// evaluations.
fn fixed_steps(
    integrator: &mut Integrator,
    system: &mut impl OdeSystem,
    HybridWorkspace { x, stage, slopes, .. }: &mut HybridWorkspace,
    limit: f64,
    size: f64,
    micro_steps: usize,
) -> Result<u64, IntegrationFailure> {
    let from = integrator.time();
    let share = ((limit - from) / size).min(1.0) * micro_steps as f64;
    let (steps, rest) = ((share - NEAR).ceil().max(1.0) as u64, limit - from);
    let h = rest / steps as f64;
    let [k1, k2, k3, k4] = slopes;
    let mut ask = |time: f64, x: &[f64], dx: &mut [f64]| {
        let failed = |(EvaluationFault::Retry(message) | EvaluationFault::Fatal(message))| {
            IntegrationFailure::Fatal { time, message }
        };
        system.derivatives(time, x, dx).map_err(failed)
    };
    x.copy_from_slice(integrator.state());
    let n = x.len();
    for step in 0..steps {
        let t = from + step as f64 * h;
        ask(t, x, k1)?;
        (0..n).for_each(|i| stage[i] = x[i] + h / 2.0 * k1[i]);
        ask(t + h / 2.0, stage, k2)?;
        (0..n).for_each(|i| stage[i] = x[i] + h / 2.0 * k2[i]);
        ask(t + h / 2.0, stage, k3)?;
        (0..n).for_each(|i| stage[i] = x[i] + h * k3[i]);
        let end = if step + 1 == steps { limit } else { from + (step + 1) as f64 * h };
        ask(end, stage, k4)?;
        (0..n).for_each(|i| x[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    integrator.restart(limit, x);
    Ok(4 * steps)
}

/// The error for events without progress in time.
pub fn too_many_events(time: f64) -> SimulatorError {
    let message =
        format!("events accumulate at t = {time} s: {MAX_EVENTS_AT_INSTANT} events without progress in time");
    SimulatorError::new("event", message)
}
