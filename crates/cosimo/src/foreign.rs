//! Files of other tools that are given as systems: what they are, instead of what is wrong with them as TOML.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use cosimo_system::check_regular_file;

/// What a file is, and what to do with it.
#[derive(Debug, PartialEq)]
pub(crate) struct Foreign {
    pub(crate) what: String,
    pub(crate) hint: String,
}

fn foreign(what: impl Into<String>, hint: impl Into<String>) -> Option<Foreign> {
    Some(Foreign { what: what.into(), hint: hint.into() })
}

/// What to do with a system that another tool describes.
const CONVERT: &str = "not supported: describe the system in one of these; `cosimo new` writes one from FMUs";

/// Whether a file is not a system, as far as its name or its beginning shows.
pub(crate) fn recognise(file: &Path) -> Option<Foreign> {
    if file.is_dir() {
        return folder(file);
    }
    let start = beginning(file)?;
    let text = String::from_utf8_lossy(&start);
    let name = file.file_name()?.to_string_lossy().to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if start.starts_with(b"PK\x03\x04") {
        return archive(file, ending);
    }
    match ending {
        "toml" | "ssp" | "ssd" => None,
        "xml" => xml(&text, true),
        "msim" => foreign("a MasterSim project", CONVERT),
        "mabl" => foreign("a MaBL script of Maestro", CONVERT),
        "json" => foreign(json(&text), CONVERT),
        "ipynb" => foreign("a Jupyter notebook", "run it with Jupyter"),
        "py" => foreign("a Python script", "run it with Python"),
        "lua" => foreign("a Lua script, perhaps of OMSimulator", CONVERT),
        "mo" => foreign("a Modelica model", "export it as an FMU, and give that"),
        "mos" => foreign("a Modelica script", "export the model as an FMU, and give that"),
        "slx" | "mdl" | "slxp" => foreign("a Simulink model", "export it as an FMU, and give that"),
        "m" => foreign("a MATLAB script", "export the model as an FMU, and give that"),
        "ssv" => foreign("a set of SSP parameter values", "give the `.ssd` or `.ssp` that uses it"),
        "ssm" => foreign("an SSP parameter mapping", "give the `.ssd` or `.ssp` that uses it"),
        "ssb" => foreign("an SSP signal dictionary", "give the `.ssd` or `.ssp` that uses it"),
        "yaml" | "yml" => foreign("a YAML file", CONVERT),
        "so" | "dll" | "dylib" => foreign("a shared library", "an FMU is the archive around it, `.fmu`"),
        _ if start.starts_with(b"\x7fELF") || start.starts_with(b"MZ") => {
            foreign("a program or a shared library", "an FMU is an archive, `.fmu`")
        }
        _ if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => xml(&text, false),
        _ if text.trim_start().starts_with('{') => foreign(json(&text), CONVERT),
        _ if start.contains(&0) => foreign("a binary file", CONVERT),
        _ => None,
    }
}

/// The beginning of a file; `None` where it cannot be read, which is reported elsewhere.
fn beginning(file: &Path) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    check_regular_file(file).ok()?;
    std::fs::File::open(file).ok()?.take(1 << 16).read_to_end(&mut start).ok()?;
    Some(start)
}

/// A folder that holds what an archive should.
fn folder(folder: &Path) -> Option<Foreign> {
    let inside = |name: &str| folder.join(name);
    if inside("system.toml").exists() {
        return None;
    }
    for name in ["SystemStructure.ssd", "OspSystemStructure.xml"] {
        if inside(name).exists() {
            return foreign("a folder", format!("did you mean `{}`?", inside(name).display()));
        }
    }
    inside("modelDescription.xml").exists().then(|| Foreign {
        what: "the folder of an unpacked FMU".into(),
        hint: "zip its contents, not the folder itself, to a file that ends in `.fmu`".into(),
    })
}

/// A zip archive by what is in it; its own ending is one that Cosimo would read otherwise.
fn archive(file: &Path, ending: &str) -> Option<Foreign> {
    if ["ssp", "fmu"].contains(&ending) {
        return None;
    }
    let names = names_in(&end(file)?);
    let has = |name: &str| names.iter().any(|known| known == name);
    let renamed = |ending: &str| {
        let stem = file.file_name().unwrap_or_default().to_string_lossy();
        let stem = stem.strip_suffix(".zip").unwrap_or(&stem);
        let stem = stem.strip_suffix(&format!(".{ending}")).unwrap_or(stem);
        format!("rename it to `{stem}.{ending}`")
    };
    if has("modelDescription.xml") {
        foreign("an FMU that does not end in `.fmu`", renamed("fmu"))
    } else if has("SystemStructure.ssd") {
        foreign("an SSP package that does not end in `.ssp`", renamed("ssp"))
    } else if ["slx", "slxp"].contains(&ending) {
        foreign("a Simulink model", "export it as an FMU, and give that")
    } else if has("OspSystemStructure.xml") {
        foreign("an archive with an OSP system", "unpack it, and give its OspSystemStructure.xml")
    } else {
        foreign(
            "a zip archive that is neither an FMU nor an SSP package",
            "unpack it, and give the system file in it",
        )
    }
}

/// The end of a file, where an archive lists its entries.
fn end(file: &Path) -> Option<Vec<u8>> {
    const MOST: u64 = 1 << 22;
    let mut file = std::fs::File::open(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST))).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Names in the list of an archive, by the mark that each of its entries begins with.
fn names_in(bytes: &[u8]) -> Vec<String> {
    let (mark, name_at) = (b"PK\x01\x02", 46);
    let entry = |at: usize| {
        let length = bytes.get(at + 28..at + 30)?;
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        Some(String::from_utf8_lossy(bytes.get(at + name_at..at + name_at + length)?).into_owned())
    };
    let marked = bytes.windows(mark.len()).enumerate().filter(|(_, window)| window == mark);
    marked.filter_map(|(at, _)| entry(at)).collect()
}

/// A file of XML by its root. What is `read` as an OSP structure, and has nothing to do with FMI or SSP, is left to that.
fn xml(text: &str, read: bool) -> Option<Foreign> {
    let tag = root(text)?;
    match tag.rsplit(':').next().unwrap_or(tag) {
        "OspSystemStructure" | "OspModelDescription" if read => None,
        "fmiModelDescription" => foreign("the description of an FMU", "give the `.fmu` that it belongs to"),
        "SystemStructureDescription" => {
            foreign("an SSP system structure", "rename it: such files end in `.ssd`")
        }
        "ParameterSet" => foreign("a set of SSP parameter values", "give the `.ssd` or `.ssp` that uses it"),
        "ParameterMapping" => foreign("an SSP parameter mapping", "give the `.ssd` or `.ssp` that uses it"),
        "SignalDictionary" => foreign("an SSP signal dictionary", "give the `.ssd` or `.ssp` that uses it"),
        "OspSystemStructure" => foreign("an OSP system structure", "rename it: such files end in `.xml`"),
        "precice-configuration" => foreign("a configuration of preCICE", CONVERT),
        _ if read => None,
        tag => foreign(format!("a file of XML whose root is `<{tag}>`"), CONVERT),
    }
}

/// The name of the first element, after declarations and comments.
fn root(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        if let Some(after) = rest.strip_prefix("<!--") {
            rest = after.split_once("-->")?.1.trim_start();
        } else if rest.starts_with("<?") || rest.starts_with("<!") {
            rest = rest.split_once('>')?.1.trim_start();
        } else {
            let name = rest.strip_prefix('<')?;
            let end = name.find(|letter: char| letter.is_whitespace() || "/>".contains(letter))?;
            return Some(&name[..end]).filter(|name| !name.is_empty());
        }
    }
}

/// Maestro and its descendants describe systems in JSON, each part in a file of its own.
fn json(text: &str) -> &'static str {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if has("fmus") && has("connections") {
        "a multi-model of Maestro (INTO-CPS)"
    } else if has("startTime") && has("endTime") {
        "a co-simulation configuration of Maestro (INTO-CPS)"
    } else {
        "a JSON file"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_found_behind_what_may_stand_before_it() {
        for (text, name) in [
            ("<a/>", Some("a")),
            ("\u{feff}<?xml version=\"1.0\"?>\n<!-- <b> -->\n<!DOCTYPE c>\n<ssd:d e=\"f\">", Some("ssd:d")),
            ("<!-- open", None),
            ("no XML", None),
            ("<>", None),
            ("<cut", None),
        ] {
            assert_eq!(root(text), name, "{text}");
        }
    }
}
