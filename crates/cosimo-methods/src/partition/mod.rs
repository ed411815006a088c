//! Stages of simulators, and their order.

pub(crate) mod gauss_seidel;
pub(crate) mod jacobi;
pub(crate) mod levels;
mod order;
