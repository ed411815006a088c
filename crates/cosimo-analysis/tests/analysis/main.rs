//! Forecasts and verification, against runs and exact solutions; decompositions, slopes and correlations.

#[path = "../../../cosimo-engine/tests/common/mod.rs"]
mod common;

mod fits;
mod foresight;
mod linalg;
mod verify;
