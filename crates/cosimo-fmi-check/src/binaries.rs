//! Rules about binaries and sources: everything the description declares must be in the archive.

use std::collections::{BTreeMap, BTreeSet};

use cosimo_fmi::description::Fmi;
use cosimo_fmi::elf::{self, machine_name};
use cosimo_fmi::platform::{PLATFORMS, Platform};
use cosimo_pack::xml::{child, children_of};
use roxmltree::Node;

use crate::model::ModelDescription;
use crate::package::{Format, Library};
use crate::report::{Findings, Spot};

fn identifiers<'a>(model: &ModelDescription<'a>) -> BTreeSet<&'a str> {
    model
        .kinds
        .iter()
        .filter_map(|kind| kind.attribute("modelIdentifier"))
        .filter(|name| !name.is_empty())
        .collect()
}

/// Folders in `binaries/` that contain files.
fn folders<'a>(model: &ModelDescription<'a>) -> BTreeSet<&'a str> {
    let files = model.package.entries.iter().filter(|entry| !entry.folder);
    files.filter_map(|entry| Some(entry.name.strip_prefix("binaries/")?.split_once('/')?.0)).collect()
}

fn platform(folder: &str) -> Option<&'static Platform> {
    PLATFORMS.iter().find(|platform| platform.fmi2 == folder || platform.fmi3 == folder)
}

/// `<arch>-<sys>{-<abi>{<abi_ver>}{<abi_sub>}}`
fn is_tuple(folder: &str) -> bool {
    const ARCHITECTURES: [&str; 8] =
        ["aarch32", "aarch64", "riscv32", "riscv64", "x86", "x86_64", "ppc32", "ppc64"];
    let mut parts = folder.splitn(3, '-');
    let known = |part: Option<&str>, list: &[&str]| part.is_some_and(|part| list.contains(&part));
    known(parts.next(), &ARCHITECTURES) && known(parts.next(), &["darwin", "linux", "windows"])
}

pub(crate) fn platform_name(model: &ModelDescription<'_>, report: &mut Findings) {
    for folder in folders(model) {
        let known = PLATFORMS.iter().any(|known| known.folder(model.fmi) == folder);
        if known || model.fmi == Fmi::Three && is_tuple(folder) {
            continue;
        }
        let wanted = match platform(folder) {
            Some(platform) => format!("`{}`", platform.folder(model.fmi)),
            // FMI 1.0 and 2.0 allow vendor-specific names.
            None if model.fmi != Fmi::Three => continue,
            None => "a platform such as x86_64-linux".into(),
        };
        let message = "a folder in binaries/ is not named as the standard names platforms";
        report.find(Spot::entry(&format!("binaries/{folder}")), message, format!("`{folder}`"), wanted);
    }
}

/// Whether this machine would load the binaries of this folder.
fn is_here(folder: &str) -> bool {
    Platform::here().is_some_and(|here| [here.fmi2, here.fmi3].contains(&folder))
}

pub(crate) fn library_missing(model: &ModelDescription<'_>, report: &mut Findings) {
    for folder in folders(model) {
        let ending = platform(folder).map(|platform| platform.ending);
        for identifier in identifiers(model) {
            let shared: &[&str] = ending.as_ref().map_or(&["so", "dll", "dylib"], std::slice::from_ref);
            let there =
                |ending: &&str| model.package.has(&format!("binaries/{folder}/{identifier}.{ending}"));
            // Static libraries are allowed, too.
            if !shared.iter().chain(&["lib", "a"]).any(there) {
                report.find_if(
                    is_here(folder),
                    Spot::entry(&format!("binaries/{folder}")),
                    "the library named by modelIdentifier is missing",
                    format!("no {identifier}.{}", ending.unwrap_or("*")),
                    format!("a library named `{identifier}`, as modelIdentifier"),
                );
            }
        }
    }
}

/// The libraries of the FMU itself (not those it links with).
fn fmu_libraries<'m>(model: &'m ModelDescription<'_>) -> impl Iterator<Item = &'m Library> {
    let names: BTreeSet<String> = identifiers(model).into_iter().map(str::to_owned).collect();
    model.package.libraries.iter().filter(move |library| names.contains(&library.stem))
}

pub(crate) fn library_format(model: &ModelDescription<'_>, report: &mut Findings) {
    for library in fmu_libraries(model) {
        let wanted = match library.ending.as_str() {
            "so" => Format::Elf,
            "dll" => Format::Windows,
            _ => Format::Mac,
        };
        let cut =
            library.elf.as_ref().is_some_and(|elf| elf.length.is_none_or(|length| length > library.size));
        let found = if library.format != wanted {
            library.format.name().to_owned()
        } else if cut {
            format!("{} bytes, fewer than its headers declare", library.size)
        } else {
            continue;
        };
        let message = "a library has the wrong file format or is truncated";
        let here = is_here(&library.platform);
        report.find_if(here, Spot::entry(&library.entry), message, found, wanted.name());
    }
}

pub(crate) fn library_machine(model: &ModelDescription<'_>, report: &mut Findings) {
    for library in fmu_libraries(model) {
        let (Some(elf), Some(platform)) = (&library.elf, platform(&library.platform)) else { continue };
        let Some((machine, bits)) = elf::machine(platform.arch) else { continue };
        // FMI 1.0 and 2.0 name system and word size only; some tools put every 64-bit machine there.
        let names_machine = !(model.fmi != Fmi::Three && library.platform.starts_with("linux"));
        if elf.bits != bits || names_machine && elf.machine != machine {
            report.find_if(
                is_here(&library.platform),
                Spot::entry(&library.entry),
                "a library is compiled for another platform than its folder names",
                format!("{}, {} bits", machine_name(elf.machine), elf.bits),
                format!("{}, {bits} bits", machine_name(machine)),
            );
        }
    }
}

const ONE: &str = "\
    GetVersion SetDebugLogging GetReal GetInteger GetBoolean GetString SetReal SetInteger SetBoolean \
    SetString";
const EXCHANGE_ONE: &str = "\
    GetModelTypesPlatform InstantiateModel FreeModelInstance SetTime SetContinuousStates \
    CompletedIntegratorStep Initialize GetDerivatives GetEventIndicators EventUpdate \
    GetContinuousStates GetNominalContinuousStates GetStateValueReferences Terminate";
const COSIMULATION_ONE: &str = "\
    GetTypesPlatform InstantiateSlave InitializeSlave TerminateSlave ResetSlave FreeSlaveInstance \
    SetRealInputDerivatives GetRealOutputDerivatives DoStep CancelStep GetStatus GetRealStatus \
    GetIntegerStatus GetBooleanStatus GetStringStatus";
const TWO: &str = "\
    GetTypesPlatform GetVersion SetDebugLogging Instantiate FreeInstance SetupExperiment \
    EnterInitializationMode ExitInitializationMode Terminate Reset GetReal GetInteger GetBoolean \
    GetString SetReal SetInteger SetBoolean SetString GetFMUstate SetFMUstate FreeFMUstate \
    SerializedFMUstateSize SerializeFMUstate DeSerializeFMUstate GetDirectionalDerivative";
const EXCHANGE_TWO: &str = "\
    EnterEventMode NewDiscreteStates EnterContinuousTimeMode CompletedIntegratorStep SetTime \
    SetContinuousStates GetDerivatives GetEventIndicators GetContinuousStates \
    GetNominalsOfContinuousStates";
const COSIMULATION_TWO: &str = "\
    SetRealInputDerivatives GetRealOutputDerivatives DoStep CancelStep GetStatus GetRealStatus \
    GetIntegerStatus GetBooleanStatus GetStringStatus";
const THREE: &str = "\
    GetVersion SetDebugLogging FreeInstance EnterInitializationMode ExitInitializationMode \
    EnterEventMode Terminate Reset GetFloat32 GetFloat64 GetInt8 GetUInt8 GetInt16 GetUInt16 \
    GetInt32 GetUInt32 GetInt64 GetUInt64 GetBoolean GetString GetBinary GetClock SetFloat32 \
    SetFloat64 SetInt8 SetUInt8 SetInt16 SetUInt16 SetInt32 SetUInt32 SetInt64 SetUInt64 SetBoolean \
    SetString SetBinary SetClock GetNumberOfVariableDependencies GetVariableDependencies GetFMUState \
    SetFMUState FreeFMUState SerializedFMUStateSize SerializeFMUState DeserializeFMUState \
    GetDirectionalDerivative GetAdjointDerivative EnterConfigurationMode ExitConfigurationMode \
    GetIntervalDecimal GetIntervalFraction GetShiftDecimal GetShiftFraction SetIntervalDecimal \
    SetIntervalFraction EvaluateDiscreteStates UpdateDiscreteStates";
const EXCHANGE_THREE: &str = "\
    InstantiateModelExchange EnterContinuousTimeMode CompletedIntegratorStep SetTime \
    SetContinuousStates GetContinuousStateDerivatives GetEventIndicators GetContinuousStates \
    GetNominalsOfContinuousStates GetNumberOfEventIndicators GetNumberOfContinuousStates";
const COSIMULATION_THREE: &str = "InstantiateCoSimulation EnterStepMode GetOutputDerivatives DoStep";
const SCHEDULED_THREE: &str = "InstantiateScheduledExecution ActivateModelPartition";

/// No importer can run an FMU without these.
const NEEDED: &str = "\
    InstantiateModel FreeModelInstance Initialize InstantiateSlave InitializeSlave TerminateSlave \
    FreeSlaveInstance Instantiate InstantiateModelExchange InstantiateCoSimulation \
    InstantiateScheduledExecution FreeInstance SetupExperiment EnterInitializationMode \
    ExitInitializationMode Terminate DoStep SetTime GetDerivatives GetContinuousStateDerivatives \
    ActivateModelPartition";

/// Functions that the interface types with this library require and it does not export: short name and full name.
fn missing_functions(model: &ModelDescription<'_>, library: &Library) -> Vec<(&'static str, String)> {
    let Some(exports) = library.elf.as_ref().and_then(|elf| elf.functions.as_ref()) else {
        return Vec::new();
    };
    let (prefix, common) = match model.fmi {
        // FMI 1.0: prefixed with the model identifier.
        Fmi::One => (format!("{}_fmi", library.stem), ONE),
        Fmi::Two => ("fmi2".into(), TWO),
        Fmi::Three => ("fmi3".into(), THREE),
    };
    let kinds = model.kinds.iter().filter(|kind| kind.attribute("modelIdentifier") == Some(&library.stem));
    let special = kinds.map(|kind| match (kind.tag_name().name(), model.fmi) {
        (_, Fmi::One) if child(*kind, "Implementation").is_none() => EXCHANGE_ONE,
        (_, Fmi::One) => COSIMULATION_ONE,
        ("ModelExchange", Fmi::Two) => EXCHANGE_TWO,
        ("ModelExchange", Fmi::Three) => EXCHANGE_THREE,
        ("CoSimulation", Fmi::Two) => COSIMULATION_TWO,
        ("CoSimulation", Fmi::Three) => COSIMULATION_THREE,
        _ => SCHEDULED_THREE,
    });
    let there: BTreeSet<&str> = exports.iter().map(String::as_str).collect();
    let all = std::iter::once(common).chain(special).flat_map(str::split_whitespace);
    all.map(|name| (name, format!("{prefix}{name}")))
        .filter(|(_, name)| !there.contains(name.as_str()))
        .collect()
}

fn report_missing(model: &ModelDescription<'_>, report: &mut Findings, needed: bool) {
    for library in fmu_libraries(model) {
        let mut missing = missing_functions(model, library);
        missing.retain(|(name, _)| NEEDED.split_whitespace().any(|known| known == *name) == needed);
        if !missing.is_empty() {
            let message = if needed {
                "a library does not export functions that every importer calls"
            } else {
                "a library does not export functions of its interface type"
            };
            let names: Vec<&str> = missing.iter().map(|(_, name)| name.as_str()).collect();
            let found = format!("no {}", names.join(", "));
            let here = is_here(&library.platform);
            report.find_if(
                here,
                Spot::entry(&library.entry),
                message,
                found,
                "all functions of the interface type",
            );
        }
    }
}

pub(crate) fn needed_function(model: &ModelDescription<'_>, report: &mut Findings) {
    report_missing(model, report, true);
}

pub(crate) fn other_function(model: &ModelDescription<'_>, report: &mut Findings) {
    report_missing(model, report, false);
}

/// Source files listed in the description or the build description: position and name.
fn source_files<'m, 'a>(
    model: &'m ModelDescription<'a>,
) -> Vec<(&'m crate::report::XmlSource<'a>, Node<'a, 'a>, &'a str)> {
    let mut found = Vec::new();
    match (model.fmi, model.build) {
        (Fmi::One, _) => {}
        (Fmi::Two, _) => {
            for file in model.kinds.iter().flat_map(|kind| children_of(*kind, "SourceFiles")) {
                found.extend(file.attribute("name").map(|name| (model.source, file, name)));
            }
        }
        (Fmi::Three, Some((source, root))) => {
            let files = root.descendants().filter(|node| node.tag_name().name() == "SourceFile");
            found.extend(files.filter_map(|file| Some((source, file, file.attribute("name")?))));
        }
        (Fmi::Three, None) => {}
    }
    found
}

pub(crate) fn source_missing(model: &ModelDescription<'_>, report: &mut Findings) {
    for (source, node, name) in source_files(model) {
        if !model.package.bare && !model.package.has(&format!("sources/{name}")) {
            let message = "a listed source file is missing";
            report.find(
                source.attribute(node, "name"),
                message,
                format!("no sources/{name}"),
                "the file in sources/",
            );
        }
    }
}

pub(crate) fn sources_listed(model: &ModelDescription<'_>, report: &mut Findings) {
    let any = model.package.below("sources/").next().is_some();
    let listed = match model.fmi {
        Fmi::One => return,
        Fmi::Two => !source_files(model).is_empty(),
        Fmi::Three => model.package.build.is_some(),
    };
    if any && !listed {
        let wanted = match model.fmi {
            Fmi::One | Fmi::Two => "`<SourceFiles>` with the files to compile",
            Fmi::Three => "sources/buildDescription.xml",
        };
        report.find(
            Spot::entry("sources/"),
            "the files to compile are not listed",
            "sources/ without a list",
            wanted,
        );
    }
}

pub(crate) fn build_configuration(model: &ModelDescription<'_>, report: &mut Findings) {
    let Some((source, root)) = model.build else { return };
    let known = identifiers(model);
    let mut seen: BTreeMap<(&str, Option<&str>), ()> = BTreeMap::new();
    for node in root.children().filter(|node| node.tag_name().name() == "BuildConfiguration") {
        let Some(identifier) = node.attribute("modelIdentifier") else { continue };
        let platform = node.attribute("platform");
        if !known.contains(identifier) {
            let list: Vec<&str> = known.iter().copied().collect();
            report.find(
                source.attribute(node, "modelIdentifier"),
                "a build configuration matches no interface type of the FMU",
                format!("`{identifier}`"),
                format!("a modelIdentifier of the description: {}", list.join(", ")),
            );
        } else if seen.insert((identifier, platform), ()).is_some() {
            report.find(
                source.element(node),
                format!("two build configurations of `{identifier}` are for the same platform"),
                platform.map_or("no platform, twice".to_owned(), |platform| format!("`{platform}` again")),
                "one per platform, and at most one without platform",
            );
        }
    }
}
