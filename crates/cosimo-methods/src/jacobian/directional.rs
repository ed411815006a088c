//! Directional derivatives of units, column by column.

use cosimo_core::entry::Entry;
use cosimo_core::interface::{Derivatives, Insight, Needs};
use cosimo_core::linearised::Matrices;
use cosimo_core::method::{JacobianSource, JacobianWork};
use cosimo_core::{Dynamics, Inputs, Simulator, SimulatorError, Time};

#[derive(Debug, Clone, Copy)]
pub struct Directional;

impl JacobianSource for Directional {
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
        insight.derivatives == Derivatives::Directional
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
    name: "directional",
    summary: "directional derivatives of units",
    source: "FMI 2.0.4, 2.1.9; FMI 3.0.1, 2.2.11",
    order: "",
    options: &[],
    needs: |_| Needs { jacobian: true, ..Needs::NOTHING },
    build: |_| Box::new(Directional),
};
