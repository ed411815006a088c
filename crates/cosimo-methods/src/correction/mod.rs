//! Corrections of extrapolated inputs.

pub(crate) mod identified;
pub(crate) mod nepce;
pub(crate) mod none;
pub(crate) mod pre_step;
