//! Small segments on top of the assumed inputs.

pub mod identified;
pub mod nepce;
pub mod none;
pub mod pre_step;
