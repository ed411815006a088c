//! What is to be simulated, as data; and the spelling of it that people write, `system.toml`.

pub mod expression;
pub mod overrides;
pub mod problem;
pub mod recipe;
pub mod scenario;
pub mod schema;
pub mod sources;
pub mod system;
pub mod toml;
pub mod write;

pub use overrides::Overrides;
pub use problem::{Problem, Severity, Span};
pub use recipe::{Choice, Exchange, Origin, PerInput, Recipe, Reject, Step};
pub use scenario::{Action, Deed, Scenario, Trigger};
pub use system::{
    BondDecl, Common, Component, Direction, EndRule, Experiment, JunctionDecl, JunctionSide, Opposite,
    PowerPort, RecordPoint, ReferenceDecl, Results, System, WireDecl,
};
