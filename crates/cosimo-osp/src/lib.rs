//! System structures of the Open Simulation Platform (`OspSystemStructure.xml`, version 0.1) as systems of Cosimo.
//!
//! `structure` goes through the file from top to bottom, `page` is how it looks at elements and attributes, `groups`
//! reads which variables of a unit belong together, `connect` turns connections and functions into wires and bonds,
//! `ecco` the step control into methods, `file` is the format among others. Numbers are passed on as libcosim passes them: without conversion of units.

mod connect;
mod ecco;
mod file;
mod groups;
mod problem_list;
mod structure;

pub use file::OSP;
pub use structure::read;
