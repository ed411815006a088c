//! Any text as a system file: read, and checked as `cosimo check` does.

#![no_main]

use std::path::Path;

use cosimo::engine::check;
use cosimo::system::toml;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let registry = cosimo::registry();
    let (system, problems) = toml::read(text, Path::new("."), &registry);
    let _ = check(&system, &registry, problems);
});
