//! FMUs written for these tests, compiled here, zipped here, and run through the real engine.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod archives;
mod binaries;
mod clocks;
mod common;
mod coupled;
mod descriptions;
mod elf;
mod exchange;
mod exported;
mod fmi1;
mod lines;
mod locals;
mod quirks;
mod sabotage;
#[path = "../../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;
mod single;
mod tables;
