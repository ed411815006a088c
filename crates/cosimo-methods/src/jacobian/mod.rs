//! Derivatives of outputs by inputs, and those of whole linear models, for corrections and analysis.

pub(crate) mod auto;
pub(crate) mod declared;
pub(crate) mod difference;
pub(crate) mod directional;
