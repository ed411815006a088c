//! What is to be simulated, as data; and the spelling of it that people write, `system.toml`.

pub mod edit;
pub mod expression;
pub mod files;
pub mod format;
mod keys;
pub mod names;
pub mod overrides;
pub mod problem;
pub mod recipe;
mod regular;
pub mod scenario;
pub mod schema;
pub mod sources;
pub mod system;
pub mod toml;
pub mod write;

pub use files::{File, Files};
pub use format::{Asked, Document, SystemFormat, Unreadable, Unwritten, Written};
pub use names::{Lost, Names};
pub use overrides::Overrides;
pub use problem::{About, Problem, Severity, Span, in_one_line};
pub use recipe::{Choice, Exchange, Origin, PerInput, Recipe, Reject, Step, values};
pub use regular::regular;
pub use scenario::{Action, Deed, Scenario, Trigger};
pub use system::{
    BondDecl, Boundary, Common, Component, Direction, EndRule, Experiment, Impedances, IslandDecl,
    JunctionDecl, JunctionSide, LineDecl, Opposite, PowerPort, RecordPoint, ReferenceDecl, Results,
    StrongDecl, Summand, System, WireDecl,
};
