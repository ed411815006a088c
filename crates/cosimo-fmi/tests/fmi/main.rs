//! Units written for these tests, compiled here, zipped here, and run through the real engine.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

mod archives;
mod binaries;
mod clocks;
mod common;
mod corpus;
mod coupled;
mod descriptions;
mod exchange;
mod exported;
mod lines;
mod sabotage;
mod single;
mod tables;
mod validation;
