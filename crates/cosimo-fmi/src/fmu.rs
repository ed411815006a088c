//! An FMU on disk: unpacked, with description and library. Several instances share one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::SystemTime;

use cosimo_core::{SimulatorError, companion};
use libloading::Library;

use crate::archive::{ArchiveKind, Cache};
use crate::description::{Capabilities, Description, Fmi, FmuUse};
use crate::instance::{IntermediateInput, NewInstance};
use crate::problem::FileProblem;
use crate::{fmi1, fmi2, fmi3, library, platform, python, trial, workspace};

/// The archive format of FMUs.
pub const FMU_ARCHIVE: ArchiveKind = ArchiveKind {
    title: "an FMU",
    noun: "FMU",
    folder: "fmu",
    proof: "modelDescription.xml",
    proof_hint: "zip the contents of the FMU's folder, not the folder itself",
};

#[derive(Debug)]
pub struct Fmu {
    /// SHA-256 of the file.
    pub hash: String,
    pub folder: PathBuf,
    pub description: Description,
    /// Folders below `binaries`.
    pub platforms: Vec<String>,
    /// One per use.
    bindings: [OnceLock<Result<Binding, FileProblem>>; 2],
    instances: AtomicUsize,
    /// An instance returned `fatal`, which ends all of them.
    pub(crate) corrupt: Arc<AtomicBool>,
}

/// The functions of an FMU.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Binding {
    One(fmi1::ffi::Functions),
    Two(fmi2::ffi::Functions),
    Three(fmi3::ffi::Functions),
}

type OpenFmus = BTreeMap<PathBuf, (Option<SystemTime>, u64, Weak<Fmu>)>;

static OPEN: Mutex<OpenFmus> = Mutex::new(BTreeMap::new());

impl Fmu {
    /// Unpacks and reads. Runs no code of the FMU.
    pub fn open(file: &Path, cache: &Cache) -> Result<Fmu, Vec<FileProblem>> {
        Fmu::read(file, cache, Description::of_folder)
    }

    /// As [`Fmu::open`], also of an FMU that cannot run here: its description has obstacles then.
    pub fn inspect(file: &Path, cache: &Cache) -> Result<Fmu, Vec<FileProblem>> {
        Fmu::read(file, cache, Description::inspect_folder)
    }

    fn read(
        file: &Path,
        cache: &Cache,
        describe: fn(&Path) -> Result<Description, Vec<FileProblem>>,
    ) -> Result<Fmu, Vec<FileProblem>> {
        let unpacked = cache.unpack(file).map_err(|problem| vec![problem])?;
        let mut description = describe(&unpacked.folder)?;
        description.warnings.extend(unpacked.warnings());
        Ok(Fmu {
            platforms: platform::present(&unpacked.folder),
            hash: unpacked.hash.clone(),
            folder: unpacked.keep(),
            description,
            bindings: Default::default(),
            instances: AtomicUsize::new(0),
            corrupt: Arc::default(),
        })
    }

    /// As [`Fmu::open`]; a file that is open already and did not change is not read again.
    pub(crate) fn share(file: &Path, cache: &Cache) -> Result<Arc<Fmu>, Vec<FileProblem>> {
        let about = std::fs::metadata(file).ok();
        let age =
            (about.as_ref().and_then(|about| about.modified().ok()), about.map_or(0, |about| about.len()));
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((modified, size, fmu)) = open.get(file)
            && (*modified, *size) == age
            && let Some(fmu) = fmu.upgrade()
        {
            if fmu.is_corrupt() {
                let problem =
                    FileProblem::new("an instance of this FMU returned `fatal` and is still in use");
                return Err(vec![problem.hint(
                    "end the failed run first: after `fatal` the standard allows no call to any instance",
                )]);
            }
            return Ok(fmu);
        }
        let fmu = Arc::new(Fmu::open(file, cache)?);
        open.insert(file.to_owned(), (age.0, age.1, Arc::downgrade(&fmu)));
        Ok(fmu)
    }

    /// Where it comes from.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        let about = &self.description;
        [
            ("model", &about.model_name),
            ("FMI", &about.fmi_version),
            ("made by", &about.generation_tool),
            ("token", &about.token),
            ("sha256", &self.hash),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(word, value)| (word.to_owned(), value.clone()))
        .collect()
    }

    /// Why it cannot run here, as far as can be determined without executing it.
    pub fn obstacle(&self) -> Option<FileProblem> {
        if let Some(first) = self.description.obstacles.first() {
            return Some(first.clone());
        }
        let path = match platform::binary(&self.folder, &self.description, self.description.default_use()) {
            Ok(path) => path,
            Err(problem) => return Some(problem),
        };
        match platform::check_binary(&path) {
            Err(problem) => Some(problem),
            Ok(elf) => {
                let python = elf.and_then(|elf| python::find(&elf).err());
                platform::missing_needs(&path).or(python)
            }
        }
    }

    /// Loads the library. From here on the FMU's code runs.
    pub(crate) fn load(&self, usage: FmuUse) -> Result<(), FileProblem> {
        let load = || {
            let path = platform::binary(&self.folder, &self.description, usage)?;
            self.bind(usage, library::load(&path)?, &path)
        };
        self.bindings[usage as usize].get_or_init(load).clone().map(|_| ())
    }

    pub(crate) fn capabilities(&self, usage: FmuUse) -> Capabilities {
        self.description.offer(usage).map_or(Capabilities::default(), |offer| offer.capabilities)
    }

    fn bind(&self, usage: FmuUse, library: &'static Library, path: &Path) -> Result<Binding, FileProblem> {
        let promised = self.promised(usage);
        match self.description.fmi {
            Fmi::One => {
                let identifier = self.description.offer(usage).map_or("", |offer| &offer.identifier);
                fmi1::ffi::Functions::load(library, identifier, &promised).map(Binding::One)
            }
            Fmi::Two => fmi2::ffi::Functions::load(library, "", &promised).map(Binding::Two),
            Fmi::Three => fmi3::ffi::Functions::load(library, "", &promised).map(Binding::Three),
        }
        .map_err(|missing| library::missing_functions(path, &missing))
    }

    /// Functions that the use needs and the capabilities promise, without their prefix.
    fn promised(&self, usage: FmuUse) -> Vec<&'static str> {
        let can = self.capabilities(usage);
        let two = self.description.fmi != Fmi::Three;
        let mut names: Vec<&'static str> = match (usage, two) {
            (FmuUse::CoSimulation, true) => vec!["DoStep"],
            (FmuUse::CoSimulation, false) => vec!["InstantiateCoSimulation", "DoStep"],
            (FmuUse::ModelExchange, true) => vec!["NewDiscreteStates", "GetDerivatives"],
            (FmuUse::ModelExchange, false) => {
                vec!["InstantiateModelExchange", "UpdateDiscreteStates", "GetContinuousStateDerivatives"]
            }
        };
        if usage == FmuUse::ModelExchange {
            names.extend(["EnterEventMode", "EnterContinuousTimeMode", "SetTime"]);
            names.extend(["GetContinuousStates", "SetContinuousStates", "GetNominalsOfContinuousStates"]);
            names.extend(["CompletedIntegratorStep", "GetEventIndicators"]);
        }
        if can.get_set_state {
            names.extend(if two {
                ["GetFMUstate", "SetFMUstate", "FreeFMUstate"]
            } else {
                ["GetFMUState", "SetFMUState", "FreeFMUState"]
            });
        }
        if can.serialize_state {
            names.extend(if two {
                ["SerializedFMUstateSize", "SerializeFMUstate", "DeSerializeFMUstate"]
            } else {
                ["SerializedFMUStateSize", "SerializeFMUState", "DeserializeFMUState"]
            });
        }
        if can.directional_derivatives {
            names.push("GetDirectionalDerivative");
        }
        if usage == FmuUse::CoSimulation && can.event_mode {
            names.extend(["EnterEventMode", "UpdateDiscreteStates", "EnterStepMode"]);
        }
        if can.input_derivative_order > 0 {
            names.push("SetRealInputDerivatives");
        }
        names
    }

    /// The folder passed to its instances.
    pub(crate) fn location(&self) -> Result<PathBuf, SimulatorError> {
        workspace::of(&self.folder).map_err(|problem| SimulatorError::new("instantiate", problem.to_string()))
    }

    pub(crate) fn is_corrupt(&self) -> bool {
        self.corrupt.load(Ordering::Relaxed)
    }

    /// A new instance, on the thread that will own it.
    pub(crate) fn instantiate<I: NewInstance>(
        &self,
        usage: FmuUse,
        name: &str,
        fed: &[IntermediateInput],
    ) -> Result<I, SimulatorError> {
        let refused = |problem: FileProblem| SimulatorError::new("instantiate", problem.to_string());
        self.load(usage).map_err(refused)?;
        let Some(&Ok(mut binding)) = self.bindings[usage as usize].get() else {
            return Err(SimulatorError::new("instantiate", "the FMU's library is not loaded"));
        };
        let earlier = self.instances.fetch_add(1, Ordering::Relaxed);
        if self.capabilities(usage).once_per_process && earlier > 0 {
            let path = platform::binary(&self.folder, &self.description, usage).map_err(refused)?;
            binding =
                library::load_copy(&path).and_then(|copy| self.bind(usage, copy, &path)).map_err(refused)?;
        } else if companion::is_companion() {
            let path = platform::binary(&self.folder, &self.description, usage).map_err(refused)?;
            binding = library::load_for_companions(&path)
                .and_then(|copy| self.bind(usage, copy, &path))
                .map_err(refused)?;
        }
        trial::executes();
        I::instantiate(binding, self, usage, name, fed)
    }
}
