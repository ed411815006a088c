//! What is to be simulated, as data; and the spelling of it that people write, `system.toml`.

pub mod edit;
pub mod expression;
pub mod files;
pub mod format;
mod keys;
pub mod method_config;
pub mod names;
pub mod overrides;
pub mod problem;
mod regular;
pub mod scenario;
pub mod schema;
pub mod sources;
pub mod system;
pub mod toml;
pub mod write;

pub use files::{File, Files};
pub use format::{Document, ReadError, ReadOptions, SystemFormat, WriteError, WriteResult};
pub use method_config::{Choice, ChoiceOrigin, Exchange, MethodConfig, PerInput, Reject, StepConfig, values};
pub use names::{Names, PathProblem};
pub use overrides::Overrides;
pub use problem::{Problem, Severity, Span, Subject, in_one_line};
pub use regular::regular;
pub use scenario::{Action, Effect, Scenario, Trigger};
pub use system::{
    BondDecl, Boundary, Common, Component, ConnectionDecl, EndRule, Experiment, Impedances, IslandDecl,
    JunctionDecl, JunctionSide, LineDecl, MonolithicDecl, Opposite, PowerDirection, PowerPort, RecordPoint,
    ReferenceDecl, Results, Summand, System,
};
