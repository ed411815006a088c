//! Result files, one format per file.

pub mod csv;
pub mod memory;

pub use cosimo_core::recorder::Table;
pub use csv::Csv;
pub use memory::Memory;
