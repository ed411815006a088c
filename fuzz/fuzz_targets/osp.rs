//! Any text as an OspSystemStructure.xml.

#![no_main]

use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = cosimo::osp::read(text, "fuzz.xml", Path::new("."), &cosimo::registry());
});
