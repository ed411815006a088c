//! The co-simulation engine: planning and running a system. Start with `island.rs`, which makes one macro step.
//!
//! The engine depends on the traits of methods only: no concrete method is named in this crate.

#![deny(missing_docs)]

mod attempt;
mod board;
mod checkpoint;
mod divergence;
pub mod history;
mod instant;
pub mod island;
mod ledger;
pub mod lines;
mod monolithic_reference;
mod multi_rate;
pub mod plan;
mod rate_schedule;
pub mod rows;
mod run;
mod scenario;
mod simulator_pool;
mod state_walk;
mod step_limits;
pub mod summary;
mod value_maps;
mod workers;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use ledger::{BondTotals, Ledger};
pub use monolithic_reference::{MonolithicReference, ReferenceDeviation};
pub use plan::bonds;
pub use plan::{Findings, Layout, LineEnds, Plan, Topology, check, line_ends, plan};
pub use run::{ChangeError, EndRequest, LoopResidual, Run, RunError};
pub use scenario::Scenario;
pub use simulator_pool::in_simulator;
pub use step_limits::{Counters, StepLimits};
pub use summary::{BondSummary, OwnSteps, Summary, Verdict};
