//! A component of an island, or a line, as everybody else sees it: a simulator that shows what the island has come to.

use std::sync::Arc;

use cosimo_core::interface::{Abilities, Interface, Port};
use cosimo_core::{Inputs, Outputs, Reached, Setup, Simulator, SimulatorError, Slot, Time, Trail, Window};

use super::frozen::Walk;
use super::net::Net;

pub(crate) struct Proxy {
    interface: Interface,
    net: Arc<Net>,
    /// The island whose faults it reports, and where its outputs are: island and place.
    isle: usize,
    shown: Vec<(usize, usize)>,
    /// The simulator of the island whose inputs it hands on, and which of them; and what was handed on last.
    member: usize,
    inputs: Vec<usize>,
    held: Vec<f64>,
}

impl Proxy {
    /// `outputs` are ports with the island and the place where they are shown; `freeze` is whether what it stands for can be
    /// saved.
    pub(crate) fn new(
        net: &Arc<Net>,
        (isle, member): (usize, usize),
        freeze: bool,
        outputs: Vec<(Port, usize, usize)>,
        inputs: Vec<(Port, usize)>,
    ) -> Proxy {
        let shown = outputs.iter().map(|(_, isle, place)| (*isle, *place)).collect();
        let abilities = Abilities {
            rollback: false,
            freeze,
            states: false,
            answers: false,
            // It has no feed-through either, so nobody needs to ask for it.
            jacobian: true,
            ..Abilities::NATIVE
        };
        Proxy {
            held: inputs.iter().map(|(port, _)| port.start.unwrap_or(0.0)).collect(),
            interface: Interface {
                outputs: outputs.into_iter().map(|(port, ..)| port).collect(),
                inputs: inputs.iter().map(|(port, _)| port.clone()).collect(),
                abilities,
                ..Interface::default()
            },
            net: Arc::clone(net),
            isle,
            shown,
            member,
            inputs: inputs.into_iter().map(|(_, input)| input).collect(),
        }
    }

    fn hand_on(&mut self, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        for ((segment, held), input) in inputs.segments.iter().zip(&mut self.held).zip(&self.inputs) {
            let value = segment.start();
            if value.to_bits() != held.to_bits() {
                *held = value;
                self.net.set_input(self.isle, self.member, *input, value)?;
            }
        }
        Ok(())
    }
}

impl Simulator for Proxy {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.net.enter(self.isle, setup.start.seconds())
    }

    fn settle(&mut self, _at: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.hand_on(inputs)
    }

    fn advance(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        _trail: &mut Trail<'_>,
    ) -> Result<Reached, SimulatorError> {
        self.hand_on(inputs)?;
        self.net.reach(self.isle, window.to.seconds())?;
        // Evaluations are counted by island.
        Ok(Reached::end_of(window, 0))
    }

    fn outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        for (value, (isle, place)) in out.values.iter_mut().zip(&self.shown) {
            self.net.shown(*isle, std::iter::once(*place), std::slice::from_mut(value))?;
        }
        Ok(())
    }

    fn save(&mut self, _slot: Slot) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("save", "islands are not rewound from outside"))
    }

    fn restore(&mut self, _slot: Slot) -> Result<(), SimulatorError> {
        Err(SimulatorError::new("restore", "islands are not rewound from outside"))
    }

    /// The first of an island saves all of it.
    fn freeze(&mut self, into: &mut Vec<u8>) -> Result<(), SimulatorError> {
        let mut walk = Walk::Write(into);
        walk.numbers(&mut self.held);
        let mut isle = if self.member == 0 { self.net.freeze(self.isle)? } else { Vec::new() };
        walk.bytes(&mut isle);
        walk.end()
    }

    fn thaw(&mut self, from: &[u8]) -> Result<(), SimulatorError> {
        let (mut walk, mut isle) = (Walk::Read(Some(from)), Vec::new());
        walk.numbers(&mut self.held);
        walk.bytes(&mut isle);
        walk.end()?;
        if self.member == 0 { self.net.thaw(self.isle, isle) } else { Ok(()) }
    }

    fn jacobian(&mut self, into: &mut [f64]) -> Result<(), SimulatorError> {
        into.fill(0.0);
        Ok(())
    }
}
