//! Who steps with whom, in which order.

pub mod gauss_seidel;
pub mod jacobi;
pub mod levels;
mod order;
