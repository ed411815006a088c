//! Forecasts and verification, against runs and exact solutions.

#[path = "../../../cosimo-engine/tests/common/mod.rs"]
mod common;

mod foresight;
mod verify;
