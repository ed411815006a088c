//! A small importer for both versions, with the same words for both. All `unsafe` code of these tests.

#![allow(unsafe_code, reason = "loads a shared library and calls C functions")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosimo_test_fmus::{Design, InterfaceType, Variant, Version, is_test_fmu, write};
use libloading::Library;

/// Calls a function of the loaded library whose first argument is the instance.
macro_rules! c {
    ($fmu:expr, $name:literal $(, $argument:expr => $type:ty)*) => {{
        // SAFETY: the types are those of the standard's header; pointers outlive the call.
        unsafe {
            let name = concat!($name, "\0").as_bytes();
            let function = $fmu
                .library
                .get::<unsafe extern "C" fn(*mut c_void $(, $type)*) -> c_int>(name)
                .expect($name);
            function($fmu.instance $(, $argument)*)
        }
    }};
}

pub(crate) type Answers = Box<dyn Fn(f64) -> Vec<(u32, f64)>>;

/// What the importer's callbacks see.
#[derive(Default)]
pub(crate) struct Environment {
    pub(crate) log: Vec<String>,
    /// Answers to an intermediate update: value references and values for an instant.
    pub(crate) answers: Option<Answers>,
    /// Time, set requested, get allowed, step finished, and an output then.
    pub(crate) updates: Vec<(f64, bool, bool, bool)>,
    pub(crate) seen: Vec<f64>,
    pub(crate) look_at: Option<u32>,
    pub(crate) instance: usize,
    pub(crate) library: Option<*const Library>,
}

pub(crate) struct Fmu {
    library: Box<Library>,
    instance: *mut c_void,
    pub(crate) version: Version,
    /// What it is instantiated for.
    kind: InterfaceType,
    /// Event mode is used, early return allowed.
    manners: (bool, bool),
    pub(crate) environment: Box<Environment>,
    callbacks: Option<Box<Callbacks>>,
    /// As the description has it.
    token: String,
    references: BTreeMap<String, u32>,
    folder: PathBuf,
}

pub(crate) fn folder(name: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("cosimo-export-{}-{number}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

type Logger2 = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...);

/// Not variadic, because Rust cannot define such a function: on the platforms of these tests the sixth argument
/// arrives all the same.
unsafe extern "C" fn log2(
    environment: *mut c_void,
    _name: *const c_char,
    status: c_int,
    _category: *const c_char,
    format: *const c_char,
    value: *const c_char,
) {
    // SAFETY: the FMU gives back our environment, and texts that end with zero.
    let (environment, format, value) =
        unsafe { (&mut *environment.cast::<Environment>(), CStr::from_ptr(format), CStr::from_ptr(value)) };
    assert_eq!(format, c"%s");
    environment.log.push(format!("{status} {}", value.to_str().unwrap()));
}

unsafe extern "C" fn log3(
    environment: *mut c_void,
    status: c_int,
    _category: *const c_char,
    message: *const c_char,
) {
    // SAFETY: as above.
    let (environment, message) =
        unsafe { (&mut *environment.cast::<Environment>(), CStr::from_ptr(message)) };
    environment.log.push(format!("{status} {}", message.to_str().unwrap()));
}

type Get = unsafe extern "C" fn(*mut c_void, *const u32, usize, *mut f64, usize) -> c_int;
type Set = unsafe extern "C" fn(*mut c_void, *const u32, usize, *const f64, usize) -> c_int;

unsafe extern "C" fn update(
    environment: *mut c_void,
    time: f64,
    set: bool,
    get: bool,
    finished: bool,
    _may_return: bool,
    _wishes: *mut bool,
    _from: *mut f64,
) {
    // SAFETY: our environment, with the library that is calling us.
    unsafe {
        let environment = &mut *environment.cast::<Environment>();
        let (library, instance) = (&*environment.library.unwrap(), environment.instance as *mut c_void);
        environment.updates.push((time, set, get, finished));
        if let (true, Some(answers)) = (set, &environment.answers) {
            let function = library.get::<Set>(b"fmi3SetFloat64\0").unwrap();
            for (reference, value) in answers(time) {
                assert_eq!(function(instance, &reference, 1, &value, 1), 0);
            }
        }
        if let (true, Some(reference)) = (get, environment.look_at) {
            let function = library.get::<Get>(b"fmi3GetFloat64\0").unwrap();
            let mut value = f64::NAN;
            assert_eq!(function(instance, &reference, 1, &mut value, 1), 0);
            environment.seen.push(value);
        }
    }
}

/// What an update of the discrete states says.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Update {
    pub(crate) needed: bool,
    pub(crate) terminate: bool,
    pub(crate) states_changed: bool,
    pub(crate) next: Option<f64>,
    pub(crate) rounds: u32,
}

#[derive(Default)]
#[repr(C)]
struct EventInfo {
    needed: c_int,
    terminate: c_int,
    nominals: c_int,
    values: c_int,
    next_defined: c_int,
    next: f64,
}

#[repr(C)]
struct Callbacks {
    logger: Logger2,
    allocate: *const c_void,
    free: *const c_void,
    finished: *const c_void,
    environment: *mut c_void,
}

/// The shared library that is shipped, unless the FMU is one of those for tests.
pub(crate) fn library(design: &Design) -> PathBuf {
    let found =
        if is_test_fmu(design) { cosimo_test_fmus::built_library() } else { cosimo_export::built_library() };
    found.unwrap()
}

impl Fmu {
    /// Written around an empty file instead of the library, which is loaded from where it lies: all FMUs share
    /// it, and packing it dozens of times would only test the compressor.
    pub(crate) fn of(design: &Design) -> Fmu {
        let kind = if design.kind == InterfaceType::ModelExchange {
            design.kind
        } else {
            InterfaceType::CoSimulation
        };
        Fmu::as_kind(design, kind)
    }

    /// Likewise, for one of the kinds that it offers.
    pub(crate) fn as_kind(design: &Design, kind: InterfaceType) -> Fmu {
        Fmu::with(design, kind, (false, false))
    }

    /// By an importer that can handle events, and steps that end early.
    pub(crate) fn with(design: &Design, kind: InterfaceType, manners: (bool, bool)) -> Fmu {
        let folder = folder(&design.name());
        let (empty, file) = (folder.join("empty"), folder.join(design.file_name()));
        std::fs::write(&empty, "").unwrap();
        write(design, &empty, &file).unwrap();
        Fmu::unpack(&file, (design.version, kind, manners), &folder, |_| library(design))
    }

    /// With the library inside, found where the standard says.
    pub(crate) fn whole(design: &Design) -> Fmu {
        let folder = folder(&design.name());
        let file = folder.join(design.file_name());
        write(design, &library(design), &file).unwrap();
        let platform = if design.version == Version::Two { "linux64" } else { "x86_64-linux" };
        let binaries = folder.join("binaries").join(platform);
        let importer = (design.version, InterfaceType::CoSimulation, (false, false));
        Fmu::unpack(&file, importer, &folder, |identifier| binaries.join(format!("{identifier}.so")))
    }

    pub(crate) fn plain(source: &str, version: Version, variant: Variant) -> Fmu {
        Fmu::of(&Design::new(source, version).variant(variant))
    }

    fn unpack(
        file: &Path,
        (version, kind, manners): (Version, InterfaceType, (bool, bool)),
        folder: &Path,
        binary: impl Fn(&str) -> PathBuf,
    ) -> Fmu {
        let mut archive = zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap();
        archive.extract(folder).unwrap();
        let description = std::fs::read_to_string(folder.join("modelDescription.xml")).unwrap();
        let document = roxmltree::Document::parse(&description).unwrap();
        let root = document.root_element();
        let offered = |node: &roxmltree::Node<'_, '_>| {
            node.has_tag_name("CoSimulation") || node.has_tag_name("ModelExchange")
        };
        let offered = root.children().find(offered).unwrap();
        let binary = binary(offered.attribute("modelIdentifier").unwrap());
        // SAFETY: the library was built by us and does nothing when it is loaded.
        let library = Box::new(unsafe { Library::new(&binary) }.unwrap());
        let variables = root.children().find(|node| node.has_tag_name("ModelVariables")).unwrap();
        let references = variables.children().filter(|node| node.is_element()).map(|node| {
            let reference = node.attribute("valueReference").unwrap().parse().unwrap();
            (node.attribute("name").unwrap().to_owned(), reference)
        });
        let mut fmu = Fmu {
            library,
            instance: null_mut(),
            version,
            kind,
            manners,
            environment: Box::default(),
            callbacks: None,
            token: String::new(),
            references: references.collect(),
            folder: folder.into(),
        };
        let token = if version == Version::Two { "guid" } else { "instantiationToken" };
        fmu.token = root.attribute(token).unwrap().to_owned();
        fmu.instantiate(&fmu.token.clone());
        fmu
    }

    /// Ends this instance and begins another.
    pub(crate) fn begin_anew(&mut self) {
        self.free();
        self.instantiate(&self.token.clone());
    }

    fn free(&self) {
        if self.two() {
            c!(self, "fmi2FreeInstance");
        } else {
            c!(self, "fmi3FreeInstance");
        }
    }

    pub(crate) fn instantiate(&mut self, token: &str) {
        let (name, token) = (c"unit", CString::new(token).unwrap());
        let resources = self.folder.join("resources");
        let environment = (&raw mut *self.environment).cast();
        // SAFETY: types and order of arguments are those of the standard's header.
        unsafe {
            self.instance = if self.version == Version::Two {
                let uri = CString::new(format!("file://{}", resources.display())).unwrap();
                let logger: unsafe extern "C" fn(_, _, _, _, _, _) = log2;
                // The FMU copies what it needs; the standard lets it rely on this memory, so it stays.
                let callbacks = self.callbacks.insert(Box::new(Callbacks {
                    logger: std::mem::transmute::<*const (), Logger2>(logger as *const ()),
                    allocate: std::ptr::null(),
                    free: std::ptr::null(),
                    finished: std::ptr::null(),
                    environment,
                }));
                type Make = unsafe extern "C" fn(
                    *const c_char,
                    c_int,
                    *const c_char,
                    *const c_char,
                    *const Callbacks,
                    c_int,
                    c_int,
                ) -> *mut c_void;
                let make = self.library.get::<Make>(b"fmi2Instantiate\0").unwrap();
                let kind = c_int::from(self.kind == InterfaceType::CoSimulation);
                make(name.as_ptr(), kind, token.as_ptr(), uri.as_ptr(), &raw const **callbacks, 0, 0)
            } else if self.kind == InterfaceType::ModelExchange {
                let path = CString::new(format!("{}/", resources.display())).unwrap();
                type Make = unsafe extern "C" fn(
                    *const c_char,
                    *const c_char,
                    *const c_char,
                    bool,
                    bool,
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char),
                ) -> *mut c_void;
                let make = self.library.get::<Make>(b"fmi3InstantiateModelExchange\0").unwrap();
                let (name, token, path) = (name.as_ptr(), token.as_ptr(), path.as_ptr());
                make(name, token, path, false, false, environment, log3)
            } else {
                let path = CString::new(format!("{}/", resources.display())).unwrap();
                type Make = unsafe extern "C" fn(
                    *const c_char,
                    *const c_char,
                    *const c_char,
                    bool,
                    bool,
                    bool,
                    bool,
                    *const u32,
                    usize,
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char),
                    unsafe extern "C" fn(*mut c_void, f64, bool, bool, bool, bool, *mut bool, *mut f64),
                ) -> *mut c_void;
                let make = self.library.get::<Make>(b"fmi3InstantiateCoSimulation\0").unwrap();
                let none = std::ptr::null();
                let (name, token, path) = (name.as_ptr(), token.as_ptr(), path.as_ptr());
                let (events, early) = self.manners;
                make(name, token, path, false, false, events, early, none, 0, environment, log3, update)
            };
        }
        self.environment.instance = self.instance as usize;
        self.environment.library = Some(&raw const *self.library);
    }

    pub(crate) fn has(&self, function: &str) -> bool {
        // SAFETY: it is looked up, not called.
        unsafe { self.library.get::<unsafe extern "C" fn()>(function.as_bytes()) }.is_ok()
    }

    pub(crate) fn exists(&self) -> bool {
        !self.instance.is_null()
    }

    pub(crate) fn reference(&self, name: &str) -> u32 {
        *self.references.get(name).unwrap_or_else(|| panic!("no variable `{name}`"))
    }

    /// A name that the description does not have.
    pub(crate) fn add_name(&mut self, name: &str, reference: u32) {
        self.references.insert(name.into(), reference);
    }

    /// Asks for one value without a place for it.
    pub(crate) fn get_null(&self) -> c_int {
        let reference = 1u32;
        let none = null_mut::<f64>();
        if self.two() {
            c!(self, "fmi2GetReal", &reference => *const u32, 1 => usize, none => *mut f64)
        } else {
            c!(self, "fmi3GetFloat64", &reference => *const u32, 1 => usize, none => *mut f64, 1 => usize)
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.references.keys().map(String::as_str)
    }

    fn two(&self) -> bool {
        self.version == Version::Two
    }

    pub(crate) fn enter(&self, start: f64, stop: Option<f64>) -> c_int {
        let (stops, stop) = (stop.is_some(), stop.unwrap_or(0.0));
        if self.two() {
            let status = c!(self, "fmi2SetupExperiment", 0 => c_int, 0.0 => f64, start => f64,
                c_int::from(stops) => c_int, stop => f64);
            if status == 0 { c!(self, "fmi2EnterInitializationMode") } else { status }
        } else {
            c!(self, "fmi3EnterInitializationMode", false => bool, 0.0 => f64, start => f64, stops => bool,
                stop => f64)
        }
    }

    pub(crate) fn enter_without_setup(&self) -> c_int {
        c!(self, "fmi2EnterInitializationMode")
    }

    pub(crate) fn exit(&self) -> c_int {
        if self.two() {
            c!(self, "fmi2ExitInitializationMode")
        } else {
            c!(self, "fmi3ExitInitializationMode")
        }
    }

    /// From instantiation to step mode, or to event mode.
    pub(crate) fn start(&self) {
        assert_eq!((self.enter(0.0, None), self.exit()), (0, 0), "{:?}", self.environment.log);
    }

    /// From instantiation to continuous-time mode.
    pub(crate) fn start_continuous(&self) {
        self.start();
        self.settle();
    }

    /// From event mode to continuous-time mode, with as many rounds as it takes.
    pub(crate) fn settle(&self) -> Update {
        let mut all = Update::default();
        for round in 0.. {
            assert!(round < 100, "events never settle");
            let update = self.update().unwrap_or_else(|status| panic!("{status} {}", self.last_log()));
            all.states_changed |= update.states_changed;
            (all.next, all.terminate, all.rounds) = (update.next, update.terminate, round + 1);
            if !update.needed {
                break;
            }
        }
        if !all.terminate {
            assert_eq!(self.enter_continuous(), 0, "{}", self.last_log());
        }
        all
    }

    pub(crate) fn enter_event(&self) -> c_int {
        if self.two() { c!(self, "fmi2EnterEventMode") } else { c!(self, "fmi3EnterEventMode") }
    }

    pub(crate) fn update(&self) -> Result<Update, c_int> {
        let (status, update) = if self.two() {
            let mut info = EventInfo::default();
            let status = c!(self, "fmi2NewDiscreteStates", &mut info => *mut EventInfo);
            let next = (info.next_defined != 0).then_some(info.next);
            let (needed, terminate) = (info.needed != 0, info.terminate != 0);
            (status, Update { needed, terminate, states_changed: info.values != 0, next, rounds: 1 })
        } else {
            let mut flags = [false; 5];
            let mut next = f64::NAN;
            let [needed, terminate, nominals, values, defined] = &mut flags;
            let status = c!(self, "fmi3UpdateDiscreteStates", needed => *mut bool, terminate => *mut bool,
                nominals => *mut bool, values => *mut bool, defined => *mut bool, &mut next => *mut f64);
            let [needed, terminate, _, states_changed, defined] = flags;
            (status, Update { needed, terminate, states_changed, next: defined.then_some(next), rounds: 1 })
        };
        if status == 0 { Ok(update) } else { Err(status) }
    }

    pub(crate) fn enter_continuous(&self) -> c_int {
        if self.two() {
            c!(self, "fmi2EnterContinuousTimeMode")
        } else {
            c!(self, "fmi3EnterContinuousTimeMode")
        }
    }

    /// Whether an event is wanted, and the end.
    pub(crate) fn completed(&self, promise: bool) -> Result<(bool, bool), c_int> {
        let (status, wanted) = if self.two() {
            let (mut event, mut terminate) = (0, 0);
            let status = c!(self, "fmi2CompletedIntegratorStep", c_int::from(promise) => c_int,
                &mut event => *mut c_int, &mut terminate => *mut c_int);
            (status, (event != 0, terminate != 0))
        } else {
            let (mut event, mut terminate) = (false, false);
            let status = c!(self, "fmi3CompletedIntegratorStep", promise => bool, &mut event => *mut bool,
                &mut terminate => *mut bool);
            (status, (event, terminate))
        };
        if status == 0 { Ok(wanted) } else { Err(status) }
    }

    pub(crate) fn set_time(&self, time: f64) -> c_int {
        if self.two() { c!(self, "fmi2SetTime", time => f64) } else { c!(self, "fmi3SetTime", time => f64) }
    }

    pub(crate) fn set_states(&self, x: &[f64]) -> c_int {
        let (from, count) = (x.as_ptr(), x.len());
        if self.two() {
            c!(self, "fmi2SetContinuousStates", from => *const f64, count => usize)
        } else {
            c!(self, "fmi3SetContinuousStates", from => *const f64, count => usize)
        }
    }

    pub(crate) fn states(&self, count: usize) -> Result<Vec<f64>, c_int> {
        self.vector(count, |into| {
            if self.two() {
                c!(self, "fmi2GetContinuousStates", into => *mut f64, count => usize)
            } else {
                c!(self, "fmi3GetContinuousStates", into => *mut f64, count => usize)
            }
        })
    }

    pub(crate) fn derivatives(&self, count: usize) -> Result<Vec<f64>, c_int> {
        self.vector(count, |into| {
            if self.two() {
                c!(self, "fmi2GetDerivatives", into => *mut f64, count => usize)
            } else {
                c!(self, "fmi3GetContinuousStateDerivatives", into => *mut f64, count => usize)
            }
        })
    }

    pub(crate) fn indicators(&self, count: usize) -> Result<Vec<f64>, c_int> {
        self.vector(count, |into| {
            if self.two() {
                c!(self, "fmi2GetEventIndicators", into => *mut f64, count => usize)
            } else {
                c!(self, "fmi3GetEventIndicators", into => *mut f64, count => usize)
            }
        })
    }

    pub(crate) fn nominals(&self, count: usize) -> Result<Vec<f64>, c_int> {
        self.vector(count, |into| {
            if self.two() {
                c!(self, "fmi2GetNominalsOfContinuousStates", into => *mut f64, count => usize)
            } else {
                c!(self, "fmi3GetNominalsOfContinuousStates", into => *mut f64, count => usize)
            }
        })
    }

    fn vector(&self, count: usize, get: impl FnOnce(*mut f64) -> c_int) -> Result<Vec<f64>, c_int> {
        let mut values = vec![f64::NAN; count];
        let status = get(values.as_mut_ptr());
        if status == 0 { Ok(values) } else { Err(status) }
    }

    /// FMI 3.0 only: continuous states and event indicators.
    pub(crate) fn counts(&self) -> Result<(usize, usize), c_int> {
        let (mut states, mut indicators) = (0, 0);
        let status = c!(self, "fmi3GetNumberOfContinuousStates", &mut states => *mut usize);
        let other = c!(self, "fmi3GetNumberOfEventIndicators", &mut indicators => *mut usize);
        if (status, other) == (0, 0) { Ok((states, indicators)) } else { Err(status.max(other)) }
    }

    pub(crate) fn get_flag(&self, name: &str) -> bool {
        let (reference, mut number, mut flag) = (self.reference(name), 0, false);
        let status = if self.two() {
            c!(self, "fmi2GetBoolean", &reference => *const u32, 1 => usize, &mut number => *mut c_int)
        } else {
            c!(self, "fmi3GetBoolean", &reference => *const u32, 1 => usize, &mut flag => *mut bool, 1 => usize)
        };
        assert_eq!(status, 0, "{}", self.last_log());
        number != 0 || flag
    }

    /// As integers in FMI 2.0, with 64 bits in FMI 3.0.
    pub(crate) fn get_enumeration(&self, name: &str) -> i64 {
        if self.two() {
            return i64::from(self.get_count(name));
        }
        let (reference, mut value) = (self.reference(name), 0);
        let status = c!(self, "fmi3GetInt64", &reference => *const u32, 1 => usize, &mut value => *mut i64, 1 => usize);
        assert_eq!(status, 0, "{}", self.last_log());
        value
    }

    pub(crate) fn terminate(&self) -> c_int {
        if self.two() { c!(self, "fmi2Terminate") } else { c!(self, "fmi3Terminate") }
    }

    pub(crate) fn reset(&self) -> c_int {
        if self.two() { c!(self, "fmi2Reset") } else { c!(self, "fmi3Reset") }
    }

    pub(crate) fn try_set(&self, name: &str, value: f64) -> c_int {
        let reference = self.reference(name);
        if self.two() {
            c!(self, "fmi2SetReal", &reference => *const u32, 1 => usize, &value => *const f64)
        } else {
            c!(self, "fmi3SetFloat64", &reference => *const u32, 1 => usize, &value => *const f64, 1 => usize)
        }
    }

    pub(crate) fn set(&self, name: &str, value: f64) {
        assert_eq!(self.try_set(name, value), 0, "{name}: {:?}", self.environment.log);
    }

    pub(crate) fn set_count(&self, name: &str, value: i32) -> c_int {
        let reference = self.reference(name);
        if self.two() {
            c!(self, "fmi2SetInteger", &reference => *const u32, 1 => usize, &value => *const i32)
        } else {
            c!(self, "fmi3SetInt32", &reference => *const u32, 1 => usize, &value => *const i32, 1 => usize)
        }
    }

    pub(crate) fn try_get_count(&self, name: &str) -> c_int {
        let (reference, mut value) = (self.reference(name), 0);
        c!(self, "fmi2GetInteger", &reference => *const u32, 1 => usize, &mut value => *mut i32)
    }

    /// Asks for no booleans, which tells whether asking is allowed.
    pub(crate) fn get_no_flags(&self) -> c_int {
        let (references, values) = (std::ptr::null::<u32>(), null_mut::<c_int>());
        if self.two() {
            c!(self, "fmi2GetBoolean", references => *const u32, 0 => usize, values => *mut c_int)
        } else {
            c!(self, "fmi3GetBoolean", references => *const u32, 0 => usize, values => *mut c_int, 0 => usize)
        }
    }

    pub(crate) fn get_count(&self, name: &str) -> i32 {
        let (reference, mut value) = (self.reference(name), 0);
        let status = if self.two() {
            c!(self, "fmi2GetInteger", &reference => *const u32, 1 => usize, &mut value => *mut i32)
        } else {
            c!(self, "fmi3GetInt32", &reference => *const u32, 1 => usize, &mut value => *mut i32, 1 => usize)
        };
        assert_eq!(status, 0);
        value
    }

    pub(crate) fn set_text(&self, name: &str, value: &str) -> c_int {
        let (reference, value) = (self.reference(name), CString::new(value).unwrap());
        let value = value.as_ptr();
        if self.two() {
            c!(self, "fmi2SetString", &reference => *const u32, 1 => usize, &value => *const *const c_char)
        } else {
            c!(self, "fmi3SetString", &reference => *const u32, 1 => usize, &value => *const *const c_char,
                1 => usize)
        }
    }

    pub(crate) fn try_get(&self, name: &str) -> Result<f64, c_int> {
        let (reference, mut value) = (self.reference(name), f64::NAN);
        let status = if self.two() {
            c!(self, "fmi2GetReal", &reference => *const u32, 1 => usize, &mut value => *mut f64)
        } else {
            c!(self, "fmi3GetFloat64", &reference => *const u32, 1 => usize, &mut value => *mut f64, 1 => usize)
        };
        if status == 0 { Ok(value) } else { Err(status) }
    }

    pub(crate) fn get(&self, name: &str) -> f64 {
        self.try_get(name).unwrap_or_else(|status| panic!("{status} {:?}", self.environment.log))
    }

    /// FMI 3.0 only: sets a value through one function and reads another through its partner.
    pub(crate) fn pass<T: Copy + Default>(
        &self,
        kind: &str,
        from: &str,
        value: T,
        to: &str,
    ) -> Result<T, c_int> {
        let (from, to, mut found) = (self.reference(from), self.reference(to), T::default());
        type Set<T> = unsafe extern "C" fn(*mut c_void, *const u32, usize, *const T, usize) -> c_int;
        type Get<T> = unsafe extern "C" fn(*mut c_void, *const u32, usize, *mut T, usize) -> c_int;
        // SAFETY: the caller names the function of this type; pointers outlive the calls.
        let (set, get) = unsafe {
            let set = self.library.get::<Set<T>>(format!("fmi3Set{kind}").as_bytes()).unwrap();
            let get = self.library.get::<Get<T>>(format!("fmi3Get{kind}").as_bytes()).unwrap();
            (set(self.instance, &from, 1, &value, 1), get(self.instance, &to, 1, &mut found, 1))
        };
        if (set, get) == (0, 0) { Ok(found) } else { Err(set.max(get)) }
    }

    pub(crate) fn set_flag(&self, name: &str, value: bool) -> c_int {
        let (reference, number) = (self.reference(name), c_int::from(value));
        if self.two() {
            c!(self, "fmi2SetBoolean", &reference => *const u32, 1 => usize, &number => *const c_int)
        } else {
            c!(self, "fmi3SetBoolean", &reference => *const u32, 1 => usize, &value => *const bool, 1 => usize)
        }
    }

    pub(crate) fn get_text(&self, name: &str) -> String {
        let (reference, mut value) = (self.reference(name), std::ptr::null::<c_char>());
        let status = if self.two() {
            c!(self, "fmi2GetString", &reference => *const u32, 1 => usize, &mut value => *mut *const c_char)
        } else {
            c!(self, "fmi3GetString", &reference => *const u32, 1 => usize, &mut value => *mut *const c_char,
                1 => usize)
        };
        assert_eq!(status, 0, "{}", self.last_log());
        // SAFETY: the FMU's text ends with zero and stays until the next call.
        unsafe { CStr::from_ptr(value) }.to_str().unwrap().to_owned()
    }

    /// FMI 3.0 only.
    pub(crate) fn set_bytes(&self, name: &str, bytes: &[u8]) -> c_int {
        let (reference, size, value) = (self.reference(name), bytes.len(), bytes.as_ptr());
        c!(self, "fmi3SetBinary", &reference => *const u32, 1 => usize, &size => *const usize,
            &value => *const *const u8, 1 => usize)
    }

    /// FMI 3.0 only.
    pub(crate) fn get_bytes(&self, name: &str) -> Result<Vec<u8>, c_int> {
        let (reference, mut size, mut value) = (self.reference(name), 0usize, std::ptr::null::<u8>());
        let status = c!(self, "fmi3GetBinary", &reference => *const u32, 1 => usize, &mut size => *mut usize,
            &mut value => *mut *const u8, 1 => usize);
        if status != 0 {
            return Err(status);
        }
        // SAFETY: the FMU's bytes stay until the next call.
        Ok(if size == 0 { vec![] } else { unsafe { std::slice::from_raw_parts(value, size) }.to_vec() })
    }

    /// FMI 3.0 only, as are all functions of clocks.
    pub(crate) fn set_clock(&self, name: &str, active: bool) -> c_int {
        let reference = self.reference(name);
        c!(self, "fmi3SetClock", &reference => *const u32, 1 => usize, &active => *const bool)
    }

    pub(crate) fn get_clock(&self, name: &str) -> Result<bool, c_int> {
        let (reference, mut active) = (self.reference(name), false);
        let status = c!(self, "fmi3GetClock", &reference => *const u32, 1 => usize, &mut active => *mut bool);
        if status == 0 { Ok(active) } else { Err(status) }
    }

    /// With its qualifier: 0 not yet known, 1 unchanged, 2 changed.
    pub(crate) fn interval(&self, name: &str) -> Result<(f64, c_int), c_int> {
        let (reference, mut interval, mut qualifier) = (self.reference(name), f64::NAN, -1);
        let status = c!(self, "fmi3GetIntervalDecimal", &reference => *const u32, 1 => usize,
            &mut interval => *mut f64, &mut qualifier => *mut c_int);
        if status == 0 { Ok((interval, qualifier)) } else { Err(status) }
    }

    pub(crate) fn shift(&self, name: &str) -> Result<f64, c_int> {
        let (reference, mut shift) = (self.reference(name), f64::NAN);
        let status =
            c!(self, "fmi3GetShiftDecimal", &reference => *const u32, 1 => usize, &mut shift => *mut f64);
        if status == 0 { Ok(shift) } else { Err(status) }
    }

    /// FMI 2.0 only.
    pub(crate) fn set_derivative(&self, name: &str, order: i32, value: f64) -> c_int {
        let reference = self.reference(name);
        c!(self, "fmi2SetRealInputDerivatives", &reference => *const u32, 1 => usize, &order => *const i32,
            &value => *const f64)
    }

    pub(crate) fn output_derivative(&self, name: &str) -> Result<f64, c_int> {
        let (reference, order, mut value) = (self.reference(name), 1, f64::NAN);
        let status = if self.two() {
            c!(self, "fmi2GetRealOutputDerivatives", &reference => *const u32, 1 => usize, &order => *const i32,
                &mut value => *mut f64)
        } else {
            c!(self, "fmi3GetOutputDerivatives", &reference => *const u32, 1 => usize, &order => *const i32,
                &mut value => *mut f64, 1 => usize)
        };
        if status == 0 { Ok(value) } else { Err(status) }
    }

    pub(crate) fn try_step(&self, from: f64, size: f64, promise: bool) -> c_int {
        if self.two() {
            return c!(self, "fmi2DoStep", from => f64, size => f64, c_int::from(promise) => c_int);
        }
        let (mut event, mut terminate, mut early, mut last) = (true, true, true, f64::NAN);
        let status = c!(self, "fmi3DoStep", from => f64, size => f64, promise => bool, &mut event => *mut bool,
            &mut terminate => *mut bool, &mut early => *mut bool, &mut last => *mut f64);
        assert!(!event && !terminate && !early);
        if status == 0 {
            assert_eq!(last, from + size);
        }
        status
    }

    /// FMI 3.0 only: the status, whether an event is to be handled, the run to end, the step ended early, and the
    /// instant it reached.
    pub(crate) fn step_until(&self, from: f64, size: f64) -> (c_int, [bool; 3], f64) {
        let (mut flags, mut last) = ([true; 3], f64::NAN);
        let [event, terminate, early] = &mut flags;
        let status = c!(self, "fmi3DoStep", from => f64, size => f64, false => bool, event => *mut bool,
            terminate => *mut bool, early => *mut bool, &mut last => *mut f64);
        (status, flags, last)
    }

    /// FMI 3.0 only.
    pub(crate) fn enter_step(&self) -> c_int {
        c!(self, "fmi3EnterStepMode")
    }

    /// FMI 2.0 only: whether the model asked for the end.
    pub(crate) fn terminated(&self) -> bool {
        let mut value = 0;
        assert_eq!(c!(self, "fmi2GetBooleanStatus", 3 => c_int, &mut value => *mut c_int), 0);
        value != 0
    }

    pub(crate) fn step(&self, from: f64, size: f64) {
        assert_eq!(self.try_step(from, size, false), 0, "{:?}", self.environment.log);
    }

    pub(crate) fn last_time(&self) -> f64 {
        let mut value = f64::NAN;
        assert_eq!(c!(self, "fmi2GetRealStatus", 2 => c_int, &mut value => *mut f64), 0);
        value
    }

    pub(crate) fn get_state(&self, state: &mut *mut c_void) -> c_int {
        if self.two() {
            c!(self, "fmi2GetFMUstate", state => *mut *mut c_void)
        } else {
            c!(self, "fmi3GetFMUState", state => *mut *mut c_void)
        }
    }

    pub(crate) fn set_state(&self, state: *mut c_void) -> c_int {
        if self.two() {
            c!(self, "fmi2SetFMUstate", state => *mut c_void)
        } else {
            c!(self, "fmi3SetFMUState", state => *mut c_void)
        }
    }

    pub(crate) fn free_state(&self, state: &mut *mut c_void) -> c_int {
        if self.two() {
            c!(self, "fmi2FreeFMUstate", state => *mut *mut c_void)
        } else {
            c!(self, "fmi3FreeFMUState", state => *mut *mut c_void)
        }
    }

    pub(crate) fn serialize(&self, state: *mut c_void) -> Vec<u8> {
        let mut size = 0usize;
        let status = if self.two() {
            c!(self, "fmi2SerializedFMUstateSize", state => *mut c_void, &mut size => *mut usize)
        } else {
            c!(self, "fmi3SerializedFMUStateSize", state => *mut c_void, &mut size => *mut usize)
        };
        assert_eq!(status, 0);
        let mut bytes = vec![0u8; size];
        let status = if self.two() {
            c!(self, "fmi2SerializeFMUstate", state => *mut c_void, bytes.as_mut_ptr() => *mut u8, size => usize)
        } else {
            c!(self, "fmi3SerializeFMUState", state => *mut c_void, bytes.as_mut_ptr() => *mut u8, size => usize)
        };
        assert_eq!(status, 0);
        bytes
    }

    pub(crate) fn deserialize(&self, bytes: &[u8], state: &mut *mut c_void) -> c_int {
        let (bytes, size) = (bytes.as_ptr(), bytes.len());
        if self.two() {
            c!(self, "fmi2DeSerializeFMUstate", bytes => *const u8, size => usize, state => *mut *mut c_void)
        } else {
            c!(self, "fmi3DeserializeFMUState", bytes => *const u8, size => usize, state => *mut *mut c_void)
        }
    }

    /// The derivative of one output by one input.
    pub(crate) fn derivative(&self, output: &str, input: &str) -> Result<f64, c_int> {
        let (unknown, known, seed, mut into) = (self.reference(output), self.reference(input), 1.0, f64::NAN);
        let status = if self.two() {
            c!(self, "fmi2GetDirectionalDerivative", &unknown => *const u32, 1 => usize, &known => *const u32,
                1 => usize, &seed => *const f64, &mut into => *mut f64)
        } else {
            c!(self, "fmi3GetDirectionalDerivative", &unknown => *const u32, 1 => usize, &known => *const u32,
                1 => usize, &seed => *const f64, 1 => usize, &mut into => *mut f64, 1 => usize)
        };
        if status == 0 { Ok(into) } else { Err(status) }
    }

    /// FMI 3.0 only.
    pub(crate) fn adjoint(&self, output: &str, input: &str) -> f64 {
        self.try_adjoint(output, input).unwrap_or_else(|status| panic!("{status} {}", self.last_log()))
    }

    pub(crate) fn try_adjoint(&self, output: &str, input: &str) -> Result<f64, c_int> {
        let (unknown, known, seed, mut into) = (self.reference(output), self.reference(input), 1.0, f64::NAN);
        let status = c!(self, "fmi3GetAdjointDerivative", &unknown => *const u32, 1 => usize,
            &known => *const u32, 1 => usize, &seed => *const f64, 1 => usize, &mut into => *mut f64, 1 => usize);
        if status == 0 { Ok(into) } else { Err(status) }
    }

    pub(crate) fn last_log(&self) -> &str {
        self.environment.log.last().map_or("", String::as_str)
    }
}

impl Drop for Fmu {
    fn drop(&mut self) {
        self.free();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
