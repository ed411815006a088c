//! Who steps with whom, in which order.

pub(crate) mod gauss_seidel;
pub(crate) mod jacobi;
pub(crate) mod levels;
mod order;
