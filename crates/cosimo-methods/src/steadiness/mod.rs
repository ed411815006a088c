//! Whether the end of a line stands still.

pub(crate) mod f_test;
mod noise;
pub(crate) mod r_test;
pub mod sliding_window;
#[cfg(test)]
mod tests;

use cosimo_core::registry::{Range, Spec};

const WINDOW: Spec = Spec::number(
    "window",
    0.01,
    Range::Positive,
    "s",
    "how long it must stand still; no shorter than a period of the line's own swinging",
);
const TOLERANCE: Spec =
    Spec::optional("tolerance", Range::Positive, "", "how far the flow may move meanwhile, in SI units");
const RELATIVE: Spec = Spec::number(
    "relative",
    0.01,
    Range::Positive,
    "",
    "the same as a part of the largest flow so far, where no tolerance is given",
);
