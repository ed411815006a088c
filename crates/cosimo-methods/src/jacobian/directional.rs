//! Directional derivatives of FMUs, column by column.

use cosimo_core::interface::{Derivatives, Needs};
use cosimo_core::method::JacobianSource;
use cosimo_core::registry::MethodEntry;

use super::declared::DerivativesOfSimulator;

pub(crate) const ENTRY: MethodEntry<dyn JacobianSource> = MethodEntry {
    name: "directional",
    summary: "directional derivatives of FMUs",
    source: "FMI 2.0.4, 2.1.9; FMI 3.0.1, 2.2.11",
    order: "",
    options: &[],
    needs: |_| Needs { jacobian: true, ..Needs::NOTHING },
    build: |_| Box::new(DerivativesOfSimulator(Derivatives::Directional)),
};
