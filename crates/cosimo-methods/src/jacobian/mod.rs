//! Derivatives of outputs by inputs, and those of whole linear models, for corrections and analysis.

pub mod auto;
pub mod declared;
pub mod difference;
pub mod directional;
