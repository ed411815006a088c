//! Rules about the zip archive and its entries.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::ModelDescription;
use crate::package::{Package, PackageEntry, RepeatedName};
use crate::report::{Findings, Spot};

pub(crate) fn zip(package: &Package, report: &mut Findings) {
    if let Some(error) = &package.broken {
        report.find(
            Spot::default(),
            "the file is not a complete zip archive",
            error.as_str(),
            "a zip archive",
        );
    }
}

pub(crate) fn size(package: &Package, report: &mut Findings) {
    if let Some((found, wanted)) = &package.excess {
        report.find(
            Spot::default(),
            "the archive exceeds Cosimo's size limits",
            found.as_str(),
            wanted.as_str(),
        );
    }
}

pub(crate) fn ending(package: &Package, report: &mut Findings) {
    if !package.bare && !package.name.ends_with(".fmu") {
        let message = "the file name does not end in .fmu";
        report.find(Spot::default(), message, format!("`{}`", package.name), "a file name ending in .fmu");
    }
}

/// A finding for each entry for which `found` returns a text.
fn each(
    package: &Package,
    report: &mut Findings,
    message: &str,
    wanted: &str,
    found: impl Fn(&PackageEntry) -> Option<String>,
) {
    for entry in &package.entries {
        if let Some(found) = found(entry) {
            report.find(Spot::entry(&entry.written), message, found, wanted);
        }
    }
}

pub(crate) fn path(package: &Package, report: &mut Findings) {
    each(
        package,
        report,
        "the path of an entry leads out of the FMU",
        "a relative path without `..`",
        |entry| entry.leads_out.then(|| format!("`{}`", entry.written)),
    );
}

pub(crate) fn backslash(package: &Package, report: &mut Findings) {
    each(package, report, "the path of an entry has a backslash", "forward slashes", |entry| {
        entry.written.contains('\\').then(|| format!("`{}`", entry.written))
    });
}

pub(crate) fn link(package: &Package, report: &mut Findings) {
    each(package, report, "an entry is a link or a device", "files and folders", |entry| {
        entry.special.then(|| format!("`{}`", entry.written))
    });
}

pub(crate) fn method(package: &Package, report: &mut Findings) {
    each(package, report, "an entry uses an unsupported compression method", "deflate or stored", |entry| {
        entry.method.clone()
    });
}

pub(crate) fn encryption(package: &Package, report: &mut Findings) {
    each(package, report, "an entry is encrypted", "no encryption", |entry| {
        entry.encrypted.then(|| format!("`{}`", entry.written))
    });
}

pub(crate) fn damage(package: &Package, report: &mut Findings) {
    each(package, report, "an entry cannot be unpacked", "an undamaged entry", |entry| entry.damage.clone());
}

pub(crate) fn duplicate(package: &Package, report: &mut Findings) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in package.entries.iter().filter(|entry| !entry.folder) {
        *seen.entry(entry.name.as_str()).or_default() += 1;
    }
    for (name, count) in seen.into_iter().filter(|(_, count)| *count > 1) {
        // Spelled differently (`a\b`, `a/b`), but unpacked to the same file.
        let found = format!("{count} times");
        report.find_if(true, Spot::entry(name), "an entry occurs more than once", found, "each path once");
    }
    // Of entries with identical spelling, the zip library shows only the last one.
    for RepeatedName { name, count, same } in &package.repeated {
        let contents = if *same { "the same content" } else { "different contents" };
        let found = format!("{count} times, with {contents}");
        report.find_if(!same, Spot::entry(name), "an entry occurs more than once", found, "each path once");
    }
}

pub(crate) fn file_and_folder(package: &Package, report: &mut Findings) {
    let names: BTreeSet<&str> = package.entries.iter().map(|entry| entry.name.as_str()).collect();
    for entry in package.entries.iter().filter(|entry| !entry.folder) {
        let folder = format!("{}/", entry.name);
        if let Some(inside) = names.range(folder.as_str()..).next().filter(|name| name.starts_with(&folder)) {
            report.find(
                Spot::entry(&entry.written),
                "a file and a folder have the same path",
                format!("`{}` and `{inside}`", entry.name),
                "different paths",
            );
        }
    }
}

/// Limits of file systems: most allow 255 bytes for a name; Linux 4096 for a path, including the folder unpacked to.
pub(crate) fn long_name(package: &Package, report: &mut Findings) {
    const NAME: usize = 255;
    const PATH: usize = 4000;
    for entry in &package.entries {
        let longest = entry.name.split('/').map(str::len).max().unwrap_or(0);
        let (found, wanted) = if longest > NAME {
            (format!("a name of {longest} bytes"), format!("at most {NAME} bytes"))
        } else if entry.name.len() > PATH {
            (format!("a path of {} bytes", entry.name.len()), format!("at most {PATH} bytes"))
        } else {
            continue;
        };
        let shown: String = entry.written.chars().take(60).collect();
        report.find(
            Spot::entry(&format!("{shown}...")),
            "the path of an entry is too long to be unpacked",
            found,
            wanted,
        );
    }
}

pub(crate) fn letter_case(package: &Package, report: &mut Findings) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for entry in package.entries.iter().filter(|entry| !entry.folder) {
        match seen.get(&entry.name.to_lowercase()) {
            Some(first) if *first != entry.name => report.find(
                Spot::entry(&entry.written),
                "two paths differ in letter case only",
                format!("`{}` and `{first}`", entry.name),
                "names that differ on every file system",
            ),
            Some(_) => {}
            None => {
                seen.insert(entry.name.to_lowercase(), &entry.name);
            }
        }
    }
}

pub(crate) fn description(package: &Package, report: &mut Findings) {
    let readable = package.broken.is_none() && package.excess.is_none();
    if readable && package.description.is_none() && !package.has(cosimo_fmi::description::FILE) {
        let is_description = |entry: &&PackageEntry| {
            entry.name.ends_with("/modelDescription.xml")
                || entry.name.eq_ignore_ascii_case(cosimo_fmi::description::FILE)
        };
        let elsewhere = package.entries.iter().find(is_description);
        let found = elsewhere.map_or("none".into(), |entry| format!("`{}`", entry.name));
        report.find(
            Spot::default(),
            "modelDescription.xml is missing",
            found,
            "modelDescription.xml at the top of the archive",
        );
    }
}

pub(crate) fn implementation(model: &ModelDescription<'_>, report: &mut Findings) {
    let package = model.package;
    let sources = package.below("sources/").next().is_some();
    if !package.bare && !sources && package.below("binaries/").next().is_none() {
        report.find(
            Spot::default(),
            "the FMU has no implementation",
            "neither sources nor binaries",
            "a library in binaries/, or sources/",
        );
    }
}

/// Files that require a second file next to them.
pub(crate) fn companions(model: &ModelDescription<'_>, report: &mut Findings) {
    let package = model.package;
    for (present, wanted) in [
        ("terminalsAndIcons/icon.svg", "terminalsAndIcons/icon.png"),
        ("documentation/diagram.svg", "documentation/diagram.png"),
    ] {
        if package.has(present) && !package.has(wanted) {
            report.find(
                Spot::entry(present),
                "an SVG image has no PNG version",
                format!("only `{present}`"),
                format!("`{wanted}`"),
            );
        }
    }
    let licences = "documentation/licenses/";
    let entries = ["license.spdx", "license.txt", "license.html"];
    let listed = entries.iter().any(|name| package.has(&format!("{licences}{name}")));
    if package.below(licences).next().is_some() && !listed {
        let wanted = format!("one of {}", entries.join(", "));
        report.find(
            Spot::entry(licences),
            "the licence folder has no entry point",
            "other files only",
            wanted,
        );
    }
}

pub(crate) fn documentation(model: &ModelDescription<'_>, report: &mut Findings) {
    let package = model.package;
    let mut files =
        package.below("documentation/").filter(|file| !file.name.starts_with("documentation/licenses/"));
    if files.next().is_some() && !package.has("documentation/index.html") {
        let message = "the documentation has no entry point";
        report.find(Spot::entry("documentation/"), message, "other files only", "documentation/index.html");
    }
}
