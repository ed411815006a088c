//! How often the stages are stepped over one window.

pub(crate) mod once;
pub(crate) mod waveform;
