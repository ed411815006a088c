//! I control: the newest error alone.

use cosimo_core::interface::Needs;
use cosimo_core::method::StepController;
use cosimo_core::registry::{MethodEntry, Range, Spec};

use super::soderlind::Soderlind;

pub(crate) const ENTRY: MethodEntry<dyn StepController> = MethodEntry {
    name: "i",
    summary: "step size from the newest error",
    source: "Sadjina & Pedersen 2019 (NEPCE), Eq. (13)",
    order: "",
    options: &[
        Spec::number("safety", 0.8, Range::Unit, "", "factor that keeps the error below 1"),
        Spec::number("integral", 0.3, Range::NotNegative, "", "kI, divided by the order of the estimate"),
    ],
    needs: |_| Needs { variable_step: true, ..Needs::NOTHING },
    build: Soderlind::boxed,
};
