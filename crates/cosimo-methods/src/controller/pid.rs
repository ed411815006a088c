//! PID control: the three newest errors.

use cosimo_core::interface::Needs;
use cosimo_core::method::StepController;
use cosimo_core::registry::{MethodEntry, Range, Spec};

use super::soderlind::Soderlind;

pub(crate) const ENTRY: MethodEntry<dyn StepController> = MethodEntry {
    name: "pid",
    summary: "step size from the three newest errors; smoother than PI",
    source: "Söderlind 2003; coefficients as in ARKODE",
    order: "",
    options: &[
        Spec::number("safety", 0.8, Range::Unit, "", "factor that keeps the error below 1"),
        Spec::number("integral", 0.47, Range::NotNegative, "", "kI, divided by the order of the estimate"),
        Spec::number("proportional", 0.01, Range::Finite, "", "kP, divided by the order of the estimate"),
        Spec::number("derivative", 0.1, Range::Finite, "", "kD, divided by the order of the estimate"),
    ],
    needs: |_| Needs { variable_step: true, ..Needs::NOTHING },
    build: Soderlind::boxed,
};
