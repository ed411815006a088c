//! Derivatives that a simulator itself declares: of outputs by inputs, and of whole linear models where it exposes its
//! equations.

use cosimo_core::interface::{Derivatives, Needs, StateSpaceAccess};
use cosimo_core::method::JacobianSource;
use cosimo_core::registry::MethodEntry;

/// Derivatives of this kind from the simulator itself.
pub(crate) struct DerivativesOfSimulator(pub Derivatives);

impl JacobianSource for DerivativesOfSimulator {
    fn sees(&self, access: &StateSpaceAccess) -> bool {
        access.derivatives == self.0
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
