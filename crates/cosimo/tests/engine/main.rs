//! Runs through the engine, against closed forms, other ways to the same numbers, and other tools: one file per subject.
//! One program, as linking one for each subject took longer than running it.

mod common;

mod choices;
mod detours;
mod energy;
mod events;
mod fmpy;
mod foresight;
mod identified;
mod lines;
mod matrix;
mod models;
mod oracle;
mod order;
mod parcels;
mod pre_step;
mod rates;
mod results;
mod saved;
mod scenario;
mod simulation;
mod stability;
mod start;
mod strong;
mod traps;
mod verify;
mod wires;
