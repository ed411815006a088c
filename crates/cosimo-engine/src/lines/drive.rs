//! Application of the effort of a line to a simulator: at the stages of its solver if possible, else as a segment computed
//! before the step. The incoming wave is known for the whole step; the response of the own flow is not.

use cosimo_core::{Inputs, LineEnd, Outputs, Segment, Simulator, SimulatorError, Slot, StepResult, Window};
use cosimo_system::Boundary;

use super::end::EndState;

/// More ends than this at one simulator cost an allocation per step.
const MANY: usize = 8;

/// The boundary condition of one simulator.
#[derive(Debug, Clone)]
pub(crate) struct Drive {
    pub(crate) way: Boundary,
    /// Per end: effort per rate of the flow into the line; NaN: unknown.
    pub(crate) masses: Vec<f64>,
    /// Per end: the rate of the flow into the line in the last step without the effort. Part of the state that a rollback
    /// restores.
    pub(super) rates: Vec<f64>,
    /// Per end: the flow at the start of the step, and guesses of it at the end.
    flows: Vec<f64>,
    guesses: [Vec<f64>; 2],
    answers: [Vec<f64>; 2],
    outputs: Vec<f64>,
    segments: Vec<Segment>,
    /// The simulator supports input derivatives.
    moves: bool,
}

impl Drive {
    pub(crate) fn new(way: Boundary, masses: Vec<f64>, simulator: &dyn Simulator) -> Drive {
        let interface = simulator.interface();
        let room = || vec![0.0; masses.len()];
        Drive {
            way,
            rates: room(),
            flows: room(),
            guesses: [room(), room()],
            answers: [room(), room()],
            outputs: vec![0.0; interface.outputs.len()],
            segments: vec![Segment::ZERO; interface.inputs.len()],
            moves: interface.abilities.input_degree > 0,
            masses,
        }
    }

    /// A step of the simulator, its other inputs as in `segments`.
    pub(crate) fn advance(
        &mut self,
        simulator: &mut dyn Simulator,
        ends: &[EndState],
        window: Window,
        segments: &[Segment],
        stepwise: bool,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError> {
        let from = window.from.seconds();
        if self.way == Boundary::Inside {
            let inputs = |views: &[LineEnd<'_>], simulator: &mut dyn Simulator, integrals: &mut [f64]| {
                step(
                    simulator,
                    window,
                    &Inputs { segments, ends: views, return_each_internal_step: stepwise },
                    integrals,
                )
            };
            if ends.is_empty() || ends.len() > MANY {
                let views: Vec<LineEnd<'_>> = ends.iter().map(|end| end.view(from)).collect();
                return inputs(&views, simulator, integrals);
            }
            let views: [LineEnd<'_>; MANY] =
                std::array::from_fn(|place| ends[place.min(ends.len() - 1)].view(from));
            return inputs(&views[..ends.len()], simulator, integrals);
        }
        self.segments.copy_from_slice(segments);
        self.read(simulator, ends)?;
        match self.way {
            Boundary::MidStep => {
                for (place, end) in ends.iter().enumerate() {
                    let middle = from + 0.5 * window.size;
                    self.segments[end.effort] =
                        Segment::constant(end.view(from).effort(middle, self.flows[place]));
                }
                self.step(simulator, window, integrals)
            }
            Boundary::SemiImplicit => {
                for (place, end) in ends.iter().enumerate() {
                    let view = end.view(from);
                    let (mass, flow, size) = (self.masses[place], view.sign * self.flows[place], window.size);
                    // f' = g - e / M with e = c + Z f, both over the step: a = (g - (c + Z f) / M) / (1 + Z H / 2 M).
                    let pull = (mean(&view, window) + view.impedance * flow) / mass;
                    let rate = (self.rates[place] - pull) / (1.0 + view.impedance * size / (2.0 * mass));
                    self.guesses[0][place] = self.flows[place] + size * rate / view.sign;
                }
                self.assume(0, ends, window);
                let reached = self.step(simulator, window, integrals)?;
                // The value of g from the step: the same formula, solved for g.
                self.answers[0].copy_from_slice(&self.flows);
                self.read(simulator, ends)?;
                for (place, end) in ends.iter().enumerate() {
                    let view = end.view(from);
                    let rate = view.sign * (self.flows[place] - self.answers[0][place]) / window.size;
                    let effort = self.segments[end.effort].mean(window.size) / view.scale;
                    self.rates[place] = rate + effort / self.masses[place];
                }
                Ok(reached)
            }
            _ => {
                // Two trial steps for the secant of the flow at the end by its assumed value. The Jacobian slot is free
                // inside a step.
                simulator.need_rollback()?.save(Slot::Jacobian)?;
                let mut evaluations = 0;
                self.guesses[0].copy_from_slice(&self.flows);
                for trial in 0..2 {
                    self.assume(trial, ends, window);
                    evaluations += self.step(simulator, window, integrals)?.evaluations;
                    let flows = std::mem::take(&mut self.flows);
                    self.flows = std::mem::take(&mut self.answers[trial]);
                    let read = self.read(simulator, ends);
                    self.answers[trial] = std::mem::replace(&mut self.flows, flows);
                    read?;
                    simulator.need_rollback()?.restore(Slot::Jacobian)?;
                    if trial == 0 {
                        self.guesses[1].copy_from_slice(&self.answers[0]);
                    }
                }
                for place in 0..ends.len() {
                    let (x0, x1) = (self.guesses[0][place], self.guesses[1][place]);
                    let (y0, y1) = (self.answers[0][place], self.answers[1][place]);
                    // x where the response equals the assumption, on the line through both.
                    let change = (x1 - x0) - (y1 - y0);
                    self.guesses[0][place] =
                        if change == 0.0 { y1 } else { x0 + (y0 - x0) * (x1 - x0) / change };
                }
                self.assume(0, ends, window);
                let reached = self.step(simulator, window, integrals)?;
                Ok(StepResult { evaluations: reached.evaluations + evaluations, ..reached })
            }
        }
    }

    /// The effort from the incoming wave and a flow that changes linearly to the guess.
    fn assume(&mut self, guess: usize, ends: &[EndState], window: Window) {
        let (from, size) = (window.from.seconds(), window.size);
        for (place, end) in ends.iter().enumerate() {
            let view = end.view(from);
            let flow =
                |part: f64| self.flows[place] + part * (self.guesses[guess][place] - self.flows[place]);
            let effort = |part: f64| view.effort(from + part * size, flow(part));
            self.segments[end.effort] = if self.moves {
                let (a, m, b) = (effort(0.0), effort(0.5), effort(1.0));
                let (slope, bend) = ((4.0 * m - 3.0 * a - b) / size, 2.0 * (a - 2.0 * m + b) / (size * size));
                Segment([a, slope, bend, 0.0])
            } else {
                // The mean of the wave counts, not its value in the middle.
                Segment::constant(view.scale * (mean(&view, window) + view.impedance * view.sign * flow(0.5)))
            };
        }
    }

    fn step(
        &mut self,
        simulator: &mut dyn Simulator,
        window: Window,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError> {
        step(simulator, window, &Inputs::of(&self.segments), integrals)
    }

    fn read(&mut self, simulator: &mut dyn Simulator, ends: &[EndState]) -> Result<(), SimulatorError> {
        simulator.get_outputs(&mut Outputs { values: &mut self.outputs, slopes: &mut [] })?;
        for (flow, end) in self.flows.iter_mut().zip(ends) {
            *flow = self.outputs[end.flow];
        }
        Ok(())
    }

    /// At rest: the effort balances all other forces.
    pub(crate) fn rest(&mut self, efforts: impl Iterator<Item = f64>) {
        for ((rate, mass), effort) in self.rates.iter_mut().zip(&self.masses).zip(efforts) {
            *rate = if mass.is_finite() { effort / mass } else { 0.0 };
        }
    }

    /// Measures the mass at each end by trial steps with a changed effort. In SI units, into the line.
    pub(crate) fn weigh(
        &mut self,
        simulator: &mut dyn Simulator,
        ends: &[EndState],
        window: Window,
        segments: &[Segment],
    ) -> Result<(), SimulatorError> {
        for place in 0..ends.len() {
            let end = &ends[place];
            let mut shown = [0.0; 2];
            let base = segments[end.effort].start();
            let push = 1e-3 * base.abs().max(1.0);
            for (way, shown) in shown.iter_mut().enumerate() {
                simulator.need_rollback()?.save(Slot::Jacobian)?;
                self.segments.copy_from_slice(segments);
                self.segments[end.effort] = Segment::constant(base + push * (2.0 * way as f64 - 1.0));
                self.step(simulator, window, &mut [])?;
                self.read(simulator, ends)?;
                *shown = self.flows[place];
                simulator.need_rollback()?.restore(Slot::Jacobian)?;
            }
            let view = end.view(window.from.seconds());
            let change = view.sign * (shown[1] - shown[0]);
            self.masses[place] = -(2.0 * push / view.scale) * window.size / change;
        }
        Ok(())
    }
}

/// With integrals if requested.
fn step(
    simulator: &mut dyn Simulator,
    window: Window,
    inputs: &Inputs<'_>,
    integrals: &mut [f64],
) -> Result<StepResult, SimulatorError> {
    if integrals.is_empty() {
        return simulator.do_step(window, inputs);
    }
    simulator.need_integrals()?.do_step_with_integrals(window, inputs, integrals)
}

/// The mean of the incoming wave in a window, by Simpson's rule.
fn mean(view: &LineEnd<'_>, window: Window) -> f64 {
    let from = window.from.seconds();
    let at = |part: f64| view.wave(from + part * window.size);
    (at(0.0) + 4.0 * at(0.5) + at(1.0)) / 6.0
}

#[cfg(test)]
#[path = "../../tests/private/drive.rs"]
mod tests;
