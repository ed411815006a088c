//! Exchange at one instant: outputs are read and inputs set in the order of direct feed-through. Algebraic loops are solved
//! on the way, by Newton's method for real unknowns, by substitution for discrete outputs.
//!
//! At initialisation an input has its start value until its outputs are known.

use cosimo_core::error::StepError;
use cosimo_core::{PowerVariable, Segment, Time};
use cosimo_ode::{Equations, Newton, NewtonError};

use crate::board::Board;
use crate::plan::{Layout, Loop, Order, OrderStep};
use crate::simulator_pool::{Fault, FaultOf, SimulatorPool, SimulatorSelection, Task};

/// The largest number of substitutions of discrete values in a loop.
const ROUNDS: u32 = 100;

/// The reason for the exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Instant {
    /// The start of the run.
    Start,
    /// A jump: all inputs are renewed.
    Jump,
    /// The end of a window of the given size, where fresh inputs are renewed. The offsets hold the applied inputs.
    Exchange(f64),
}

/// Buffers for the solution of a loop.
pub(crate) struct LoopWorkspace {
    newton: Newton,
    u: Vec<f64>,
    /// The held values of discrete outputs.
    held: Vec<f64>,
}

impl LoopWorkspace {
    pub(crate) fn of(layout: &Layout, found: &Loop) -> LoopWorkspace {
        let size = if layout.topology.shape.slopes { 2 * found.unknowns.len() } else { found.unknowns.len() };
        LoopWorkspace { newton: Newton::new(size), u: vec![0.0; size], held: vec![0.0; found.discrete.len()] }
    }
}

/// The residual of a loop unknown, in its physical unit. Solutions inside of rejected steps count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Residual {
    pub start: Option<f64>,
    /// The worst after the start.
    pub later: Option<f64>,
    /// The largest absolute value of the unknown.
    pub largest: f64,
}

/// Derivatives along a loop, per output and per input.
pub(crate) struct LoopDerivatives {
    pub outputs: Vec<f64>,
    pub inputs: Vec<f64>,
}

#[derive(Debug)]
pub(crate) enum InstantFailure {
    Blamed(FaultOf),
    /// A loop did not converge: an unknown has a residual, or a discrete output keeps changing.
    LoopNotSolved {
        place: usize,
        what: PowerVariable,
        rounds: u32,
    },
}

impl From<FaultOf> for InstantFailure {
    fn from(blamed: FaultOf) -> InstantFailure {
        InstantFailure::Blamed(blamed)
    }
}

pub(crate) struct InstantSolver<'a> {
    pub layout: &'a Layout,
    pub board: &'a mut Board,
    pub simulators: &'a mut SimulatorPool,
    pub at: Time,
    pub instant: Instant,
}

impl<'a> InstantSolver<'a> {
    pub(crate) fn order(&self) -> &'a Order {
        match self.instant {
            Instant::Exchange(_) => &self.layout.topology.renewal,
            Instant::Start | Instant::Jump => &self.layout.topology.order,
        }
    }

    /// Computes all dependent outputs; those without dependencies are known.
    pub(crate) fn in_order(&mut self) -> Result<(), InstantFailure> {
        let order = self.order();
        for step in &order.steps {
            match *step {
                OrderStep::Pass(pass) => {
                    self.set_all_inputs();
                    self.read_outputs(
                        SimulatorSelection::Pass(self.offset() + pass),
                        self.instant == Instant::Start,
                    )?;
                    self.mark_known(&order.passes[pass]);
                }
                OrderStep::Loop(place) => self.solve(place)?,
            }
        }
        Ok(())
    }

    /// Sets the present inputs of all simulators and reads all outputs; `lenient`: they need not be finite.
    pub(crate) fn all(&mut self, lenient: bool) -> Result<(), InstantFailure> {
        self.set_all_inputs();
        self.read_outputs(SimulatorSelection::All, lenient)
    }

    /// At the start: reads all outputs once; only those without dependencies count as known.
    pub(crate) fn begin(&mut self) -> Result<(), InstantFailure> {
        let (layout, board) = (self.layout, &mut *self.board);
        board.known.fill(false);
        for (unknown, first) in board.unknowns.iter_mut().zip(&layout.topology.first_inputs) {
            *unknown = Segment::constant(*first);
        }
        self.set_all_inputs();
        self.read_outputs(SimulatorSelection::All, true)?;
        self.board.known.fill(true);
        for output in layout.topology.order.passes.iter().flatten() {
            self.board.known[*output] = false;
        }
        Ok(())
    }

    /// Later: loops begin with the applied inputs at the end of the window, which the offsets hold.
    pub(crate) fn begin_from(&mut self, size: f64) {
        let Board { unknowns, offsets, .. } = &mut *self.board;
        for (unknown, applied) in unknowns.iter_mut().zip(offsets.iter()) {
            *unknown = Segment::line(applied.at(size), applied.slope(size));
        }
    }

    pub(crate) fn set_all_inputs(&mut self) {
        for input in 0..self.layout.topology.shape.inputs {
            self.set_input(input);
        }
    }

    fn set_input(&mut self, input: usize) {
        let unknown = self.order().unknown[input];
        let (layout, board) = (self.layout, &mut *self.board);
        let told = match self.instant {
            _ if unknown => board.unknowns[input],
            Instant::Exchange(size) if !layout.methods.fresh[input] => {
                let applied = &board.offsets[input];
                Segment::line(applied.at(size), applied.slope(size))
            }
            Instant::Start
                if !layout.topology.couplings.terms(input).iter().all(|term| board.known[term.output]) =>
            {
                Segment::constant(layout.topology.first_inputs[input])
            }
            _ => board.coupled(layout, input),
        };
        board.held[input] = told.at(0.0);
        board.buffers.segments[input] = told;
    }

    /// Reads the outputs of `who`; `lenient`: they need not be finite.
    fn read_outputs(&mut self, who: SimulatorSelection, lenient: bool) -> Result<(), InstantFailure> {
        let board = &mut *self.board;
        self.simulators.run(Task::Settle { at: self.at, who, lenient }, &mut board.buffers)?;
        let slopes: &[f64] = if self.layout.topology.shape.slopes { &board.buffers.slopes } else { &[] };
        board.traces.put(0, &board.buffers.outputs, slopes);
        Ok(())
    }

    fn mark_known(&mut self, outputs: &[usize]) {
        outputs.iter().for_each(|output| self.board.known[*output] = true);
    }

    /// Passes of both orders are numbered consecutively.
    fn offset(&self) -> usize {
        match self.instant {
            Instant::Exchange(_) => self.layout.topology.order.passes.len(),
            Instant::Start | Instant::Jump => 0,
        }
    }

    /// After the start, loops of simulators with events are not iterated: each iteration would be an event. Their unknowns
    /// stay as they were.
    pub(crate) fn solve(&mut self, place: usize) -> Result<(), InstantFailure> {
        let found = &self.order().loops[place];
        if self.instant != Instant::Start && !self.layout.topology.throughout(found, |can| !can.events) {
            self.set_all_inputs();
            Equation { settling: self, found, held: &mut [] }.pass(false)?;
            self.measure(found);
            return Ok(());
        }
        self.mark_known(&found.discrete); // at their held values
        self.set_all_inputs();
        // Moved out and back, not copied: the board is borrowed meanwhile.
        let mut rooms = std::mem::take(self.workspaces());
        let LoopWorkspace { newton, u, held } = &mut rooms[place];
        let solved = Equation { settling: self, found, held }.solve(place, newton, u);
        *self.workspaces() = rooms;
        solved?;
        self.measure(found);
        if self.instant == Instant::Start {
            return Ok(());
        }
        let layout = self.layout;
        let bad = found.outputs.iter().find(|output| !self.board.buffers.outputs[**output].is_finite());
        bad.map_or(Ok(()), |&output| {
            let owner = layout.topology.owners[output];
            let value = self.board.buffers.outputs[output];
            Err((
                owner,
                Fault::NotFinite { output: output - layout.topology.blocks[owner].outputs.start, value },
            )
                .into())
        })
    }

    /// The residual u - g(u) of a loop, solved or not.
    fn measure(&mut self, found: &Loop) {
        let board = &mut *self.board;
        for &input in &found.unknowns {
            let (unknown, driven) =
                (board.unknowns[input].at(0.0), board.coupled(self.layout, input).at(0.0));
            let (left, residual) = ((unknown - driven).abs(), &mut board.residuals[input]);
            residual.largest = residual.largest.max(unknown.abs());
            match self.instant {
                Instant::Start => residual.start = Some(left),
                Instant::Jump | Instant::Exchange(_) => {
                    residual.later = Some(residual.later.map_or(left, |worst| worst.max(left)));
                }
            }
        }
    }

    fn workspaces(&mut self) -> &mut Vec<LoopWorkspace> {
        match self.instant {
            Instant::Exchange(_) => &mut self.board.renewal_workspaces,
            Instant::Start | Instant::Jump => &mut self.board.loop_workspaces,
        }
    }

    /// The error with names.
    pub(crate) fn error(&self, unsettled: InstantFailure, blame: impl Fn(FaultOf) -> StepError) -> StepError {
        let (place, what, rounds) = match unsettled {
            InstantFailure::Blamed(blamed) => return blame(blamed),
            InstantFailure::LoopNotSolved { place, what, rounds } => (place, what, rounds),
        };
        let (layout, board, found) = (self.layout, &*self.board, &self.order().loops[place]);
        let path = layout.ports().loop_text(&found.path);
        let name = |end: PowerVariable| layout.ports().path(end);
        let unknowns =
            found.unknowns.iter().map(|&input| (PowerVariable::Input(input), board.unknowns[input].at(0.0)));
        let discrete = found
            .discrete
            .iter()
            .map(|&output| (PowerVariable::Output(output), board.traces.newest()[output]));
        let values: Vec<(String, f64)> =
            unknowns.chain(discrete).map(|(end, value)| (name(end), value)).collect();
        match what {
            PowerVariable::Input(input) => {
                let driven = board.coupled(layout, input).at(0.0);
                StepError::Unsolved { path, input: name(what), driven, rounds, values, at: self.at }
            }
            PowerVariable::Output(_) => {
                StepError::Undecided { path, output: name(what), rounds, values, at: self.at }
            }
        }
    }
}

/// u = g(u) of a loop, with discrete outputs held.
struct Equation<'s, 'a> {
    settling: &'s mut InstantSolver<'a>,
    found: &'a Loop,
    held: &'s mut [f64],
}

impl Equation<'_, '_> {
    fn solve(&mut self, place: usize, newton: &mut Newton, u: &mut [f64]) -> Result<(), InstantFailure> {
        let found = self.found;
        for (held, output) in self.held.iter_mut().zip(&found.discrete) {
            *held = self.settling.board.traces.newest()[*output];
        }
        let unsolved = |what, rounds| InstantFailure::LoopNotSolved { place, what, rounds };
        let mut last = 0;
        // Each discrete output may depend on another.
        let most = ROUNDS + found.discrete.len() as u32;
        for _ in 0..most {
            if u.is_empty() {
                self.pass(true)?;
            } else {
                self.guess(u);
                newton.solve_equations(u, self).map_err(|trouble| match trouble {
                    NewtonError::Refused(unsettled) => unsettled,
                    NewtonError::Stuck { unknown, iterations, .. } => unsolved(
                        PowerVariable::Input(found.unknowns[unknown % found.unknowns.len()]),
                        iterations,
                    ),
                })?;
            }
            // One at a time: of two that depend on each other, the second is evaluated again after the first has changed.
            let said = &self.settling.board.buffers.outputs;
            let mut held = self.held.iter_mut().zip(&found.discrete);
            let Some((held, output)) = held.find(|(held, output)| **held != said[**output]) else {
                return Ok(());
            };
            (*held, last) = (said[*output], *output);
        }
        Err(unsolved(PowerVariable::Output(last), most))
    }

    /// The initial guess: values, followed by derivatives where simulators provide them.
    fn guess(&self, u: &mut [f64]) {
        let unknowns = self.found.unknowns.iter().map(|input| self.settling.board.unknowns[*input]);
        let slopes = unknowns.clone().map(|unknown| unknown.slope(0.0));
        unknowns.map(|unknown| unknown.at(0.0)).chain(slopes).zip(u).for_each(|(from, u)| *u = from);
    }

    /// From the unknowns to the outputs.
    fn pass(&mut self, lenient: bool) -> Result<(), InstantFailure> {
        let (settling, found) = (&mut *self.settling, self.found);
        let (order, offset) = (settling.order(), settling.offset());
        hold(settling.board, self.held, found);
        for pass in found.passes.clone() {
            found.inputs.iter().for_each(|input| settling.set_input(*input));
            settling.read_outputs(SimulatorSelection::Pass(offset + pass), lenient)?;
            settling.mark_known(&order.passes[pass]);
            hold(settling.board, self.held, found);
        }
        Ok(())
    }
}

impl Equations for Equation<'_, '_> {
    type Error = InstantFailure;

    fn value(&mut self, u: &[f64], g: &mut [f64]) -> Result<(), InstantFailure> {
        let unknowns = &self.found.unknowns;
        for (place, &input) in unknowns.iter().enumerate() {
            let slope = u.get(unknowns.len() + place).copied().unwrap_or(0.0);
            self.settling.board.unknowns[input] = Segment::line(u[place], slope);
        }
        self.pass(true)?;
        let InstantSolver { layout, board, .. } = &*self.settling;
        for (place, &input) in unknowns.iter().enumerate() {
            let driven = board.coupled(layout, input);
            g[place] = driven.at(0.0);
            if let Some(slope) = g.get_mut(unknowns.len() + place) {
                *slope = driven.slope(0.0);
            }
        }
        Ok(())
    }

    /// From directional derivatives along the passes of the loop: dy = D du, du = L dy.
    fn derivatives(&mut self, into: &mut [f64]) -> Result<bool, InstantFailure> {
        let found = self.found;
        let (order, offset) = (self.settling.order(), self.settling.offset());
        let InstantSolver { layout, board, simulators: crew, .. } = &mut *self.settling;
        let declares =
            |output: &usize| layout.topology.interfaces[layout.topology.owners[*output]].abilities.jacobian;
        if layout.topology.shape.slopes || !found.outputs.iter().all(declares) {
            return Ok(false);
        }
        let passes = (offset + found.passes.start, offset + found.passes.end);
        crew.run(Task::Through { passes }, &mut board.buffers)?;
        let Board { loop_derivatives: ripple, buffers, .. } = &mut **board;
        for (column, seed) in found.unknowns.iter().enumerate() {
            found.outputs.iter().for_each(|output| ripple.outputs[*output] = 0.0);
            for pass in found.passes.clone() {
                for &input in &found.inputs {
                    ripple.inputs[input] = if order.unknown[input] {
                        f64::from(u8::from(input == *seed))
                    } else {
                        driven(layout, input, &ripple.outputs, found)
                    };
                }
                for &output in &order.passes[pass] {
                    let block = &layout.topology.blocks[layout.topology.owners[output]];
                    let row = layout.topology.jacobian_starts[layout.topology.owners[output]]
                        + (output - block.outputs.start) * block.inputs.len();
                    let part = |input: &usize| {
                        let place =
                            input.checked_sub(block.inputs.start).filter(|_| *input < block.inputs.end);
                        place.map_or(0.0, |place| buffers.feedthrough[row + place] * ripple.inputs[*input])
                    };
                    ripple.outputs[output] = found.inputs.iter().map(part).sum();
                }
            }
            for (row, input) in found.unknowns.iter().enumerate() {
                into[row * found.unknowns.len() + column] = driven(layout, *input, &ripple.outputs, found);
            }
        }
        Ok(into.iter().all(|derivative| derivative.is_finite()))
    }
}

/// Replaces discrete outputs by their held values.
fn hold(board: &mut Board, held: &[f64], found: &Loop) {
    let newest = board.traces.level_mut(0);
    held.iter().zip(&found.discrete).for_each(|(held, output)| newest[*output] = *held);
}

/// One row of L dy. Outputs outside of the loop and discrete ones are constant.
fn driven(layout: &Layout, input: usize, changes: &[f64], found: &Loop) -> f64 {
    let terms = layout.topology.couplings.terms(input).iter();
    let moves =
        |output| found.outputs.binary_search(output).is_ok() && found.discrete.binary_search(output).is_err();
    let inside = terms.filter(|term| moves(&term.output));
    inside.map(|term| term.gain * changes[term.output]).sum()
}
