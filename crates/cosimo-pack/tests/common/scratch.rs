//! Where tests write. Every process has a folder of its own, because a runner may give every test a process; folders of
//! processes that have ended are removed by the next one, also where a test failed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder of this process under the build directory.
pub(crate) fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scratch");
        for entry in fs::read_dir(&all).into_iter().flatten().flatten() {
            let process = entry.file_name().to_string_lossy().into_owned();
            // Without /proc nothing is known of others, and all stays until `cargo xtask test` removes it.
            if Path::new("/proc/self").exists() && !Path::new("/proc").join(process).exists() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let folder = all.join(std::process::id().to_string());
        fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// A fresh folder in it.
#[allow(dead_code, reason = "not every program of tests needs it")]
pub(crate) fn fresh(name: &str) -> PathBuf {
    let folder = scratch().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
