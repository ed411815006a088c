//! What is to be simulated, as data; and the spelling of it that people write, `system.toml`.

pub mod problem;
pub mod recipe;
pub mod system;

pub use problem::{Problem, Severity, Span};
pub use recipe::{Choice, Exchange, Origin, PerInput, Recipe, Reject, Step};
pub use system::{
    BondDecl, Common, Component, Direction, EndRule, Experiment, JunctionDecl, JunctionSide, Opposite,
    PowerPort, RecordPoint, ReferenceDecl, System, WireDecl,
};
