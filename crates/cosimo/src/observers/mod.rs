//! What looks on while a system runs. One more of them is one file here, or a type of one's own outside.

mod certificate_file;
mod checkpointing;
pub(crate) mod error_bars;
#[cfg(feature = "report")]
mod html_report;
mod real_time;
mod reference;
mod summary_file;

pub use certificate_file::CertificateFile;
pub use checkpointing::{CheckpointSchedule, Checkpointing};
#[cfg(feature = "report")]
pub use html_report::{HtmlReport, write_results_report};
pub use real_time::{RealTime, RealTimeStatistics};
pub use reference::Reference;
pub use summary_file::*;
