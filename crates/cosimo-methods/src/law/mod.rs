//! From an error to a factor for the step size. I, PI and PID are coefficients of one law.

pub mod fixed;
pub mod integral;
pub mod pi;
pub mod pid;
pub mod soderlind;
