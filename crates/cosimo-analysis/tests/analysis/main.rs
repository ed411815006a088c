//! Forecasts and verification, against runs and exact solutions; decompositions, slopes and correlations.

#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

#[path = "../../../cosimo-engine/tests/common/mod.rs"]
mod common;

mod fits;
mod forecasts;
mod foresight;
mod linalg;
mod verify;
