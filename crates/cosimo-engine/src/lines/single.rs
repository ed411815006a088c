//! An island of one simulator: without coupling methods, with steps chosen by its solver.

use cosimo_core::line::Stamp;
use cosimo_core::simulator::{Rollback, SerializeState};
use cosimo_core::{Inputs, Outputs, Segment, Setup, Simulator, SimulatorError, Slot, Time, Window};

use super::end::EndState;
use super::island::{IslandEnds, lock};
use super::terminal::Terminal;
use crate::island::ROUNDS;
use crate::state_walk::StateWalk;

/// The simulator before it is initialised.
pub(super) struct SingleBlueprint {
    pub(super) name: String,
    pub(super) simulator: Terminal,
    /// The step size at the shortest delay, unless its solver chooses it.
    pub(super) size: f64,
}

pub(super) struct SingleIsland {
    pub(super) simulator: Terminal,
    pub(super) outputs: Vec<f64>,
    size: f64,
    next_event: Option<f64>,
    rollback: bool,
    samples: Vec<Stamp>,
    /// Evaluations of rolled back steps that are not yet repeated.
    owed: u64,
}

impl SingleIsland {
    /// Initialises the simulator, and its line ends from its outputs.
    pub(super) fn new(
        seed: SingleBlueprint,
        ends: &IslandEnds,
        setup: &Setup,
    ) -> Result<SingleIsland, SimulatorError> {
        let SingleBlueprint { name, mut simulator, size } = seed;
        let rollback = simulator.interface().abilities.rollback;
        // Trial steps measure a mass or correct a boundary; steps are repeated after a delay was too long.
        let tried = simulator.tries_steps() || lock(ends).iter().any(EndState::may_repeat);
        simulator.initialize(&Setup { rewinds: rollback && tried, ..*setup })?;
        simulator.set_inputs(setup.start, &Inputs::of(&[]))?;
        if let Some(lifecycle) = simulator.lifecycle() {
            lifecycle.exit_initialization()?;
        }
        let mut outputs = vec![0.0; simulator.interface().outputs.len()];
        simulator.get_outputs(&mut Outputs { values: &mut outputs, slopes: &mut [] })?;
        let start = setup.start.seconds();
        lock(ends).iter_mut().for_each(|end| end.begin(start, outputs[end.flow]));
        let first = Time::new(start + size).map(|to| Window { from: setup.start, to, size });
        simulator.weigh(&name, size, first.filter(|_| rollback))?;
        let next_event = next_event(&mut simulator)?;
        lock(ends).iter_mut().for_each(|end| end.announce(next_event));
        let samples = vec![Stamp::default(); lock(ends).len()];
        Ok(SingleIsland { simulator, outputs, size, next_event, rollback, samples, owed: 0 })
    }

    pub(super) fn walk(&mut self, walk: &mut StateWalk<'_>) -> Result<(), SimulatorError> {
        let mut bytes = Vec::new();
        if !walk.reads() {
            self.simulator.serialize(&mut bytes)?;
        }
        walk.bytes(&mut bytes);
        if walk.reads() {
            self.simulator.deserialize(&bytes)?;
        }
        walk.segments(&mut self.simulator.segments);
        walk.numbers(&mut self.outputs);
        walk.maybe(&mut self.next_event);
        walk.count(&mut self.owed);
        Ok(())
    }

    /// Sets an unconnected input, from the next step on.
    pub(super) fn set_input(&mut self, input: usize, value: f64) {
        self.simulator.segments[input] = Segment::constant(value);
    }

    /// Repeats until a step is accepted; `None`: stamps are missing.
    pub(super) fn step(
        &mut self,
        ends: &IslandEnds,
        from: f64,
        stop: f64,
    ) -> Result<Option<(f64, u64)>, SimulatorError> {
        let mut evaluations = 0;
        loop {
            let Some(to) = self.end_of_step(&lock(ends), from, stop) else {
                // Rolled back evaluations count, too.
                self.owed += evaluations;
                return Ok(None);
            };
            let window = window(from, to)?;
            let careful = self.rollback && lock(ends).iter().any(EndState::is_stretched);
            if careful {
                self.simulator.save(Slot::Attempt)?;
            }
            let reached = self.simulator.do_step(window, &Inputs::of(&[]))?;
            evaluations += reached.evaluations;
            if let Some(function) = self.simulator.lifecycle().and_then(|lifecycle| lifecycle.ending()) {
                return Err(SimulatorError::end(function));
            }
            let now = reached.to.seconds();
            self.simulator.get_outputs(&mut Outputs { values: &mut self.outputs, slopes: &mut [] })?;
            if self.judge(&mut lock(ends), from, now)? && careful {
                self.simulator.restore(Slot::Attempt)?;
                let mut ends = lock(ends);
                let moved = ends.iter_mut().filter(|end| !end.is_still() && end.is_stretched());
                moved.for_each(EndState::shorten_after_rollback);
                continue;
            }
            for (end, sample) in lock(ends).iter_mut().zip(&self.samples) {
                end.publish(*sample);
            }
            self.next_event = reached.next_event.map(Time::seconds);
            if reached.event {
                self.event(ends, reached.to)?;
            }
            lock(ends).iter_mut().for_each(|end| end.announce(self.next_event));
            return Ok(Some((now, evaluations + std::mem::take(&mut self.owed))));
        }
    }

    /// The end of the next step, if all its stamps have arrived.
    fn end_of_step(&self, ends: &[EndState], from: f64, stop: f64) -> Option<f64> {
        // Limited by the delays; the size grows with them.
        let least = ends.iter().map(|end| end.factor).reduce(f64::min).unwrap_or(1.0);
        let longest = ends.iter().map(|end| end.longest(from)).fold(f64::INFINITY, f64::min);
        let wanted = (self.size * least).min(longest);
        let known = ends.iter().filter_map(|end| end.limit(from));
        let limit = known.chain(self.next_event.filter(|event| *event > from)).fold(stop, f64::min);
        // A tiny remainder is merged into the last step.
        let to = if limit - (from + wanted) < 1e-9 * wanted { limit } else { from + wanted };
        ends.iter().all(|end| end.ready(from, to)).then_some(to)
    }

    /// Samples all ends at the end of a step. Returns whether one of them requires a rollback.
    fn judge(&mut self, ends: &mut [EndState], from: f64, now: f64) -> Result<bool, SimulatorError> {
        let mut again = false;
        for (end, sample) in ends.iter_mut().zip(&mut self.samples) {
            let flow = self.outputs[end.flow];
            if !flow.is_finite() {
                let words = format!("the flow at a line is {flow} at t = {now} s, expected a finite number");
                return Err(SimulatorError::new("step", words));
            }
            if let Some(owner) = end.owner {
                let told = end.follow(from, self.outputs[owner]);
                told.map_err(|words| SimulatorError::new("step", format!("at t = {now} s {words}")))?;
            }
            *sample = end.sample(from, now, flow);
            again |= end.judge(sample);
        }
        Ok(again)
    }

    /// Event iteration.
    fn event(&mut self, ends: &IslandEnds, at: Time) -> Result<(), SimulatorError> {
        let before: Vec<f64> = lock(ends).iter().map(|end| self.outputs[end.flow]).collect();
        self.simulator.set_inputs(at, &Inputs::of(&[]))?;
        self.simulator.get_outputs(&mut Outputs { values: &mut self.outputs, slopes: &mut [] })?;
        for _ in 0..ROUNDS {
            self.next_event = next_event(&mut self.simulator)?;
            if self.next_event.is_none_or(|event| event > at.seconds()) {
                break;
            }
            self.simulator.set_inputs(at, &Inputs::of(&[]))?;
        }
        // A flow that jumped is published at once: two stamps of one instant.
        for (end, before) in lock(ends).iter_mut().zip(before) {
            let flow = self.outputs[end.flow];
            if flow != before {
                let sample = end.sample(at.seconds(), at.seconds(), flow);
                end.judge(&sample);
                end.publish(sample);
            }
        }
        Ok(())
    }
}

fn window(from: f64, to: f64) -> Result<Window, SimulatorError> {
    match (Time::new(from), Time::new(to)) {
        (Some(start), Some(end)) if to > from => Ok(Window { from: start, to: end, size: to - from }),
        _ => Err(SimulatorError::new("step", format!("invalid step from t = {from} s to {to} s"))),
    }
}

fn next_event(simulator: &mut Terminal) -> Result<Option<f64>, SimulatorError> {
    let Some(events) = simulator.events() else { return Ok(None) };
    Ok(events.next_event()?.map(Time::seconds))
}
