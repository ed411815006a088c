//! The derivatives that a simulator itself declares.

use cosimo_core::entry::Entry;
use cosimo_core::interface::Needs;
use cosimo_core::method::{JacobianSource, JacobianWork};
use cosimo_core::{Inputs, Simulator, SimulatorError, Time};

#[derive(Debug, Clone, Copy)]
pub struct Declared;

impl JacobianSource for Declared {
    fn refresh(
        &self,
        simulator: &mut dyn Simulator,
        _at: Time,
        _held: &Inputs<'_>,
        _work: &mut JacobianWork,
        into: &mut [f64],
    ) -> Result<(), SimulatorError> {
        simulator.jacobian(into)
    }
}

pub const ENTRY: Entry<dyn JacobianSource> = Entry {
    name: "declared",
    summary: "derivatives that the simulators declare",
    source: "-",
    order: "",
    options: &[],
    needs: |_| Needs { jacobian: true, ..Needs::NOTHING },
    build: |_| Box::new(Declared),
};
