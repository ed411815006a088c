//! Rules about the archive: that it is one, and what is in it.

use std::collections::BTreeMap;

use super::model::Model;
use super::package::{Entry, Package};
use super::report::{Report, Spot};

pub(super) fn zip(package: &Package, report: &mut Report) {
    if let Some(error) = &package.broken {
        report.find(
            Spot::default(),
            "the file is not a complete zip archive",
            error.as_str(),
            "a zip archive",
        );
    }
}

pub(super) fn size(package: &Package, report: &mut Report) {
    if let Some((found, wanted)) = &package.excess {
        report.find(Spot::default(), "the archive is larger than any unit", found.as_str(), wanted.as_str());
    }
}

pub(super) fn ending(package: &Package, report: &mut Report) {
    if !package.bare && !package.name.ends_with(".fmu") {
        let message = "the file has another ending than that of a unit";
        report.find(Spot::default(), message, format!("`{}`", package.name), "a name that ends in .fmu");
    }
}

/// An entry for each for which something holds.
fn each(
    package: &Package,
    report: &mut Report,
    message: &str,
    wanted: &str,
    found: impl Fn(&Entry) -> Option<String>,
) {
    for entry in &package.entries {
        if let Some(found) = found(entry) {
            report.find(Spot::entry(&entry.written), message, found, wanted);
        }
    }
}

pub(super) fn path(package: &Package, report: &mut Report) {
    each(package, report, "an entry leads out of the unit", "a relative path without `..`", |entry| {
        entry.leads_out.then(|| format!("`{}`", entry.written))
    });
}

pub(super) fn backslash(package: &Package, report: &mut Report) {
    each(package, report, "the path of an entry has a backslash", "forward slashes", |entry| {
        entry.written.contains('\\').then(|| format!("`{}`", entry.written))
    });
}

pub(super) fn link(package: &Package, report: &mut Report) {
    each(package, report, "an entry is a link or a device", "files and folders", |entry| {
        entry.special.then(|| format!("`{}`", entry.written))
    });
}

pub(super) fn method(package: &Package, report: &mut Report) {
    each(package, report, "an entry is packed by another method", "deflate, or stored", |entry| {
        entry.method.clone()
    });
}

pub(super) fn encryption(package: &Package, report: &mut Report) {
    each(package, report, "an entry is encrypted", "no encryption", |entry| {
        entry.encrypted.then(|| format!("`{}`", entry.written))
    });
}

pub(super) fn damage(package: &Package, report: &mut Report) {
    each(package, report, "an entry cannot be unpacked", "an undamaged entry", |entry| entry.damage.clone());
}

pub(super) fn duplicate(package: &Package, report: &mut Report) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in package.entries.iter().filter(|entry| !entry.folder) {
        *seen.entry(entry.name.as_str()).or_default() += 1;
    }
    let mut named = false;
    for (name, count) in seen.into_iter().filter(|(_, count)| *count > 1) {
        named = true;
        report.find(
            Spot::entry(name),
            "an entry comes more than once",
            format!("{count} times"),
            "each name once",
        );
    }
    if package.repeated && !named {
        // The reader of the archive shows only the last of them.
        report.find(
            Spot::default(),
            "an entry comes more than once",
            "one name for several",
            "each name once",
        );
    }
}

pub(super) fn description(package: &Package, report: &mut Report) {
    let readable = package.broken.is_none() && package.excess.is_none();
    if readable && package.description.is_none() && !package.has(crate::description::FILE) {
        let elsewhere = package.entries.iter().find(|entry| entry.name.ends_with("/modelDescription.xml"));
        let found = elsewhere.map_or("none".into(), |entry| format!("`{}`", entry.name));
        report.find(Spot::default(), "there is no description", found, "modelDescription.xml at the top");
    }
}

pub(super) fn implementation(model: &Model<'_>, report: &mut Report) {
    let package = model.package;
    let sources = package.below("sources/").next().is_some();
    if !package.bare && !sources && package.below("binaries/").next().is_none() {
        report.find(
            Spot::default(),
            "the unit has no implementation",
            "neither sources nor binaries",
            "a library in binaries, or sources",
        );
    }
}

/// Files that need another one beside them.
pub(super) fn companions(model: &Model<'_>, report: &mut Report) {
    let package = model.package;
    for (there, wanted) in [
        ("terminalsAndIcons/icon.svg", "terminalsAndIcons/icon.png"),
        ("documentation/diagram.svg", "documentation/diagram.png"),
    ] {
        if package.has(there) && !package.has(wanted) {
            report.find(
                Spot::entry(there),
                "a picture lacks its PNG",
                format!("`{there}` alone"),
                format!("`{wanted}`"),
            );
        }
    }
    let licences = "documentation/licenses/";
    let entries = ["license.spdx", "license.txt", "license.html"];
    let listed = entries.iter().any(|name| package.has(&format!("{licences}{name}")));
    if package.below(licences).next().is_some() && !listed {
        let wanted = format!("one of {}", entries.join(", "));
        report.find(Spot::entry(licences), "the licences lack an entry point", "other files only", wanted);
    }
}

pub(super) fn documentation(model: &Model<'_>, report: &mut Report) {
    let package = model.package;
    let mut files =
        package.below("documentation/").filter(|file| !file.name.starts_with("documentation/licenses/"));
    if files.next().is_some() && !package.has("documentation/index.html") {
        let message = "the documentation lacks an entry point";
        report.find(Spot::entry("documentation/"), message, "other files only", "documentation/index.html");
    }
}
