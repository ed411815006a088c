//! Any text as a modelDescription.xml: read as a run reads it, and checked against the standard.

#![no_main]

use cosimo_fmi::Description;
use cosimo_fmi_check::{Profile, validate_description};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = Description::parse(text);
    let _ = validate_description(text, Profile::Strict);
});
