//! Derivatives of outputs by inputs, for corrections and analysis.

pub mod declared;
pub mod difference;
