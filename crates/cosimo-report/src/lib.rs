//! The report of a run: one HTML file with verdict, error bars, energy ledger, plan and curves. It needs no network and no other file.
//!
//! During the run, one [`Recording`] keeps the curves of its signals and another those of its books,
//! [`Rejections`] its rejected steps and [`Reasons`] why steps had their size, all in memory that does not grow with the
//! run. Afterwards a [`Report`] collects them with all other content, as plain data, and [`write`] writes the page.

mod accuracy;
mod curves;
mod data;
mod diagram;
mod escape;
mod lines;
mod page;
mod reasons;
mod rejections;
mod results;
mod step_history;

pub use curves::{CurveBudget, Curves, Recording, ThinningRecorder};
pub use diagram::{BondEdge, Diagram, DiagramBox, LineEdge, SignalEdge};
pub use page::{ComponentFacts, Report, RunEnd, Warning, write};
pub use reasons::Reasons;
pub use rejections::Rejections;
pub use results::{NoResults, Results};
pub use step_history::StepCurves;
