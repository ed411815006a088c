//! What tests leave in the target folder: FMUs, unpacked FMUs and results. They are of no use after the run.

use std::path::Path;

use crate::command;

/// Where cargo lets integration tests write.
const FOLDER: &str = "tmp";

pub(crate) fn remove(root: &Path) {
    let Ok(target) = command::target(root) else { return };
    let folder = target.join(FOLDER);
    if let Err(error) = std::fs::remove_dir_all(&folder)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        println!("{} could not be removed: {error}", folder.display());
    }
}

/// How large the target folder is.
pub(crate) fn print_size(root: &Path) {
    if let Ok(target) = command::target(root) {
        println!("{:>8.1} GB in {}", size(&target) as f64 / 1e9, target.display());
    }
}

/// Files with several names, which cargo makes of what it builds, count once.
fn size(folder: &Path) -> u64 {
    let mut seen = std::collections::BTreeSet::new();
    let mut open = vec![folder.to_path_buf()];
    let mut sum = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                open.push(entry.path());
            } else if first_seen(&mut seen, &about) {
                sum += about.len();
            }
        }
    }
    sum
}

#[cfg(unix)]
fn first_seen(seen: &mut std::collections::BTreeSet<u64>, about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    seen.insert(about.ino())
}

#[cfg(not(unix))]
fn first_seen(_: &mut std::collections::BTreeSet<u64>, _: &std::fs::Metadata) -> bool {
    true
}
