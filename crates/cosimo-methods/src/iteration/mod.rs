//! How often the stages are swept.

pub(crate) mod once;
pub(crate) mod waveform;
