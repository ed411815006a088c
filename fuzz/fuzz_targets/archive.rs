//! Any bytes as an `.fmu` file: unpacked, read and checked. What a unit's library would do is not tried.

#![no_main]

use cosimo_fmi::{Cache, Unit};
use cosimo_fmi_check::{Profile, validate};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("cosimo-fuzz-{}", std::process::id()));
    let file = folder.join("unit.fmu");
    if std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, bytes)).is_err() {
        return;
    }
    let _ = validate(&file, Profile::Strict);
    if let Ok(unit) = Unit::open(&file, &Cache::at(&cosimo_fmi::UNIT, &folder.join("cache"))) {
        let _ = unit.obstacle();
    }
    let _ = std::fs::remove_dir_all(&folder);
});
