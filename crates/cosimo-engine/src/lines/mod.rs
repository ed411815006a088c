//! Transmission line modelling (TLM): systems with delayed lines, whose islands have independent clocks.
//!
//! Islands are the connected parts of a system when its lines are cut; they exchange data by lines only. An island steps as
//! far as the stamps received from the others allow (`end.rs`, `island.rs`); all islands move in rounds, between which stamps
//! are delivered (`rounds.rs`). An island never reads stamps newer than the start of its step, so results are bit-identical
//! for any thread count. The run owns all islands; its plan is a merged view of their components and lines, interpolated at
//! even instants, so that rows, reports and progress do not depend on islands. Checkpoints serialize every island on its own
//! thread (`state_walk.rs`).

mod drive;
mod end;
mod form;
mod group;
mod island;
mod rounds;
mod single;
mod terminal;

pub use end::{EndStatistics, EndTotals};
pub(crate) use form::form;
pub(crate) use rounds::{IslandPlan, Islands};
pub use rounds::{IslandTotals, LineNetworkTotals, LineTotals};
