//! How often the stages are swept.

pub mod once;
pub mod waveform;
