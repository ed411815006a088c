//! Declared or directional derivatives where simulators offer them, finite differences where they do not.

use cosimo_core::interface::{Derivatives, Needs, StateSpaceAccess};
use cosimo_core::linear_model::StateSpaceMatrices;
use cosimo_core::method::{JacobianSource, JacobianWork};
use cosimo_core::registry::MethodEntry;
use cosimo_core::simulator::StateSpace;
use cosimo_core::{Inputs, Simulator, SimulatorError, Time};

use super::difference::{self, Difference};

pub(crate) struct Auto {
    pub difference: Difference,
}

impl JacobianSource for Auto {
    fn refresh(
        &self,
        simulator: &mut dyn Simulator,
        at: Time,
        held: &Inputs<'_>,
        work: &mut JacobianWork,
        into: &mut [f64],
    ) -> Result<(), SimulatorError> {
        match simulator.jacobian() {
            Some(declared) => declared.fill(into),
            None => self.difference.refresh(simulator, at, held, work, into),
        }
    }

    fn sees(&self, access: &StateSpaceAccess) -> bool {
        access.derivatives != Derivatives::None || access.anywhere
    }

    fn linearise(
        &self,
        access: &StateSpaceAccess,
        dynamics: &mut dyn StateSpace,
        x: &[f64],
        u: &[f64],
        work: &mut JacobianWork,
        into: &mut StateSpaceMatrices<'_>,
    ) -> Result<(), SimulatorError> {
        if access.derivatives == Derivatives::None {
            self.difference.linearise(access, dynamics, x, u, work, into)
        } else {
            dynamics.matrices(u, into)
        }
    }
}

pub(crate) const ENTRY: MethodEntry<dyn JacobianSource> = MethodEntry {
    name: "auto",
    summary: "derivatives of the simulators where they offer them, else finite differences",
    source: "-",
    order: "2 in the increment, where differences are taken",
    options: difference::ENTRY.options,
    needs: |_| Needs { rollback: true, ..Needs::NOTHING },
    build: |options| Box::new(Auto { difference: difference::of(options) }),
};
