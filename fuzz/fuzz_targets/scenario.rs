//! Any text as a scenario.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = cosimo::system::scenario::read(text);
});
