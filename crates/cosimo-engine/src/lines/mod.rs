//! Systems with delayed lines: islands with clocks of their own, and what passes between them.
//!
//! A line is the only thing that two islands share. What remains connected when lines are cut is one island. An island
//! goes on as far as the stamps of the others let it (`end.rs`), one step of its own after the other (`isle.rs`); all of
//! them move in rounds, between which stamps are delivered (`rounds.rs`). Nobody reads what is newer than the start of his own
//! step, so the bits do not depend on who was faster. The run owns all of them; its plan lists the components and the lines with
//! everything that islands show, read between their steps at even instants, so that rows, reports and progress need not know
//! of islands. To save a run, every island is walked over on its own thread (`walk.rs`).

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
