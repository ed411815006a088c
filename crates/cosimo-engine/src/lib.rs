//! How a system is run. Read `island.rs` first: one macro step from top to bottom.
//!
//! The engine knows the traits of the methods and never a method: no method's name occurs in this crate.

mod attempt;
mod board;
mod checkpoint;
mod control;
mod crew;
pub mod history;
pub mod island;
mod ledger;
pub mod lines;
mod mapped;
mod paced;
pub mod plan;
mod rates;
pub mod rows;
mod run;
mod scenario;
mod settling;
pub mod summary;
mod undivided;
mod walk;
mod workers;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use control::{Control, Counters};
pub use crew::in_simulator;
pub use ledger::{BondTotals, Ledger};
pub use plan::bonds;
pub use plan::{Findings, Layout, Plan, Topology, check, plan};
pub use run::{ChangeError, Ended, LoopResidual, Run, RunError};
pub use scenario::Scenario;
pub use summary::{BondSummary, OwnSteps, Summary, Verdict};
pub use undivided::{Apart, Undivided};
