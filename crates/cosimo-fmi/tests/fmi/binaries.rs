//! Why an FMU cannot run here: each reason with its whole message.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{MASS2, MASS3, archive, build_fmu, folder, library, open, refusal};

const TOKEN: &str = "-DTOKEN=\"{mass}\"";

#[test]
fn no_binary_for_this_machine() {
    let folder = folder("platforms");
    let with = |name: &str, entries: &[&str]| {
        let mut all: Vec<(&str, &[u8])> = vec![("modelDescription.xml", MASS2.as_bytes())];
        all.extend(entries.iter().map(|entry| (*entry, b"x".as_slice())));
        archive(&folder.join(name), &all);
        refusal(&folder, name, &[])
    };
    assert_eq!(
        with("others.fmu", &["binaries/win64/mass.dll", "binaries/aarch64-linux/mass.so"]),
        "others.fmu: the FMU has no binary for this platform: expected binaries/linux64, it has aarch64-linux, win64 \
         (x86_64-windows) (export it for this platform, or run Cosimo on one of these)"
    );
    // SimulationX packs empty folders for platforms that it did not serve.
    assert_eq!(
        with("empty.fmu", &["binaries/linux64/", "binaries/linux32/", "binaries/win64/mass.dll"]),
        "empty.fmu: the FMU has no binary for this platform: expected binaries/linux64, it has win64 (x86_64-windows) \
         (export it for this platform, or run Cosimo on one of these)"
    );
    assert_eq!(
        with("sources.fmu", &["sources/mass.c"]),
        "sources.fmu: the FMU has no binary for this platform: expected binaries/linux64, it has source code only (compile \
         its sources, or ask for an FMU with binaries)"
    );
    assert_eq!(
        with("none.fmu", &[]),
        "none.fmu: the FMU has no binary for this platform: expected binaries/linux64, it has no binary at all \
         (re-export it with binaries)"
    );
    assert_eq!(
        with("name.fmu", &["binaries/linux64/other.so"]),
        "name.fmu: mass.so (as `modelIdentifier`) is missing in binaries/linux64 (description and binary do not match; \
         re-export the FMU)"
    );
    assert_eq!(
        with("text.fmu", &["binaries/linux64/mass.so"]),
        "text.fmu: mass.so is not a shared library for Linux (it is not an ELF file) (the FMU was packed wrongly; \
         re-export it)"
    );
}

#[test]
fn another_machine() {
    let folder = folder("machine");
    library("fmi2.c", &[TOKEN, "-DMASS"], &folder.join("mass.so"));
    let whole = fs::read(folder.join("mass.so")).unwrap();
    let with = |name: &str, at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        let entries: &[(&str, &[u8])] =
            &[("modelDescription.xml", MASS2.as_bytes()), ("binaries/linux64/mass.so", &bytes)];
        archive(&folder.join(name), entries);
        refusal(&folder, name, &[])
    };
    assert_eq!(
        with("arm.fmu", 18, 183),
        "arm.fmu: mass.so is compiled for aarch64, 64 bits; this machine is x86_64, 64 bits (export the FMU for this \
         platform, or use a Cosimo built for that of the FMU)"
    );
    assert_eq!(
        with("narrow.fmu", 4, 1),
        "narrow.fmu: mass.so is compiled for x86_64, 32 bits; this machine is x86_64, 64 bits (export the FMU for this \
         platform, or use a Cosimo built for that of the FMU)"
    );
}

#[test]
fn a_library_that_is_not_there() {
    let folder = folder("needs");
    let gone = helper(&folder, "gone", &[]);
    let flags = ["-Wl,--no-as-needed", gone.to_str().unwrap()];
    build_fmu(&folder, 2, "mass", &[], &flags);
    fs::remove_file(&gone).unwrap();
    assert_eq!(
        refusal(&folder, "mass.fmu", &[]),
        "mass.fmu: mass.so cannot be loaded: it needs `libgone.so.3`, which this machine does not have (install it, or \
         add its folder to LD_LIBRARY_PATH)"
    );
}

/// Compiles a library of one function that calls those of others.
fn helper(folder: &Path, name: &str, calls: &[&str]) -> PathBuf {
    let source = folder.join(format!("{name}.c"));
    let uses: String = calls.iter().map(|call| format!("int {call}(void);\n")).collect();
    let sum: String = calls.iter().map(|call| format!(" + {call}()")).collect();
    fs::write(&source, format!("{uses}int {name}(void) {{ return 1{sum}; }}\n")).unwrap();
    let file = folder.join(format!("lib{name}.so.3"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", &format!("-Wl,-soname,lib{name}.so.3"), "-o"]).arg(&file).arg(source);
    gcc.args(calls.iter().map(|call| folder.join(format!("lib{call}.so.3"))));
    assert!(gcc.status().unwrap().success());
    file
}

#[test]
fn libraries_that_are_packed_beside_it_are_found() {
    let folder = folder("beside");
    let (deep, near) = (helper(&folder, "deep", &[]), helper(&folder, "near", &["deep"]));
    let flags = ["-DMASS", TOKEN, "-Wl,--no-as-needed", near.to_str().unwrap()];
    library("fmi2.c", &flags, &folder.join("mass.so"));
    let (binary, deep, near) =
        (fs::read(folder.join("mass.so")).unwrap(), fs::read(deep).unwrap(), fs::read(near).unwrap());
    let entries: &[(&str, &[u8])] = &[
        ("modelDescription.xml", MASS2.as_bytes()),
        // The folder has the name that FMI 3.0 gives it, as some tools do in FMI 2.0.
        ("binaries/x86_64-linux/mass.so", &binary),
        ("binaries/x86_64-linux/libnear.so.3", &near),
        ("binaries/x86_64-linux/libdeep.so.3", &deep),
    ];
    archive(&folder.join("mass.fmu"), entries);
    assert!(open(&folder, "mass.fmu", &[]).is_ok());
}

#[test]
fn a_symbol_that_is_nowhere() {
    let folder = folder("symbol");
    build_fmu(&folder, 2, "mass", &[], &["-DNEEDS_NOWHERE"]);
    let message = refusal(&folder, "mass.fmu", &[]);
    assert!(message.starts_with("mass.fmu: mass.so cannot be loaded: "), "{message}");
    assert!(
        message.ends_with(
            "undefined symbol: nowhere (the FMU was not linked with a library that it uses; report this to its vendor)"
        ),
        "{message}"
    );
}

#[test]
fn functions_that_are_promised_but_missing() {
    let folder = folder("functions");
    build_fmu(&folder, 2, "mass", &[], &["-DNO_STATE_FUNCTIONS"]);
    let hint = "(binary and description of the FMU do not match; report this to its vendor)";
    assert_eq!(
        refusal(&folder, "mass.fmu", &[]),
        format!(
            "mass.fmu: mass.so does not export the functions `fmi2GetFMUstate`, `fmi2SetFMUstate`, `fmi2FreeFMUstate` {hint}"
        )
    );
    build_fmu(&folder, 2, "mass", &[], &["-DfmiDoStep", "-Dfmi2DoStep=fmi2Other"]);
    assert_eq!(
        refusal(&folder, "mass.fmu", &[]),
        format!("mass.fmu: mass.so does not export the function `fmi2DoStep` {hint}")
    );
    // An FMI 3.0 description around an FMI 2.0 binary.
    library("fmi2.c", &[TOKEN, "-DMASS"], &folder.join("old.so"));
    let old = fs::read(folder.join("old.so")).unwrap();
    let entries: &[(&str, &[u8])] =
        &[("modelDescription.xml", MASS3.as_bytes()), ("binaries/x86_64-linux/mass.so", &old)];
    archive(&folder.join("mixed.fmu"), entries);
    let message = refusal(&folder, "mixed.fmu", &[]);
    assert!(
        message.starts_with("mixed.fmu: mass.so does not export the functions `fmi3FreeInstance`, "),
        "{message}"
    );
}

#[test]
fn an_identifier_that_leads_elsewhere() {
    let folder = folder("identifier");
    build_fmu(&folder, 2, "mass", &[("modelIdentifier=\"mass\"", "modelIdentifier=\"../../mass\"")], &[]);
    assert_eq!(
        refusal(&folder, "mass.fmu", &[]),
        "mass.fmu: the model identifier `../../mass` is not the name of a file"
    );
}
