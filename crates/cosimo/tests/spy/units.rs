//! Spying units, written once per process, with a cache of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cosimo::core::Interface;
use cosimo::core::registry::OpenRequest;
use cosimo::engine::{Plan, plan};
use cosimo_test_fmus::{Design, SABOTEUR, Variant, Version, built_library, write};

use crate::scratch::scratch;

pub(crate) const SPRING: &str = "native:oscillator/spring-damper";
pub(crate) const MASS: &str = "native:oscillator/mass";

/// Where units and records lie.
pub(crate) fn folder() -> PathBuf {
    cosimo::fmi::use_cache(&scratch().join("cache"));
    scratch().to_path_buf()
}

pub(crate) fn spy(source: &str, version: Version, variant: Variant) -> Design {
    Design::new(source, version).variant(variant).spying()
}

/// The file of a unit, and what it shows of itself. Opened once and kept open, so that no run has to read the
/// file again; but not one that may fail for good, because that would be remembered as long. For the same reason
/// every test has its own: `owner` tells them apart.
pub(crate) fn unit(design: &Design, owner: &str) -> (String, Interface) {
    static KNOWN: Mutex<BTreeMap<String, Interface>> = Mutex::new(BTreeMap::new());
    let (folder, name) = (folder(), format!("{owner}-{}", design.file_name()));
    let mut known = KNOWN.lock().unwrap();
    if let Some(interface) = known.get(&name) {
        return (name, interface.clone());
    }
    write(design, &built_library().unwrap(), &folder.join(&name)).unwrap();
    let request =
        OpenRequest { name: "unit", source: &name, folder: &folder, parameters: &[], joined: false };
    let opened = (cosimo::fmi::FMU.open)(&request).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let interface = opened.interface().clone();
    if design.source != SABOTEUR {
        Box::leak(opened);
    }
    known.insert(name.clone(), interface.clone());
    (name, interface)
}

/// Sources of derivatives of outputs by inputs that NEPCE takes.
pub(crate) const FEEDTHROUGH: [&str; 3] = ["declared", "difference", "identified"];

/// An empty file.
pub(crate) fn new_record() -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    folder().join(format!("{}.txt", COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// What was written, and the file is gone.
pub(crate) fn take_record(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let _ = fs::remove_file(file);
    text
}

/// A plan, or all that is wrong with the system.
pub(crate) fn planned(text: &str) -> Result<Plan, String> {
    let registry = cosimo::registry();
    let (system, problems) = cosimo::system::toml::read(text, &folder(), &registry);
    let words = |problems: &[cosimo::system::Problem]| {
        problems.iter().map(|problem| format!("{}: {}\n", problem.code, problem.message)).collect::<String>()
    };
    assert!(problems.is_empty(), "{}in\n{text}", words(&problems));
    plan(&system, &registry).map_err(|problems| words(&problems))
}
