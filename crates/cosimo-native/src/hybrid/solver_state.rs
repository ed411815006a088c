//! The state of the loop, as it is saved, restored and serialized.

use cosimo_core::ends::Tuning;
use cosimo_core::simulator::{Rollback, SerializeState};
use cosimo_core::{Inputs, RollbackCheck, Segment, SimulatorError, Slot, Window};
use cosimo_ode::{Integrator, Roots};

use super::{Equations, HybridSimulator};

/// Everything that a rollback restores, except for the internal state of the equations.
#[derive(Clone)]
pub(super) struct SolverState {
    pub(super) integrator: Integrator,
    pub(super) roots: Roots,
    /// Infinite where none is known.
    pub(super) next_event: f64,
    /// An event is to be handled at the integrator's time.
    pub(super) due: bool,
    /// Time of the outputs: the integrator's may differ by rounding.
    pub(super) now: f64,
    /// Time from which on the segments in `held` count.
    pub(super) anchor: f64,
    pub(super) held: Vec<Segment>,
    pub(super) tuning: Tuning,
}

impl SolverState {
    pub(super) fn copy_from(&mut self, other: &SolverState) {
        self.integrator.copy_from(&other.integrator);
        self.roots.copy_from(&other.roots);
        (self.next_event, self.due) = (other.next_event, other.due);
        (self.now, self.anchor) = (other.now, other.anchor);
        self.held.copy_from_slice(&other.held);
        self.tuning.copy_from(&other.tuning);
    }

    /// All numbers beside those of integrator and indicators.
    fn numbers(&mut self) -> impl Iterator<Item = &mut f64> {
        let SolverState { next_event, now, anchor, held, tuning, .. } = self;
        let inputs = held.iter_mut().flat_map(|segment| &mut segment.0);
        [next_event, now, anchor].into_iter().chain(inputs).chain(tuning.numbers_mut())
    }
}

impl<E: Equations> Rollback for HybridSimulator<E> {
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.finish_initialization()?;
        self.slots[slot.index()].copy_from(&self.state);
        self.equations.save(slot)
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.finish_initialization()?;
        self.equations.restore(slot)?;
        self.state.copy_from(&self.slots[slot.index()]);
        self.ended = None;
        self.place_equations()
    }

    fn check(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<RollbackCheck, SimulatorError> {
        E::check_rollback(self, window, inputs)
    }
}

impl<E: Equations> SerializeState for HybridSimulator<E> {
    /// Pieces with their lengths: inputs and events, integrator, indicators, internal state of the equations.
    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        self.finish_initialization()?;
        let mut pieces = [const { Vec::new() }; 4];
        pieces[0].push(u8::from(self.state.due));
        for number in self.state.numbers() {
            pieces[0].extend(number.to_le_bytes());
        }
        self.state.integrator.serialize(&mut pieces[1]);
        if !self.state.integrator.rewinds_exactly() {
            // A run resumed from these bytes restarts the integrator, and so must this run, to give the same results.
            self.state.integrator.restart_order();
        }
        self.state.roots.serialize(&mut pieces[2]);
        self.equations.serialize(&mut pieces[3])?;
        for piece in &pieces {
            into.extend((piece.len() as u64).to_le_bytes());
            into.extend(piece);
        }
        Ok(())
    }

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let foreign = || SimulatorError::new("deserialize", E::foreign_state_message(from.len()));
        let (mut rest, mut pieces) = (from, [&[][..]; 4]);
        for piece in &mut pieces {
            let (length, behind) = rest.split_first_chunk().ok_or_else(foreign)?;
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| foreign())?;
            (*piece, rest) = behind.split_at_checked(length).ok_or_else(foreign)?;
        }
        self.finish_initialization()?;
        let mut course = self.state.clone();
        let (due, mut numbers) = pieces[0].split_first().ok_or_else(foreign)?;
        for number in course.numbers() {
            let (bytes, behind) = numbers.split_first_chunk().ok_or_else(foreign)?;
            (*number, numbers) = (f64::from_le_bytes(*bytes), behind);
        }
        if *due > 1 || !numbers.is_empty() || !rest.is_empty() {
            return Err(foreign());
        }
        course.due = *due == 1;
        course.integrator.deserialize(pieces[1]).map_err(|_| foreign())?;
        course.roots.deserialize(pieces[2]).map_err(|_| foreign())?;
        self.equations.deserialize(pieces[3])?;
        self.state.copy_from(&course);
        self.place_equations()
    }
}
