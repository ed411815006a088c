//! Systems with delayed lines: islands with clocks of their own, and what passes between them.
//!
//! A line is the only thing that two islands share. What remains connected when lines are cut is one island. An island
//! goes on as far as the stamps of the others let it (`end.rs`), one step of its own after the other (`isle.rs`); all of
//! them move in rounds, between which stamps are delivered (`net.rs`). Nobody reads what is newer than the start of his own
//! step, so the bits do not depend on who was faster. To the rest of the engine the components are simulators like any other, that show
//! what their island has come to (`proxy.rs`): rows, reports and progress need not know of islands. To save a run, every
//! island is walked over on its own thread (`frozen.rs`).

mod drive;
mod end;
mod form;
mod frozen;
mod group;
mod isle;
mod net;
mod proxy;
mod terminal;

pub use end::{EndTotals, Stats};
pub(crate) use form::form;
pub use net::{IsleTotals, LineTotals, Net, NetTotals};
