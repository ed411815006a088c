//! The command as a person meets it.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

mod analyse;
mod around;
mod bonds;
mod broken;
#[cfg(target_os = "linux")]
mod cache;
mod catalogue;
mod certificate;
mod check;
mod combinations;
mod command;
mod common;
#[cfg(unix)]
mod devices;
mod ends;
mod examples;
mod foreign;
mod info;
mod messages;
mod osp;
mod output;
mod pages;
mod plot;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod processor;
mod python;
mod quirks;
mod report;
mod results;
mod schemas;
#[path = "../../../cosimo-pack/tests/common/scratch.rs"]
mod scratch;
mod signals;
mod single;
mod strangers;
mod structures;
mod tables;
mod time;
mod trials;
mod validate;
mod verify;
