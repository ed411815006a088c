//! Step controllers: a factor for the step size from the error. I, PI and PID differ in their coefficients only.

pub(crate) mod fixed;
pub(crate) mod integral;
pub(crate) mod pi;
pub(crate) mod pid;
pub(crate) mod soderlind;
