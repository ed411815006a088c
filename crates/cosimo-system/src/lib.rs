//! The description of a co-simulation as data (components, connections, methods), and its file format `system.toml`.

#![deny(missing_docs)]

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
pub use regular::check_regular_file;
pub use scenario::{Action, Effect, Scenario, Trigger};
pub use system::{
    BondDecl, Boundary, Common, Component, ConnectionDecl, EndRule, Experiment, Impedances, IslandDecl,
    JunctionDecl, JunctionSide, LineDecl, MonolithicDecl, Opposite, PowerDirection, PowerPort, RecordPoint,
    ReferenceDecl, Results, Summand, System,
};
