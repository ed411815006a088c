//! Writes an FMU: a description, the design as a resource, and the shared library that serves all of them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::describe::{Capabilities, Facts, description};
use crate::design::{Design, InterfaceType, Version};
use crate::model::{ExportedModel, OpenModel};
use crate::state::fingerprint;
use crate::variables::Variables;

/// Folder and file extension of the binary, for the platform of this build.
fn platform(version: Version) -> (&'static str, &'static str) {
    // FMI 1.0 and 2.0 share the names of platforms.
    let two = version != Version::Three;
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("windows", "x86_64") => (if two { "win64" } else { "x86_64-windows" }, "dll"),
        ("macos", "x86_64") => (if two { "darwin64" } else { "x86_64-darwin" }, "dylib"),
        ("macos", _) => (if two { "darwin64" } else { "aarch64-darwin" }, "dylib"),
        (_, "aarch64") => (if two { "linux64" } else { "aarch64-linux" }, "so"),
        _ => (if two { "linux64" } else { "x86_64-linux" }, "so"),
    }
}

/// The description and the resource, with a token that is a hash of both.
fn contents(design: &Design) -> Result<(String, String), String> {
    if !design.variant.exists_for(design.kind, design.version) {
        let (variant, version) = (design.variant.text(), design.version.text());
        let kind = match design.kind {
            InterfaceType::CoSimulation => "",
            InterfaceType::ModelExchange => " for model exchange",
            InterfaceType::Both => " for co-simulation and model exchange",
        };
        return Err(format!("the variant `{variant}` does not exist in FMI {version}{kind}"));
    }
    let model = ExportedModel::of(design)?;
    let OpenModel { interface, equations, .. } = model.open(design.kind, &model.defaults())?;
    let (interface, equations) = (&interface, equations.as_deref());
    let variables = &Variables::of(&model, interface, equations, design.version);
    let can = Capabilities::of(design, &model, interface);
    let described = |token: &str| {
        description(&Facts {
            design,
            model: &model,
            interface,
            equations,
            variables,
            capabilities: can,
            token,
        })
    };
    let mut resource = design.to_text();
    let hash = format!("{:032x}", fingerprint((described("") + &resource).as_bytes()));
    let token =
        format!("{{{}-{}-{}-{}-{}}}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..]);
    resource += &format!("token = \"{token}\"\n");
    Ok((described(&token), resource))
}

/// The `modelDescription.xml` of this FMU.
pub fn model_description(design: &Design) -> Result<String, String> {
    contents(design).map(|(description, _)| description)
}

/// The shared library that cargo built together with the running program: a test, an example or a command
/// whose package depends on this one.
pub fn built_library() -> Result<PathBuf, String> {
    library_beside("cosimo_export")
}

/// The same for another package, by the name of its library.
pub fn library_beside(name: &str) -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let name = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let places = [folder.to_path_buf(), folder.join("deps"), folder.join("../deps")];
    let found = places.iter().map(|place| place.join(&name)).find(|path| path.exists());
    found.ok_or_else(|| format!("{name} not found next to {}", program.display()))
}

/// Writes one FMU. `library` is this crate as a shared library, built for this platform.
pub fn write(design: &Design, library: &Path, out: &Path) -> Result<(), String> {
    let (description, resource) = contents(design)?;
    let binary = std::fs::read(library)
        .map_err(|error| format!("cannot read the library {}: {error}", library.display()))?;
    let (folder, ending) = platform(design.version);
    let path = format!("binaries/{folder}/{}.{ending}", design.identifier());
    let failed = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", out.display());
    let file = File::create(out).map_err(|error| failed(&error))?;
    let mut archive = ZipWriter::new(BufWriter::new(file));
    for (name, bytes, mode) in [
        ("modelDescription.xml", description.as_bytes(), 0o644),
        ("resources/model.toml", resource.as_bytes(), 0o644),
        (path.as_str(), binary.as_slice(), 0o755),
    ] {
        // A fifth larger than with the best compression, in a tenth of the time: the library is the same in every FMU.
        let options = SimpleFileOptions::default().unix_permissions(mode).compression_level(Some(1));
        archive.start_file(name, options).map_err(|error| failed(&error))?;
        archive.write_all(bytes).map_err(|error| failed(&error))?;
    }
    let mut file = archive.finish().map_err(|error| failed(&error))?;
    file.flush().map_err(|error| failed(&error))
}
