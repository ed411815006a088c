//! Functional Mock-up Units (FMI 1.0, 2.0 and 3.0) as simulators of Cosimo.
//!
//! `cosimo-pack` unpacks, `description` reads, `platform`, `elf` and `library` find and load the binary, `functions` has the
//! C functions of a version as one list, `fmi1`, `fmi2` and `fmi3` call an instance, `co_simulation` makes it a simulator
//! with its own solver, `model_exchange` one whose equations Cosimo integrates. Nothing else in Cosimo calls foreign code.
//! Violations of the standard that an importer can tolerate are reported by `cosimo-fmi-check`.

#[allow(unsafe_code)] // stands between Cosimo and the C interface
mod call_log;
mod co_simulation;
mod declared_types;
pub mod description;
pub mod elf;
mod entry;
#[allow(unsafe_code)] // calls into the FMU
mod equations;
mod event_mode;
mod feedthrough;
mod fmi1;
mod fmi2;
mod fmi3;
mod fmu;
#[allow(unsafe_code)] // reads and writes a register of the processor
mod fp_environment;
mod functions;
#[allow(unsafe_code)] // calls into the FMU
mod instance;
mod jacobian;
#[allow(unsafe_code)] // loads foreign code
mod library;
mod locals;
#[allow(unsafe_code)] // is called by the FMU
mod log;
mod member_graph;
mod messages;
mod model_exchange;
mod monolithic;
mod parameters;
pub mod platform;
mod ports;
#[allow(unsafe_code)] // makes a child process and hands descriptors over
mod printed;
#[allow(unsafe_code)] // handles signals and the end of the process
mod process_end;
#[allow(unsafe_code)] // starts Python for the FMUs that need it
mod python;
mod quantity;
mod rollback_check;
mod schema;
#[allow(unsafe_code)] // is read by signal handlers
mod site;
mod terminals;
#[allow(unsafe_code)] // makes child processes and memory that they share
mod trial;
mod waves;
mod workspace;

pub use call_log::record_calls;
pub use cosimo_pack::{ArchiveKind, Cache, FilePosition, FileProblem, archive, use_cache};
use cosimo_pack::{problem, text, xml};
pub use description::Description;
pub use entry::FMU;
pub use fmu::{FMU_ARCHIVE, Fmu};
pub use library::leave;
pub use messages::{Message, MessageKind, messages};
pub use printed::separate_output;
pub use process_end::{INTERRUPTED, Rescue, interruption, watch_interrupts, watch_process};
pub use trial::{CHILD_PROCESSES, ChildProcesses};
