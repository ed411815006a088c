//! Types and traits that all of Cosimo shares: ports, simulators, samples of outputs, co-simulation methods.
//!
//! A [`Trace`] holds what is *known* about an output, its past samples; a [`Segment`] is what is *assumed* about an
//! input over a macro step, its extrapolation. This crate does no I/O, spawns no thread and reads no clock but
//! simulated time.

#![deny(missing_docs)]

pub mod clock;
pub mod companion;
pub mod dense;
pub mod ends;
pub mod error;
pub mod graph;
pub mod groups;
pub mod interface;
pub mod line;
pub mod linear_model;
pub mod link;
pub mod markup;
pub mod math;
pub mod method;
pub mod printable;
pub mod recorder;
pub mod registry;
pub mod ring;
pub mod segment;
pub mod simulator;
pub mod stretch;
pub mod time;
pub mod trace;
pub mod trial;
pub mod unit;

pub use clock::Clock;
pub use error::{SimulatorError, StepError};
pub use interface::{
    Abilities, ByteContent, BytePort, DefaultExperiment, Derivatives, Interface, Needs, Port,
    StateSpaceAccess, ValueRange, ValueType,
};
pub use line::LineEnd;
pub use link::{Bond, BondSide, Couplings, PowerVariable, Term};
pub use printable::printable;
pub use registry::{MethodEntry, Options, Registry, Source, SourceEntry, Spec, Value};
pub use segment::Segment;
pub use simulator::{Inputs, Local, LongStep, Outputs, RollbackCheck, Setup, Simulator, Slot, StepResult};
pub use stretch::Stretch;
pub use time::{Time, Window};
pub use trace::{Sample, Trace, Traces};
pub use unit::Unit;
