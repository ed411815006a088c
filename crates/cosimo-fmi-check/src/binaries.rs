//! Rules about binaries and sources: what the description promises is there.

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

/// Folders of `binaries` that hold files.
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
            // The older versions let vendors choose any other name.
            None if model.fmi != Fmi::Three => continue,
            None => "a platform such as x86_64-linux".into(),
        };
        let message = "a folder of binaries is not called as the standard calls platforms";
        report.find(Spot::entry(&format!("binaries/{folder}")), message, format!("`{folder}`"), wanted);
    }
}

/// Whether binaries of this folder are those that this machine would load.
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
            // Static libraries will do, too.
            if !shared.iter().chain(&["lib", "a"]).any(there) {
                report.find_if(
                    is_here(folder),
                    Spot::entry(&format!("binaries/{folder}")),
                    "the library that the description names is not there",
                    format!("no {identifier}.{}", ending.unwrap_or("*")),
                    format!("a library with the name of the model identifier, `{identifier}`"),
                );
            }
        }
    }
}

/// The libraries that are the FMU itself.
fn own<'m>(model: &'m ModelDescription<'_>) -> impl Iterator<Item = &'m Library> {
    let names: BTreeSet<String> = identifiers(model).into_iter().map(str::to_owned).collect();
    model.package.libraries.iter().filter(move |library| names.contains(&library.stem))
}

pub(crate) fn library_format(model: &ModelDescription<'_>, report: &mut Findings) {
    for library in own(model) {
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
            format!("{} bytes, which is less than it loads", library.size)
        } else {
            continue;
        };
        let message = "a library is not one, or not whole";
        let here = is_here(&library.platform);
        report.find_if(here, Spot::entry(&library.entry), message, found, wanted.name());
    }
}

pub(crate) fn library_machine(model: &ModelDescription<'_>, report: &mut Findings) {
    for library in own(model) {
        let (Some(elf), Some(platform)) = (&library.elf, platform(&library.platform)) else { continue };
        let Some((machine, bits)) = elf::machine(platform.arch) else { continue };
        // The older versions name the system and the bits; some tools put every 64-bit machine there.
        let named = !(model.fmi != Fmi::Three && library.platform.starts_with("linux"));
        if elf.bits != bits || named && elf.machine != machine {
            report.find_if(
                is_here(&library.platform),
                Spot::entry(&library.entry),
                "a library is for another machine than its folder",
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

/// Without these no importer can run an FMU.
const NEEDED: &str = "\
    InstantiateModel FreeModelInstance Initialize InstantiateSlave InitializeSlave TerminateSlave \
    FreeSlaveInstance Instantiate InstantiateModelExchange InstantiateCoSimulation \
    InstantiateScheduledExecution FreeInstance SetupExperiment EnterInitializationMode \
    ExitInitializationMode Terminate DoStep SetTime GetDerivatives GetContinuousStateDerivatives \
    ActivateModelPartition";

/// Functions that a library must export for the kinds that name it, and does not: the short name and the full one.
fn missing_functions(model: &ModelDescription<'_>, library: &Library) -> Vec<(&'static str, String)> {
    let Some(exports) = library.elf.as_ref().and_then(|elf| elf.functions.as_ref()) else {
        return Vec::new();
    };
    let (prefix, common) = match model.fmi {
        // As a prefix in C.
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

fn say_missing(model: &ModelDescription<'_>, report: &mut Findings, needed: bool) {
    for library in own(model) {
        let mut missing = missing_functions(model, library);
        missing.retain(|(name, _)| NEEDED.split_whitespace().any(|known| known == *name) == needed);
        if !missing.is_empty() {
            let message = if needed {
                "a library lacks functions that every importer calls"
            } else {
                "a library lacks functions of the standard"
            };
            let names: Vec<&str> = missing.iter().map(|(_, name)| name.as_str()).collect();
            let found = format!("no {}", names.join(", "));
            let here = is_here(&library.platform);
            report.find_if(
                here,
                Spot::entry(&library.entry),
                message,
                found,
                "all functions of the interface",
            );
        }
    }
}

pub(crate) fn needed_function(model: &ModelDescription<'_>, report: &mut Findings) {
    say_missing(model, report, true);
}

pub(crate) fn other_function(model: &ModelDescription<'_>, report: &mut Findings) {
    say_missing(model, report, false);
}

/// Files that the description, or the build description, says to compile: where it says so, and the name.
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
            let message = "a source file that is to be compiled is not there";
            report.find(
                source.attribute(node, "name"),
                message,
                format!("no sources/{name}"),
                "the file in sources",
            );
        }
    }
}

pub(crate) fn sources_listed(model: &ModelDescription<'_>, report: &mut Findings) {
    let any = model.package.below("sources/").next().is_some();
    let told = match model.fmi {
        Fmi::One => return,
        Fmi::Two => !source_files(model).is_empty(),
        Fmi::Three => model.package.build.is_some(),
    };
    if any && !told {
        let wanted = match model.fmi {
            Fmi::One | Fmi::Two => "`<SourceFiles>` with the files to compile",
            Fmi::Three => "sources/buildDescription.xml",
        };
        report.find(
            Spot::entry("sources/"),
            "nothing says how to compile the sources",
            "sources alone",
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
                "a build configuration is for no interface of the FMU",
                format!("`{identifier}`"),
                format!("a model identifier of the description: {}", list.join(", ")),
            );
        } else if seen.insert((identifier, platform), ()).is_some() {
            report.find(
                source.element(node),
                format!("two build configurations of `{identifier}` are for the same platform"),
                platform.map_or("none twice".to_owned(), |platform| format!("`{platform}` again")),
                "one for each platform, and at most one without",
            );
        }
    }
}
