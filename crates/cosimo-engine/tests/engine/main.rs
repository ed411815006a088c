//! Runs through the engine, against closed forms and other ways to the same numbers: one file per subject.
//! One program, as linking one for each subject took longer than running it.

#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

#[path = "../common/mod.rs"]
mod common;

mod choices;
mod detours;
mod divergence;
mod events;
mod findings;
mod ledger;
mod lines;
mod loops;
mod matrix;
mod models;
mod oracle;
mod parcels;
mod rates;
mod scenario;
mod start;
mod strong;
mod traps;
mod wires;
