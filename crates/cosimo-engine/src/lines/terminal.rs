//! A wrapper of a simulator with line ends: its efforts are computed from the lines and hidden from the method of its island.

use std::ops::Range;

use cosimo_core::abilities;
use cosimo_core::interface::Interface;
use cosimo_core::simulator::{Ability, Rollback, SerializeState, StepIntegrals};
use cosimo_core::{
    Inputs, Outputs, Segment, Setup, Simulator, SimulatorError, Slot, StepResult, Time, Window,
};

use cosimo_system::Boundary;

use super::drive::Drive;
use super::end::EndState;
use super::island::{IslandEnds, lock};
use crate::state_walk::StateWalk;

/// An explicit boundary is stable below this Z H / M, exact for a mass; and the safety factor for a mass that was measured
/// by trial steps.
const EXPLICIT: f64 = 2.0;
const WEIGHED: f64 = 0.99;

pub(crate) struct Terminal {
    inner: Box<dyn Simulator>,
    interface: Interface,
    ends: IslandEnds,
    /// The range of its own ends.
    own: Range<usize>,
    drive: Drive,
    /// Every internal step is published.
    stepwise: bool,
    /// The visible inputs, by their index in the simulator.
    plain: Vec<usize>,
    /// All inputs, as set last.
    pub(super) segments: Vec<Segment>,
    /// Saved rates of the drive, per slot.
    saved: Vec<Vec<f64>>,
}

impl Terminal {
    pub(crate) fn new(
        inner: Box<dyn Simulator>,
        ends: &IslandEnds,
        own: Range<usize>,
        drive: Drive,
    ) -> Terminal {
        let mut interface = inner.interface().clone();
        let hidden: Vec<usize> = lock(ends)[own.clone()].iter().map(|end| end.effort).collect();
        let plain: Vec<usize> = (0..interface.inputs.len()).filter(|input| !hidden.contains(input)).collect();
        let place = |input: usize| plain.iter().position(|known| *known == input);
        interface.feedthrough = interface
            .feedthrough
            .iter()
            .filter_map(|(output, input)| Some((*output, place(*input)?)))
            .collect();
        let segments =
            interface.inputs.iter().map(|port| Segment::constant(port.start.unwrap_or(0.0))).collect();
        interface.inputs = plain.iter().map(|input| interface.inputs[*input].clone()).collect();
        // Derivatives by the visible inputs could be offered; no method needs them yet.
        interface.abilities.jacobian = false;
        interface.state_space_access = None;
        interface.stretches.clear();
        let saved = vec![drive.rates.clone(); Slot::COUNT];
        let ends = IslandEnds::clone(ends);
        Terminal { inner, interface, ends, own, drive, stepwise: false, plain, segments, saved }
    }

    /// For an island of one simulator, with the values of unconnected inputs.
    pub(crate) fn alone(mut self, inputs: &[f64]) -> Terminal {
        self.stepwise = self.drive.way == Boundary::Inside;
        self.segments = inputs.iter().map(|value| Segment::constant(*value)).collect();
        self
    }

    /// Whether trial steps are needed, to measure a mass or to correct the boundary.
    pub(super) fn tries_steps(&self) -> bool {
        let Drive { way, masses, .. } = &self.drive;
        *way == Boundary::Corrected || (*way != Boundary::Inside && masses.iter().any(|mass| mass.is_nan()))
    }

    /// At the start: measures masses that are not given in a trial window, if possible. Fails if the boundary would be
    /// unstable with steps of this size.
    pub(super) fn weigh(
        &mut self,
        name: &str,
        size: f64,
        trial: Option<Window>,
    ) -> Result<(), SimulatorError> {
        if self.drive.way == Boundary::Inside {
            return Ok(());
        }
        let ends = lock(&self.ends);
        let ends = &ends[self.own.clone()];
        let known = self.drive.masses.clone();
        if let Some(window) = trial.filter(|_| known.iter().any(|mass| mass.is_nan())) {
            self.drive.weigh(self.inner.as_mut(), ends, window, &self.segments)?;
            for (mass, known) in self.drive.masses.iter_mut().zip(known) {
                *mass = if known.is_nan() { *mass } else { known };
            }
        }
        check_masses(name, &self.drive, ends, size)?;
        self.drive.rest(ends.iter().map(|end| end.first_effort));
        Ok(())
    }

    /// Writes or reads the state of the simulator and of the wrapper.
    fn walk(&mut self, inner: &mut Vec<u8>, mut walk: StateWalk<'_>) -> Result<(), SimulatorError> {
        walk.bytes(inner);
        walk.numbers(&mut self.drive.rates);
        walk.end()
    }

    fn take(&mut self, inputs: &Inputs<'_>) {
        for (segment, place) in inputs.segments.iter().zip(&self.plain) {
            self.segments[*place] = *segment;
        }
        for end in &lock(&self.ends)[self.own.clone()] {
            self.segments[end.effort] = Segment::constant(end.newest_effort());
        }
    }
}

impl Simulator for Terminal {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        // The corrected boundary makes trial steps.
        let rewinds = setup.rewinds || self.drive.way == Boundary::Corrected;
        self.inner.initialize(&Setup { rewinds, ..*setup })
    }

    fn set_inputs(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.take(inputs);
        self.inner.set_inputs(at, &Inputs::of(&self.segments))
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.do_step_with_integrals(window, inputs, &mut [])
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        self.inner.get_outputs(out)
    }

    fn inner(&mut self, asked: Ability) -> Option<&mut dyn Simulator> {
        match asked {
            Ability::Lifecycle
            | Ability::Events
            | Ability::Bytes
            | Ability::TunableParameters
            | Ability::States
            | Ability::Locals => Some(self.inner.as_mut()),
            _ => None,
        }
    }

    abilities! {
        self:
        rollback if self.inner.rollback().is_some(),
        serialize_state if self.inner.serialize_state().is_some(),
        integrals if self.inner.integrals().is_some(),
    }
}

impl StepIntegrals for Terminal {
    fn do_step_with_integrals(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError> {
        self.take(inputs);
        let (inner, ends) = (self.inner.as_mut(), lock(&self.ends));
        let ends = &ends[self.own.clone()];
        self.drive.advance(inner, ends, window, &self.segments, self.stepwise, integrals)
    }
}

impl Rollback for Terminal {
    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.saved[slot.index()].copy_from_slice(&self.drive.rates);
        self.inner.need_rollback()?.save(slot)
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.drive.rates.copy_from_slice(&self.saved[slot.index()]);
        self.inner.need_rollback()?.restore(slot)
    }
}

impl SerializeState for Terminal {
    fn serialize(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        let mut inner = Vec::new();
        self.inner.need_serialize_state()?.serialize(&mut inner)?;
        self.walk(&mut inner, StateWalk::Write(into))
    }

    fn deserialize(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let mut inner = Vec::new();
        self.walk(&mut inner, StateWalk::Read(Some(from)))?;
        self.inner.need_serialize_state()?.deserialize(&inner)
    }
}

/// Refuses unstable boundaries.
fn check_masses(name: &str, drive: &Drive, ends: &[EndState], size: f64) -> Result<(), SimulatorError> {
    for (end, mass) in ends.iter().zip(&drive.masses) {
        let ratio = end.impedance() * size / mass;
        let unknown = mass.is_nan() || *mass <= 0.0;
        if drive.way == Boundary::MidStep && ratio >= WEIGHED * EXPLICIT {
            let words = format!(
                "the line at `{name}` is too stiff for one value per step: impedance * step / mass is {ratio:.3}, unstable from \
                 {EXPLICIT} on; use steps below {:.3e} s, or `boundary = \"corrected\"`",
                EXPLICIT * mass / end.impedance()
            );
            return Err(SimulatorError::new("start", words));
        }
        if drive.way == Boundary::SemiImplicit && unknown {
            let words = format!(
                "the mass at `{name}` cannot be measured: its flow does not respond to the effort within a step of {size} s; give \
                 `mass_{}` of the line (delay {} s)",
                if end.side == 0 { "a" } else { "b" },
                end.shortest()
            );
            return Err(SimulatorError::new("start", words));
        }
    }
    Ok(())
}
