//! Result files, one format per file.

pub mod csv;
pub mod memory;

pub use csv::Csv;
pub use memory::{Memory, Table};
