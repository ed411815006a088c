//! How wrong was the step? 1 is just good enough.

pub mod none;
pub mod power_residual;
pub mod predictor_corrector;
