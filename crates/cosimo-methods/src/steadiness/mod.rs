//! Steady-state identification at the ends of transmission lines.

pub(crate) mod f_test;
mod noise;
pub(crate) mod r_test;
pub mod sliding_window;
#[cfg(test)]
#[path = "../../tests/private/steadiness.rs"]
mod tests;

use cosimo_core::registry::{Range, Spec};

const WINDOW: Spec = Spec::number(
    "window",
    0.01,
    Range::Positive,
    "s",
    "how long the end must be steady; no shorter than the period of the line's own oscillation",
);
const TOLERANCE: Spec =
    Spec::optional("tolerance", Range::Positive, "", "allowed change of the flow in the window, in SI units");
const RELATIVE: Spec = Spec::number(
    "relative",
    0.01,
    Range::Positive,
    "",
    "allowed change relative to the largest flow so far, where no tolerance is given",
);
