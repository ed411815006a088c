//! The wrapper of a multi-rate simulator. It divides a longer window into equal steps, each with its part of the inputs. If
//! its step is longer than the window, it steps ahead to the end of its own step; in between continuous outputs are
//! interpolated, and discrete ones change at the end. `rate_schedule.rs` determines where its steps end.

use cosimo_core::abilities;
use cosimo_core::clock::{Limit, has_reached_end, part, parts};
use cosimo_core::interface::Interface;
use cosimo_core::simulator::{
    Ability, Bytes, Events, Jacobian, MultiRate, Rollback, SerializeState, States, StepIntegrals,
    TunableParameters,
};
use cosimo_core::{
    Clock, Inputs, LongStep, Outputs, RollbackCheck, Segment, Setup, Simulator, SimulatorError, Slot,
    StepResult, Time, ValueType, Window,
};
use cosimo_system::{Problem, System};

use crate::state_walk::StateWalk;

/// The rounding error of a mean slope, relative to value over step.
const ROUNDING: f64 = 1e-12;

/// Wraps every simulator whose component has a `step`.
pub(crate) fn around(
    simulators: Vec<Option<Box<dyn Simulator>>>,
    system: &System,
    problems: &mut Vec<Problem>,
) -> Vec<Option<Box<dyn Simulator>>> {
    let step = &system.methods.step;
    let window = step.size.unwrap_or(step.max);
    let pace = |(simulator, component): (Option<Box<dyn Simulator>>, &cosimo_system::Component)| {
        let Some((every, span)) = &component.step else { return simulator };
        let groups = system.monolithic.iter();
        let group =
            groups.clone().find(|group| group.components.iter().any(|(name, _)| *name == component.name));
        if let Some(group) = group {
            let message = format!(
                "`{}` is in the monolithic group `{}` and cannot have its own step",
                component.name, group.name
            );
            let problem = Problem::error("plan/own-step-joined", message, span.clone());
            let hint = format!("remove `step`, or remove `{}` from `{}`", component.name, group.name);
            problems.push(problem.hint(hint).about(&component.name));
            return simulator;
        }
        let paced = |inner| -> Box<dyn Simulator> {
            Box::new(MultiRateSimulator::new(inner, *every, *every < window))
        };
        simulator.map(paced)
    };
    simulators.into_iter().zip(&system.components).map(pace).collect()
}

struct MultiRateSimulator {
    inner: Box<dyn Simulator>,
    interface: Interface,
    every: f64,
    setup: Option<Setup>,
    /// Per output: it is discrete.
    held: Vec<bool>,
    state: MultiRateState,
    /// One per slot, allocated in advance: no step allocates.
    slots: Vec<MultiRateState>,
    /// Counts changes of the wrapped simulator, which is saved and restored only if it differs; 0 is the start.
    versions: u64,
    /// The event inside its step at which it stopped.
    met: Option<Time>,
    /// Inputs of a part of the window, outputs and integrals of one.
    shifted: Vec<Segment>,
    values: Vec<f64>,
    slopes: Vec<f64>,
    areas: Vec<f64>,
}

/// The state that a rollback restores.
#[derive(Debug, Clone)]
struct MultiRateState {
    version: u64,
    /// Its last step, which may be ahead of the others.
    own: Window,
    lead: Option<LongStep>,
    degree: u32,
    /// It is ahead of the others; and the present time in that step, in seconds.
    ahead: bool,
    at: f64,
    /// Outputs at the start and at the end of its last step.
    start: Vec<f64>,
    start_slopes: Vec<f64>,
    end: Vec<f64>,
    end_slopes: Vec<f64>,
    /// Outputs at the start of the previous step, and its length; NaN: there is none.
    before: Vec<f64>,
    gap: f64,
    /// Of its last step; NaN: not available.
    areas: Vec<f64>,
    event: bool,
    next_event: Option<Time>,
    /// String and binary outputs until the step ends.
    parcels: Vec<Vec<u8>>,
}

impl MultiRateState {
    fn new(outputs: usize, parcels: usize) -> MultiRateState {
        MultiRateState {
            version: 0,
            own: Window { from: Time::ZERO, to: Time::ZERO, size: 0.0 },
            lead: None,
            degree: 1,
            ahead: false,
            at: 0.0,
            start: vec![f64::NAN; outputs],
            start_slopes: vec![f64::NAN; outputs],
            end: vec![f64::NAN; outputs],
            end_slopes: vec![f64::NAN; outputs],
            before: vec![f64::NAN; outputs],
            gap: f64::NAN,
            areas: vec![f64::NAN; outputs],
            event: false,
            next_event: None,
            parcels: vec![Vec::new(); parcels],
        }
    }

    /// Copies without allocating.
    fn copy_from(&mut self, from: &MultiRateState) {
        let numbers = [
            (&mut self.start, &from.start),
            (&mut self.start_slopes, &from.start_slopes),
            (&mut self.end, &from.end),
            (&mut self.end_slopes, &from.end_slopes),
            (&mut self.before, &from.before),
            (&mut self.areas, &from.areas),
        ];
        for (into, from) in numbers {
            into.copy_from_slice(from);
        }
        self.parcels.clone_from_slice(&from.parcels);
        (self.version, self.own, self.lead, self.degree) = (from.version, from.own, from.lead, from.degree);
        (self.ahead, self.at, self.gap) = (from.ahead, from.at, from.gap);
        (self.event, self.next_event) = (from.event, from.next_event);
    }

    fn walk(&mut self, walk: &mut StateWalk<'_>) {
        self.parcels.iter_mut().for_each(|parcel| walk.bytes(parcel));
        walk.window(&mut self.own);
        let (mut degree, mut event) = (u64::from(self.degree), self.next_event.map(Time::seconds));
        walk.count(&mut degree);
        walk.maybe(&mut event);
        (self.degree, self.next_event) = (degree as u32, event.and_then(Time::new));
        walk.flag(&mut self.ahead);
        walk.flag(&mut self.event);
        let MultiRateState { at, gap, start, start_slopes, end, end_slopes, before, areas, .. } = self;
        walk.numbers([at, gap]);
        walk.numbers([start, start_slopes, end, end_slopes, before, areas].into_iter().flatten());
    }

    /// Begins a new step at the end of the last one.
    fn begin(&mut self, own: Window) {
        let goes_on = self.own.size > 0.0 && self.own.to == own.from;
        self.gap = if goes_on { self.own.size } else { f64::NAN };
        self.before.copy_from_slice(&self.start);
        self.start.copy_from_slice(&self.end);
        self.start_slopes.copy_from_slice(&self.end_slopes);
        self.own = own;
    }

    /// An output over its own step, in seconds since its start: the cubic with the slopes of both ends if those are
    /// available and plausible, else the parabola through the start of the previous step, else the line.
    fn between(&self, output: usize) -> Segment {
        let (size, gap) = (self.own.size, self.gap);
        let (start, end) = (self.start[output], self.end[output]);
        let (first, last) = (self.start_slopes[output], self.end_slopes[output]);
        let mean = (end - start) / size;
        let rounding = ROUNDING * (start.abs() + end.abs()) / size;
        // The mean slope lies between those of the ends, or as near to them as they are to each other. An absent slope
        // is NaN and fails, too.
        if (mean - 0.5 * (first + last)).abs() <= (first - last).abs() + rounding {
            let (twice, thrice) = (3.0 * mean - 2.0 * first - last, first + last - 2.0 * mean);
            return Segment([start, first, twice / size, thrice / (size * size)]);
        }
        // Newton's form: (mean - mean of the step before) / (distance of the outer two), times t (t - size).
        let second = (mean - (start - self.before[output]) / gap) / (size + gap);
        if self.degree >= 2 && second.is_finite() {
            return Segment([start, mean - second * size, second, 0.0]);
        }
        Segment::line(start, mean)
    }
}

/// How much of a bump 6 s (1 - s) lies before s: its integral over the whole of 0 to 1 is 1.
fn bump(share: f64) -> f64 {
    share * share * (3.0 - 2.0 * share)
}

impl MultiRateSimulator {
    /// `divides`: windows may be longer than its steps.
    fn new(inner: Box<dyn Simulator>, every: f64, divides: bool) -> MultiRateSimulator {
        let mut interface = inner.interface().clone();
        // Its step size is fixed, so that a line cannot choose it.
        interface.abilities.wave_boundary = false;
        if divides {
            // It has integrals from its own steps, and applies inputs as a staircase at least.
            interface.abilities.integrals = true;
            interface.abilities.input_degree = 3;
        }
        let (inputs, outputs) = (interface.inputs.len(), interface.outputs.len());
        MultiRateSimulator {
            every,
            setup: None,
            held: interface
                .outputs
                .iter()
                .map(|port| port.discrete || port.value_type != ValueType::Real)
                .collect(),
            state: MultiRateState::new(outputs, interface.byte_outputs.len()),
            slots: vec![MultiRateState::new(outputs, interface.byte_outputs.len()); Slot::COUNT],
            versions: 0,
            met: None,
            shifted: vec![Segment::ZERO; inputs],
            values: vec![0.0; outputs],
            slopes: vec![f64::NAN; if interface.abilities.slopes { outputs } else { 0 }],
            areas: vec![0.0; outputs],
            interface,
            inner,
        }
    }

    /// The wrapped simulator is about to change.
    fn touch(&mut self) {
        self.versions += 1;
        self.state.version = self.versions;
    }

    fn integrates(&self) -> bool {
        self.inner.interface().abilities.integrals
    }

    fn meets(&self) -> bool {
        self.setup.is_some_and(|setup| setup.stop_at_events)
    }

    /// Steps to the end of its own step, ahead of the others.
    fn go_ahead(
        &mut self,
        lead: LongStep,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
        out: &mut Outputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        for (port, parcel) in self.state.parcels.iter_mut().enumerate() {
            self.inner.need_bytes()?.get_bytes(port, parcel)?;
        }
        self.touch();
        let integrates = self.integrates() && !integrals.is_empty();
        let state = &mut self.state;
        state.begin(lead.own);
        state.degree = lead.degree;
        state.areas.fill(f64::NAN);
        let areas = if integrates { &mut state.areas[..] } else { &mut [] };
        let slopes = if out.slopes.is_empty() { &mut [][..] } else { &mut state.end_slopes[..] };
        let mut end = Outputs { values: &mut state.end, slopes };
        let reached = step(self.inner.as_mut(), lead.own, inputs, areas, Some(&mut end))?;
        if reached.to < lead.own.to {
            self.met = Some(reached.to);
            return Ok(StepResult { to: window.to, next_event: None, event: true, ..reached });
        }
        (state.event, state.next_event) = (reached.event, reached.next_event);
        Ok(StepResult { evaluations: reached.evaluations, ..self.go_on(window, integrals, out) })
    }

    /// A window inside its own step: outputs are interpolated.
    fn go_on(&mut self, window: Window, integrals: &mut [f64], out: &mut Outputs<'_>) -> StepResult {
        let own = self.state.own;
        let since = |at: Time| at.seconds() - own.from.seconds();
        let (from, to) = (since(window.from), since(window.to));
        for (output, integral) in integrals.iter_mut().enumerate() {
            // The integral of the interpolation, plus a share of its difference to the simulator's integral: over all
            // windows of the step the sum is the latter.
            let shown = self.shown(output);
            let missed = self.state.areas[output] - shown.integral(own.size);
            let share = bump(to / own.size) - bump(from / own.size);
            *integral = shown.integral(to) - shown.integral(from) + share * missed;
        }
        let arrived = has_reached_end(window.to, own);
        (self.state.ahead, self.state.at) = (!arrived, to);
        if arrived {
            out.values.copy_from_slice(&self.state.end);
            if !out.slopes.is_empty() {
                out.slopes.copy_from_slice(&self.state.end_slopes);
            }
        } else {
            self.show(out);
        }
        StepResult {
            to: window.to,
            next_event: self.state.next_event.filter(|_| arrived),
            event: arrived && self.state.event,
            evaluations: 0,
        }
    }

    fn shown(&self, output: usize) -> Segment {
        if self.held[output] {
            Segment::constant(self.state.start[output])
        } else {
            self.state.between(output)
        }
    }

    /// Outputs at the present communication point.
    fn show(&self, out: &mut Outputs<'_>) {
        let at = self.state.at;
        for (output, value) in out.values.iter_mut().enumerate() {
            let shown = self.shown(output);
            *value = shown.at(at);
            if let Some(slope) = out.slopes.get_mut(output) {
                *slope = shown.slope(at);
            }
        }
    }

    /// The whole window, in equal steps no longer than its own size.
    fn divide(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
        out: &mut Outputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        self.touch();
        // From its present time, which may differ from the window's start by rounding.
        let stands = self.state.own.size > 0.0 && has_reached_end(window.from, self.state.own);
        let window =
            Window { from: if stands { self.state.own.to.max(window.from) } else { window.from }, ..window };
        let sizes = parts(window, self.every);
        let reached = if sizes.0 == 1 {
            let integrates = self.integrates();
            if !integrates {
                integrals.fill(f64::NAN); // what the ends of the window say is all there is
            }
            let integrals = if integrates { integrals } else { &mut [] };
            step(self.inner.as_mut(), window, inputs, integrals, Some(out))?
        } else {
            self.several(window, sizes, inputs, integrals, out)?
        };
        if reached.to < window.to {
            return Ok(reached);
        }
        let state = &mut self.state;
        state.begin(window);
        state.end.copy_from_slice(out.values);
        if !out.slopes.is_empty() {
            state.end_slopes.copy_from_slice(out.slopes);
        }
        state.event = reached.event;
        Ok(reached)
    }

    fn several(
        &mut self,
        window: Window,
        sizes: (u64, f64),
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
        out: &mut Outputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        let (integrates, meets) = (self.integrates(), self.meets());
        let mut whole = StepResult::end_of(window, 0);
        self.values.copy_from_slice(&self.state.end); // where the window begins
        integrals.fill(0.0);
        for index in 0..sizes.0 {
            let part = part(window, sizes, index);
            // An event announced meanwhile: all simulators must stop there.
            if let Some(at) = whole.next_event.filter(|at| meets && *at < part.to) {
                return Ok(StepResult { to: at, ..whole });
            }
            self.shift(part.from.seconds() - window.from.seconds(), part.size, inputs);
            let inputs = Inputs::of(&self.shifted);
            let areas = if integrates && !integrals.is_empty() { &mut self.areas[..] } else { &mut [] };
            let last = index + 1 == sizes.0;
            let shown = if last { Some(&mut *out) } else { None };
            let reached = step(self.inner.as_mut(), part, &inputs, areas, shown)?;
            whole = StepResult { evaluations: whole.evaluations + reached.evaluations, ..reached };
            if reached.to < part.to || (reached.event && meets && !last) {
                return Ok(whole);
            }
            if !integrals.is_empty() && integrates {
                integrals.iter_mut().zip(&self.areas).for_each(|(sum, area)| *sum += area);
            } else if !integrals.is_empty() {
                // Outputs at its own steps give a better integral than those at the window's ends.
                self.areas.copy_from_slice(&self.values);
                if last {
                    self.values.copy_from_slice(out.values);
                } else {
                    self.inner
                        .get_outputs(&mut Outputs { values: &mut self.values, slopes: &mut self.slopes })?;
                }
                let ends = self.areas.iter().zip(&self.values);
                integrals.iter_mut().zip(ends).for_each(|(sum, (a, b))| *sum += 0.5 * (a + b) * part.size);
            }
            if reached.event && !last {
                self.inner.set_inputs(part.to, &inputs)?; // no simulator is rewound for it
            }
        }
        Ok(StepResult { to: window.to, ..whole })
    }

    /// Inputs shifted by seconds after the window's start. A simulator that holds inputs gets their mean, so that the
    /// integral of the staircase is that of the extrapolation.
    fn shift(&mut self, start: f64, size: f64, inputs: &Inputs<'_>) {
        let holds = self.inner.interface().abilities.input_degree == 0;
        for (shifted, segment) in self.shifted.iter_mut().zip(inputs.segments) {
            let still = segment.0[1..].iter().all(|coefficient| *coefficient == 0.0);
            let moved = segment.after(start);
            *shifted = if holds && !still { Segment::constant(moved.mean(size)) } else { moved };
        }
    }
}

impl Simulator for MultiRateSimulator {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.touch();
        self.setup = Some(*setup);
        self.inner.initialize(setup)
    }

    /// Inside its own step it does not respond: new inputs take effect with its next step.
    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        if self.state.ahead {
            return Ok(());
        }
        self.touch();
        self.state.event = false;
        self.inner.set_inputs(at, inputs)
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.do_step_with_integrals(window, inputs, &mut [])
    }

    fn do_step_and_get_outputs(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        out: &mut Outputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        self.do_step_and_get_all(window, inputs, &mut [], out)
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        if self.state.ahead {
            self.show(out);
            return Ok(());
        }
        self.inner.get_outputs(out)?;
        self.state.end.copy_from_slice(out.values);
        if !out.slopes.is_empty() {
            self.state.end_slopes.copy_from_slice(out.slopes);
        }
        Ok(())
    }

    /// Equations at its own time, which may be ahead of the others; the plan uses them only for simulators that usually are
    /// not.
    fn inner(&mut self, asked: Ability) -> Option<&mut dyn Simulator> {
        let forwarded = matches!(asked, Ability::Lifecycle | Ability::Locals | Ability::StateSpace);
        forwarded.then_some(self.inner.as_mut())
    }

    abilities! {
        self:
        multi_rate,
        rollback if self.inner.rollback().is_some(),
        serialize_state if self.inner.serialize_state().is_some(),
        events if self.inner.events().is_some(),
        bytes if self.inner.bytes().is_some(),
        parameters if self.inner.parameters().is_some(),
        jacobian if self.inner.jacobian().is_some(),
        states if self.inner.states().is_some(),
        integrals if self.interface.abilities.integrals,
    }
}

impl MultiRate for MultiRateSimulator {
    fn begin_long_step(&mut self, lead: LongStep) {
        self.state.lead = Some(lead);
    }

    fn event_inside_step(&self) -> Option<Time> {
        self.met
    }
}

impl StepIntegrals for MultiRateSimulator {
    fn do_step_with_integrals(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError> {
        // Its record of outputs needs them anyway.
        let (mut values, mut slopes) = (self.state.end.clone(), self.slopes.clone());
        let mut out = Outputs { values: &mut values, slopes: &mut slopes };
        self.do_step_and_get_all(window, inputs, integrals, &mut out)
    }

    fn do_step_and_get_all(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
        out: &mut Outputs<'_>,
    ) -> Result<StepResult, SimulatorError> {
        self.met = None;
        match self.state.lead.take() {
            Some(lead) => self.go_ahead(lead, window, inputs, integrals, out),
            None if self.state.ahead => Ok(self.go_on(window, integrals, out)),
            None => self.divide(window, inputs, integrals, out),
        }
    }
}

impl Events for MultiRateSimulator {
    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        match self.inner.events() {
            Some(events) if !self.state.ahead => events.next_event(),
            _ => Ok(None),
        }
    }
}

impl Bytes for MultiRateSimulator {
    fn set_bytes(&mut self, port: usize, content: &[u8]) -> Result<(), SimulatorError> {
        if self.state.ahead && self.state.lead.is_none() {
            return Ok(()); // it comes again when the next step begins
        }
        self.touch();
        self.inner.need_bytes()?.set_bytes(port, content)
    }

    fn get_bytes(&mut self, port: usize, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        if self.state.ahead {
            into.clone_from(&self.state.parcels[port]);
            return Ok(());
        }
        self.inner.need_bytes()?.get_bytes(port, into)
    }
}

impl Rollback for MultiRateSimulator {
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        let saved = &mut self.slots[slot.index()];
        if saved.version != self.state.version {
            self.inner.need_rollback()?.save(slot)?;
        }
        saved.copy_from(&self.state);
        Ok(())
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        let saved = &self.slots[slot.index()];
        if saved.version != self.state.version {
            self.inner.need_rollback()?.restore(slot)?;
        }
        self.state.copy_from(saved);
        Ok(())
    }

    /// With the step that it will take, not with the window.
    fn check(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<RollbackCheck, SimulatorError> {
        let limit = self.setup.and_then(|setup| setup.stop).map_or(Limit::None, Limit::At);
        let own = Clock::starting_at(window.from).own(self.every, window, window.size, limit);
        self.touch();
        self.inner.need_rollback()?.check(part(own, parts(own, self.every), 0), inputs)
    }
}

impl SerializeState for MultiRateSimulator {
    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        let mut inner = Vec::new();
        self.inner.need_serialize_state()?.serialize(&mut inner)?;
        let mut walk = StateWalk::Write(into);
        walk.bytes(&mut inner);
        self.state.walk(&mut walk);
        Ok(())
    }

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        self.touch();
        let (mut walk, mut inner) = (StateWalk::Read(Some(from)), Vec::new());
        walk.bytes(&mut inner);
        if !walk.is_broken() {
            self.inner.need_serialize_state()?.deserialize(&inner)?;
        }
        self.state.walk(&mut walk);
        self.state.lead = None;
        let damaged =
            || SimulatorError::new("deserialize_state", "the saved state of its multi-rate step is damaged");
        walk.is_whole().then_some(()).ok_or_else(damaged)
    }
}

impl TunableParameters for MultiRateSimulator {
    fn set_parameter(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError> {
        self.touch();
        self.inner.need_parameters()?.set_parameter(parameter, value)
    }
}

/// Inside its own step there is no feed-through.
impl Jacobian for MultiRateSimulator {
    fn fill(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        if self.state.ahead {
            into.fill(0.0);
            return Ok(());
        }
        self.inner.need_jacobian()?.fill(into)
    }
}

impl States for MultiRateSimulator {
    fn count(&mut self) -> usize {
        self.inner.states().map_or(0, |states| states.count())
    }

    fn get(&mut self, x: &mut [f64]) {
        if let Some(states) = self.inner.states() {
            states.get(x);
        }
    }

    fn set(&mut self, x: &[f64]) {
        self.touch();
        if let Some(states) = self.inner.states() {
            states.set(x);
        }
    }
}

/// A step of the wrapped simulator, with integrals and outputs if requested.
fn step(
    inner: &mut dyn Simulator,
    window: Window,
    inputs: &Inputs<'_>,
    integrals: &mut [f64],
    out: Option<&mut Outputs<'_>>,
) -> Result<StepResult, SimulatorError> {
    match (integrals.is_empty(), out) {
        (true, None) => inner.do_step(window, inputs),
        (true, Some(out)) => inner.do_step_and_get_outputs(window, inputs, out),
        (false, None) => inner.need_integrals()?.do_step_with_integrals(window, inputs, integrals),
        (false, Some(out)) => inner.need_integrals()?.do_step_and_get_all(window, inputs, integrals, out),
    }
}

#[cfg(test)]
#[path = "../tests/private/multi_rate.rs"]
mod tests;
