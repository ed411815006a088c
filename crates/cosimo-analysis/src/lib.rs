//! Analysis of coupled systems by measurement: stability, order and errors of the engine itself, not of formulas about it.

pub mod causality;
pub mod correlation;
pub mod error_bars;
pub mod forecast;
pub mod linalg;
pub mod linearise;
pub mod order;
pub mod stability;
pub mod survey;
pub mod variant;
pub mod verify;
