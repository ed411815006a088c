//! From an error to a factor for the step size. I, PI and PID are coefficients of one law.

pub(crate) mod fixed;
pub(crate) mod integral;
pub(crate) mod pi;
pub(crate) mod pid;
pub(crate) mod soderlind;
