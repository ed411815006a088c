//! Any bytes as an `.fmu` file: unpacked, read and checked. What the library of the FMU would do is not executed.

#![no_main]

use cosimo_fmi::{Cache, Fmu};
use cosimo_fmi_check::{Profile, validate};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("cosimo-fuzz-{}", std::process::id()));
    let file = folder.join("model.fmu");
    if std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, bytes)).is_err() {
        return;
    }
    let _ = validate(&file, Profile::Strict);
    if let Ok(fmu) = Fmu::open(&file, &Cache::at(&cosimo_fmi::FMU_ARCHIVE, &folder.join("cache"))) {
        let _ = fmu.obstacle();
    }
    let _ = std::fs::remove_dir_all(&folder);
});
