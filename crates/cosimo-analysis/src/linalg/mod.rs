//! Dense linear algebra for the small matrices of the analysis (tens of rows, rarely above 200): what a general library
//! does for large ones costs a user more time to compile than to run here.
//!
//! Nothing in a step of a simulation comes through here.

mod eigen;
mod matrix;
mod svd;

pub use eigen::{Complex, Eigen};
pub use matrix::Matrix;
pub use svd::Svd;
