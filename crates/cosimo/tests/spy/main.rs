//! The state machine of FMI, witnessed by units that write down every call: golden traces of every method, and
//! random systems that must never make a forbidden one.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

mod golden;
mod lines;
mod random;
mod record;
#[path = "../../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;
mod units;
