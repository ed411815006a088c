//! The papers' systems with every native model replaced by the FMU that is made from it: the same numbers must
//! come through archive, description and C functions.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use cosimo_export::{Design, Version, built_library, write};
use cosimo_system::System;

/// FMUs of one version in a folder of their own, which goes with the last user.
#[derive(Debug)]
pub struct ExportedFmus {
    folder: PathBuf,
    version: Version,
}

impl ExportedFmus {
    /// `version` is 1, 2 or 3.
    pub fn new(version: u32) -> Result<ExportedFmus, String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let version = match version {
            1 => Version::One,
            2 => Version::Two,
            _ => Version::Three,
        };
        let folder = std::env::temp_dir().join(format!("cosimo-fmus-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder)
            .map_err(|cause| format!("cannot create the folder {}: {cause}", folder.display()))?;
        Ok(ExportedFmus { folder, version })
    }

    /// Names the FMUs as sources, and writes those that are not there yet.
    pub fn replace(&self, system: &mut System) -> Result<(), String> {
        system.folder = self.folder.clone();
        for component in &mut system.components {
            let file = format!("{}.fmu", component.source.replace([':', '/'], "-"));
            let path = self.folder.join(&file);
            if !path.exists() {
                write(&Design::new(&component.source, self.version), &built_library()?, &path)?;
            }
            component.source = file;
        }
        Ok(())
    }
}

impl Drop for ExportedFmus {
    fn drop(&mut self) {
        // What cannot be removed now lies in the folder for temporary things.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
