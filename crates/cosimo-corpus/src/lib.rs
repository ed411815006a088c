//! Random systems with a known truth, on which the error bars of a run are tried.
//!
//! A class makes a system from a seed ([`classes`]); its truth shares nothing with the engine ([`network`], [`integrate`]);
//! [`measure`] runs it with companions and [`table`] holds what they say against the truth.

pub mod classes;
pub mod integrate;
pub mod matrix;
pub mod measure;
pub mod network;
pub mod random;
pub mod table;
pub mod truth;
