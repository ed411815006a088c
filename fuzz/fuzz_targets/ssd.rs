//! Any text as a SystemStructure.ssd, with parameters and mappings inside of it; what lies beside it is not there.

#![no_main]

use cosimo::ssp::SSP;
use cosimo::system::Asked;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let folder = std::env::temp_dir().join(format!("cosimo-fuzz-{}", std::process::id()));
    let file = folder.join("SystemStructure.ssd");
    if std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, text)).is_err() {
        return;
    }
    let _ = (SSP.read)(&file, &Asked::default(), &cosimo::registry());
    let _ = std::fs::remove_dir_all(&folder);
});
