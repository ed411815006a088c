//! The nouns and verbs of Cosimo: plain data and small traits.
//!
//! A [`Trace`] is what is *known* about an output; a [`Segment`] is what is *assumed* about an input.
//! Everything else follows from keeping these two apart. This crate does no I/O, spawns no thread and
//! reads no clock but simulated time.

pub mod clock;
pub mod dense;
pub mod ends;
pub mod entry;
pub mod error;
pub mod graph;
pub mod groups;
pub mod interface;
pub mod line;
pub mod linearised;
pub mod link;
pub mod markup;
pub mod method;
pub mod printable;
pub mod recorder;
pub mod ring;
pub mod segment;
pub mod simulator;
pub mod stretch;
pub mod time;
pub mod trace;
pub mod trial;
pub mod unit;

pub use clock::Clock;
pub use entry::{Entry, Options, Registry, Source, SourceEntry, Spec, Value};
pub use error::{SimulatorError, StepError};
pub use interface::{
    Abilities, Carries, Content, Derivatives, Insight, Interface, Limits, Needs, ParcelPort, Port, Suggested,
};
pub use line::LineEnd;
pub use link::{Bond, Couplings, End, Side, Term};
pub use printable::printable;
pub use segment::Segment;
pub use simulator::{Inputs, Lead, Local, Outputs, Reached, Rehearsal, Setup, Simulator, Slot};
pub use stretch::Stretch;
pub use time::{Time, Window};
pub use trace::{Sample, Trace, Traces};
pub use unit::Unit;
