//! The derivatives that a simulator itself declares: those of outputs by inputs of any simulator, and the linear models
//! of those that know their equations.

use cosimo_core::entry::Entry;
use cosimo_core::interface::{Derivatives, Insight, Needs};
use cosimo_core::linearised::Matrices;
use cosimo_core::method::{JacobianSource, JacobianWork};
use cosimo_core::{Dynamics, Inputs, Simulator, SimulatorError, Time};

/// Simulators that give derivatives of this kind give them themselves.
#[derive(Debug, Clone, Copy)]
pub struct Given(pub Derivatives);

impl JacobianSource for Given {
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

    fn sees(&self, insight: &Insight) -> bool {
        insight.derivatives == self.0
    }

    fn linearise(
        &self,
        _insight: &Insight,
        dynamics: &mut dyn Dynamics,
        _x: &[f64],
        u: &[f64],
        _work: &mut JacobianWork,
        into: &mut Matrices<'_>,
    ) -> Result<(), SimulatorError> {
        dynamics.matrices(u, into)
    }
}

pub const ENTRY: Entry<dyn JacobianSource> = Entry {
    name: "declared",
    summary: "derivatives that the simulators declare",
    source: "-",
    order: "",
    options: &[],
    needs: |_| Needs { jacobian: true, ..Needs::NOTHING },
    build: |_| Box::new(Given(Derivatives::Declared)),
};
