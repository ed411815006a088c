//! The derivatives that a simulator itself declares: those of outputs by inputs of any simulator, and the linear models
//! of those that know their equations.

use cosimo_core::interface::{Derivatives, Needs, StateSpaceAccess};
use cosimo_core::method::JacobianSource;
use cosimo_core::registry::MethodEntry;

/// Simulators that give derivatives of this kind give them themselves.
pub(crate) struct DerivativesOfSimulator(pub Derivatives);

impl JacobianSource for DerivativesOfSimulator {
    fn sees(&self, insight: &StateSpaceAccess) -> bool {
        insight.derivatives == self.0
    }
}

pub(crate) const ENTRY: MethodEntry<dyn JacobianSource> = MethodEntry {
    name: "declared",
    summary: "derivatives that the simulators declare",
    source: "-",
    order: "",
    options: &[],
    needs: |_| Needs { jacobian: true, ..Needs::NOTHING },
    build: |_| Box::new(DerivativesOfSimulator(Derivatives::Declared)),
};
