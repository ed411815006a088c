//! Broken FMUs, and the rules that must find it.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

#[path = "../../../cosimo-fmi/tests/fmi/common.rs"]
#[allow(dead_code, reason = "shared with the tests that run FMUs")]
mod common;
mod corpus;
mod fmpy;
mod large;
#[path = "../../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;
mod validation;
