//! Analysis of coupled systems by measurement: stability, order and errors of the engine itself, not of formulas about it.

pub mod causality;
pub mod correlation;
pub mod error_bars;
pub mod forecast;
pub mod growth;
pub mod identify;
pub mod linalg;
pub mod line_loops;
pub mod linear_models;
pub mod linearise;
pub mod order;
pub mod prepared;
pub mod remedies;
pub mod stability;
pub mod surrogate;
pub mod survey;
pub mod variant;
pub mod verify;
