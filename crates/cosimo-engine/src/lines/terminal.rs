//! A simulator of an island with several, at the end of a line: its efforts are hidden from the island's method and follow
//! from the line.

use std::ops::Range;

use cosimo_core::interface::Interface;
use cosimo_core::{
    Inputs, Local, Outputs, Reached, Segment, Setup, Simulator, SimulatorError, Slot, States, Time, Trail,
    Window,
};

use cosimo_system::Boundary;

use super::drive::Drive;
use super::frozen::Walk;
use super::isle::{Ends, lock};

pub(crate) struct Terminal {
    inner: Box<dyn Simulator>,
    interface: Interface,
    ends: Ends,
    /// Which of them are its own.
    own: Range<usize>,
    drive: Drive,
    /// The inputs that are left, by their place in the whole.
    plain: Vec<usize>,
    segments: Vec<Segment>,
    /// Rates of the drive, per slot.
    saved: Vec<Vec<f64>>,
}

impl Terminal {
    pub(crate) fn new(
        inner: Box<dyn Simulator>,
        hidden: &[usize],
        ends: Ends,
        own: Range<usize>,
        drive: Drive,
    ) -> Terminal {
        let mut interface = inner.interface().clone();
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
        // Derivatives by what is left could be had; nobody has needed them yet.
        interface.abilities.jacobian = false;
        interface.insight = None;
        interface.stretches.clear();
        let saved = vec![drive.rates().to_vec(); Slot::COUNT];
        Terminal { inner, interface, ends, own, drive, plain, segments, saved }
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

    fn enter(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        // The corrected boundary tries each step before it is taken.
        let rewinds = setup.rewinds || self.drive.way == Boundary::Corrected;
        self.inner.enter(&Setup { rewinds, ..*setup })
    }

    fn settle(&mut self, at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.take(inputs);
        self.inner.settle(at, &Inputs::of(&self.segments))
    }

    fn advance(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        trail: &mut Trail<'_>,
    ) -> Result<Reached, SimulatorError> {
        self.take(inputs);
        let ends = lock(&self.ends);
        self.drive.advance(self.inner.as_mut(), &ends[self.own.clone()], window, &self.segments, false, trail)
    }

    fn outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        self.inner.outputs(out)
    }

    fn ending(&self) -> Option<&'static str> {
        self.inner.ending()
    }

    fn locals(&self) -> Vec<Local> {
        self.inner.locals()
    }

    fn choose_locals(&mut self, places: &[usize]) {
        self.inner.choose_locals(places);
    }

    fn read_locals(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        self.inner.read_locals(into)
    }

    fn exit_initialisation(&mut self) -> Result<bool, SimulatorError> {
        self.inner.exit_initialisation()
    }

    fn notices(&mut self) -> Vec<(&'static str, String)> {
        self.inner.notices()
    }

    fn next_event(&mut self) -> Result<Option<Time>, SimulatorError> {
        self.inner.next_event()
    }

    fn take_parcel(&mut self, port: usize, content: &[u8]) -> Result<(), SimulatorError> {
        self.inner.take_parcel(port, content)
    }

    fn give_parcel(&mut self, port: usize, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        self.inner.give_parcel(port, into)
    }

    fn save(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.saved[slot.index()].copy_from_slice(self.drive.rates());
        self.inner.save(slot)
    }

    fn restore(&mut self, slot: Slot) -> Result<(), SimulatorError> {
        self.drive.rates_mut().copy_from_slice(&self.saved[slot.index()]);
        self.inner.restore(slot)
    }

    fn freeze(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        let mut inner = Vec::new();
        self.inner.freeze(&mut inner)?;
        let mut walk = Walk::Write(into);
        walk.bytes(&mut inner);
        walk.numbers(self.drive.rates_mut());
        walk.end()
    }

    fn thaw(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let mut inner = Vec::new();
        let mut walk = Walk::Read(Some(from));
        walk.bytes(&mut inner);
        walk.numbers(self.drive.rates_mut());
        walk.end()?;
        self.inner.thaw(&inner)
    }

    fn tune(&mut self, parameter: usize, value: f64) -> Result<(), SimulatorError> {
        self.inner.tune(parameter, value)
    }

    fn states(&mut self) -> Option<&mut dyn States> {
        self.inner.states()
    }
}
